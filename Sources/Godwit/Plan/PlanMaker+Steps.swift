import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// The plan of a job of several steps.
extension PlanMaker {
  /// The plan of all steps. The rows of a step can be counted only when the steps before it are done.
  func planSteps(_ estimatesTime: Bool) throws -> MigrationPlan {
    let folder = job.workPath
    let record = try WorkJournal.read(in: folder)?.steps
    let current = min(record?.current ?? .first, StepID(count: job.steps.count))
    let here = try job.step(current, source: StepsMaker.folderBefore(current, in: folder)?.storePath)
    let source = try SourceFiles(
      here, existing: here.appends ? try DestinationLook(job).existingDestination() : nil,
      digest: record?.finished.last?.digest)
    var (plan, program): (MigrationPlan, StepProgram)
    let planner = try source.planner(here)
    var done: Set<Int> = []
    var isResumed = false
    if let ledger = try Ledger.opened(in: StepFolder(of: current, in: folder).path) {
      defer { try? ledger.connection.close() }
      (plan, program) = try planner.plan(facts: try ledger.facts(), chunks: try ledger.chunks())
      done = try ledger.done()
      isResumed = true
    } else {
      (plan, program) = try planner.plan(now: Date().timeIntervalSinceReferenceDate)
    }
    try source.addForecast(to: &plan, of: here)
    if estimatesTime {
      plan.time = planner.timeEstimate(plan, program, done: done).repeated(
        job.steps.count - current.number, because: "later steps are taken to be as long as step \(current.count)")
    }
    plan.countedStep = current
    plan.source = job.sourceName
    plan.sourceModelOrigin = job.sourceModelOrigin
    // The store of the step before and the one under construction lie side by side.
    plan.disk.destinationBytes = (plan.disk.destinationBytes - job.mergedBytes) * 2 + job.mergedBytes
    let counted = plan
    plan.losses = LossReport()
    plan.steps = try job.steps.ids.flatMap { step in
      let part = step == current ? counted : try planWithoutRows(of: step)
      var steps = part.steps
      let losses = record.flatMap { step < current ? $0.finished[step].summary.losses : nil } ?? part.losses
      plan.losses.losses += job.marking(losses.losses)
      for position in steps.indices {
        steps[position].hooks = job.steps[step].namedHooks.map { "\($0): \($1.identity)" }
        if step != current {
          steps[position].rowsNote = step < current ? "the step is done" : "counted when the previous step is done"
        }
        guard job.isInPlace else { continue }
        steps[position].way = MigrationPlan.wayOfSteps(job.steps.count)
        steps[position].strategy = .executor
      }
      return steps
    }
    return job.measured(plan, isResumed: isResumed)
  }

  /// The plan of a step on a store without objects: everything but counts.
  func planWithoutRows(of step: StepID) throws -> MigrationPlan {
    try withoutRows(of: step) { try $0.plan(now: Date().timeIntervalSinceReferenceDate).0 }
  }

  /// Has a planner look at a step whose source has no objects.
  func withoutRows<T>(of id: StepID, _ body: (Planner) throws -> T) throws -> T {
    let step = try job.step(id)
    let connection = try StoreConnection(path: nil)
    defer { try? connection.close() }
    try connection.attachEmptySource(StoreSchema(model: step.sourceModel))
    do {
      let existing = step.appends ? try DestinationLook(job).existingDestination() : nil
      return try body(
        AttachedSource(
          connection, job: step, files: nil, existing: existing, digest: { try origin(of: id) }
        ).planner(step))
    } catch var error as GodwitError {
      error.context = error.context ?? step.position.context
      throw error
    }
  }

  /// The digest of the content that a step reads: that of the step before, and so of all earlier steps.
  private func origin(of step: StepID) throws -> String {
    try job.steps.ids.prefix(step.number).reduce(job.sourceFiles().contentDigest()) { source, earlier in
      try JobFingerprint(MigrationManager(job.step(earlier)).job).withSource(source).digest
    }
  }
}
