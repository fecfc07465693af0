import Foundation
import GodwitJob

/// Turns finished chunks into progress. The percent is a part of all rows that chunks read, so it never
/// goes backwards and a resumed run starts where the last one stopped.
struct ProgressMeter {
  private let plan: MigrationPlan
  private let start: Date
  private var done: Set<Int>
  private var rows: Int64
  private let rowsBefore: Int64
  private let total: Int64
  private var totals: [String: Int] = [:]
  private var counts: [String: Int] = [:]
  private(set) var progress: MigrationProgress

  init(plan: MigrationPlan, done: Set<Int>, start: Date) {
    self.plan = plan
    self.done = done
    self.start = start
    total = max(1, plan.totalRows)
    rows = plan.chunks.filter { done.contains($0.id) }.reduce(0) { $0 + max(1, $1.rows) }
    rowsBefore = rows
    for chunk in plan.chunks {
      totals[Self.key(chunk), default: 0] += 1
      if done.contains(chunk.id) { counts[Self.key(chunk), default: 0] += 1 }
    }
    let first = plan.chunks.first { !done.contains($0.id) }
    progress = MigrationProgress(
      percent: 0, step: 1, steps: plan.steps.count, pass: first?.pass ?? 0, passes: plan.steps.first?.passes.count ?? 0,
      name: first?.name ?? "", stage: first?.phase.rawValue ?? "", chunk: 0, chunks: 0, rows: rows, totalRows: total,
      rowsPerSecond: 0, secondsLeft: nil, residentBytes: ProcessMemory.residentBytes)
    if let first {
      progress.chunk = counts[Self.key(first)] ?? 0
      progress.chunks = totals[Self.key(first)] ?? 0
    }
    progress.percent = percent
  }

  private static func key(_ chunk: Chunk) -> String { "\(chunk.phase.rawValue) \(chunk.name)" }

  var isComplete: Bool { done.count == plan.chunks.count }

  /// Below 100 until the store is in place: moving it is part of the work.
  private var percent: Double { min(99.9, Double(rows) / Double(total) * 100) }

  mutating func finish(_ chunk: Chunk) -> MigrationProgress {
    done.insert(chunk.id)
    rows += max(1, chunk.rows)
    counts[Self.key(chunk), default: 0] += 1
    progress.percent = max(progress.percent, percent)
    if chunk.pass > 0 { progress.pass = chunk.pass }
    progress.name = chunk.name
    progress.stage = chunk.phase.rawValue
    progress.chunk = counts[Self.key(chunk)] ?? 0
    progress.chunks = totals[Self.key(chunk)] ?? 0
    progress.rows = rows
    let seconds = Date().timeIntervalSince(start)
    progress.rowsPerSecond = seconds > 0 ? Double(rows - rowsBefore) / seconds : 0
    progress.secondsLeft = progress.rowsPerSecond > 0 ? Double(total - rows) / progress.rowsPerSecond : nil
    progress.residentBytes = ProcessMemory.residentBytes
    return progress
  }

  mutating func complete() -> MigrationProgress {
    progress.percent = 100
    progress.rows = total
    progress.secondsLeft = 0
    progress.residentBytes = ProcessMemory.residentBytes
    return progress
  }
}
