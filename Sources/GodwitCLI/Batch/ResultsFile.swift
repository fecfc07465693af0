import GodwitModel
import GodwitStore
import Synchronization

/// The results of a shard: a JSON line for each store, appended when the store ends.
///
/// Each line is written by one call, so that neither a reader nor a killed run leaves a part of one. Lines are never
/// removed. One process at a time should write the file.
final class ResultsFile: Sendable {
  private let path: String
  private let descriptor: Int32
  /// Threads append one after the other: an append that fails is cut off, and must not cut the line of another thread.
  private let turn = Mutex(())

  /// - Parameter stores: Those that it tells of: a new file is no more readable than they are.
  /// - Throws: The errors of `OutputFile`; `.permission` (77) or `.cannotCreate` (73) when it cannot be opened.
  init(path: String, like stores: [String]) throws {
    self.path = path
    let output = OutputFile(path, "results of a run", option: "stores.results") { head in
      let line = head.prefix { $0 != 0x0A }.prefix(Self.beginning.count)
      return head.isEmpty || !line.isEmpty && Self.beginning.starts(with: line)
    }
    let isThere = try output.check()
    descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      let code = errno
      throw GodwitError(
        [EACCES, EPERM, EROFS].contains(code) ? .permission : .cannotCreate, "cannot write results to '\(path)'",
        cause: String(cString: strerror(code)), remedy: "name a file in a folder that exists and may be written",
        safe: "nothing was written")
    }
    if !isThere { try FileRights.copyMode(of: stores.filter(StoreFiles.isRegularFile), to: path) }
    cutTornLine()
  }

  /// How each line begins.
  private static let beginning = Array("{\"type\":\"store\",".utf8)

  /// Removes a part of a line at the end, which a crash left. Only the one process that writes the file may do this. If it
  /// fails, the next line ends the torn one.
  private func cutTornLine() {
    let end = lseek(descriptor, 0, SEEK_END)
    var place = end
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while place > 0 {
      let start = max(0, place - off_t(piece.count))
      let count = piece.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, Int(place - start), start) }
      guard count == Int(place - start) else { return }
      if let last = piece[..<count].lastIndex(of: 0x0A) {
        place = start + off_t(last) + 1
        break
      }
      place = start
    }
    if place < end { _ = ftruncate(descriptor, place) }
  }

  deinit { close(descriptor) }

  /// Appends a line. One that does not fit on the disk leaves nothing behind.
  func append(_ line: String) throws { try turn.withLock { _ in try write(line) } }

  private func write(_ line: String) throws {
    let start = lseek(descriptor, 0, SEEK_END)
    var last: UInt8 = 0x0A
    if start > 0 { _ = pread(descriptor, &last, 1, start - 1) }
    // A power cut may have left a part of a line.
    let bytes = Array(((last == 0x0A ? "" : "\n") + line + "\n").utf8)
    var count = -1
    repeat {
      count = bytes.withUnsafeBytes { CLibrary.write(descriptor, $0.baseAddress, $0.count) }
    } while count < 0 && errno == EINTR
    guard count != bytes.count else { return }
    let code = count < 0 ? errno : ENOSPC
    // Unless another process has appended meanwhile.
    if count > 0, start >= 0, lseek(descriptor, 0, SEEK_END) == start + off_t(count) {
      _ = ftruncate(descriptor, start)
    }
    throw GodwitError(
      .inputOutput, "cannot write results to '\(path)'", cause: String(cString: strerror(code)),
      remedy: "free disk space; the same command writes a line for each store again")
  }
}
