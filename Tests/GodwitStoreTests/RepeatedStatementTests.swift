import GodwitModel
import TestSupport
import Testing

@testable import GodwitStore

/// Statements that a connection keeps compiled between two queries.
struct RepeatedStatementTests {
  @Test func `a statement that comes again sees the rows and the table as they are now`() throws {
    let connection = try StoreConnection(path: nil)
    try connection.execute("CREATE TABLE t (a)")
    let insert = "INSERT INTO t VALUES (?1)"
    for number in 1...3 { try connection.execute(insert, [.integer(Int64(number))]) }
    // A parameter without a value is NULL, and not the value of the run before.
    try connection.execute(insert)
    let all = "SELECT * FROM t ORDER BY a"
    #expect(try connection.rows(all) == [[.null], [.integer(1)], [.integer(2)], [.integer(3)]])
    try connection.execute("ALTER TABLE t ADD COLUMN b DEFAULT 7")
    #expect(try connection.rows(all).last == [.integer(3), .integer(7)])
    try connection.execute("DROP TABLE t")
    #expect(throws: GodwitError.self) { try connection.rows(all) }
    try connection.close()
  }

  @Test func `a statement inside its own rows, one that stops early and one that fails run again whole`() throws {
    let connection = try StoreConnection(path: nil)
    try connection.execute("CREATE TABLE t (a UNIQUE)")
    for number in 1...3 { try connection.execute("INSERT INTO t VALUES (?1)", [.integer(Int64(number))]) }
    let all = "SELECT a FROM t ORDER BY a"
    var pairs = 0
    try connection.query(all) { _ in
      pairs += try connection.rows(all).count
      return true
    }
    #expect(pairs == 9)
    #expect(try connection.value(all) == .integer(1) && connection.rows(all).count == 3)
    #expect(throws: GodwitError.self) { try connection.execute("INSERT INTO t VALUES (?1)", [.integer(1)]) }
    try connection.execute("INSERT INTO t VALUES (?1)", [.integer(4)])
    #expect(try connection.rows(all).count == 4)
    // More statements than are kept.
    for number in 0..<100 { #expect(try connection.integer("SELECT \(number)") == Int64(number)) }
    // No statement is left open.
    try connection.close()
  }
}
