package import GodwitJob
import GodwitModel
import GodwitStore

/// How long a run may take, from a sample: objects of the largest mappings are made in memory with the statements of
/// the run, and rolled back.
///
/// Work that needs the run's files (policies, spill files, later stages) counts as a multiple of a sampled row. The
/// factors come from the runs in Benchmarks and are coarse, which is why the estimate is a range.
extension Planner {
  private static let limitRows: Int64 = 2000
  /// The most keys that are searched, because a filter may take few of the first rows.
  private static let limitKeys: Int64 = 20_000
  private static let limitMappings = 12
  private static let limitSampling = Duration.milliseconds(300)

  /// - Parameter done: Chunks that are durable.
  package func timeEstimate(_ plan: MigrationPlan, _ program: StepProgram, done: Set<Int> = []) -> TimeEstimate {
    let sample = self.sample(program)
    var seconds = Self.fixedSeconds
    for chunk in plan.chunks where !done.contains(chunk.id) {
      seconds += Self.commitSeconds + Double(chunk.rows) * secondsPerRow(of: chunk, sample, program)
    }
    // The result is checked page by page. The source is checked and hashed beside the chunks.
    seconds += Double(plan.disk.destinationBytes) / Self.checkedBytesPerSecond
    seconds = max(seconds, Double(sourceBytes) / Self.checkedBytesPerSecond)
    return TimeEstimate(
      lowSeconds: seconds * 0.6, highSeconds: seconds * 3, sampledObjects: sample.rows,
      basis: sample.rows > 0 ? "a sample of \(sample.rows.counted("object"))" : "counts alone",
      secondsPerMillion: sample.rows >= Self.fewestForCost ? costs(plan, sample, program) : nil)
  }

  /// The costs of the mappings in the object lane, by name.
  private func costs(_ plan: MigrationPlan, _ sample: Sample, _ program: StepProgram) -> [String: Double] {
    let lanes = Set(plan.steps.flatMap(\.passes).flatMap(\.mappings).filter { $0.lane == .object }.map(\.name))
    var costs: [String: Double] = [:]
    for mapping in program.mappings where lanes.contains(mapping.name) && mapping.earlier == nil {
      let rate = sample.rates[mapping.index] ?? sample.rate
      let perRow =
        program.isPolicy(mapping.index)
        ? rate * Self.policyCreation + sample.rate * ChunkPhase.policy.row.readings
        : rate * ChunkPhase.create.row.readings
      costs[mapping.name] = perRow * 1e6
    }
    return costs
  }

  private static let fixedSeconds = 0.05
  private static let commitSeconds = 0.003
  /// A sample of fewer objects measures how long a statement takes to begin.
  private static let fewestForCost: Int64 = 500
  /// How many times the reading of a sampled row takes: an object that a policy makes.
  private static let policyCreation = 5.0
  private static let checkedBytesPerSecond = 400e6

  // MARK: Rates

  private struct Sample {
    var rows: Int64 = 0
    var seconds = 0.0
    /// The rates by mapping.
    var rates: [MappingID: Double] = [:]
    /// Seconds for a row of any mapping; a figure for a row of 60 bytes where nothing could be sampled.
    var rate: Double { rows > 0 ? seconds / Double(rows) : 3e-6 }
  }

  private func secondsPerRow(of chunk: Chunk, _ sample: Sample, _ program: StepProgram) -> Double {
    guard case .create(let mapping, _) = chunk.work else { return sample.rate * chunk.phase.row.readings }
    let rate = sample.rates[mapping] ?? sample.rate
    return rate * (program.isPolicy(mapping) ? Self.policyCreation : chunk.phase.row.readings)
  }

  private struct TakenBack: Error {}

  private func sample(_ program: StepProgram) -> Sample {
    var sample = Sample()
    guard sourceBytes > 0 else { return sample }
    let mappings = program.facts.mappings
    let largest = program.mappings.ids.filter { mappings[$0].rows > 0 && program.mappings[$0].earlier == nil }
      .sorted { (mappings[$0].rows, $1) > (mappings[$1].rows, $0) }
    let clock = ContinuousClock()
    let end = clock.now + Self.limitSampling
    // Keys that a run holds in memory for lookups are looked up in the source here.
    guard
      let program = try? StepProgram(
        resolved: resolved, sourceSchema: sourceSchema, destinationSchema: destinationSchema, facts: program.facts)
    else { return sample }
    // A failure to sample does not fail the plan. The run will report the row.
    try? connection.transaction {
      for sql in destinationSchema.createStatements { try connection.execute(sql) }
      for index in largest.prefix(Self.limitMappings) where clock.now < end {
        guard let sampled = try? made(index, program, clock), case (let rows, let seconds) = sampled, rows > 0 else {
          continue
        }
        sample.rates[index] = seconds / Double(rows)
        sample.rows += rows
        sample.seconds += seconds
      }
      throw TakenBack()
    }
    return sample
  }

  /// Makes the first objects of a mapping in memory: a few, and as many as a sample needs if those were quick.
  ///
  /// - Returns: How many, and the seconds that it took; nil for a mapping whose objects need more than the source.
  private func made(_ index: MappingID, _ program: StepProgram, _ clock: ContinuousClock) throws -> (Int64, Double)? {
    let mapping = program.mappings[index]
    guard !program.isUnique(index), !program.isPolicy(index), !hasExternalData(mapping),
      let width = try sampledWidth(of: mapping.source.name)
    else { return nil }
    let rows = min(Self.limitRows, max(1, job.memory.bytes / 16 / max(width, 16)))
    let few = try made(index, program, rows: min(rows, Self.fewRows), keys: Self.fewKeys, clock)
    let expected = few.seconds * Double(Self.limitKeys / Self.fewKeys)
    guard expected < EngineTuning.current.secondsForSample else { return few }
    return try made(index, program, rows: rows, keys: Self.limitKeys, clock)
  }

  private static let fewRows: Int64 = 50
  private static let fewKeys: Int64 = 500

  private func made(
    _ index: MappingID, _ program: StepProgram, rows: Int64, keys: Int64, _ clock: ContinuousClock
  ) throws -> (rows: Int64, seconds: Double) {
    let mapping = program.mappings[index]
    let first = program.facts.mappings[index].minimumKey
    let (last, overflow) = first.addingReportingOverflow(keys)
    let statement = try program.creation.statement(index, predicate: nil)
    let table = try program.destinationTable(of: mapping.destination.name).name
    let arguments = statement.builder.arguments(from: first, through: overflow ? .max : last)
    var made: Int64 = 0
    let time = try clock.measure {
      // A single value may be larger than the budget.
      _ = try connection.withLengthLimit(.mebibytes(1)) {
        try functions.running(statement, context: "planning, sampling \(mapping.name)") {
          try connection.execute("\(statement.sql) LIMIT \(rows)", arguments)
        }
        made = connection.changes
      }
    }
    try connection.execute("DELETE FROM main.\(quoted(table))")
    let (seconds, fraction) = time.components
    return (made, Double(seconds) + Double(fraction) / 1e18)
  }

  /// A value in a file of its own is moved by the run alone.
  private func hasExternalData(_ mapping: ResolvedEntityMapping) -> Bool {
    (resolved.sourceModel.attributes(of: mapping.source.name)
      + resolved.destinationModel.attributes(of: mapping.destination.name))
      .contains(where: \.allowsExternalBinaryDataStorage)
  }
}
