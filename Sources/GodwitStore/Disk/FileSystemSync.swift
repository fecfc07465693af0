import GodwitModel

/// Makes all of a file system durable with one call, `syncfs`.
///
/// The call is trusted on file systems of which it is known to wait for every file and folder. A file system in user
/// space is not told to sync its own files by it, and a file system of the network has its own rules. Linux reports a page
/// that could not be written from version 5.8 on.
final class FileSystemSync: Sendable {
  private let descriptor: Int32

  /// The file systems by the numbers of `statfs`: ext2 to ext4, XFS, Btrfs, F2FS, tmpfs, overlayfs and ZFS.
  private static let trusted: Set<Int64> = [
    0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x0102_1994, 0x794C_7630, 0x2FC1_2FC1,
  ]

  private static let reportsErrors: Bool = {
    var name = utsname()
    guard uname(&name) == 0 else { return false }
    let release = withUnsafeBytes(of: name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    let parts = release.split { !$0.isNumber }.prefix(2).compactMap { Int($0) }
    return parts.count == 2 && (parts[0], parts[1]) >= (5, 8)
  }()

  /// - Returns: nil where the call is not trusted.
  init?(of folder: String) {
    guard Self.reportsErrors else { return nil }
    // The descriptor stays open: errors since it was opened are reported to it, whoever else asks meanwhile.
    descriptor = CLibrary.open(folder, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    guard Self.trusted.contains(CLibrary.fileSystemType(of: descriptor)) else {
      close(descriptor)
      return nil
    }
  }

  deinit { close(descriptor) }

  /// - Returns: false if something could not be written. Syncing each file then tells which.
  func sync() -> Bool { CLibrary.syncFileSystem(of: descriptor) == 0 }
}
