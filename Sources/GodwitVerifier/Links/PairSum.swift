/// A sum over a set of pairs that does not depend on their order: 128 bits under random keys, so that no two different
/// sets have the same one but by a chance of nothing.
struct PairSum: Hashable {
  private(set) var count: Int64 = 0
  private var first: UInt64 = 0
  private var second: UInt64 = 0
  private let keys: [UInt64]

  init() {
    var random = SystemRandomNumberGenerator()
    keys = (0..<4).map { _ in random.next() }
  }

  mutating func add(_ a: Int64, _ b: Int64) {
    let (x, y) = (UInt64(bitPattern: a), UInt64(bitPattern: b))
    count += 1
    keys.withUnsafeBufferPointer { keys in
      let mixed = Self.fold(x ^ keys[0], y ^ keys[1])
      first &+= Self.fold(mixed ^ keys[2], x &+ keys[3])
      second &+= Self.fold(mixed ^ keys[3], y &+ keys[2])
    }
  }

  private static func fold(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let product = a.multipliedFullWidth(by: b)
    return product.high ^ product.low
  }
}
