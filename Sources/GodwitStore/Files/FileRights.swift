import Foundation
import GodwitModel

/// The rights to read and write a file, carried over to a file that is made from it.
package enum FileRights {
  /// The bits that the process removes from every mode. Read once, because reading it means to set it.
  private static let mask: mode_t = {
    let mask = umask(0o077)
    umask(mask)
    return mask
  }()

  // MARK: New files

  /// Gives a new file the permissions that all files have which it was made from, under the umask; without any, those
  /// of a new file.
  ///
  /// The new owner can always read and write. The group gets only the rights of all others if the groups differ, or if
  /// an access control list of the original says more than its mode does.
  /// Group bits are the mask of such a list.
  ///
  /// - Throws: `.inputOutput` or `.permission` when it cannot be set.
  package static func copyMode(of originals: [String], to path: String) throws {
    guard let new = FileStatus(following: path) else { throw failure(errno, "read the permissions of", path) }
    var common: mode_t = originals.isEmpty ? 0o666 & ~mask : 0o777
    for original in originals {
      guard let old = FileStatus(following: original) else {
        throw failure(errno, "read the permissions of", original)
      }
      let hasList = try attribute("system.posix_acl_access", of: original) != nil
      common &= mode(old, isSameGroup: old.group == new.group && !hasList)
    }
    guard chmod(path, common) == 0 else { throw failure(errno, "set the permissions of", path) }
  }

  package static func copyMode(of original: String, to path: String) throws { try copyMode(of: [original], to: path) }

  private static func mode(_ status: FileStatus, isSameGroup: Bool) -> mode_t {
    var mode = status.mode & 0o777
    if !isSameGroup { mode &= ~0o070 | (mode & 0o007) << 3 }
    return (mode & ~mask) | 0o600
  }

  /// The mode of a new folder that is made like another one; owner-only without another one.
  package static func folderMode(like original: String) -> UInt32 {
    guard let status = FileStatus(named: original), status.isFolder else { return 0o700 }
    return UInt32(mode(status, isSameGroup: status.group == getegid()) | 0o700)
  }

  // MARK: The same file under new content

  /// Extended attributes that describe a file's bytes or its maker. On another file they would be wrong.
  private static let ofContent: Set<String> = [
    "security.ima", "security.evm", "com.apple.provenance", "com.apple.macl",
  ]
  private static let accessList = "system.posix_acl_access"

  /// Gives a file owner, group, mode, access control list and extended attributes of another.
  ///
  /// - Throws: `.permission` (77) when the process may not; `.inputOutput` when it fails otherwise.
  package static func copyAll(of original: String, to path: String) throws {
    guard let old = FileStatus(following: original) else {
      throw failure(errno, "read the permissions of", original)
    }
    guard let new = FileStatus(following: path) else { throw failure(errno, "read the permissions of", path) }
    if old.owner != new.owner || old.group != new.group {
      guard chown(path, old.owner, old.group) == 0 else { throw failure(errno, "keep owner and group of", original) }
    }
    // Before the list: its mask is the mode's group.
    guard chmod(path, old.mode) == 0 else { throw failure(errno, "keep the permissions of", original) }
    let (wanted, found) = (try attributes(of: original), try attributes(of: path))
    for name in found.subtracting(wanted) where name == accessList || name.hasPrefix("user.") {
      guard CLibrary.removeAttribute(path, name) == 0 || errno == CLibrary.noAttribute else {
        throw failure(errno, "remove '\(name)' from", path)
      }
    }
    for name in wanted.sorted() where !ofContent.contains(name) {
      guard let value = try attribute(name, of: original), try attribute(name, of: path) != value else { continue }
      guard CLibrary.setAttribute(path, name, value) == 0 else {
        throw failure(errno, "keep the extended attribute '\(name)' of", original)
      }
    }
    guard CLibrary.copyAccessList(from: original, to: path) == 0 else {
      throw failure(errno, "keep the access control list of", original)
    }
    guard let set = FileStatus(following: path), set.mode == old.mode || chmod(path, old.mode) == 0 else {
      throw failure(errno, "keep the permissions of", original)
    }
  }

  private static func failure(_ code: Int32, _ what: String, _ path: String) -> GodwitError {
    let isForbidden = [EACCES, EPERM, EROFS, EOPNOTSUPP].contains(code)
    return GodwitError(
      isForbidden ? .permission : .inputOutput, "cannot \(what) '\(path)'", cause: String(cString: strerror(code)),
      remedy: isForbidden
        ? "run the command as the file's owner, or as root" : "fix the cause and run the same command",
      safe: "the store is unchanged")
  }

  /// The names of a file's extended attributes; none if the file system does not support them.
  private static func attributes(of path: String) throws -> Set<String> {
    while true {
      let size = CLibrary.listAttributes(path, nil, 0)
      guard size >= 0 else {
        if [EOPNOTSUPP, ENOTSUP, ENOSYS].contains(errno) { return [] }
        throw failure(errno, "read the extended attributes of", path)
      }
      guard size > 0 else { return [] }
      var bytes = [CChar](repeating: 0, count: size)
      let got = CLibrary.listAttributes(path, &bytes, size)
      if got < 0, errno == ERANGE { continue }
      guard got >= 0 else { throw failure(errno, "read the extended attributes of", path) }
      return Set(
        bytes.prefix(got).split(separator: 0).map { String(decoding: $0.map(UInt8.init(bitPattern:)), as: UTF8.self) })
    }
  }

  /// The value of an extended attribute; nil if the file lacks it.
  private static func attribute(_ name: String, of path: String) throws -> [UInt8]? {
    while true {
      let size = CLibrary.getAttribute(path, name, nil, 0)
      if size < 0, [CLibrary.noAttribute, EOPNOTSUPP, ENOTSUP, ENOSYS].contains(errno) { return nil }
      guard size >= 0 else { throw failure(errno, "read the extended attribute '\(name)' of", path) }
      var bytes = [UInt8](repeating: 0, count: size)
      let got = CLibrary.getAttribute(path, name, &bytes, size)
      if got < 0, errno == ERANGE { continue }
      guard got >= 0 else { throw failure(errno, "read the extended attribute '\(name)' of", path) }
      return Array(bytes.prefix(got))
    }
  }
}
