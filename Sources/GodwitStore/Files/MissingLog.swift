import Foundation
import GodwitPlatform

/// A store whose write-ahead log was probably left behind when it was copied.
///
/// A store in WAL mode has no `-wal` while no process has it open: the last connection moves the log into the store and
/// removes it. So a missing log alone proves nothing. Two things do: a `-shm`, which always accompanies the log, and a
/// store without a row, since a young store may have all of its rows in the log.
package enum MissingLog {
  /// One sentence on the store at a path; nil without a sign that a log is missing.
  package static func note(ofStoreAt path: String) -> String? {
    guard let files = try? StoreFiles(path: path), files.type == .sqlite, isInWALMode(files),
      !exists(files.walPath)
    else { return nil }
    let sign: String
    if exists(files.shmPath) {
      sign = "its -shm is there without a -wal"
    } else if (try? hasRows(path)) == false {
      sign = "it has no -wal and no objects"
    } else {
      return nil
    }
    return "'\(path)' is in WAL mode, and \(sign): if it was copied without its -wal, the newest objects are missing; "
      + "copy the -wal too"
  }

  /// Bytes 18 and 19 of the header are the versions that a writer and a reader must know: 2 is WAL.
  private static func isInWALMode(_ files: StoreFiles) -> Bool {
    guard let head = try? ReadableFile(path: files.path, name: files.givenPath).prefix(20), head.count == 20 else {
      return false
    }
    return head[18] == 2 && head[19] == 2
  }

  private static func exists(_ path: String) -> Bool { FileStatus(named: path) != nil }

  /// Whether a table of objects has a row. It looks at the first row of each.
  private static func hasRows(_ path: String) throws -> Bool {
    let connection = try StoreConnection.openStore(readingAt: path)
    let names = try connection.strings(
      "SELECT name FROM source.sqlite_master WHERE type = 'table' AND name GLOB 'Z*' AND name <> 'Z_PRIMARYKEY'")
    for name in names {
      let columns = try connection.columnNames(of: name, in: StoreConnection.sourceSchema)
      guard columns.contains("Z_PK"), columns.contains("Z_ENT") else { continue }
      if try !connection.rows("SELECT 1 FROM source.\(quoted(name)) LIMIT 1").isEmpty { return true }
    }
    return false
  }
}
