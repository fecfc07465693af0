/// What is durable of a job, and what remains.
public struct MigrationStatus: Sendable, Codable {
  /// How far a job is.
  public enum State: String, Sendable, Codable {
    /// Nothing of the job is on disk.
    case notStarted = "not started"
    /// Some chunks are durable; a run of the same job continues with the others.
    case unfinished
    /// The destination is the finished store of the job.
    case finished
    /// The destination exists, and this job did not make it from this source.
    case foreign = "destination exists"
  }

  /// Chunks of one stage and mapping.
  public struct Line: Sendable, Codable {
    /// The stage's name, for example `create`.
    public var stage: String
    /// The mapping, or what is built.
    public var name: String
    /// Chunks that are durable.
    public var done: Int
    /// All chunks of the line.
    public var chunks: Int
    /// Rows that all chunks of the line read together.
    public var rows: Int64
    /// Rows that the durable chunks read together.
    public var rowsDone: Int64
  }

  /// How far the job is.
  public var state: State
  /// The job's name.
  public var job: String
  /// The share that is durable, 0 to 100, by rows.
  public var percent: Double
  /// One line for each stage and mapping, in the order of execution.
  public var lines: [Line]
  /// The current step, from 1; nil for a job of one step.
  public var step: Int?
  /// The number of steps; nil for a job of one step.
  public var steps: Int?

  /// - Parameter known: The percent, where no chunk tells it.
  package init(state: State, job: String, chunks: [Chunk], done: Set<Int>, percent known: Double = 0) {
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
      lines[position].rows += chunk.rows
      rows += max(1, chunk.rows)
      if done.contains(chunk.id) {
        lines[position].done += 1
        lines[position].rowsDone += chunk.rows
        rowsDone += max(1, chunk.rows)
      }
    }
    percent = state == .finished ? 100 : rows == 0 ? known : Double(rowsDone) / Double(rows) * 100
  }
}

extension MigrationStatus: CustomStringConvertible {
  /// The status as `godwit status` prints it, over several lines.
  public var description: String {
    var text = "job \(job): \(state.rawValue)"
    if state == .foreign { text += ", but was not made by this job, or the source, a model or a mapping changed since" }
    guard state == .unfinished else { return text }
    let tenths = Int(percent * 10)
    text += ", \(tenths / 10).\(tenths % 10)%"
    if let step, let steps { text += ", step \(step) of \(steps)" }
    for line in lines {
      text +=
        "\n  \(line.stage.padded(to: 10))\(line.name): chunks \(line.done)/\(line.chunks), rows \(line.rowsDone)/\(line.rows)"
    }
    return text
  }
}
