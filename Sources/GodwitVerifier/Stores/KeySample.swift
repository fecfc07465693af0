/// A share of all keys, in ranges of neighbours. Each sample chooses its own ranges.
struct KeySample: Sendable {
  /// The share as a fraction of 2 to the power of 32.
  private let share: UInt64
  private let salt: UInt64

  /// - Parameter percent: More than 0, at most 100.
  init(percent: Double, salt: UInt64 = .random(in: 0 ... .max)) {
    share = UInt64(max(0, min(percent, 100)) / 100 * 4_294_967_296)
    self.salt = salt
  }

  /// Ranges are of 256 keys.
  func contains(_ key: Int64) -> Bool {
    // The finisher of MurmurHash3: every bit of the number moves every other.
    var hash = UInt64(bitPattern: key >> 8) ^ salt
    hash = (hash ^ hash >> 33) &* 0xFF51_AFD7_ED55_8CCD
    hash = (hash ^ hash >> 33) &* 0xC4CE_B9FE_1A85_EC53
    return (hash ^ hash >> 33) >> 32 < share
  }
}
