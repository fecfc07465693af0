import Foundation
import GRDBSQLite
import Godwit
import GodwitModel
import GodwitStore

/// Rows and indexes of `everything` by statements, and by a writer of whole pages that never searches a tree.
///
///     MigrationBenchmark pages everything FILE
///
/// The times are those of making rows, then indexes. Both ways leave out syncs, checks of values and a ledger.
enum PageSpike {
  /// A table with the query that gives its rows in the order of their keys.
  private struct Source: Sendable {
    var table: String
    var columns: [String: String]
    var from: String
  }

  static func run(source: String) throws {
    let schema = StoreSchema(model: try Everything.destination())
    let (byRows, byPages) = (source + ".rows", source + ".pages")
    for file in [byRows, byPages] {
      for suffix in ["", "-journal"] { try? FileManager.default.removeItem(atPath: file + suffix) }
      let made = try EmptyStore.create(
        at: file, schema: schema, metadata: StoreMetadata(model: schema.model, uuid: UUID()), cache: .mebibytes(16))
      if file == byPages { for sql in schema.indexStatements { try made.execute(sql) } }
      try made.close()
    }
    try makeRows(byRows, schema, source)
    try makePages(byPages, schema, source)
    try compare(byPages, byRows)
  }

  private static func makeRows(_ file: String, _ schema: StoreSchema, _ source: String) throws {
    let connection = try StoreConnection(path: file, cache: .mebibytes(16))
    try connection.execute("PRAGMA synchronous = OFF")
    try connection.execute("ATTACH DATABASE ?1 AS source", [.text(source)])
    var clock = Clock()
    try connection.transaction { try Everything.insert(connection) }
    clock.print("rows by statements")
    for sql in schema.indexStatements { try connection.execute(sql) }
    clock.print("indexes by statements")
    try connection.close()
  }

  // MARK: Pages

  private static func makePages(_ file: String, _ schema: StoreSchema, _ source: String) throws {
    let tables = try layouts(of: file)
    var clock = Clock()
    let pages = PageFile(path: file)
    // The people with their companies, and beside them the notes and all others: about as much work.
    let parts = try parts(schema)
    for isWritten in [false, true] {
      DispatchQueue.concurrentPerform(iterations: parts.count) { place in
        let reader = Reader(source)
        defer { reader.close() }
        for statement in parts[place].first { reader.execute(statement) }
        for source in parts[place].sources {
          guard let table = tables[source.table] else { fatalError("no table \(source.table)") }
          if isWritten { fill(table, source, reader, pages) } else { read(table, source, reader) }
        }
      }
      clock.print(isWritten ? "rows by pages" : "rows read, not written")
    }
    let indexes = tables.values.flatMap(\.indexes).sorted { $0.entries.count > $1.entries.count }
    DispatchQueue.concurrentPerform(iterations: indexes.count) { indexes[$0].write(to: pages) }
    pages.finish()
    clock.print("indexes by pages")
  }

  /// The query with a column for the key first.
  private static func query(_ table: Table, _ source: Source) -> String {
    let values = table.columns.map { source.columns[$0] ?? "NULL" }
    return "SELECT \((table.hasKey ? values : ["NULL"] + values).joined(separator: ", ")) \(source.from)"
  }

  private static func read(_ table: Table, _ source: Source, _ reader: Reader) {
    let statement = reader.prepare(query(table, source))
    while sqlite3_step(statement) == SQLITE_ROW {}
    sqlite3_finalize(statement)
  }

  private static func fill(_ table: Table, _ source: Source, _ reader: Reader, _ pages: PageFile) {
    let writer = TreeWriter(pages, .table, root: table.root)
    let encoder = RowEncoder()
    defer { encoder.deallocate() }
    let hasKey = table.hasKey
    let statement = reader.prepare(query(table, source))
    let count = sqlite3_column_count(statement)
    var key: Int64 = 0
    while sqlite3_step(statement) == SQLITE_ROW {
      key = hasKey ? sqlite3_column_int64(statement, 0) : key + 1
      if hasKey {
        writer.append(encoder.row(statement, columns: count, key: key), key: key)
      } else {
        writer.append(encoder.join(statement, key: key), key: key)
      }
      let shift: Int32 = hasKey ? 0 : 1
      for index in table.indexes {
        let first = number(statement, index.places[0] + shift)
        let second = index.places.count > 1 ? number(statement, index.places[1] + shift) : 0
        index.entries.append(.init(first: first, second: second, key: key))
      }
    }
    sqlite3_finalize(statement)
    writer.finish()
  }

  private static func number(_ statement: OpaquePointer, _ column: Int32) -> Int64 {
    sqlite3_column_type(statement, column) == SQLITE_NULL ? PageIndex.null : sqlite3_column_int64(statement, column)
  }

  /// The tables that each of two threads makes.
  private static func parts(_ schema: StoreSchema) throws -> [(first: [String], sources: [Source])] {
    func number(_ entity: String) -> String { "\(schema.number(of: entity) ?? 0)" }
    func keyed(_ entity: String, _ columns: [String: String], _ from: String) -> Source {
      Source(
        table: "Z" + entity.uppercased(),
        columns: ["Z_PK": "p.Z_PK", "Z_ENT": number(entity), "Z_OPT": "1"].merging(columns) { $1 }, from: from)
    }
    let (join, target) = (try Everything.join(Everything.source()), try Everything.join(Everything.destination()))
    let (adult, child) = (number("Adult"), number("Child"))
    let human = keyed(
      "Human",
      [
        "Z_ENT": "CASE WHEN p.ZAGE >= 18 THEN \(adult) ELSE \(child) END", "ZNAME": "p.ZNAME", "ZAGE": "p.ZAGE",
        "ZEMAIL": "p.ZEMAIL", "ZPERCENT": "p.ZSCORE * 100.0", "ZADDRESS": "p.Z_PK", "ZCOMPANY": "c.k",
        "ZSCHOOL": "CASE WHEN p.ZAGE < 18 THEN p.ZSCHOOL END",
      ], "FROM ZPERSON p LEFT JOIN company c ON c.name = p.ZEMPLOYER AND p.ZAGE >= 18 ORDER BY p.Z_PK")
    var company = keyed("Company", ["ZNAME": "p.name"], "FROM company p ORDER BY p.k")
    company.columns["Z_PK"] = "p.k"
    let note = keyed(
      "Note",
      [
        "ZBODY": "p.ZBODY", "ZSTAMP": "p.ZSTAMP", "ZAUTHOR": "CASE WHEN a.ZAGE IS NOT NULL THEN p.ZAUTHOR END",
        "Z\(number("Human"))_AUTHOR": "CASE WHEN a.ZAGE >= 18 THEN \(adult) WHEN a.ZAGE < 18 THEN \(child) END",
      ], "FROM ZNOTE p LEFT JOIN ZPERSON a ON a.Z_PK = p.ZAUTHOR ORDER BY p.Z_PK")
    let address = keyed(
      "Address", ["ZSTREET": "p.ZSTREET", "ZCITY": "p.ZCITY"], "FROM ZPERSON p ORDER BY p.Z_PK")
    let tag = keyed("Tag", ["ZNAME": "p.ZNAME"], "FROM ZTAG p ORDER BY p.Z_PK")
    let links = Source(
      table: target.name, columns: [target.tag: join.tag, target.person: join.person],
      from: "FROM \(join.name) ORDER BY 2, 3")
    let companies = [
      "CREATE TEMP TABLE company (k INTEGER PRIMARY KEY, name TEXT UNIQUE)",
      """
      INSERT INTO company SELECT MIN(Z_PK), ZEMPLOYER FROM ZPERSON WHERE ZEMPLOYER IS NOT NULL AND ZAGE >= 18 \
      GROUP BY ZEMPLOYER ORDER BY 1
      """,
    ]
    return [(companies, [company, human, links]), ([], [note, address, tag])]
  }

  // MARK: The empty store

  private struct Table: @unchecked Sendable {
    var root: UInt32
    var columns: [String]
    var indexes: [PageIndex]

    /// Whether its rows have the key of an object. The rows of a join table are numbered.
    var hasKey: Bool { columns.first == "Z_PK" }
  }

  private static func layouts(of file: String) throws -> [String: Table] {
    let reader = Reader(file)
    defer { reader.close() }
    var tables: [String: Table] = [:]
    for row in reader.rows("SELECT name, rootpage FROM sqlite_schema WHERE type = 'table' AND name LIKE 'Z%'") {
      let columns = reader.rows("SELECT name FROM pragma_table_info('\(row[0])') ORDER BY cid").map { $0[0] }
      let indexes = reader.rows(
        "SELECT l.name, s.rootpage FROM pragma_index_list('\(row[0])') l JOIN sqlite_schema s ON s.name = l.name"
      ).map { index in
        let places = reader.rows("SELECT cid FROM pragma_index_info('\(index[0])') ORDER BY seqno")
        return PageIndex(root: UInt32(index[1]) ?? 0, places: places.compactMap { Int32($0[0]) })
      }
      tables[row[0]] = Table(root: UInt32(row[1]) ?? 0, columns: columns, indexes: indexes)
    }
    return tables
  }

  /// Ends the process if the two stores differ, or SQLite finds fault with the first.
  private static func compare(_ file: String, _ other: String) throws {
    let reader = Reader(file)
    defer { reader.close() }
    let complaints = reader.rows("PRAGMA integrity_check").map { $0[0] }
    guard complaints == ["ok"] else { fatalError("integrity_check: \(complaints.prefix(3))") }
    reader.execute("ATTACH DATABASE '\(other)' AS other")
    for row in reader.rows("SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'Z%'") {
      for (first, second) in [("main", "other"), ("other", "main")] where row[0].first == "Z" {
        let sql = "SELECT COUNT(*) FROM (SELECT * FROM \(first).\(row[0]) EXCEPT SELECT * FROM \(second).\(row[0]))"
        guard row[0] == "Z_METADATA" || reader.rows(sql) == [["0"]] else { fatalError("\(row[0]) differs") }
      }
    }
    print("integrity_check: ok; the tables are equal")
  }
}

/// A connection by SQLite's C interface.
private final class Reader {
  private var handle: OpaquePointer?

  init(_ file: String) {
    guard sqlite3_open_v2(file, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK else {
      fatalError("cannot open \(file)")
    }
    execute("PRAGMA cache_size = -8192")
  }

  func close() { sqlite3_close(handle) }

  func execute(_ sql: String) {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else {
      fatalError("\(sql): \(String(cString: sqlite3_errmsg(handle)))")
    }
  }

  func prepare(_ sql: String) -> OpaquePointer {
    var statement: OpaquePointer?
    guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
      fatalError("\(sql): \(String(cString: sqlite3_errmsg(handle)))")
    }
    return statement
  }

  func rows(_ sql: String) -> [[String]] {
    let statement = prepare(sql)
    defer { sqlite3_finalize(statement) }
    var rows: [[String]] = []
    while sqlite3_step(statement) == SQLITE_ROW {
      rows.append(
        (0..<sqlite3_column_count(statement)).map { column in
          sqlite3_column_text(statement, column).map { String(cString: $0) } ?? ""
        })
    }
    return rows
  }
}

/// Wall and processor time since the last line.
private struct Clock {
  private var wall = Date()
  private var processor = Self.processorSeconds()

  private static func processorSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  mutating func print(_ name: String) {
    let (now, used) = (Date(), Self.processorSeconds())
    let line = String(format: "%7.3f s  %7.3f s of processor time", now.timeIntervalSince(wall), used - processor)
    Swift.print("\(name.padding(toLength: 22, withPad: " ", startingAt: 0)) \(line)")
    (wall, processor) = (now, used)
  }
}
