public import GodwitJob
public import GodwitVerifier

extension Verifier {
  /// Proves the destination of a job. The stores between the steps of a job of several are made again by running these steps.
  public init(job: MigrationJob) { self.init(job: job) { try MigrationManager($0).run() } }
}
