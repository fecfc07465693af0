import Foundation
package import GodwitJob
import GodwitModel
import GodwitStore
import GodwitXcode
package import Logging

/// The request of `godwit init`, and the search for the facts that a manifest needs.
package struct DraftRequest: Sendable {
  /// The store, as it was given.
  package var store: String
  /// A model, `PATH#Version`, or a folder with models in it.
  package var models: String
  package var destinationModel: String?
  /// The version of a store that does not say which it has.
  package var sourceModel: String?
  /// The manifest to be written; nil for standard output.
  package var file: String?
  package var policies: PolicyRegistry = [:]
  package var logger = Logger(label: "godwit") { _ in SwiftLogNoOpLogHandler() }
  let mappingFiles = MappingFiles()

  /// Plans a job: what the draft says of losses and problems comes from the plan.
  private let planning: @Sendable (MigrationJob) throws -> MigrationPlan

  package init(store: String, models: String, planning: @escaping @Sendable (MigrationJob) throws -> MigrationPlan) {
    (self.store, self.models, self.planning) = (store, models, planning)
  }

  /// The manifest for the store.
  ///
  /// Reads the store and the models, and writes nothing. The draft names problems that a run would stop with later.
  ///
  /// - Throws: 64 when several models fit the store, 65 or 66 when store or models cannot be read, 69 when no model
  ///   fits the store or no path leads to the destination, 78 when a version that is named is unknown.
  package func draft() throws -> ManifestDraft {
    try checkArguments()
    let metadata = try StoreMetadata(readingStoreAt: store)
    let reference = Self.withBundle(ModelReference(parsing: models))
    if let version = reference.version, let destinationModel, version != destinationModel {
      throw GodwitError(
        .usage, "expected one destination version, found '\(version)' after '#' and '\(destinationModel)' after --to",
        remedy: "name it once")
    }
    let target = destinationModel ?? reference.version
    let choice = try DraftModelChoice(at: reference.path, request: self, metadata: metadata, target: target)
    let versions = try ModelVersions(references: choice.paths)
    var draft = ManifestDraft(
      source: spelled(store), destination: spelled(destinationPath), models: choice.paths.map(spelled))
    if choice.isMerged {
      draft.mergeModels = try merged(choice, target: target)
      draft.parts = choice.parts.map { .init(path: spelled($0.path), version: $0.version, entities: $0.entities) }
      draft.spareParts = choice.spareParts.map(spelled)
    }
    draft.neighbours = neighbours(metadata)
    draft.file = file ?? "job.yaml"
    draft.job = file.map(JobManifest.name(ofFile:)) ?? URL(filePath: store).deletingPathExtension().lastPathComponent
    try describe(&draft, metadata: metadata, versions: versions, target: target)
    return try plan(&draft, choice: choice, versions: versions)
  }

  /// The most stores that are looked at beside the store.
  private static let neighboursMax = 20

  /// Stores of the same version beside the store, which a job might merge with it.
  private func neighbours(_ metadata: StoreMetadata) -> [String] {
    let own = URL(filePath: store)
    let folder = store.lastIndex(of: "/").map { store[...$0] } ?? ""
    guard !metadata.versionHashes.isEmpty, !own.pathExtension.isEmpty else { return [] }
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : String(folder))) ?? []
    let alike = names.filter { name in
      name != own.lastPathComponent && !name.hasPrefix(".") && URL(filePath: name).pathExtension == own.pathExtension
    }.sorted()
    return alike.prefix(Self.neighboursMax).map { folder + $0 }.filter { path in
      (try? StoreMetadata(readingStoreAt: path))?.versionHashes == metadata.versionHashes
    }.map(spelled)
  }

  /// The models that form one, each with the version that `--to` names if it has that.
  private func merged(_ choice: DraftModelChoice, target: String?) throws -> [String] {
    try choice.paths.map { path in
      let own = try ModelVersions(references: [path])
      return spelled(path) + (target.map { own.names.contains($0) ? "#\($0)" : "" } ?? "")
    }
  }

  private func checkArguments() throws {
    for path in [store, models, file ?? ""] where path.contains(where: { $0.isNewline || $0 == "\0" }) {
      throw GodwitError(.usage, "a manifest cannot hold the path '\(path)': it has a line break")
    }
    if let kind = XcodeFileKind.identify(ModelReference(parsing: store).path) {
      throw GodwitError(
        .usage, "expected a store, found a \(kind.rawValue): '\(store)'",
        remedy: "give the store first: `godwit init STORE MODELS`")
    }
    let kind = XcodeFileKind.identify(ModelReference(parsing: models).path)
    guard kind != .mappingModel, kind != .compiledMappingModel else {
      throw GodwitError(
        .usage, "expected a model or a folder, found a mapping model: '\(models)'",
        remedy: "give the .xcdatamodeld of the project, or the project's folder; mapping models are searched for")
    }
  }

  /// A version inside a bundle, as the bundle and the version: the store's own version is another one of the bundle.
  private static func withBundle(_ reference: ModelReference) -> ModelReference {
    let url = URL(filePath: reference.path)
    let parent = url.deletingLastPathComponent()
    guard reference.version == nil, ["xcdatamodel", "mom"].contains(url.pathExtension.lowercased()),
      ["xcdatamodeld", "momd"].contains(parent.pathExtension.lowercased())
    else { return reference }
    let length = reference.path.hasSuffix("/") ? 1 : 0
    let bundle = String(reference.path.dropLast(length + url.lastPathComponent.utf8.count + 1))
    return ModelReference(path: bundle, version: url.deletingPathExtension().lastPathComponent)
  }

  // MARK: Paths

  /// A free path for the new store beside the source. Leftovers of an unfinished run to it do not matter: the same job
  /// resumes.
  private var destinationPath: String {
    let url = URL(filePath: store)
    let ending = url.pathExtension.isEmpty ? "" : "." + url.pathExtension
    let stem = String(store.dropLast(ending.count))
    let paths = (1...).lazy.map { stem + "-migrated" + ($0 == 1 ? "" : "-\($0)") + ending }
    return paths.first { FileStatus(named: $0) == nil } ?? stem + "-migrated" + ending
  }

  /// A path as the manifest writes it: as it was given where it is absolute or the manifest goes to standard output,
  /// else relative to the manifest's folder, and absolute where that would lead elsewhere.
  func spelled(_ path: String) -> String {
    let folder = file.map { URL(filePath: $0).deletingLastPathComponent().standardizedFileURL.path }
    let current = URL(filePath: FileManager.default.currentDirectoryPath).standardizedFileURL.path
    guard let folder, folder != current, !path.hasPrefix("/") else { return path }
    let whole = URL(filePath: path).standardizedFileURL
    var up = folder.split(separator: "/")[...]
    var down = whole.path.split(separator: "/")[...]
    while let a = up.first, let b = down.first, a == b, down.count > 1 {
      (up, down) = (up.dropFirst(), down.dropFirst())
    }
    let relative = (up.map { _ in ".." } + down.map(String.init)).joined(separator: "/")
    // A link among the folders leads `..` elsewhere.
    return Self.isSame(folder + "/" + relative, path) ? relative : whole.path
  }

  /// Whether two paths name one file, or one that is yet to be made in the same folder.
  private static func isSame(_ a: String, _ b: String) -> Bool {
    func folder(_ path: String) -> String { URL(filePath: path).deletingLastPathComponent().path }
    // A path that cannot be looked at is written as a whole.
    func file(_ path: String) -> FileStatus.Identity? { FileStatus(following: path)?.identity }
    if let a = file(a), let b = file(b) { return a == b }
    return file(folder(a)).map { $0 == file(folder(b)) } ?? false
  }

  // MARK: Facts

  private func describe(
    _ draft: inout ManifestDraft, metadata: StoreMetadata, versions: ModelVersions, target: String?
  ) throws {
    let summary = try StoreSummary(readingStoreAt: store)
    let objects = summary.entities.filter { $0.number < 16_000 }.compactMap(\.rows).reduce(0, +)
    let bytes = summary.fileBytes > 0 ? " of \(ByteCount(bytes: summary.fileBytes))" : ""
    draft.store =
      "\(summary.type == .binary ? "A" : "An") \(summary.type.adjective) store\(bytes) with \(objects) object\(objects == 1 ? "" : "s")."
    draft.doubt = try MissingLog.line(ofStoreAt: store)
    draft.storeType = summary.type
    draft.isMirrored = !summary.cloudKitTables.isEmpty
    draft.versions = versions.namesOldestFirst()
    if let sourceModel, !metadata.versionHashes.isEmpty {
      throw GodwitError(
        .usage, "cannot use version '\(sourceModel)' for the store '\(store)': the store says which version it has",
        remedy: "leave --from out")
    }
    if !draft.mergeModels.isEmpty {
      if let target { try Self.check(target, "lead to", option: "--to", among: draft.versions) }
      return
    }
    if let target {
      try Self.check(target, "lead to", option: "--to", among: draft.versions)
      draft.destinationModel = target
      draft.namesDestination = (try? versions.currentModel())?.name != target
    } else {
      do { draft.destinationModel = try versions.currentModel().name } catch let error as GodwitError {
        throw ModelVersions.telling(option: "--to VERSION", error)
      }
    }
    try describeSource(&draft, metadata: metadata, versions: versions)
  }

  private static func check(_ name: String, _ use: String, option: String, among versions: [String]) throws {
    guard !versions.contains(name) else { return }
    throw GodwitError(
      .configuration,
      "cannot \(use) '\(name)': no model has this name" + Spelling.suggestion(for: name, among: versions),
      cause: "the versions are " + versions.map { "'\($0)'" }.joined(separator: ", "),
      remedy:
        "correct \(option); for a version of another bundle, give the folder that has both, or list both under `models` in a manifest and name the version with `destination-model`"
    )
  }

  private func describeSource(_ draft: inout ManifestDraft, metadata: StoreMetadata, versions: ModelVersions) throws {
    if let sourceModel {
      try Self.check(sourceModel, "start from", option: "--from", among: draft.versions)
      draft.assumedModel = sourceModel
      return
    }
    guard !metadata.versionHashes.isEmpty else {
      throw GodwitError(
        .noPath, "no model fits the store '\(store)': the store does not say which version it has",
        cause: "the versions are " + draft.versions.map { "'\($0)'" }.joined(separator: ", "),
        remedy: "name the version, if you know it: `godwit init STORE MODELS --from VERSION`")
    }
    do { _ = try versions.model(fitting: metadata, path: store) } catch let error as GodwitError
      where error.code == .noPath
    {
      draft.configuration = versions.configuration(fitting: metadata.entityVersionHashes)?.configuration
    }
  }

  // MARK: The plan

  private func plan(
    _ draft: inout ManifestDraft, choice: DraftModelChoice, versions: ModelVersions
  ) throws -> ManifestDraft {
    let models = versions.readable(named: draft.versions)
    draft.mappingSearch = try choice.mappingFolders(in: loader(draft), models: models, request: self)
    let served = try loader(draft).finder.servedVersions(among: models)
    let order =
      try olderFirst(choice)
      ?? VersionOrder.order(
        draft.versions, current: (try? versions.currentModel())?.name, served: served.flatMap(\.pairs))
    var job: MigrationJob
    do {
      var ordered = draft
      if order != VersionOrder.natural(order) { ordered.versionOrder = order }
      job = try loader(ordered).job()
      draft = ordered
    } catch {
      // An order that was guessed keeps nobody from a path.
      do { job = try loader(draft).job() } catch { throw told(error, choice, reachable: reachable(draft)) }
    }
    let better = try loader(draft).betterSteps(job.steps, among: versions, order: order).filter { !$0.lost.isEmpty }
    if !better.isEmpty {
      var staged = draft
      staged.stages = better.flatMap { step in
        let reason =
          "'\(step.source)' to '\(step.destination)' at once would lose what these versions keep: \(JobLoader.BetterStep.list(step.lost))."
        return step.versions.map { (step: $0, reason: reason) }
      }
      if let through = try? loader(staged).job() { (job, draft) = (through, staged) }
    }
    if let looking = try? loader(draft, looksElsewhere: true).job() { job.mappingSearch = looking.mappingSearch }
    tell(job, served: served, in: &draft)
    try name(mappingsOf: job, served: served, in: &draft)
    return draft
  }

  /// The versions of a bundle, and then those of the bundle that took its place; nil for a single bundle.
  private func olderFirst(_ choice: DraftModelChoice) throws -> [String]? {
    guard choice.paths.count > 1, !choice.isMerged else { return nil }
    return try choice.paths.flatMap { try ModelVersions(references: [$0]).namesOldestFirst() }.withoutRepeats()
  }

  /// Names the folders of the mapping models that the job uses, so that the manifest takes the same ones everywhere,
  /// whatever lies above the models there.
  private func name(
    mappingsOf job: MigrationJob, served: [MappingFinder.ServedVersions], in draft: inout ManifestDraft
  ) throws {
    guard draft.mappingSearch.isEmpty, let model = draft.models.first else { return }
    let used = job.steps.flatMap { ($0.origin ?? "").components(separatedBy: ", ") }
    var named = draft
    func folder(of path: String) -> String { URL(filePath: path).standardizedFileURL.path.parentPath }
    // Each search looks beside the models.
    let beside = draft.models.map { folder(of: ModelReference(parsing: $0).path) }
    for mapping in served where used.contains(mapping.origin) && !beside.contains(folder(of: mapping.path)) {
      let folder = Self.spelled(URL(filePath: mapping.path).deletingLastPathComponent().path, from: model, in: file)
      if !named.mappingSearch.contains(folder) { named.mappingSearch.append(folder) }
    }
    // A key that would find another path is not written.
    guard let other = try? loader(named).job(), other.mappingModels == job.mappingModels else { return }
    draft = named
  }

  /// A folder as the manifest writes it: from where the models are, in the way in which these are written.
  static func spelled(_ folder: String, from model: String, in file: String?) -> String {
    guard !model.hasPrefix("/") else { return folder }
    let base =
      file.map { URL(filePath: $0).deletingLastPathComponent().path } ?? FileManager.default.currentDirectoryPath
    let models = MappingSearch.folder(ofModel: base + "/" + model)
    var up = models.split(separator: "/")[...]
    var down = folder.split(separator: "/")[...]
    while let a = up.first, let b = down.first, a == b { (up, down) = (up.dropFirst(), down.dropFirst()) }
    var parts = model.split(separator: "/").dropLast().map(String.init).filter { $0 != "." }
    for _ in up {
      if let last = parts.last, last != ".." { parts.removeLast() } else { parts.append("..") }
    }
    parts += down.map(String.init)
    return parts.isEmpty ? "." : parts.joined(separator: "/")
  }

  /// The newest version that a path does lead to, where none leads to the one that is wanted; nil without one.
  private func reachable(_ draft: ManifestDraft) -> String? {
    guard destinationModel == nil else { return nil }
    var other = draft
    other.namesDestination = true
    for version in VersionOrder.natural(draft.versions).reversed().prefix(12) where version != draft.destinationModel {
      other.destinationModel = version
      guard let job = try? loader(other).job() else { continue }
      return job.sourceModel.name == version ? nil : version
    }
    return nil
  }

  /// The job that the text of the draft describes, so that messages about it are true of that text.
  private func loader(_ draft: ManifestDraft, looksElsewhere: Bool = false) throws -> JobLoader {
    let folder = file.flatMap { file in file.lastIndex(of: "/").map { String(file[...$0]) } } ?? ""
    let manifest = try JobManifest(text: draft.text, path: folder + "job.yaml")
    var loader = JobLoader(manifest: manifest, logger: logger, policies: policies)
    // `init` searches all of a project's folder where it is given, and says so.
    loader.looksElsewhere = looksElsewhere
    loader.mappingFiles = mappingFiles
    return loader
  }

  private func tell(_ job: MigrationJob, served: [MappingFinder.ServedVersions], in draft: inout ManifestDraft) {
    let job = job.namingInferredSteps().fusingSteps()
    draft.sourceModel = job.sourceModel.name
    if !draft.mergeModels.isEmpty { draft.destinationModel = job.destinationModel.name }
    draft.sourceModelOrigin =
      draft.assumedModel != nil
      ? "you named it"
      : job.sourceModelOrigin.map { "taken \($0)" } ?? "the store's version hashes are those of this version"
    draft.inputNotes = job.inputNotes
    draft.steps = job.steps.map { step in
      let through = step.passedVersions.isEmpty ? "" : ", through \(step.passedVersions.count) versions in one step"
      return .init(
        source: step.sourceModel.name, destination: step.destinationModel.name,
        way: (step.origin ?? "") + through, isInferred: step.isInferred)
    }
    draft.isCurrent =
      draft.steps.allSatisfy(\.isInferred) && job.sourceModel.isCompatible(with: job.destinationModel.versionHashes)
    let used = job.steps.flatMap { ($0.origin ?? "").components(separatedBy: ", ") }
    draft.unusedMappings = served.filter { !used.contains($0.origin) }.map { mapping in
      let pairs = mapping.pairs.prefix(3).map { "'\($0.source)' to '\($0.destination)'" }.joined(separator: ", ")
      let unused = mapping.problem.map { "cannot be read: \($0.message)" } ?? "for no two of these versions"
      return "\(mapping.origin): " + (pairs.isEmpty ? unused : pairs)
    }
    for use in job.policyUses where !use.isRegistered {
      if let index = draft.policies.firstIndex(where: { $0.name == use.policy }) {
        // Two steps may have mappings of one name.
        guard !draft.policies[index].mappings.contains(use.mapping) else { continue }
        draft.policies[index].mappings.append(use.mapping)
      } else {
        draft.policies.append(.init(name: use.policy, mappings: [use.mapping]))
      }
    }
    do {
      let plan = try planning(job)
      for loss in plan.losses.losses {
        if loss.kind == .linksToNothing { draft.notes.append(draft.text(of: loss)) } else { draft.losses.append(loss) }
      }
    } catch {
      let error = job.tellingHints(error)
      let known = error as? GodwitError
      draft.problem = known?.message ?? "\(error)"
      (draft.problemCode, draft.remedy) = (known?.code ?? .internalBug, known?.remedy)
    }
  }

  /// An error about the manifest as one about the command: nobody has the manifest yet.
  private func told(_ error: any Error, _ choice: DraftModelChoice, reachable: String?) -> any Error {
    guard var error = error as? GodwitError else { return error }
    if error.location.map({ $0.file.hasSuffix("job.yaml") }) == true { error.location = nil }
    guard error.code == .noPath else { return error }
    if error.topic == .storedModel {
      error.remedy =
        "restore the version of the store in the bundle; or add the model inside the store to a copy of the bundle, `godwit model extract STORE -o COPY.xcdatamodeld/NAME.xcdatamodel`, with a NAME that sorts into its place, and give that"
      return error
    }
    if let reachable {
      error.cause = (error.cause.map { $0 + "\n" } ?? "") + "a path leads to '\(reachable)': add `--to '\(reachable)'`"
    }
    if error.topic == .unknownStoreVersion {
      error.remedy =
        choice.isOfFolder
        ? "give the folder of the project that wrote the store"
        : "give the bundle that has the version the store was written with, or the folder of the project, which is searched: `godwit init STORE FOLDER`. It also finds models that the application merges (`merge-models`)"
    } else if !choice.isOfFolder {
      error.remedy =
        (error.remedy.map { $0 + "; " } ?? "")
        + "mapping models elsewhere are found when you give the project's folder: `godwit init STORE FOLDER`"
    }
    return error
  }
}
