import Foundation
import GodwitModel

/// A whole file under a second name, with contents of its own.
///
/// If the file system shares blocks between files (Btrfs, XFS, bcachefs, APFS), no bytes are read. Otherwise the bytes
/// are copied, 1 MiB at a time.
package enum StoreCloner {
  /// Copies a file with its permissions, replacing any file with the new name.
  ///
  /// - Parameters:
  ///   - isReflinkWanted: Whether sharing blocks is tried first.
  ///   - isSynced: Whether the bytes are durable when it returns; the folder is the caller's to sync.
  ///   - checkpoint: Called for every piece that is copied; an error that it throws ends the copying.
  /// - Throws: `.inputOutput` (74), `.permission` (77) and the errors of `checkpoint`; the copy is then removed.
  package static func make(
    of path: String, to copy: String, isReflinkWanted: Bool = true, isSynced: Bool = false,
    checkpoint: (_ bytes: Int) throws -> Void = { _ in }
  ) throws {
    func failure(_ what: String) -> GodwitError {
      let code = errno
      return GodwitError(
        [EACCES, EPERM, EROFS].contains(code) ? .permission : .inputOutput, "cannot \(what)",
        cause: String(cString: strerror(code)), remedy: "fix the cause and run the same command",
        safe: "the store is unchanged")
    }
    let input = CLibrary.open(path, O_RDONLY | O_CLOEXEC)
    guard input >= 0 else { throw failure("read '\(path)'") }
    defer { close(input) }
    guard let status = FileStatus(openFile: input) else { throw failure("read '\(path)'") }
    unlink(copy)
    let clone = isReflinkWanted ? CLibrary.openClone(of: input, at: copy) : nil
    let output = clone ?? CLibrary.open(copy, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard output >= 0 else { throw failure("create '\(copy)'") }
    defer { close(output) }
    do {
      if clone == nil, !isReflinkWanted || CLibrary.shareBlocks(of: input, with: output) != 0 {
        try copyBytes(from: input, to: output, failure: { failure("copy '\(path)' to '\(copy)'") }, checkpoint)
      }
      guard fchmod(output, status.mode) == 0 else { throw failure("set the permissions of '\(copy)'") }
      if isSynced, CLibrary.sync(output) != 0 { throw failure("sync '\(copy)'") }
    } catch {
      unlink(copy)
      throw error
    }
  }

  private static func copyBytes(
    from input: Int32, to output: Int32, failure: () -> GodwitError, _ checkpoint: (_ bytes: Int) throws -> Void
  ) throws {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 4096)
    defer { buffer.deallocate() }
    while true {
      let got = read(input, buffer.baseAddress, buffer.count)
      if got < 0, errno == EINTR { continue }
      guard got >= 0 else { throw failure() }
      guard got > 0 else { return }
      try NewFile.write(UnsafeRawBufferPointer(rebasing: buffer[..<got]), to: output) { _ in failure() }
      try checkpoint(got)
    }
  }
}
