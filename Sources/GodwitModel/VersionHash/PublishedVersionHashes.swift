/// Version hashes that Apple's software computed. They decide where a rule leaves a choice.
///
/// They come from the `VersionInfo.plist` of a compiled model, from a compiled mapping model, or from a
/// store that Core Data wrote. Only the first names the version that each set belongs to.
package struct PublishedVersionHashes: Sendable, Hashable {
  /// The hashes of one model version.
  package struct Version: Sendable, Hashable {
    /// Nil where the file does not say.
    package let name: String?
    /// Entity name to version hash.
    package let hashes: [String: VersionHash]

    package init(name: String?, hashes: [String: VersionHash]) {
      self.name = name
      self.hashes = hashes
    }
  }

  /// The file, as messages name it.
  package let origin: String
  /// One set of hashes for each version.
  package let versions: [Version]

  package init(origin: String, versions: [Version]) {
    self.origin = origin
    self.versions = versions
  }

  /// Gives every model the hashes that are published for it, and leaves the others as they are.
  ///
  /// A set with a name belongs to the models of this name. A set without a name belongs to the models with the same
  /// entities whose computed hashes differ from it only where an unconfirmed rule applies. Any other difference means
  /// another version.
  ///
  /// - Throws: code `.configuration` when no set belongs to any of the models, when a set lacks an entity of the model
  ///   it names, or when a set without a name may belong to models that differ.
  package func adopted(by models: [ManagedObjectModel]) throws -> [ManagedObjectModel] {
    var adopted = models
    var isUsed = false
    for version in versions {
      let owners =
        try version.name.map { name in models.indices.filter { models[$0].name == name } }
        ?? unnamedOwners(of: version.hashes, among: models)
      for owner in owners {
        guard let model = adopted[owner].adopting(version.hashes) else {
          throw GodwitError(
            .configuration,
            "cannot use the hashes in '\(origin)': those of version '\(models[owner].name)' are of other entities",
            remedy: "give the file that was compiled from this model")
        }
        adopted[owner] = model
        isUsed = true
      }
    }
    guard isUsed else {
      let names = versions.compactMap(\.name)
      throw GodwitError(
        .configuration, "cannot use the hashes in '\(origin)': they belong to none of the models",
        cause: names.isEmpty
          ? "no model has these entities with these hashes, apart from unconfirmed rules"
          : "it names " + names.map { "'\($0)'" }.joined(separator: ", ") + "; the models are "
            + models.map { "'\($0.name)'" }.joined(separator: ", "),
        remedy: "list the model that the file was made with, or leave the file out")
    }
    return adopted
  }

  private func unnamedOwners(of hashes: [String: VersionHash], among models: [ManagedObjectModel]) throws -> [Int] {
    let owners = models.indices.filter { models[$0].mayHave(hashes) }
    guard let first = owners.first else { return [] }
    let computed = models[first].computedVersionHashes
    if let other = owners.first(where: { models[$0].computedVersionHashes != computed }) {
      throw GodwitError(
        .configuration,
        "cannot use the hashes in '\(origin)': they may be those of '\(models[first].name)' or of '\(models[other].name)'",
        remedy: "give the VersionInfo.plist of the compiled model, which names the versions")
    }
    return owners
  }
}

extension ManagedObjectModel {
  /// The same model with computed hashes alone.
  package var withoutPublishedHashes: ManagedObjectModel {
    var model = self
    model.publishedVersionHashes = [:]
    return model
  }

  /// The same model with these hashes; nil unless they are for exactly its entities.
  package func adopting(_ hashes: [String: VersionHash]) -> ManagedObjectModel? {
    guard hashes.count == entities.count, entities.allSatisfy({ hashes[$0.name] != nil }) else { return nil }
    var model = self
    model.publishedVersionHashes = hashes
    return model
  }

  /// Whether the hashes could be this model's: of the same entities, and equal wherever only confirmed rules are at
  /// work.
  package func mayHave(_ hashes: [String: VersionHash]) -> Bool {
    let computed = computedVersionHashes
    guard hashes.count == computed.count else { return false }
    return computed.allSatisfy { name, own in
      guard let published = hashes[name] else { return false }
      // A parent's hash is part of its children's.
      return published == own || lineage(of: name).contains { !unconfirmedRules(of: $0.name).isEmpty }
    }
  }
}
