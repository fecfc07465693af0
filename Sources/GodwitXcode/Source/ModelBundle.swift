public import Foundation
public import GodwitModel

/// The versions of a model in one place: a `.xcdatamodeld`, a lone `.xcdatamodel` with one version, or their compiled
/// forms, a `.momd` or a lone `.mom`.
///
/// Xcode stores no order of versions. `versions` is in natural order: `Model 2` before `Model 10`.
public struct ModelBundle: Sendable, Hashable {
  package let path: String
  /// The place of the model.
  package var url: URL { URL(filePath: path) }
  /// Version names, without `.xcdatamodel` or `.mom`.
  public let versions: [String]
  /// The version that `.xccurrentversion` or `VersionInfo.plist` names, or the only one; nil when it is not known.
  public let currentVersion: String?

  /// Why the marker of the current version cannot be read.
  private var markerProblem = Derived<GodwitError?>(nil)
  /// Whether there is such a marker that cannot be read; `currentModel()` throws why.
  package var isCurrentVersionDamaged: Bool { markerProblem.value != nil }
  private let kind: XcodeFileKind
  /// The published hashes by version name.
  private var published: [String: [String: VersionHash]] = [:]

  /// Reads the names of the versions, but not the versions.
  ///
  /// - Parameter url: A model, a `contents` or `elements` file inside one, or a folder with one model in it: a
  ///   framework, an `.app`, a test bundle, a folder of sources.
  /// - Throws: code `.missingInput` when the path holds no model source, `.permission` when it cannot be read.
  public init(contentsOf url: URL) throws { try self.init(contentsOf: url.filePath) }

  package init(contentsOf path: String) throws {
    let path = try ModelSearch.model(at: XcodeFile.trimmed(path))
    self.path = path
    guard let kind = XcodeFileKind.identify(path) else {
      guard try XcodeFile.form(of: path) != .missing else { throw XcodeFile.missing(path, what: "model") }
      throw GodwitError(
        .missingInput,
        "cannot read model '\(path)': expected a .xcdatamodel, .xcdatamodeld, .mom or .momd, found another name",
        remedy: "give the folder that Xcode saved the model in, or what Xcode compiled from it")
    }
    self.kind = kind
    switch kind {
    case .model, .archivedModel, .compiledModel:
      versions = [XcodeFile.stem(path)]
      currentVersion = versions.first
      guard try XcodeFile.form(of: path) != .missing else { throw XcodeFile.missing(path, what: "model") }
    case .modelBundle:
      versions = try XcodeFile.names(inFolder: path, what: "model")
        .filter { XcodeFile.pathExtension($0) == "xcdatamodel" }
        .map(XcodeFile.stem).sorted(by: Self.precedes)
      guard !versions.isEmpty else {
        throw GodwitError(
          .missingInput, "cannot read model '\(path)': expected .xcdatamodel folders, found none",
          remedy: "restore the folder from version control")
      }
      var named: String?
      do { named = try Self.namedCurrentVersion(path) } catch let error as GodwitError { markerProblem.value = error }
      currentVersion = named ?? (versions.count == 1 ? versions.first : nil)
    case .compiledModelBundle:
      let names = try XcodeFile.names(inFolder: path, what: "model")
      versions = names.filter { XcodeFile.pathExtension($0) == "mom" }.map(XcodeFile.stem).sorted(by: Self.precedes)
      guard !versions.isEmpty else {
        throw GodwitError(
          .missingInput, "cannot read model '\(path)': expected .mom files, found none",
          remedy: "compile the model again, or give the .xcdatamodeld")
      }
      let info = names.contains(VersionInfo.fileName) ? try VersionInfo(contentsOf: path) : nil
      currentVersion = info?.currentVersion ?? (versions.count == 1 ? versions.first : nil)
      published = info?.versionHashes ?? [:]
    case .optimisedModel:
      throw GodwitError(
        .missingInput, "cannot read model '\(path)': expected a .mom, found its optimised form, an .omo",
        remedy: "give the .mom of the same name beside it")
    case .mappingModel, .compiledMappingModel:
      throw GodwitError(
        .missingInput, "cannot read model '\(path)': expected a model, found a \(kind.rawValue)",
        remedy: "give it as a mapping, and the .xcdatamodeld as the model")
    }
  }

  /// The paths of the models in a folder and below it, sorted by name. Links are not followed, and hidden folders left
  /// out.
  ///
  /// - Parameter foreign: Names of folders that are passed over.
  package static func paths(inFolder folder: String, skipping foreign: Set<String>) throws -> [String] {
    try ModelSearch.models(inFolder: XcodeFile.trimmed(folder), skipping: foreign).found
  }

  /// The order of version names: numbers inside them by value, case ignored, then by byte.
  package static func precedes(_ a: String, _ b: String) -> Bool {
    switch a.compare(b, options: [.numeric, .caseInsensitive]) {
    case .orderedAscending: true
    case .orderedDescending: false
    case .orderedSame: Text(a) < Text(b)
    }
  }

  // MARK: Models

  /// The model of a version. Its hashes are those of `VersionInfo.plist`, if the file exists.
  ///
  /// - Throws: code `.missingInput` when the version does not exist or cannot be read.
  public func model(named version: String) throws -> ManagedObjectModel {
    guard let known = known(version) else {
      throw GodwitError(
        .missingInput,
        "cannot find version '\(version)' of model '\(path)'" + Spelling.suggestion(for: version, among: versions),
        cause: versionList, remedy: "give one of these versions, without .xcdatamodel or .mom")
    }
    let model = try read(known)
    // A version that `VersionInfo.plist` lists with other entities was put into the folder later.
    return published[version].flatMap(model.adopting) ?? model
  }

  /// The hashes that `VersionInfo.plist` or an adopted file publishes for a version; nil where none does.
  package func publishedVersionHashes(of version: String) -> [String: VersionHash]? { published[version] }

  /// Gives the versions the hashes that are published for them.
  ///
  /// A version that cannot be read is skipped.
  ///
  /// - Throws: as `PublishedVersionHashes.adopted(by:)`.
  package mutating func adopt(_ hashes: PublishedVersionHashes) throws {
    for model in try hashes.adopted(by: versions.compactMap { try? model(named: $0) })
    where !model.publishedVersionHashes.isEmpty {
      published[model.name] = model.publishedVersionHashes
    }
  }

  private func read(_ version: String) throws -> ManagedObjectModel {
    switch kind {
    case .compiledModel: return try Self.compiledModel(path, name: version)
    case .compiledModelBundle: return try Self.compiledModel("\(path)/\(version).mom", name: version)
    case .modelBundle: return try Self.sourceModel("\(path)/\(version).xcdatamodel", name: version)
    default: return try Self.sourceModel(path, name: version)
    }
  }

  private static func compiledModel(_ file: String, name: String) throws -> ManagedObjectModel {
    let bytes = try XcodeFile.bytes(of: file, what: "compiled model")
    do {
      guard !bytes.isEmpty else {
        throw GodwitError(
          .missingInput, "cannot read compiled model '\(name)': the file is empty", remedy: "compile the model again")
      }
      return try ManagedObjectModel(compiled: bytes, name: name)
    } catch var error as GodwitError {
      error.context = error.context ?? file
      throw error
    }
  }

  private static func sourceModel(_ folder: String, name version: String) throws -> ManagedObjectModel {
    let contents = folder + "/contents"
    if XcodeFileKind.identify(folder) == .archivedModel {
      let elements = folder + "/elements"
      let bytes = try XcodeFile.bytes(of: elements, what: "model elements")
      return try EditorModelReader.read(elements: bytes, name: version, file: elements)
    }
    if XcodeFile.lastComponent(folder) == ModelSearch.contentsName, try XcodeFile.form(of: folder) == .file {
      let bytes = try XcodeFile.bytes(of: folder, what: "model contents")
      return try ModelContents.read(bytes, file: folder, modelName: version)
    }
    guard try XcodeFile.form(of: folder) == .folder else {
      throw GodwitError(
        .missingInput, "cannot read model '\(folder)': expected a folder with a contents file, found none")
    }
    let bytes = try XcodeFile.bytes(of: contents, what: "model contents")
    return try ModelContents.read(bytes, file: contents, modelName: version)
  }

  /// - Throws: code `.missingInput` when no current version is set, or the one set does not exist.
  public func currentModel() throws -> ManagedObjectModel {
    let marker = kind == .compiledModelBundle ? VersionInfo.fileName : ".xccurrentversion"
    let choice = "give the version as '\(path)#\(versions.last ?? "Version")'"
    let remedy =
      (kind == .compiledModelBundle ? "compile the model again" : "set the current version in Xcode") + ", or " + choice
    guard let currentVersion else {
      if var problem = markerProblem.value {
        if problem.code == .missingInput { problem.remedy = remedy }
        throw problem.about(.currentVersion)
      }
      throw GodwitError(
        .missingInput,
        "cannot tell the current version of model '\(path)': expected its name in \(marker), found none",
        cause: versionList, remedy: remedy
      ).about(.currentVersion)
    }
    guard known(currentVersion) != nil else {
      throw GodwitError(
        .missingInput,
        "cannot find the current version '\(currentVersion)' of model '\(path)', which \(marker) names"
          + Spelling.suggestion(for: currentVersion, among: versions),
        cause: versionList, remedy: remedy
      ).about(.currentVersion)
    }
    return try model(named: currentVersion)
  }

  /// The name of a version as its file spells it; nil if there is no such version.
  private func known(_ version: String) -> String? {
    // A file may spell its name in other bytes than the one who names it: Apple's systems do.
    versions.first { Text($0) == Text(version) } ?? versions.first { $0 == version }
  }

  /// The names of the versions that can be read, in the order of `versions`.
  package var readableVersions: [String] { versions.filter { (try? read($0)) != nil } }

  /// All versions, in the order of `versions`. Every call reads them again.
  public func models() throws -> [ManagedObjectModel] { try versions.map(model(named:)) }

  private var versionList: String { "it has the versions " + versions.map { "'\($0)'" }.joined(separator: ", ") }

  // MARK: Reading

  private static func namedCurrentVersion(_ path: String) throws -> String? {
    let marker = path + "/.xccurrentversion"
    guard try XcodeFile.form(of: marker) != .missing else { return nil }
    let bytes = try XcodeFile.bytes(of: marker, what: "current version")
    let list = try? PropertyListSerialization.propertyList(from: Data(bytes), format: nil)
    guard let list = list as? [String: Any] else {
      let text = String(decoding: bytes, as: UTF8.self)
      throw GodwitError(
        .missingInput,
        "cannot read '\(marker)': expected a property list with a dictionary, found "
          + (MarkupReader.hasConflictMarker(text) ? "the conflict markers of an unfinished merge" : "something else"),
        remedy: "set the current version in Xcode")
    }
    guard let value = list["_XCCurrentVersionName"] else { return nil }
    guard let name = value as? String, !name.isEmpty else {
      throw GodwitError(
        .missingInput,
        "cannot read '\(marker)': expected a version name in _XCCurrentVersionName, found something else",
        remedy: "set the current version in Xcode")
    }
    return XcodeFile.pathExtension(name) == "xcdatamodel" ? XcodeFile.stem(name) : name
  }
}
