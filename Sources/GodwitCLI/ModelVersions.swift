import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode

/// All model versions that a list of models offers.
struct ModelVersions {
  struct Candidate {
    var model: ManagedObjectModel
    let bundle: String
  }

  private(set) var models: [Candidate] = []
  /// The place in `models` of the version that each listed model would be by itself; nil where a bundle names no current one.
  private var currents: [Int?] = []
  /// The places of the versions that bundles which are listed as a whole name as current.
  private var newest: [Int] = []
  private var unreadable: [GodwitError] = []

  /// Reads all versions of each bundle, and only `Version` of `PATH#Version`.
  init(_ paths: [ManifestPath]) throws { try self.init(references: paths.map(\.resolved)) }

  /// - Parameter references: Models, and files whose published hashes win over computed ones.
  init(references: [String]) throws {
    let isHashFile = PublishedVersionHashes.isFile(at:)
    for text in references where !isHashFile(text) {
      let reference = ModelReference(parsing: text)
      let bundle = try ModelBundle(contentsOf: reference.path)
      if let version = reference.version {
        currents.append(models.count)
        models.append(Candidate(model: try bundle.model(named: version), bundle: bundle.path))
        continue
      }
      // A marker that names no version of the bundle is an error of the bundle.
      if let named = bundle.currentVersion, !bundle.versions.contains(named) { _ = try bundle.model(named: named) }
      var current: Int?
      for version in bundle.versions {
        do {
          let model = try bundle.model(named: version)
          if version == bundle.currentVersion { current = models.count }
          models.append(Candidate(model: model, bundle: bundle.path))
        } catch let error as GodwitError {
          // A version that Xcode 3 left behind matters only when it is the one that is needed.
          if version == bundle.currentVersion { throw error }
          unreadable.append(error)
        }
      }
      currents.append(current)
      newest += current.map { [$0] } ?? []
    }
    for path in references where isHashFile(path) {
      let published = try PublishedVersionHashes(contentsOf: path)
      for (index, model) in try published.adopted(by: models.map(\.model)).enumerated() { models[index].model = model }
    }
  }

  /// Adds the model that several form, or that a configuration is; it stands before those it was made of.
  mutating func prefer(_ model: ManagedObjectModel, from bundle: String) {
    models.insert(Candidate(model: model, bundle: bundle), at: 0)
    currents = currents.map { $0.map { $0 + 1 } }
    newest = newest.map { $0 + 1 }
  }

  /// All versions, oldest first: by the natural order of their names, the current version of a bundle after its others.
  ///
  /// Names alone do not say it: `Store 5` may be older than `App v2`. What is current was made last.
  var oldestFirst: [ManagedObjectModel] {
    var places = models.indices.sorted { a, b in
      ModelBundle.precedes(models[a].model.name, models[b].model.name)
        || models[a].model.name == models[b].model.name && a < b
    }
    for current in newest {
      guard let from = places.firstIndex(of: current),
        let last = places.lastIndex(where: { models[$0].bundle == models[current].bundle }), from < last
      else { continue }
      places.insert(places.remove(at: from), at: last)
    }
    return places.map { models[$0].model }
  }

  /// Takes of every version that has this configuration only its entities.
  mutating func restrict(toConfiguration configuration: String) {
    for index in models.indices where models[index].model.configurations[configuration] != nil {
      // What is wrong with a configuration matters only for the model that is used: the destination is restricted again.
      guard let part = try? models[index].model.restricted(toConfiguration: configuration) else { continue }
      models[index].model = part
    }
  }

  // MARK: By name

  /// - Throws: 78 when the name is unknown, or belongs to several models that differ.
  func model(named name: Located<String>, key: String) throws -> ManagedObjectModel {
    let found = models.filter { $0.model.name == name.value }
    guard let first = found.first else {
      let names = models.map(\.model.name)
      throw GodwitError(
        .configuration,
        "cannot use \(key) '\(name.value)': no model has this name"
          + Spelling.suggestion(for: name.value, among: names),
        location: name.location, cause: "the models are " + names.map { "'\($0)'" }.joined(separator: ", "),
        remedy: "correct '\(key)', or list the model under 'models'")
    }
    let plain = first.model.withoutPublishedHashes
    if let other = found.first(where: { $0.model.withoutPublishedHashes != plain }) {
      throw GodwitError(
        .configuration,
        "cannot use \(key) '\(name.value)': '\(first.bundle)' and '\(other.bundle)' both have a version of this name",
        location: name.location, remedy: "list one of them as 'PATH#\(name.value)'")
    }
    // The same version as source and compiled: what Apple's compiler computed is the better knowledge.
    return found.first { !$0.model.publishedVersionHashes.isEmpty }?.model ?? first.model
  }

  /// The destination when none is named: the current version of the one model listed.
  func currentModel() throws -> ManagedObjectModel {
    guard currents.count == 1, let only = currents.first else {
      throw GodwitError(
        .configuration, "cannot tell the destination model: \(currents.count) models are listed",
        remedy: "name it with 'destination-model'")
    }
    guard let current = only else {
      throw GodwitError(
        .configuration, "cannot tell the destination model: the model names no current version",
        cause: "its versions are " + models.map { "'\($0.model.name)'" }.joined(separator: ", "),
        remedy: "name it with 'destination-model'")
    }
    return models[current].model
  }

  // MARK: By version hashes

  /// The first model whose hashes are the store's.
  ///
  /// - Throws: 69 naming the nearest model and the first entity that differs.
  func model(fitting metadata: StoreMetadata, path: String) throws -> ManagedObjectModel {
    let hashes = metadata.entityVersionHashes
    if hashes.count == metadata.versionHashes.count,
      let found = models.first(where: { $0.model.isCompatible(with: hashes) })
    {
      return found.model
    }
    if let unreadable = unreadable.first, models.isEmpty { throw unreadable }
    guard let nearest = nearest(to: hashes) else {
      throw GodwitError(.noPath, "no model fits the store '\(path)'", remedy: "list its model under 'models'")
    }
    let model = nearest.model
    let difference = Self.firstDifference(hashes, model)
    var cause =
      "the nearest is '\(model.name)', which \(Self.equalCount(hashes, model)) of \(hashes.count) entities fit; "
      + (difference?.text ?? "its hashes cannot be compared")
    if let entity = difference?.entity, let rule = model.unconfirmedHashRules(of: entity).first {
      cause += "\nits hash relies on a rule that is not confirmed: \(rule)"
    }
    if let error = unreadable.first { cause += "\nnot considered: \(error.message)" }
    var remedy = "list the model version that the store was written with under 'models'"
    if let found = configuration(fitting: hashes) {
      cause += "\nthe configuration '\(found.configuration)' of '\(found.model)' does fit"
      remedy = "write `configuration: \(found.configuration)`"
    }
    throw GodwitError(.noPath, "no model fits the store '\(path)'", cause: cause, remedy: remedy)
  }

  private func configuration(fitting hashes: [String: VersionHash]) -> (model: String, configuration: String)? {
    for candidate in models {
      for name in candidate.model.configurations.keys.sorted(by: { Text($0) < Text($1) }) {
        guard let part = try? candidate.model.restricted(toConfiguration: name), part.isCompatible(with: hashes) else {
          continue
        }
        return (candidate.model.name, name)
      }
    }
    return nil
  }

  private func nearest(to hashes: [String: VersionHash]) -> Candidate? {
    var best: (candidate: Candidate, count: Int)?
    for candidate in models {
      let count = Self.equalCount(hashes, candidate.model)
      // A later version wins a tie: models in use are nearer the end.
      if count >= best?.count ?? 0 { best = (candidate, count) }
    }
    return best?.candidate
  }

  private static func equalCount(_ hashes: [String: VersionHash], _ model: ManagedObjectModel) -> Int {
    model.versionHashes.count { hashes[$0.key] == $0.value }
  }

  private static func firstDifference(
    _ hashes: [String: VersionHash], _ model: ManagedObjectModel
  ) -> (entity: String, text: String)? {
    let own = model.versionHashes
    for name in Set(own.keys).union(hashes.keys).sorted(by: ManagedObjectModel.precedes) {
      switch (own[name], hashes[name]) {
      case (nil, _): return (name, "the store has the entity '\(name)', the model has not")
      case (_, nil): return (name, "the model has the entity '\(name)', the store has not")
      case (let a, let b) where a != b: return (name, "entity '\(name)' differs")
      default: continue
      }
    }
    return nil
  }
}
