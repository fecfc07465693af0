#if canImport(CryptoKit)
  private import CryptoKit
#else
  internal import CCrypto
#endif

/// SHA-256 of bytes that come in pieces.
package struct SHA256 {
  private let sum = MessageDigest(.sha256)

  package init() {}

  /// Adds bytes.
  package func update(data: some Collection<UInt8>) { sum.update(data: data) }
  package func update(bufferPointer: UnsafeRawBufferPointer) { sum.update(bufferPointer) }

  /// The 32 bytes of the sum. Call it once.
  package func finalize() -> [UInt8] { sum.finalize() }

  /// The 32 bytes of the sum of `data`.
  package static func hash(data: some Collection<UInt8>) -> [UInt8] {
    let sum = SHA256()
    sum.update(data: data)
    return sum.finalize()
  }
}

/// SHA-512 of bytes that come in pieces.
package struct SHA512 {
  private let sum = MessageDigest(.sha512)

  package init() {}

  /// Adds bytes.
  package func update(data: some Collection<UInt8>) { sum.update(data: data) }

  /// The 64 bytes of the sum. Call it once.
  package func finalize() -> [UInt8] { sum.finalize() }
}

extension Sequence<UInt8> {
  /// Two hexadecimal digits for each byte.
  package var hex: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}

/// A message digest of the system's cryptographic library.
private final class MessageDigest {
  enum Kind { case sha256, sha512 }

  func update(data: some Collection<UInt8>) {
    let isAdded: Void? = data.withContiguousStorageIfAvailable { update(UnsafeRawBufferPointer($0)) }
    if isAdded == nil { Array(data).withUnsafeBytes { update($0) } }
  }

  #if canImport(CryptoKit)
    private var sum: any HashFunction

    init(_ kind: Kind) { sum = kind == .sha256 ? CryptoKit.SHA256() : CryptoKit.SHA512() }

    func update(_ bytes: UnsafeRawBufferPointer) { sum.update(bufferPointer: bytes) }

    func finalize() -> [UInt8] { Array(sum.finalize()) }
  #else
    private let context: OpaquePointer?

    init(_ kind: Kind) {
      context = EVP_MD_CTX_new()
      let isReady = EVP_DigestInit_ex(context, kind == .sha256 ? EVP_sha256() : EVP_sha512(), nil)
      // Both are in every build of the library; without memory for a context nothing can go on.
      precondition(isReady == 1, "libcrypto has no SHA-2")
    }

    deinit { EVP_MD_CTX_free(context) }

    func update(_ bytes: UnsafeRawBufferPointer) { EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) }

    func finalize() -> [UInt8] {
      var count: UInt32 = 0
      let bytes = [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, filled in
        EVP_DigestFinal_ex(context, buffer.baseAddress, &count)
        filled = Int(count)
      }
      return bytes
    }
  #endif
}
