import Foundation
package import GodwitModel

/// Gives rows of the main database large values from another one, holding each record once at most.
///
/// A row is made with NULL where its large values belong, and `complete` puts one with the values in its place:
///
/// | what is large | how | in memory |
/// |---|---|---|
/// | blobs, with nothing behind them that takes bytes, above the limit | zeros, filled through `sqlite3_blob_write` | a piece |
/// | all else | SQLite copies the record from a database that is made up as it is read (`LargeRowFile`) | the record; where SQLite is built without `SQLITE_ENABLE_PREUPDATE_HOOK`, a page |
///
/// The second is SQLite's transfer optimisation: between tables of one definition it takes records as they are.
package final class LargeRowWriter {
  package enum Way: Sendable {
    case copied, filled
  }

  private static let schema = "godwit_large"

  private let connection: StoreConnection
  let file: LargeRowFile

  /// Attaches the database that rows are read from. It stays attached as long as the connection is open.
  ///
  /// - Parameter tables: All that rows will be written to; those that the main database lacks are left out.
  /// - Returns: nil where texts are not UTF-8, or SQLite takes no file system.
  package init?(_ connection: StoreConnection, tables: Set<String>) throws {
    guard try connection.value("PRAGMA main.encoding") == .text(Array("UTF-8".utf8)) else { return nil }
    let names = Set(tables.map { $0.lowercased() })
    var definitions: [String] = []
    try connection.query("SELECT name, sql FROM main.sqlite_master WHERE type = 'table' AND sql IS NOT NULL") { row in
      if let name = row.string(0), names.contains(name.lowercased()), let sql = row.string(1) {
        definitions.append(sql)
      }
      return true
    }
    file = try LargeRowFile(definitions: definitions)
    self.connection = connection
    let attached: Void? = try file.withURI { uri in
      try connection.execute("ATTACH ?1 AS \(Self.schema)", [.text(uri)])
      // The first read opens the file.
      _ = try connection.value("SELECT COUNT(*) FROM \(Self.schema).sqlite_master")
      try connection.execute("PRAGMA \(Self.schema).cache_size = 64")
    }
    guard attached != nil else { return nil }
  }

  /// Whether rows of a table can be written: it has an integer for a primary key or none, no index, no trigger, and no
  /// column that must hold a value or is computed.
  package func supports(_ table: String) throws -> Bool {
    guard file.hasTable(table) else { return false }
    let others = try connection.integer(
      "SELECT COUNT(*) FROM main.sqlite_master WHERE tbl_name = ?1 COLLATE NOCASE AND type IN ('index', 'trigger')",
      [.text(table)])
    let odd = try connection.integer(
      """
      SELECT COUNT(*) FROM pragma_table_xinfo(?1, 'main') WHERE hidden <> 0 OR pk = 1 AND type <> 'INTEGER' COLLATE NOCASE \
      OR pk > 1 OR pk = 0 AND "notnull" <> 0
      """, [.text(table)])
    return try others == 0 && odd == 0 && keyName(of: table) != nil
  }

  /// The name of the key in SQL: that of its column, or one of SQLite's own that no column hides.
  private func keyName(of table: String) throws -> String? {
    let keys = try connection.strings("SELECT name FROM pragma_table_xinfo(?1, 'main') WHERE pk = 1", [.text(table)])
    if let key = keys.first { return StoreSchema.identifier(key) }
    let names = Set(try columns(of: table).map { $0.lowercased() })
    return ["rowid", "_rowid_", "oid"].first { !names.contains($0) }
  }

  /// The statement that copies the record that the file shows.
  func transfer(to table: String) -> String {
    let name = StoreSchema.identifier(table)
    return "INSERT INTO main.\(name) SELECT * FROM \(Self.schema).\(name)"
  }

  /// Gives a row its large values. Call inside the transaction that made it.
  ///
  /// - Parameters:
  ///   - values: By column. Values of another connection and files are taken too.
  ///   - limit: Records up to it are held as a whole where they could be filled piece by piece, since that writes
  ///     twice.
  /// - Throws: `.internalBug` for a row that is not there; SQLite's errors as they map.
  @discardableResult package func complete(
    _ key: Int64, in table: String, with values: [String: any LargeBytes], holding limit: ByteCount
  ) throws -> Way {
    let name = StoreSchema.identifier(table)
    let values = Dictionary(values.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
    let columns = try columns(of: table)
    var fields: [(column: String, field: RowRecord.Field)] = []
    let keyName = try keyName(of: table) ?? "rowid"
    try connection.query("SELECT * FROM main.\(name) WHERE \(keyName) = ?1", [.integer(key)]) { row in
      for (place, column) in columns.enumerated() {
        let large = values[column.lowercased()]
        fields.append((column, large.map(RowRecord.Field.large) ?? .value(row.value(place))))
      }
      return false
    }
    guard fields.count == columns.count else {
      throw GodwitError(.internalBug, "cannot complete row \(key) of '\(table)': it is not there")
    }
    try connection.execute("DELETE FROM main.\(name) WHERE \(keyName) = ?1", [.integer(key)])
    let bytes = values.values.reduce(0) { $0 + Int64($1.byteCount) }
    if bytes > limit.bytes, Self.endsInBlobs(fields.map(\.field)) {
      try fill(in: table, fields)
      return .filled
    }
    try copy(key, in: table, fields.map { StoreSchema.identifier($0.column) == keyName ? .value(.null) : $0.field })
    return .copied
  }

  /// Changes small values of a row that has large ones. Call inside a transaction, with no other statement of the table
  /// running.
  ///
  /// The large values wait in a temporary table, as blobs, which SQLite fills piece by piece; `body` finds NULL in
  /// their place.
  ///
  /// - Parameters:
  ///   - limit: A value over this size is large.
  ///   - body: Changes the row by an ordinary statement that reads none of its texts and blobs.
  /// - Returns: nil when the row cannot be changed so, and `body` was not called.
  package func change(
    _ key: Int64, in table: String, lengthLimit limit: ByteCount, holding record: ByteCount, _ body: () throws -> Void
  ) throws -> Way? {
    guard try supports(table), try keyName(of: table) == StoreSchema.identifier("Z_PK") else { return nil }
    let columns = try columns(of: table)
    var large = try connection.openValues(above: limit, database: "main", table: table, key: key, columns: columns)
    guard !large.isEmpty else { return nil }
    try connection.execute("CREATE TEMP TABLE IF NOT EXISTS \(Self.aside) (Z_PK INTEGER PRIMARY KEY, V BLOB)")
    var kept: [String: LargeValue] = [:]
    for (number, (column, value)) in large.sorted(by: { $0.key < $1.key }).enumerated() {
      try connection.execute(
        "INSERT INTO temp.\(Self.aside) VALUES (?1, zeroblob(?2))", [.int(number), .int(value.byteCount)])
      try connection.fillBlob(database: "temp", table: Self.aside, column: "V", key: Int64(number), with: value)
      kept[column] = LargeValue(
        database: "temp", table: Self.aside, column: "V", key: Int64(number), isText: value.large.isText)
    }
    large = [:]
    let nothing = kept.keys.sorted().map { "\(StoreSchema.identifier($0)) = NULL" }.joined(separator: ", ")
    try connection.execute(
      "UPDATE main.\(StoreSchema.identifier(table)) SET \(nothing) WHERE Z_PK = ?1", [.integer(key)])
    try body()
    let way = try complete(
      key, in: table, with: kept.mapValues { try OpenValue($0, connection) }, holding: record)
    try connection.execute("DELETE FROM temp.\(Self.aside)")
    return way
  }

  private static let aside = "godwit_aside"

  private func columns(of table: String) throws -> [String] {
    try connection.strings("SELECT name FROM pragma_table_xinfo(?1, 'main') ORDER BY cid", [.text(table)])
  }

  /// Whether only large blobs, and values without bytes, follow the first large value. The record then ends in zeros,
  /// which SQLite does not hold in memory.
  private static func endsInBlobs(_ fields: [RowRecord.Field]) -> Bool {
    let tail = fields.drop { if case .large = $0 { false } else { true } }
    return tail.allSatisfy { field in
      switch field {
      case .large(let value): !value.isText
      case .value(let value): [.null, .integer(0), .integer(1)].contains(value)
      }
    }
  }

  private func fill(in table: String, _ fields: [(column: String, field: RowRecord.Field)]) throws {
    let places = (1...max(1, fields.count)).map { "?\($0)" }.joined(separator: ", ")
    let statement = try connection.prepare("INSERT INTO main.\(StoreSchema.identifier(table)) VALUES (\(places))")
    defer { statement.finalize() }
    try statement.bind(fields.map { if case .value(let value) = $0.field { value } else { .null } })
    for (place, field) in fields.enumerated() {
      if case .large(let value) = field.field { try statement.bind(zeros: value.byteCount, at: place + 1) }
    }
    try statement.runBound()
    let key = connection.lastInsertedKey
    for case (let column, .large(let value)) in fields {
      try connection.fillBlob(table: table, column: column, key: key, with: value)
    }
  }

  /// - Parameter fields: NULL for the key, which is not part of the record.
  private func copy(_ key: Int64, in table: String, _ fields: [RowRecord.Field]) throws {
    let record = RowRecord(fields)
    file.show(record, key: key, in: table)
    defer { file.hide() }
    // Without this SQLite would still see the previous row.
    connection.forgetPages()
    do { try connection.execute(transfer(to: table)) } catch { throw file.failure ?? error }
    guard file.isRowRead, connection.changes == 1 else {
      throw GodwitError(.internalBug, "cannot complete row \(key) of '\(table)': it was not read")
    }
  }
}
