public import Foundation
public import GodwitJob
public import GodwitModel

extension FoundMapping {
  /// The mapping models in files and folders, for a search for the way between versions (`MigrationPathFinder`).
  ///
  /// Takes `.xcmappingmodel`, `.cdm`, `*.mapping.yaml` and `*.mapping.yml`. In a folder it looks further down, too, as
  /// the key `mapping-search` of a manifest does.
  ///
  /// - Parameters:
  ///   - urls: Files and folders.
  ///   - models: The versions between which a way is looked for, oldest first. Text files name theirs.
  /// - Throws: `.missingInput` (66) when there is nothing at one of the paths; `.configuration` (78), `.permission` (77)
  ///   or `.inputOutput` (74) when a mapping model that may be for these versions cannot be read.
  public static func search(in urls: [URL], among models: [ManagedObjectModel]) throws -> [FoundMapping] {
    guard !urls.isEmpty else { return [] }
    let named = urls.map { url in
      ManifestPath(raw: url.filePath, resolved: url.filePath, location: .init(file: url.filePath, line: 0, column: 0))
    }
    let finder = MappingFinder(models: [], named: named, base: FileManager.default.currentDirectoryPath)
    try finder.refuseUnreadable(among: models)
    return try finder.found(among: models).mappings.map(\.mapping)
  }
}

extension MappingModel {
  /// The mapping model between two models, out of files and folders; Core Data's
  /// `NSMappingModel(from:forSourceModel:destinationModel:)`.
  ///
  /// Mapping models of Xcode are matched by version hashes, else by the names of their models. Text files are matched
  /// by name. See ``FoundMapping/search(in:among:)`` for what is found.
  ///
  /// - Parameters:
  ///   - urls: Files and folders.
  ///   - source: The model of the store.
  ///   - destination: The model of the new store.
  /// - Returns: nil when none is for these two models.
  /// - Throws: As ``FoundMapping/search(in:among:)``; `.configuration` (78) when several that differ are for the two
  ///   models. Several that go together are for a `MigrationStep`, which `MigrationPathFinder` makes.
  public init?(
    from urls: [URL], forSourceModel source: ManagedObjectModel, destinationModel destination: ManagedObjectModel
  ) throws {
    let found = try FoundMapping.search(in: urls, among: [source, destination])
      .filter { $0.fit(source, destination) == .fits }
    var loaded: [(mapping: MappingModel, origin: String)] = []
    for candidate in found {
      let mapping = try candidate.load(source, destination)
      let text = MigrationJob.canonicalText(of: [mapping])
      guard !loaded.contains(where: { MigrationJob.canonicalText(of: [$0.mapping]) == text }) else { continue }
      loaded.append((mapping, candidate.origin))
    }
    guard let first = loaded.first else { return nil }
    guard loaded.count == 1 else {
      let names = loaded.map { "'\($0.origin)'" }.joined(separator: ", ")
      throw GodwitError(
        .configuration,
        "cannot choose between mapping models from '\(source.name)' to '\(destination.name)': \(names)",
        remedy: "name one of the files, or let `MigrationPathFinder` put partial mapping models together")
    }
    self = first.mapping
  }
}
