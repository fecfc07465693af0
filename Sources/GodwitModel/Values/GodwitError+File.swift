import Foundation

extension GodwitError {
  /// The error of a failed system call on a store.
  ///
  /// - Parameter code: Its `errno`.
  package static func reading(storeAt path: String, _ code: Int32) -> GodwitError {
    let (kind, remedy): (Code, String?) =
      switch code {
      case _ where codesOfNoFile.contains(code): (.missingInput, "check the path of the store")
      case EACCES, EPERM: (.permission, "check the permissions of the file and its folder")
      case EMFILE, ENFILE: (.inputOutput, moreFiles)
      default: (.inputOutput, "run the same command; if that fails too, check the disk")
      }
    return GodwitError(kind, "cannot read store '\(path)': \(String(cString: strerror(code)))", remedy: remedy)
  }

  /// The error numbers of a path that leads to no file.
  package static let codesOfNoFile = [ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG]

  /// The remedy if no more files can be opened.
  package static let moreFiles =
    "raise the limit of open files (`ulimit -n`), or work on fewer stores at the same time, and run the same command"
}
