internal import FaultShim
import Foundation

/// A change of the file system that the code under test asks for, or a look at it.
package struct DiskOperation: Sendable, CustomStringConvertible {
  package enum Kind: String, Sendable {
    case create, makeFolder, write, truncate, allocate, sync, syncAll, rename, link, unlink, removeFolder
    case open, read, status

    /// Whether a full disk refuses it.
    var needsSpace: Bool { [.create, .makeFolder, .write, .allocate, .link].contains(self) }
  }

  package var kind: Kind
  /// The path; for a call with a descriptor, that of its file.
  package var path: String
  package var secondPath: String?
  /// Bytes to write, or the new length.
  package var length: Int64

  init(_ call: fault_call) {
    kind =
      switch fault_kind(rawValue: UInt32(call.kind)) {
      case FAULT_CREATE: .create
      case FAULT_MAKE_FOLDER: .makeFolder
      case FAULT_WRITE: .write
      case FAULT_TRUNCATE: .truncate
      case FAULT_ALLOCATE: .allocate
      case FAULT_SYNC: .sync
      case FAULT_SYNC_ALL: .syncAll
      case FAULT_RENAME: .rename
      case FAULT_LINK: .link
      case FAULT_UNLINK: .unlink
      case FAULT_OPEN: .open
      case FAULT_READ: .read
      case FAULT_STATUS: .status
      default: .removeFolder
      }
    path = call.path.map { String(cString: $0) } ?? Self.path(of: call.descriptor)
    secondPath = call.second_path.map { String(cString: $0) }
    length = call.length
  }

  private static func path(of descriptor: Int32) -> String {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")) ?? ""
  }

  package var description: String { "\(kind.rawValue) \(path)\(secondPath.map { " to \($0)" } ?? "")" }
}
