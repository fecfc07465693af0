import GodwitJob
import GodwitModel

/// How far a verification is: the share that is done, whether it must end early, and the place where the next one of the
/// same stores may continue.
final class VerificationProgress {
  /// How much is done after each part, about.
  enum Share {
    static let file = 0.01
    static let associations = 0.2
    static let objects = 0.75
    static let relationships = 0.9
    static let rules = 0.95
  }

  /// Whether the verification must end early. Called on a second thread too.
  var isStopped: @Sendable () -> Bool = { false }
  /// Tells the share that is done.
  var advance: (Double) -> Void = { _ in }
  /// The progress of an earlier verification of the same stores; nil to begin with the first row.
  var start: VerificationCheckpoint?
  /// The comparison's progress at the last place where the next verification may continue; nil before the first one.
  private(set) var checkpoint: VerificationCheckpoint?
  /// Whether the next verification may continue at a place of this one. A sample is another one each time.
  var keepsPlaces = true
  /// After how many rows a checkpoint follows.
  var rowsPerCheckpoint: Int64 = 4096
  /// Whether enough rows were compared since the last checkpoint.
  var isCheckpointDue = false
  /// Rows compared so far, and the share of the whole that each is.
  private var rowsDone: Int64 = 0
  private var rowShare = 0.0
  private let stores: ComparedStores
  private let findings: Findings
  private let plans: LinkPlans

  init(_ stores: ComparedStores, _ findings: Findings, _ plans: LinkPlans) {
    (self.stores, self.findings, self.plans) = (stores, findings, plans)
  }

  /// Tells the share that is done, where the verification may end early.
  func proceed(_ share: Double) throws {
    advance(share)
    try checkStop()
  }

  func checkStop() throws {
    guard isStopped() else { return }
    throw GodwitError(.stopped, "cannot verify '\(stores.job.destinationPath)': stopped before the end")
  }

  /// - Parameter total: How many rows there are to compare.
  func beginRows(_ total: Int64) {
    rowShare = (Share.objects - Share.associations) / Double(max(total, 1))
  }

  /// Counts rows that were compared, and reports progress now and then.
  func countRows(_ count: Int64 = 1) {
    let before = rowsDone / rowsPerCheckpoint
    rowsDone += count
    guard rowsDone / rowsPerCheckpoint > before else { return }
    isCheckpointDue = true
    advance(min(Share.associations + rowShare * Double(rowsDone), Share.objects))
  }

  // MARK: Going on

  /// Marks a place where the next verification may continue.
  ///
  /// - Parameter change: The work done since the last one.
  func keep(_ change: (inout VerificationCheckpoint) -> Void) {
    guard stores.sample == nil, keepsPlaces else { return }
    var checkpoint = checkpoint ?? VerificationCheckpoint(report: findings.report)
    checkpoint.report = findings.report
    checkpoint.toOnes = plans.toOnes
    (checkpoint.unsound, checkpoint.policyEntities) = (findings.unsound, findings.policyEntities)
    checkpoint.rowsDone = rowsDone
    change(&checkpoint)
    self.checkpoint = checkpoint
  }

  /// Adds what SQLite's check has found to the place that was marked last.
  func keep(_ integrity: IntegrityCheck.Complaints) { checkpoint?.integrity = integrity }

  /// Restores the state of an earlier verification. Up to here, this one has the same results.
  func resume(_ start: VerificationCheckpoint) {
    findings.resume(start)
    rowsDone = start.rowsDone
    plans.resume(start.toOnes)
    checkpoint = start
    checkpoint?.externalNames = []
  }
}
