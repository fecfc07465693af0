import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// A look for what a run of a job would stop at, or carry along broken.
struct JobAudit {
  private let job: MigrationJob

  /// - Parameter audited: Policies that nobody registered are only named.
  init(_ audited: MigrationJob) {
    var job = audited
    for use in job.missingPolicies { job.policies.register(use.policy, PlannedPolicy()) }
    self.job = job
  }

  /// - Parameters: See `MigrationManager.audit`.
  /// - Throws: `.dataWrong` (65) when the store is damaged.
  func report(samples: Int, showingValues showsValues: Bool) throws -> AuditReport {
    let step = try job.isStepped ? job.step(.first) : job
    let original = try step.sourceFiles()
    let stamp = try original.stamp()
    let source = try SourceFiles(step, existing: step.appends ? try existingDestination() : nil)
    guard let attached = source.attached else { throw GodwitError(.internalBug, "the source is not attached") }
    let check = try SourceCheck(step, original, .resumable)
    var report = try SourceAudit(attached, job: step, samples: samples, showsValues: showsValues).run()
    if let damage = try check?.damage() { throw damage }
    if showsValues { report.shapes = try EncodedShapes(source: attached, step: step).found() }
    guard try original.stamp() == stamp else {
      throw GodwitError(
        .stopped, "cannot audit '\(job.sourceName)': it changed meanwhile",
        remedy: "stop what writes to it and run the same command", stopReason: .sourceChanged)
    }
    return report
  }

  /// The store that the job appends to; if it has done so, without the job's own record.
  private func existingDestination() throws -> ExistingDestination? {
    let look = DestinationLook(job)
    guard let existing = try look.storeAppendedTo() else { return nil }
    if let digest = try look.appendedDigest(SourceFiles(job, attach: false)) { return existing.afterJob(digest) }
    try existing.checkKeysAreLeft()
    return existing
  }
}
