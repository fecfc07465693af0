package import Foundation
import GodwitModel

extension MigrationStatus {
  /// The run of a job that is at work, or the last one.
  package struct Run: Sendable, Codable, Hashable {
    /// The state of a run.
    package enum State: String, Sendable, Codable, Hashable, CaseIterable {
      /// A process holds the lock of the work folder.
      case running
      /// The last run stopped at a checkpoint.
      case stopped
      /// The last run ended with an error.
      case failed
      /// The job is unfinished, no process is at work, and the last run did not say how it ended: it was killed, or the
      /// machine went down.
      case stale
      /// The destination is complete.
      case finished
    }

    /// The state of the run.
    package var state: State
    /// The process; nil where it is not known.
    package var pid: Int32?
    /// The machine or container in which the process has that number.
    package var host: String?
    /// When the run began.
    package var since: Date?
    /// When the run ended, if it said so.
    package var ended: Date?
    /// Its exit status, if it stopped or failed.
    package var status: Int32?
    /// Why it stopped, in words.
    package var reason: String?
    /// Why it stopped, as the raw value of a `GodwitError.StopReason`.
    package var reasonCode: String?
    /// The message of a run that failed or was stopped by a condition.
    package var message: String?
    /// The next thing to do.
    package var remedy: String?
    /// Whether the same command goes on.
    package var isResumable: Bool
    /// Whether the same command begins again, because nothing of the run is durable.
    package var startsAgain = false

    package init(_ state: State, isResumable: Bool) {
      (self.state, self.isResumable) = (state, isResumable)
    }
  }

  /// Something that is not as it was when the destination was made.
  package enum Change: String, Sendable, Codable, Hashable, CaseIterable {
    /// The content of the source, or the source is another store.
    case source
    /// The version of the source.
    case sourceModel = "source-model"
    /// The version of the destination.
    case destinationModel = "destination-model"
    /// A mapping model.
    case mappings
    /// A key of the manifest that decides the content, or the version of a policy.
    case manifest
    /// The content of the destination, which another program wrote.
    case destination
  }

  /// How fast the ledger's last chunks came, in seconds since 2001.
  package struct Pace: Sendable, Codable, Hashable {
    /// When the run began that wrote the last chunk.
    package var began: Double
    /// The rows that were durable then.
    package var rowsBefore: Int64
    /// The work that was durable then (`RemainingTime.work`); nil in a ledger of an earlier version.
    package var workBefore: Double?
    /// When the last chunk was committed.
    package var committed: Double

    package init(began: Double, rowsBefore: Int64, workBefore: Double? = nil, committed: Double = 0) {
      (self.began, self.rowsBefore, self.committed) = (began, rowsBefore, committed)
      self.workBefore = workBefore
    }
  }

  /// Takes over when the last chunk was committed, and how fast.
  ///
  /// - Parameters:
  ///   - chunks: All chunks.
  ///   - done: Those that are durable.
  package mutating func take(_ pace: Pace?, of chunks: [Chunk], done: [Chunk]) {
    // A damaged ledger may say anything; the time must be one that JSON can have.
    guard let pace, pace.began.isFinite, (0...1e11).contains(pace.committed) else { return }
    lastCommit = Date(timeIntervalSinceReferenceDate: pace.committed)
    let seconds = pace.committed - pace.began
    // A damaged ledger may hold numbers that overflow.
    let rows = done.reduce(Int64(0)) { $0 &+ max(1, $1.rows) }
    guard seconds > 0, pace.rowsBefore >= 0, rows > pace.rowsBefore else { return }
    let rate = Double(rows - pace.rowsBefore) / seconds
    guard rate.isFinite else { return }
    rowsPerSecond = rate
    let work = RemainingTime.work(done)
    guard let before = pace.workBefore, before.isFinite, work > before else { return }
    let left = (RemainingTime.work(chunks) - work) / (work - before) * seconds
    if left.isFinite, left >= 0 { secondsLeft = left }
  }
}

extension MigrationStatus.Run: CustomStringConvertible {
  /// The run in one line.
  package var description: String {
    let goesOn =
      !isResumable
      ? "" : startsAgain ? "; nothing of it is durable, the same command starts again" : "; the same command resumes"
    switch state {
    case .running: return "running" + (process.map { ": \($0)" } ?? "")
    case .stopped:
      let why = [reason ?? message, reasonCode.map { "(\($0))" }].compactMap { $0 }.joined(separator: " ")
      return "stopped\(time): \(why)\(goesOn)"
    case .failed: return "failed\(time), status \(status ?? 0): \((message ?? "").onOneLine)\(goesOn)"
    case .stale:
      return "stale: the last run was killed" + (process.map { " (\($0))" } ?? "") + goesOn
    case .finished: return "finished"
    }
  }

  private var time: String { ended.map { " " + $0.ISO8601Format() } ?? "" }

  private var process: String? {
    guard let pid else { return nil }
    return "process \(pid)\(host.map { " on '\($0)'" } ?? "")"
      + (since.map { ", since \($0.ISO8601Format())" } ?? "")
  }
}
