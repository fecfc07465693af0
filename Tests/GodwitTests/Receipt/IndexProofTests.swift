import Foundation
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// When the indexes of a file are called sound without SQLite's full check.
struct IndexProofTests {
  /// - Parameter damage: Text in the file's pages, and what takes its place.
  private static func holds(_ sql: [String], damage: (old: String, new: String)? = nil) throws -> Bool {
    let folder = try TemporaryFolder("godwit-index")
    let path = folder.file("a.sqlite")
    var connection = try StoreConnection(path: path, create: true)
    for statement in sql { try connection.execute(statement) }
    try connection.close()
    if let damage {
      var file = try Data(contentsOf: URL(filePath: path))
      let place = try #require(file.range(of: Data(damage.old.utf8), options: .backwards))
      file.replaceSubrange(place, with: Data(damage.new.utf8))
      try file.write(to: URL(filePath: path))
    }
    connection = try StoreConnection(path: path)
    return try IndexProof(connection, database: "main").holds()
  }

  private static let rows = (0..<20).map { "INSERT INTO t VALUES (\($0), 'name \($0)', \($0) / 3.0)" }

  @Test(arguments: [
    "CREATE INDEX i ON t (b)", "CREATE INDEX i ON t (c, b)", "CREATE UNIQUE INDEX i ON t (b)",
  ])
  func `an index of plain columns is sound, and is not when an entry differs`(index: String) throws {
    let table = "CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR, c DOUBLE)"
    #expect(try Self.holds([table, index] + Self.rows))
    #expect(try !Self.holds([table, index] + Self.rows, damage: ("name 7", "name X")))
  }

  @Test(arguments: [
    // SQLite reads the row number in place of what the entry has.
    ["CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR, c DOUBLE)", "CREATE INDEX i ON t (b, a)"],
    ["CREATE TABLE t (rowid INTEGER, b VARCHAR, c DOUBLE)", "CREATE INDEX i ON t (b)"],
    ["CREATE TABLE t (a INTEGER, b VARCHAR, c DOUBLE, d AS (a + 1))", "CREATE INDEX i ON t (d)"],
    ["CREATE TABLE t (a INTEGER, b VARCHAR, c DOUBLE)", "CREATE INDEX i ON t (b DESC)"],
    ["CREATE TABLE t (a INTEGER, b VARCHAR, c DOUBLE)", "CREATE INDEX i ON t (b COLLATE NOCASE)"],
    ["CREATE TABLE t (a INTEGER, b VARCHAR, c DOUBLE)", "CREATE INDEX i ON t (lower(b))"],
    ["CREATE TABLE t (a INTEGER, b VARCHAR, c DOUBLE)", "CREATE INDEX i ON t (b) WHERE a > 3"],
    ["CREATE TABLE t (a INTEGER, b VARCHAR PRIMARY KEY, c DOUBLE) WITHOUT ROWID", "CREATE INDEX i ON t (c)"],
  ])
  func `an index that two walks cannot judge is left to the full check`(sql: [String]) throws {
    #expect(try !Self.holds(sql + Self.rows))
  }
}
