import Foundation
import GodwitModel

/// A file that is written in pieces of 64 KiB and synced at its end.
final class AtomicStoreFile {
  private let path: String
  private var descriptor: Int32
  private var piece: [UInt8] = []
  /// All that was written so far.
  private(set) var writtenBytes: Int64 = 0

  init(path: String) throws {
    self.path = path
    // Its reader is known when it is complete: see `FileRights`.
    descriptor = CLibrary.open(path, O_CREAT | O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw failure(errno) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  private func failure(_ code: Int32) -> GodwitError {
    let kind: GodwitError.Code = [EACCES, EPERM, EROFS].contains(code) ? .permission : .inputOutput
    return GodwitError(
      kind, "cannot write '\(path)': \(String(cString: strerror(code)))",
      remedy: "free disk space, or fix the cause, and run the same command")
  }

  func write(_ text: String) throws { try write(Array(text.utf8)) }

  func write(_ bytes: [UInt8]) throws {
    piece += bytes
    writtenBytes += Int64(bytes.count)
    if piece.count >= 1 << 16 { try flush() }
  }

  private func flush() throws {
    try NewFile.write(piece, to: descriptor, failure: failure)
    piece.removeAll(keepingCapacity: true)
  }

  /// Writes over bytes that were written before.
  func overwrite(_ bytes: [UInt8], at offset: Int) throws {
    try flush()
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeBytes { all in
        pwrite(descriptor, all.baseAddress?.advanced(by: done), all.count - done, off_t(offset + done))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw failure(errno) }
      done += count
    }
  }

  func finish() throws {
    try flush()
    guard CLibrary.sync(descriptor) == 0 else { throw failure(errno) }
    close(descriptor)
    descriptor = -1
  }
}
