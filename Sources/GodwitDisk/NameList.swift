import Foundation
import GodwitModel
import GodwitPlatform
import GodwitStore

/// Names of external files in a file, one a line, held a piece at a time.
package enum NameList {
  private static let pieceBytes = 1 << 16

  /// Writes the names that `body` passes on. The file gets its name when it is complete and synced.
  package static func write(_ path: String, _ body: ((String) throws -> Void) throws -> Void) throws {
    let new = path + ".new"
    unlink(new)
    let descriptor = open(new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw GodwitError.disk("cannot write '\(path)'", errno: errno) }
    defer { close(descriptor) }
    var piece: [UInt8] = []
    func flush() throws {
      var rest = piece[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { put(descriptor, $0) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { throw GodwitError.disk("cannot write '\(path)'", errno: errno) }
        rest = rest.dropFirst(count)
      }
      piece.removeAll(keepingCapacity: true)
    }
    try body { name in
      piece += Array((name + "\n").utf8)
      if piece.count >= pieceBytes { try flush() }
    }
    try flush()
    guard CLibrary.sync(descriptor) == 0, rename(new, path) == 0 else {
      throw GodwitError.disk("cannot write '\(path)'", errno: errno)
    }
  }

  /// The C library's `write`, which the method above hides.
  private static func put(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    CLibrary.write(descriptor, bytes.baseAddress, bytes.count)
  }

  /// Passes every name to `body`. A missing file has no names.
  package static func read(_ path: String, _ body: (String) throws -> Void) throws {
    let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT { return }
      throw GodwitError.disk("cannot read '\(path)'", errno: errno)
    }
    defer { close(descriptor) }
    var rest: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: pieceBytes)
    while true {
      let got = Self.get(descriptor, &buffer)
      if got < 0, errno == EINTR { continue }
      guard got >= 0 else { throw GodwitError.disk("cannot read '\(path)'", errno: errno) }
      guard got > 0 else { return }
      rest += buffer.prefix(got)
      while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
        try body(String(decoding: rest[..<end], as: UTF8.self))
        rest.removeSubrange(...end)
      }
    }
  }

  private static func get(_ descriptor: Int32, _ buffer: inout [UInt8]) -> Int {
    CLibrary.read(descriptor, &buffer, buffer.count)
  }
}
