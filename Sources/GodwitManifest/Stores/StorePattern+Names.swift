import GodwitJob
import GodwitModel

/// Files that match a pattern but are not stores to migrate.
extension StorePattern.Match {
  /// Endings of files that SQLite and Godwit put beside a store: logs, a receipt, a stopped verification, a quarantine.
  private static let suffixes = [
    "-wal", "-shm", "-journal", Receipt.suffix, MigrationJob.verificationSuffix, Quarantine.suffix,
  ]

  /// Whether it belongs to a store that is there.
  package var isBesideStore: Bool {
    Self.suffixes.contains { suffix in
      name.hasSuffix(suffix) && name.utf8.count > suffix.utf8.count && Self.isThere(String(path.dropLast(suffix.count)))
    }
  }

  /// Whether a file of any type has this name; true if that cannot be found out.
  private static func isThere(_ path: String) -> Bool {
    FileStatus(named: path) != nil || errno != ENOENT && errno != ENOTDIR
  }

  /// Where the store is whose old one, by its name `Name~.ext`, this is; nil for any other name.
  package var pathOfNewer: String? {
    let dot = name.lastIndex(of: ".").flatMap { $0 > name.startIndex ? $0 : nil } ?? name.endIndex
    guard name[..<dot].hasSuffix("~"), name[..<dot] != "~" else { return nil }
    let newer = String(path.dropLast(name.count)) + name[..<dot].dropLast() + name[dot...]
    return Array(MigrationJob.oldPath(of: newer).utf8) == Array(path.utf8) ? newer : nil
  }
}
