import Foundation
import GodwitDisk
import GodwitJob
import GodwitStore

/// The progress of a job whose destination is an XML store: its chunks first, then the writing of the file.
///
/// How long the writing takes is not known in advance, so it has a fixed share. A run that was stopped meanwhile writes
/// the file again: the work folder holds the highest percent that was shown, and the next run shows nothing lower.
struct XMLMeter {
  /// What the chunks have of the whole.
  private static let chunksPercent = 60.0

  private let mark: String
  private var start: Date?
  private var progress: MigrationProgress

  init(folder: String, steps: Int) {
    mark = Self.mark(in: folder)
    progress = MigrationProgress(
      percent: Self.reachedPercent(in: folder), step: steps, steps: steps, pass: 0, passes: 0, name: "", stage: "",
      chunk: 0, chunks: 0, rows: 0, totalRows: 0, rowsPerSecond: 0, secondsLeft: nil, residentBytes: 0)
  }

  /// The percent of the job when so much of its chunks is done.
  static func percent(ofChunks percent: Double, in folder: String) -> Double {
    max(percent * chunksPercent / 100, reachedPercent(in: folder))
  }

  private static func mark(in folder: String) -> String { folder + "/xml.percent" }

  /// What an earlier run has shown while it wrote the file; 0 when none did.
  private static func reachedPercent(in folder: String) -> Double {
    let text = ReadableFile.text(of: mark(in: folder))
    return text.flatMap(Double.init).map { min(max($0, 0), 99.9) } ?? 0
  }

  /// The progress of chunks as a part of the whole.
  mutating func part(_ chunks: MigrationProgress) -> MigrationProgress {
    var part = chunks
    part.percent = max(progress.percent, chunks.percent * Self.chunksPercent / 100)
    let left = Self.chunksPercent - part.percent
    part.secondsLeft = left > 0 ? chunks.secondsLeft.map { $0 * (100 - part.percent) / left } : nil
    progress = part
    return part
  }

  /// The progress when a number of objects is in the file; below 100 until the file is in place.
  mutating func wrote(_ objects: Int64, of total: Int64) -> MigrationProgress {
    let begun = start ?? Date()
    start = begun
    let share = Double(objects) / Double(max(1, total))
    let percent = min(99.9, Self.chunksPercent + (100 - Self.chunksPercent) * share)
    if Int(percent) > Int(progress.percent) { note(percent) }
    // More digits are shown than are noted here.
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

  /// Progress is no reason to fail: without the mark the next run shows a lower percent and continues.
  private func note(_ percent: Double) { try? WorkFolder.writeNote(Data("\(percent)".utf8), to: mark) }

  mutating func complete() -> MigrationProgress {
    progress.isEstimated = false
    progress.percent = 100
    progress.rows = progress.totalRows
    progress.chunk = progress.chunks
    progress.secondsLeft = 0
    progress.residentBytes = ProcessMemory.residentBytes
    return progress
  }
}
