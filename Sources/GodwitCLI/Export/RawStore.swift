import GodwitModel
import GodwitStore

/// The tables of a store under the names that they have in the file, for a store whose model nobody has.
struct RawStore {
  struct Table {
    struct Column {
      var name, type: String
    }

    var name: String
    var columns: [Column]
    /// The place of `Z_ENT` among the columns; nil for a table without it.
    var entityColumn: Int?
    /// The column by which rows are read one by one; nil for a table without one.
    fileprivate var rowID: String?
    /// The place of the column that is the key itself, in a table with as many columns as a result may have; nil in
    /// others, where the key is selected beside the columns.
    fileprivate var keyPlace: Int?
  }

  /// A row with the values of all columns, of which large ones stay where they lie.
  struct Row {
    var content: StoredRow
    /// The name in `Z_PRIMARYKEY` of the number in `Z_ENT`; nil for an unknown number.
    var entity: String?
  }

  /// All, by name.
  let tables: [Table]
  private let connection: StoreConnection
  private let path: String
  private let entityNames: [Int64: String]
  /// The rows that could not be read, so far.
  let damage = DamagedRows()

  private static let prefix = StoreConnection.sourceSchema + "."
  private static let numberColumn = "Z_ENT"

  /// Opens a store, or any SQLite database. The tables of an atomic store are its entities: see `AtomicTables`.
  ///
  /// - Throws: as `StoreFiles.init`.
  init(path: String) throws {
    var files: StoreFiles?
    do { files = try StoreFiles(path: path) } catch let error as GodwitError where error.topic == .cutOff {
      // There are tables in what is left.
    }
    self.path = path
    (connection, tables, entityNames) = try Self.naming(path) { [damage] in
      let connection =
        if let files, files.type.isAtomic { try AtomicTables.open(files) } else { try DatabaseTables.open(path) }
      let tables = try DatabaseTables.names(connection).map { try Self.table($0, connection) }
      return (connection, tables, try Self.entityNames(tables, connection, damage))
    }
  }

  /// The connection is to memory, with the store attached: an error names the store.
  private static func naming<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
    do { return try body() } catch var error as GodwitError {
      error.message = error.message.replacing("':memory:'", with: "'\(path)'")
      throw error
    }
  }

  private static func table(_ name: String, _ connection: StoreConnection) throws -> Table {
    var columns: [Table.Column] = []
    try connection.query("PRAGMA \(StoreConnection.sourceSchema).table_xinfo(\(quoted(name)))") { row in
      // 1 is a hidden column of a virtual table, 2 and 3 are generated ones.
      if row.int(6) != 1 { columns.append(Table.Column(name: row.string(1) ?? "", type: row.string(2) ?? "")) }
      return true
    }
    // A column of the name hides the key. The rows of a virtual table lie elsewhere.
    let names = Set(columns.map { $0.name.lowercased() })
    var rowID = ["rowid", "_rowid_", "oid"].first { !names.contains($0) }
    let isVirtual = try connection.integer(
      "SELECT COUNT(*) FROM \(prefix)sqlite_master WHERE name = ?1 AND sql LIKE 'CREATE VIRTUAL%'", [.text(name)])
    do {
      if isVirtual != 0 { rowID = nil }
      if let rowID { try connection.prepare("SELECT \(rowID) FROM \(prefix)\(quoted(name))").finalize() }
    } catch is GodwitError { rowID = nil }
    var table = Table(
      name: name, columns: columns, entityColumn: columns.firstIndex { $0.name == numberColumn }, rowID: rowID)
    if columns.count >= StoreSchema.columnsMaximum, rowID != nil {
      table.keyPlace = try keyPlace(in: columns, of: name, connection)
      if table.keyPlace == nil { table.rowID = nil }
    }
    return table
  }

  /// The place of the column that SQLite keeps as the number of a row; nil in a table without one.
  private static func keyPlace(
    in columns: [Table.Column], of table: String, _ connection: StoreConnection
  ) throws -> Int? {
    let schema = StoreConnection.sourceSchema
    let keys = try connection.strings(
      "SELECT name FROM pragma_table_xinfo(?1, ?2) WHERE pk > 0", [.text(table), .text(schema)])
    // A key of another kind has an index.
    let isIndexed = try connection.integer(
      "SELECT COUNT(*) FROM pragma_index_list(?1, ?2) WHERE origin = 'pk'", [.text(table), .text(schema)])
    guard keys.count == 1, isIndexed == 0 else { return nil }
    return columns.firstIndex { $0.name == keys[0] && $0.type.uppercased() == "INTEGER" }
  }

  /// Empty for a database that is not a store.
  private static func entityNames(
    _ tables: [Table], _ connection: StoreConnection, _ damage: DamagedRows
  ) throws -> [Int64: String] {
    let columns = tables.first { $0.name == "Z_PRIMARYKEY" }?.columns.map(\.name) ?? []
    guard columns.contains(numberColumn), columns.contains("Z_NAME") else { return [:] }
    var names: [Int64: String] = [:]
    do {
      try connection.query("SELECT Z_ENT, Z_NAME FROM \(prefix)Z_PRIMARYKEY") { row in
        if case .integer(let number) = row.value(0), let name = row.string(1) { names[number] = name }
        return true
      }
    } catch let error as GodwitError where error.isDamage { damage.note("Z_PRIMARYKEY", "names of entities") }
    return names
  }

  /// - Throws: `.usage` (64) for a name that no table has.
  func table(named name: String) throws -> Table {
    guard let table = tables.first(where: { $0.name == name }) else {
      throw GodwitError(
        .usage,
        "cannot export table '\(name)': '\(path)' has no such table"
          + Spelling.suggestion(for: name, among: tables.map(\.name)),
        cause: "the tables are " + tables.map { "'\($0.name)'" }.joined(separator: ", ").onOneLine,
        remedy: "correct --table, or write all with --all")
    }
    return table
  }

  /// Reads a table in the order of its keys, until `body` returns false. Rows on damaged pages are left out, and noted.
  func forEachRow(of table: Table, _ body: (Row) throws -> Bool) throws {
    guard !table.columns.isEmpty else { return }
    func hand(_ content: StoredRow) throws -> Bool {
      var entity: String?
      if let place = table.entityColumn, case .integer(let number) = content.values[place] {
        entity = entityNames[number]
      }
      return try body(Row(content: content, entity: entity))
    }
    try Self.naming(path) {
      guard let rowID = table.rowID else {
        let list = table.columns.map { quoted($0.name) }.joined(separator: ", ")
        var count = 0
        do {
          return try connection.query("SELECT \(list) FROM \(Self.prefix)\(quoted(table.name))") { row in
            let goesOn = try hand(StoredRow(values: row.values(0..<table.columns.count)))
            count += 1
            return goesOn
          }
        } catch let error as GodwitError where error.isDamage {
          return damage.note(table.name, "all rows behind the first \(count)")
        }
      }
      let search = ReadableKeySearch(
        connection: connection, table: Self.prefix + quoted(table.name), key: rowID)
      var first: Int64?
      while true {
        var reader: RowReader?
        while true {
          let row: StoredRow?
          do {
            let open = try reader ?? self.reader(of: table, rowID, from: first)
            reader = open
            row = try readable(open.next(), from: first)
          } catch let error as GodwitError where error.isDamage { break }
          guard let row, case .integer(let key) = row.values[0] else { return }
          guard try hand(Self.content(row, of: table)), key < .max else { return }
          first = key + 1
        }
        let found = try search.next(from: first)
        damage.note(table.name, from: first, through: found.skipped)
        guard let row = found.row else { return }
        first = row
      }
    }
  }

  private func reader(of table: Table, _ rowID: String, from first: Int64?) throws -> RowReader {
    var columns = table.columns.map { RowReader.Column(name: $0.name, sql: quoted($0.name)) }
    columns.insert(table.keyPlace.map { columns.remove(at: $0) } ?? .init(name: rowID, sql: rowID), at: 0)
    return try RowReader(
      connection, database: StoreConnection.sourceSchema, table: table.name, columns: columns, keyName: rowID,
      where: .init(sql: first.map { "\(rowID) >= \($0)" }))
  }

  /// The values of the columns, of a row with its key in front.
  private static func content(_ row: StoredRow, of table: Table) -> StoredRow {
    var values = row.values
    let key = values.removeFirst()
    let place = table.keyPlace
    if let place { values.insert(key, at: place) }
    let large = row.large.map { ($0.key <= place ?? .max ? $0.key - 1 : $0.key, $0.value) }
    return StoredRow(values: values, large: Dictionary(uniqueKeysWithValues: large))
  }

  /// A row all of whose large values can be read: they are written a piece at a time.
  private func readable(_ row: StoredRow?, from first: Int64?) throws -> StoredRow? {
    if let row, let first, case .integer(let key) = row.values[0], key < first {
      throw GodwitError(.dataWrong, "cannot read row \(first) of '\(path)': expected it, found row \(key)").about(
        .database)
    }
    for large in row?.large.values ?? [:].values { try bytes(of: large).forEachPiece { _ in } }
    return row
  }

  /// Where the bytes of a large value are.
  func bytes(of large: LargeValue) -> StoredBytes { .row(large, connection) }

  /// A large value to be stored elsewhere.
  ///
  /// - Parameter isBlob: Whether a text becomes a blob.
  func open(_ large: LargeValue, asBlob isBlob: Bool) throws -> any LargeBytes {
    ShiftedBytes(try OpenValue(large, connection), asBlob: isBlob)
  }
}
