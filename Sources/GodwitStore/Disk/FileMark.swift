import Foundation
import GodwitModel

/// The mark by which the journal knows a file or a folder again after a kill: see `FileStatus.lastingIdentity`.
///
/// A backup that is copied over a store keeps the inode, so a store is also known by the jobs that it names.
enum FileMark {
  /// - Parameter followsLink: Whether the file is meant to which a symbolic link leads.
  /// - Returns: nil if nothing has the name.
  /// - Throws: When that cannot be found out, which does not prove that the file is another one.
  static func of(_ path: String, followsLink: Bool = true) throws -> String? {
    if let mark = FileStatus.lastingIdentity(path, followingLink: followsLink) { return mark }
    let code = CLibrary.errno
    guard [ENOENT, ENOTDIR].contains(code) else { throw GodwitError.disk("cannot read '\(path)'", errno: code) }
    return nil
  }

  /// Whether what has a name is the file of a mark. A mark of an earlier version has device and inode alone.
  static func matches(_ mark: String?, _ path: String, followsLink: Bool = true) throws -> Bool {
    guard let mark, let found = try of(path, followsLink: followsLink) else { return false }
    let words = mark.split(separator: " ")
    return found.split(separator: " ").prefix(max(words.count, 2)) == words[...]
  }
}
