public import Foundation
public import GodwitJob
package import GodwitModel
import GodwitStore
import GodwitXcode
public import Logging

/// Turns a manifest into a job: finds the models, reads the mappings, and refuses what this version does not support.
///
/// ```swift
/// import GodwitManifest
///
/// let loader = try JobLoader(contentsOf: URL(filePath: "job.yaml"))
/// try MigrationManager(try loader.job()).run { print($0.percent) }
/// let proof = try Verifier(job: try loader.job(for: .verification)).run()
/// precondition(proof.isClean)
/// ```
public struct JobLoader {
  package internal(set) var manifest: JobManifest
  var logger: Logger
  package let policies: PolicyRegistry
  /// Where the output of hooks goes.
  var hookOutput: @Sendable (String) -> Void
  /// The inputs that the jobs of many stores share; nil for a single job.
  var inputs: SharedInputs?
  /// The mapping models around the models, which the loader and its copies read once.
  package var mappingFiles = MappingFiles()
  /// Whether an error about a missing path says where else mapping models are.
  var looksElsewhere = true

  /// Reads the manifest, and nothing that it names.
  ///
  /// - Parameters:
  ///   - url: The YAML file. The paths in it are relative to its folder.
  ///   - overrides: Keys that replace those of the manifest, as `--set` does.
  ///   - policies: The policies that the job's mappings name.
  ///   - logger: Gets messages of level `debug` about the models and mappings that were chosen.
  ///   - hookOutput: Called with what the commands of `stages` print, in whole lines. By default it is written to
  ///     standard error.
  /// - Throws: `.missingInput` (66) without the file, `.configuration` (78) with line and column when it is wrong.
  public init(
    contentsOf url: URL, overrides: [ManifestOverride] = [], policies: PolicyRegistry = [:],
    logger: Logger = Logger(label: "godwit"), hookOutput: (@Sendable (String) -> Void)? = nil
  ) throws {
    let path = url.filePath
    try self.init(
      manifestPath: path == "-" ? "./-" : path, overrides: overrides, logger: logger, policies: policies,
      hookOutput: hookOutput ?? { FileHandle.standardError.write(Data($0.utf8)) })
  }

  /// Reads the manifest only.
  ///
  /// - Parameter manifestPath: `-` reads standard input.
  package init(
    manifestPath: String, overrides: [ManifestOverride] = [], logger: Logger, policies: PolicyRegistry = [:],
    hookOutput: @escaping @Sendable (String) -> Void = { FileHandle.standardError.write(Data($0.utf8)) }
  ) throws {
    manifest =
      try manifestPath == "-"
      ? JobManifest(standardInputWith: overrides) : JobManifest(contentsOf: manifestPath, overrides: overrides)
    self.hookOutput = hookOutput
    self.policies = policies
    self.logger = logger
  }

  /// For a manifest that no file holds.
  package init(manifest: JobManifest, logger: Logger, policies: PolicyRegistry) {
    (self.manifest, self.logger, self.policies) = (manifest, logger, policies)
    hookOutput = { FileHandle.standardError.write(Data($0.utf8)) }
  }

  /// The purpose that a job is loaded for.
  public enum Purpose: Sendable {
    /// To plan or to run it.
    case migration
    /// To prove what it made. The source of a job that ran in place is the old store.
    case verification
  }

  /// Loads the job: reads everything that the manifest names, and checks it as far as possible without reading rows.
  ///
  /// - Throws: `.noPath` (69) when no model fits the store or no path leads to the destination model, `.missingInput`
  ///   (66) and `.configuration` (78) for what the manifest names, `.dataWrong` (65) for a damaged store.
  public func job(for purpose: Purpose = .migration) throws -> MigrationJob {
    do {
      try refuseManyStores()
      guard inputs == nil else {
        var job = try read(for: purpose)
        try readOtherWays(into: &job)
        return job
      }
      // A single job reads each input once too, and reports a fault in its models before one in its store.
      var loader = self
      loader.inputs = SharedInputs()
      return try loader.read(for: purpose, among: loader.modelVersions())
    } catch let error as GodwitError { throw tellingFolder(error) }
  }

  private func read(for purpose: Purpose, among versions: ModelVersions? = nil) throws -> MigrationJob {
    let path = try sourcePath(for: purpose)
    let metadata = try StoreMetadata(readingStoreAt: path)
    let known = inputs?.ways[metadata.versionHashes].map(ownHooks)
    let way = try known ?? self.way(of: metadata, path: path, among: versions ?? modelVersions())
    // One from the store's own cache is that store's.
    if known == nil, way.origin == nil { inputs?.ways[metadata.versionHashes] = way }
    var job = MigrationJob(
      name: manifest.job, sourcePath: path, destinationPath: destination(), first: way.steps[0],
      later: Array(way.steps.dropFirst()), chunkRows: manifest.chunks.rows,
      chunkPredicates: try chunkPredicates(of: way.steps.flatMap(\.mappingModels)), memory: manifest.memory)
    try readMerge(into: &job, metadata: metadata)
    job.sourceModelOrigin = way.origin
    job.earlierName = manifest.earlierName
    job.mappingSearch = way.search
    job.layoutStore = way.layout
    try readLayout(into: &job)
    job.policies = policies
    job.unregisteredPolicies = manifest.unregisteredPolicies
    job.onLoss = manifest.onLoss
    job.acceptedLosses = acceptedLosses
    job.dropsMirroring = manifest.cloudkit == .drop
    job.sourceCheck = manifest.checkSource
    // The store that was replaced is compared like any other source.
    if !isInPlace || purpose == .migration { job.existingDestination = manifest.destination.existing }
    job.destinationType =
      switch manifest.destinationType {
      case .sqlite: .sqlite
      case .xml: .xml
      case .binary: .binary
      }
    // A store that is replaced stays of its type.
    if isInPlace { job.destinationType = try StoreFiles(path: path).type }
    job.receipt = receiptPlace
    job.quarantine = quarantine
    job.keepsInvalid = manifest.onInvalid == .keep
    if known == nil { logFusing(of: job) }
    return job
  }

  /// The store that the job makes, which for a job in place is its source.
  package func destination() -> String {
    // Not a link to the store, because the job would replace the link.
    manifest.destination.path?.resolved ?? StoreFiles.resolvingLink(manifest.source.resolved)
  }

  /// Whether the source itself is replaced.
  package var isInPlace: Bool { manifest.isInPlace }

  /// The models of a store's job, and the steps between them.
  private func way(of metadata: StoreMetadata, path: String, among versions: ModelVersions) throws -> JobWay {
    var versions = versions
    let listed = try inputs?.listed(listedMappings) ?? listedMappings()
    let ends = try ends(of: metadata, path: path, among: &versions, listed)
    let (source, target, origin) = (ends.source, ends.destination, ends.origin)
    let (steps, search) = try steps(listed, from: source, to: target, among: versions)
    if let origin {
      let isInside = origin == Self.ownCacheOrigin
      try refuseDoubtfulModel(source, isInside: isInside, leadingTo: target, by: steps, among: versions)
    }
    return JobWay(
      source: source, destination: target, origin: origin, steps: steps, search: search,
      layout: try layoutStore(for: target))
  }

  private struct Ends {
    var source, destination: ManagedObjectModel
    /// Where the source's model is from, unless the manifest lists it.
    var origin: String?
  }

  /// The models of the store and of the destination.
  private func ends(
    of metadata: StoreMetadata, path: String, among versions: inout ModelVersions, _ listed: [ListedMapping]
  ) throws -> Ends {
    logger.debug("model versions found", metadata: ["versions": "\(versions.names.joined(separator: ", "))"])
    let merged = manifest.mergeModels.isEmpty ? nil : try MergedModels(manifest.mergeModels)
    if let model = try merged?.model(fitting: metadata.entityVersionHashes) { versions.prefer(model, from: model.name) }
    if let configuration = manifest.configuration { versions.restrict(toConfiguration: configuration) }
    let target = try destinationModel(among: versions, merged: merged)
    let (source, origin) = try sourceModel(
      among: versions, metadata: metadata, path: path,
      nameWanted: listed.lazy.compactMap(\.sourceModelName).first)
    logger.debug("models chosen", metadata: ["source": "\(source.name)", "destination": "\(target.name)"])
    for (role, model) in [("source", source), ("destination", target)] {
      logger.debug("version hashes of the \(role) model", metadata: Self.hashes(model.versionHashes, of: model.name))
    }
    return Ends(source: source, destination: target, origin: origin)
  }

  /// The models that the job leads between, also where no path does.
  package func endModels() throws -> (source: ManagedObjectModel, destination: ManagedObjectModel) {
    let path = try sourcePath(for: .migration)
    var versions = try modelVersions()
    let found = try ends(of: StoreMetadata(readingStoreAt: path), path: path, among: &versions, [])
    return (found.source, found.destination)
  }

  /// A store that is replaced is the application's again at once, and a change of definitions takes no time that depends
  /// on its rows. A job that appends would read what all jobs before it wrote. These have a receipt where they name one.
  private var receiptPlace: MigrationJob.ReceiptPlace? {
    switch manifest.receipt {
    case .none: nil
    case .file(let path?): .file(URL(filePath: path.resolved))
    case .file(nil): isInPlace || manifest.destination.existing == .append ? nil : .besideDestination
    }
  }

  private var quarantine: Quarantine? {
    guard case .quarantine(let rows, let percent) = manifest.onInvalid else { return nil }
    var quarantine = Quarantine(maximumRows: rows.map { Int64($0) }, maximumPercent: percent)
    quarantine.location = manifest.locations["on-invalid"]
    return quarantine
  }

  /// Says which inferred steps are one, and why others are not.
  private func logFusing(of job: MigrationJob) {
    for step in job.namingInferredSteps().fusingSteps().steps {
      if let reason = step.reasonApart {
        logger.debug("the step to '\(step.destinationModel.name)' is not fused with the one before: \(reason)")
      }
      guard !step.passedVersions.isEmpty else { continue }
      let passed = step.passedVersions.map { "'\($0)'" }.joined(separator: ", ")
      logger.debug("'\(step.sourceModel.name)' to '\(step.destinationModel.name)' in one step, through \(passed)")
    }
  }

  /// The store that the job reads.
  private func sourcePath(for purpose: Purpose) throws -> String {
    let path = isInPlace ? StoreFiles.resolvingLink(manifest.source.resolved) : manifest.source.resolved
    guard purpose == .verification, case .inPlace(let keepsOld) = manifest.destination.existing else { return path }
    let old = MigrationJob.oldPath(of: path)
    guard FileManager.default.fileExists(atPath: old) else {
      throw GodwitError(
        .missingInput, "cannot verify '\(path)': the store it was made from does not exist as '\(old)'",
        remedy: keepsOld
          ? "run the job with `godwit run` first" : "a job with `keep-old: false` leaves nothing to compare with")
    }
    return old
  }

  // MARK: Models

  /// - Parameter nameWanted: what the mappings call the source model; one that carries no name gets it.
  private func sourceModel(
    among versions: ModelVersions, metadata: StoreMetadata, path: String, nameWanted: String?
  ) throws -> (ManagedObjectModel, origin: String?) {
    let hasHashes = !metadata.versionHashes.isEmpty
    if let assumed = manifest.assumeSourceModel {
      guard !hasHashes else {
        throw GodwitError(
          .configuration,
          "cannot assume the source model '\(assumed.value)': the store '\(path)' identifies its model",
          location: assumed.location, remedy: "remove 'assume-source-model'")
      }
      return (try versions.model(named: assumed, key: "assume-source-model"), nil)
    }
    guard hasHashes else {
      throw GodwitError(
        .noPath, "no model fits the store '\(path)': it does not identify its model",
        remedy: "name the model version with 'assume-source-model'")
    }
    do {
      return (try versions.model(fitting: metadata, path: path), nil)
    } catch var error as GodwitError where error.code == .noPath {
      let problem: String?
      // The last resort, and an old one: what the application ships with wins where it fits.
      switch try StoredModel(inStoreAt: path, metadata: metadata, name: nameWanted) {
      case .fits(let cached):
        logger.debug("source model taken from the store", metadata: ["omissions": "\(cached.omissions.count)"])
        var model = cached.model
        model.remarks = cached.omissions.map { ModelRemark($0) }
        return (model, Self.ownCacheOrigin)
      case .inReceipt(let model, let receipt):
        logger.debug("source model taken from the receipt of the store", metadata: ["receipt": "\(receipt)"])
        return (model, "from the receipt '\(receipt)'")
      case .missing(let receiptProblem): problem = receiptProblem
      case .differs, .unreadable: problem = "the model in the store's own cache does not fit either"
      }
      if let problem { error.cause = [error.cause, problem].compactMap(\.self).joined(separator: "\n") }
      // The model of the store may be one that this user may not read.
      guard var denied = versions.models.compactMap(\.problem).first(where: { $0.code == .permission }) else {
        throw error
      }
      denied.cause = "no other model fits the store '\(path)'".onOneLine
      throw denied
    }
  }

  func destinationModel(among versions: ModelVersions, merged: MergedModels?) throws -> ManagedObjectModel {
    let whole = try merged?.destination()
    var model: ManagedObjectModel
    switch (manifest.destinationModel, whole) {
    case (let name?, let whole?) where name.value == whole.name: model = whole
    case (let name?, _): model = try versions.model(named: name, key: "destination-model")
    case (nil, let whole?): model = whole
    case (nil, nil): model = try versions.currentModel()
    }
    guard let configuration = manifest.configuration else { return model }
    do { model = try model.restricted(toConfiguration: configuration) } catch var error as GodwitError {
      error.location = manifest.locations["configuration"]
      throw error
    }
    return model
  }

  // MARK: Mappings

  func listedMappings() throws -> [ListedMapping] {
    guard case .files(let paths) = manifest.mappings else { return [] }
    return try paths.map { path in
      logger.debug("mapping read", metadata: ["file": "\(path.resolved)"])
      let mapping = try ListedMapping(path.resolved, named: path.raw, location: path.location)
      logModels(of: mapping, at: path.resolved)
      return mapping
    }
  }

  /// The steps by the key `mappings`: those listed, what can be inferred, or the path that leads there.
  func steps(
    _ listed: [ListedMapping], from source: ManagedObjectModel, to destination: ManagedObjectModel,
    among versions: ModelVersions
  ) throws -> (steps: [MigrationStep], search: MappingSearchRecord) {
    var step: MigrationStep
    switch manifest.mappings {
    case .files:
      let models = try listed.map { mapping in
        let model = try mapping.model(from: source, to: destination)
        let named = [model.sourceModelName, model.destinationModelName]
        let others = versions.models.lazy.filter { named.contains($0.name) }.compactMap(\.readable)
        return model.naming(source, destination, among: others)
      }
      step = MigrationStep(sourceModel: source, destinationModel: destination, mappingModels: models)
    case .inferred:
      let inferred = try locating(manifest.locations["mappings"]) {
        try MappingModel(inferredFrom: source, to: destination)
      }
      step = MigrationStep(
        sourceModel: source, destinationModel: destination, mappingModels: [inferred],
        origin: MigrationStep.inferredOrigin)
    case .auto, .modelsOnly: return try path(from: source, to: destination, among: versions)
    }
    for stage in try stages(among: versions.names) {
      guard stage.destinationModelName == destination.name else {
        throw GodwitError(
          .configuration,
          "stages names '\(stage.destinationModelName)', but the one step leads to '\(destination.name)'",
          location: stage.location, remedy: "write `mappings: auto`, which goes through every stage")
      }
      (step.willMigrate, step.didMigrate) = (stage.willMigrate, stage.didMigrate)
    }
    return ([step], MappingSearchRecord())
  }

  private func chunkPredicates(of mappings: [MappingModel]) throws -> [String: [FilterPredicate]] {
    let known = mappings.flatMap(\.entityMappings).map(\.name)
    var all: [String: [FilterPredicate]] = [:]
    for (name, texts) in manifest.chunks.by.sorted(by: { $0.key < $1.key }) {
      guard known.contains(name) else {
        throw GodwitError(
          .configuration,
          "chunks.by names the unknown mapping '\(name)'" + Spelling.suggestion(for: name, among: known),
          location: manifest.chunks.locations[name], remedy: "correct the name, or remove it from 'chunks.by'")
      }
      all[name] = try texts.reduce(into: []) { parsed, text in
        parsed.append(try chunkPredicate(text, after: parsed, of: texts.count, mapping: name))
      }
    }
    return all
  }

  private func chunkPredicate(
    _ text: SourceText, after earlier: [FilterPredicate], of count: Int, mapping name: String
  ) throws -> FilterPredicate {
    if text.text == FilterPredicate.restWord {
      guard earlier.count == count - 1 else {
        throw GodwitError(
          .configuration,
          "expected 'rest' as the last predicate of mapping '\(name)' under chunks.by, found more after it",
          location: text.location, remedy: "move it to the end: it takes the rows that no predicate before it takes")
      }
      return FilterPredicate(.rest(after: earlier), source: text)
    }
    do throws(ExpressionError) {
      return try FilterPredicate(parsing: text)
    } catch { throw GodwitError(error, in: text, what: "chunks.by of mapping '\(name)'") }
  }
}
