/// How long a run may take: a range, from a small sample of the source. A load on the machine or a slow disk can make any
/// run longer.
public struct TimeEstimate: Sendable, Codable, Hashable {
  /// The shortest time that is likely.
  public var lowSeconds: Double
  /// The longest time that is likely.
  public var highSeconds: Double
  /// How many objects were copied in memory to measure the speed.
  package var sampledObjects: Int64
  /// The basis of the range, for example `a sample of 4000 objects`.
  package var basis: String
  /// Seconds for a million objects, by the name of a mapping in the object lane: making them and setting their
  /// relationships, as far as the mapping does that itself. nil where fewer than 500 objects were sampled.
  package var secondsPerMillion: [String: Double]?

  package init(
    lowSeconds: Double, highSeconds: Double, sampledObjects: Int64, basis: String,
    secondsPerMillion: [String: Double]? = nil
  ) {
    self.lowSeconds = max(0, lowSeconds)
    self.highSeconds = max(self.lowSeconds, highSeconds)
    self.sampledObjects = sampledObjects
    self.basis = basis
    self.secondsPerMillion = secondsPerMillion
  }

  /// The estimate of several steps of which one was measured.
  package func repeated(_ times: Int, because basis: String) -> TimeEstimate {
    guard times > 1 else { return self }
    return TimeEstimate(
      lowSeconds: lowSeconds, highSeconds: highSeconds * Double(times), sampledObjects: sampledObjects,
      basis: self.basis + "; " + basis, secondsPerMillion: secondsPerMillion)
  }
}

extension TimeEstimate: CustomStringConvertible {
  /// The expected cost of a mapping in the object lane, for example `about 12 s for a million objects`; nil if too
  /// little was sampled.
  package func cost(of mapping: String) -> String? {
    guard let seconds = secondsPerMillion?[mapping] else { return nil }
    let (number, unit) = seconds < 120 ? (seconds, "s") : (seconds / 60, "min")
    let digits = number < 10 ? (number * 10).rounded() / 10 : number.rounded()
    return "about \(digits < 10 ? "\(digits)" : "\(Self.whole(digits))") \(unit) for a million objects"
  }

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
