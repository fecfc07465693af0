import CLZ4

/// One LZ4 frame: independent 64 KiB blocks, content size and content checksum on, level 0.
///
/// Its bytes: magic `04 22 4D 18`, flags `6C` (version 1), block size `40`, content size (8), header checksum, blocks, end
/// mark, xxHash-32 of the content.
enum LZ4Frame {
  /// Header with content size 15, end mark 4, content checksum 4.
  static let bytesMin = 23

  /// A block that does not shrink is stored uncompressed, behind 4 bytes of length.
  static func bytesMax(content: Int) -> Int { bytesMin + content + 4 * (content / 65536 + 1) }

  /// The frame of some content, or nil when the library refuses or memory is short.
  static func compress(_ content: [UInt8]) -> [UInt8]? {
    var preferences = LZ4F_preferences_t()
    preferences.frameInfo.blockSizeID = LZ4F_max64KB
    preferences.frameInfo.blockMode = LZ4F_blockIndependent
    preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled
    preferences.frameInfo.contentSize = UInt64(content.count)
    let capacity = LZ4F_compressFrameBound(content.count, &preferences)
    var failed = false
    let frame = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
      let written = content.withUnsafeBytes {
        LZ4F_compressFrame(buffer.baseAddress, capacity, $0.baseAddress, $0.count, &preferences)
      }
      failed = LZ4F_isError(written) != 0
      count = failed ? 0 : written
    }
    return failed ? nil : frame
  }
}

/// Decompresses LZ4 frames; holds the library's context, for one thread.
final class LZ4Decompressor {
  private var context: OpaquePointer?

  init() { _ = LZ4F_createDecompressionContext(&context, UInt32(LZ4F_VERSION)) }

  deinit { LZ4F_freeDecompressionContext(context) }

  /// The content of one whole frame.
  ///
  /// - Parameter damage: The error for what was found in place of a sound frame.
  func decompress(
    _ frame: [UInt8], contentBytes: Int, damage: (String) -> SpillError
  ) throws(SpillError) -> [UInt8] {
    guard let context else { throw damage("no memory for decompression") }
    // A frame of another writer could need larger blocks, a dictionary or no checksum.
    guard frame.count >= LZ4Frame.bytesMin, frame.littleEndian(at: 0, as: UInt32.self) == 0x184D_2204,
      frame[4] == 0x6C, frame[5] == 0x40, frame.littleEndian(at: 6, as: UInt64.self) == UInt64(contentBytes)
    else { throw damage("another frame header") }
    LZ4F_resetDecompressionContext(context)
    var fault: String?
    let content = [UInt8](unsafeUninitializedCapacity: contentBytes) { buffer, count in
      frame.withUnsafeBytes { source in
        var read = 0
        var written = 0
        while true {
          var sourceSize = source.count - read
          var destinationSize = contentBytes - written
          let hint = LZ4F_decompress(
            context, buffer.baseAddress.map { $0 + written }, &destinationSize,
            source.baseAddress.map { $0 + read }, &sourceSize, nil)
          if LZ4F_isError(hint) != 0 {
            fault = LZ4F_getErrorName(hint).map { String(cString: $0) } ?? "an LZ4 error"
            return
          }
          read += sourceSize
          written += destinationSize
          if hint == 0 { break }
          if sourceSize == 0 && destinationSize == 0 {
            fault = "an unfinished frame"
            return
          }
        }
        if read != source.count || written != contentBytes { fault = "a frame of another length" }
        count = written
      }
    }
    if let fault { throw damage(fault) }
    return content
  }
}
