import GodwitModel
import GodwitStore

/// A table of the copy, and how a record of the source becomes a row of it.
final class CopyTable {
  let name: String
  /// The columns that a record holds, in order.
  let recordColumns: [Column]
  /// The place of the column that stands for the key of the row; nil if the table has none.
  let keyPlace: Int?
  let rowidName: String
  private var statement: SQLStatement?

  struct Column: Hashable {
    let name: String
    let declaredType: String
    /// Whether a statement may set it: not a generated one.
    let isSet: Bool
    /// The value of rows from before the column was added.
    var standard = SQLValue.null
  }

  /// - Returns: nil for a table without row keys, whose rows no leaf of a table holds.
  init?(_ name: String, on connection: StoreConnection) throws {
    self.name = name
    var columns: [Column] = []
    var keys: [Int] = []
    var standards: [Int: String] = [:]
    try connection.query("PRAGMA main.table_xinfo(\(quoted(name)))") { row in
      // Values of virtual generated columns are not stored.
      guard row.int(6) != 2 else { return true }
      if row.int(5) > 0 { keys.append(columns.count) }
      if let text = row.string(4).flatMap(Self.literal) { standards[columns.count] = text }
      columns.append(
        Column(
          name: row.string(1) ?? "", declaredType: row.string(2)?.uppercased() ?? "", isSet: row.int(6) == 0))
      return true
    }
    for (place, text) in standards { columns[place].standard = try connection.value("SELECT \(text)") ?? .null }
    guard !columns.isEmpty else { return nil }
    let withoutRowids = try connection.integer(
      "SELECT wr FROM pragma_table_list(?1) WHERE schema = 'main'", [.text(name)])
    guard withoutRowids == 0 else { return nil }
    let names = Set(columns.map { $0.name.lowercased() })
    guard let rowid = ["rowid", "_rowid_", "oid"].first(where: { !names.contains($0) }) else { return nil }
    recordColumns = columns
    rowidName = rowid
    // A primary key with an index of its own is not an alias of the row's key.
    let keyIndexes = try connection.integer(
      "SELECT count(*) FROM pragma_index_list(?1, 'main') WHERE origin = 'pk'", [.text(name)])
    let isAlias = keys.count == 1 && columns[keys[0]].declaredType == "INTEGER" && keyIndexes == 0
    keyPlace = isAlias ? keys[0] : nil
  }

  /// A default as an expression that runs nothing: a plain value with a sign and in parentheses, or a word, which SQLite
  /// takes for a text. SQLite adds no column with another default.
  private static func literal(_ text: String) -> String? {
    let plain =
      /(?i)[\s(+-]*(\d+(\.\d*)?(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|0x[0-9a-f]+|x?'([^']|'')*'|null|true|false)[\s)]*/
    if text.wholeMatch(of: plain) != nil { return text }
    if text.wholeMatch(of: /"(?:[^"]|"")*"/) != nil {
      return "'" + text.dropFirst().dropLast().replacing("\"\"", with: "\"").replacing("'", with: "''") + "'"
    }
    return text.wholeMatch(of: /(?!(?i)current_)[A-Za-z_]\w*/) != nil ? "'\(text)'" : nil
  }

  /// Prepares for rows.
  func begin(_ connection: StoreConnection) throws {
    finish()
    var names = recordColumns.filter(\.isSet).map(\.name)
    if keyPlace == nil { names.insert(rowidName, at: 0) }
    let places = names.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
    statement = try connection.prepare(
      "INSERT OR IGNORE INTO main.\(quoted(name)) (\(names.map(quoted).joined(separator: ", "))) VALUES (\(places))")
  }

  func finish() {
    statement?.finalize()
    statement = nil
  }

  /// Writes a row. Values that a short record lacks are those that `ALTER TABLE` gave the column.
  ///
  /// - Returns: false if a row with the key is there already, or a constraint of the table forbids the row.
  func insert(_ row: LeafRows.Row, on connection: StoreConnection) throws -> Bool {
    guard let statement, row.values.count <= recordColumns.count else { return false }
    var values: [SQLValue] = []
    values.reserveCapacity(recordColumns.count + 1)
    if keyPlace == nil { values.append(.integer(row.key)) }
    for (place, column) in recordColumns.enumerated() where column.isSet {
      if place == keyPlace {
        values.append(.integer(row.key))
      } else {
        values.append(place < row.values.count ? row.values[place] : column.standard)
      }
    }
    do {
      try statement.bind(values)
      for (place, bytes) in row.large {
        if let position = position(of: place) { try statement.bind(zeros: bytes.byteCount, at: position) }
      }
      try statement.runBound()
    } catch let error as GodwitError where error.code == .dataWrong { return false }
    guard connection.changes == 1 else { return false }
    for (place, bytes) in row.large where position(of: place) != nil {
      try connection.fillBlob(table: name, column: recordColumns[place].name, key: row.key, with: bytes)
    }
    return true
  }

  /// The parameter of a column of the record; nil for a column that is not set.
  private func position(of place: Int) -> Int? {
    guard recordColumns[place].isSet else { return nil }
    return recordColumns[..<place].count(where: \.isSet) + (keyPlace == nil ? 2 : 1)
  }

  /// The shape of the table's rows by its definition alone.
  func shape() -> TableShape { shape(entityNumbers: []) { _ in nil } }

  /// - Parameter kind: The values of a column by the model; nil for a column that the model lacks.
  func shape(entityNumbers: Set<Int64>, kind: (String) -> TableShape.Kind?) -> TableShape {
    let columns = recordColumns.enumerated().map { place, column in
      TableShape.Column(
        name: column.name,
        kind: place == keyPlace ? .key : kind(column.name) ?? Self.kind(of: column.declaredType))
    }
    return TableShape(table: name, columns: columns, entityNumbers: entityNumbers)
  }

  private static func kind(of declared: String) -> TableShape.Kind {
    switch declared {
    case "INTEGER", "INT", "BIGINT": .integer
    case "FLOAT", "DOUBLE", "REAL", "TIMESTAMP", "DECIMAL", "NUMERIC": .number
    case "BLOB": .bytes
    case let type where type.hasPrefix("VARCHAR") || type == "TEXT": .text
    default: .any
    }
  }
}
