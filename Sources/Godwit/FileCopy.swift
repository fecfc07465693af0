import Foundation
import GodwitModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Copies one file. A file system with shared extents (Btrfs, XFS) copies no data.
struct FileCopy {
  let source: String
  let copy: String

  init(from source: String, to copy: String) {
    self.source = source
    self.copy = copy
  }

  /// Makes the copy, with the source's permissions, and syncs it. Nothing of the copy's name may exist.
  ///
  /// - Throws: `.inputOutput` (74) when the disk is full or fails; `.permission` (77).
  func run() throws {
    let input = open(source, O_RDONLY | O_CLOEXEC)
    guard input >= 0 else { throw failure("read", source) }
    defer { close(input) }
    var info = stat()
    guard fstat(input, &info) == 0 else { throw failure("read", source) }
    let output = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard output >= 0 else { throw failure("create", copy) }
    defer { close(output) }
    if ioctl(output, Self.clone, input) != 0 {
      var bytes = [UInt8](repeating: 0, count: 1 << 20)
      while try pump(input, output, &bytes) {}
    }
    guard fchmod(output, info.st_mode & 0o777) == 0, fsync(output) == 0 else { throw failure("write", copy) }
  }

  /// `FICLONE` of linux/fs.h, as the C library of this system takes it.
  #if canImport(Musl)
    private static let clone: Int32 = 0x4004_9409
  #else
    private static let clone: UInt = 0x4004_9409
  #endif

  /// Copies the next bytes from where the two files stand; false at the end.
  private func pump(_ input: Int32, _ output: Int32, _ bytes: inout [UInt8]) throws -> Bool {
    let count = read(input, &bytes, bytes.count)
    if count < 0, errno == EINTR { return true }
    guard count >= 0 else { throw failure("read", source) }
    var written = 0
    while written < count {
      let done = bytes.withUnsafeBytes { write(output, $0.baseAddress?.advanced(by: written), count - written) }
      if done < 0, errno == EINTR { continue }
      guard done > 0 else { throw failure("write", copy) }
      written += done
    }
    return count > 0
  }

  private func failure(_ verb: String, _ path: String) -> GodwitError {
    let code = errno
    return GodwitError(
      [EACCES, EPERM, EROFS].contains(code) ? .permission : .inputOutput, "cannot \(verb) '\(path)'",
      cause: String(cString: strerror(code)), remedy: "mend the cause and run the same command",
      safe: "the destination is as it was")
  }
}
