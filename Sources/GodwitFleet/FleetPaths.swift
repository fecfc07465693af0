import Foundation
package import GodwitManifest
import GodwitModel

/// Paths of stores as a fleet's files have them: relative to the folder of the fleet's file where that is how they were
/// named, so that machines may have it in different places; else absolute.
///
/// Paths are cut by their bytes: a name may begin with a combining mark, which is one character with the slash before
/// it, and two names that Unicode holds for the same are two files.
package struct FleetPaths: Sendable {
  /// The folder of the fleet's file with a slash at its end; empty for the current one.
  package let base: String
  /// Absolute: the folder that `{folder}` begins at.
  private let root: String

  /// - Parameters:
  ///   - base: The folder of the fleet's file, as it was given.
  ///   - root: The folder that `{folder}` begins at.
  package init(base: String, root: String) {
    self.base = base
    self.root = Self.absolute(root.isEmpty ? "." : root)
  }

  /// The path for the fleet's files.
  package func kept(_ path: String) -> String {
    if path.isWholePath == base.isWholePath, path.utf8.starts(with: base.utf8) { return Self.cut(path, base) }
    // Written otherwise than the path of the fleet's file.
    let (whole, folder) = (path.isWholePath ? path : Self.absolute(path), Self.absolute(base.isEmpty ? "." : base))
    let start = folder == "/" ? folder : folder + "/"
    return whole.utf8.starts(with: start.utf8) ? Self.cut(whole, start) : whole
  }

  /// The rest of a path after a folder that it begins with.
  private static func cut(_ path: String, _ folder: String) -> String {
    let rest = path.utf8.dropFirst(folder.utf8.count).drop { $0 == UInt8(ascii: "/") && !folder.isEmpty }
    return rest.isEmpty ? path : String(decoding: rest, as: UTF8.self)
  }

  /// The path for this process.
  package func opened(_ kept: String) -> String { kept.isWholePath ? kept : base + kept }

  /// The store as a pattern would have matched it; the folder is nil for one outside of the root.
  package func match(_ kept: String) -> (match: StorePattern.Match, isInRoot: Bool) {
    let path = opened(kept)
    let whole = Self.absolute(path)
    let name = whole.utf8.split(separator: UInt8(ascii: "/")).last.map { String(decoding: $0, as: UTF8.self) } ?? whole
    let folder = whole.utf8.dropLast(name.utf8.count)
    let start = root == "/" ? "/" : root + "/"
    let isInRoot = folder.starts(with: start.utf8)
    let below = isInRoot ? String(decoding: folder.dropFirst(start.utf8.count).dropLast(), as: UTF8.self) : ""
    return (StorePattern.Match(path: path, folder: below, name: name), isInRoot)
  }

  /// The store of a shard's list, as the plan matched it.
  ///
  /// - Parameter needsFolder: Whether the paths of what its job makes have the store's folder in them.
  /// - Throws: `.cannotCreate` (73) when nothing tells that folder: another one would be another destination.
  package func match(_ store: ShardStore, needsFolder: Bool) throws -> StorePattern.Match {
    var (match, isInRoot) = match(store.store)
    if let folder = store.folder {
      match.folder = folder
    } else if needsFolder, !isInRoot {
      throw GodwitError(
        .cannotCreate, "cannot tell {folder} of '\(match.path)': it is not below '\(root)'",
        remedy: "plan again with `godwit fleet plan --force`", safe: "nothing was written")
    }
    return match
  }

  /// An absolute path without `.` and `..`, by its text alone.
  package static func absolute(_ path: String) -> String {
    let whole = path.isWholePath ? path : FileManager.default.currentDirectoryPath + "/" + path
    var names: [String] = []
    for part in whole.utf8.split(separator: UInt8(ascii: "/")) {
      let name = String(decoding: part, as: UTF8.self)
      if name == "." { continue }
      if name == ".." { _ = names.popLast() } else { names.append(name) }
    }
    return "/" + names.joined(separator: "/")
  }
}

extension String {
  /// Whether a path begins at the root. A combining mark after the slash makes one character of both.
  package var isWholePath: Bool { utf8.first == UInt8(ascii: "/") }
}
