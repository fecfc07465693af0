import Foundation
package import GodwitJob
package import GodwitModel
import GodwitXcode

/// Finds the mapping models that may serve the steps between versions: under the key `mapping-search` of a manifest, by
/// default beside the models and in the project around them.
package struct MappingFinder {
  /// The bundles that hold the versions.
  package var models: [String]
  /// The files and folders that are searched in place of the project.
  package var named: [ManifestPath]
  /// The folder that messages name files from.
  package var base: String
  package var files: MappingFiles
  /// Hears of each mapping model that was read.
  package var heard: (_ mapping: ListedMapping, _ path: String) -> Void = { _, _ in }

  package init(models: [String], named: [ManifestPath] = [], base: String, files: MappingFiles = MappingFiles()) {
    self.models = models.map(files.model(at:)).withoutRepeats()
    self.named = named
    self.base = Self.whole(base)
    self.files = files
  }

  /// A file that the search has found.
  package struct Candidate {
    package var path: String
    package var mapping: FoundMapping
    /// Whether it was found beside the models, or where the manifest says, so that names are enough to know it by.
    package var isBeside = true
    /// The changes since the mapping model was built for two models of these names; nil without any.
    package var staleness: @Sendable (ManagedObjectModel, ManagedObjectModel) -> String? = { _, _ in nil }
    /// Why it cannot be read, if it may be a mapping model at all.
    package var problem: GodwitError?
  }

  /// The result of a search.
  package struct Found {
    package var mappings: [Candidate] = []
    /// Where it looked, as messages name it.
    package var places: [String] = []
    /// The folders under `mapping-search` with no mapping model in them.
    package var empty: [String] = []
  }

  static func whole(_ path: String) -> String { URL(filePath: path).standardizedFileURL.path }

  // MARK: The search

  /// - Parameter versions: The versions that mapping files name.
  package func found(among versions: [ManagedObjectModel]) throws -> Found {
    guard named.isEmpty else { return try namedMappings(among: versions) }
    let search = files.search(besideModels: models)
    let found = search.files.map { readable($0.path, among: versions, isBeside: $0.isBeside) }
    var places = search.places + closedPlaces(search)
    if search.isCutShort { places.append("not all of it: too many folders, list the rest under 'mapping-search'") }
    return Found(mappings: Self.preferringNear(found, near: "beside the models"), places: places)
  }

  private func closedPlaces(_ search: MappingSearch) -> [String] {
    search.closed.map { "not in '\(shown($0))', which cannot be read" }
  }

  /// Whether models lie in the project that are not the job's.
  package var hasOtherModels: Bool {
    let search = files.search(besideModels: models)
    let own = Set(models.map(Self.whole))
    func stem(_ path: String) -> String { URL(filePath: path).deletingPathExtension().lastPathComponent }
    let stems = Set(own.map(stem))
    return search.models.contains { path in
      // A compiled bundle has the name of its source.
      let isCompiled = ["mom", "momd"].contains(URL(filePath: path).pathExtension.lowercased())
      return !own.contains(Self.whole(path)) && !(isCompiled && stems.contains(stem(path)))
    }
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

  /// The files that `mapping-search` names, and the mapping models in the folders that it names and below them.
  ///
  /// A file directly in a named folder counts as a named file. A file further down may be for other models of the same
  /// names.
  private func namedMappings(among models: [ManagedObjectModel]) throws -> Found {
    var found: [Candidate] = []
    var folders: [ManifestPath] = []
    var seen: Set<Text> = []
    func isNew(_ path: String) -> Bool { seen.insert(Text(Self.whole(path))).inserted }
    for place in named {
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
        do { found.append(try candidate(place.resolved, among: models, isBeside: true)) } catch let error
          as GodwitError
        { throw Self.refusal(of: place.resolved, error, reason: "the file itself is named for the search") }
      }
    }
    var places = named.map { "'\($0.raw)'" }
    var empty: [String] = []
    for folder in folders {
      let search = files.search(inFolders: [folder.resolved])
      if search.files.isEmpty { empty.append(folder.raw) }
      if search.isCutShort { places.append("not all of '\(folder.raw)': too many folders, name those that matter") }
      places += closedPlaces(search)
      for file in search.files where isNew(file.path) {
        found.append(readable(file.path, among: models, isBeside: false))
      }
    }
    if !found.isEmpty { places += empty.map { "nothing in '\($0)'" } }
    return Found(mappings: Self.preferringNear(found, near: "in a folder that is named"), places: places, empty: empty)
  }

  // MARK: A file

  /// A mapping model that nobody named. One that cannot be read may be for other models.
  func readable(_ path: String, among models: [ManagedObjectModel], isBeside: Bool) -> Candidate {
    do { return try candidate(path, among: models, isBeside: isBeside) } catch {
      let problem = error as? GodwitError ?? GodwitError(.missingInput, "cannot read '\(path)'", cause: "\(error)")
      let outline = files.outline(path)
      let reason =
        outline.isForeign ? "it has no key of a mapping model" : "it cannot be read: \(problem.message)"
      var mapping = FoundMapping(
        origin: origin(of: path, isBeside: isBeside), fit: { _, _ in .differs(reason) },
        load: { _, _ in throw problem })
      mapping.mayStart = outline.mayStart
      mapping.mayEnd = outline.mayEnd
      return Candidate(
        path: path, mapping: mapping, isBeside: isBeside, problem: outline.isForeign ? nil : problem)
    }
  }

  /// The name of a file in messages: its own name, or its path where other files may have the same name.
  private func origin(of path: String, isBeside: Bool) -> String {
    isBeside ? URL(filePath: path).lastPathComponent : shown(path)
  }

  /// A path as the manifest may write it: relative to its folder where it is below that, else the whole.
  package func shown(_ path: String) -> String {
    let whole = Self.whole(path)
    if whole == base { return "." }
    return whole.hasPrefix(base + "/") ? String(whole.dropFirst(base.utf8.count + 1)) : whole
  }

  private func candidate(_ path: String, among models: [ManagedObjectModel], isBeside: Bool) throws -> Candidate {
    let name = origin(of: path, isBeside: isBeside)
    let read = try files.mapping(path)
    heard(read, path)
    switch read {
    case .text(let mapping):
      var candidate = FoundMapping(mapping, origin: name, among: models)
      guard !isBeside else { return Candidate(path: path, mapping: candidate) }
      let fit = candidate.fit
      candidate.fit = { source, destination in
        let own = fit(source, destination)
        guard own == .fits, let reason = Self.missingEntity(of: mapping, source, destination) else { return own }
        return .differs("it is stale, or for other models of these names: \(reason)")
      }
      return Candidate(path: path, mapping: candidate, isBeside: false)
    case .xcode(let model, _): return xcode(model, path: path, origin: name, isBeside: isBeside)
    }
  }

  private func xcode(_ model: XcodeMappingModel, path: String, origin: String, isBeside: Bool) -> Candidate {
    let staleness: @Sendable (ManagedObjectModel, ManagedObjectModel) -> String? = { source, destination in
      model.fit(from: source, to: destination) == .names ? model.difference(from: source, to: destination) : nil
    }
    var found = FoundMapping(
      origin: origin,
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

  // MARK: The versions of a file

  /// A mapping model that the search finds, and the versions that it is for.
  package struct ServedVersions {
    package var path: String
    /// The name of the file in messages.
    package var origin: String
    /// Versions that it leads from and to.
    package var pairs: [(source: String, destination: String)]
    /// Why it cannot be read.
    package var problem: GodwitError?
  }

  /// All mapping models that the search finds, each with the pairs of versions that it is for.
  package func servedVersions(among models: [ManagedObjectModel]) throws -> [ServedVersions] {
    try found(among: models).mappings.map { Self.served(by: $0, among: models) }
  }

  static func served(by candidate: Candidate, among models: [ManagedObjectModel]) -> ServedVersions {
    let mapping = candidate.mapping
    let ends = models.filter(mapping.mayEnd)
    let pairs = models.filter(mapping.mayStart).flatMap { source in
      ends.filter { $0.name != source.name && mapping.fit(source, $0) == .fits }.map { (source.name, $0.name) }
    }
    return ServedVersions(path: candidate.path, origin: mapping.origin, pairs: pairs, problem: candidate.problem)
  }

  /// The mapping models that lead to one of some versions, from another of them, from a model that is none of them, or
  /// from one that nobody listed; by what messages call them.
  ///
  /// - Parameter versions: Oldest first. A mapping model that leads back serves no path.
  package func mappingModels(from source: ManagedObjectModel, to versions: [ManagedObjectModel]) throws -> [String] {
    try found(among: versions).mappings.filter { candidate in
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

  /// The files that the search looks at, readable or not.
  package var searchedFiles: [String] {
    guard !named.isEmpty else { return files.search(besideModels: models).files.map(\.path) }
    return named.flatMap { path -> [String] in
      let isFolder = FileStatus(following: path.resolved)?.isFolder == true
      let isBundle = XcodeFileKind.identify(path.resolved) != nil
      return isFolder && !isBundle ? files.search(inFolders: [path.resolved]).files.map(\.path) : [path.resolved]
    }
  }
}
