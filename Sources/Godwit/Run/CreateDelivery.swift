import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// A new store where nothing is.
struct CreateDelivery: Delivery {
  let job: MigrationJob
  let watch: StopCondition

  func finished() throws -> MigrationSummary? {
    guard try job.isDestinationTaken && !WorkFolder.exists(forDestination: job.destinationPath) else { return nil }
    return try finishedDestination()
  }

  private func finishedDestination() throws -> MigrationSummary? {
    switch try DestinationLook(job).look() {
    case .absent: return nil
    case .current(let digest): return try QuarantinePlacement(job).finishedBefore(digest: digest ?? "")
    case .outdated(let earlier): throw earlier.refusal
    case .foreign(let error): throw error
    }
  }

  func begin(_ claim: borrowing Claim) throws -> RunPipeline.Beginning {
    guard try !job.isDestinationTaken else { return try finishDelivered(claim) }
    try DestinationLook(job).refuseStaleLog()
    let source = try SourceFiles(job, attach: false, existing: try DestinationLook(job).existingDestination())
    let notes =
      try job.appends
      ? [] : UnfinishedWork(job).dropOutdated(in: claim, source: source.files) { try source.files.contentDigest() }
    return .make(source, notes: notes)
  }

  /// - Throws: `.cannotCreate` (73) for a store of another job beside unfinished work.
  func refuseOtherBesideWork() throws {
    guard try job.isDestinationTaken, try WorkFolder.exists(forDestination: job.destinationPath) else { return }
    if try (Definite.answer(finishedDestination) ?? nil) == nil { throw Self.isBesideWork(job) }
  }

  private static func isBesideWork(_ job: MigrationJob) -> GodwitError {
    GodwitError(
      .cannotCreate, "cannot write '\(job.destinationPath)': it exists beside the work folder of an unfinished run",
      remedy: "move the destination away, or `godwit discard` the job")
  }

  /// Ends the work of a run that died after the store had got its name.
  private func finishDelivered(_ claim: borrowing Claim) throws -> RunPipeline.Beginning {
    // One that died while it replaced the destination, when the manifest still said so, has files to remove.
    _ = try finishExchange(claim)
    guard var summary = try Definite.answer(finishedDestination) ?? nil else { throw Self.isBesideWork(job) }
    let settled = try ReceiptPlacement(job).settle(claim)
    summary.codedNotes += settled.notes
    return .finished(summary, settled.end)
  }

  /// A destination that is there may be the one of this folder, whose receipt waits here.
  func hasBegunExchange(_ claim: borrowing Claim) throws -> Bool { try job.isDestinationTaken }

  func prepare(_ claim: borrowing Claim) throws {
    let mark = claim.journal.content?.support
    try WorkFolder.refuseForeignSupport(of: job.destinationPath, mark: mark)
  }

  func deliver(_ made: RunPipeline.Made, _ claim: borrowing Claim) throws -> [MigrationNote] {
    let notes = try QuarantinePlacement(job).place(of: claim, made, watch.control)
    // The destination that an earlier run was to replace has been moved away, and keeps its receipt.
    if claim.journal.content?.receipt?.replaced != nil { try claim.journal.update { $0.receipt?.replaced = nil } }
    try publish(made, claim)
    return notes
  }
}
