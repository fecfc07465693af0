package import Foundation
import GodwitModel

/// The durable work of a job, and the rest.
public struct MigrationStatus: Sendable, Codable {
  /// How far a job is.
  public enum State: String, Sendable, Codable {
    /// The job has no files on disk.
    case notStarted = "not started"
    /// A run has begun and not finished. A run of the same job continues with the chunks that are not durable, or begins
    /// again where none is.
    case unfinished
    /// The destination is the finished store of the job.
    case finished
    /// The destination is what the job made before something of it changed, and a run replaces it.
    case outdated
    /// The destination exists, and this job did not make it from this source.
    case foreign = "destination exists"
  }

  /// Chunks of one stage and mapping.
  package struct Line: Sendable, Codable {
    /// The stage's name, for example `create`.
    package var stage: String
    /// The mapping, or what is built.
    package var name: String
    /// Chunks that are durable.
    package var done: Int
    /// All chunks of the line.
    package var chunks: Int
    /// Rows that all chunks of the line read together.
    package var rows: Int64
    /// Rows that the durable chunks read together.
    package var rowsDone: Int64
  }

  /// How far the job is.
  public var state: State
  /// The job's name.
  package var job: String
  /// The share that is durable, 0 to 100, by rows.
  public var percent: Double
  /// One line for each stage and mapping, in the order of execution.
  package var lines: [Line]
  /// The current step, from 1; nil for a job of one step.
  package var step: Int?
  /// The number of steps; nil for a job of one step.
  package var steps: Int?
  /// The run that is at work, or the last one; nil where there is nothing to say of one.
  package var run: Run?
  /// When the last chunk was committed; nil while none is.
  package var lastCommit: Date?
  /// Rows read per second by the run that committed last, until then.
  package var rowsPerSecond: Double?
  /// The time left at that rate, in seconds; nil without a run at work, and before the last of several steps.
  public var secondsLeft: Double?
  /// How many differences the last verification found in the destination; nil if it found none, or there was none. A
  /// run that makes the destination again resets it.
  package var verifyFindings: Int64?
  /// When the destination was made or found up to date, if it is a result of the job; nil with ``verifyFindings``.
  package var lastSuccess: Date?
  /// The changes since the destination was made, if the job made it.
  package var changes: [Change] = []

  /// - Parameter known: The percent, where no chunk tells it.
  package init(state: State, job: String, chunks: [Chunk] = [], done: Set<Int> = [], percent known: Double = 0) {
    self.state = state
    self.job = job
    lines = []
    var index: [String: Int] = [:]
    var (rows, rowsDone): (Int64, Int64) = (0, 0)
    for chunk in chunks {
      let key = "\(chunk.phase.rawValue) \(chunk.name)"
      let position = index[key] ?? lines.count
      if index[key] == nil {
        index[key] = position
        lines.append(Line(stage: chunk.phase.rawValue, name: chunk.name, done: 0, chunks: 0, rows: 0, rowsDone: 0))
      }
      lines[position].chunks += 1
      // A damaged ledger may say more than a number can be.
      lines[position].rows &+= chunk.rows
      rows &+= max(1, chunk.rows)
      if done.contains(chunk.id) {
        lines[position].done += 1
        lines[position].rowsDone &+= chunk.rows
        rowsDone &+= max(1, chunk.rows)
      }
    }
    percent = state == .finished || state == .outdated ? 100 : rows == 0 ? known : Double(rowsDone) / Double(rows) * 100
  }
}

extension MigrationStatus: CustomStringConvertible {
  /// The status as `godwit status` prints it, over several lines.
  public var description: String {
    var text = "job \(job): \(state.rawValue)"
    switch state {
    case .foreign where changes.isEmpty:
      text += ", but was not made by this job, or the source, a model or a mapping changed since"
    case .foreign: text += ", made by this job before a change: \(changes.map(\.words).joined(separator: ", "))"
    case .outdated:
      text += ": the next run replaces the destination, because of a change: "
      text += changes.map(\.words).joined(separator: ", ")
    case .notStarted, .unfinished, .finished: break
    }
    guard state == .unfinished else { return text + runText }
    let tenths = Int(percent * 10)
    text += ", \(tenths / 10).\(tenths % 10)%"
    if let step, let steps { text += ", step \(step) of \(steps)" }
    text += runText
    for line in lines {
      text +=
        "\n  \(line.stage.padded(to: 10))\(line.name): chunks \(line.done)/\(line.chunks), rows \(line.rowsDone)/\(line.rows)"
    }
    return text
  }

  /// The findings of the last verification, in words.
  package var findings: String? {
    verifyFindings.map { "the last verification found \($0.counted("difference"))" }
  }

  /// The lines about the run and about time.
  private var runText: String {
    var text = ""
    if let findings { text += "\n  \(findings)" }
    if let run, run.state != .finished { text += "\n  \(run)" }
    if let lastCommit { text += "\n  last commit \(lastCommit.ISO8601Format())" }
    if let rowsPerSecond { text += ", \(Int64(min(max(rowsPerSecond, 0), 1e15))) rows/s" }
    if let secondsLeft { text += ", about \(Int64(min(max(secondsLeft, 0), 1e15))) s left" }
    return text
  }
}

extension MigrationStatus.Change {
  /// The subject of the change, in words.
  package var words: String {
    switch self {
    case .source: "the source store"
    case .sourceModel: "the source model"
    case .destinationModel: "the destination model"
    case .mappings: "the mapping"
    case .manifest: "the manifest"
    case .destination: "the destination itself"
    }
  }
}
