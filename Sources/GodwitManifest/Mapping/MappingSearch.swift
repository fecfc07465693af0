import Foundation
import GodwitPlatform
import GodwitXcode

/// Finds the files of mapping models that `mappings: auto` considers, where nobody says with `mapping-search` where
/// they are.
///
/// Beside the models first, and below their folder. Then the whole project around them: the folder that holds the
/// bundle and its parents, up to the nearest that has a `.git`, or else to the nearest that has a `Package.swift`, an
/// `.xcodeproj` or an `.xcworkspace`, and everything below. Without such a folder nothing above the bundle's own folder
/// is looked at. It reads names only, does not follow links, and leaves out folders of dependencies.
package struct MappingSearch {
  package struct File: Hashable {
    package var path: String
    /// Whether it is beside the models. A file elsewhere may belong to other models of the same names.
    package var isBeside: Bool
  }

  package private(set) var files: [File] = []
  /// The places that were searched, as messages name them.
  private(set) var places: [String] = []
  /// Whether the search ended before it was complete.
  private(set) var isCutShort = false
  private var seen: Set<String> = []
  private var walked: Set<String> = []
  private var entries = 0

  /// Folders with generated or foreign files. Hidden folders are skipped too.
  package static let foreignFolders: Set<String> = [
    "node_modules", "Pods", "Carthage", "DerivedData", "SourcePackages",
  ]
  /// Bundles that hold no mapping models of the project.
  private static let closedExtensions: Set<String> = [
    "xcdatamodeld", "xcdatamodel", "momd", "xcassets", "xcodeproj", "xcworkspace", "playground", "xcmappingmodel",
  ]
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

  /// All mapping models in a folder and below it.
  package init(inFolder folder: String) {
    places.append("'\(folder)'")
    walk(folder, depth: 0)
  }

  private mutating func add(_ paths: [String], isBeside: Bool) {
    for path in paths where seen.insert(URL(filePath: path).standardizedFileURL.path).inserted {
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
  static func root(above folder: String) -> String? {
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
    guard walked.insert(folder).inserted else { return }
    add(Self.mappingFiles(inFolder: folder), isBeside: false)
    let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted(by: ModelBundle.precedes)
    for name in names {
      entries += 1
      guard entries <= Self.limitEntries else {
        isCutShort = true
        return
      }
      guard !name.hasPrefix("."), !Self.foreignFolders.contains(name),
        !Self.closedExtensions.contains(URL(filePath: name).pathExtension.lowercased())
      else { continue }
      let path = folder + "/" + name
      guard FileStatus(named: path)?.isFolder == true else { continue }
      walk(path, depth: depth + 1)
      if isCutShort, entries > Self.limitEntries { return }
    }
  }

  /// The mapping models in a folder, by name.
  static func mappingFiles(inFolder folder: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { name in
      if name.hasSuffix(".mapping.yaml") || name.hasSuffix(".mapping.yml") { return true }
      let kind = XcodeFileKind.identify(folder + "/" + name)
      return name != "xcmapping.xml" && (kind == .mappingModel || kind == .compiledMappingModel)
    }.sorted(by: ModelBundle.precedes).map { folder + "/" + $0 }
  }
}
