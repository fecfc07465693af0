import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel

/// The path that `mappings: auto` would choose, found by the code that a job uses.
struct AutomaticPath: Encodable {
  struct Step: Encodable {
    let source, destination: String
    /// The mapping model's file, or `inferred`.
    let mappings: String
    /// The versions that one inferred step goes through, both ends included; nil for a step of one hop.
    let hops: [String]?
  }

  /// Empty where no path leads to the model.
  private(set) var steps: [Step] = []
  /// Where the source model was found, when no model given is the store's.
  private(set) var sourceModelOrigin: String?
  /// The policies that nobody registered, which a job asks for.
  private(set) var missingPolicies: [PolicyUse] = []
  /// The losses of the path.
  private(set) var losses: [LossReport.Loss] = []
  /// How the mapping models were found, if the user should check that.
  private(set) var notes: [MigrationNote] = []
  /// A better way than this one.
  private(set) var hints: [String] = []
  /// The problem that would stop the job.
  private(set) var problem: GodwitError?
  /// The models of the job; nil where it has none.
  private(set) var models: (source: ManagedObjectModel, destination: ManagedObjectModel)?

  private enum CodingKeys: String, CodingKey {
    case steps, sourceModelOrigin, missingPolicies, losses, notes, noteCodes, hints, problem, problemCode, problemStatus
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(steps, forKey: .steps)
    try container.encodeIfPresent(sourceModelOrigin, forKey: .sourceModelOrigin)
    try container.encode(missingPolicies, forKey: .missingPolicies)
    try container.encode(losses, forKey: .losses)
    if !notes.isEmpty {
      try container.encode(notes.map(\.text), forKey: .notes)
      try container.encode(notes.map(\.code), forKey: .noteCodes)
    }
    try container.encode(hints, forKey: .hints)
    try container.encodeIfPresent(problem?.line, forKey: .problem)
    try container.encodeIfPresent(problem?.code.name, forKey: .problemCode)
    try container.encodeIfPresent(problem?.code.rawValue, forKey: .problemStatus)
  }

  /// The path of a store, with what is lost counted in it.
  init(_ loader: JobLoader) {
    do {
      let job = try loader.job()
      models = (job.sourceModel, job.destinationModel)
      sourceModelOrigin = job.sourceModelOrigin
      let manager = MigrationManager(job)
      tell(manager.job)
      let plan = try manager.plan()
      losses = plan.losses.losses
      problem = manager.job.missingPolicyError
    } catch {
      stop(error)
      // `why` names the difference also where no path exists.
      models = models ?? (try? loader.endModels())
    }
  }

  /// The path between two models, of which no store is there.
  init(_ loader: JobLoader, from source: ManagedObjectModel, to destination: ManagedObjectModel) {
    do {
      let versions = try ModelVersions(loader.manifest.models)
      let (steps, search) = try loader.path(from: source, to: destination, among: versions)
      var job = MigrationJob(
        name: "why", sourcePath: source.name, destinationPath: destination.name, first: steps[0],
        later: Array(steps.dropFirst()))
      job.mappingSearch = search
      job.policies = loader.policies
      models = (source, destination)
      tell(MigrationManager(job).job)
      problem = job.missingPolicyError
    } catch { stop(error) }
  }

  private mutating func tell(_ job: MigrationJob) {
    steps = job.steps.map { step in
      Step(
        source: step.sourceModel.name, destination: step.destinationModel.name, mappings: step.origin ?? "",
        hops: step.passedVersions.isEmpty
          ? nil : [step.sourceModel.name] + step.passedVersions + [step.destinationModel.name])
    }
    missingPolicies = job.policyUses.filter { !$0.isRegistered }
    hints = job.hints
    // The origin of the source's model has its own line.
    notes = job.inputNotes.filter { $0.code != .modelFromStore }
  }

  private mutating func stop(_ error: any Error) {
    problem = error as? GodwitError ?? GodwitError(.internalBug, "unexpected failure: \(error)")
  }

  /// For people, the first word of a line its label.
  var lines: [String] {
    var lines: [String] = []
    let told = steps.map { step in
      let way = step.mappings == MigrationStep.inferredOrigin ? "inferred" : "by \(step.mappings)"
      let hops = step.hops.map { ", through " + $0.dropFirst().dropLast().map { "'\($0)'" }.joined(separator: ", ") }
      return "'\(step.source)' to '\(step.destination)' \(way)\(hops ?? "")"
    }
    switch told.count {
    case 0: lines.append("path      `mappings: auto` finds no path")
    case 1: lines.append("path      `mappings: auto`: \(told[0])")
    default:
      lines.append("path      `mappings: auto` takes \(told.count) steps")
      lines += told.map { "          \($0)" }
    }
    if let sourceModelOrigin { lines.append("source    the model is \(sourceModelOrigin)") }
    lines += missingPolicies.map { "policy    not registered: \($0)" }
    lines += losses.map { "\($0.label.padding(toLength: 10, withPad: " ", startingAt: 0))\($0)" }
    lines += notes.map { "note      \($0)" }
    lines += hints.map { "hint      \($0)" }
    return lines
  }
}
