import Foundation
import GodwitModel

/// Access to files and folders, with the errors of a missing input.
enum XcodeFile {
  enum Form { case missing, file, folder, other }

  static func form(of path: String) throws -> Form {
    do {
      let resolved = URL(filePath: path).resolvingSymlinksInPath().path
      let type = try FileManager.default.attributesOfItem(atPath: resolved)[.type] as? FileAttributeType
      return type == .typeDirectory ? .folder : type == .typeRegular ? .file : .other
    } catch {
      if isPermission(error) { throw denied(path) }
      return .missing
    }
  }

  /// The bytes of a regular file. A pipe or device is refused: reading one may never end.
  static func bytes(of path: String, what: String) throws -> [UInt8] {
    switch try form(of: path) {
    case .missing: throw missing(path, what: what)
    case .folder, .other:
      throw GodwitError(.missingInput, "cannot read \(what) '\(path)': expected a file, found something else")
    case .file: break
    }
    do {
      let handle = try FileHandle(forReadingFrom: URL(filePath: path))
      defer { try? handle.close() }
      let data = try handle.read(upToCount: MarkupReader.fileBytesMaximum + 1) ?? Data()
      guard data.count <= MarkupReader.fileBytesMaximum else {
        throw GodwitError(
          .missingInput,
          "cannot read \(what) '\(path)': expected at most \(MarkupReader.fileBytesMaximum >> 20) MiB, found more")
      }
      if GitLFSPointer.matches(data) { throw GitLFSPointer.problem(path, what: what, .missingInput) }
      return Array(data)
    } catch let error as GodwitError {
      throw error
    } catch {
      if isPermission(error) { throw denied(path) }
      throw GodwitError(
        isInputOutput(error) ? .inputOutput : .missingInput, "cannot read \(what) '\(path)'",
        cause: error.localizedDescription)
    }
  }

  static func names(inFolder path: String, what: String) throws -> [String] {
    switch try form(of: path) {
    case .missing: throw missing(path, what: what)
    case .file, .other:
      throw GodwitError(.missingInput, "cannot read \(what) '\(path)': expected a folder, found a file")
    case .folder: break
    }
    do {
      return try FileManager.default.contentsOfDirectory(atPath: path)
    } catch {
      if isPermission(error) { throw denied(path) }
      throw GodwitError(
        isInputOutput(error) ? .inputOutput : .missingInput, "cannot read \(what) '\(path)'",
        cause: error.localizedDescription)
    }
  }

  static func missing(_ path: String, what: String) -> GodwitError {
    GodwitError(
      .missingInput, "cannot find \(what) '\(path)'", remedy: "check the path; it is relative to the current folder")
  }

  private static func denied(_ path: String) -> GodwitError {
    GodwitError(
      .permission, "cannot read '\(path)': permission denied",
      remedy: "grant this user read permission for the file and the folders above it")
  }

  private static func isPermission(_ error: any Error) -> Bool {
    (error as? CocoaError)?.code == .fileReadNoPermission
  }

  private static func isInputOutput(_ error: any Error) -> Bool {
    ((error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError ?? error as NSError).code == Int(EIO)
  }

  // MARK: Paths

  /// The path without slashes at its end.
  static func trimmed(_ path: String) -> String {
    var path = path[...]
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return String(path)
  }

  static func lastComponent(_ path: String) -> String {
    trimmed(path).split(separator: "/").last.map(String.init) ?? path
  }

  static func pathExtension(_ path: String) -> String {
    let name = lastComponent(path)
    guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return "" }
    return String(name[name.index(after: dot)...])
  }

  /// The last component without its extension.
  static func stem(_ path: String) -> String {
    let (name, ending) = (lastComponent(path), pathExtension(path))
    return ending.isEmpty ? name : String(name.dropLast(ending.count + 1))
  }
}
