import Foundation
package import GodwitJob
package import GodwitModel
import Logging

/// `mappings: auto`: which way the mapping models lead that the search finds.
extension JobLoader {
  /// The search for mapping models beside the models and around them. A folder among `models` stands for the bundle in
  /// it.
  var finder: MappingFinder {
    var finder = MappingFinder(
      models: manifest.models.map(\.resolved), named: manifest.mappingSearch,
      base: URL(filePath: manifest.file).deletingLastPathComponent().path, files: mappingFiles)
    finder.heard = { mapping, path in
      logger.debug("mapping model found", metadata: ["file": "\(path)"])
      logModels(of: mapping, at: path)
    }
    return finder
  }

  /// Refuses mapping models that cannot be read and may be for steps between some versions, oldest first.
  ///
  /// - Throws: The error of the file.
  package func refuseUnreadableMappings(among versions: [ManagedObjectModel]) throws {
    if case .files = manifest.mappings { return }
    if case .inferred = manifest.mappings { return }
    try finder.refuseUnreadable(among: versions)
  }

  /// - Returns: The steps; and for the plan where mapping models were looked for, and what became of each.
  /// - Throws: 69 at the key `mappings` with the nearest miss, when no path leads to the destination.
  package func path(
    from source: ManagedObjectModel, to destination: ManagedObjectModel, among versions: ModelVersions
  ) throws -> (steps: [MigrationStep], search: MappingSearchRecord) {
    let names = try orderedNames(versions, leadingTo: destination.name)
    if !source.isCompatible(with: destination.versionHashes) {
      let between = MappingFinder.namesBetween(source.name, destination.name, in: names)
        .filter { ![source.name, destination.name].contains($0) }
      // Versions between the two are read only where a file that cannot be read may be for them.
      if try finder.found(among: [source, destination]).mappings.contains(where: { $0.problem != nil }) {
        try finder.refuseUnreadable(among: [source] + versions.readable(named: between) + [destination])
      }
    }
    func wholeWay() throws -> MappingFinder.Way {
      try way(from: source, to: destination, among: versions.readable(named: names), of: names)
    }
    var found: (steps: [MigrationStep], search: MappingSearchRecord)
    do { found = try path(from: source, to: destination, among: versions, of: names) } catch let error as GodwitError
      where error.code == .noPath && looksElsewhere
    { throw finder.tellingElsewhere(error, of: wholeWay) }
    let inferred = found.steps.filter(\.isInferred)
      .map { MappingFinder.namesBetween($0.sourceModel.name, $0.destinationModel.name, in: names) }
    if looksElsewhere, !inferred.isEmpty {
      found.search.unsearched = finder.linesElsewhere(spanning: inferred, of: wholeWay)
    }
    for hint in hints(found.steps, among: versions, order: names) {
      logger.debug("\(hint)")
      found.search.addHint(hint)
    }
    return found
  }

  private func path(
    from source: ManagedObjectModel, to destination: ManagedObjectModel, among versions: ModelVersions,
    of names: [String]
  ) throws -> (steps: [MigrationStep], search: MappingSearchRecord) {
    let wanted = MappingFinder.namesBetween(source.name, destination.name, in: names)
    if manifest.stages.isEmpty, try finder.found(among: [source, destination]).mappings.isEmpty,
      wanted.count < names.count || wanted.first == source.name,
      let direct = try? path(
        from: source, to: destination, among: versions, named: [source.name, destination.name], of: names)
    {
      // Only inference can serve a step, so the versions between need not be read.
      return direct
    }
    do { return try path(from: source, to: destination, among: versions, named: wanted, of: names) } catch let error
      as GodwitError where error.code == .noPath && wanted.count < names.count
    {
      // Perhaps the order is not what the names say: the error tells of all versions then.
      return try path(from: source, to: destination, among: versions, named: names, of: names)
    }
  }

  private func path(
    from source: ManagedObjectModel, to destination: ManagedObjectModel, among versions: ModelVersions,
    named wanted: [String], of names: [String]
  ) throws -> (steps: [MigrationStep], search: MappingSearchRecord) {
    let way = try way(from: source, to: destination, among: versions.readable(named: wanted), of: names)
    do {
      let (steps, record) = try finder.path(
        on: way, among: { versions.readable(named: names) }, log: { [logger] in logger.debug("\($0)") })
      return (steps, record)
    } catch var error as GodwitError {
      if error.location == nil, error.code == .noPath {
        error.location = manifest.locations["mappings"]
        let passedOver = versions.models.filter { wanted.contains($0.name) }.compactMap(\.problem)
        error.cause = ([error.cause].compactMap(\.self) + passedOver.map { "not considered: \($0.line)" })
          .joined(separator: "\n")
      }
      throw error
    }
  }

  private func way(
    from source: ManagedObjectModel, to destination: ManagedObjectModel, among ordered: [ManagedObjectModel],
    of names: [String]
  ) throws -> MappingFinder.Way {
    var way = MappingFinder.Way(from: source, to: destination, among: ordered)
    (way.stages, way.infers) = (try stages(among: names), manifest.mappings != .modelsOnly)
    return way
  }

  /// All version names, oldest first: by `version-order`, else by their natural order with what is current last.
  func orderedNames(_ versions: ModelVersions, leadingTo destination: String) throws -> [String] {
    let names = versions.namesOldestFirst(leadingTo: destination)
    guard !manifest.versionOrder.isEmpty else { return names }
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
}
