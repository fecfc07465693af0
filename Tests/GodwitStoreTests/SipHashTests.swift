import GodwitStore
import Testing

struct SipHashTests {
  /// The output of `openssl mac -macopt size:16 -macopt c-rounds:1 -macopt d-rounds:3 SIPHASH` for the key 00 01 … 0f.
  @Test(arguments: [
    (0, "e77ebcb22788a5befd62db6add303001"), (8, "aa12fee1d5e3dab4724f16ab35f9c799"),
    (15, "c17e5505b2bd526c2921cdec1e7e0109"),
  ])
  func `digests are those of OpenSSL, however the bytes come`(count: Int, expected: String) {
    let key = SipHash.Key(low: 0x0706_0504_0302_0100, high: 0x0f0e_0d0c_0b0a_0908)
    let bytes = (0..<count).map { UInt8($0) }
    func hex(_ digest: UInt128) -> String {
      (0..<16).map { place in
        let byte = UInt8(truncatingIfNeeded: digest >> UInt128(8 * place))
        return (byte < 16 ? "0" : "") + String(byte, radix: 16)
      }.joined()
    }
    var whole = SipHash(key)
    bytes.withUnsafeBytes { whole.add($0) }
    #expect(hex(whole.digest()) == expected)
    var parts = SipHash(key)
    for piece in [bytes.prefix(3), bytes.dropFirst(3)] { Array(piece).withUnsafeBytes { parts.add($0) } }
    #expect(hex(parts.digest()) == expected)
    guard count == 8 else { return }
    var words = SipHash(key)
    words.add(0x0706_0504_0302_0100)
    #expect(hex(words.digest()) == expected)
  }
}
