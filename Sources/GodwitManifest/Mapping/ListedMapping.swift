package import GodwitModel
package import GodwitXcode

/// A mapping file as it was read, before the models are known.
package enum ListedMapping: Sendable {
  case text(MappingModel)
  case xcode(XcodeMappingModel, location: GodwitError.Location?)

  /// Reads one mapping file, whatever its kind.
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - name: Its name in messages.
  ///   - location: Where a manifest lists it.
  package init(_ path: String, named name: String, location: GodwitError.Location? = nil) throws {
    switch XcodeFileKind.identify(path) {
    case .mappingModel?, .compiledMappingModel?:
      self = .xcode(try locating(location) { try XcodeMappingModel(contentsOf: path) }, location: location)
    case let kind?:
      throw GodwitError(
        .configuration, "cannot use mapping '\(name)': expected a mapping model, found a \(kind.rawValue)",
        location: location, remedy: "list a .mapping.yaml, .xcmappingmodel or .cdm file")
    case nil: self = .text(try MappingModel(contentsOfYAML: path))
    }
  }

  /// - Parameter bytes: The result of `bytes(at:)` for the path.
  init(bytes: [UInt8], path: String) throws {
    self =
      try XcodeFileKind.identify(path) == nil
      ? .text(MappingModel(bytes: bytes, path: path))
      : .xcode(XcodeMappingModel(bytes: bytes, path: path), location: nil)
  }

  static func bytes(at path: String) throws -> [UInt8] {
    try XcodeFileKind.identify(path) == nil
      ? YAMLFile.read(path, what: MappingModel.fileKind) : XcodeMappingModel.bytes(at: path)
  }

  /// The name of the source model, as the file gives it.
  package var sourceModelName: String? {
    switch self {
    case .text(let model): model.sourceModelName
    case .xcode(let model, _): model.sourceModelName
    }
  }

  /// The mapping model, with what Xcode's files leave open filled in from the job's models.
  package func model(from source: ManagedObjectModel, to destination: ManagedObjectModel) throws -> MappingModel {
    switch self {
    case .text(let model): return model
    case .xcode(let model, let location):
      return try locating(location) { try model.mappingModel(from: source, to: destination) }
    }
  }
}

/// The result of `body`, whose error gets a location if it has none.
package func locating<Value>(_ location: GodwitError.Location?, _ body: () throws -> Value) throws -> Value {
  do { return try body() } catch var error as GodwitError {
    error.location = error.location ?? location
    throw error
  }
}
