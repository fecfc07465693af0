import GodwitEngine
import GodwitJob
import GodwitModel

/// `accept-losses`: each entry must name a loss that the job may have, whatever its count in this store.
struct AcceptedLossesCheck {
  let job: MigrationJob

  init(_ job: MigrationJob) { self.job = job }

  /// - Throws: `.configuration` (78) for an entry that names no loss.
  func refuseUnknown() throws {
    // Without its policies a job fails in any case, and says so.
    guard !job.acceptedLosses.isEmpty, !isOfDestinationVersion, job.missingPolicies.isEmpty else { return }
    var known = try possibleLosses()
    var open = job.acceptedLosses
    func check(_ losses: [LossReport.Loss]) {
      known += losses
      open.removeAll { entry in losses.contains { entry.names($0) } }
    }
    check(known)
    guard !open.isEmpty else { return }
    check(try unmodelledLosses())
    for way in job.otherWays ?? [] where !open.isEmpty {
      var other = job
      other.steps = way
      // Only the models and mappings count: a way of another version that cannot be planned is found with its stores.
      check(try Definite.answer { try AcceptedLossesCheck(MigrationManager(other).job).possibleLosses() } ?? [])
    }
    // Each of many stores has tables of its own that no model names. A bare name may be a slip of the pen.
    if job.otherWays != nil {
      open.removeAll { $0.unmodelledName.map { isForeignTable($0, among: known) } ?? false }
    }
    guard let entry = open.first else { return }
    var error = job.error(unknown: entry, among: known)
    if job.otherWays != nil, entry.unmodelledName == nil, isForeignTable(entry.text, among: known) {
      error.remedy =
        "correct or remove the entry; for a table of other stores that no model names write '\(entry.text) (not in model)'"
    }
    throw error
  }

  /// The job is a copy: it loses nothing, and a job in place comes here when its store is migrated.
  private var isOfDestinationVersion: Bool {
    job.steps.allSatisfy(\.isInferred) && job.sourceModel.isCompatible(with: job.destinationModel.versionHashes)
  }

  private func possibleLosses() throws -> [LossReport.Loss] {
    let way = (job.steps.map(\.sourceModel) + [job.destinationModel]).map(\.versionHashesDigest)
    return try job.possibleLosses.losses(of: way.joined(separator: " ")) {
      try job.steps.ids.flatMap { try PlanMaker(job).withoutRows(of: $0) { try $0.possibleLosses() } }
    }
  }

  private func unmodelledLosses() throws -> [LossReport.Loss] {
    let first = try job.step(.first)
    let source = try SourceFiles(first, existing: first.appends ? try DestinationLook(job).existingDestination() : nil)
    return try source.planner(first).unmodelledLosses
  }

  /// Whether a name belongs to no entity of a model, and is unlike every loss that is known.
  private func isForeignTable(_ subject: String, among known: [LossReport.Loss]) -> Bool {
    let table = subject.split(separator: ".").first.map(String.init) ?? subject
    let models = (job.steps + (job.otherWays ?? []).joined()).map(\.sourceModel)
    return !models.contains { $0.entity(table) != nil }
      && Spelling.nearest(to: subject, among: known.map(\.subject)) == nil
  }
}
