import Foundation
import GodwitManifest
import GodwitModel
import GodwitXcode

/// The input of `godwit lint`: models, and the mapping models that may be for them.
struct ModelSources {
  private(set) var bundles: [LintedBundle] = []
  private(set) var mappings: [LintedMapping] = []
  /// Folders that were searched as a whole.
  private(set) var folders: [String] = []
  /// Models that cannot even be listed, such as a folder without a version.
  private(set) var broken: [(path: String, problem: GodwitError)] = []

  /// - Parameters:
  ///   - paths: Models, or folders that hold models.
  ///   - workingFolder: The folder that paths in findings are relative to.
  /// - Throws: code `.missingInput` when a path is missing or holds no model, `.permission` when it cannot be read.
  init(_ paths: [String], workingFolder: String) throws {
    let shown: (String) -> String = { RelativePath.shown($0, from: workingFolder) }
    var seen: Set<String> = []
    var files: [String] = []
    for text in paths {
      var isFolder: ObjCBool = false
      let exists = FileManager.default.fileExists(atPath: text, isDirectory: &isFolder)
      guard exists, isFolder.boolValue, XcodeFileKind.identify(text) == nil else {
        let reference = ModelReference(parsing: text)
        let bundle: LintedBundle
        do { bundle = try LintedBundle(reference, path: shown) } catch var error as GodwitError {
          if exists, error.code == .missingInput, MappingSearch.isMapping(text) {
            error.remedy = "give the models or their folder: mapping models beside them are checked too"
          }
          throw error
        }
        guard seen.insert(bundle.path + (reference.version ?? "")).inserted else { continue }
        bundles.append(bundle)
        continue
      }
      // Messages show the paths: `./App.xcdatamodeld` would be one more spelling.
      let found = try ModelBundle.paths(inFolder: text, skipping: MappingSearch.foreignFolders)
        .map { $0.hasPrefix("./") ? String($0.dropFirst(2)) : $0 }
      guard !found.isEmpty else {
        throw GodwitError(
          .missingInput, "cannot find a model in the folder '\(text)'",
          remedy: "give a .xcdatamodel, .xcdatamodeld, .mom or .momd, or a folder that holds one")
      }
      folders.append(URL(filePath: text).standardizedFileURL.path)
      for path in found where seen.insert(shown(path)).inserted {
        do { bundles.append(try LintedBundle(ModelReference(path: path), path: shown)) } catch let error as GodwitError
        {
          guard error.code == .missingInput else { throw error }
          broken.append((shown(path), error))
        }
      }
      files += MappingSearch(inFolders: [URL(filePath: text).standardizedFileURL.path]).files.map(\.path)
    }
    let finder = MappingFinder(models: bundles.map(\.bundle.path), base: workingFolder)
    files += finder.searchedFiles
    bundles.sort { ModelBundle.precedes($0.path, $1.path) }
    var known: Set<String> = []
    let isAlone = bundles.count == 1 && !finder.hasOtherModels
    for file in files where known.insert(URL(filePath: file).standardizedFileURL.path).inserted {
      mappings.append(LintedMapping(file, shown: shown(file), isAlone: isAlone, in: finder.files))
    }
    mappings.sort { ModelBundle.precedes($0.path, $1.path) }
  }

  /// Whether a file is in a folder that was searched as a whole.
  func isInFolder(_ path: String) -> Bool {
    let path = URL(filePath: path).standardizedFileURL.path
    return folders.contains { path.hasPrefix($0 + "/") }
  }
}

/// Paths as findings and the lock file show them.
enum RelativePath {
  /// A path relative to the working folder if it is below it; otherwise unchanged.
  static func shown(_ path: String, from folder: String) -> String {
    let whole = absolute(path, in: folder)
    let base = folder == "/" ? "/" : folder + "/"
    guard whole.hasPrefix(base) else { return whole }
    return String(whole.dropFirst(base.count))
  }

  /// The way from a folder to a path, with `..` where it leads out of the folder.
  static func path(from folder: String, to path: String) -> String {
    let base = folder.split(separator: "/")
    let target = path.split(separator: "/")
    let shared = zip(base, target).prefix { $0 == $1 }.count
    return (Array(repeating: "..", count: base.count - shared) + target.dropFirst(shared).map(String.init))
      .joined(separator: "/")
  }

  static func absolute(_ path: String, in folder: String) -> String {
    URL(filePath: path.hasPrefix("/") ? path : folder + "/" + path).standardizedFileURL.path
  }
}
