package import GodwitJob
import GodwitModel
package import GodwitStore

/// The losses that counting the source finds.
///
/// A plan counts at once. A job that a loss stops does the same. Any other run counts on a second thread while its chunks
/// are carried out, because counting reads most tables of the source once more.
package struct LossCount: Sendable {
  var losses: LossReport
  var notes: [MigrationNote]
  var misfits: [String]

  package func add(to plan: inout MigrationPlan) {
    plan.losses = losses
    plan.codedNotes += notes
    plan.misfits += misfits
  }

  /// Counts on a second thread, with a connection of its own.
  ///
  /// - Parameter plan: A plan without losses.
  /// - Returns: nil if the source cannot be opened twice.
  package static func beside(_ planner: Planner, _ plan: MigrationPlan) throws -> BackgroundTask<LossCount>? {
    guard let reader = try planner.connection.anotherReader(cache: .init(bytes: planner.job.memory.bytes / 32)) else {
      return nil
    }
    var silent = planner
    // The caller's closure must not outlive its call.
    silent.progress = nil
    let work = Work(planner: silent, reader: reader)
    return BackgroundTask { [dropped = plan.dropped, facts = plan.facts] isWanted in
      defer { try? work.reader.close() }
      work.reader.whileRunning { !isWanted() }
      defer { work.reader.whileRunning(stopIf: nil) }
      let planner = try work.planner.reading(with: work.reader, now: facts.now)
      return try planner.lossCount(facts, dropped: dropped, isWhole: false)
    }
  }

  /// Unchecked, since the second thread has the connection to itself, and only reads the rest.
  private struct Work: @unchecked Sendable {
    var planner: Planner
    var reader: StoreConnection
  }
}

extension Planner {
  /// Counts the losses of a plan without them.
  ///
  /// - Parameter isWhole: Whether to count those too that a run counts while it makes objects.
  package func addLosses(to plan: inout MigrationPlan, isWhole: Bool) throws {
    try lossCount(plan.facts, dropped: plan.dropped, isWhole: isWhole).add(to: &plan)
  }

  /// The same planner with another connection to the source.
  func reading(with reader: StoreConnection, now: Double) throws -> Planner {
    let functions = try SQLFunctions(connection: reader, sourceSchema: sourceSchema, now: now)
    functions.setSupportFolder(ofSourceOf: job)
    return Planner(
      job: job, resolved: resolved, sourceSchema: sourceSchema, destinationSchema: destinationSchema,
      functions: functions, sourceBytes: sourceBytes, leftOut: leftOut, existing: existing,
      // The thread that writes has a processor to itself.
      scan: SourceScan(job, sourceSchema, functions, isSample: false, readers: max(1, ReaderPool.processors - 1)),
      durability: durability)
  }
}
