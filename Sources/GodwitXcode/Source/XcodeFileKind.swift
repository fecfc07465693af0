import Foundation
import GodwitModel

/// The kind of a file or folder of Xcode or its compilers, by its name and form.
package enum XcodeFileKind: String, Sendable, Hashable, CaseIterable {
  /// A `.xcdatamodel` folder with a `contents` file.
  case model = "model source"
  /// A `.xcdatamodel` folder with an `elements` file, as Xcode 3 saved it.
  case archivedModel = "model source of Xcode 3"
  /// A `.xcdatamodeld` folder with a folder for each version.
  case modelBundle = "model source with versions"
  /// A `.mom` file.
  case compiledModel = "compiled model"
  /// A `.momd` folder.
  case compiledModelBundle = "compiled model with versions"
  /// An `.omo` file: the optimised form of a `.mom` beside it.
  case optimisedModel = "optimised compiled model"
  /// A `.xcmappingmodel`, or the `xcmapping.xml` in it.
  case mappingModel = "mapping model source"
  /// A `.cdm` file.
  case compiledMappingModel = "compiled mapping model"

  /// The kind of the file at a path, or nil when its name ends in none of the known extensions.
  ///
  /// Looks inside a `.xcdatamodel` only; whether a file can be read shows when it is read.
  package static func identify(_ path: String) -> XcodeFileKind? {
    let path = XcodeFile.trimmed(path)
    if XcodeFile.lastComponent(path) == XcodeMappingModel.sourceFileName { return .mappingModel }
    if [ModelSearch.contentsName, ModelSearch.elementsName].contains(XcodeFile.lastComponent(path)),
      let inner = kind(ofFileInModel: path)
    {
      return inner
    }
    switch XcodeFile.pathExtension(path).lowercased() {
    case "xcdatamodel":
      let manager = FileManager.default
      let isArchived =
        manager.fileExists(atPath: path + "/elements") && !manager.fileExists(atPath: path + "/contents")
      return isArchived ? .archivedModel : .model
    case "xcdatamodeld": return .modelBundle
    case "mom": return .compiledModel
    case "momd": return .compiledModelBundle
    case "omo": return .optimisedModel
    case "xcmappingmodel": return .mappingModel
    case "cdm": return .compiledMappingModel
    default: return nil
    }
  }

  /// The kind of a file that a `.xcdatamodel` consists of; a `contents` file with a model may lie anywhere.
  private static func kind(ofFileInModel path: String) -> XcodeFileKind? {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else { return nil }
    let name = XcodeFile.lastComponent(path)
    let folder = path.parentPath
    if XcodeFile.pathExtension(folder).lowercased() == "xcdatamodel" { return identify(folder) }
    guard name == ModelSearch.contentsName,
      (try? XcodeFile.form(of: path)) == .file, let file = FileHandle(forReadingAtPath: path)
    else { return nil }
    defer { try? file.close() }
    let head = (try? file.read(upToCount: 4096)) ?? Data()
    return String(decoding: head, as: UTF8.self).contains("<model") ? .model : nil
  }
}
