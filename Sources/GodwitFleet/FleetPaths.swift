import Foundation
package import GodwitManifest

/// Paths of stores as a fleet's files have them: relative to the folder of the fleet's file where that is how they were
/// named, so that machines may have it in different places; else absolute.
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
    if path.hasPrefix("/") { return path }
    guard !path.hasPrefix(base) else { return String(path.dropFirst(base.count)) }
    return Self.absolute(path)
  }

  /// The path for this process.
  package func opened(_ kept: String) -> String { kept.hasPrefix("/") ? kept : base + kept }

  /// The store as a pattern would have matched it; the folder is nil for one outside of the root.
  package func match(_ kept: String) -> (match: StorePattern.Match, isInRoot: Bool) {
    let path = opened(kept)
    let whole = Self.absolute(path)
    let name = whole.lastIndex(of: "/").map { String(whole[whole.index(after: $0)...]) } ?? whole
    let folder = String(whole.dropLast(name.count))
    let start = root == "/" ? "/" : root + "/"
    let isInRoot = folder.hasPrefix(start)
    let below = isInRoot ? folder.dropFirst(start.count).dropLast() : ""
    return (StorePattern.Match(path: path, folder: String(below), name: name), isInRoot)
  }

  /// An absolute path without `.` and `..`, by its text alone.
  package static func absolute(_ path: String) -> String {
    let whole = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    var names: [Substring] = []
    for name in whole.split(separator: "/") where name != "." {
      if name == ".." { _ = names.popLast() } else { names.append(name) }
    }
    return "/" + names.joined(separator: "/")
  }
}
