import Foundation

extension GodwitError {
  /// The error of a failed system call on a store.
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
    case EMFILE, ENFILE:
      return GodwitError(.inputOutput, "cannot read store '\(path)': \(reason)", remedy: moreFiles)
    default:
      return GodwitError(.inputOutput, "cannot read store '\(path)': \(reason)")
    }
  }

  /// The remedy if no more files can be opened.
  package static let moreFiles =
    "raise the limit of open files (`ulimit -n`), or work on fewer stores at the same time, and run the same command"
}
