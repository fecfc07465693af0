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
    let ordered = try orderedModels(versions)
    let finder = MigrationPathFinder(
      models: ordered, mappings: try foundMappings(among: ordered), stages: try stages(among: ordered)
    ) { [logger] line in logger.debug("\(line)") }
    do { return try finder.path(from: source, to: destination) } catch var error as GodwitError {
      if error.location == nil, error.code == .noPath { error.location = manifest.locations["mappings"] }
      throw error
    }
  }

  /// All versions, oldest first: by `version-order`, else by the natural order of their names with what is current last.
  private func orderedModels(_ versions: ModelVersions) throws -> [ManagedObjectModel] {
    let models = versions.models.map(\.model)
    guard !manifest.versionOrder.isEmpty else { return versions.oldestFirst }
    let names = models.map(\.name)
    return try manifest.versionOrder.map { name in
      guard let model = models.first(where: { $0.name == name }) else {
        throw GodwitError(
          .configuration,
          "version-order names the unknown model '\(name)'" + Spelling.suggestion(for: name, among: names),
          location: manifest.locations["version-order"],
          cause: "the models are " + names.map { "'\($0)'" }.joined(separator: ", "),
          remedy: "correct the name, or list its model under 'models'")
      }
      return model
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
    var found = FoundMapping(
      origin: name,
      fit: { source, destination in
        switch model.fit(from: source, to: destination) {
        case .hashes, .names: .fits
        case .none(let reason): .differs(reason)
        }
      }, load: { try model.mappingModel(from: $0, to: $1) })
    found.mayStart = { model.mayStart(from: $0) }
    found.mayEnd = { model.mayEnd(at: $0) }
    return found
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
