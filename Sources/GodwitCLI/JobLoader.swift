import Foundation
import Godwit
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode
import Logging

/// Turns a manifest into a job: finds the models, reads the mappings, refuses what this version does not do.
struct JobLoader {
  let manifest: JobManifest
  let logger: Logger

  /// Reads the manifest only.
  init(manifestPath: String, logger: Logger) throws {
    manifest = try JobManifest(contentsOf: manifestPath)
    self.logger = logger
  }

  /// The job, with all that it names read and checked as far as can be without reading rows.
  func job() throws -> MigrationJob {
    try refuseUnsupported()
    let destination = try destination()
    let versions = try ModelVersions(manifest.models)
    logger.debug("models read", metadata: ["versions": "\(versions.models.map(\.model.name).joined(separator: ", "))"])
    let metadata = try StoreMetadata(readingStoreAt: manifest.source.resolved)
    let listed = try listedMappings()
    let (source, origin) = try sourceModel(
      among: versions, metadata: metadata, nameWanted: listed.lazy.compactMap(\.sourceModelName).first)
    let target = try destinationModel(among: versions)
    let mappings = try mappings(listed, from: source, to: target)
    logger.debug("models chosen", metadata: ["source": "\(source.name)", "destination": "\(target.name)"])
    return MigrationJob(
      name: manifest.job, sourcePath: manifest.source.resolved, destinationPath: destination, sourceModel: source,
      destinationModel: target, mappingModels: mappings, chunkRows: manifest.chunks.rows,
      chunkPredicates: try chunkPredicates(of: mappings), memory: manifest.memory,
      sourceModelOrigin: origin)
  }

  // MARK: Models

  /// - Parameter nameWanted: what the mappings call the source model; one that carries no name gets it.
  private func sourceModel(among versions: ModelVersions, metadata: StoreMetadata, nameWanted: String?) throws
    -> (ManagedObjectModel, origin: String?)
  {
    let path = manifest.source.resolved
    let hasHashes = !metadata.versionHashes.isEmpty
    if let assumed = manifest.assumeSourceModel {
      guard !hasHashes else {
        throw GodwitError(
          .configuration,
          "cannot assume the source model '\(assumed.value)': the store '\(path)' says which model it has",
          location: assumed.location, remedy: "remove 'assume-source-model'")
      }
      return (try versions.model(named: assumed, key: "assume-source-model"), nil)
    }
    guard hasHashes else {
      throw GodwitError(
        .noPath, "no model fits the store '\(path)': it says nothing of its model",
        remedy: "name the model version with 'assume-source-model'")
    }
    do {
      return (try versions.model(fitting: metadata, path: path), nil)
    } catch let error as GodwitError where error.code == .noPath {
      // The last resort, and an old one: what the application ships with wins where it fits.
      switch try StoredModel(inStoreAt: path, metadata: metadata, name: nameWanted) {
      case .fits(let cached):
        logger.debug("source model taken from the store", metadata: ["omissions": "\(cached.omissions.count)"])
        return (cached.model, "from the store's own cache")
      case .missing: throw error
      case .differs, .unreadable:
        var error = error
        error.cause = (error.cause.map { $0 + "\n" } ?? "") + "the model in the store's own cache does not fit either"
        throw error
      }
    }
  }

  private func destinationModel(among versions: ModelVersions) throws -> ManagedObjectModel {
    guard let name = manifest.destinationModel else { return try versions.currentModel() }
    return try versions.model(named: name, key: "destination-model")
  }

  // MARK: Mappings

  private func listedMappings() throws -> [ListedMapping] {
    guard case .files(let paths) = manifest.mappings else { return [] }
    return try paths.map { path in
      logger.debug("mapping read", metadata: ["file": "\(path.resolved)"])
      return try ListedMapping(path)
    }
  }

  private func mappings(
    _ listed: [ListedMapping], from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) throws -> [MappingModel] {
    guard manifest.mappings != .inferred else { return [try inferredMapping(from: source, to: destination)] }
    return try listed.map { try $0.model(from: source, to: destination) }
  }

  private func chunkPredicates(of mappings: [MappingModel]) throws -> [String: [ParsedPredicate]] {
    let known = mappings.flatMap(\.entityMappings).map(\.name)
    var all: [String: [ParsedPredicate]] = [:]
    for (name, texts) in manifest.chunks.by.sorted(by: { $0.key < $1.key }) {
      guard known.contains(name) else {
        throw GodwitError(
          .configuration,
          "chunks.by names the unknown mapping '\(name)'" + Spelling.suggestion(for: name, among: known),
          location: manifest.chunks.locations[name], remedy: "correct the name, or remove it from 'chunks.by'")
      }
      all[name] = try texts.map { text in
        do throws(ExpressionError) {
          return ParsedPredicate(try Predicate(parsing: text.text), source: text)
        } catch { throw GodwitError(error, in: text, what: "chunks.by of mapping '\(name)'") }
      }
    }
    return all
  }
}
