import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore

/// The content of a report: the job, its plan, and the records of its runs.
struct ReportContent {
  let job: MigrationJob
  let manifest: JobManifest
  /// The manifest's text; nil where no file holds it, or it is long.
  let manifestText: String?
  let record: JobRecord
  /// nil for a finished job, whose receipt tells what it did.
  let plan: MigrationPlan?
  /// Why a wanted plan is missing.
  let planFailure: String?
  /// The obstacles to the next run.
  let obstacles: [String]
  let found: [FindingsFile]
  let made: Date

  /// A manifest that is longer is not shown.
  private static let manifestLimit = ByteCount.kibibytes(64)

  init(_ manager: MigrationManager, manifest: JobManifest, found: [FindingsFile]) throws {
    job = manager.job
    self.manifest = manifest
    self.found = found
    made = Date()
    manifestText = Self.text(of: manifest.file)
    (record, plan, planFailure) = try Self.read(manager)
    // A destination that is to be replaced has no plan: the page shows how it was made.
    let isReplaced = plan == nil && record.status.state == .outdated
    obstacles =
      isReplaced ? ((try? manager.destinationObstacles()) ?? []).map(\.text) : plan?.summary.obstacles ?? []
  }

  /// A run may end while its ledger is read: what was read before and after then do not belong together.
  private static func read(_ manager: MigrationManager) throws -> (JobRecord, MigrationPlan?, String?) {
    var attempts = 3
    while true {
      attempts -= 1
      let record = try manager.record()
      let (plan, failure) = try plan(manager, record)
      if try attempts == 0 || manager.status().state == record.status.state { return (record, plan, failure) }
    }
  }

  private static func plan(_ manager: MigrationManager, _ record: JobRecord) throws -> (MigrationPlan?, String?) {
    switch record.status.state {
    case .notStarted:
      // Wrong data ends a run before it leaves anything, and its page is wanted all the same.
      do { return (try manager.plan(estimatingTime: true), nil) } catch let error as GodwitError
        where error.code == .dataWrong
      { return (nil, error.line) }
    case .unfinished, .foreign:
      do { return (try manager.plan(estimatingTime: true), nil) } catch let error as GodwitError {
        return (nil, error.line)
      }
    case .finished, .outdated:
      // In place the source is gone, and an append has changed the destination that its plan would be about.
      guard record.receipt == nil, !manager.job.isInPlace, !manager.job.appends else { return (nil, nil) }
      return (try? manager.plan(), nil)
    }
  }

  private static func text(of path: String) -> String? {
    guard let bytes = try? ReadableFile.bytes(of: path, limit: manifestLimit) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }

  /// How far the job is, in a word or two.
  var state: String { record.status.state.rawValue }

  /// The flow of the objects in each step.
  var flows: [ObjectFlows] {
    if let receipt = record.receipt, !receipt.steps.isEmpty {
      return receipt.steps.numbered.map { ObjectFlows($1, step: $0) }
    }
    guard let plan else { return [] }
    let done = record.finishedSteps
    return plan.steps.numbered.map { id, step in
      done.has(id)
        ? ObjectFlows(done[id], step: id)
        : ObjectFlows(step, step: id, facts: id == plan.countedStep ? plan.facts.entities : [])
    }
  }

  /// The losses, past or expected.
  var losses: [LossReport.Loss] { record.receipt?.losses ?? plan?.losses.losses ?? [] }
}

/// The flow of the objects of one step.
struct ObjectFlows {
  struct Flow {
    /// Entities; an empty source makes objects of nothing.
    var source, destination: String
    /// The mapping; for a loss why no mapping takes the objects.
    var name: String
    /// Source objects; nil where they are not counted.
    var taken: Int64?
    /// Destination objects; nil where they are not counted.
    var made: Int64?
    var isLoss = false
  }

  let step: StepID
  let sourceModel, destinationModel: String
  /// Why rows are not counted; nil where they are.
  let note: String?
  private(set) var flows: [Flow]
  /// Source objects by entity, each counted once; an entity is missing where that is not known.
  private(set) var objects: [String: Int64] = [:]

  init(_ receipt: Receipt.Step, step: StepID) {
    self.step = step
    (sourceModel, destinationModel, note) = (receipt.sourceModel, receipt.destinationModel, nil)
    flows = receipt.mappings.filter { !$0.destination.isEmpty }.map {
      Flow(source: $0.source, destination: $0.destination, name: $0.name, taken: $0.taken, made: $0.made)
    }
    flows += receipt.dropped.map {
      Flow(source: $0.entity, destination: "", name: Self.text($0.reason), taken: $0.objects, isLoss: true)
    }
    for (entity, mappings) in Dictionary(grouping: receipt.mappings, by: \.source) {
      let counts = Set(mappings.map(\.objectsIn))
      if counts.count == 1 { objects[entity] = counts.first }
    }
  }

  /// - Parameter facts: The source entities with their rows, where they are counted.
  init(_ plan: MigrationPlan.Step, step: StepID, facts: [PlanFacts.Entity] = []) {
    self.step = step
    (sourceModel, destinationModel, note) = (plan.sourceModel, plan.destinationModel, plan.rowsNote)
    let isCounted = plan.rowsNote == nil
    // A mapping of kind remove is among what is dropped.
    flows = plan.passes.flatMap(\.mappings).filter { !$0.destination.isEmpty }.map {
      Flow(
        source: $0.source, destination: $0.destination, name: $0.name, taken: isCounted ? $0.rows : nil, made: nil)
    }
    flows += plan.dropped.map {
      Flow(
        source: $0.entity, destination: "", name: Self.text($0.cause), taken: isCounted ? $0.rows : nil, isLoss: true)
    }
    objects = Dictionary(facts.map { ($0.name, $0.rows) }, uniquingKeysWith: { first, _ in first })
  }

  /// How often mappings take an object beyond the first time, by entity.
  var repeats: [String: Double] {
    var repeats: [String: Double] = [:]
    for (entity, flows) in Dictionary(grouping: flows, by: \.source) {
      guard !entity.isEmpty, let objects = objects[entity].map(Double.init) else { continue }
      let taken = flows.filter { !$0.isLoss }.map { Double($0.taken ?? 0) }
      let lost = flows.filter(\.isLoss).reduce(0) { $0 + Double($1.taken ?? 0) }
      // Otherwise the count is not that of these flows.
      guard objects - lost >= taken.max() ?? 0 else { continue }
      repeats[entity] = max(0, taken.reduce(0, +) - (objects - lost))
    }
    return repeats
  }

  /// Whether every entity is migrated under its name, with all of its objects. Values and links may be lost.
  var isUnchanged: Bool {
    !flows.isEmpty && Set(flows.map(\.source)).count == flows.count
      && flows.allSatisfy {
        !$0.isLoss && $0.source == $0.destination && ($0.made == nil || $0.made == $0.taken)
      }
  }

  private static func text(_ cause: LossReport.Cause) -> String {
    switch cause {
    case .removeMapping: "remove mapping"
    case .filteredOut: "filtered out"
    default: "no mapping"
    }
  }
}
