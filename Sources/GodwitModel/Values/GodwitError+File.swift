import Foundation

extension GodwitError {
  /// What a failed system call on a store says.
  ///
  /// - Parameter code: Its `errno`.
  package static func reading(storeAt path: String, _ code: Int32) -> GodwitError {
    let reason = String(cString: strerror(code))
    switch code {
    case ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG:
      return GodwitError(
        .missingInput, "cannot read store '\(path)': \(reason)", remedy: "check the path of the store")
    case EACCES, EPERM:
      return GodwitError(
        .permission, "cannot read store '\(path)': \(reason)",
        remedy: "check the permissions of the file and its folder")
    default:
      return GodwitError(.inputOutput, "cannot read store '\(path)': \(reason)")
    }
  }
}
