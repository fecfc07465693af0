import Foundation
import GodwitModel

/// Times as output has them.
enum Clock {
  /// Now, as JSON has it.
  static var stamp: String { DateText.text(Date().timeIntervalSinceReferenceDate) }

  static func seconds(since start: ContinuousClock.Instant) -> Double {
    let (seconds, attoseconds) = start.duration(to: .now).components
    return Double(seconds) + Double(attoseconds) / 1e18
  }

  /// One decimal, truncated.
  static func text(_ seconds: Double) -> String {
    guard seconds >= 0, seconds < 1e15 else { return "0.0" }
    let tenths = Int64(seconds * 10)
    return "\(tenths / 10).\(tenths % 10)"
  }
}
