/// Numbers that look random and depend only on the arguments.
///
/// Every value of a synthetic store is a function of the seed, a name and a position, so that no row has
/// to be remembered to write another.
struct SynthesisNoise: Sendable, Hashable {
  private let state: UInt64

  init(seed: UInt64) { state = Self.mix(seed) }

  private init(state: UInt64) { self.state = state }

  /// A source of its own for a name.
  func named(_ name: String) -> SynthesisNoise {
    // FNV-1a: the bytes of a name as one number, the same on every machine.
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in name.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return SynthesisNoise(state: Self.mix(state ^ hash))
  }

  /// 64 bits for a position.
  subscript(position: Int) -> UInt64 { Self.mix(state &+ UInt64(bitPattern: Int64(position)) &* 0x9E37_79B9_7F4A_7C15) }

  /// The next bits after some.
  static func next(_ bits: UInt64) -> UInt64 { mix(bits ^ 0x9E37_79B9_7F4A_7C15) }

  /// The finalizer of SplitMix64.
  private static func mix(_ bits: UInt64) -> UInt64 {
    var z = bits &+ 0x9E37_79B9_7F4A_7C15
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

extension UInt64 {
  /// A number from 0 up to, not including, a limit; 0 when the limit is not positive.
  func reduced(below limit: Int) -> Int { limit > 0 ? Int(self % UInt64(limit)) : 0 }
}
