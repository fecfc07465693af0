#if canImport(CryptoKit)
  private import CryptoKit
#else
  internal import CNettle
#endif

/// SHA-256 of bytes in pieces.
package struct SHA256 {
  #if canImport(CryptoKit)
    private var sum = CryptoKit.SHA256()

    package init() {}

    /// Adds bytes.
    package mutating func update(bufferPointer: UnsafeRawBufferPointer) { sum.update(bufferPointer: bufferPointer) }

    /// The 32 bytes of the sum. Call it once.
    package mutating func finalize() -> [UInt8] { Array(sum.finalize()) }

    /// Passes the 32 bytes of the sum to `body`. Call it once.
    package mutating func finalize<T>(_ body: (UnsafeRawBufferPointer) -> T) -> T {
      sum.finalize().withUnsafeBytes(body)
    }
  #else
    private var context = sha256_ctx()

    package init() { nettle_sha256_init(&context) }

    /// Adds bytes.
    package mutating func update(bufferPointer: UnsafeRawBufferPointer) {
      nettle_sha256_update(
        &context, bufferPointer.count, bufferPointer.baseAddress?.assumingMemoryBound(to: UInt8.self))
    }

    /// The 32 bytes of the sum. Call it once.
    package mutating func finalize() -> [UInt8] {
      [UInt8](unsafeUninitializedCapacity: 32) { bytes, count in
        godwit_sha256_digest(&context, bytes.baseAddress)
        count = 32
      }
    }

    /// Passes the 32 bytes of the sum to `body`. Call it once.
    package mutating func finalize<T>(_ body: (UnsafeRawBufferPointer) -> T) -> T {
      withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { bytes in
        godwit_sha256_digest(&context, bytes.baseAddress)
        return body(UnsafeRawBufferPointer(bytes))
      }
    }
  #endif

  /// Adds bytes.
  package mutating func update(data: some Collection<UInt8>) {
    withBytes(of: data) { update(bufferPointer: $0) }
  }

  /// The 32 bytes of the sum of `data`.
  package static func hash(data: some Collection<UInt8>) -> [UInt8] {
    var sum = SHA256()
    sum.update(data: data)
    return sum.finalize()
  }
}

/// SHA-512 of bytes in pieces.
package struct SHA512 {
  #if canImport(CryptoKit)
    private var sum = CryptoKit.SHA512()

    package init() {}

    private mutating func update(bufferPointer: UnsafeRawBufferPointer) { sum.update(bufferPointer: bufferPointer) }

    /// The 64 bytes of the sum. Call it once.
    package mutating func finalize() -> [UInt8] { Array(sum.finalize()) }
  #else
    private var context = sha512_ctx()

    package init() { nettle_sha512_init(&context) }

    private mutating func update(bufferPointer: UnsafeRawBufferPointer) {
      nettle_sha512_update(
        &context, bufferPointer.count, bufferPointer.baseAddress?.assumingMemoryBound(to: UInt8.self))
    }

    /// The 64 bytes of the sum. Call it once.
    package mutating func finalize() -> [UInt8] {
      [UInt8](unsafeUninitializedCapacity: 64) { bytes, count in
        godwit_sha512_digest(&context, bytes.baseAddress)
        count = 64
      }
    }
  #endif

  /// Adds bytes.
  package mutating func update(data: some Collection<UInt8>) {
    withBytes(of: data) { update(bufferPointer: $0) }
  }
}

private func withBytes(of data: some Collection<UInt8>, _ body: (UnsafeRawBufferPointer) -> Void) {
  let isDone: Void? = data.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) }
  if isDone == nil { Array(data).withUnsafeBytes(body) }
}

extension Sequence<UInt8> {
  /// Two hexadecimal digits for each byte.
  package var hex: String {
    func digit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10 }
    var text: [UInt8] = []
    text.reserveCapacity(2 * underestimatedCount)
    for byte in self {
      text.append(digit(byte >> 4))
      text.append(digit(byte & 15))
    }
    return String(decoding: text, as: UTF8.self)
  }
}
