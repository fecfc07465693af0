import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode

/// The bundle that a drafted manifest names: the one that was given, or the one in a folder that fits the store. Of a
/// folder it may be several: models that the application merges, or the bundle that took the place of the store's.
struct DraftModelChoice {
  private(set) var paths: [String]
  /// The models that form one, in the order of `paths`; empty for a single model.
  private(set) var parts: [ManifestDraft.Part] = []
  /// Models that fit the store too, and add no entity to those that form one.
  private(set) var spareParts: [String] = []
  /// The folder that was given, in which mapping models are looked for, too.
  private let folder: String?

  var isOfFolder: Bool { folder != nil }
  var isMerged: Bool { !parts.isEmpty }

  /// - Parameter target: The version that the job leads to; nil for the current one.
  init(at path: String, request: DraftRequest, metadata: StoreMetadata, target: String?) throws {
    guard XcodeFileKind.identify(path) == nil, FileStatus(following: path)?.isFolder == true else {
      (paths, folder) = ([path], nil)
      return
    }
    var found = try ModelSearch.models(inFolder: Self.trimmed(path), skipping: MappingSearch.foreignFolders).found
    if path == "." { found = found.map { String($0.dropFirst(2)) } }
    guard !found.isEmpty else {
      throw GodwitError(
        .missingInput, "cannot find a model in the folder '\(path)'",
        cause: "hidden folders and \(MappingSearch.foreignFolders.sorted().joined(separator: ", ")) are skipped",
        remedy: "give the .xcdatamodeld or .momd itself")
    }
    folder = path
    guard found.count > 1 else {
      paths = found
      return
    }
    let versions = found.map { Bundle(path: $0, versions: try? ModelVersions(references: [$0])) }
    let hashes = metadata.entityVersionHashes
    let fitting = versions.filter { $0.fits(metadata, of: request.store) }
    if fitting.isEmpty, let merged = Self.merged(versions, fitting: hashes) {
      (parts, spareParts) = (merged.parts, merged.spare)
      paths = parts.map(\.path)
      return
    }
    let chosen = try Self.choose(among: versions, fitting: fitting, request: request, hashes: hashes)
    paths = [chosen.path]
    // A new bundle may have taken the place of the store's.
    guard let target, chosen.versions?.names.contains(target) != true else { return }
    paths.append(try Self.bundle(with: target, among: Self.sourcesFirst(versions), request: request))
  }

  /// The bundle that has the version to which the job leads.
  private static func bundle(with target: String, among bundles: [Bundle], request: DraftRequest) throws -> String {
    let having = bundles.filter { $0.versions?.names.contains(target) == true }
    if let first = having.first, having.count == 1 { return first.path }
    let names = bundles.flatMap { $0.versions?.names ?? [] }.withoutRepeats()
    guard let first = having.first else {
      throw GodwitError(
        .configuration,
        "cannot lead to '\(target)': no model in '\(request.models)' has this name"
          + Spelling.suggestion(for: target, among: names),
        cause: listed(
          bundles.map { bundle in
            let names = bundle.versions?.names.map { "'\($0)'" }.joined(separator: ", ")
            return "'\(bundle.path)': \(names ?? "cannot be read")"
          }),
        remedy: "correct --to")
    }
    throw GodwitError(
      .usage, "\(having.count) models in '\(request.models)' have a version '\(target)'",
      cause: listed(having.map { "'\($0.path)'" }),
      remedy:
        "list the store's bundle and one of them, such as '\(first.path)', under `models` in a manifest, and name the version with `destination-model`"
    )
  }

  /// The first lines, and how many more there are.
  private static func listed(_ lines: [String]) -> String {
    lines.prefix(8).asLines + (lines.count > 8 ? "\nand \(lines.count - 8) more" : "")
  }

  private struct Bundle {
    var path: String
    /// Nil for a bundle that cannot be read.
    var versions: ModelVersions?

    func fits(_ metadata: StoreMetadata, of store: String) -> Bool {
      let hashes = metadata.entityVersionHashes
      guard let versions, !hashes.isEmpty else { return false }
      return (try? versions.model(fitting: metadata, path: store)) != nil
        || versions.configuration(fitting: hashes) != nil
    }

    var isSource: Bool { ["xcdatamodeld", "xcdatamodel"].contains(URL(filePath: path).pathExtension) }
  }

  /// Each model once: what was compiled from a bundle says the same as the bundle.
  private static func sourcesFirst(_ bundles: [Bundle]) -> [Bundle] {
    var stems: Set<String> = []
    return (bundles.filter(\.isSource) + bundles.filter { !$0.isSource }).filter {
      stems.insert(stem($0.path)).inserted
    }
  }

  /// The models that together are the store's, and those that fit too; nil where no such are found.
  private static func merged(
    _ bundles: [Bundle], fitting hashes: [String: VersionHash]
  ) -> (parts: [ManifestDraft.Part], spare: [String])? {
    let fitting = sourcesFirst(bundles).compactMap { bundle in
      bundle.versions?.part(of: hashes).map {
        ManifestDraft.Part(path: bundle.path, version: $0.name, entities: $0.entityNames)
      }
    }
    // The largest first, and the highest in the folder, so that a model whose entities others have adds none.
    var entities: Set<String> = []
    func rank(_ place: Int) -> (Int, Int, Int) {
      (-fitting[place].entities.count, fitting[place].path.split(separator: "/").count, place)
    }
    let needed = fitting.indices.sorted { rank($0) < rank($1) }
      .filter { place in
        guard !entities.isSuperset(of: fitting[place].entities) else { return false }
        entities.formUnion(fitting[place].entities)
        return true
      }
    guard needed.count > 1, entities == Set(hashes.keys) else { return nil }
    return (
      needed.sorted().map { fitting[$0] }, fitting.indices.filter { !needed.contains($0) }.map { fitting[$0].path }
    )
  }

  private static func trimmed(_ path: String) -> String {
    path.count > 1 && path.hasSuffix("/") ? trimmed(String(path.dropLast())) : path
  }

  private static func choose(
    among versions: [Bundle], fitting: [Bundle], request: DraftRequest, hashes: [String: VersionHash]
  ) throws -> Bundle {
    let found = versions.map(\.path)
    func command(_ path: String) -> String { "godwit init \(shell(request.store)) \(shell(path))" }
    guard let first = fitting.first else {
      let nearest = versions.compactMap { entry in
        entry.versions?.nearest(to: hashes).map { (path: entry.path, name: $0.model.name, count: $0.count) }
      }.filter { $0.count > 0 }.sorted { $0.count > $1.count }
      var lines = nearest.prefix(5).map { entry in
        "'\(entry.path)': \(entry.count) of \(hashes.count) entities fit its version '\(entry.name)'"
      }
      if lines.isEmpty { lines = found.prefix(8).map { "'\($0)': no entity fits" } }
      if found.count > lines.count { lines.append("and \(found.count - lines.count) more") }
      if nearest.count > 1 { lines += together(versions, hashes) }
      throw GodwitError(
        .noPath,
        hashes.isEmpty
          ? "cannot choose a model for '\(request.store)': the store does not say which version it has"
          : "no model in '\(request.models)' fits the store '\(request.store)'",
        cause: lines.asLines,
        remedy: hashes.isEmpty
          ? "give the bundle and the version: `\(command(found[0])) --from VERSION`"
          : nearest.first.map { "give the bundle yourself, if one of these is right: `\(command($0.path))`" }
            ?? "give the bundle or the project's folder of the application that wrote the store")
    }
    // A compiled model says the same as the source that it was compiled from.
    let isSame = fitting.allSatisfy { entry in
      stem(entry.path) == stem(first.path) && entry.versions?.names.sorted() == first.versions?.names.sorted()
        && current(entry.versions) == current(first.versions)
    }
    let sources = fitting.filter(\.isSource)
    if fitting.count == 1 { return first }
    if isSame, sources.count == 1 { return sources[0] }
    throw GodwitError(
      .usage, "\(fitting.count) models in '\(request.models)' fit the store '\(request.store)'",
      cause: listed(fitting.map { "'\($0.path)'" }),
      remedy: "name one of them: `\(command(first.path))`")
  }

  /// The reason why several models, which an application may merge, are not the store's together.
  private static func together(_ bundles: [Bundle], _ hashes: [String: VersionHash]) -> [String] {
    let models = bundles.flatMap { $0.versions?.models.compactMap(\.readable) ?? [] }
    let missing = hashes.keys.filter { name in !models.contains { $0.versionHashes[name] == hashes[name] } }.sorted()
    guard let first = missing.first else {
      return ["together they have each entity, but no versions of them are exactly the store's"]
    }
    let more = missing.count > 1 ? " and \(missing.count - 1) more" : ""
    return [
      "together they have \(hashes.count - missing.count) of \(hashes.count): none has the store's '\(first)'\(more)"
    ]
  }

  private static func stem(_ path: String) -> String { URL(filePath: path).deletingPathExtension().lastPathComponent }

  private static func current(_ versions: ModelVersions?) -> String? { (try? versions?.currentModel())?.name }

  /// A path as a word of the shell.
  private static func shell(_ path: String) -> String {
    let isPlain = path.utf8.allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
        || "/._-+#".utf8.contains(byte)
    }
    return isPlain ? path : "'" + path.replacing(scalar: "'", with: "'\\''") + "'"
  }

  // MARK: Mapping models

  /// The folders for `mapping-search`: those in the given folder that hold a mapping model for these versions, where
  /// the search of a job would not find all of them.
  func mappingFolders(in loader: JobLoader, models: [ManagedObjectModel], request: DraftRequest) throws -> [String] {
    guard let folder else { return [] }
    let search = request.mappingFiles.search(besideModels: paths)
    let known = Set(search.files.map { URL(filePath: $0.path).standardizedFileURL.path })
    let walk = request.mappingFiles.search(inFolders: [Self.trimmed(folder)])
    func isKnown(_ path: String) -> Bool { known.contains(URL(filePath: path).standardizedFileURL.path) }
    guard walk.files.contains(where: { !isKnown($0.path) }) else { return [] }
    func folders(_ paths: [String]) -> [String] { paths.map(Self.folder).withoutRepeats() }
    var manifest = loader.manifest
    manifest.mappingSearch = folders(walk.files.map(\.path)).map {
      ManifestPath(raw: $0, resolved: $0, location: .init(file: "job.yaml", line: 1, column: 1))
    }
    var all = JobLoader(manifest: manifest, logger: loader.logger, policies: [:])
    all.mappingFiles = request.mappingFiles
    // One that cannot be read and names a version stops the job, if its path needs the version.
    let serving = try all.finder.servedVersions(among: models).filter { mapping in
      mapping.problem == nil
        ? !mapping.pairs.isEmpty : request.mappingFiles.outline(mapping.path).concerns(models) == true
    }.map(\.path)
    return serving.allSatisfy(isKnown) ? [] : folders(serving).map(request.spelled)
  }

  private static func folder(of path: String) -> String {
    let end = path.lastIndex(of: "/")
    return end.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
  }
}
