import Foundation
import GodwitModel

/// Names of external files in a file, one a line, held a piece at a time.
package enum NameList {
  private static let pieceBytes = 1 << 16

  /// Writes the names that `body` passes on. The file gets its name when it is complete and synced.
  package static func write(_ path: String, _ body: ((String) throws -> Void) throws -> Void) throws {
    try WorkFolder.writeWhole(path) { write in
      var piece: [UInt8] = []
      try body { name in
        piece += Array((name + "\n").utf8)
        guard piece.count >= pieceBytes else { return }
        try write(piece)
        piece.removeAll(keepingCapacity: true)
      }
      try write(piece)
    }
  }

  /// Passes every name to `body`. A missing file has no names.
  package static func read(_ path: String, _ body: (String) throws -> Void) throws {
    let descriptor = CLibrary.open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return }
      throw GodwitError.disk("cannot read '\(path)'", errno: errno)
    }
    defer { close(descriptor) }
    var rest: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: pieceBytes)
    while true {
      let got = CLibrary.read(descriptor, &buffer, buffer.count)
      if got < 0, errno == EINTR { continue }
      guard got >= 0 else { throw GodwitError.disk("cannot read '\(path)'", errno: errno) }
      guard got > 0 else { return }
      rest += buffer.prefix(got)
      guard let end = rest.lastIndex(of: UInt8(ascii: "\n")) else { continue }
      for name in rest[..<end].split(separator: UInt8(ascii: "\n")) { try body(String(decoding: name, as: UTF8.self)) }
      rest.removeSubrange(...end)
    }
  }
}
