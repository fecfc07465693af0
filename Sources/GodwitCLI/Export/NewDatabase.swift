import GodwitModel
import GodwitStore

/// A SQLite file that a command writes.
enum NewDatabase {
  /// The most columns that SQLite gives a table.
  private static let columnsMaximum = 2000

  /// Writes a new file that has its name when it is complete.
  ///
  /// - Parameters:
  ///   - store: The store, whose permissions the file gets.
  ///   - body: Fills the database, in one transaction.
  /// - Throws: `.cannotCreate` (73) when something is at the path.
  static func write(to path: String, like store: String, _ body: (StoreConnection) throws -> Void) throws {
    try NewFile.make(path, like: [store]) { temporary in
      let connection = try StoreConnection(path: temporary, create: true)
      do {
        // The file has no name yet: nothing has to be rolled back.
        try connection.undefended { try connection.execute("PRAGMA journal_mode = OFF") }
        try connection.execute("PRAGMA synchronous = OFF")
        try connection.execute("PRAGMA foreign_keys = OFF")
        try connection.transaction { try body(connection) }
        try connection.close()
      } catch var error as GodwitError {
        try? connection.close()
        error.message = error.message.replacing(temporary, with: path)
        throw error
      }
    }
  }

  /// Makes a table.
  ///
  /// - Parameters:
  ///   - content: The exported thing, for an error: `entity 'Author'`.
  ///   - columns: Their definitions.
  /// - Returns: The statement that inserts a row, with a parameter for each column.
  static func makeTable(
    _ name: String, of content: String, columns: [String], in connection: StoreConnection
  ) throws -> SQLStatement {
    guard columns.count <= columnsMaximum else {
      throw GodwitError(
        .usage,
        "cannot export \(content) to SQLite: expected at most \(columnsMaximum) columns, found \(columns.count)",
        remedy: "export it with --format jsonl or csv")
    }
    try connection.execute("CREATE TABLE \(quoted(name)) (\(columns.joined(separator: ", ")))")
    let parameters = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
    return try connection.prepare("INSERT INTO \(quoted(name)) VALUES (\(parameters))")
  }
}
