import GodwitModel

/// A new file of text that has its name when it is complete.
///
/// 1. `init` opens a temporary file beside the path.
/// 2. `write` any number of times.
/// 3. `finish` gives it its name, or `discard` removes it.
package final class ExportFile {
  private let output: OutputFile
  private let temporary: String
  private var descriptor: Int32
  private var path: String { output.path }

  package init(_ output: OutputFile) throws {
    self.output = output
    temporary = try NewFile.temporaryName(beside: output.path, replaces: output.check())
    descriptor = CLibrary.open(temporary, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else { throw NewFile.failure(errno, output.path) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  package func write(_ text: String) throws {
    try NewFile.write(text.utf8, to: descriptor) { code in
      GodwitError(
        .inputOutput, "cannot write to '\(path)': \(String(cString: strerror(code)))",
        remedy: "free disk space and run the same command")
    }
  }

  package func finish() throws {
    close(descriptor)
    descriptor = -1
    // The file at the path may have changed since. The new file is not more readable than the one that it replaces.
    let replaces = try output.check()
    try NewFile.publish(temporary, as: path, like: output.originals + (replaces ? [path] : []), replaces: replaces)
  }

  package func discard() { NewFile.discard(temporary) }

  /// Writes a whole file: `body` gives its text, in pieces. The file is removed when `body` or the writing fails.
  package static func write(to output: OutputFile, _ body: ((String) throws -> Void) throws -> Void) throws {
    let file = try ExportFile(output)
    do {
      try body(file.write)
      try file.finish()
    } catch {
      file.discard()
      throw error
    }
  }

  /// Writes a whole file of one text.
  package static func write(_ text: String, to output: OutputFile) throws { try write(to: output) { try $0(text) } }
}
