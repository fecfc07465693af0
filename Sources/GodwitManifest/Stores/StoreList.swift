import GodwitModel

/// A list of stores: a path on each line. Empty lines do not count, and a line may end as on Windows.
package struct StoreList {
  private let lines: LineFile
  private let path: String
  /// The folder that relative paths count from, with a slash at its end; empty for the current one.
  private let folder: String

  /// - Throws: When the file cannot be opened.
  package init(path: String) throws {
    lines = try LineFile(path: path)
    self.path = path
    let end = path.utf8.lastIndex(of: UInt8(ascii: "/"))
    folder = end.map { String(decoding: path.utf8[...$0], as: UTF8.self) } ?? ""
  }

  /// Calls `body` with each path and its line, from 1.
  ///
  /// - Throws: `.dataWrong` (65) for a line that cannot be a path, such as one that is not UTF-8.
  package func forEachPath(_ body: (_ path: String, _ line: Int) throws -> Void) throws {
    var number = 0
    while let line = try lines.next() {
      number += 1
      var bytes = line.bytes[...]
      // A byte order mark.
      if number == 1, bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes = bytes.dropFirst(3) }
      guard !bytes.isEmpty else { continue }
      guard let path = String(validating: bytes, as: UTF8.self), !path.utf8.contains(0) else {
        throw GodwitError(
          .dataWrong, "cannot read the list of stores: expected a path in UTF-8, found other bytes",
          location: .init(file: self.path, line: number, column: 1),
          remedy: "write one path on each line, for example with `find stores -name '*.sqlite'`",
          safe: "nothing was written")
      }
      guard path.contains(where: { !$0.isWhitespace }) else { continue }
      let isBelow = path.utf8.starts(with: "./".utf8)
      let short = isBelow ? String(decoding: path.utf8.dropFirst(2), as: UTF8.self) : path
      try body(path.isWholePath ? path : folder + short, number)
    }
  }
}

extension String {
  /// Whether a path begins at the root. A combining mark after the slash makes one character of both.
  package var isWholePath: Bool { utf8.first == UInt8(ascii: "/") }
}
