import Foundation
import GodwitJob
import GodwitModel
import GodwitXcode

/// Mapping models that no search of a job reaches. `init` finds them when it is given the project's folder.
extension JobLoader {
  /// An error about a path that is missing, with the folders around the models that have mapping models for it.
  ///
  /// - Parameter serving: Which of some files, which the search has not found, would give the path, and the files that
  ///   the path takes of what it has found.
  func tellingElsewhere(
    _ error: GodwitError, serving: ([String]) -> (others: [ServedVersions], known: [String])
  ) -> GodwitError {
    var error = error
    let (found, known) = serving(pathsElsewhere(Self.readElsewhere))
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

  /// Mapping models that the search has not found, but that would serve steps which are inferred: a line for each.
  ///
  /// - Parameters:
  ///   - versions: The names of the versions that inference leads to and from.
  ///   - serving: As in `tellingElsewhere`.
  func linesElsewhere(
    of versions: Set<String>, serving: ([String]) -> (others: [ServedVersions], known: [String])
  ) -> [String] {
    let paths = pathsElsewhere(Self.readForNote) { Self.mayName(versions, $0) }
    guard !paths.isEmpty else { return [] }
    let (found, known) = serving(paths)
    let key = searchKey(found, known)
    return found.map { mapping in
      let pair = mapping.pairs.first.map { "from '\($0.source)' to '\($0.destination)' " } ?? ""
      return
        "inference takes the place of the mapping model '\(mapping.origin)' \(pair)that was not searched: `\(key)` uses it"
    }
  }

  /// The key of a manifest that finds some mapping models.
  ///
  /// It takes the place of the whole search, so that it has to name what is found without it, too.
  private func searchKey(_ found: [ServedVersions], _ known: [String]) -> String {
    let named = manifest.mappingSearch.map(\.raw)
    let folders = ((named.isEmpty ? known : []) + found.map(\.path)).map { path in
      belowManifest(URL(filePath: path).deletingLastPathComponent().path)
    }
    let places = named + folders.filter { !named.contains($0) }.withoutRepeats()
    return "mapping-search: [\(places.map(MigrationPathFinder.yaml).joined(separator: ", "))]"
  }

  /// The mapping models around the models that the search does not find.
  private func pathsElsewhere(_ limit: Int, where isWanted: (String) -> Bool = { _ in true }) -> [String] {
    var seen = Set(searchedMappings.map(Self.whole))
    let paths = foldersAround.flatMap { mappingSearch(inFolder: $0).files.map(\.path) }
      .filter { seen.insert(Self.whole($0)).inserted && isWanted($0) }
    return Array(paths.prefix(limit))
  }

  /// Whether a mapping model may name two of some versions. Reading one of Xcode's takes as long as reading both models
  /// that are in it, and its text has their names.
  private static func mayName(_ versions: Set<String>, _ path: String) -> Bool {
    guard path.hasSuffix(".xcmappingmodel"), let text = FileManager.default.contents(atPath: path + "/xcmapping.xml"),
      text.range(of: Data(".xcdatamodel".utf8)) != nil
    else { return true }
    return versions.count { text.range(of: Data("\($0).xcdatamodel<".utf8)) != nil } > 1
  }

  /// How many of them a message names, and how many files are read for it.
  private static let namedElsewhere = 5
  private static let readElsewhere = 100
  /// A job that has its path reads few: it would read them each time.
  private static let readForNote = 20
  /// How many folders above a bundle's own may be the project's.
  private static let levelsAbove = 2

  private static func whole(_ path: String) -> String { URL(filePath: path).standardizedFileURL.path }

  /// The outermost folder above each bundle that may be the project's: two levels up, or the manifest's own if that is
  /// further up. The home folder, the temporary folder and the folders above them are left out.
  private var foldersAround: [String] {
    let own = Self.whole(URL(filePath: manifest.file).deletingLastPathComponent().path)
    return manifest.models.map { model in
      let bundle = ModelSearch.modelOrPath(ModelReference(parsing: model.resolved).path)
      var folder = MappingSearch.folder(ofModel: bundle)
      for _ in 0..<Self.levelsAbove {
        let above = URL(filePath: folder).deletingLastPathComponent().standardizedFileURL.path
        guard Self.mayBeProject(above) else { break }
        folder = above
      }
      return folder.hasPrefix(own + "/") && Self.mayBeProject(own) ? own : folder
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
