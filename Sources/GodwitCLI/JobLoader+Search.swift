import Foundation
import Godwit
import GodwitManifest
import GodwitModel
import GodwitXcode
import Logging

/// `mappings: auto`: which mapping models there are, and which way they lead.
extension JobLoader {
  /// - Throws: 69 at the key `mappings` with the nearest miss, when no path leads to the destination.
  func path(
    from source: ManagedObjectModel, to destination: ManagedObjectModel, among versions: ModelVersions
  ) throws -> [MigrationStep] {
    let names = try orderedNames(versions)
    let wanted = Self.namesBetween(source.name, destination.name, in: names)
    let ordered = versions.readable(named: wanted)
    let finder = MigrationPathFinder(
      models: ordered, mappings: try foundMappings(among: ordered), stages: try stages(among: names)
    ) { [logger] line in logger.debug("\(line)") }
    do { return try finder.path(from: source, to: destination) } catch var error as GodwitError {
      if error.location == nil, error.code == .noPath { error.location = manifest.locations["mappings"] }
      if error.code == .noPath {
        let passedOver = versions.models.filter { wanted.contains($0.name) }.compactMap(\.problem)
        let lines = passedOver.map { "not considered: \($0.line)" }
        error.cause = ([error.cause].compactMap { $0 } + lines).joined(separator: "\n")
      }
      throw error
    }
  }

  /// The versions on the way, both ends included: no other is read. All of them where the ends do not say.
  private static func namesBetween(_ source: String, _ destination: String, in names: [String]) -> [String] {
    guard let first = names.firstIndex(of: source), let last = names.lastIndex(of: destination), first <= last else {
      return names
    }
    return Array(names[first...last])
  }

  /// All version names, oldest first: by `version-order`, else by their natural order.
  private func orderedNames(_ versions: ModelVersions) throws -> [String] {
    var seen: Set<String> = []
    let names = versions.names.filter { seen.insert($0).inserted }
    guard !manifest.versionOrder.isEmpty else { return names.sorted(by: ModelBundle.precedes) }
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

  /// The mapping models under `mapping-search`, by default beside the models; in the order of their names.
  private func foundMappings(among models: [ManagedObjectModel]) throws -> [FoundMapping] {
    var paths: [(path: String, isNamed: Bool)] = []
    if manifest.mappingSearch.isEmpty {
      for model in manifest.models {
        let bundle = ModelReference(parsing: model.resolved).path
        let folder = URL(filePath: bundle).deletingLastPathComponent().path
        paths += Self.mappingFiles(inFolder: folder).map { ($0, false) }
      }
    }
    for place in manifest.mappingSearch {
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: place.resolved, isDirectory: &isFolder) else {
        throw GodwitError(
          .missingInput, "cannot search '\(place.raw)' for mapping models: no such file or folder",
          location: place.location, remedy: "correct 'mapping-search'")
      }
      let isBundle = XcodeFileKind.identify(place.resolved) == .mappingModel
      paths +=
        isFolder.boolValue && !isBundle
        ? Self.mappingFiles(inFolder: place.resolved).map { ($0, false) } : [(place.resolved, true)]
    }
    var seen: Set<String> = []
    return try paths.filter { seen.insert($0.path).inserted }.compactMap { path, isNamed in
      do { return try found(path, among: models) } catch let error as GodwitError where !isNamed {
        // Of another job, maybe; one that is needed is missed all the same, and named then.
        logger.debug("mapping model '\(path)' not taken: \(error.message)")
        let name = URL(filePath: path).lastPathComponent
        return FoundMapping(
          origin: name, fit: { _, _ in .differs("it cannot be read: \(error.message)") },
          load: { _, _ in throw error })
      }
    }
  }

  private func found(_ path: String, among models: [ManagedObjectModel]) throws -> FoundMapping {
    let name = URL(filePath: path).lastPathComponent
    logger.debug("mapping model found", metadata: ["file": "\(path)"])
    guard XcodeFileKind.identify(path) != nil else {
      return FoundMapping(try MappingModel(contentsOfYAML: path), origin: name, among: models)
    }
    let model = try XcodeMappingModel(contentsOf: path)
    return FoundMapping(
      origin: name,
      fit: { source, destination in
        switch model.fit(from: source, to: destination) {
        case .hashes, .names: .fits
        case .none(let reason): .differs(reason)
        }
      }, load: { try model.mappingModel(from: $0, to: $1) })
  }

  private static func mappingFiles(inFolder folder: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { name in
      if name.hasSuffix(".mapping.yaml") || name.hasSuffix(".mapping.yml") { return true }
      let kind = XcodeFileKind.identify(folder + "/" + name)
      return kind == .mappingModel || kind == .compiledMappingModel
    }.sorted(by: ModelBundle.precedes).map { folder + "/" + $0 }
  }
}
