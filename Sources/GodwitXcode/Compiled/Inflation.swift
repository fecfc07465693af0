import CZlib
import GodwitModel

/// Raw DEFLATE, without the header of zlib or gzip.
package enum Inflation {
  /// The most bytes of output.
  package static let outputMaximum = 64 << 20

  /// - Throws: code `.missingInput` when the bytes are damaged or make more than `maximum` bytes.
  package static func inflate(_ bytes: [UInt8], name: String, maximum: Int = outputMaximum) throws -> [UInt8] {
    func wrong(_ problem: String) -> GodwitError {
      GodwitError(
        .missingInput, "cannot read compiled model '\(name)': \(problem)",
        remedy: "list the model that the store was written with")
    }
    var stream = z_stream()
    guard inflateInit2_(&stream, -15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
      throw GodwitError(.inputOutput, "cannot read compiled model '\(name)': zlib has no memory")
    }
    defer { inflateEnd(&stream) }
    guard let size = UInt32(exactly: bytes.count) else { throw wrong("it has more than 4 GiB") }

    var input = bytes
    var output: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    var status = Z_OK
    try input.withUnsafeMutableBufferPointer { source in
      stream.next_in = source.baseAddress
      stream.avail_in = size
      while status == Z_OK {
        let count = part.withUnsafeMutableBufferPointer { buffer in
          stream.next_out = buffer.baseAddress
          stream.avail_out = UInt32(buffer.count)
          status = CZlib.inflate(&stream, Z_NO_FLUSH)
          return buffer.count - Int(stream.avail_out)
        }
        output += part.prefix(count)
        guard output.count <= maximum else { throw wrong("it has more than \(maximum >> 20) MiB") }
      }
    }
    guard status == Z_STREAM_END else { throw wrong("its compressed bytes are damaged or cut off") }
    return output
  }
}
