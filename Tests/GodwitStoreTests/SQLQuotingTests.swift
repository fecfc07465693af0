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
}
