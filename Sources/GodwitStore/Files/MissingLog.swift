import Foundation
import GodwitModel

/// A store whose write-ahead log was probably left behind when it was copied.
///
/// A store in WAL mode has no `-wal` while no process has it open: the last connection moves the log into the store and
/// removes it. So a missing log alone proves nothing. Two things do: a `-shm`, which always accompanies the log, and a
/// store without a row, since a young store may have all of its rows in the log.
package enum MissingLog {
  /// One sentence on the store at a path; nil without a sign that a log is missing.
  ///
  /// - Throws: as `StoreConnection.openStore`, when the store cannot be read.
  package static func note(ofStoreAt path: String) throws -> String? {
    let files = try StoreFiles(path: path)
    guard files.type == .sqlite, try isInWALMode(files), try !exists(files.walPath) else { return nil }
    let sign: String
    if try exists(files.shmPath) {
      sign = "its -shm is there without a -wal"
    } else if try !hasRows(path) {
      sign = "it has no -wal and no objects"
    } else {
      return nil
    }
    return "'\(path)' is in WAL mode, and \(sign): if it was copied without its -wal, the newest objects are missing; "
      + "copy the -wal too"
  }

  /// The note, and those of `UnusedLog`, in one line; nil without any.
  package static func line(ofStoreAt path: String) throws -> String? {
    let notes = try [note(ofStoreAt: path)].compactMap(\.self) + UnusedLog.notes(ofStoreAt: path)
    return notes.isEmpty ? nil : notes.joined(separator: "; ")
  }

  /// Bytes 18 and 19 of the header are the versions that a writer and a reader must know: 2 is WAL.
  private static func isInWALMode(_ files: StoreFiles) throws -> Bool {
    let head = try ReadableFile(path: files.path, name: files.givenPath).prefix(20)
    return head.count == 20 && head[18] == 2 && head[19] == 2
  }

  private static func exists(_ path: String) throws -> Bool { try FileStatus.look(named: path) != nil }

  /// Whether a table of objects has a row; true for a database without such tables. It looks at the first row of each.
  private static func hasRows(_ path: String) throws -> Bool {
    let connection = try StoreConnection.openStore(readingAt: path)
    let names = try connection.strings(
      "SELECT name FROM source.sqlite_master WHERE type = 'table' AND name GLOB 'Z*' AND name <> 'Z_PRIMARYKEY'")
    guard !names.isEmpty else { return true }
    for name in names {
      let columns = try connection.columnNames(of: name, in: StoreConnection.sourceSchema)
      guard columns.contains("Z_PK"), columns.contains("Z_ENT") else { continue }
      if try !connection.rows("SELECT 1 FROM source.\(quoted(name)) LIMIT 1").isEmpty { return true }
    }
    return false
  }
}
