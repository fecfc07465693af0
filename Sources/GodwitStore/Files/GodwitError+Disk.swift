import Foundation
package import GodwitModel

extension GodwitError {
  /// The remedy for a damaged store.
  package static let damageRemedy =
    "restore the store from a backup; or make a store of what is left of it with `godwit salvage STORE -o COPY --model MODEL`"

  /// A change of the disk that failed.
  ///
  /// | errno | code |
  /// |---|---|
  /// | EACCES, EPERM, EROFS | `.permission` (77) |
  /// | EEXIST, ENOTEMPTY, ENOTDIR, ENAMETOOLONG, ELOOP | `.cannotCreate` (73) |
  /// | all others, ENOSPC, EDQUOT and EIO among them | `.inputOutput` (74) |
  ///
  /// - Parameter what: The failed action, for example `cannot sync 'people.sqlite'`.
  package static func disk(_ what: String, errno code: Int32, safe: String? = nil) -> GodwitError {
    let kind: GodwitError.Code =
      switch code {
      case EACCES, EPERM, EROFS: .permission
      case EEXIST, ENOTEMPTY, ENOTDIR, ENAMETOOLONG, ELOOP: .cannotCreate
      default: .inputOutput
      }
    let remedy =
      switch code {
      case ENOSPC, EDQUOT: "free disk space and run the same command"
      case EACCES, EPERM, EROFS: "check the permissions and run the same command"
      case EMFILE, ENFILE: moreFiles
      default: "fix the cause and run the same command"
      }
    var error = GodwitError(
      kind, what, cause: code == 0 ? nil : String(cString: strerror(code)), remedy: remedy, safe: safe)
    if [ENOSPC, EDQUOT].contains(code) { error.topic = .diskFull }
    return error
  }

  /// As above, for an error of Foundation, which wraps the error number.
  package static func disk(_ what: String, _ error: any Error, safe: String? = nil) -> GodwitError {
    if let known = error as? GodwitError { return known }
    var made = disk(what, errno: errno(of: error), safe: safe)
    if made.cause == nil { made.cause = error.localizedDescription }
    return made
  }

  /// The error number inside an error; 0 without one.
  static func errno(of error: any Error) -> Int32 {
    var next: (any Error)? = error
    while let current = next {
      if let posix = current as? POSIXError { return posix.code.rawValue }
      let bridged = current as NSError
      if bridged.domain == NSPOSIXErrorDomain { return Int32(truncatingIfNeeded: bridged.code) }
      next = bridged.userInfo[NSUnderlyingErrorKey] as? any Error
    }
    switch (error as? CocoaError)?.code {
    case .fileWriteNoPermission?: return EACCES
    case .fileWriteOutOfSpace?: return ENOSPC
    case .fileWriteVolumeReadOnly?: return EROFS
    case .fileWriteFileExists?: return EEXIST
    default: return 0
    }
  }
}
