/// How long a run may take: a range, from a small sample of the source. A load on the machine or a slow disk can make any
/// run longer.
public struct TimeEstimate: Sendable, Codable, Hashable {
  /// The shortest time that is likely.
  public var lowSeconds: Double
  /// The longest time that is likely.
  public var highSeconds: Double
  /// How many objects were copied in memory to measure the speed.
  public var sampledObjects: Int64
  /// What the range rests on, for example `a sample of 4000 objects`.
  public var basis: String

  package init(lowSeconds: Double, highSeconds: Double, sampledObjects: Int64, basis: String) {
    self.lowSeconds = max(0, lowSeconds)
    self.highSeconds = max(self.lowSeconds, highSeconds)
    self.sampledObjects = sampledObjects
    self.basis = basis
  }

  /// The estimate of several steps of which one was measured.
  package func repeated(_ times: Int, because basis: String) -> TimeEstimate {
    guard times > 1 else { return self }
    return TimeEstimate(
      lowSeconds: lowSeconds, highSeconds: highSeconds * Double(times), sampledObjects: sampledObjects,
      basis: self.basis + "; " + basis)
  }
}

extension TimeEstimate: CustomStringConvertible {
  /// The range in its largest unit and what it rests on, for example `2 to 9 s, estimated from a sample of 4000 objects`.
  public var description: String { "\(range), estimated from \(basis)" }

  private var range: String {
    guard highSeconds >= 1 else { return "under 1 s" }
    let (divisor, unit) = highSeconds < 90 ? (1.0, "s") : highSeconds < 5400 ? (60.0, "min") : (3600.0, "h")
    let high = Self.whole((highSeconds / divisor).rounded(.up))
    let low = Self.whole((lowSeconds / divisor).rounded(.down))
    return low == 0 ? "up to \(high) \(unit)" : low == high ? "about \(low) \(unit)" : "\(low) to \(high) \(unit)"
  }

  /// A range that goes beyond any real time still prints.
  private static func whole(_ value: Double) -> Int64 { value < 1e15 ? Int64(value) : Int64(1e15) }
}
