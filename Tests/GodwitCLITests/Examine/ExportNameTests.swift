import Foundation
import GodwitModel
import GodwitStore
import Testing

/// Exports whose tables, indexes and types have names that need care.
struct ExportNameTests {
  private static func export(_ model: ManagedObjectModel, _ file: String) throws -> (ProjectFixture, Int32, String) {
    let project = ProjectFixture()
    try project.bundle("M.xcdatamodeld", [model])
    try project.store("s.sqlite", model) { try $0.insert("X") }
    let result = project.godwit(
      "export", try project.path("s.sqlite"), "--model", try project.path("M.xcdatamodeld"), "--all", "--format",
      "sqlite", "-o", try project.path(file))
    return (project, result.status, result.diagnostics)
  }

  @Test(arguments: [
    [("A", ["b_c"]), ("A_b", ["c"])], [("A", ["b"]), ("index_A_b", [])], [("A", ["b"]), ("INDEX_a_B", [])],
  ])
  func `indexes whose names meet get names of their own`(entities: [(String, [String])]) throws {
    let model = try ManagedObjectModel(
      name: "M",
      entities: entities.map { name, links in
        EntityDescription(
          name: name, attributes: [AttributeDescription(name: "s", type: .string)],
          relationships: links.map { RelationshipDescription(name: $0, destinationEntityName: "X") })
      } + [.made("X", [AttributeDescription(name: "s", type: .string)])])
    let (project, status, diagnostics) = try Self.export(model, "o.db")
    #expect(status == 0, "\(diagnostics)")
    let made = try StoreConnection(path: project.path("o.db"))
    let links = entities.reduce(0) { $0 + $1.1.count }
    #expect(
      try made.integer("SELECT count(*) FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL") == Int64(links))
  }

  /// A database of something else, with one table.
  private static func raw(_ statements: String...) throws -> ProjectFixture {
    let project = ProjectFixture()
    let connection = try StoreConnection(path: project.path("x.sqlite"), create: true)
    for sql in statements { try connection.execute(sql) }
    try connection.close()
    return project
  }

  @Test(arguments: ["jsonl", "sqlite"])
  func `a table that is named twice is written once`(format: String) throws {
    let project = try Self.raw("CREATE TABLE t (a)", "INSERT INTO t VALUES (1)")
    let file = try project.path("o." + format)
    let result = project.godwit(
      "export", try project.path("x.sqlite"), "--raw", "--table", "t", "--table", "t", "--format", format, "-o", file)
    #expect(result.status == 0, "\(result.diagnostics)")
    guard format == "jsonl" else { return }
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "{\"@table\":\"t\",\"a\":1}\n")
  }

  private static let many = (0..<2000).map { "c\($0)" }

  @Test(arguments: ["", "k INTEGER PRIMARY KEY", "k INTEGER PRIMARY KEY DESC"], ["jsonl", "csv", "sqlite"])
  func `a table with as many columns as SQLite allows is exported`(key: String, format: String) throws {
    // The key is in the middle.
    var columns = Self.many
    if !key.isEmpty { columns[1000] = key }
    let project = try Self.raw(
      "CREATE TABLE t (\(columns.joined(separator: ", ")))", "INSERT INTO t (c0, c1999) VALUES (7, 9), (8, 10)")
    let file = try project.path("o.\(format)")
    let result = project.godwit(
      "export", try project.path("x.sqlite"), "--raw", "--table", "t", "--format", format, "-o", file)
    #expect(result.status == 0, "\(result.diagnostics)")
    guard format == "sqlite" else { return }
    let made = try StoreConnection(path: file)
    #expect(
      try made.rows("SELECT c0, c999, c1999 FROM t ORDER BY c0") == [
        [.integer(7), .null, .integer(9)], [.integer(8), .null, .integer(10)],
      ])
    if key == "k INTEGER PRIMARY KEY" { #expect(try made.strings("SELECT k FROM t ORDER BY c0") == ["1", "2"]) }
  }

  @Test(arguments: [
    "check", "not null", "primary key", "references t", "collate nocase", "default", "generated always", "unique",
  ])
  func `a declared type of words of SQL stays a type`(type: String) throws {
    let project = try Self.raw(
      "CREATE TABLE t (a \"\(type)\", b VARCHAR)", "INSERT INTO t VALUES (NULL, 'x'), (NULL, 'x'), ('A', 'y')")
    let result = project.godwit(
      "export", try project.path("x.sqlite"), "--raw", "--all", "--format", "sqlite", "-o", try project.path("o.db"))
    #expect(result.status == 0, "\(result.diagnostics)")
    let made = try StoreConnection(path: project.path("o.db"))
    #expect(try made.integer("SELECT count(*) FROM t WHERE a IS NULL OR a = 'A'") == 3)
    #expect(try made.integer("SELECT count(*) FROM t WHERE a = 'a'") == 0)
    let kept = try made.rows("SELECT type, \"notnull\", pk FROM pragma_table_info('t')")
    #expect(kept == [[.text(type), .integer(0), .integer(0)], [.text("VARCHAR"), .integer(0), .integer(0)]])
  }
}
