import Foundation
import GodwitModel

/// Room that is left on the file system of a folder.
package struct FreeSpace: Sendable, Hashable {
  /// Equal for two folders of one file system.
  package var device: UInt64
  /// The bytes that a process without privileges may still write.
  package var bytes: Int64

  package init(device: UInt64, bytes: Int64) {
    self.device = device
    self.bytes = bytes
  }

  /// - Parameter path: A folder, which may be missing: the nearest one above it counts.
  /// - Returns: nil when the file system does not say, as some virtual ones.
  package static func at(_ path: String) -> FreeSpace? {
    var folder = path.isEmpty ? "." : path
    var status = FileStatus(following: folder)
    while status == nil {
      let parent = folder.parentPath
      guard parent != folder else { return nil }
      folder = parent.isEmpty ? "." : parent
      status = FileStatus(following: folder)
    }
    guard let device = status?.identity.device else { return nil }
    var system = statvfs()
    guard statvfs(folder, &system) == 0, system.f_blocks > 0 else { return nil }
    let (bytes, overflow) = UInt64(system.f_bavail).multipliedReportingOverflow(by: UInt64(system.f_frsize))
    return FreeSpace(device: device, bytes: overflow ? .max : Int64(clamping: bytes))
  }

  /// The folder of SQLite's temporary files, by its own order of choice.
  package static var temporaryFolder: String {
    let environment = ProcessInfo.processInfo.environment
    let candidates = [environment["SQLITE_TMPDIR"], environment["TMPDIR"], "/var/tmp", "/usr/tmp", "/tmp"]
    return candidates.compactMap { $0 }.first { path in
      FileStatus(following: path)?.isFolder == true && access(path, W_OK | X_OK) == 0
    } ?? "."
  }
}
