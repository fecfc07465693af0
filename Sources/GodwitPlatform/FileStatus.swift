// The members of `stat`, which the shim's header declares too.
package import CPosix

/// What the file system says of a path or of an open file.
///
/// An initialiser that returns nil leaves the reason in `errno`.
package struct FileStatus {
  package enum Kind: Sendable {
    case file, folder, link
    /// A pipe, a device or a socket: opening or reading it may wait.
    case special
  }

  /// Equal for two paths that lead to one file.
  package struct Identity: Sendable, Hashable, CustomStringConvertible {
    /// The file system.
    package let device: UInt64
    /// The inode.
    package let number: UInt64

    package var description: String { "\(device) \(number)" }
  }

  /// A moment since 1970.
  package struct Time: Sendable, Hashable {
    package let seconds, nanoseconds: Int64

    /// The moment as seconds alone, to some hundred nanoseconds.
    package var interval: Double { Double(seconds) + Double(nanoseconds) / 1e9 }
  }

  private let info: stat

  private init?(_ look: (UnsafeMutablePointer<stat>) -> Int32) {
    var info = stat()
    guard look(&info) == 0 else { return nil }
    self.info = info
  }

  /// The status of what a path leads to.
  package init?(following path: String) { self.init { stat(path, $0) } }

  /// The status of what has this name itself, which may be a symbolic link.
  package init?(named path: String) { self.init { lstat(path, $0) } }

  /// The status of a name in an open folder.
  package init?(_ name: UnsafePointer<CChar>, inOpenFolder folder: Int32, followingLinks: Bool) {
    self.init { fstatat(folder, name, $0, followingLinks ? 0 : AT_SYMLINK_NOFOLLOW) }
  }

  package init?(openFile descriptor: Int32) { self.init { fstat(descriptor, $0) } }

  package var kind: Kind {
    switch info.st_mode & S_IFMT {
    case S_IFREG: .file
    case S_IFDIR: .folder
    case S_IFLNK: .link
    default: .special
    }
  }

  package var isFile: Bool { kind == .file }
  package var isFolder: Bool { kind == .folder }

  /// In bytes.
  package var size: Int64 { Int64(info.st_size) }
  /// The bytes that it takes on the disk.
  package var allocatedBytes: Int64 { Int64(info.st_blocks) * 512 }
  /// How many names it has.
  package var linkCount: UInt64 { UInt64(info.st_nlink) }
  package var owner: uid_t { info.st_uid }
  package var group: gid_t { info.st_gid }
  /// The permission bits, with those for set-user-ID and the like.
  package var mode: mode_t { info.st_mode & 0o7777 }
  /// When its bytes were changed.
  package var modified: Time {
    let time = CLibrary.modificationTime(info)
    return Time(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
  }

  package var identity: Identity {
    Identity(device: UInt64(truncatingIfNeeded: info.st_dev), number: UInt64(info.st_ino))
  }

  /// Why it is not a folder that this user alone can write in; nil if it is.
  package var reasonForeign: String? {
    if !isFolder { return kind == .link ? "it is a symbolic link" : "it is a file" }
    if owner != geteuid() { return "it belongs to another user" }
    return mode & 0o022 == 0 ? nil : "other users can write in it"
  }

  /// Whether two paths lead to one file.
  package static func areSame(_ one: String, _ other: String) -> Bool {
    guard let one = FileStatus(following: one), let other = FileStatus(following: other) else { return false }
    return one.identity == other.identity
  }
}
