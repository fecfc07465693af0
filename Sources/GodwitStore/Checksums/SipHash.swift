/// SipHash-1-3 with 128 bits, fed with whole words or with bytes.
///
/// It notices accidents: its output differs for practically any two inputs. The key is not secret here, and a person
/// who knows it can make two inputs with the same output.
package struct SipHash {
  private var v0, v1, v2, v3: UInt64
  private var byteCount: UInt64 = 0
  /// Bytes that do not fill a word yet, and how many bits they are.
  private var tail: UInt64 = 0
  private var tailBits: UInt64 = 0

  package struct Key: Sendable, Hashable {
    package var low, high: UInt64

    package init(low: UInt64, high: UInt64) { (self.low, self.high) = (low, high) }
  }

  package init(_ key: Key) {
    v0 = key.low ^ 0x736f_6d65_7073_6575
    v1 = key.high ^ 0x646f_7261_6e64_6f6d ^ 0xee
    v2 = key.low ^ 0x6c79_6765_6e65_7261
    v3 = key.high ^ 0x7465_6462_7974_6573
  }

  @inline(__always) private mutating func round() {
    v0 &+= v1
    v1 = (v1 << 13 | v1 >> 51) ^ v0
    v0 = v0 << 32 | v0 >> 32
    v2 &+= v3
    v3 = (v3 << 16 | v3 >> 48) ^ v2
    v0 &+= v3
    v3 = (v3 << 21 | v3 >> 43) ^ v0
    v2 &+= v1
    v1 = (v1 << 17 | v1 >> 47) ^ v2
    v2 = v2 << 32 | v2 >> 32
  }

  @inline(__always) private mutating func compress(_ word: UInt64) {
    v3 ^= word
    round()
    v0 ^= word
  }

  /// Adds eight bytes, the lowest first. Call it only where the bytes so far fill words.
  @inline(__always) package mutating func add(_ word: UInt64) {
    byteCount &+= 8
    compress(word)
  }

  /// Adds bytes.
  package mutating func add(_ bytes: UnsafeRawBufferPointer) {
    byteCount &+= UInt64(bytes.count)
    var place = 0
    if tailBits == 0 {
      while place &+ 8 <= bytes.count {
        compress(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)))
        place &+= 8
      }
    }
    let rest = bytes.count &- place
    guard rest > 0 else { return }
    if tailBits == 0, bytes.count >= 8 {
      // The last eight bytes, without those that are compressed already.
      let last = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: bytes.count &- 8, as: UInt64.self))
      tailBits = UInt64(rest) &* 8
      tail = last >> (64 &- tailBits)
      return
    }
    while place < bytes.count {
      addByte(bytes[place])
      place &+= 1
    }
  }

  private mutating func addByte(_ byte: UInt8) {
    tail |= UInt64(byte) << tailBits
    tailBits &+= 8
    guard tailBits == 64 else { return }
    compress(tail)
    (tail, tailBits) = (0, 0)
  }

  /// Fills up the last word with zeros, so that words may follow.
  @inline(__always) package mutating func endBytes() {
    guard tailBits > 0 else { return }
    byteCount &+= (64 &- tailBits) / 8
    compress(tail)
    (tail, tailBits) = (0, 0)
  }

  /// The digest of all words and bytes added.
  package consuming func digest() -> UInt128 {
    compress(byteCount << 56 | tail)
    v2 ^= 0xee
    round()
    round()
    round()
    let low = v0 ^ v1 ^ v2 ^ v3
    v1 ^= 0xdd
    round()
    round()
    round()
    return UInt128(v0 ^ v1 ^ v2 ^ v3) << 64 | UInt128(low)
  }
}
