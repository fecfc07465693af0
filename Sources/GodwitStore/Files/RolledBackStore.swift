import CSQLite

/// A file system of SQLite's that shows a database as its hot journal would leave it, and writes nothing.
///
/// SQLite itself can roll back only by writing, so a process without write access had to copy the whole store for one
/// page of it. Here a page comes from the journal if that has it, and otherwise from the database.
enum RolledBackStore {
  private static let name = "godwit-rolled-back"

  /// How to attach a store with a hot journal; nil where a copy is needed, because only SQLite can judge the journal.
  ///
  /// - Throws: as `StoreFiles.init` names the failures.
  static func uri(of files: StoreFiles) throws -> String? {
    guard isRegistered, try !files.hasWAL(),
      try RolledBackFile(path: files.path, journalPath: files.journalPath) != nil
    else { return nil }
    return StoreFiles.uri(path: files.path, query: "mode=ro&immutable=1&vfs=\(name)")
  }

  private static let isRegistered = ReadOnlyFileSystem.register(name) { path in
    try? RolledBackFile(path: path, journalPath: path + "-journal")
  }
}
