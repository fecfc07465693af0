package import Foundation
package import GodwitModel
import GodwitStore

/// When the chunks of a job ran, how many rows they read, and how much memory the process had: what `godwit report`
/// draws.
///
/// It is bounded. When it has too many entries, neighbours become one, so that a minute and a week take the same space.
package struct RunHistory: Codable, Sendable, Equatable {
  /// Raised when a key goes or changes its meaning.
  package static let version = 1
  /// More entries are merged.
  package static let entriesMaximum = 240
  /// The oldest runs beyond this number are only counted.
  package static let runsMaximum = 64

  /// How a run ended.
  package enum Outcome: String, Codable, Sendable, Equatable, CaseIterable {
    case finished, stopped, failed
  }

  /// One run of the job.
  package struct Run: Codable, Sendable, Equatable {
    /// In UTC.
    package var began: String
    /// From its beginning to its last entry.
    package var seconds: Double
    package var budgetBytes: Int64
    /// The resident memory when it began; nil in a history of an earlier version.
    package var programBytes: Int64?
    /// nil while the run is under way, and for one that was killed.
    package var outcome: Outcome?
  }

  /// Neighbouring chunks of a run.
  package struct Entry: Codable, Sendable, Equatable {
    /// The place of its run in `runs`.
    package var run: Int
    /// Since the run began.
    package var start, seconds: Double
    /// From 1; pass 0 is what belongs to no pass.
    package var step, pass: Int
    /// The stage of a chunk, or `plan`, `copy`, `write` and `finish` for the work beside chunks. An entry of several
    /// chunks has the stage and name of the one that took longest.
    package var stage, name: String
    package var chunks: Int
    package var rows: Int64
    /// The most that was resident at the end of a chunk.
    package var residentBytes: Int64

    package var end: Double { start + seconds }

    package init(
      run: Int = 0, start: Double, seconds: Double, step: Int, pass: Int, stage: String, name: String, chunks: Int,
      rows: Int64, residentBytes: Int64
    ) {
      (self.run, self.start, self.seconds, self.step, self.pass) = (run, start, seconds, step, pass)
      (self.stage, self.name, self.chunks, self.rows, self.residentBytes) = (stage, name, chunks, rows, residentBytes)
    }
  }

  package var format = Self.version
  package private(set) var runs: [Run] = []
  /// Runs before the first in `runs`.
  package private(set) var earlierRuns = 0
  /// In order of time.
  package private(set) var entries: [Entry] = []
  /// Neighbours of one name become one up to this length, in seconds.
  private var width = 0.02

  package init() {}

  // MARK: Adding

  /// Begins a run; what is added belongs to it.
  ///
  /// - Parameter programBytes: The resident memory at that time.
  package mutating func begin(at time: Date, budget: ByteCount, programBytes: Int64? = nil) {
    if runs.count == Self.runsMaximum {
      runs.removeFirst()
      earlierRuns += 1
      entries.removeAll { $0.run == 0 }
      for index in entries.indices { entries[index].run -= 1 }
    }
    runs.append(
      Run(began: time.ISO8601Format(), seconds: 0, budgetBytes: budget.bytes, programBytes: programBytes))
  }

  /// Adds what was done since the last entry of the run.
  package mutating func add(_ new: Entry) {
    guard !runs.isEmpty else { return }
    var entry = new
    entry.run = runs.count - 1
    entry.start = Self.rounded(new.start)
    entry.seconds = Self.rounded(max(0, new.seconds))
    runs[entry.run].seconds = max(runs[entry.run].seconds, entry.end)
    if let last = entries.indices.last, entries[last].run == entry.run {
      if entries[last].hasLabel(of: entry), entries[last].seconds + entry.seconds <= width {
        entries[last].absorb(entry)
        return
      }
      Self.shareTime(of: &entries[last], with: &entry)
    }
    entries.append(entry)
    if entries.count > Self.entriesMaximum { mergeNeighbours() }
  }

  /// Ends the run that was begun last.
  package mutating func end(_ outcome: Outcome) {
    if let last = runs.indices.last { runs[last].outcome = outcome }
  }

  /// Chunks that one statement carried out end at one moment. The time that it took belongs to all of them, by rows.
  private static func shareTime(of last: inout Entry, with entry: inout Entry) {
    let rows = Double(last.rows) + Double(entry.rows)
    guard entry.seconds < 0.001, entry.rows > 0, last.rows > 0, last.stage == entry.stage, last.pass == entry.pass,
      last.step == entry.step
    else { return }
    let part = rounded(last.seconds * Double(entry.rows) / rows)
    last.seconds = rounded(last.seconds - part)
    entry.start = rounded(entry.start - part)
    entry.seconds += part
  }

  /// Merges the shortest neighbours until there are half as many entries.
  private mutating func mergeNeighbours() {
    // Past this, each run is one entry: there are fewer runs than entries that may stay.
    let longest = runs.reduce(1) { max($0, $1.seconds) }
    while entries.count > Self.entriesMaximum / 2, width <= longest * 2 {
      width *= 2
      var merged: [Entry] = []
      for entry in entries {
        if let last = merged.last, last.run == entry.run, last.seconds + entry.seconds <= width {
          merged[merged.count - 1].absorb(entry)
        } else {
          merged.append(entry)
        }
      }
      entries = merged
    }
  }

  /// To a millisecond.
  private static func rounded(_ seconds: Double) -> Double {
    seconds.isFinite ? (seconds * 1000).rounded() / 1000 : 0
  }
}

extension RunHistory.Entry {
  fileprivate func hasLabel(of other: Self) -> Bool {
    (step, pass) == (other.step, other.pass) && (stage, name) == (other.stage, other.name)
  }

  /// Takes in the entry that follows.
  fileprivate mutating func absorb(_ other: Self) {
    if other.seconds > seconds {
      (step, pass, stage, name) = (other.step, other.pass, other.stage, other.name)
    }
    seconds = max(seconds, ((other.end - start) * 1000).rounded() / 1000)
    chunks += other.chunks
    rows += other.rows
    residentBytes = max(residentBytes, other.residentBytes)
  }
}

// MARK: In a file

extension RunHistory {
  /// A history that is larger was not written by us.
  private static let limitBytes = ByteCount.mebibytes(1)

  /// Without spaces: it is written again and again.
  package func encoded() throws -> Data { try sortedJSON() }

  /// Reads a history; nil when it is missing, damaged or of another version. A history is never a reason to fail.
  package static func read(_ path: String) -> RunHistory? {
    guard let bytes = try? ReadableFile.bytes(of: path, limit: limitBytes),
      let history = try? JSONDecoder().decode(RunHistory.self, from: bytes), history.isSound
    else { return nil }
    return history
  }

  /// Whether it is what `add` could have made: a damaged number in a file must not end a run or a report.
  package var isSound: Bool {
    func isTime(_ value: Double) -> Bool { (0...1e10).contains(value) }
    func isSize(_ value: Int64) -> Bool { (0...(Int64.max / 4)).contains(value) }
    return format == Self.version && runs.count <= Self.runsMaximum && entries.count <= Self.entriesMaximum
      && (0...Int(Int32.max)).contains(earlierRuns) && width > 0 && width < 1e11
      && runs.allSatisfy { isTime($0.seconds) && isSize($0.budgetBytes) && isSize($0.programBytes ?? 0) }
      && entries.allSatisfy { entry in
        runs.indices.contains(entry.run) && isTime(entry.start) && isTime(entry.seconds)
          && (0...Int(Int32.max)).contains(entry.chunks) && (0...(Int64.max / 4096)).contains(entry.rows)
      }
  }
}
