import Foundation
package import GodwitJob
package import GodwitModel

/// Mapping models that no search of a job reaches, where the models lie in no project. `init` finds them when it is
/// given the folder of the project.
extension MappingFinder {
  /// The versions of a job, between which mapping models elsewhere may lead.
  package struct Way {
    package var source, destination: ManagedObjectModel
    /// All versions, oldest first.
    package var versions: [ManagedObjectModel]
    package var stages: [MigrationStage] = []
    package var infers = true

    package init(
      from source: ManagedObjectModel, to destination: ManagedObjectModel, among versions: [ManagedObjectModel]
    ) { (self.source, self.destination, self.versions) = (source, destination, versions) }
  }

  /// An error about a path that is missing, with the folders around the models that have mapping models for it.
  package func tellingElsewhere(_ error: GodwitError, of way: () throws -> Way) -> GodwitError {
    var error = error
    let (found, known) = unsearched(pathsElsewhere, on: way)
    guard !found.isEmpty else {
      error.remedy =
        (error.remedy.map { $0 + "; " } ?? "")
        + "if the project has one in another folder, name the folder under `mapping-search`"
      return error
    }
    let lines = found.prefix(Self.namedElsewhere).map { mapping in
      let pair = mapping.pairs.first.map { ", '\($0.source)' to '\($0.destination)'" } ?? ""
      return "not searched: '\(mapping.origin)'\(pair)"
    }
    let more = found.count > Self.namedElsewhere ? "and \(found.count - Self.namedElsewhere) more mapping models" : nil
    error.cause = ([error.cause] + lines + [more]).compactMap(\.self).joined(separator: "\n")
    error.remedy =
      "write `\(searchKey(found, known))`: mapping models for these versions are there"
      + (error.remedy.map { "; or \($0)" } ?? "")
    return error
  }

  /// Mapping models that the search has not found, but that would serve steps which are inferred, or cannot be read: a
  /// line for each.
  ///
  /// - Parameter hops: For each inferred step the names of its versions and of those between them.
  package func linesElsewhere(spanning hops: [[String]], of way: () throws -> Way) -> [String] {
    let names = Set(hops.joined())
    let paths = pathsElsewhere.filter { path in
      // Reading the models inside one of Xcode's takes long, and its text has their names.
      let outline = files.outline(path)
      let (source, destination) = (outline.sourceModelName, outline.destinationModelName)
      return source.map(names.contains) ?? true && destination.map(names.contains) ?? true
    }
    guard !hops.isEmpty, !paths.isEmpty else { return [] }
    var (found, known) = unsearched(paths, on: way)
    found.removeAll { mapping in
      !mapping.pairs.contains { pair in hops.contains { $0.contains(pair.source) && $0.contains(pair.destination) } }
    }
    let key = searchKey(found, known)
    let damaged = paths.compactMap { path -> String? in
      let outline = files.outline(path)
      guard outline.sourceModelName != nil || outline.destinationModelName != nil, !outline.isForeign,
        let problem = readable(path, among: [], isBeside: false).problem
      else { return nil }
      return
        "inference takes the place of the mapping model '\(shown(path))' that was not searched and cannot be read: \(problem.message)"
    }
    return damaged
      + found.map { mapping in
        let pair = mapping.pairs.first.map { "from '\($0.source)' to '\($0.destination)' " } ?? ""
        return
          "inference takes the place of the mapping model '\(mapping.origin)' \(pair)that was not searched: `\(key)` uses it"
      }
  }

  /// Those of some mapping models which, with all that the search finds, give a path where there is none without them.
  ///
  /// - Parameter paths: Files that the search does not find.
  /// - Returns: Those that the path takes; and the files that it takes of what the search finds.
  private func unsearched(
    _ paths: [String], on way: () throws -> Way
  ) -> (others: [ServedVersions], known: [String]) {
    guard !paths.isEmpty, let way = try? way() else { return ([], []) }
    let others = paths.map { readable($0, among: way.versions, isBeside: false) }
      .filter { !Self.served(by: $0, among: way.versions).pairs.isEmpty }
    guard !others.isEmpty, let found = try? found(among: way.versions).mappings else { return ([], []) }
    let finder = MigrationPathFinder(
      models: way.versions, mappings: (found + others).map(\.mapping), stages: way.stages, infers: way.infers)
    guard let steps = try? finder.path(from: way.source, to: way.destination) else { return ([], []) }
    let used = steps.flatMap { ($0.origin ?? "").components(separatedBy: ", ") }
    let taken = others.filter { used.contains($0.mapping.origin) }
    return (
      taken.map { Self.served(by: $0, among: way.versions) },
      found.filter { used.contains($0.mapping.origin) }.map(\.path)
    )
  }

  /// The key of a manifest that finds some mapping models.
  ///
  /// It takes the place of the whole search, so that it has to name what is found without it, too.
  private func searchKey(_ found: [ServedVersions], _ known: [String]) -> String {
    let named = named.map(\.raw)
    let folders = ((named.isEmpty ? known : []) + found.map(\.path)).map { path in
      shown(URL(filePath: path).deletingLastPathComponent().path)
    }
    let places = named + folders.filter { !named.contains($0) }.withoutRepeats()
    return "mapping-search: [\(places.map(MigrationPathFinder.yaml).joined(separator: ", "))]"
  }

  /// The mapping models around the models that the search does not find: the first, since each of them is opened.
  private var pathsElsewhere: [String] {
    var seen = Set(searchedFiles.map(Self.whole))
    let folders = foldersAround
    guard !folders.isEmpty else { return [] }
    let paths = files.search(inFolders: folders).files.map(\.path).filter { seen.insert(Self.whole($0)).inserted }
    return Array(paths.prefix(Self.openedElsewhere))
  }

  /// How many of them a message names, and how many are opened.
  private static let namedElsewhere = 5
  private static let openedElsewhere = 20
  /// How many folders above a bundle's own may be the project's.
  private static let levelsAbove = 2

  /// The outermost folder above each bundle that may be the project's: the project itself where `mapping-search` leaves
  /// parts of it out. Without a project it is two levels up, or the manifest's own if that is further up; the home
  /// folder, the temporary folder and the folders above them are left out.
  private var foldersAround: [String] {
    models.compactMap { bundle in
      var folder = MappingSearch.folder(ofModel: bundle)
      if let project = MappingSearch.root(above: folder) { return named.isEmpty ? nil : project }
      for _ in 0..<Self.levelsAbove {
        let above = URL(filePath: folder).deletingLastPathComponent().standardizedFileURL.path
        guard Self.mayBeProject(above) else { break }
        folder = above
      }
      return folder.hasPrefix(base + "/") && Self.mayBeProject(base) ? base : folder
    }.withoutRepeats()
  }

  private static func mayBeProject(_ folder: String) -> Bool {
    guard URL(filePath: folder).pathComponents.count > 2 else { return false }
    let manager = FileManager.default
    return ![manager.homeDirectoryForCurrentUser, manager.temporaryDirectory].contains { common in
      let path = whole(common.path)
      return path == folder || path.hasPrefix(folder + "/")
    }
  }
}
