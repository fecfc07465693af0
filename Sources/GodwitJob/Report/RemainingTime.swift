/// Estimates the time left of a run, by what its chunks and rows have cost so far.
///
/// A row of one phase costs many times what a row of another costs, so every phase has its own cost. A phase that has not
/// begun is taken to be as much dearer or cheaper than the others as it usually is. A chunk of few rows costs about the
/// same, whatever it reads: it says nothing about rows.
package struct RemainingTime: Sendable {
  private struct Cost: Sendable {
    var seconds = 0.0
    /// Rows, or chunks of few rows.
    var count = 0.0

    mutating func add(_ count: Double, _ seconds: Double) {
      self.count += count
      self.seconds += seconds
    }
  }

  /// A chunk with fewer rows is one of few rows.
  private static let fewRows = 100.0
  /// A rough cost of creating rows, on any machine. Before so many rows are seen, this counts more than they do.
  private static let usual = Cost(seconds: 0.002, count: 1000)

  private var rows: [ChunkPhase: Double] = [:]
  private var chunks: [ChunkPhase: Int] = [:]
  private var rowCosts: [ChunkPhase: Cost] = [:]
  private var chunkCosts: [ChunkPhase: Cost] = [:]

  package init() {}

  /// The usual cost of chunks, in rows that are created.
  package static func work(_ chunks: some Sequence<Chunk>) -> Double {
    chunks.reduce(0) { $0 + usual.count / 2 + Double(max(0, $1.rows)) * $1.phase.row.weight }
  }

  /// Counts a chunk that is still to be done.
  package mutating func expect(_ rows: Int64, of phase: ChunkPhase) {
    chunks[phase, default: 0] += 1
    self.rows[phase, default: 0] += Self.counted(rows)
  }

  private static func counted(_ rows: Int64) -> Double { Double(rows) < fewRows ? 0 : Double(rows) }

  /// Counts a chunk that is done.
  package mutating func finish(_ rows: Int64, of phase: ChunkPhase, seconds: Double) {
    chunks[phase] = max(0, chunks[phase, default: 0] - 1)
    take(1, rows, of: phase, seconds: seconds)
  }

  private mutating func take(_ share: Double, _ rows: Int64, of phase: ChunkPhase, seconds: Double) {
    let counted = Self.counted(rows) * share
    self.rows[phase] = max(0, self.rows[phase, default: 0] - counted)
    guard Self.counted(rows) > 0 else { return chunkCosts[phase, default: Cost()].add(1, max(0, seconds)) }
    rowCosts[phase, default: Cost()].add(counted, max(0, seconds - chunkCost(phase)))
  }

  /// The cost of a chunk beside its rows.
  private func chunkCost(_ phase: ChunkPhase) -> Double {
    func mean(_ cost: Cost) -> Double { cost.seconds / cost.count }
    return chunkCosts[phase].map(mean) ?? chunkCosts.values.map(mean).min() ?? 0
  }

  /// The seconds left; nil while nothing is known.
  package var seconds: Double? {
    let weighed = rowCosts.reduce(0) { $0 + $1.value.count * $1.key.row.weight }
    let spent = rowCosts.values.reduce(0) { $0 + $1.seconds }
    let rowsLeft = rows.values.reduce(0, +)
    guard rowsLeft > 0 ? weighed > 0 && spent > 0 : !chunkCosts.isEmpty || !rowCosts.isEmpty else { return nil }
    let ofRows = rows.reduce(0) { sum, part in
      let (cost, weight) = (rowCosts[part.key] ?? Cost(), part.key.row.weight)
      // What other phases say; its own rows count once, below.
      let others = (seconds: spent - cost.seconds, rows: weighed - cost.count * weight)
      let usual = (others.seconds + Self.usual.seconds) / (others.rows + Self.usual.count) * weight
      let each = (cost.seconds + usual * Self.usual.count) / (cost.count + Self.usual.count)
      return sum + part.value * each
    }
    return chunks.reduce(ofRows) { $0 + Double($1.value) * chunkCost($1.key) }
  }

  /// The seconds left while chunks run.
  ///
  /// - Parameters:
  ///   - share: The part of their rows that is done, from 0 to 1.
  ///   - rows: All of their rows.
  ///   - seconds: How long they have been running.
  package func seconds(with share: Double, of rows: Int64, _ phase: ChunkPhase, seconds: Double) -> Double? {
    guard share > 0 else { return self.seconds }
    var then = self
    then.take(share, rows, of: phase, seconds: seconds)
    return then.seconds
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
