import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode

/// All model versions that a list of models offers.
struct ModelVersions {
  struct Candidate {
    let model: ManagedObjectModel
    let bundle: String
  }

  private(set) var models: [Candidate] = []
  /// The version that each listed model would be by itself; nil where a bundle names no current one.
  private var currents: [ManagedObjectModel?] = []
  private var unreadable: [GodwitError] = []

  /// Reads all versions of each bundle, and only `Version` of `PATH#Version`.
  init(_ paths: [ManifestPath]) throws { try self.init(references: paths.map(\.resolved)) }

  init(references: [String]) throws {
    for text in references {
      let reference = ModelReference(parsing: text)
      let bundle = try ModelBundle(contentsOf: reference.path)
      if let version = reference.version {
        let model = try bundle.model(named: version)
        models.append(Candidate(model: model, bundle: bundle.path))
        currents.append(model)
        continue
      }
      for version in bundle.versions {
        do {
          models.append(Candidate(model: try bundle.model(named: version), bundle: bundle.path))
        } catch let error as GodwitError {
          // A version that Xcode 3 left behind matters only when it is the one that is needed.
          unreadable.append(error)
        }
      }
      guard let current = bundle.currentVersion else {
        currents.append(nil)
        continue
      }
      currents.append(try bundle.model(named: current))
    }
  }

  // MARK: By name

  /// - Throws: 78 when the name is unknown, or belongs to several models that differ.
  func model(named name: SourceText, key: String) throws -> ManagedObjectModel {
    let found = models.filter { $0.model.name == name.text }
    guard let first = found.first else {
      let names = models.map(\.model.name)
      throw GodwitError(
        .configuration,
        "cannot use \(key) '\(name.text)': no model has this name" + Spelling.suggestion(for: name.text, among: names),
        location: name.location, cause: "the models are " + names.map { "'\($0)'" }.joined(separator: ", "),
        remedy: "correct '\(key)', or list the model under 'models'")
    }
    if let other = found.first(where: { $0.model != first.model }) {
      throw GodwitError(
        .configuration,
        "cannot use \(key) '\(name.text)': '\(first.bundle)' and '\(other.bundle)' both have a version of this name",
        location: name.location, remedy: "list one of them as 'PATH#\(name.text)'")
    }
    return first.model
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
    return current
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
    throw GodwitError(
      .noPath, "no model fits the store '\(path)'", cause: cause,
      remedy: "list the model version that the store was written with under 'models'")
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
