import GodwitInference
import GodwitModel
import GodwitXcode

/// A mapping file of a job as it was read, before the models are known.
enum ListedMapping {
  case text(MappingModel)
  case xcode(XcodeMappingModel, location: GodwitError.Location)

  /// Reads one mapping file, whatever its kind.
  init(_ path: ManifestPath) throws {
    switch XcodeFileKind.identify(path.resolved) {
    case .mappingModel?, .compiledMappingModel?:
      do {
        self = .xcode(try XcodeMappingModel(contentsOf: path.resolved), location: path.location)
      } catch var error as GodwitError {
        error.location = error.location ?? path.location
        throw error
      }
    case let kind?:
      throw GodwitError(
        .configuration, "cannot use mapping '\(path.raw)': expected a mapping model, found a \(kind.rawValue)",
        location: path.location, remedy: "list a .mapping.yaml, .xcmappingmodel or .cdm file")
    case nil: self = .text(try MappingModel(contentsOfYAML: path.resolved))
    }
  }

  /// What the file calls its source model.
  var sourceModelName: String? {
    switch self {
    case .text(let model): model.sourceModelName
    case .xcode(let model, _): model.sourceModelName
    }
  }

  /// The mapping model, with what Xcode's files leave open filled in from the job's models.
  func model(from source: ManagedObjectModel, to destination: ManagedObjectModel) throws -> MappingModel {
    switch self {
    case .text(let model): return model
    case .xcode(let model, let location):
      do { return try model.mappingModel(from: source, to: destination) } catch var error as GodwitError {
        error.location = error.location ?? location
        throw error
      }
    }
  }
}

extension JobLoader {
  /// - Throws: 69 at the key `mappings`, with every reason, when none can be inferred.
  func inferredMapping(
    from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) throws -> MappingModel {
    do { return try MappingModel(inferredFrom: source, to: destination) } catch var error as GodwitError {
      error.location = error.location ?? manifest.locations["mappings"]
      throw error
    }
  }
}
