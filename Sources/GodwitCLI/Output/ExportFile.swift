import GodwitModel
import GodwitPlatform
import GodwitStore

/// A new file of text that has its name when it is complete.
///
/// 1. `init` opens a temporary file beside the path.
/// 2. `write` any number of times.
/// 3. `finish` gives it its name, or `discard` removes it.
final class ExportFile {
  private let path: String
  private let temporary: String
  /// The store, whose permissions the file gets; nil for one that holds nothing of a store.
  private let original: String?
  /// Whether it takes the place of a file at the path.
  private let replaces: Bool
  private var descriptor: Int32

  init(path: String, like original: String? = nil, replaces: Bool = false) throws {
    self.path = path
    self.original = original
    self.replaces = replaces
    temporary = try NewFile.temporaryName(beside: path, replaces: replaces)
    descriptor = open(temporary, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw NewFile.failure(errno, path) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  func write(_ text: String) throws {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { CLibrary.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        throw GodwitError(
          .inputOutput, "cannot write to '\(path)': \(String(cString: strerror(errno)))",
          remedy: "free disk space and run the same command")
      }
      rest = rest.dropFirst(count)
    }
  }

  func finish() throws {
    close(descriptor)
    descriptor = -1
    try NewFile.publish(temporary, as: path, like: original, replaces: replaces)
  }

  func discard() { NewFile.discard(temporary) }

  /// Writes a whole file: `body` gives its text, in pieces. Nothing is left of it when `body` or the writing fails.
  static func write(
    to path: String, like original: String? = nil, replaces: Bool = false,
    _ body: ((String) throws -> Void) throws -> Void
  ) throws {
    let file = try ExportFile(path: path, like: original, replaces: replaces)
    do {
      try body(file.write)
      try file.finish()
    } catch {
      file.discard()
      throw error
    }
  }

  /// Writes a whole file of one text.
  static func write(_ text: String, to path: String, like original: String? = nil, replaces: Bool = false) throws {
    try write(to: path, like: original, replaces: replaces) { try $0(text) }
  }
}
