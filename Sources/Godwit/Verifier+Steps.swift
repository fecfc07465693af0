public import GodwitJob
public import GodwitVerifier

extension Verifier {
  /// Proves the destination of a job. The stores between the steps of a job of several are made again by running these steps.
  public init(job: MigrationJob) {
    self.init(job: job) { step in
      if try MigrationManager(step).run().outcome == .stopped { throw CancellationError() }
    }
  }
}
