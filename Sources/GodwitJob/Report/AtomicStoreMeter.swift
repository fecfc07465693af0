import Foundation
import GodwitModel

/// The progress of a job whose destination is an atomic store: its chunks first, then the writing of the file.
///
/// How long the writing takes is not known in advance, so it has a fixed share. A run that was stopped meanwhile writes
/// the file again.
package struct AtomicStoreMeter {
  /// The percent that the chunks have of the whole.
  private static let chunksPercent = 60.0

  /// When the chunks began, and when the writing did.
  private var first, start: Date?
  private var progress: MigrationProgress

  /// - Parameter shown: The percent that an earlier run has shown.
  init(steps: Int, shown: Double) {
    progress = MigrationProgress(
      percent: shown, step: StepID(count: steps), steps: steps, pass: 0, passes: 0, name: "", stage: "",
      chunk: 0, chunks: 0, rows: 0, totalRows: 0, rowsPerSecond: 0, secondsLeft: nil, residentBytes: 0)
  }

  /// The percent of the job when so much of its chunks is done.
  ///
  /// - Parameter shown: The percent that was shown.
  package static func percent(ofChunks percent: Double, shown: Double) -> Double {
    max(percent * chunksPercent / 100, shown)
  }

  /// The progress of chunks as a part of the whole.
  mutating func part(_ chunks: MigrationProgress, now: Date = Date()) -> MigrationProgress {
    var part = chunks
    part.percent = max(progress.percent, chunks.percent * Self.chunksPercent / 100)
    // The writing takes as much of the time of the chunks as it has of the percent.
    let begun = first ?? now
    first = begun
    let passed = now.timeIntervalSince(begun)
    part.secondsLeft = chunks.secondsLeft.map { $0 + (passed + $0) * (100 / Self.chunksPercent - 1) }
    progress = part
    return part
  }

  /// The progress when a number of objects is in the file; below 100 until the file is in place.
  mutating func wrote(_ objects: Int64, of total: Int64) -> MigrationProgress {
    let begun = start ?? Date()
    start = begun
    let share = Double(objects) / Double(max(1, total))
    let percent = min(99.9, Self.chunksPercent + (100 - Self.chunksPercent) * share)
    progress.isEstimated = true
    progress.percent = max(progress.percent, percent)
    (progress.name, progress.stage) = ("store", "write")
    (progress.chunk, progress.chunks) = (objects < total ? 0 : 1, 1)
    (progress.rows, progress.totalRows) = (objects, total)
    let seconds = Date().timeIntervalSince(begun)
    progress.rowsPerSecond = seconds > 0 ? Double(objects) / seconds : 0
    progress.secondsLeft =
      progress.rowsPerSecond > 0 ? Double(total - objects) / progress.rowsPerSecond : nil
    progress.residentBytes = ProcessMemory.residentBytes
    return progress
  }

  mutating func complete() -> MigrationProgress {
    progress.complete()
    progress.chunk = progress.chunks
    return progress
  }
}
