import Foundation
package import GodwitJob
package import GodwitModel
import GodwitPlatform
import GodwitXcode
import Logging
import Synchronization

/// `mappings: auto`: which mapping models there are, and which way they lead.
extension JobLoader {
  /// - Returns: The steps; and for the plan where mapping models were looked for, and what became of each.
  /// - Throws: 69 at the key `mappings` with the nearest miss, when no path leads to the destination.
  package func path(
    from source: ManagedObjectModel, to destination: ManagedObjectModel, among versions: ModelVersions
  ) throws -> (steps: [MigrationStep], search: MappingSearchRecord) {
    let names = try orderedNames(versions, leadingTo: destination.name)
    var found: (steps: [MigrationStep], search: MappingSearchRecord)
    do { found = try path(from: source, to: destination, among: versions, of: names) } catch let error as GodwitError
      where error.code == .noPath && looksElsewhere
    {
      let models = versions.readable(named: names)
      throw tellingElsewhere(error) { paths in
        unsearched(paths, from: source, to: destination, among: models, of: names)
      }
    }
    let inferred = found.steps.filter(\.isInferred)
      .map { Self.namesBetween($0.sourceModel.name, $0.destinationModel.name, in: names) }
    if looksElsewhere, !inferred.isEmpty {
      found.search.unsearched = linesElsewhere(of: Set(inferred.joined())) { paths in
        let models = versions.readable(named: names)
        var (others, known) = unsearched(paths, from: source, to: destination, among: models, of: names)
        others.removeAll { mapping in
          !mapping.pairs.contains { pair in
            inferred.contains { $0.contains(pair.source) && $0.contains(pair.destination) }
          }
        }
        return (others, known)
      }
    }
    for hint in hints(found.steps, among: versions, order: names) {
      logger.debug("\(hint)")
      found.search.addHint(hint)
    }
    return found
  }

  private func path(
    from source: ManagedObjectModel, to destination: ManagedObjectModel, among versions: ModelVersions,
    of names: [String]
  ) throws -> (steps: [MigrationStep], search: MappingSearchRecord) {
    let wanted = Self.namesBetween(source.name, destination.name, in: names)
    if manifest.stages.isEmpty, try foundMappings(among: [source, destination]).mappings.isEmpty,
      wanted.count < names.count || wanted.first == source.name,
      let direct = try? path(
        from: source, to: destination, among: versions, named: [source.name, destination.name], of: names)
    {
      // Only inference can serve a step, so the versions between need not be read.
      return direct
    }
    do { return try path(from: source, to: destination, among: versions, named: wanted, of: names) } catch let error
      as GodwitError where error.code == .noPath && wanted.count < names.count
    {
      // Perhaps the order is not what the names say: the error tells of all versions then.
      return try path(from: source, to: destination, among: versions, named: names, of: names)
    }
  }

  private func path(
    from source: ManagedObjectModel, to destination: ManagedObjectModel, among versions: ModelVersions,
    named wanted: [String], of names: [String]
  ) throws -> (steps: [MigrationStep], search: MappingSearchRecord) {
    let ordered = versions.readable(named: wanted)
    let found = try foundMappings(among: ordered)
    let looked =
      "searched for mapping models in " + found.places.joined(separator: ", ")
      + (found.mappings.isEmpty ? ": none found" : "")
    logger.debug("\(looked)")
    let record = Mutex(MappingSearchRecord())
    record.withLock {
      $0.add(looked)
      $0.emptyFolders = found.empty
    }
    var finder = MigrationPathFinder(
      models: ordered, mappings: found.mappings.map(\.mapping), stages: try stages(among: names),
      infers: manifest.mappings != .modelsOnly
    ) { [logger] line in
      logger.debug("\(line)")
      record.withLock { $0.add(line) }
    }
    let misses = Mutex<[(origin: String, line: String)]>([])
    finder.logMiss = { origin, line in misses.withLock { $0.append((origin, line)) } }
    do {
      let steps = try finder.path(from: source, to: destination)
      let missed = misses.withLock { $0 }
      if !missed.isEmpty, steps.contains(where: \.isInferred) {
        let all = versions.readable(named: names)
        for miss in missed
        where found.mappings.contains(where: {
          $0.mapping.origin == miss.origin && Self.isForNoStep($0.mapping, among: all)
        }) {
          record.withLock { $0.advise(miss.line) }
        }
      }
      for step in steps {
        for candidate in found.mappings
        where (step.origin ?? "").components(separatedBy: ", ").contains(candidate.mapping.origin) {
          guard let reason = candidate.staleness(step.sourceModel, step.destinationModel) else { continue }
          let line =
            "mapping model '\(candidate.mapping.origin)' is stale: \(reason); it is used because the names of its models match"
          logger.debug("\(line)")
          record.withLock { $0.addAdvice(line) }
        }
      }
      return (steps, record.withLock { $0 })
    } catch var error as GodwitError {
      if error.location == nil, error.code == .noPath {
        error.location = manifest.locations["mappings"]
        let passedOver = versions.models.filter { wanted.contains($0.name) }.compactMap(\.problem)
        let lines = [looked] + passedOver.map { "not considered: \($0.line)" }
        error.cause = ([error.cause].compactMap(\.self) + lines).joined(separator: "\n")
      }
      throw error
    }
  }

  /// Whether a mapping model starts or ends at one of the versions, and leads from none to another: it was meant for an
  /// inferred step, maybe.
  private static func isForNoStep(_ mapping: FoundMapping, among versions: [ManagedObjectModel]) -> Bool {
    let starts = versions.filter(mapping.mayStart)
    let ends = versions.filter(mapping.mayEnd)
    guard !starts.isEmpty || !ends.isEmpty else { return false }
    return !starts.contains { start in
      ends.contains { $0.name != start.name && mapping.fit(start, $0) == .fits }
    }
  }

  private struct Candidate {
    var path: String
    var mapping: FoundMapping
    /// Whether it was found beside the models, or where the manifest says, so that names are enough to know it by.
    var isBeside = true
    /// The changes since the mapping model was built for two models of these names; nil without any.
    var staleness: @Sendable (ManagedObjectModel, ManagedObjectModel) -> String? = { _, _ in nil }
  }

  /// The versions on the way, both ends included: no other is read. All of them where the ends do not say.
  static func namesBetween(_ source: String, _ destination: String, in names: [String]) -> [String] {
    guard let first = names.firstIndex(of: source), let last = names.lastIndex(of: destination), first <= last else {
      return names
    }
    return Array(names[first...last])
  }

  /// All version names, oldest first: by `version-order`, else by their natural order with what is current last.
  func orderedNames(_ versions: ModelVersions, leadingTo destination: String) throws -> [String] {
    let names = versions.namesOldestFirst(leadingTo: destination)
    guard !manifest.versionOrder.isEmpty else { return names }
    return try manifest.versionOrder.map { name in
      guard names.contains(name) else {
        throw GodwitError(
          .configuration,
          "version-order names the unknown model '\(name)'" + Spelling.suggestion(for: name, among: names),
          location: manifest.locations["version-order"],
          cause: "the models are " + names.map { "'\($0)'" }.joined(separator: ", "),
          remedy: "correct the name, or list its model under 'models'")
      }
      return name
    }
  }

  /// The result of a search.
  private struct Found {
    var mappings: [Candidate]
    /// Where it looked, as messages name it.
    var places: [String]
    /// The folders under `mapping-search` with no mapping model in them.
    var empty: [String] = []
  }

  /// The mapping models under `mapping-search`, by default beside the models and in the project around them.
  private func foundMappings(among models: [ManagedObjectModel]) throws -> Found {
    guard manifest.mappingSearch.isEmpty else { return try namedMappings(among: models) }
    let search = mappingSearch()
    if search.isCutShort {
      logger.debug(
        "the search for mapping models ended before it reached every folder; list the rest under 'mapping-search'")
    }
    let found = search.files.map { readable($0.path, among: models, isBeside: $0.isBeside) }
    var places = search.places
    if search.isCutShort { places.append("not all of it: too many folders, list the rest under 'mapping-search'") }
    return Found(mappings: Self.preferringNear(found, near: "beside the models"), places: places)
  }

  /// A mapping model beside the models is for them. One elsewhere counts only if none beside them does.
  private static func preferringNear(_ found: [Candidate], near name: String) -> [Candidate] {
    let beside = found.filter(\.isBeside)
    let near = beside.map(\.mapping)
    var elsewhere = found.filter { !$0.isBeside }
    for index in elsewhere.indices {
      let fit = elsewhere[index].mapping.fit
      elsewhere[index].mapping.fit = { source, destination in
        let own = fit(source, destination)
        guard own == .fits, let other = near.first(where: { $0.fit(source, destination) == .fits }) else { return own }
        return .differs("'\(other.origin)' \(name) serves '\(source.name)' to '\(destination.name)'")
      }
    }
    return beside + elsewhere
  }

  /// The mapping models that the search finds.
  func mappings(among models: [ManagedObjectModel]) throws -> [FoundMapping] {
    try foundMappings(among: models).mappings.map(\.mapping)
  }

  /// The files that `mapping-search` names, and the mapping models in the folders that it names and below them.
  ///
  /// A file directly in a named folder counts as a named file. A file further down may be for other models of the same
  /// names.
  private func namedMappings(among models: [ManagedObjectModel]) throws -> Found {
    var found: [Candidate] = []
    var folders: [ManifestPath] = []
    var seen: Set<String> = []
    func isNew(_ path: String) -> Bool { seen.insert(URL(filePath: path).standardizedFileURL.path).inserted }
    for place in manifest.mappingSearch {
      guard let status = FileStatus(following: place.resolved) else {
        throw GodwitError(
          .missingInput, "cannot search '\(place.raw)' for mapping models: no such file or folder",
          location: place.location, remedy: "correct 'mapping-search'")
      }
      let isBundle = XcodeFileKind.identify(place.resolved) == .mappingModel
      if status.isFolder && !isBundle {
        folders.append(place)
        for path in MappingSearch.mappingFiles(inFolder: place.resolved) where isNew(path) {
          found.append(readable(path, among: models, isBeside: true))
        }
      } else if isNew(place.resolved) {
        found.append(try self.found(place.resolved, among: models, isBeside: true))
      }
    }
    var places = manifest.mappingSearch.map { "'\($0.raw)'" }
    var empty: [String] = []
    for folder in folders {
      let search = mappingSearch(inFolder: folder.resolved)
      if search.files.isEmpty { empty.append(folder.raw) }
      if search.isCutShort { places.append("not all of '\(folder.raw)': too many folders, name those that matter") }
      for file in search.files where isNew(file.path) {
        found.append(readable(file.path, among: models, isBeside: false))
      }
    }
    if !found.isEmpty { places += empty.map { "nothing in '\($0)'" } }
    return Found(mappings: Self.preferringNear(found, near: "in a folder that is named"), places: places, empty: empty)
  }

  /// A mapping model that nobody named: one that cannot be read is of another job, maybe. One that is needed is missed
  /// all the same, and named then.
  private func readable(_ path: String, among models: [ManagedObjectModel], isBeside: Bool) -> Candidate {
    do { return try found(path, among: models, isBeside: isBeside) } catch {
      let reason = (error as? GodwitError)?.message ?? "\(error)"
      return Candidate(
        path: path,
        mapping: FoundMapping(
          origin: origin(of: path, isBeside: isBeside), fit: { _, _ in .differs("it cannot be read: \(reason)") },
          load: { _, _ in throw error }), isBeside: isBeside)
    }
  }

  /// The name of a file in messages: its own name, or its path where other files may have the same name.
  private func origin(of path: String, isBeside: Bool) -> String {
    isBeside ? URL(filePath: path).lastPathComponent : belowManifest(path)
  }

  /// A path as the manifest may write it: relative to its folder where it is below that, else the whole.
  func belowManifest(_ path: String) -> String {
    let base = URL(filePath: manifest.file).deletingLastPathComponent().standardizedFileURL.path + "/"
    let whole = URL(filePath: path).standardizedFileURL.path
    if whole + "/" == base { return "." }
    return whole.hasPrefix(base) ? String(whole.dropFirst(base.count)) : whole
  }

  private func found(_ path: String, among models: [ManagedObjectModel], isBeside: Bool) throws -> Candidate {
    let name = origin(of: path, isBeside: isBeside)
    logger.debug("mapping model found", metadata: ["file": "\(path)"])
    guard XcodeFileKind.identify(path) != nil else {
      let mapping = try textMapping(path)
      logModels(of: .text(mapping), at: path)
      var candidate = FoundMapping(mapping, origin: name, among: models)
      guard !isBeside else { return Candidate(path: path, mapping: candidate) }
      let fit = candidate.fit
      candidate.fit = { source, destination in
        let own = fit(source, destination)
        guard own == .fits, let reason = Self.missingEntity(of: mapping, source, destination) else { return own }
        return .differs("it is stale, or for other models of these names: \(reason)")
      }
      return Candidate(path: path, mapping: candidate, isBeside: false)
    }
    let model = try xcodeMapping(path)
    logModels(of: .xcode(model, location: nil), at: path)
    let staleness: @Sendable (ManagedObjectModel, ManagedObjectModel) -> String? = { source, destination in
      model.fit(from: source, to: destination) == .names ? model.difference(from: source, to: destination) : nil
    }
    var found = FoundMapping(
      origin: name,
      fit: { source, destination in
        switch model.fit(from: source, to: destination) {
        case .hashes: return .fits
        case .names where isBeside: return .fits
        case .names:
          let reason = model.difference(from: source, to: destination) ?? "its hashes differ"
          return .differs("it is stale, or for other models of these names: \(reason)")
        case .none(let reason): return .differs(reason)
        }
      },
      load: { source, destination in
        do { return try model.mappingModel(from: source, to: destination) } catch var error as GodwitError {
          guard let reason = staleness(source, destination) else { throw error }
          error.cause = ["the mapping model is stale: \(reason)", error.cause].compactMap(\.self)
            .joined(separator: "\n")
          throw error
        }
      })
    found.mayStart = { model.mayStart(from: $0) }
    found.mayEnd = { model.mayEnd(at: $0) }
    return Candidate(path: path, mapping: found, isBeside: isBeside, staleness: staleness)
  }

  /// A mapping model that the search finds, and the versions that it is for.
  struct ServedVersions {
    var path: String
    /// The name of the file in messages.
    var origin: String
    /// Versions that it leads from and to.
    var pairs: [(source: String, destination: String)]
  }

  /// All mapping models that the search finds, each with the pairs of versions that it is for.
  func servedVersions(among models: [ManagedObjectModel]) throws -> [ServedVersions] {
    try foundMappings(among: models).mappings.map { Self.served(by: $0, among: models) }
  }

  /// Those of some mapping models which, with all that the search finds, give a path where there is none without them.
  ///
  /// - Parameter paths: Files that the search does not find.
  /// - Returns: Those that the path takes; and the files that it takes of what the search finds.
  private func unsearched(
    _ paths: [String], from source: ManagedObjectModel, to destination: ManagedObjectModel,
    among models: [ManagedObjectModel], of names: [String]
  ) -> (others: [ServedVersions], known: [String]) {
    let others = paths.map { readable($0, among: models, isBeside: false) }
      .filter { !Self.served(by: $0, among: models).pairs.isEmpty }
    guard !others.isEmpty, let found = try? foundMappings(among: models).mappings,
      let hooks = try? stages(among: names)
    else { return ([], []) }
    let finder = MigrationPathFinder(
      models: models, mappings: (found + others).map(\.mapping), stages: hooks,
      infers: manifest.mappings != .modelsOnly)
    guard let steps = try? finder.path(from: source, to: destination) else { return ([], []) }
    let used = steps.flatMap { ($0.origin ?? "").components(separatedBy: ", ") }
    let taken = others.filter { used.contains($0.mapping.origin) }
    return (
      taken.map { Self.served(by: $0, among: models) },
      found.filter { used.contains($0.mapping.origin) }.map(\.path)
    )
  }

  private static func served(by candidate: Candidate, among models: [ManagedObjectModel]) -> ServedVersions {
    let mapping = candidate.mapping
    let ends = models.filter(mapping.mayEnd)
    let pairs = models.filter(mapping.mayStart).flatMap { source in
      ends.filter { $0.name != source.name && mapping.fit(source, $0) == .fits }.map { (source.name, $0.name) }
    }
    return ServedVersions(path: candidate.path, origin: mapping.origin, pairs: pairs)
  }

  /// The mapping models that lead to one of some versions, from another of them, from a model that is none of them, or
  /// from one that nobody listed; by what messages call them.
  ///
  /// - Parameter versions: Oldest first. A mapping model that leads back serves no path.
  func mappingModels(from source: ManagedObjectModel, to versions: [ManagedObjectModel]) throws -> [String] {
    try foundMappings(among: versions).mappings.filter { candidate in
      let mapping = candidate.mapping
      let ends = versions.indices.filter { mapping.mayEnd(versions[$0]) }
      let starts = versions.indices.filter { mapping.mayStart(versions[$0]) }
      let isOfSource = mapping.mayStart(source)
      // One elsewhere whose beginning nobody knows may be for other models of these names.
      guard !starts.isEmpty || isOfSource else { return !ends.isEmpty && candidate.isBeside }
      return ends.contains { end in
        if isOfSource, mapping.fit(source, versions[end]) == .fits { return true }
        return starts.contains { $0 < end && mapping.fit(versions[$0], versions[end]) == .fits }
      }
    }.map(\.mapping.origin)
  }

  /// An entity that a mapping model names and its models lack.
  private static func missingEntity(
    of mapping: MappingModel, _ source: ManagedObjectModel, _ destination: ManagedObjectModel
  ) -> String? {
    for entity in mapping.entityMappings {
      for (name, model) in [(entity.sourceEntityName, source), (entity.destinationEntityName, destination)] {
        if let name, model.entity(name) == nil { return "it names the entity '\(name)', which '\(model.name)' lacks" }
      }
    }
    return nil
  }
}
