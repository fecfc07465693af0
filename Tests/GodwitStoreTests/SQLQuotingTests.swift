import GodwitModel
import GodwitStore
import Testing

struct SQLQuotingTests {
  /// A combining mark makes one character of a quote and itself.
  @Test(arguments: ["", "a", "'", "''", "\"", "a'b\"c", "'\u{301}", "\"\u{301}x", "é"])
  func `SQLite reads a quoted text as it was`(text: String) throws {
    let connection = try StoreConnection(path: nil)
    defer { try? connection.close() }
    var found: [String?] = []
    try connection.query("SELECT \(textLiteral(text)) AS \(quoted(text))") { row in
      found.append(row.string(0))
      return true
    }
    #expect(found == [text])
  }

  @Test(arguments: ["\0", "Emp\0", "a\0\"b"])
  func `a name with a NUL is wrong data, not a fault of the program`(name: String) throws {
    let connection = try StoreConnection(path: nil)
    defer { try? connection.close() }
    for sql in ["CREATE TABLE \(quoted(name)) (a)", "SELECT 1 AS \(quoted(name))", "SELECT \(textLiteral(name))"] {
      let error = #expect(throws: GodwitError.self) { try connection.execute(sql) }
      #expect(error?.code == .dataWrong && error?.message.contains("Emp") == false, "\(String(describing: error))")
    }
  }
}
