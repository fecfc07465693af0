import Foundation
package import GodwitModel

/// Keeps every other process out of a SQLite store while it is replaced.
///
/// 1. `init` writes the log back into the store (`PRAGMA wal_checkpoint(TRUNCATE)`), so that no non-empty `-wal` is
///    left.
/// 2. It locks the bytes that SQLite itself locks (pending, reserved and shared: 512 bytes from 2^30) as an open
///    file description, so that closing another descriptor of the file in this process does not end the lock.
/// 3. The lock ends with the value, or with the process.
package final class StoreLock {
  private var descriptor: Int32

  private static let firstByte: off_t = 0x4000_0000
  private static let byteCount: off_t = 512

  /// - Throws: `.stopped` (75) while another process has the store open for writing, or holds its log.
  /// - Parameter action: The purpose of the lock, as messages say it after `cannot`; nil for a migration in place.
  package init(store path: String, action: String? = nil) throws {
    let action = action ?? "migrate '\(path)' in place"
    try Self.checkpoint(path, action)
    descriptor = try Self.lockedDescriptor(path, action)
  }

  private static func lockedDescriptor(_ path: String, _ action: String) throws -> Int32 {
    let descriptor = CLibrary.open(path, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else {
      let code = errno
      throw GodwitError(
        [EACCES, EPERM, EROFS].contains(code) ? .permission : .missingInput, "cannot open '\(path)' for writing",
        cause: String(cString: strerror(code)), remedy: "to \(action), the store must be writable")
    }
    do {
      guard set(F_WRLCK, descriptor) else { throw busy(action) }
      // Between the checkpoint and the lock another process may have written.
      guard try !hasLog(path) else { throw busy(action) }
    } catch {
      end(descriptor)
      throw error
    }
    return descriptor
  }

  private static func set(_ type: Int32, _ descriptor: Int32) -> Bool {
    var range = flock()
    range.l_type = Int16(type)
    range.l_whence = Int16(SEEK_SET)
    range.l_start = firstByte
    range.l_len = byteCount
    return fcntl(descriptor, CLibrary.openFileLock, &range) == 0
  }

  /// A child process may have inherited the descriptor, so closing it alone would not end the lock.
  private static func end(_ descriptor: Int32) {
    _ = set(Int32(F_UNLCK), descriptor)
    close(descriptor)
  }

  deinit { release() }

  /// Ends the lock, so that SQLite can acquire its own: the two exclude each other even in one process.
  package func release() {
    guard descriptor >= 0 else { return }
    Self.end(descriptor)
    descriptor = -1
  }

  package static func busy(_ action: String) -> GodwitError {
    GodwitError(
      .stopped, "cannot \(action): another process has it open",
      remedy: "close the application that uses the store and run the same command", safe: "the store is unchanged",
      stopReason: .inUse)
  }

  private static func hasLog(_ path: String) throws -> Bool {
    let files = try StoreFiles(path: path)
    return try files.hasWAL() || files.hasHotJournal()
  }

  private static func checkpoint(_ path: String, _ action: String) throws {
    guard try hasLog(path) else { return }
    let connection = try StoreConnection(path: path)
    defer { try? connection.close() }
    // A hot journal is rolled back by the first read.
    do {
      _ = try connection.value("SELECT COUNT(*) FROM main.sqlite_master")
      let row = try connection.rows("PRAGMA main.wal_checkpoint(TRUNCATE)").first ?? []
      guard row.first != .integer(1) else { throw busy(action) }
    } catch let error as GodwitError where error.code == .stopped || error.refusal == .locked {
      throw busy(action)
    }
    try connection.close()
  }
}
