import Foundation
import GodwitDisk
import GodwitJob
import GodwitStore

/// What a run shows of its progress, so that no later line says less, not even that of a later run.
///
/// A chunk that is killed is done again. Its part of the percent was therefore more than is durable. Before such a
/// percent is shown, the work folder gets it, and a run that resumes shows at least that. The time left settles, too.
///
/// The file is not synced: a killed process leaves it whole. After a power cut it may be missing, and then the percent
/// begins at what is durable.
struct ShownProgress {
  private let path: String
  /// What may be shown of a chunk that is running.
  private var noted: Double
  private var highest: Double
  private var time = SettlingTime()

  /// - Parameter folder: The job's work folder.
  init(folder: String) {
    path = Self.path(in: folder)
    noted = Self.percent(in: folder)
    highest = noted
  }

  private static func path(in folder: String) -> String { folder + "/shown.percent" }

  /// What an earlier run has shown of a chunk that it did not finish; 0 when none did.
  static func percent(in folder: String) -> Double {
    let text = ReadableFile.text(of: path(in: folder))
    guard let value = text.flatMap(Double.init), value.isFinite else { return 0 }
    return min(max(value, 0), 99.9)
  }

  /// The progress as it is shown.
  mutating func shown(_ progress: MigrationProgress, now: Date = Date()) -> MigrationProgress {
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
      ? time.settled(progress.secondsLeft, at: now.timeIntervalSinceReferenceDate) : progress.secondsLeft
    return progress
  }

  private mutating func note(_ percent: Double) {
    do {
      try WorkFolder.writeNote(Data("\(percent)".utf8), to: path, isSynced: false)
      noted = percent
    } catch {
      // Progress is no reason to fail: the percent waits for the end of the chunk.
    }
  }
}
