import Foundation
import GodwitStore

/// The lines of a lock file, found by the names in them.
struct LockPlaces {
  let file: String
  private let lines: [Substring]

  /// - Parameter path: The file itself; its lines are not known when it cannot be read.
  init(file: String, path: String) {
    self.file = file
    let data = try? ReadableFile.bytes(of: path, limit: ModelLock.limit)
    let text = String(decoding: data ?? Data(), as: UTF8.self)
    // Split once: a lock file of a long history has thousands of lines.
    lines = text.split(separator: "\n", omittingEmptySubsequences: false)
  }

  /// The line of a model, or of a name below it.
  func place(of bundle: String, _ name: String? = nil) -> LintFinding.Location {
    guard let start = line(with: bundle, from: 0) else { return .init(file: file, line: 1) }
    let found = name.flatMap { line(with: $0, from: start + 1) } ?? start
    return .init(file: file, line: found + 1)
  }

  private func line(with name: String, from start: Int) -> Int? {
    guard let quoted = try? LintJSON.line(name), start < lines.count else { return nil }
    return lines[start...].firstIndex { $0.contains(quoted) }
  }
}
