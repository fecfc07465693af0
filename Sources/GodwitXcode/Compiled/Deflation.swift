import CZlib
import GodwitModel

/// The other direction of `Inflation`.
package enum Deflation {
  /// Compresses bytes as raw DEFLATE, as Core Data keeps a model in a store.
  ///
  /// - Throws: `.inputOutput` (74) if zlib has no memory.
  package static func deflate(_ bytes: [UInt8]) throws -> [UInt8] {
    var stream = z_stream()
    let failure = GodwitError(.inputOutput, "cannot compress a model: zlib has no memory")
    guard
      deflateInit2_(
        &stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
        Int32(MemoryLayout<z_stream>.size)) == Z_OK
    else { throw failure }
    defer { deflateEnd(&stream) }
    var input = bytes
    var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))))
    let status = input.withUnsafeMutableBufferPointer { source in
      output.withUnsafeMutableBufferPointer { target in
        (stream.next_in, stream.avail_in) = (source.baseAddress, UInt32(source.count))
        (stream.next_out, stream.avail_out) = (target.baseAddress, UInt32(target.count))
        return CZlib.deflate(&stream, Z_FINISH)
      }
    }
    guard status == Z_STREAM_END else { throw failure }
    return Array(output.prefix(Int(stream.total_out)))
  }
}
