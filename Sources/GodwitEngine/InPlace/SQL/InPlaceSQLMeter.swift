package import Foundation
package import GodwitJob
import GodwitModel

/// Turns bytes copied and tasks done into progress.
package final class InPlaceSQLMeter {
  private let program: any InPlaceProgram
  private let start: Date
  private let bytes: Int64
  /// Whether rows are reported; otherwise only parts of the work are.
  private let isCounted: Bool
  private var copiedBytes: Int64 = 0
  private var tasks = 0
  private var done = 0
  private var rows: Int64 = 0
  private var totalRows: Int64 = 1
  private var share = ChunkShare()
  private var remaining = RemainingTime()
  private var running: (task: InPlaceTask, since: Date)?
  private var told = Date()
  private let pulseSeconds = EngineTuning.current.progressPulseSeconds
  private(set) package var progress: MigrationProgress
  /// Relationship assignments that a later one overrides.
  package var overridden: Int64 = 0

  /// Copying is so much of the work, where a store is copied.
  private static let copyPercent = 40.0

  package init(_ program: any InPlaceProgram, copiedBytes bytes: Int64, start: Date) {
    self.program = program
    self.start = start
    self.bytes = bytes
    isCounted = program.objects != nil
    progress = MigrationProgress(
      percent: 0, step: .first, steps: 1, pass: 0, passes: program.passes, name: "store",
      stage: bytes > 0 ? "copy" : "schema", chunk: 0, chunks: 1, rows: 0, totalRows: program.plannedRows,
      rowsPerSecond: 0, secondsLeft: nil, residentBytes: ProcessMemory.residentBytes)
  }

  /// - Returns: The progress to show, when it is a percent further.
  package func copied(_ count: Int) -> MigrationProgress? {
    copiedBytes += Int64(count)
    let percent = min(1, Double(copiedBytes) / Double(max(1, bytes))) * Self.copyPercent
    guard percent - progress.percent >= 1 else { return nil }
    progress.isEstimated = true
    advance(to: percent)
    return progress
  }

  package func begin(_ tasks: [InPlaceTask]) {
    self.tasks = tasks.count
    totalRows = max(1, tasks.reduce(0) { $0 + $1.rows })
    if isCounted { progress.totalRows = totalRows }
    progress.chunks = tasks.count
    for task in tasks { remaining.expect(task.rows, of: task.phase) }
  }

  /// A task starts.
  ///
  /// - Returns: The progress to tell of an index: while SQLite sorts, nothing else tells what runs.
  package func begin(_ task: InPlaceTask) -> MigrationProgress? {
    running = (task, Date())
    share.begin(task.phase, name: task.name, rows: task.rows)
    guard task.phase.isSilent else { return nil }
    (progress.stage, progress.name, progress.chunks) = (task.stage, task.name, tasks)
    return progress
  }

  /// SQLite has carried out some more instructions of the running task.
  ///
  /// - Returns: The progress to report, unless the last report is recent.
  package func tick(now: Date = Date()) -> MigrationProgress? {
    share.tick()
    guard let running, now.timeIntervalSince(told) >= pulseSeconds else { return nil }
    told = now
    let task = running.task
    (progress.stage, progress.name, progress.chunks) = (task.stage, task.name, tasks)
    progress.isEstimated = true
    // Tasks without rows may take any time.
    advance(to: rows + (isCounted ? Int64(share.share * Double(task.rows)) : 0))
    progress.secondsLeft = remaining.seconds(
      with: share.share, of: task.rows, task.phase, seconds: now.timeIntervalSince(running.since))
    return progress
  }

  /// Advances to the share that a number of rows has of the whole.
  private func advance(to rows: Int64) {
    // Progress never goes back, even if an estimate was too high.
    if isCounted { progress.rows = max(progress.rows, rows) }
    let before = bytes > 0 ? Self.copyPercent : 0
    advance(to: before + (99.9 - before) * min(1, Double(rows) / Double(totalRows)))
  }

  package func finish(_ task: InPlaceTask) -> MigrationProgress {
    share.finish()
    told = Date()
    remaining.finish(task.rows, of: task.phase, seconds: running.map { told.timeIntervalSince($0.since) } ?? 0)
    running = nil
    done += 1
    rows += task.rows
    progress.isEstimated = false
    progress.stage = task.stage
    progress.name = task.name
    progress.chunk = done
    progress.chunks = tasks
    advance(to: rows)
    progress.secondsLeft = remaining.seconds
    return progress
  }

  private func advance(to percent: Double) {
    progress.percent = max(progress.percent, min(99.9, percent))
    let seconds = Date().timeIntervalSince(start)
    progress.rowsPerSecond = seconds > 0 ? Double(progress.rows) / seconds : 0
    progress.secondsLeft =
      progress.percent > 0 ? seconds * (100 - progress.percent) / progress.percent : nil
    progress.residentBytes = ProcessMemory.residentBytes
  }

  package func complete() -> MigrationProgress {
    progress.complete()
    return progress
  }

  /// - Parameter reason: Why the run stopped, and made nothing; nil for a run that has finished.
  package func summary(stoppedBy reason: String? = nil) -> MigrationSummary {
    var summary = MigrationSummary(outcome: reason == nil ? .finished : .stopped, reason: reason)
    if reason == nil { summary.objects = program.objects ?? 0 }
    summary.isCounted = isCounted
    summary.overridden = overridden
    summary.dropped = program.dropped
    summary.losses = program.losses
    summary.codedNotes = program.notes
    summary.seconds = Date().timeIntervalSince(start)
    summary.peakBytes = ProcessMemory.peakBytes
    return summary
  }
}
