import Foundation
import GodwitModel
import GodwitXcode

/// Finds the files of mapping models that `mappings: auto` considers, where nobody says with `mapping-search` where
/// they are.
///
/// Beside the models first, and below their folder. Then the whole project around them: the folder that holds the
/// bundle and its parents, up to the nearest that has a `.git`, or else to the nearest that has a `Package.swift`, an
/// `.xcodeproj` or an `.xcworkspace`, and everything below. Without such a folder nothing above the bundle's own folder
/// is looked at. It reads names only, does not follow links, and leaves out folders of dependencies.
package struct MappingSearch: Sendable {
  package struct File: Hashable, Sendable {
    package var path: String
    /// Whether it is beside the models. A file elsewhere may belong to other models of the same names.
    package var isBeside: Bool
  }

  package private(set) var files: [File] = []
  /// The places that were searched, as messages name them.
  private(set) var places: [String] = []
  /// Whether the search ended before it was complete.
  private(set) var isCutShort = false
  /// The models and bundles that it passed.
  private(set) var models: [String] = []
  /// Folders that cannot be read.
  private(set) var closed: [String] = []
  private var seen: Set<Text> = []
  private var walked: Set<Text> = []
  private var entries = 0

  /// Folders with generated or foreign files. Hidden folders are skipped too.
  package static let foreignFolders: Set<String> = [
    "node_modules", "Pods", "Carthage", "DerivedData", "SourcePackages",
  ]
  /// Bundles that hold no mapping models of the project.
  private static let closedExtensions: Set<String> = [
    "xcdatamodeld", "xcdatamodel", "momd", "xcassets", "xcodeproj", "xcworkspace", "playground", "xcmappingmodel",
  ]
  private static let modelExtensions: Set<String> = ["xcdatamodeld", "xcdatamodel", "momd", "mom"]
  /// How deep below the project's folder, and how many names.
  static let limitDepth = 12
  static let limitEntries = 50_000

  /// - Parameter models: Paths of models, without a version.
  package init(besideModels models: [String]) {
    let folders = models.map(Self.folder).withoutRepeats()
    for folder in folders {
      places.append("'\(folder)' and below")
      add(Self.mappingFiles(inFolder: folder), isBeside: true)
    }
    for folder in folders { walk(folder, depth: 0) }
    for root in folders.compactMap(Self.root).withoutRepeats() {
      places.append("the project in '\(root)'")
      walk(root, depth: 0)
    }
  }

  /// All mapping models in some folders and below them.
  package init(inFolders folders: [String]) {
    for folder in folders {
      places.append("'\(folder)'")
      walk(folder, depth: 0)
    }
  }

  private mutating func add(_ paths: [String], isBeside: Bool) {
    for path in paths where seen.insert(Text(URL(filePath: path).standardizedFileURL.path)).inserted {
      files.append(File(path: path, isBeside: isBeside))
    }
  }

  /// The folder that holds a model, or the bundle that the model is a version of.
  package static func folder(ofModel path: String) -> String {
    var url = URL(filePath: path).standardizedFileURL
    let parent = url.deletingLastPathComponent()
    if ["xcdatamodeld", "momd"].contains(parent.pathExtension.lowercased()) { url = parent }
    return url.deletingLastPathComponent().path
  }

  /// The folder of the project; nil when no parent looks like one.
  package static func root(above folder: String) -> String? {
    let manager = FileManager.default
    var url = URL(filePath: folder).standardizedFileURL
    var project: String?
    while true {
      let path = url.path
      if manager.fileExists(atPath: path + "/.git") { return path }
      if project == nil {
        let names = (try? manager.contentsOfDirectory(atPath: path)) ?? []
        let isProject = names.contains { name in
          name == "Package.swift" || name.hasSuffix(".xcodeproj") || name.hasSuffix(".xcworkspace")
        }
        if isProject { project = path }
      }
      let parent = url.deletingLastPathComponent().standardizedFileURL
      guard parent.path != path, path != "/" else { return project }
      url = parent
    }
  }

  private mutating func walk(_ folder: String, depth: Int) {
    guard depth <= Self.limitDepth else {
      isCutShort = true
      return
    }
    guard walked.insert(Text(folder)).inserted else { return }
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
      closed.append(folder)
      return
    }
    var (mappings, folders): ([String], [String]) = ([], [])
    for name in names {
      entries += 1
      guard entries <= Self.limitEntries else {
        isCutShort = true
        break
      }
      if Self.isMapping(name) { mappings.append(name) }
      guard !name.hasPrefix("."), !Self.foreignFolders.contains(name) else { continue }
      let ending = Self.pathExtension(name)
      if Self.modelExtensions.contains(ending) { models.append(folder + "/" + name) }
      guard !Self.closedExtensions.contains(ending), FileStatus(named: folder + "/" + name)?.isFolder == true else {
        continue
      }
      folders.append(name)
    }
    add(mappings.sorted(by: ModelBundle.precedes).map { folder + "/" + $0 }, isBeside: false)
    for name in folders.sorted(by: ModelBundle.precedes) {
      walk(folder + "/" + name, depth: depth + 1)
      if entries > Self.limitEntries { return }
    }
  }

  /// The mapping models in a folder, by name.
  static func mappingFiles(inFolder folder: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { isMapping($0) }.sorted(by: ModelBundle.precedes).map { folder + "/" + $0 }
  }

  /// Whether a name is that of a mapping model or a mapping file.
  package static func isMapping(_ name: String) -> Bool {
    if name.hasSuffix(".mapping.yaml") || name.hasSuffix(".mapping.yml") { return true }
    return ["xcmappingmodel", "cdm"].contains(pathExtension(name))
  }

  private static func pathExtension(_ name: String) -> String {
    guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return "" }
    return name[name.utf8.index(after: dot)...].lowercased()
  }
}
