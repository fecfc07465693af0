public import GodwitModel

/// A mapping model that a search came upon, before it is known which models it is for.
public struct FoundMapping: Sendable {
  /// Whether a mapping model is for two models.
  public enum Fit: Sendable, Hashable {
    case fits
    /// Why not.
    case differs(String)
  }

  /// What messages and the plan call it: a file's name.
  public var origin: String
  public var fit: @Sendable (_ source: ManagedObjectModel, _ destination: ManagedObjectModel) -> Fit
  public var load: @Sendable (_ source: ManagedObjectModel, _ destination: ManagedObjectModel) throws -> MappingModel

  public init(
    origin: String, fit: @escaping @Sendable (ManagedObjectModel, ManagedObjectModel) -> Fit,
    load: @escaping @Sendable (ManagedObjectModel, ManagedObjectModel) throws -> MappingModel
  ) {
    self.origin = origin
    self.fit = fit
    self.load = load
  }

  /// A mapping model made in code, or read from text: it is for the models that have the names it gives.
  ///
  /// - Parameter models: The models that names are looked up in. A model with the hashes of the one named is as good.
  public init(_ mapping: MappingModel, origin: String, among models: [ManagedObjectModel]) {
    self.init(
      origin: origin,
      fit: { source, destination in
        guard let from = mapping.sourceModelName, let to = mapping.destinationModelName else {
          return .differs("it names no models ('source-model' and 'destination-model')")
        }
        func isNamed(_ name: String, _ model: ManagedObjectModel) -> Bool {
          name == model.name || models.contains { $0.name == name && $0.isCompatible(with: model.versionHashes) }
        }
        guard isNamed(from, source), isNamed(to, destination) else {
          return .differs("it names '\(from)' and '\(to)'")
        }
        return .fits
      }, load: { _, _ in mapping })
  }
}

/// Finds the steps from one model version to another: mapping models where there are any, inference elsewhere.
///
/// The path never goes back. A mapping model that leads all the way wins; else the path with the fewest steps, of
/// equals the one with more mapping models. An inferred step never spans two versions that a mapping model serves: what
/// its author wrote down would be skipped.
public struct MigrationPathFinder: Sendable {
  /// Oldest first; versions with equal hashes are one.
  public let models: [ManagedObjectModel]
  public let mappings: [FoundMapping]
  /// Hears of every mapping model considered, and why it was or was not taken.
  public let log: @Sendable (String) -> Void

  public init(
    models: [ManagedObjectModel], mappings: [FoundMapping], log: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    var kept: [ManagedObjectModel] = []
    for model in models where !kept.contains(where: { $0.isCompatible(with: model.versionHashes) }) {
      kept.append(model)
    }
    self.models = kept
    self.mappings = mappings
    self.log = log
  }

  /// - Throws: code `.noPath` (69) with the nearest miss; `.configuration` (78) when several mapping models serve one step and
  ///   do not go together; what reading a mapping model throws.
  public func path(from source: ManagedObjectModel, to destination: ManagedObjectModel) throws -> [MigrationStep] {
    let versions = try self.versions(from: source, to: destination)
    let served = servedPairs(versions)
    for (origin, reasons) in misses(versions) { log("mapping model '\(origin)' not taken: \(reasons)") }
    var refusals: [Pair: String] = [:]
    // The cheapest way to each version: steps, inferred steps among them, and the version before.
    var best: [(steps: Int, inferred: Int, before: Int)?] = [(0, 0, 0)]
    for end in versions.indices.dropFirst() {
      best.append(nil)
      for start in 0..<end {
        guard let way = best[start] else { continue }
        let pair = Pair(start: start, end: end)
        let isServed = served[pair] != nil
        if !isServed {
          if let inner = served.keys.filter({ pair.spans($0) }).min() {
            refusals[pair] =
              "a mapping model serves '\(versions[inner.start].name)' to '\(versions[inner.end].name)', which inference would skip"
            continue
          }
          if let reason = inferenceProblem(versions[start], versions[end]) {
            refusals[pair] = reason
            continue
          }
        }
        let candidate = (steps: way.steps + 1, inferred: way.inferred + (isServed ? 0 : 1), before: start)
        if let known = best[end], (known.steps, known.inferred) <= (candidate.steps, candidate.inferred) { continue }
        best[end] = candidate
      }
    }
    guard best[versions.count - 1] != nil else { throw noPath(versions, reached: best.map { $0 != nil }, refusals) }
    var steps: [MigrationStep] = []
    var end = versions.count - 1
    while end > 0, let way = best[end] {
      steps.insert(
        try step(versions[way.before], versions[end], served[Pair(start: way.before, end: end)] ?? []), at: 0)
      end = way.before
    }
    return steps
  }

  // MARK: Versions

  private struct Pair: Hashable, Comparable {
    var start, end: Int
    func spans(_ other: Pair) -> Bool { start <= other.start && other.end <= end }
    static func < (a: Pair, b: Pair) -> Bool { (a.start, a.end) < (b.start, b.end) }
  }

  /// The source, what lies between, and the destination.
  private func versions(
    from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) throws -> [ManagedObjectModel] {
    func place(_ model: ManagedObjectModel) -> Int? {
      models.firstIndex { $0.isCompatible(with: model.versionHashes) }
    }
    // A model that is none of the versions, such as one that the store itself carries, has no place among them.
    guard let from = place(source), let to = place(destination) else { return [source, destination] }
    guard from != to else { return [source, destination] }
    guard from < to else {
      throw GodwitError(
        .noPath, "no path leads from '\(source.name)' back to '\(destination.name)'",
        cause: "the versions are " + models.map { "'\($0.name)'" }.joined(separator: ", ") + ", oldest first",
        remedy: "give their order with 'version-order', or list a mapping model for this step under 'mappings'")
    }
    return [source] + models[(from + 1)..<to] + [destination]
  }

  private func servedPairs(_ versions: [ManagedObjectModel]) -> [Pair: [FoundMapping]] {
    var served: [Pair: [FoundMapping]] = [:]
    for start in versions.indices {
      for end in versions.indices where end > start {
        let those = mappings.filter { $0.fit(versions[start], versions[end]) == .fits }
        if !those.isEmpty { served[Pair(start: start, end: end)] = those }
      }
    }
    return served
  }

  /// The mapping models that serve no step at all, and why not the whole way.
  private func misses(_ versions: [ManagedObjectModel]) -> [(origin: String, reason: String)] {
    mappings.compactMap { mapping in
      var first: String?
      for start in versions.indices {
        for end in versions.indices where end > start {
          switch mapping.fit(versions[start], versions[end]) {
          case .fits: return nil
          case .differs(let reason): first = first ?? reason
          }
        }
      }
      return (mapping.origin, first ?? "it serves no step")
    }
  }

  // MARK: Steps

  private func step(
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
        log("mapping model '\(candidate.origin)' not taken: it says the same as '\(twin.origin)'")
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
            remedy: "list the one to use under 'mappings', or narrow 'mapping-search'")
        }
        owner[entity.name] = origin
      }
    }
    let origins = loaded.map(\.origin).joined(separator: ", ")
    log("'\(source.name)' to '\(destination.name)': \(origins)")
    return MigrationStep(
      sourceModel: source, destinationModel: destination, mappingModels: loaded.map(\.mapping), origin: origins)
  }

  private func inferenceProblem(_ source: ManagedObjectModel, _ destination: ManagedObjectModel) -> String? {
    do {
      _ = try MappingModel(inferredFrom: source, to: destination)
      return nil
    } catch let error as GodwitError {
      return error.cause ?? error.message
    } catch { return "\(error)" }
  }

  // MARK: No path

  private func noPath(_ versions: [ManagedObjectModel], reached: [Bool], _ refusals: [Pair: String]) -> GodwitError {
    let furthest = reached.lastIndex(of: true) ?? 0
    var lines: [String] = []
    if furthest > 0 { lines.append("the furthest version that can be reached is '\(versions[furthest].name)'") }
    var told: [String: Int] = [:]
    for end in versions.indices where end > furthest {
      guard let reason = refusals[Pair(start: furthest, end: end)] else { continue }
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
    for (origin, reason) in misses(versions) { lines.append("mapping model '\(origin)' is not for it: \(reason)") }
    return GodwitError(
      .noPath,
      "no path leads from '\(versions[0].name)' to '\(versions[versions.count - 1].name)'",
      cause: lines.joined(separator: "\n"),
      remedy: "write a mapping model for the step that is missing; `godwit mapping new` drafts one")
  }
}
