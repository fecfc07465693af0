public import GodwitModel

/// A mapping model that a search found, before it is known which models it is for.
public struct FoundMapping: Sendable {
  /// Whether a mapping model is for two models.
  package enum Fit: Sendable, Hashable {
    /// It is for the two models.
    case fits
    /// Why not.
    case differs(String)
  }

  /// The name of the mapping model in messages and the plan: a file's name.
  package var origin: String
  /// Returns whether the mapping model is for two models. It may be called with any pair of versions.
  package var fit: @Sendable (_ source: ManagedObjectModel, _ destination: ManagedObjectModel) -> Fit
  /// Whether it may be for a source, and for a destination: what spares a search the question for every pair of
  /// versions.
  package var mayStart: @Sendable (_ source: ManagedObjectModel) -> Bool = { _ in true }
  package var mayEnd: @Sendable (_ destination: ManagedObjectModel) -> Bool = { _ in true }
  /// Reads the mapping model for two models that it fits. An error that it throws ends the search.
  package var load: @Sendable (_ source: ManagedObjectModel, _ destination: ManagedObjectModel) throws -> MappingModel

  /// A mapping model that is read only when it is part of the path.
  ///
  /// - Parameters:
  ///   - origin: Its name in messages and the plan: a file's name.
  ///   - fit: Tells whether the mapping model is for two models.
  ///   - load: Reads the mapping model for two models that it fits.
  package init(
    origin: String, fit: @escaping @Sendable (ManagedObjectModel, ManagedObjectModel) -> Fit,
    load: @escaping @Sendable (ManagedObjectModel, ManagedObjectModel) throws -> MappingModel
  ) {
    self.origin = origin
    self.fit = fit
    self.load = load
  }

  /// A mapping model made in code, or read from text: it is for the models that have the names it gives.
  ///
  /// - Parameters:
  ///   - mapping: The mapping model.
  ///   - origin: Its name in messages and the plan: a file's name.
  ///   - models: The models that names are looked up in. A model with the hashes of the one named is as good.
  public init(_ mapping: MappingModel, origin: String, among models: [ManagedObjectModel]) {
    @Sendable func isNamed(_ name: String?, _ model: ManagedObjectModel) -> Bool {
      MappingModel.isNamed(name, model, among: models)
    }
    self.init(
      origin: origin,
      fit: { source, destination in
        guard let from = mapping.sourceModelName, let to = mapping.destinationModelName else {
          return .differs("it names no models ('source-model' and 'destination-model')")
        }
        guard isNamed(from, source), isNamed(to, destination) else {
          return .differs("it names '\(from)' and '\(to)'")
        }
        return .fits
      }, load: { mapping.naming($0, $1, among: models) })
    mayStart = { isNamed(mapping.sourceModelName, $0) }
    mayEnd = { isNamed(mapping.destinationModelName, $0) }
  }
}

extension MappingModel {
  /// Whether a name is that of a version, or of another version with the same hashes.
  fileprivate static func isNamed(
    _ name: String?, _ model: ManagedObjectModel, among models: some Sequence<ManagedObjectModel>
  ) -> Bool {
    name == model.name || models.contains { $0.name == name && $0.isCompatible(with: model.versionHashes) }
  }

  /// The mapping model with the names of two versions, where it names others that have the same hashes: the versions of
  /// a job are told apart by their hashes.
  ///
  /// - Parameter models: Versions that the mapping model may name.
  package func naming(
    _ source: ManagedObjectModel, _ destination: ManagedObjectModel, among models: some Sequence<ManagedObjectModel>
  ) -> MappingModel {
    var named = self
    if Self.isNamed(sourceModelName, source, among: models) { named.sourceModelName = source.name }
    if Self.isNamed(destinationModelName, destination, among: models) { named.destinationModelName = destination.name }
    return named
  }
}

/// Finds the steps from one model version to another: mapping models where there are any, inference elsewhere.
///
/// The path never goes back. A mapping model for the whole path wins. Otherwise the path with the fewest steps wins,
/// and between equally long paths the one with more mapping models. An inferred step never spans two versions that a
/// mapping model serves, because it would skip what the author wrote.
public struct MigrationPathFinder: Sendable {
  /// Oldest first; versions with equal hashes are one.
  package let models: [ManagedObjectModel]
  /// The mapping models that may serve a step.
  package let mappings: [FoundMapping]
  /// The hashes of the newest version, which may revert what came after an earlier one.
  private let newest: [String: VersionHash]
  /// Stages, whose versions no step skips.
  package let stages: [MigrationStage]
  /// Whether a step without a mapping model is inferred.
  package let infers: Bool
  /// Hears of every mapping model considered, and why it was or was not taken.
  package let log: @Sendable (String) -> Void
  /// Hears, before ``log``, of a mapping model that serves no step of the path, and the line that `log` gets.
  package var logMiss: @Sendable (_ origin: String, _ line: String) -> Void = { _, _ in }

  /// Results of comparisons; nil to compare each pair again.
  package var cache: InferenceCache? {
    get { known.cache }
    set { known = CacheBox(cache: newValue) }
  }
  private var known = CacheBox(cache: nil)

  /// Unchecked: whoever sets a cache uses the finder on one thread.
  private struct CacheBox: @unchecked Sendable {
    var cache: InferenceCache?
  }

  /// A search among model versions.
  ///
  /// - Parameters:
  ///   - models: The versions, oldest first. Versions with equal hashes count as one.
  ///   - mappings: The mapping models that may serve a step.
  ///   - stages: Versions that every path between them goes through.
  ///   - infers: Whether a step without a mapping model is inferred. Without inference, such a step is allowed only
  ///     between versions with equal hashes.
  ///   - log: Hears of every mapping model considered, and why it was or was not taken.
  public init(
    models: [ManagedObjectModel], mappings: [FoundMapping], stages: [MigrationStage] = [], infers: Bool = true,
    log: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    // Every call computes the hashes again: call once for each version, not for every pair.
    var seen: Set<[String: VersionHash]> = []
    let kept = models.filter { seen.insert($0.versionHashes).inserted }
    self.models = kept
    newest = models.last?.versionHashes ?? [:]
    self.mappings = mappings
    self.stages = stages
    self.infers = infers
    self.log = log
  }

  /// - Throws: code `.noPath` (69) with the nearest miss, and with an order of versions that would make a path where
  ///   there is one that leaves no stage out and follows the numbers in their names; `.configuration` (78) when several
  ///   mapping models serve one step and do not go together; what reading a mapping model throws.
  public func path(from source: ManagedObjectModel, to destination: ManagedObjectModel) throws -> [MigrationStep] {
    let versions = try self.versions(from: source, to: destination)
    var search = MigrationPathSearch(
      versions: versions, mappings: mappings, stages: stages, infers: infers, cache: cache)
    for (origin, reason) in search.misses {
      let line = "mapping model '\(origin)' not used: \(reason)"
      logMiss(origin, line)
      log(line)
    }
    if search.foreignCount > 0 { log("\(search.foreignCount) mapping models not used: they are for other models") }
    guard let way = search.way() else { throw infers ? noPath(search) : missingMapping(search) }
    return try zip(way, way.dropFirst()).map { start, end in
      try step(versions[start], versions[end], search.mappings(from: start, to: end))
    }
  }

  // MARK: Versions

  private func place(_ model: ManagedObjectModel) -> Int? {
    let hashes = model.versionHashes
    return models.firstIndex { $0.isCompatible(with: hashes) }
  }

  /// The source, the versions between, and the destination.
  private func versions(
    from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) throws -> [ManagedObjectModel] {
    // A model that is none of the versions, such as one that the store itself carries, has no place among them.
    guard let from = place(source), let to = place(destination), from != to else { return [source, destination] }
    guard from < to else {
      // The newest version is also an older one: it still comes last.
      if destination.isCompatible(with: newest) { return [source] + models[(from + 1)...] + [destination] }
      let order = order(from: source, to: destination)
      let verdict =
        switch order {
        case .none: "; no order of them gives a path"
        case .unlikely: "; only an order against the numbers in their names, or past a stage, gives a path"
        case .possible: ""
        }
      throw GodwitError(
        .noPath, "no path leads from '\(source.name)' back to '\(destination.name)'",
        cause: "the versions are " + models.map { "'\($0.name)'" }.joined(separator: ", ") + ", oldest first" + verdict,
        remedy: order.names.map { Self.remedy($0, source, destination) }
          ?? "list a mapping model for this step under 'mappings'")
    }
    return [source] + models[(from + 1)..<to] + [destination]
  }

  private static func remedy(
    _ order: [String], _ source: ManagedObjectModel, _ destination: ManagedObjectModel
  ) -> String {
    "if '\(source.name)' is older than '\(destination.name)', say so: `version-order: [\(order.joined(separator: ", "))]`"
  }

  /// The path that another order of the versions would give.
  private enum Order {
    /// No path in any order.
    case none
    /// A path, but in no order that anybody may mean.
    case unlikely
    /// A path in this order, which is spelt for a manifest.
    case possible([String])

    var names: [String]? { if case .possible(let names) = self { names } else { nil } }
  }

  /// An order of the versions in which a path leads from one to another.
  ///
  /// Every path is tried, whichever version it goes through. It is only proposed: which version is the older one shows
  /// in no model. An order is not proposed if it would leave out a stage, or put `App 3` before `App 2` without a
  /// mapping model that leads there.
  private func order(from source: ManagedObjectModel, to destination: ManagedObjectModel) -> Order {
    guard let from = place(source), let to = place(destination), from != to else { return .none }
    let others = models.indices.filter { $0 != from && $0 != to }
    var search = MigrationPathSearch(
      versions: [source] + others.map { models[$0] } + [destination], mappings: mappings, stages: stages,
      isOrdered: false, infers: infers, cache: cache)
    guard let way = search.way() else { return .none }
    let places = [from] + others + [to]
    let passed = way.map { places[$0] }
    let ordered = models.indices.flatMap { place in
      place == from ? passed : passed.contains(place) ? [] : [place]
    }
    // A stage, or a step that a mapping model serves, between two versions of the path rules it out.
    let between = ordered[(ordered.firstIndex(of: from) ?? 0)...(ordered.firstIndex(of: to) ?? 0)].map { models[$0] }
    var check = MigrationPathSearch(
      versions: between, mappings: mappings, stages: stages, infers: infers, cache: cache)
    guard check.way() != nil else { return .none }
    let served = Set(
      zip(way, way.dropFirst()).filter { !search.mappings(from: $0, to: $1).isEmpty }.map { places[$0.1] })
    guard !leavesStagesOut(passed), !contradictsNumbers(ordered, except: served) else { return .unlikely }
    return .possible(ordered.map { Self.yaml(models[$0].name) })
  }

  /// Whether a path goes past a stage that lies between its ends now.
  private func leavesStagesOut(_ passed: [Int]) -> Bool {
    guard let from = passed.first, let to = passed.last else { return false }
    return (min(from, to)...max(from, to)).contains { place in
      !passed.contains(place) && stage(of: models[place]) != nil
    }
  }

  /// Whether an order puts a version after one with a higher number, although their names sort now.
  ///
  /// - Parameter served: Versions to which a mapping model leads: its author knew the order.
  private func contradictsNumbers(_ ordered: [Int], except served: Set<Int>) -> Bool {
    ordered.indices.contains { later in
      let place = ordered[later]
      return !served.contains(place)
        && ordered[..<later].contains { $0 > place && VersionName.isEarlier(models[place].name, models[$0].name) }
    }
  }

  /// A name as a member of a YAML list.
  package static func yaml(_ name: String) -> String {
    let isPlain =
      name.unicodeScalars.first.map { ("A"..."Z").contains($0) || ("a"..."z").contains($0) } == true
      && name.unicodeScalars.allSatisfy {
        ("A"..."Z").contains($0) || ("a"..."z").contains($0) || ("0"..."9").contains($0)
          || " ._-".unicodeScalars.contains($0)
      } && !name.hasSuffix(" ")
      && !["true", "false", "yes", "no", "on", "off", "null", "y", "n"].contains(name.lowercased())
    return isPlain ? name : "'" + name.replacing(scalar: "'", with: "''") + "'"
  }

  // MARK: Steps

  private func stage(of model: ManagedObjectModel) -> MigrationStage? {
    stages.first { $0.destinationModelName == model.name }
  }

  private func step(
    _ source: ManagedObjectModel, _ destination: ManagedObjectModel, _ found: [FoundMapping]
  ) throws -> MigrationStep {
    var step = try stepWithoutHooks(source, destination, found)
    step.willMigrate = stage(of: destination)?.willMigrate
    step.didMigrate = stage(of: destination)?.didMigrate
    return step
  }

  private func stepWithoutHooks(
    _ source: ManagedObjectModel, _ destination: ManagedObjectModel, _ found: [FoundMapping]
  ) throws -> MigrationStep {
    guard !found.isEmpty else {
      log("'\(source.name)' to '\(destination.name)': inferred")
      return MigrationStep(
        sourceModel: source, destinationModel: destination,
        mappingModels: [try MappingModel(inferredFrom: source, to: destination)], origin: MigrationStep.inferredOrigin)
    }
    var loaded: [(mapping: MappingModel, origin: String)] = []
    for candidate in found {
      let mapping = try candidate.load(source, destination)
      let text = MigrationJob.canonicalText(of: [mapping])
      // The same mapping model as Xcode's source and compiled, for one.
      if let twin = loaded.first(where: { MigrationJob.canonicalText(of: [$0.mapping]) == text }) {
        log("mapping model '\(candidate.origin)' not used: it is the same as '\(twin.origin)'")
        continue
      }
      loaded.append((mapping, candidate.origin))
    }
    var owner: [String: String] = [:]
    for (mapping, origin) in loaded {
      for entity in mapping.entityMappings {
        if let other = owner[entity.name], other != origin {
          throw GodwitError(
            .configuration,
            "cannot choose between mapping models from '\(source.name)' to '\(destination.name)': '\(other)' and '\(origin)' both have a mapping '\(entity.name)'",
            remedy: "list the one to use under 'mappings', or narrow 'mapping-search'"
          ).about(.conflictingMappings)
        }
        owner[entity.name] = origin
      }
    }
    let origins = loaded.map(\.origin).joined(separator: ", ")
    log("'\(source.name)' to '\(destination.name)': \(origins)")
    return MigrationStep(
      sourceModel: source, destinationModel: destination, mappingModels: loaded.map(\.mapping), origin: origins)
  }

  // MARK: No path

  /// The error of a path without inference: the one mapping model that would complete it.
  private func missingMapping(_ search: MigrationPathSearch) -> GodwitError {
    let versions = search.versions
    let (source, destination) = (versions[0].name, versions[versions.count - 1].name)
    let (start, end) = search.gap
    let (from, to) = (versions[start].name, versions[end].name)
    var lines: [String] = []
    if from != source || to != destination {
      lines.append("the path from '\(source)' to '\(destination)' lacks this step")
    }
    lines += Self.misses(of: search)
    return GodwitError(
      .noPath, "no mapping model leads from '\(from)' to '\(to)', and no step is inferred",
      cause: lines.isEmpty ? nil : lines.asLines,
      remedy:
        "write the mapping model: `godwit mapping new` drafts one; or write `mappings: auto`, which infers steps that have none"
    )
  }

  /// The mapping models that complete no path, one a line.
  private static func misses(of search: MigrationPathSearch) -> [String] {
    let lines = search.misses.map { origin, reason in "mapping model '\(origin)' is not for it: \(reason)" }
    return lines + (search.foreignCount > 0 ? ["\(search.foreignCount) mapping models are for other models"] : [])
  }

  private func noPath(_ search: MigrationPathSearch) -> GodwitError {
    let versions = search.versions
    let furthest = search.furthest
    var lines: [String] = []
    if furthest > 0 { lines.append("the furthest version that can be reached is '\(versions[furthest].name)'") }
    var told: [String: Int] = [:]
    for end in versions.indices where end > furthest {
      guard let reason = search.refusal(from: furthest, to: end) else { continue }
      // Later versions are mostly in the way for the same reasons.
      if let index = told[reason] {
        lines[index] = lines[index].replacing(
          "' cannot be inferred:", with: "' and later ones cannot be inferred:", maxReplacements: 1)
        continue
      }
      told[reason] = lines.count
      let indented = reason.split(separator: "\n").joined(separator: "\n  ")
      lines.append("'\(versions[furthest].name)' to '\(versions[end].name)' cannot be inferred: \(indented)")
    }
    lines += Self.misses(of: search)
    var remedy = "write a mapping model for the step that is missing; `godwit mapping new` drafts one"
    if let source = versions.first, let destination = versions.last,
      let order = order(from: source, to: destination).names
    {
      remedy += "; a path leads there with `version-order: [\(order.joined(separator: ", "))]`, if that is their order"
    }
    return GodwitError(
      .noPath,
      "no path leads from '\(versions[0].name)' to '\(versions[versions.count - 1].name)'",
      cause: lines.asLines, remedy: remedy)
  }
}
