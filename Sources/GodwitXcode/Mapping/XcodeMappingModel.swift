public import Foundation
public import GodwitModel

/// Xcode's file of a mapping model: a `.xcmappingmodel` (the folder, or the `xcmapping.xml` in it) or a compiled
/// `.cdm`.
///
/// A source form lacks the parts that Xcode's compiler fills in from the two models. `mappingModel` therefore takes the
/// two models; without them it uses those inside the file. A compiled form has every expression.
public struct XcodeMappingModel: Sendable {
  /// How a file fits two models.
  package enum Fit: Sendable, Hashable {
    /// The version hashes of both sides are equal.
    case hashes
    /// The file names versions of these names; its own copies of them are older, or cannot be read.
    case names
    /// Why it is for others.
    case none(String)
  }

  /// The file as the caller named it.
  package let path: String
  /// `.mappingModel` or `.compiledMappingModel`.
  package let kind: XcodeFileKind
  /// The versions that a source form names; nil for a compiled one, which knows hashes only.
  package let sourceModelName, destinationModelName: String?
  /// The version hashes the file was made for: of all entities in a source form, in a compiled one of those that its
  /// mappings take and make. Empty where the models inside a source form cannot be read.
  package let sourceEntityHashes, destinationEntityHashes: [String: VersionHash]
  /// The models inside a source form, from the last time that Xcode refreshed it; nil without a readable one.
  package let embeddedSourceModel, embeddedDestinationModel: ManagedObjectModel?
  /// Why a model inside the file cannot be read.
  package let embeddedModelProblem: GodwitError?

  private let content: MappingContent

  /// Reads the file. Time and memory grow with its size; at most 64 MiB, and bounded in depth and number of objects.
  ///
  /// - Parameter url: A `.xcmappingmodel`, the `xcmapping.xml` in one, or a `.cdm`.
  /// - Throws: `GodwitError` with code `.missingInput` when it is missing or damaged (an `xcmapping.xml` with line and
  ///   column), `.permission` when it cannot be read, `.configuration` when it needs something that Godwit does not
  ///   support.
  public init(contentsOf url: URL) throws { try self.init(contentsOf: url.filePath) }

  package init(contentsOf path: String) throws {
    let path = XcodeFile.trimmed(path)
    self = try Self(bytes: Self.bytes(at: path), path: path)
  }

  /// - Parameter bytes: The result of `bytes(at:)` for the path.
  package init(bytes: [UInt8], path: String) throws {
    let path = XcodeFile.trimmed(path)
    self =
      try XcodeFileKind.identify(path) == .compiledMappingModel
      ? Self(compiled: bytes, path: path) : Self(source: bytes, path: path, file: Self.file(at: path))
  }

  /// The bytes of the file that holds the mapping model.
  package static func bytes(at path: String) throws -> [UInt8] {
    switch XcodeFileKind.identify(path) {
    case .mappingModel?, .compiledMappingModel?: return try XcodeFile.bytes(of: file(at: path), what: "mapping model")
    default:
      guard try XcodeFile.form(of: path) != .missing else { throw XcodeFile.missing(path, what: "mapping model") }
      throw GodwitError(
        .missingInput, "cannot read mapping model '\(path)': expected a .xcmappingmodel or .cdm, found another name",
        remedy: "give the folder that Xcode saved the mapping model in, or what Xcode compiled from it")
    }
  }

  private static func file(at path: String) throws -> String {
    let isFolder = try XcodeFileKind.identify(path) == .mappingModel && XcodeFile.form(of: path) == .folder
    return isFolder ? XcodeFile.trimmed(path) + "/" + sourceFileName : path
  }

  static let sourceFileName = "xcmapping.xml"

  /// - Parameter file: the name of the file in messages.
  package init(source bytes: [UInt8], path: String, file: String) throws {
    var reader = try SourceMappingReader(bytes, file: file)
    self.path = path
    kind = .mappingModel
    content = try reader.content()
    sourceModelName = reader.modelName("sourcemodelpath")
    destinationModelName = reader.modelName("destinationmodelpath")
    var models: [ManagedObjectModel?] = []
    var problem: GodwitError?
    for (attribute, name) in [
      ("sourcemodeldata", sourceModelName ?? "source"), ("destinationmodeldata", destinationModelName ?? "destination"),
    ] {
      do {
        let bytes = try reader.document.bytes(attribute, of: reader.root)
        models.append(try bytes.map { try EditorModelReader.read(embedded: $0, name: name) })
      } catch let error as GodwitError {
        // The copy is used because the model itself is missing. The mappings are not affected.
        models.append(nil)
        problem = problem ?? error
      }
    }
    embeddedSourceModel = models.first ?? nil
    embeddedDestinationModel = models.last ?? nil
    embeddedModelProblem = problem
    sourceEntityHashes = embeddedSourceModel?.versionHashes ?? [:]
    destinationEntityHashes = embeddedDestinationModel?.versionHashes ?? [:]
  }

  package init(compiled bytes: [UInt8], path: String) throws {
    var reader = try CompiledMappingReader(bytes, file: path)
    self.path = path
    kind = .compiledMappingModel
    content = try reader.content()
    (sourceModelName, destinationModelName) = (nil, nil)
    (embeddedSourceModel, embeddedDestinationModel, embeddedModelProblem) = (nil, nil, nil)
    sourceEntityHashes = reader.sourceHashes
    destinationEntityHashes = reader.destinationHashes
  }

  // MARK: The mapping model

  /// The mapping model, with missing parts filled in from the models inside the file.
  ///
  /// - Throws: code `.configuration` when something is left open and those models cannot be read.
  public func mappingModel() throws -> MappingModel {
    var model: MappingModel
    do {
      model = try content.mappingModel(from: embeddedSourceModel, to: embeddedDestinationModel)
    } catch var error as GodwitError {
      error.cause = error.cause ?? embeddedModelProblem?.message
      throw error
    }
    model.sourceModelName = sourceModelName
    model.destinationModelName = destinationModelName
    model.file = path
    return model
  }

  /// The mapping model between two models, with missing parts filled in from them.
  ///
  /// - Throws: code `.configuration` when the file is for other models (`fit(from:to:)`), or lacks parts that these
  ///   models do not determine.
  public func mappingModel(
    from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) throws -> MappingModel {
    if case .none(let reason) = fit(from: source, to: destination) {
      throw GodwitError(
        .configuration,
        "cannot use mapping model '\(path)' from '\(source.name)' to '\(destination.name)': it was made for other models",
        cause: reason, remedy: "list the mapping model of this step, or refresh it in Xcode")
    }
    var model = try content.mappingModel(from: source, to: destination)
    model.file = path
    return model
  }

  /// The entity mappings by name, entities and policy, without their properties; needs no models.
  package var outline: [EntityMapping] { content.entities.map(\.outline) }

  // MARK: Which models

  /// Whether the file maps between two models: by the version hashes of both sides, otherwise by the names it gives.
  package func fit(from source: ManagedObjectModel, to destination: ManagedObjectModel) -> Fit {
    guard let difference = difference(from: source, to: destination) else { return .hashes }
    guard sourceModelName == source.name, destinationModelName == destination.name else {
      guard let sourceModelName, let destinationModelName else { return .none(difference) }
      return .none("it names '\(sourceModelName)' and '\(destinationModelName)'; \(difference)")
    }
    return .names
  }

  /// Whether the file may be for a step from this model; `fit(from:to:)` checks both ends.
  package func mayStart(from source: ManagedObjectModel) -> Bool {
    sourceModelName == source.name || mayFit(sourceEntityHashes, source)
  }

  package func mayEnd(at destination: ManagedObjectModel) -> Bool {
    destinationModelName == destination.name || mayFit(destinationEntityHashes, destination)
  }

  /// Whether the hashes may fit the model; `difference` gives the reason.
  private func mayFit(_ hashes: [String: VersionHash], _ model: ManagedObjectModel) -> Bool {
    guard !hashes.isEmpty else { return kind == .compiledMappingModel }
    guard kind == .compiledMappingModel || hashes.count == model.entities.count else { return false }
    let own = model.versionHashes
    return hashes.allSatisfy { own[$0.key] == $0.value }
  }

  /// The first difference between two models and those that the file was made for; nil if they are equal.
  package func difference(from source: ManagedObjectModel, to destination: ManagedObjectModel) -> String? {
    difference(sourceEntityHashes, source, "source") ?? difference(destinationEntityHashes, destination, "destination")
  }

  private func difference(_ hashes: [String: VersionHash], _ model: ManagedObjectModel, _ side: String) -> String? {
    let own = model.versionHashes
    guard !hashes.isEmpty else {
      // A compiled step that only adds has no source entity to compare.
      return kind == .compiledMappingModel ? nil : "the \(side) model inside it cannot be read"
    }
    let names = kind == .compiledMappingModel ? Array(hashes.keys) : Array(Set(hashes.keys).union(own.keys))
    for name in names.sorted(by: ManagedObjectModel.precedes) where hashes[name] != own[name] {
      switch (hashes[name], own[name]) {
      case (_, nil): return "its \(side) has the entity '\(name)', which '\(model.name)' lacks"
      case (nil, _): return "its \(side) lacks the entity '\(name)' of '\(model.name)'"
      default: return "the \(side) entity '\(name)' has another version hash than in '\(model.name)'"
      }
    }
    return nil
  }
}
