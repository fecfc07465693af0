import Foundation
import GodwitModel

/// A temporary folder of this process, which only its user can enter. It is removed with the value.
///
/// A killed process leaves its folder behind. A kernel lock on a file inside shows whether the process is still alive.
/// The process that makes the next folder removes those without a holder.
package final class ScratchFolder: Sendable {
  package let path: String
  private let lock: Int32
  private let isKept: Bool

  private static let lockName = "/lock"
  /// A folder without a lock for so long was left by a process that died while it made it.
  private static let graceSeconds = 60

  /// - Parameters:
  ///   - name: The beginning of the folder's name.
  ///   - folder: Where it is made; nil for `TMPDIR`.
  ///   - isKept: Whether it stays when the value goes, and is never swept.
  /// - Throws: `.cannotCreate` (73) when it cannot be made.
  package init(name: String = "godwit-scratch", in folder: String? = nil, isKept: Bool = false) throws {
    self.isKept = isKept
    let parent = folder ?? FileManager.default.temporaryDirectory.path
    if !isKept { Self.sweep(parent, name: name) }
    var template = Array("\(parent)\(parent.hasSuffix("/") ? "" : "/")\(name)-XXXXXX".utf8CString)
    func failed() -> GodwitError {
      GodwitError(
        .cannotCreate, "cannot create a temporary folder in '\(parent)'", cause: String(cString: strerror(errno)),
        remedy: "name another folder for temporary files in the environment variable TMPDIR")
    }
    guard mkdtemp(&template) != nil else { throw failed() }
    path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    lock = open(path + Self.lockName, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0 else {
      let error = failed()
      if lock >= 0 { close(lock) }
      try? FileManager.default.removeItem(atPath: path)
      throw error
    }
  }

  deinit {
    // While the lock is held, no other process takes the folder for a stale one.
    if !isKept { try? FileManager.default.removeItem(atPath: path) }
    close(lock)
  }

  /// Removes the folder, whether it is to be kept or not.
  package func remove() { try? FileManager.default.removeItem(atPath: path) }

  /// Removes folders of this user's that no process holds. A folder that cannot be removed stays.
  private static func sweep(_ parent: String, name: String) {
    let beginning = name + "-"
    for found in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
    where found.hasPrefix(beginning) && found.utf8.count == beginning.utf8.count + 6 {
      let path = "\(parent)/\(found)"
      guard let status = FileStatus(named: path), status.isFolder, status.owner == geteuid(),
        status.mode & 0o077 == 0, time(nil) - Int(status.modified.seconds) > graceSeconds
      else { continue }
      let lock = open(path + lockName, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
      defer { if lock >= 0 { close(lock) } }
      // A folder of this name without a lock file may belong to anybody. An empty one belongs to no process.
      guard lock >= 0 else {
        rmdir(path)
        continue
      }
      guard flock(lock, LOCK_EX | LOCK_NB) == 0 else { continue }
      try? FileManager.default.removeItem(atPath: path)
    }
  }
}
