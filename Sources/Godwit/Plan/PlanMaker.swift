import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// Plans what a run of a job would do. Writes nothing.
struct PlanMaker {
  let job: MigrationJob

  init(_ job: MigrationJob) { self.job = job }

  func plan(_ estimatesTime: Bool) throws -> MigrationPlan {
    try RunCheck.pass(.manifest, job)
    try RunCheck.pass(.job, job)
    let missing = job.missingPolicies
    var complete = job
    for use in missing { complete.policies.register(use.policy, PlannedPolicy()) }
    var plan: MigrationPlan
    do {
      try AcceptedLossesCheck(complete).refuseUnknown()
      plan = try PlanMaker(complete).planWithPolicies(estimatesTime)
    } catch let error as GodwitError {
      throw job.tellingDiscard(error)
    }
    plan.refusesLosses = job.failsOnLoss
    plan.acceptsSetAside = job.acceptsSettingAside(plan.forecast?.setAsideEntities ?? [])
    plan.missingPolicies = missing
    plan.mappingSearch = job.mappingSearch.lines
    plan.advice = job.mappingSearch.advice
    // The origin of the source model comes first: it decides everything else.
    plan.codedNotes = try job.inputNotes + plan.codedNotes + job.layoutNotes() + job.storeNotes()
    let found = try DestinationFindings(job)
    plan.codedNotes += found.notes
    plan.destinationObstacles = found.obstacles + plan.destinationObstacles
    plan.quarantine = job.quarantine.map { "\($0), in \(job.quarantinePath)" }
    return plan
  }

  private func planWithPolicies(_ estimatesTime: Bool) throws -> MigrationPlan {
    guard !job.isStepped else { return try planSteps(estimatesTime) }
    let clock = ContinuousClock()
    let begin = clock.now
    let source = try SourceFiles(job, existing: try DestinationLook(job).existingDestination())
    let opening = clock.now - begin
    if let resumed = try Ledger.opened(in: job.workPath) {
      defer { try? resumed.connection.close() }
      let planner = try source.planner(job)
      var (plan, program) = try planner.plan(facts: try resumed.facts(), chunks: try resumed.chunks())
      if job.isInPlace { plan.describe(.executor(reason: StatementsMaker.goesOn)) }
      try source.addForecast(to: &plan, of: job, resuming: job.workPath)
      if estimatesTime {
        plan.time = plan.estimate(
          of: job, chunks: planner.timeEstimate(plan, program, done: try resumed.done()), opening: opening)
      }
      return job.measured(plan, isResumed: true)
    }
    return job.measured(try plan(source, opening: estimatesTime ? opening : nil))
  }

  /// The plan of a run that begins, with the way it takes when it is in place.
  ///
  /// - Parameter opening: How long it took to open the source, where the time of a run is to be estimated.
  func plan(_ source: SourceFiles, opening: Duration?) throws -> MigrationPlan {
    var planner = try source.planner(job)
    var counted: (plan: MigrationPlan, program: StepProgram)?
    func count() throws -> (plan: MigrationPlan, program: StepProgram) {
      if let counted { return counted }
      let made = try planner.planLeavingOutUncomputable(now: Date().timeIntervalSinceReferenceDate)
      counted = made
      return made
    }
    var way: InPlaceStrategy?
    if job.isInPlace, let attached = source.attached {
      way = try InPlaceStrategy(job: job, source: attached, type: source.files.type, counted: count)
    }
    if case .definitions? = way { planner.takesUnknownEntities = true }
    var (plan, program) = try count()
    if let way { plan.describe(way) }
    try source.addForecast(to: &plan, of: job)
    if let opening { plan.time = plan.estimate(of: job, chunks: planner.timeEstimate(plan, program), opening: opening) }
    return plan
  }
}
