import GodwitDisk
import GodwitJob
import GodwitModel
import GodwitStore

/// The store under construction, as a later run finds it: a crash, or another program, may have changed it.
extension MigrationManager {
  /// Checks that the store under construction has the tables that its plan needs.
  ///
  /// - Parameters:
  ///   - statements: Those that make the tables.
  ///   - isOwn: Whether this job made them, so that their text must be the same. Core Data writes it otherwise.
  ///   - others: Names of further tables.
  /// - Throws: `.dataWrong` (65) when one is missing or another one.
  static func checkTables(
    _ statements: [String], isOwn: Bool, others: [String] = [], of connection: StoreConnection, at path: String
  ) throws {
    var found: [String: String] = [:]
    try connection.query("SELECT name, sql FROM main.sqlite_master WHERE type = 'table'") { row in
      if let name = row.string(0) { found[name.lowercased()] = row.string(1) }
      return true
    }
    func refusal(_ why: String) -> GodwitError {
      GodwitError(
        .dataWrong, "cannot go on with '\(path)': \(why)", cause: "it was damaged, or another program wrote to it",
        remedy: discardRemedy, safe: "the source is untouched")
    }
    for statement in statements {
      let name = tableName(statement)
      guard let text = found[name.lowercased()] else { throw refusal("its table '\(name)' is missing") }
      guard !isOwn || text == statement else { throw refusal("its table '\(name)' is another one") }
    }
    for name in others where found[name.lowercased()] == nil { throw refusal("its table '\(name)' is missing") }
  }

  /// The name in `CREATE TABLE NAME (…`.
  static func tableName(_ statement: String) -> String {
    let rest = statement.dropFirst("CREATE TABLE ".count)
    guard rest.first == "\"" else { return String(rest.prefix { $0 != " " && $0 != "(" }) }
    return String(rest.dropFirst().prefix { $0 != "\"" })
  }

  static let discardRemedy = "`godwit discard` the job and run again"

  /// Adds to an error of a store in the work folder how to begin again: no backup has that store.
  func tellingDiscard(_ error: GodwitError) -> GodwitError {
    let folder = WorkFolder.path(forDestination: String(job.destinationPath.split(separator: "/").last ?? "")) + "/"
    guard error.code == .dataWrong, error.message.contains(folder), error.remedy?.contains("discard") != true else {
      return error
    }
    var told = error
    told.remedy = Self.discardRemedy
    return told
  }
}
