public import GodwitJob
public import GodwitVerifier

extension Verifier {
  /// The verifier of a job's destination. For a job of several steps, it makes the stores between steps again by
  /// running the steps.
  public init(job: MigrationJob) {
    self.init(job: job) { step in
      var step = step
      step.receipt = nil
      if try MigrationManager(step).run().outcome == .stopped { throw CancellationError() }
    }
  }
}
