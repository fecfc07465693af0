/// A sum of floating point numbers, and how far from it one of the same numbers in any other order can be.
///
/// SQLite adds up in the order in which it meets the rows, and from 3.43 on keeps the rounding error. Core Data does
/// the same through SQLite. No order is the right one, but all have a bound in common. A sum of *n* numbers rounds one
/// addition fewer, each by at most half a unit in the last place of a partial sum, and no partial sum exceeds the sum
/// of the magnitudes.
struct RoundedSum {
  private var sum = 0.0
  /// The rounding error so far.
  private var rest = 0.0
  private var magnitudes = 0.0
  private var count = 0.0

  mutating func add(_ number: Double) {
    let next = sum + number
    rest += abs(sum) >= abs(number) ? (sum - next) + number : (number - next) + sum
    sum = next
    magnitudes += abs(number)
    count += 1
  }

  /// Infinite sums have no rest.
  var value: Double { sum.isFinite && rest.isFinite ? sum + rest : sum }

  /// 0 for one number, and for infinity. One addition more is for the rounding of the two sums themselves.
  var leeway: Double {
    guard count > 1, sum.isFinite, magnitudes.isFinite else { return 0 }
    return count * magnitudes * (Double.ulpOfOne / 2)
  }
}
