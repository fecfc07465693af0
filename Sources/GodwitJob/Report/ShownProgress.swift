package import Foundation
import GodwitModel
import GodwitStore

/// The progress that a run shows, so that no later line says less, not even that of a later run.
///
/// A chunk that is killed is done again. Its part of the percent was therefore more than is durable. Before such a
/// percent is shown, it is written to the work folder, and a run that resumes shows at least that. The time left is
/// smoothed, too.
///
/// The file is not synced: a killed process leaves it whole. After a power cut it may be missing, and then the percent
/// begins at what is durable.
package struct ShownProgress {
  /// nil where no later run asks.
  private let path: String?
  /// The percent that may be shown for a running chunk.
  private var noted: Double
  private var highest: Double
  private var time = SmoothedTime()

  /// - Parameter folder: The job's work folder; nil where no later run asks.
  package init(folder: String?) {
    path = folder.map(Self.path)
    // A run whose progress cannot be read shows its own.
    noted = folder.map { (try? Self.percent(in: $0)) ?? 0 } ?? 100
    highest = folder == nil ? 0 : noted
  }

  private static func path(in folder: String) -> String { folder + "/shown.percent" }

  /// The percent that an earlier run has shown for a chunk that it did not finish; 0 when none did.
  ///
  /// - Throws: When it cannot be read.
  package static func percent(in folder: String) throws -> Double {
    let bytes = try Definite.answer { try ReadableFile.bytes(of: path(in: folder), limit: .kibibytes(1)) } ?? nil
    let text = bytes.map { String(decoding: $0, as: UTF8.self) }
    guard let value = text.flatMap(Double.init), value.isFinite else { return 0 }
    return min(max(value, 0), 99.9)
  }

  /// The progress as it is shown.
  package mutating func shown(_ progress: MigrationProgress, now: Date = Date()) -> MigrationProgress {
    var progress = progress
    // As many digits as a line has.
    let tenths = (progress.percent * 10).rounded(.down) / 10
    if progress.isEstimated {
      // Without the note nobody would know of it after a kill.
      if tenths > max(noted, highest) { note(tenths) }
      progress.percent = min(tenths, max(noted, highest))
    }
    highest = max(highest, progress.percent)
    progress.percent = highest
    progress.secondsLeft =
      progress.percent < 100
      ? time.smoothed(progress.secondsLeft, at: now.timeIntervalSinceReferenceDate) : progress.secondsLeft
    return progress
  }

  private mutating func note(_ percent: Double) {
    guard let path else { return }
    do {
      try WorkFolder.writeNote(Data("\(percent)".utf8), to: path, isSynced: false)
      noted = percent
    } catch {
      // A run never fails because of its progress: the percent waits for the end of the chunk.
    }
  }
}

/// The progress of a run as it is shown, and its history.
package struct RunProgress {
  private var shown: ShownProgress
  private var meter: AtomicStoreMeter?
  package let history: HistoryRecorder

  /// - Parameters:
  ///   - path: The work folder.
  ///   - isDurable: Whether a later run resumes: one that begins again after a kill leaves no progress to the next one.
  package init(_ job: MigrationJob, in path: String, isDurable: Bool, begin: Date) {
    let folder = isDurable ? path : nil
    shown = ShownProgress(folder: folder)
    meter =
      job.destinationType.isAtomic
      ? AtomicStoreMeter(steps: job.steps.count, shown: (try? ShownProgress.percent(in: path)) ?? 0) : nil
    history = HistoryRecorder(job, folder: folder, begin: begin)
  }

  private mutating func reported(_ part: MigrationProgress) -> MigrationProgress {
    var part = shown.shown(part)
    history.note(part)
    // A later round moves the percentage little: the name tells of it. The history is of the job's own names.
    if part.round > 1 { part.name += " (round \(part.round))" }
    return part
  }

  /// The progress of chunks as it is shown.
  package mutating func part(_ chunks: MigrationProgress) -> MigrationProgress {
    reported(meter?.part(chunks) ?? chunks)
  }

  /// The progress when a number of objects is in an atomic store; nil for another store.
  package mutating func wrote(_ objects: Int64, of total: Int64) -> MigrationProgress? {
    (meter?.wrote(objects, of: total)).map { reported($0) }
  }

  /// The last progress, when the store is in place.
  package mutating func complete(_ last: MigrationProgress?) -> MigrationProgress? {
    (meter?.complete() ?? last).map { shown.shown($0) }
  }
}
