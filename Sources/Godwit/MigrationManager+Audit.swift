import GodwitEngine
package import GodwitJob
import GodwitModel
import GodwitStore

extension MigrationManager {
  /// Looks for what a run would stop at, or carry along broken: see `AuditReport`. Writes nothing, and works on a
  /// read-only file system.
  ///
  /// In a job of several steps it looks at the first one: the sources of the others are not made yet.
  ///
  /// - Parameters:
  ///   - samples: How many objects of each finding are named.
  ///   - showsValues: Whether the values concerned are told, and the shapes of encoded values. They are data of users.
  /// - Throws: `.usage` (64) for a manager whose stores are not named yet; what makes the source or the job unusable as
  ///   a whole, as `plan()` does; `.stopped` (75) if the source changed meanwhile.
  package func audit(samples: Int = 5, showingValues showsValues: Bool = false) throws -> AuditReport {
    try refuseWithoutStore()
    var job = job
    for use in job.missingPolicies { job.policies.register(use.policy, PlannedPolicy()) }
    let step = try job.isStepped ? job.step(0) : job
    let original = try StoreFiles(path: step.sourcePath)
    let stamp = try original.stamp()
    let source = try SourceFiles(step, existing: step.appends ? try DestinationLook(job).existingDestination() : nil)
    guard let attached = source.attached else { throw GodwitError(.internalBug, "the source is not attached") }
    var report = try SourceAudit(attached, job: step, samples: samples, showsValues: showsValues).run()
    if showsValues { report.shapes = try shapes(of: attached, step) }
    guard try original.stamp() == stamp else {
      throw GodwitError(
        .stopped, "cannot audit '\(job.sourcePath)': it changed meanwhile",
        remedy: "stop what writes to it and run the same command", stopReason: .sourceChanged)
    }
    return report
  }
}
