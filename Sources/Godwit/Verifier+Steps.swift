import GodwitEngine
public import GodwitJob
public import GodwitVerifier

extension Verifier {
  /// The verifier of a job's destination. For a job of several steps, it makes the stores between steps again by
  /// running the steps. A merged source is made again too.
  public init(job: MigrationJob) {
    self.init(job: job) { job, folder, isStopped in
      _ = try StoreMerge(job, in: folder, stopReason: { isStopped() ? "stopped" : nil }).make()
    } makeStore: { step in
      var step = step
      step.receipt = nil
      if try MigrationManager(step).run().outcome == .stopped { throw CancellationError() }
    }
  }
}
