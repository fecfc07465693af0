import Foundation

/// Compares two stores: schema, every row of every table, metadata and external files.
///
/// How pages are laid out does not count. Rows are read side by side, so that memory stays bounded; a difference is
/// named by its place, never by its value.
package struct StoreComparison {
  private let first: String
  private let second: String

  /// - Parameters: Two finished stores of one type, which no process writes.
  package init(_ first: String, _ second: String) {
    self.first = first
    self.second = second
  }

  /// The first place in which they differ; nil when they say the same.
  ///
  /// - Throws: as opening and reading stores does.
  package func firstDifference() throws -> String? {
    let types = (try StoreFiles(path: first).type, try StoreFiles(path: second).type)
    guard types.0 == types.1 else { return "the types of the stores" }
    if types.0.isAtomic { return try bytesDiffer() ? "the bytes of the \(types.0.noun)s" : nil }
    let a = try StoreConnection.openStore(readingAt: first)
    let b = try StoreConnection.openStore(readingAt: second)
    defer {
      try? a.close()
      try? b.close()
    }
    for connection in [a, b] { try connection.execute("PRAGMA temp_store = FILE") }
    for pragma in ["page_size", "auto_vacuum", "encoding", "user_version", "application_id"] {
      let sql = "PRAGMA source.\(pragma)"
      if try a.value(sql) != b.value(sql) { return "PRAGMA \(pragma)" }
    }
    let schema = "SELECT type, name, tbl_name, sql FROM source.sqlite_master ORDER BY 1, 2"
    if let row = try differingRow(schema, a, b) { return "the schema, at entry \(row)" }
    let tables = try a.strings("SELECT name FROM source.sqlite_master WHERE type = 'table' ORDER BY 1")
    for name in tables where name != "Z_METADATA" {
      if let row = try differingRow(try Self.select(name, a), a, b) { return "table \(name), at row \(row)" }
    }
    if let difference = try metadataDifference(a, b) { return difference }
    return try externalDifference()
  }

  /// All rows in an order that does not depend on how they were written.
  private static func select(_ table: String, _ connection: StoreConnection) throws -> String {
    let name = StoreSchema.identifier(table)
    let columns = try connection.rows(
      "SELECT name, pk FROM pragma_table_info(?1, 'source') ORDER BY cid", [.text(table)])
    // Core Data's tables have an integer key, which costs no sorting; join tables have nothing but keys.
    if columns.first == [.text("Z_PK"), .integer(1)] { return "SELECT * FROM source.\(name) ORDER BY Z_PK" }
    guard !columns.isEmpty else { return "SELECT 1 WHERE 0" }
    return "SELECT * FROM source.\(name) ORDER BY \((1...columns.count).map(String.init).joined(separator: ", "))"
  }

  private func differingRow(_ sql: String, _ a: StoreConnection, _ b: StoreConnection) throws -> Int? {
    let (x, y) = (try a.prepare(sql), try b.prepare(sql))
    defer {
      x.finalize()
      y.finalize()
    }
    var row = 0
    while true {
      row += 1
      let (left, right) = (try x.step(), try y.step())
      guard left, right else { return left == right ? nil : row }
      guard x.row.count == y.row.count else { return row }
      for column in 0..<x.row.count where x.row.value(column) != y.row.value(column) { return row }
    }
  }

  private func metadataDifference(_ a: StoreConnection, _ b: StoreConnection) throws -> String? {
    let (x, y) = (try StoreMetadata(reading: a, path: first), try StoreMetadata(reading: b, path: second))
    if x.uuid != y.uuid { return "the UUID" }
    let keys = Set(x.values.keys).union(y.values.keys)
    return keys.sorted().first { x.values[$0] != y.values[$0] }.map { "metadata '\($0)'" }
  }

  private func externalDifference() throws -> String? {
    let (x, y) = (SupportFolder(ofStoreAt: first), SupportFolder(ofStoreAt: second))
    var count = 0
    var difference: String?
    try x.forEachFile { name, _ in
      count += 1
      if difference == nil, try !x.holdsSameBytes(name, as: name, in: y) { difference = "external file '\(name)'" }
    }
    try y.forEachFile { _, _ in count -= 1 }
    return difference ?? (count == 0 ? nil : "the number of external files")
  }

  private func bytesDiffer() throws -> Bool {
    let files = [first, second].map { FileHandle(forReadingAtPath: $0) }
    defer { for file in files { try? file?.close() } }
    while true {
      let pieces = try files.map { try $0?.read(upToCount: 1 << 20) ?? Data() }
      if pieces[0] != pieces[1] { return true }
      if pieces[0].isEmpty { return false }
    }
  }
}
