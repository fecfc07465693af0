/// Estimates the time left of a run, by what its rows have cost so far.
///
/// A row of one phase costs many times what a row of another costs: an average over all rows would promise too much
/// while objects are made, and too little at the end. So every phase has its own cost. A phase that has not begun is
/// taken to be as much dearer or cheaper than the others as it usually is.
package struct RemainingTime: Sendable {
  private struct Cost: Sendable {
    var seconds = 0.0
    var rows = 0.0
  }

  private var left: [ChunkPhase: Double]
  private var costs: [ChunkPhase: Cost] = [:]

  /// - Parameter left: The rows that are still to be read, by phase.
  package init(left: [ChunkPhase: Int64]) { self.left = left.mapValues { Double(max(0, $0)) } }

  /// The cost of a row in a phase, as a multiple of the cost of creating one.
  private static func weight(_ phase: ChunkPhase) -> Double {
    switch phase {
    case .create: 1
    case .policy: 4
    case .associate, .relate, .order, .derive: 0.5
    case .resolve: 0.8
    case .index, .unique: 0.35
    case .validate: 0.15
    }
  }

  /// Counts rows of a phase that are done.
  package mutating func finish(_ rows: Double, of phase: ChunkPhase, seconds: Double) {
    left[phase] = max(0, left[phase, default: 0] - rows)
    costs[phase, default: Cost()].seconds += max(0, seconds)
    costs[phase, default: Cost()].rows += rows
  }

  /// The seconds left; nil while nothing is known.
  ///
  /// - Parameters:
  ///   - rows: The rows that are done of the running chunk.
  ///   - phase: Its phase.
  ///   - seconds: The time that they took.
  package func seconds(with rows: Double = 0, of phase: ChunkPhase? = nil, seconds: Double = 0) -> Double? {
    if let phase, rows > 0 {
      var then = self
      then.finish(rows, of: phase, seconds: seconds)
      return then.seconds()
    }
    let weighed = costs.reduce(0) { $0 + $1.value.rows * Self.weight($1.key) }
    let spent = costs.reduce(0) { $0 + $1.value.seconds }
    guard weighed > 0, spent > 0 else { return nil }
    return left.reduce(0) { sum, part in
      let known = costs[part.key].flatMap { $0.rows > 0 ? $0.seconds / $0.rows : nil }
      return sum + part.value * (known ?? spent / weighed * Self.weight(part.key))
    }
  }
}

/// Smooths an estimate of the time left: the shown value moves towards the computed one, the slower the longer the run
/// has lasted.
package struct SmoothedTime: Sendable {
  private var shown: (left: Double, at: Double)?
  private var start: Double?

  package init() {}

  /// The estimate to show.
  ///
  /// - Parameters:
  ///   - left: The computed time left; nil while nothing is known.
  ///   - now: In seconds, from any beginning.
  package mutating func smoothed(_ left: Double?, at now: Double) -> Double? {
    guard let left, left.isFinite else { return shown.map { max(0, $0.left - (now - $0.at)) } }
    let began = start ?? now
    start = began
    guard let shown, left > 0 else {
      self.shown = (left, now)
      return left
    }
    let passed = max(0, now - shown.at)
    let expected = max(0, shown.left - passed)
    // After three seconds within one, after a minute within ten.
    let span = min(10, max(0.5, (now - began) / 3))
    let smoothed = expected + (left - expected) * min(1, passed / span)
    self.shown = (smoothed, now)
    return smoothed
  }
}
