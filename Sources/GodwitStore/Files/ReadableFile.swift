package import Foundation
package import GodwitModel

/// A file read outside SQLite; closes its descriptor when it goes.
package struct ReadableFile: ~Copyable {
  private let descriptor: Int32
  private let name: String
  let size: Int64

  /// - Throws: `.dataWrong` for anything but a regular file, because opening a pipe would wait.
  init(path: String, name: String) throws {
    self.name = name
    (descriptor, size) = try Self.opened(path, name)
  }

  private static func opened(_ path: String, _ name: String) throws -> (Int32, size: Int64) {
    let descriptor = CLibrary.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw StoreFiles.failure(errno, reading: name) }
    guard let status = FileStatus(openFile: descriptor) else {
      let code = errno
      close(descriptor)
      throw StoreFiles.failure(code, reading: name)
    }
    guard status.isFile else {
      close(descriptor)
      throw GodwitError(
        .dataWrong, "cannot read '\(name)': expected a file, found a special file",
        remedy: "put a file in its place")
    }
    return (descriptor, status.size)
  }

  /// All bytes of a small file; nil when it is larger than the limit.
  ///
  /// - Throws: `.missingInput`, `.permission` or `.inputOutput` when it cannot be read; `.dataWrong` if it is not a
  ///   regular file.
  package static func bytes(of path: String, limit: ByteCount) throws -> Data? {
    let file = try ReadableFile(path: path, name: path)
    guard file.size <= limit.bytes else { return nil }
    return Data(try file.bytes(Int(file.size), at: 0))
  }

  /// The text of a small file; nil when it is missing, cannot be read, or is larger than 1 MiB.
  package static func text(of path: String) -> String? {
    let data = try? bytes(of: path, limit: .mebibytes(1))
    return data.map { String(decoding: $0, as: UTF8.self) }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// The first bytes; fewer when the file is shorter.
  func prefix(_ count: Int) throws -> [UInt8] { try bytes(count, at: 0) }

  /// The bytes from an offset; fewer when the file is shorter.
  func bytes(_ count: Int, at offset: Int64) throws -> [UInt8] {
    try [UInt8](unsafeUninitializedCapacity: count) { buffer, got in
      got = try fill(UnsafeMutableRawBufferPointer(buffer), at: offset)
    }
  }

  /// Fills a buffer with the bytes from an offset; returns how many there are, fewer at the end alone.
  func fill(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws -> Int {
    try buffer.fill(from: name) { pread(descriptor, $0, $1, off_t(offset) + $2) }
  }

  /// The binary property list in a small file; nil for a larger one, and for any other file.
  func propertyList(maximumBytes: Int64) throws -> PropertyListValue? {
    guard size <= maximumBytes else { return nil }
    return try? PropertyListValue(binary: bytes(Int(size), at: 0))
  }

  func forEachPiece(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let got = try buffer.withUnsafeMutableBytes { piece in
        try piece.fill(from: name) { rest, count, _ in read(descriptor, rest, count) }
      }
      if got == 0 { return }
      try buffer.withUnsafeBytes { try body(UnsafeRawBufferPointer(rebasing: $0.prefix(got))) }
    }
  }
}

extension UnsafeMutableRawBufferPointer {
  /// Fills the buffer from a file; returns how many bytes there were, fewer at the end alone.
  ///
  /// - Parameters:
  ///   - name: The name of the file in messages.
  ///   - read: The system's call for the rest of the buffer, its size and how many bytes are there already.
  func fill(
    from name: String, _ read: (_ rest: UnsafeMutableRawPointer?, _ count: Int, _ done: Int) -> Int
  ) throws -> Int {
    var done = 0
    while done < count {
      let got = read(baseAddress?.advanced(by: done), count - done, done)
      if got < 0, errno == EINTR { continue }
      guard got >= 0 else { throw StoreFiles.failure(errno, reading: name) }
      if got == 0 { break }
      done += got
    }
    return done
  }
}
