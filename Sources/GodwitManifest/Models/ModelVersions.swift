package import GodwitModel
package import GodwitStore
import GodwitXcode

/// All model versions in a list of models. Each is read when it is needed.
///
/// A version that cannot be read matters only to jobs that need it. If no version fits, the message names it.
package struct ModelVersions {
  /// A version of a bundle, read once.
  final class Candidate {
    let name: String
    let bundle: String
    /// The hashes that a `VersionInfo.plist` publishes for it.
    let publishedHashes: [String: VersionHash]?
    private let read: () throws -> ManagedObjectModel
    private var result: Result<ManagedObjectModel, any Error>?
    private var configuration: String?

    init(
      name: String, bundle: String, publishedHashes: [String: VersionHash]? = nil,
      read: @escaping () throws -> ManagedObjectModel
    ) {
      self.name = name
      self.bundle = bundle
      self.publishedHashes = publishedHashes
      self.read = read
    }

    func model() throws -> ManagedObjectModel {
      if let result { return try result.get() }
      let made = Result { restricted(try read()) }
      result = made
      return try made.get()
    }

    /// Nil where it cannot be read.
    var readable: ManagedObjectModel? { try? model() }

    /// Why it cannot be read, once that was tried.
    var problem: GodwitError? {
      if case .failure(let error)? = result { error as? GodwitError } else { nil }
    }

    fileprivate func restrict(to configuration: String) {
      self.configuration = configuration
      if case .success(let model)? = result { result = .success(restricted(model)) }
    }

    fileprivate func replace(by model: ManagedObjectModel) { result = .success(model) }

    /// A bad configuration matters only in the model that is used: the destination is restricted again.
    private func restricted(_ model: ManagedObjectModel) -> ManagedObjectModel {
      guard let configuration, model.configurations[configuration] != nil else { return model }
      return (try? model.restricted(toConfiguration: configuration)) ?? model
    }
  }

  /// The version that a listed model would be by itself.
  private enum Current {
    case version(Candidate)
    /// The bundle names none.
    case none
    /// The version that it names does not exist or cannot be read.
    case problem(any Error)
  }

  private(set) var models: [Candidate] = []
  private var currents: [Current] = []
  /// The current versions of bundles that are listed as a whole.
  private var newest: [Candidate] = []

  /// Lists all versions of each bundle, and only `Version` of `PATH#Version`.
  package init(_ paths: [ManifestPath]) throws { try self.init(references: paths.map(\.resolved)) }

  /// - Parameter references: Models, and files whose published hashes win over computed ones.
  package init(references: [String]) throws {
    let isHashFile = PublishedVersionHashes.isFile(at:)
    for text in references where !isHashFile(text) {
      let reference = ModelReference(parsing: text)
      let bundle = try ModelBundle(contentsOf: reference.path)
      // A version that is given by name and does not exist is an error at once.
      if let version = reference.version, !bundle.versions.contains(version) { _ = try bundle.model(named: version) }
      let listed = (reference.version.map { [$0] } ?? bundle.versions).map { version in
        Candidate(name: version, bundle: bundle.path, publishedHashes: bundle.publishedVersionHashes(of: version)) {
          try bundle.model(named: version)
        }
      }
      models += listed
      currents.append(Self.current(of: bundle, version: reference.version ?? bundle.currentVersion, among: listed))
      if reference.version == nil { newest += listed.filter { $0.name == bundle.currentVersion } }
    }
    let hashFiles = references.filter(isHashFile)
    guard !hashFiles.isEmpty else { return }
    // Which version a set of hashes belongs to shows in the models themselves.
    let readable = models.filter { $0.readable != nil }
    for path in hashFiles {
      let published = try PublishedVersionHashes(contentsOf: path)
      for (candidate, model) in zip(readable, try published.adopted(by: readable.compactMap(\.readable))) {
        candidate.replace(by: model)
      }
    }
  }

  private static func current(of bundle: ModelBundle, version: String?, among listed: [Candidate]) -> Current {
    if let found = listed.first(where: { $0.name == version }) { return .version(found) }
    do {
      _ = try bundle.currentModel()
      return .none
    } catch {
      return version == nil && !bundle.isCurrentVersionDamaged ? .none : .problem(error)
    }
  }

  /// Adds the model that several form, before the models that it was made of.
  mutating func prefer(_ model: ManagedObjectModel, from bundle: String) {
    models.insert(Candidate(name: model.name, bundle: bundle) { model }, at: 0)
  }

  /// The names of all versions, each once, oldest first, for a way to a version; to the current one when none is named.
  package func namesOldestFirst(leadingTo destination: String? = nil) -> [String] {
    oldestFirst(leadingTo: destination).map(\.name).withoutRepeats()
  }

  /// All versions, oldest first: by the natural order of their names, the current version of a bundle after its others.
  ///
  /// Names alone do not show it: `Store 5` may be older than `App v2`. The current version is the newest. On a way to
  /// another version the current one is not the end, and has the place of its name.
  func oldestFirst(leadingTo destination: String? = nil) -> [Candidate] {
    var ordered = models.indices.sorted { a, b in
      ModelBundle.precedes(models[a].name, models[b].name) || models[a].name == models[b].name && a < b
    }.map { models[$0] }
    for current in newest where destination == nil || current.name == destination {
      guard let from = ordered.firstIndex(where: { $0 === current }),
        let last = ordered.lastIndex(where: { $0.bundle == current.bundle }), from < last
      else { continue }
      ordered.insert(ordered.remove(at: from), at: last)
    }
    return ordered
  }

  /// - Parameter configuration: Only the entities of this configuration are taken from each version.
  /// - Throws: 78 when no version that can be read has it.
  package init(references: [String], configuration: String?) throws {
    try self.init(references: references)
    guard let configuration else { return }
    let readable = models.compactMap(\.readable)
    if let last = readable.last, !readable.contains(where: { $0.configurations[configuration] != nil }) {
      _ = try last.restricted(toConfiguration: configuration)
    }
    restrict(toConfiguration: configuration)
  }

  /// Restricts every version that has this configuration to its entities.
  mutating func restrict(toConfiguration configuration: String) {
    for candidate in models { candidate.restrict(to: configuration) }
  }

  // MARK: By name

  var names: [String] { models.map(\.name) }

  /// The versions of these names that can be read, in the order of the names.
  func readable(named names: some Sequence<String>) -> [ManagedObjectModel] {
    names.flatMap { name in models.filter { $0.name == name }.compactMap(\.readable) }
  }

  /// - Throws: 78 when the name is unknown, or belongs to several models that differ; what reading it throws.
  func model(named name: Located<String>, key: String) throws -> ManagedObjectModel {
    let named = models.filter { $0.name == name.value }
    guard !named.isEmpty else {
      throw GodwitError(
        .configuration,
        "cannot use \(key) '\(name.value)': no model has this name"
          + Spelling.suggestion(for: name.value, among: names),
        location: name.location, cause: "the models are " + names.map { "'\($0)'" }.joined(separator: ", "),
        remedy: "correct '\(key)', or list the model under 'models'")
    }
    // The source of a version, say, where its compiled form cannot be read.
    let found = named.filter { $0.readable != nil }
    guard let first = found.first else { return try named[0].model() }
    let model = try first.model()
    let plain = model.withoutPublishedHashes
    if let other = found.first(where: { $0.readable?.withoutPublishedHashes != plain }) {
      throw GodwitError(
        .configuration,
        "cannot use \(key) '\(name.value)': '\(first.bundle)' and '\(other.bundle)' both have a version of this name",
        location: name.location, remedy: "list one of them as 'PATH#\(name.value)'")
    }
    // The same version as source and compiled: the hashes of Apple's compiler take precedence.
    return found.lazy.compactMap(\.readable).first { !$0.publishedVersionHashes.isEmpty } ?? model
  }

  /// The destination when none is named: the current version of the one model listed.
  func currentModel() throws -> ManagedObjectModel {
    guard currents.count == 1, let only = currents.first else {
      throw GodwitError(
        .configuration, "cannot tell the destination model: \(currents.count) models are listed",
        remedy: "name it with 'destination-model'")
    }
    switch only {
    case .version(let candidate): return try candidate.model()
    case .problem(var error as GodwitError) where error.topic == .currentVersion:
      if error.code == .missingInput { error.remedy = "set the current version in Xcode, or \(Self.choice)" }
      throw error
    case .problem(let error): throw error
    case .none:
      throw GodwitError(
        .configuration, "cannot tell the destination model: the model names no current version",
        cause: "its versions are " + names.map { "'\($0)'" }.joined(separator: ", "),
        remedy: "set the current version in Xcode, or \(Self.choice)"
      ).about(.currentVersion)
    }
  }

  /// The way to choose the destination in a manifest.
  private static let choice = "name it with 'destination-model'"

  /// The error of a verb that has an option in place of the key.
  package static func telling(option: String, _ error: GodwitError) -> GodwitError {
    guard error.topic == .currentVersion else { return error }
    var error = error
    error.remedy = error.remedy?.replacing(choice, with: "name it with `\(option)`")
    return error
  }

  // MARK: By version hashes

  /// The first model whose hashes are the store's. Reads no more versions than it takes to find it.
  ///
  /// - Parameters:
  ///   - isJob: Whether the models come from a manifest, or from an option of the command.
  ///   - takesConfigurations: Whether a configuration of a version will do, for verbs that only read the store.
  /// - Throws: 69 naming the nearest model and the first entity that differs, and each version that cannot be read.
  package func model(
    fitting metadata: StoreMetadata, path: String, isJob: Bool = true, takesConfigurations: Bool = false
  ) throws -> ManagedObjectModel {
    let hashes = metadata.entityVersionHashes
    if hashes.count == metadata.versionHashes.count {
      // A version whose published hashes are the store's needs no search.
      let published = models.filter { $0.publishedHashes == hashes }
      for candidate in published + models {
        if let model = candidate.readable, model.isCompatible(with: hashes) { return model }
      }
    }
    let configured = fittingConfiguration(hashes)
    if takesConfigurations, let configured { return configured.model }
    let unreadable = models.filter { $0.readable == nil }.compactMap(\.problem)
    if let problem = unreadable.first, unreadable.count == models.count, models.count == 1 { throw problem }
    let passedOver = unreadable.map { "not considered: \($0.line)" }
    guard let (model, count) = nearest(to: hashes) else {
      throw GodwitError(
        .noPath, "no model fits the store '\(path)'",
        cause: passedOver.isEmpty ? nil : passedOver.asLines,
        remedy: isJob ? "list its model under 'models'" : "name its model"
      ).about(.unknownStoreVersion)
    }
    let difference = Self.firstDifference(hashes, model)
    var cause =
      "the nearest is '\(model.name)', which \(count) of \(hashes.count) entities fit; "
      + (difference?.text ?? "its hashes cannot be compared")
    if let entity = difference?.entity, let rule = model.unconfirmedHashRules(of: entity).first {
      cause += "\nits hash relies on an unconfirmed rule: \(rule)"
    }
    for line in passedOver { cause += "\n" + line }
    var remedy =
      isJob
      ? "list the model version that the store was written with under 'models'"
      : "name the version that the store was written with"
    if let configured {
      cause += "\nthe configuration '\(configured.name)' of '\(configured.version)' does fit"
      remedy = isJob ? "write `configuration: \(configured.name)`" : "add `--configuration '\(configured.name)'`"
    }
    if let bundles = bundlesThatForm(hashes) {
      cause += "\n" + bundles.map { "'\($0)'" }.joined(separator: " and ") + " together have the entities of the store"
      if isJob { remedy = "write `merge-models` with these models: the application merged them" }
    } else if isJob, hashes.count == metadata.versionHashes.count, let part = part(of: hashes) {
      cause += "\nall entities of '\(part.name)' fit, and the store has more"
      remedy += "; or list the application's other models too, under `merge-models`, if it merges several"
    }
    throw GodwitError(.noPath, "no model fits the store '\(path)'", cause: cause, remedy: remedy)
      .about(.unknownStoreVersion)
  }

  /// A configuration of a version, as a model of its own.
  private struct FittingConfiguration {
    var version, name: String
    var model: ManagedObjectModel
  }

  /// The first configuration of a version whose entities have exactly these hashes.
  private func fittingConfiguration(_ hashes: [String: VersionHash]) -> FittingConfiguration? {
    for version in models.lazy.compactMap(\.readable) {
      for name in version.configurations.keys.sorted(by: { Text($0) < Text($1) }) {
        guard let model = try? version.restricted(toConfiguration: name), model.isCompatible(with: hashes) else {
          continue
        }
        return FittingConfiguration(version: version.name, name: name, model: model)
      }
    }
    return nil
  }

  /// The names of the first configuration whose entities have exactly these hashes, and of its version.
  package func configuration(fitting hashes: [String: VersionHash]) -> (model: String, configuration: String)? {
    fittingConfiguration(hashes).map { ($0.version, $0.name) }
  }

  /// The largest version whose entities are all in a store, each with the hash of the store; nil without one.
  func part(of hashes: [String: VersionHash]) -> ManagedObjectModel? {
    models.compactMap(\.readable).filter { model in
      !model.entities.isEmpty && model.versionHashes.allSatisfy { hashes[$0.key] == $0.value }
    }.max { $0.entities.count < $1.entities.count }
  }

  /// The bundles that an application merged for a store; nil where their versions do not make up the store.
  func bundlesThatForm(_ hashes: [String: VersionHash]) -> [String]? {
    var entities: Set<String> = []
    let bundles = models.map(\.bundle).withoutRepeats().filter { bundle in
      var own = self
      own.models = models.filter { $0.bundle == bundle }
      guard let part = own.part(of: hashes), !entities.isSuperset(of: part.entityNames) else { return false }
      entities.formUnion(part.entityNames)
      return true
    }
    return bundles.count > 1 && entities == Set(hashes.keys) ? bundles : nil
  }

  /// The version that most entities of a store fit, and how many; nil without any version.
  func nearest(to hashes: [String: VersionHash]) -> (model: ManagedObjectModel, count: Int)? {
    var best: (model: ManagedObjectModel, count: Int)?
    for model in models.lazy.compactMap(\.readable) {
      let count = model.versionHashes.count { hashes[$0.key] == $0.value }
      // On a tie the later version wins: the versions in use are near the end.
      if count >= best?.count ?? 0 { best = (model, count) }
    }
    return best
  }

  private static func firstDifference(
    _ hashes: [String: VersionHash], _ model: ManagedObjectModel
  ) -> (entity: String, text: String)? {
    let own = model.versionHashes
    for name in Set(own.keys).union(hashes.keys).sorted(by: ManagedObjectModel.precedes) {
      switch (own[name], hashes[name]) {
      case (nil, _): return (name, "the store has the entity '\(name)', which the model lacks")
      case (_, nil): return (name, "the model has the entity '\(name)', which the store lacks")
      case (let a, let b) where a != b: return (name, "entity '\(name)' differs")
      default: continue
      }
    }
    return nil
  }
}
