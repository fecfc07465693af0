package import GodwitModel
import GodwitStore
package import GodwitXcode

/// Whether a model fits a store or another model. If not, it says why, and what a migration would need.
///
/// It never writes, and it contains no value of the store, only counts.
package struct Compatibility: Sendable, Hashable, Encodable {
  /// Whether the model fits.
  package enum Verdict: String, Sendable, Hashable, Encodable {
    /// The hashes are equal: nothing to migrate.
    case compatible
    /// The store's model is known, and the path from it to the requested model is described.
    case migrationNeeded = "migration-needed"
    /// No given version fits the store, so no path can be described.
    case noModelFits = "no-model-fits"
  }

  /// The means that a migration across the changes needs.
  package enum MigrationPath: String, Sendable, Hashable, Encodable {
    /// Every change could be inferred.
    case inferable
    /// Whether it could be inferred depends on rows, which were not counted.
    case dependsOnRows = "depends-on-rows"
    /// Some change needs a written mapping.
    case mapping
  }

  /// One entity whose hashes in the store and in the model are not the same.
  package struct EntityDifference: Sendable, Hashable, Encodable {
    /// The difference between the two sides.
    package enum Kind: String, Sendable, Hashable, Encodable {
      /// The store's model has the entity, and the requested model does not.
      case onlyInStore = "only-in-store"
      /// The requested model has the entity, and the store's model does not.
      case onlyInModel = "only-in-model"
      /// Both have the entity, with different version hashes.
      case hashesDiffer = "hashes-differ"
    }

    /// The entity's name.
    package let entity: String
    /// The difference between the two sides.
    package let kind: Kind
    /// The one fact that explains the hash, if it was found.
    package let reason: String?
  }

  /// Whether the model fits.
  package let verdict: Verdict
  /// The store's path, or the name of the model that is given in its place.
  package let source: String
  /// The name of the requested model.
  package let model: String
  /// The version with the hashes of the store; empty without one. Versions are read only until it is found.
  package let fitting: [String]
  /// The first entity and property that keeps the model from matching; nil when it fits.
  package private(set) var first: String?
  /// Entity by entity, by hashes alone; empty when the model fits.
  package private(set) var differences: [EntityDifference] = []
  /// The changes from the first fitting version; empty without one.
  package private(set) var changes: [ModelChange] = []
  /// Nil unless a migration is needed.
  package private(set) var migrationPath: MigrationPath?
  /// The reasons why no mapping model can be inferred, as `MappingInference` says; empty when one can be.
  package private(set) var refusals: [String] = []
  /// The kind of each refusal, in the same order.
  package private(set) var refusalCodes: [MappingInference.Refusal.Code] = []
  /// Further facts, each a sentence.
  package private(set) var notes: [String] = []
  /// Rules of version hashes that the model relies on and no published hash confirms.
  package let unconfirmedHashRules: [String]

  // MARK: A store against a model

  /// Compares a store with a version of a model.
  ///
  /// - Parameters:
  ///   - path: The store.
  ///   - bundle: The versions of the model.
  ///   - version: The requested version; nil for the current one. All others are searched for the store's model.
  ///   - configuration: Compares only the entities of this configuration, in every version; nil for all. A version
  ///     without it is compared as a whole.
  /// - Throws: As `ModelBundle.model(named:)`, `StoreMetadata.init(readingStoreAt:)` and ``ModelChange``; 78 when the
  ///   requested version has no such configuration. Another version that cannot be read is only recorded.
  package init(
    ofStoreAt path: String, with bundle: ModelBundle, version: String? = nil, configuration: String? = nil
  ) throws {
    let asked = try Self.asked(version, of: bundle, configuration)
    let metadata = try StoreMetadata(readingStoreAt: path)
    let hashes = metadata.entityVersionHashes
    let isWhole = hashes.count == metadata.versionHashes.count
    // Versions are read until one fits: bundles have a hundred of them.
    let (models, notes) = try Self.models(of: bundle, configuration, asked) { isWhole && $0.isCompatible(with: hashes) }
    try self.init(of: path, hashes, isWhole: isWhole, store: path, with: asked, among: models, notes: notes)
  }

  /// Compares the version hashes of a store that is not here with a version of a model. No rows are counted.
  ///
  /// Hashes of a part of the entities stand for a version that has all of them: the requested one if it has, else the
  /// last one. If some version has these hashes and no others, they are its.
  ///
  /// - Parameters:
  ///   - printed: The hashes.
  ///   - source: Where they are from, for messages.
  /// - Throws: As for a store.
  package init(
    of printed: PrintedVersionHashes, from source: String, with bundle: ModelBundle, version: String? = nil,
    configuration: String? = nil
  ) throws {
    let asked = try Self.asked(version, of: bundle, configuration)
    var (models, notes) = try Self.models(of: bundle, configuration, asked) { _ in false }
    var hashes = printed.completed(by: models)
    let owners = models.filter(printed.areAll)
    let isWhole = owners.contains { $0.versionHashes.count == hashes.count }
    if !isWhole, let owner = owners.first(where: { $0.name == asked.name }) ?? owners.last {
      notes.append("\(hashes.count) of the \(owner.versionHashes.count) hashes of '\(owner.name)' are given")
      if owners.count > 1 {
        let names = owners.map { "'\($0.name)'" }.joined(separator: ", ")
        notes.append("the versions \(names) have these hashes: give the hashes of all entities to tell them apart")
      }
      hashes = owner.versionHashes
    }
    try self.init(of: source, hashes, isWhole: true, store: nil, with: asked, among: models, notes: notes)
  }

  private static func asked(
    _ version: String?, of bundle: ModelBundle, _ configuration: String?
  ) throws -> ManagedObjectModel {
    let model = try version.map(bundle.model(named:)) ?? bundle.currentModel()
    return try configuration.map(model.restricted(toConfiguration:)) ?? model
  }

  /// The versions of a bundle in its order up to one that is enough, or the requested one alone if that is enough.
  ///
  /// - Returns: The versions that can be read, and what is to be said of the others.
  private static func models(
    of bundle: ModelBundle, _ configuration: String?, _ asked: ManagedObjectModel,
    until isEnough: (ManagedObjectModel) -> Bool
  ) throws -> (models: [ManagedObjectModel], notes: [String]) {
    var (models, notes): ([ManagedObjectModel], [String]) = ([], [])
    for name in isEnough(asked) ? [asked.name] : bundle.versions {
      if name == asked.name {
        models.append(asked)
        continue
      }
      do {
        let whole = try bundle.model(named: name)
        let model = configuration.flatMap { try? whole.restricted(toConfiguration: $0) } ?? whole
        models.append(model)
        if isEnough(model) { break }
      } catch let error as GodwitError {
        notes.append("version '\(name)' was not considered: \(error.line)")
      }
    }
    return (models, notes)
  }

  /// - Parameters:
  ///   - isWhole: Whether no hash was left out: one of another length does not belong to any model.
  ///   - store: The store in which rows are counted; nil counts none.
  ///   - models: Where the store's own model is looked for, in order.
  private init(
    of source: String, _ hashes: [String: VersionHash], isWhole: Bool, store: String?, with asked: ManagedObjectModel,
    among models: [ManagedObjectModel], notes: [String]
  ) throws {
    let fitting = isWhole ? models.filter { $0.isCompatible(with: hashes) } : []
    (self.source, model, self.notes) = (source, asked.name, notes)
    self.fitting = fitting.map(\.name)
    unconfirmedHashRules = asked.unconfirmedHashRules.map(\.description)
    if isWhole, asked.isCompatible(with: hashes) {
      verdict = .compatible
      return
    }
    differences = Self.differences(hashes, asked, explaining: fitting.isEmpty)
    if let own = fitting.first {
      verdict = .migrationNeeded
      describeMigration(
        from: own, to: asked,
        try store.map { try ModelChange.changes(from: own, to: asked, countingInStoreAt: $0) }
          ?? ModelChange.changes(from: own, to: asked))
      let names = models.map(\.name)
      if let from = names.firstIndex(of: own.name), let to = names.firstIndex(of: asked.name), to < from {
        self.notes.append("'\(asked.name)' comes before '\(own.name)': only a mapping that the job names leads back")
      }
    } else {
      verdict = .noModelFits
      first =
        hashes.isEmpty
        ? "the store contains no version hashes" : differences.first.map { $0.reason ?? $0.description }
      if let nearest = Self.nearest(hashes, models), nearest.name != asked.name {
        let count = nearest.versionHashes.count { hashes[$0.key] == $0.value }
        let others = Self.differences(hashes, nearest, explaining: false).map(\.entity)
        let shown = others.prefix(5).joined(separator: ", ") + (others.count > 5 ? ", …" : "")
        self.notes.append(
          "the nearest version is '\(nearest.name)', which \(count) of \(hashes.count) entities fit; it differs in \(shown)"
        )
      }
    }
  }

  // MARK: A model against a model

  /// Compares two models, as if there were a store of the earlier one. No rows are counted.
  package init(of old: ManagedObjectModel, with new: ManagedObjectModel) {
    let hashes = old.versionHashes
    (source, model) = (old.name, new.name)
    unconfirmedHashRules = Array(Set((new.unconfirmedHashRules + old.unconfirmedHashRules).map(\.description))).sorted()
    guard !new.isCompatible(with: hashes) else {
      fitting = old.name == new.name ? [new.name] : [old.name, new.name]
      verdict = .compatible
      return
    }
    fitting = [old.name]
    verdict = .migrationNeeded
    differences = Self.differences(hashes, new, explaining: false)
    describeMigration(from: old, to: new, ModelChange.changes(from: old, to: new))
  }

  // MARK: Comparing

  private mutating func describeMigration(
    from old: ManagedObjectModel, to new: ManagedObjectModel, _ changes: [ModelChange]
  ) {
    self.changes = changes
    let found = MappingInference(from: old, to: new).refusals
    (refusals, refusalCodes) = (found.map(\.description), found.map(\.code))
    migrationPath = Self.migrationPath(changes, refusals)
    first = Self.first(differences, changes, new)
  }

  private static func differences(
    _ hashes: [String: VersionHash], _ model: ManagedObjectModel, explaining: Bool
  ) -> [EntityDifference] {
    let own = model.versionHashes
    let explanation = HashExplanation(model: model, storeHashes: hashes)
    return Set(own.keys).union(hashes.keys).sorted(by: ManagedObjectModel.precedes).compactMap { name in
      switch (own[name], hashes[name]) {
      case (nil, _): return EntityDifference(entity: name, kind: .onlyInStore, reason: nil)
      case (_, nil): return EntityDifference(entity: name, kind: .onlyInModel, reason: nil)
      case (let a, let b) where a != b:
        return EntityDifference(
          entity: name, kind: .hashesDiffer, reason: explaining ? explanation.reason(forEntity: name) : nil)
      default: return nil
      }
    }
  }

  /// The first entity that differs with the first of its changes that hashes know, its ancestors' included.
  private static func first(
    _ differences: [EntityDifference], _ changes: [ModelChange], _ model: ManagedObjectModel
  ) -> String? {
    guard let difference = differences.first else { return nil }
    let line = [difference.entity] + model.lineage(of: difference.entity).map(\.name)
    for name in line {
      guard let change = changes.first(where: { $0.entity == name && $0.isPartOfHash }) else { continue }
      return "\(change.path): \(change.inEarlierModel)"
    }
    return difference.description
  }

  private static func migrationPath(_ changes: [ModelChange], _ refusals: [String]) -> MigrationPath {
    if !refusals.isEmpty { return .mapping }
    if changes.contains(where: { $0.effort == .mapping }) { return .mapping }
    return changes.contains { $0.effort == .dependsOnRows } ? .dependsOnRows : .inferable
  }

  /// The version with the most entities of equal hashes, the later version on a tie; nil when no version has any.
  private static func nearest(_ hashes: [String: VersionHash], _ models: [ManagedObjectModel]) -> ManagedObjectModel? {
    var best: (model: ManagedObjectModel, count: Int)?
    for model in models {
      let count = model.versionHashes.count { hashes[$0.key] == $0.value }
      if count > 0, count >= best?.count ?? 0 { best = (model, count) }
    }
    return best?.model
  }
}

extension Compatibility.EntityDifference: CustomStringConvertible {
  /// One line: the entity, and the difference.
  package var description: String {
    let text =
      switch kind {
      case .onlyInStore: "only in the store"
      case .onlyInModel: "only in the model"
      case .hashesDiffer: "the hashes differ"
      }
    return "entity \(entity): \(text)"
  }
}

extension Compatibility: CustomStringConvertible {
  /// The comparison as `godwit why` prints it, over several lines.
  package var description: String { text(path: pathText.map { ["path      \($0)"] } ?? []) }

  /// - Parameter path: How the data gets there, in lines.
  package func text(path: [String]) -> String {
    var lines: [String] = []
    switch verdict {
    case .compatible:
      lines.append("compatible: '\(model)' fits '\(source)'")
      let others = fitting.filter { $0 != model && $0 != source }
      if !others.isEmpty { lines.append("  so do     " + others.map { "'\($0)'" }.joined(separator: ", ")) }
    case .migrationNeeded:
      lines.append("a migration is needed: '\(model)' does not fit '\(source)'")
      lines.append("  fits      " + fitting.map { "'\($0)'" }.joined(separator: ", "))
      if let first { lines.append("  first     \(first)") }
      lines.append("  from '\(fitting.first ?? source)' to '\(model)'")
      lines += changes.map { "    \($0)" }
      lines += path.map { "  \($0)" }
    case .noModelFits:
      lines.append("no version fits: the store's own model is unknown, '\(model)' does not fit '\(source)'")
      if let first { lines.append("  first     \(first)") }
      lines.append("  by hashes")
      for difference in differences {
        lines.append("    \(difference)")
        if let reason = difference.reason { lines.append("      \(reason)") }
      }
    }
    lines += notes.map { "  note      \($0)" }
    return lines.map(\.onOneLine).joined(separator: "\n")
  }

  private var pathText: String? {
    let written = changes.count { $0.effort == .mapping }
    return switch migrationPath {
    case nil: nil
    case .inferable?: "can be inferred, where the application has no mapping model of its own"
    case .dependsOnRows?:
      "can be inferred where no row prevents it and the application has no mapping model of its own"
    case .mapping? where written == 0: "a mapping file for this step: \(refusals.joined(separator: "; "))"
    case .mapping?: "a mapping file for this step: \(written) of \(changes.count) changes cannot be inferred"
    }
  }
}
