public import Foundation
public import GodwitModel
public import GodwitStore

/// One hop of a job, from a model version to another.
public struct MigrationStep: Sendable, Numbered {
  @usableFromInline package typealias NumberKind = NumberedStep

  /// The version before the step.
  public var sourceModel: ManagedObjectModel
  /// The version after the step.
  public var destinationModel: ManagedObjectModel
  /// The mapping models of the step. Together they give the mapping order.
  ///
  /// A mapping of a composite attribute is kept as mappings of its leaves.
  public var mappingModels: [MappingModel] {
    didSet {
      mappingModels = mappingModels.map { $0.namingLeaves(from: sourceModel, to: destinationModel) }
      madeText = Derived(MadeOnce())
    }
  }
  /// The canonical text of the mappings.
  private var madeText = Derived(MadeOnce<String>())
  /// Where the mappings came from, for the plan: a file's name, or `inferred`; nil when the job names them.
  package var origin: String?
  /// The versions between the hops of a fused step; empty for a step of one hop.
  package var passedVersions: [String] = []
  /// Why the step was not fused with the inferred step before it; nil if there is none.
  package var reasonApart: String?
  /// Runs before the step reads its source.
  package var willMigrate: MigrationStage.Hook?
  /// Runs on the store that the step made.
  package var didMigrate: MigrationStage.Hook?

  /// A step between two versions.
  ///
  /// - Parameters:
  ///   - sourceModel: The version before the step.
  ///   - destinationModel: The version after the step.
  ///   - mappingModels: Mapping models that together say what becomes of each entity, in mapping order.
  ///   - origin: Where the mappings came from, for the plan; nil when the job names them.
  package init(
    sourceModel: ManagedObjectModel, destinationModel: ManagedObjectModel, mappingModels: [MappingModel],
    origin: String? = nil
  ) {
    self.sourceModel = sourceModel
    self.destinationModel = destinationModel
    self.mappingModels = mappingModels.map { $0.namingLeaves(from: sourceModel, to: destinationModel) }
    self.origin = origin
  }

  /// The `origin` of a step whose mappings were inferred.
  package static let inferredOrigin = "inferred"

  /// Whether the step's mapping model was inferred.
  package var isInferred: Bool { origin == Self.inferredOrigin }

  package var hops: Int { passedVersions.count + 1 }

  /// The versions from the first to the last.
  package var versions: [String] { [sourceModel.name] + passedVersions + [destinationModel.name] }

  /// The hooks with their places, in the order in which they run.
  package var namedHooks: [(place: String, hook: MigrationStage.Hook)] {
    [("before", willMigrate), ("after", didMigrate)].compactMap { place, hook in hook.map { (place, $0) } }
  }

  /// The hooks as messages name them.
  fileprivate var hookTexts: [String] { namedHooks.map { "\($0) '\(destinationModel.name)', '\($1.identity)'," } }

  /// A canonical text of the mappings, for the digest that notices a change.
  var mappingText: String {
    let hooks = namedHooks.map { "hook \($0) \($1.identity)" }
    let text = madeText.value.value { MigrationJob.canonicalText(of: mappingModels) }
    return ([text] + hooks).joined(separator: "\n")
  }
}

/// A migration: one source store, one destination, and the steps between their models.
///
/// The command line makes it from a manifest; code can make it directly.
public struct MigrationJob: Sendable {
  /// The name of the job in messages and reports.
  package var name: String
  /// The name that an earlier version of Godwit gave to the job: receipts of it may have that one.
  package var earlierName: String?
  /// The source store; for a merged source the place where it is made.
  package var sourcePath: String
  /// The stores that are merged into the source; nil where the source is one store.
  package var merged: MergedSources?
  package var destinationPath: String
  /// The type of the new store.
  public var destinationType = StoreType.sqlite
  /// At least one; each step's source model is the destination model of the step before.
  public var steps: [MigrationStep] {
    // A job without a step means nothing; the last sound value stays.
    didSet {
      if steps.isEmpty { steps = oldValue }
      requestedSteps = nil
    }
  }
  /// The steps as they were asked for, when some became one; they are what the job's digest tells of.
  private var requestedSteps: [MigrationStep]?
  /// Where the source model came from, for the plan; nil when it is one of those given.
  package var sourceModelOrigin: String?
  /// Where mapping models were looked for and what was found, for the plan.
  package var mappingSearch = MappingSearchRecord()
  /// Rows per chunk; nil: chosen from sampled row widths and the memory budget.
  package var chunkRows: Int?
  /// Predicates in place of key ranges, by mapping name.
  package var chunkPredicates: [String: [FilterPredicate]]
  /// The memory that a run may allocate, at least 16 MiB. The program itself takes another 30 to 50 MiB.
  public var memory: ByteCount
  /// The value of `now()` in every expression; nil for the time at which the run begins.
  package var now: Date?
  /// The policies that mappings may name.
  public var policies: PolicyRegistry = [:]
  /// The values that the policies find in the manager's user info when a step begins.
  public var userInfo: [String: PropertyListValue] = [:]
  /// A store of the destination version, whose names the new store takes where the model leaves them open.
  package var layoutStore: LayoutStore?
  /// Names that the user gives; they win over those of a store.
  package var layoutNames = JoinNames()
  /// Whether a name of the destination that Core Data may choose otherwise is an error, before anything is written.
  package var refusesGuessedNames = false
  /// The place of `layout` in the manifest.
  package var layoutLocation: GodwitError.Location?
  /// For the last of several steps: what the first one reads.
  var firstSource: LayoutStore?
  /// The treatment of a policy class that nobody registered.
  public var unregisteredPolicies = UnregisteredPolicies.fail
  /// The treatment of a migration that loses data of the source. A manifest's default is `report`.
  public var onLoss = LossRule.allowEmpty
  /// The losses that are meant. They are listed like others and marked, and ``onLoss`` stops for the rest alone. A plan
  /// and a run refuse an entry that names no loss which the job may have (`.configuration`, 78).
  public var acceptedLosses: [AcceptedLoss] = []
  /// For a store of many: the ways of other versions, whose losses may be named too; nil for a single store.
  package var otherWays: [[MigrationStep]]?
  /// The losses that jobs of one manifest may have, once they are known.
  package var possibleLosses = PossibleLosses()
  /// How much of an unfinished run survives.
  package enum Durability: Sendable {
    /// Every chunk that was done, also after a power cut.
    case resumable
    /// No part: a small store of many is made in one transaction, and made again after a kill. That takes less time
    /// than its checkpoints would.
    case restart

    /// Whether a source is too small to read on a second thread. It is one of many stores: the others have work for all
    /// processors.
    package func needsNoThread(reading files: StoreFiles) -> Bool {
      self == .restart && files.firstSize <= EngineTuning.current.shortSourceBytes
    }
  }

  /// The part of an unfinished run that survives for the next one. A run that cannot begin again is resumable in any
  /// case: see `RunRequest`.
  package var durability = Durability.resumable

  /// How SQLite checks the source beside the run.
  public enum SourceCheck: String, Sendable, Hashable, CaseIterable {
    /// Every page and record.
    case quick
    /// Every page and record, and indexes against their tables.
    case full
    /// The source is not checked beside the run.
    case none
  }

  /// How SQLite checks the source beside the run.
  public var sourceCheck = SourceCheck.quick
  /// The place of the receipt, which records a finished run with checksums of its result; nil for none. A manifest's
  /// default is beside the destination.
  public var receipt: ReceiptPlace?
  /// How many objects that validation rejects a run may set aside; nil: the first one stops it.
  public var quarantine: Quarantine?
  /// Whether an object that breaks a rule of the destination model stays. An inferred step keeps every such object, as
  /// Core Data's own inferred migration does. In any other step a copied value must have broken the rule of the same kind
  /// of its own model. Uniqueness constraints hold all the same. Not with `quarantine`.
  public var keepsInvalid = false
  /// Whether a job of one step keeps objects whatever rules they break.
  package var keepsAllInvalid: Bool { keepsInvalid && steps.allSatisfy(\.isInferred) }
  /// Whether a value becomes nil whose bytes are needed and whose external file is missing. Otherwise it is an error.
  package var missingFilesAreNil: Bool { keepsInvalid }
  /// Whether the finished store has the bytes of all values: only a SQLite store can leave them in external files.
  package var needsBytesOfFiles: Bool { position.isLast && destinationType.isAtomic }
  /// Whether the data of CloudKit mirroring is left out. Otherwise a mirrored store is an error.
  public var dropsMirroring = false
  package var hooks = EngineTuning.JobHooks()
  /// The folder of everything unfinished, beside the destination. It is removed when the job is finished.
  package var workPath: String { WorkFolder.path(forDestination: destinationPath) }
  /// The treatment of a store that is at the destination.
  public var existingDestination = ExistingDestinationRule.fail
  /// The source store.
  public var source: URL {
    get { URL(filePath: sourcePath) }
    set { (sourcePath, merged) = (newValue.filePath, nil) }
  }
  /// The store that the job makes, or replaces, or adds to: see ``existingDestination``.
  public var destination: URL {
    get { URL(filePath: destinationPath) }
    set { destinationPath = newValue.filePath }
  }
  /// Whether a receipt with a name is one of this job.
  package func isNamed(_ name: String) -> Bool { name == self.name || name == earlierName }
  /// Which of how many steps of a larger job this one is.
  package var position = StepPosition()

  /// A job of one step.
  ///
  /// - Parameters:
  ///   - name: The name of the job in messages and reports.
  ///   - source: The source store. A job never changes it, except in place.
  ///   - destination: The path of the new store. It must be free, unless ``existingDestination`` says otherwise.
  ///   - sourceModel: The version that the source was made with.
  ///   - destinationModel: The version of the new store.
  ///   - mappingModels: Mapping models that together say what becomes of each entity, in mapping order.
  ///   - memory: The memory that a run may allocate, at least 16 MiB: see ``memory``.
  public init(
    name: String, source: URL, destination: URL, sourceModel: ManagedObjectModel, destinationModel: ManagedObjectModel,
    mappingModels: [MappingModel], memory: ByteCount = .mebibytes(64)
  ) {
    self.init(
      name: name, sourcePath: source.filePath, destinationPath: destination.filePath, sourceModel: sourceModel,
      destinationModel: destinationModel, mappingModels: mappingModels, memory: memory)
  }

  /// A job of one or more steps, as ``MigrationPathFinder`` finds them.
  ///
  /// - Parameters:
  ///   - name: The name of the job in messages and reports.
  ///   - source: The source store. A job never changes it, except in place.
  ///   - destination: The path of the new store. It must be free, unless ``existingDestination`` says otherwise.
  ///   - first: The step that reads the source.
  ///   - later: The steps after it, in order.
  ///   - memory: The memory that a run may allocate, at least 16 MiB: see ``memory``.
  public init(
    name: String, source: URL, destination: URL, first: MigrationStep, later: [MigrationStep] = [],
    memory: ByteCount = .mebibytes(64)
  ) {
    self.init(
      name: name, sourcePath: source.filePath, destinationPath: destination.filePath, first: first, later: later,
      memory: memory)
  }

  /// A job of one step.
  package init(
    name: String, sourcePath: String, destinationPath: String, sourceModel: ManagedObjectModel,
    destinationModel: ManagedObjectModel, mappingModels: [MappingModel], chunkRows: Int? = nil,
    chunkPredicates: [String: [FilterPredicate]] = [:], memory: ByteCount = .mebibytes(64)
  ) {
    self.init(
      name: name, sourcePath: sourcePath, destinationPath: destinationPath,
      first: MigrationStep(
        sourceModel: sourceModel, destinationModel: destinationModel, mappingModels: mappingModels),
      chunkRows: chunkRows, chunkPredicates: chunkPredicates, memory: memory)
  }

  /// A job of one or more steps.
  ///
  /// - Parameter first: The step that reads the source.
  /// - Parameter later: The steps after it, in order.
  package init(
    name: String, sourcePath: String, destinationPath: String, first: MigrationStep, later: [MigrationStep] = [],
    chunkRows: Int? = nil, chunkPredicates: [String: [FilterPredicate]] = [:], memory: ByteCount = .mebibytes(64)
  ) {
    self.name = name
    self.sourcePath = sourcePath
    self.destinationPath = destinationPath
    self.chunkRows = chunkRows
    self.chunkPredicates = chunkPredicates
    self.memory = memory
    steps = [first] + later
  }

  /// The suffix that the command appends to the destination's path for the file of a stopped verification.
  package static let verificationSuffix = ".verification.json"

  /// The job with the store itself in place of a symbolic link to it, where the job replaces that store: a rename would
  /// replace the link.
  package func resolvingLinks() -> MigrationJob {
    guard isInPlace else { return self }
    var job = self
    job.sourcePath = StoreFiles.resolvingLink(sourcePath)
    job.destinationPath = StoreFiles.resolvingLink(destinationPath)
    return job
  }

  /// Whether the steps have stores and a record of their own: several, or one with hooks.
  package var isStepped: Bool { steps.count > 1 || steps.contains { $0.willMigrate != nil || $0.didMigrate != nil } }

  /// The version of the source.
  package var sourceModel: ManagedObjectModel { steps[0].sourceModel }
  /// The version of the destination.
  package var destinationModel: ManagedObjectModel { steps[steps.count - 1].destinationModel }

  /// The settings of policies that decide content: the registered ones, their versions and the user info.
  var policyText: String {
    let names = Set(mappingModels.flatMap(\.entityMappings).compactMap(\.policyName)).sorted { Text($0) < Text($1) }
    let info = userInfo.isEmpty ? "" : "\nuser-info \(PropertyListValue.dictionary(userInfo).binaryPropertyList)"
    return names.map { "\npolicy \($0) \(policies[$0].map { "version \($0().version)" } ?? "default")" }.joined()
      + (names.isEmpty ? "" : info)
  }

  /// The mappings of all steps.
  package var mappingModels: [MappingModel] { steps.flatMap(\.mappingModels) }

  /// The hooks of all steps, as messages name them.
  var hookTexts: [String] { (requestedSteps ?? steps).flatMap(\.hookTexts) }

  /// A canonical text of all mappings, for the digest that notices a change.
  package var mappingText: String {
    // The models between decide the result as much as the mappings do.
    (requestedSteps ?? steps).numbered.map { id, step in
      id == .first ? step.mappingText : "step \(step.sourceModel.versionHashesDigest)\n" + step.mappingText
    }.joined(separator: "\n")
  }

  /// The job with inferred steps made one where the result is equal: see `StepFusion`. Its digest is that of the steps
  /// as they were asked for, whatever became of them.
  package func fusingSteps() -> MigrationJob {
    guard hooks.fusesSteps, requestedSteps == nil, steps.count > 1 else { return self }
    var fused = [steps[0]]
    for step in steps.dropFirst() {
      var step = step
      switch outcome(fused[fused.count - 1], step) {
      case .fused(let one)?:
        fused[fused.count - 1] = one
        continue
      case .apart(let reason)?: step.reasonApart = reason
      case nil: break
      }
      fused.append(step)
    }
    var job = self
    job.steps = fused
    if fused.count < steps.count { job.requestedSteps = steps }
    return job
  }

  private func outcome(_ first: MigrationStep, _ second: MigrationStep) -> StepFusion.Outcome? {
    let outcome = StepFusion.outcome(first, second)
    guard case .fused? = outcome else { return outcome }
    // The record of an appending job names the store that the last step reads.
    if appends { return .apart("the job appends") }
    let names = (first.mappingModels + second.mappingModels).flatMap(\.entityMappings).map(\.name)
    if let name = names.first(where: { chunkPredicates[$0] != nil }) { return .apart("'chunks.by' cuts '\(name)'") }
    return outcome
  }

  /// One step as a job of its own.
  ///
  /// - Parameters:
  ///   - index: From 0.
  ///   - source: The store that the step before made; nil for the job's source.
  package func step(_ id: StepID, source: String? = nil) throws -> MigrationJob {
    let step = steps[id]
    let names = Set(step.mappingModels.flatMap(\.entityMappings).map(\.name))
    var job = self
    job.steps = [step]
    job.steps[0].willMigrate = nil
    job.steps[0].didMigrate = nil
    job.sourcePath = source ?? sourcePath
    if source != nil { job.merged = nil }
    job.chunkPredicates = chunkPredicates.filter { names.contains($0.key) }
    job.sourceModelOrigin = id == .first ? sourceModelOrigin : nil
    // The stores between steps are new; the last step appends.
    if isInPlace || appends && id.count < steps.count { job.existingDestination = .fail }
    job.position = StepPosition(step: id, count: steps.count, isInPlace: isInPlace)
    job.position.callsNow = callsNow
    job.firstSource = id > .first && job.position.isLast ? try namesOfSource() : nil
    return job
  }

  /// Names, kinds, expressions and order of all mappings, without comments or layout.
  package static func canonicalText(of models: [MappingModel]) -> String {
    var lines: [String] = []
    for mapping in models.flatMap(\.entityMappings) {
      lines.append(
        "mapping \(mapping.name) \(mapping.kind.rawValue) \(mapping.sourceEntityName ?? "-") \(mapping.destinationEntityName ?? "-")"
      )
      if let relationship = mapping.forEach { lines.append("for-each \(relationship)") }
      if let filter = mapping.filter { lines.append("filter \(filter)") }
      if let policy = mapping.policyName { lines.append("policy \(policy)") }
      if !mapping.uniqueBy.isEmpty {
        // Without the addition, the digest is that of a version that merged objects with nil.
        let order = mapping.uniqueOrder.map { ", \($0)" }.joined() + (mapping.fillsNil ? ", fill nil" : "")
        lines.append(
          "unique-by \(mapping.uniqueBy.joined(separator: ","))\(mapping.mergesNil ? "" : ", nil apart")\(order)")
      }
      for (key, value) in mapping.userInfo.sorted(by: { Text($0.key) < Text($1.key) }) {
        lines.append("user-info \(key) \(value)")
      }
      for (property, info) in mapping.propertyUserInfo.sorted(by: { Text($0.key) < Text($1.key) }) {
        for (key, value) in info.sorted(by: { Text($0.key) < Text($1.key) }) {
          lines.append("user-info \(property) \(key) \(value)")
        }
      }
      for attribute in mapping.attributeMappings.sorted(by: { Text($0.name) < Text($1.name) }) {
        lines.append(
          "attribute \(attribute.name) \(attribute.value)"
            + (attribute.usesDefaultForNil ? " else the default" : ""))
      }
      for relationship in mapping.relationshipMappings.sorted(by: { Text($0.name) < Text($1.name) }) {
        let order =
          relationship.order.map { ", by \($0)" }.joined() + (relationship.end.map { ", of \($0.rawValue)" } ?? "")
        switch relationship.value {
        case .mapping(let name, let path):
          lines.append("relationship \(relationship.name) mapping \(name) \(path.joined(separator: "."))\(order)")
        case .sourceRelationship(let name): lines.append("relationship \(relationship.name) source \(name)\(order)")
        case .expression(let parsed): lines.append("relationship \(relationship.name) expression \(parsed)\(order)")
        }
      }
    }
    return lines.joined(separator: "\n")
  }
}
