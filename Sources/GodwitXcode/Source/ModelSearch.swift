import Foundation
import GodwitModel

/// Finds the model for a path: the path itself, the model that contains an inner file, or the only model in a folder.
package enum ModelSearch {
  /// The file of a `.xcdatamodel` that holds the model.
  static let contentsName = "contents"
  /// The same, as Xcode 3 saved it.
  static let elementsName = "elements"

  /// A folder of sources is seldom deeper; a link is never followed.
  static let depthMaximum = 12
  static let filesMaximum = 50_000
  private static let listedMaximum = 10

  /// - Throws: code `.missingInput` when a folder holds no model, or several.
  static func model(at path: String) throws -> String {
    let name = XcodeFile.lastComponent(path)
    if name == contentsName || name == elementsName {
      let folder = path.parentPath
      if XcodeFile.pathExtension(folder).lowercased() == "xcdatamodel" { return folder }
    }
    guard XcodeFileKind.identify(path) == nil, try XcodeFile.form(of: path) == .folder else { return path }
    let (found, isWhole) = try models(inFolder: path)
    if let only = found.first, found.count == 1 { return only }
    guard !found.isEmpty else {
      throw GodwitError(
        .missingInput,
        "cannot find a model in the folder '\(path)'"
          + (isWhole ? "" : ": its first \(filesMaximum) files, \(depthMaximum) folders deep, hold none"),
        remedy: "give a .xcdatamodel, .xcdatamodeld, .mom or .momd, or a folder that holds one")
    }
    let listed = found.prefix(listedMaximum).map { "'\($0)'" }.joined(separator: ", ")
    throw GodwitError(
      .missingInput, "cannot choose a model: the folder '\(path)' holds \(found.count)",
      cause: "it holds \(listed)" + (found.count > listedMaximum ? " and \(found.count - listedMaximum) more" : ""),
      remedy: "give the path of one, such as '\(found[0])'")
  }

  /// The model for a path. If there are none or several it is the path itself, and reading it reports the fault.
  package static func modelOrPath(_ path: String) -> String { (try? model(at: XcodeFile.trimmed(path))) ?? path }

  /// The models in a folder, by name, and whether all of it was searched. The inside of a model is not searched.
  ///
  /// - Parameter skipped: Names of folders that are not looked into.
  /// - Throws: code `.permission` (77) for a folder whose files may not be listed, `.inputOutput` (74) if the disk fails.
  package static func models(
    inFolder folder: String, skipping skipped: Set<String> = []
  ) throws -> (found: [String], isWhole: Bool) {
    guard try XcodeFile.form(of: folder) == .folder else { return ([], true) }
    var found: [String] = []
    var open = [(path: folder, depth: 0)]
    var count = 0
    var isWhole = true
    while let (path, depth) = open.popLast() {
      for name in try XcodeFile.names(inFolder: path, what: "the folder")
      where !name.hasPrefix(".") && !skipped.contains(name) {
        count += 1
        guard count <= filesMaximum else { return (found.sorted(by: ModelBundle.precedes), false) }
        let inner = path + "/" + name
        switch XcodeFileKind.identify(inner) {
        case .model?, .archivedModel?, .modelBundle?, .compiledModel?, .compiledModelBundle?:
          found.append(inner)
          continue
        case .some: continue
        case nil: break
        }
        let type = (try? FileManager.default.attributesOfItem(atPath: inner))?[.type] as? FileAttributeType
        guard type == .typeDirectory else { continue }
        guard depth < depthMaximum else {
          isWhole = false
          continue
        }
        open.append((inner, depth + 1))
      }
    }
    return (found.sorted(by: ModelBundle.precedes), isWhole)
  }
}
