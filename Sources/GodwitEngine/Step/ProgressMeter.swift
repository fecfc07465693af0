package import Foundation
package import GodwitJob
import GodwitModel

/// Turns finished chunks, and the part of the running one, into progress. The percent is a part of all rows that chunks
/// read, so it never goes backwards. `ShownProgress` knows what a resumed run may show at first.
package final class ProgressMeter {
  private let plan: MigrationPlan
  private let start: Date
  private var done: Set<Int>
  private var rows: Int64
  private let rowsBefore: Int64
  private let total: Int64
  private var totals: [String: Int] = [:]
  private var counts: [String: Int] = [:]
  private var share = ChunkShare()
  private var remaining = RemainingTime()
  /// The chunks that one statement carries out, and when it began.
  private var running: (chunks: [Chunk], since: Date)?
  /// When the memory of the process was asked for last: one system call costs as much as a small chunk.
  private var asked: Date
  private static let secondsBetweenAsking = 0.02
  /// When progress was told last.
  private var told: Date
  private let pulseSeconds = EngineTuning.current.progressPulseSeconds
  package private(set) var progress: MigrationProgress

  package init(plan: MigrationPlan, done: Set<Int>, start: Date) {
    self.plan = plan
    self.done = done
    self.start = start
    (told, asked) = (start, start)
    total = max(1, plan.totalRows)
    rows = Self.rows(plan.chunks.filter { done.contains($0.id) })
    rowsBefore = rows
    for chunk in plan.chunks {
      totals[Self.key(chunk), default: 0] += 1
      if done.contains(chunk.id) {
        counts[Self.key(chunk), default: 0] += 1
      } else {
        remaining.expect(chunk.rows, of: chunk.phase)
      }
    }
    progress = MigrationProgress(
      percent: 0, step: .first, steps: plan.steps.count, pass: 0, passes: plan.steps.first?.passes.count ?? 0, name: "",
      stage: "", chunk: 0, chunks: 0, rows: rows, totalRows: total, rowsPerSecond: 0, secondsLeft: nil,
      residentBytes: ProcessMemory.residentBytes)
    if let first = plan.chunks.first(where: { !done.contains($0.id) }) { describe(first) }
    progress.percent = percent(Double(rows))
  }

  private static func key(_ chunk: Chunk) -> String { "\(chunk.phase.rawValue) \(chunk.name)" }

  package var isComplete: Bool { done.count == plan.chunks.count }

  /// Below 100 until the store is in place: moving it is part of the work.
  private func percent(_ rows: Double) -> Double { min(99.9, rows / Double(total) * 100) }

  // MARK: The running chunk

  /// Chunks start that one statement carries out.
  ///
  /// - Returns: The progress to tell of an index: while SQLite sorts, nothing else tells what runs.
  package func begin(_ chunks: [Chunk], now: Date = Date()) -> MigrationProgress? {
    guard let first = chunks.first else { return nil }
    running = (chunks, now)
    share.begin(first.phase, name: first.name, rows: Self.rows(chunks))
    guard first.phase.isSilent else { return nil }
    describe(first)
    return progress
  }

  /// The rows of chunks as progress counts them.
  static func rows(_ chunks: [Chunk]) -> Int64 { chunks.reduce(0) { $0 + max(1, $1.rows) } }

  /// SQLite has carried out some more instructions of the running chunks.
  ///
  /// - Returns: The progress to tell, if none was told for a while.
  package func tick(now: Date = Date()) -> MigrationProgress? {
    share.tick()
    guard let running, let first = running.chunks.first, now.timeIntervalSince(told) >= pulseSeconds else {
      return nil
    }
    told = now
    let part = share.share * Double(Self.rows(running.chunks))
    describe(first)
    // An estimate that turns out too high is not lowered.
    progress.rows = max(progress.rows, rows + Int64(part))
    progress.percent = max(progress.percent, percent(Double(rows) + part))
    progress.isEstimated = true
    measure(now)
    progress.secondsLeft = remaining.seconds(
      with: share.share, of: running.chunks.reduce(0) { $0 + $1.rows }, first.phase,
      seconds: now.timeIntervalSince(running.since))
    return progress
  }

  // MARK: Finished chunks

  package func finish(_ chunk: Chunk, now: Date = Date()) -> MigrationProgress {
    done.insert(chunk.id)
    // If several chunks end together, the first one gets the time of all.
    let seconds = now.timeIntervalSince(running?.since ?? told)
    if running != nil { running?.since = now }
    if running?.chunks.last?.id == chunk.id {
      share.finish()
      running = nil
    }
    remaining.finish(chunk.rows, of: chunk.phase, seconds: seconds)
    told = now
    rows += max(1, chunk.rows)
    counts[Self.key(chunk), default: 0] += 1
    describe(chunk)
    progress.percent = max(progress.percent, percent(Double(rows)))
    progress.rows = max(progress.rows, rows)
    progress.isEstimated = false
    measure(now)
    progress.secondsLeft = remaining.seconds
    return progress
  }

  private func describe(_ chunk: Chunk) {
    if chunk.pass > 0 { progress.pass = chunk.pass }
    progress.name = chunk.name
    progress.stage = chunk.phase.rawValue
    progress.chunk = counts[Self.key(chunk)] ?? 0
    progress.chunks = totals[Self.key(chunk)] ?? 0
  }

  private func measure(_ now: Date) {
    let seconds = now.timeIntervalSince(start)
    progress.rowsPerSecond = seconds > 0 ? Double(progress.rows - rowsBefore) / seconds : 0
    guard now.timeIntervalSince(asked) >= Self.secondsBetweenAsking else { return }
    asked = now
    progress.residentBytes = ProcessMemory.residentBytes
  }

  package func complete() -> MigrationProgress {
    progress.complete()
    return progress
  }
}
