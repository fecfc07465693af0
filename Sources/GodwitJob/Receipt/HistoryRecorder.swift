package import Foundation
import GodwitModel
import GodwitStore

/// Notes the progress of a run in its history, and the history in the work folder now and then.
///
/// It never fails a run, and nothing depends on it: a run that is killed loses what it did since the last note, which
/// the next run does not miss.
package final class HistoryRecorder {
  package private(set) var history: RunHistory
  /// nil where nothing is kept between runs.
  private let path: String?
  private let start: ContinuousClock.Instant
  private let secondsBetweenNotes = EngineTuning.current.secondsBetweenNotes
  /// Since `start`.
  private var (end, noted) = (0.0, 0.0)
  private var last: MigrationProgress?

  /// - Parameters:
  ///   - folder: The work folder of a job that can be resumed; nil for one that begins again each time.
  ///   - begin: When the run began.
  package init(_ job: MigrationJob, folder: String?, begin: Date) {
    path = folder.map(WorkFolder.historyPath)
    history = path.flatMap(RunHistory.read) ?? RunHistory()
    history.begin(at: begin, budget: job.memory, programBytes: ProcessMemory.residentBytes)
    start = ContinuousClock.now - .seconds(max(0, Date().timeIntervalSince(begin)))
  }

  private var seconds: Double {
    let (seconds, attoseconds) = start.duration(to: .now).components
    return Double(seconds) + Double(attoseconds) / 1e18
  }

  /// Notes what was done since the progress before.
  package func note(_ progress: MigrationProgress) {
    // The first progress of chunks has the time of the plan.
    guard !progress.isPlanning else { return }
    let now = seconds
    // The first progress of a step comes before its first chunk: until then it was opened, counted and planned.
    let isFirst = last?.step != progress.step
    // An atomic store that is written has a count of its own.
    let before = last.flatMap { $0.totalRows == progress.totalRows ? $0.rows : nil } ?? 0
    history.add(
      .init(
        start: end, seconds: now - end, step: progress.step, pass: isFirst ? 0 : progress.pass,
        stage: isFirst ? "plan" : progress.stage, name: isFirst ? "" : progress.name,
        chunks: isFirst || progress.isEstimated ? 0 : 1,
        rows: isFirst ? 0 : max(0, progress.rows - before), residentBytes: progress.residentBytes))
    (end, last) = (now, progress)
    if now - noted >= secondsBetweenNotes {
      save()
      noted = seconds
    }
  }

  /// Ends the run, and keeps its history for the next one.
  package func end(_ outcome: RunHistory.Outcome) {
    history.end(outcome)
    save()
  }

  /// The history of a job whose destination is complete.
  package func finished() -> RunHistory {
    var whole = history
    let now = seconds
    whole.add(
      .init(
        start: end, seconds: now - end, step: last?.step ?? 1, pass: 0, stage: "finish", name: "", chunks: 0, rows: 0,
        residentBytes: ProcessMemory.residentBytes))
    whole.end(.finished)
    return whole
  }

  private func save() {
    guard let path, let data = try? history.encoded() else { return }
    WorkFolder.writeHint(data, to: path)
  }
}
