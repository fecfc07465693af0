import GodwitModel

/// The real paths of files and folders that need not be there, found for each of a million stores.
///
/// The real path of a folder is that of its parent and its name, unless the folder is a link: then the system is asked.
/// So a folder costs one look, and a file in it none.
struct RealPaths {
  /// By the bytes of the path that was asked for: names that look alike are two folders.
  private var folders: [[UInt8]: String] = [:]
  private static let foldersMaximum = 10_000
  private static let slash = UInt8(ascii: "/")

  /// The real path of a folder; an empty path is the current folder.
  mutating func folder(_ path: String) -> String { folder(Array(path.utf8)) }

  /// The name of a file in the real path of its folder. The file itself may be a link.
  mutating func file(_ path: String) -> String {
    let bytes = Array(path.utf8)
    let end = (bytes.lastIndex(of: Self.slash) ?? -1) + 1
    let name = String(decoding: bytes[end...], as: UTF8.self)
    guard !["", ".", ".."].contains(name) else { return folder(bytes) }
    return Self.join(folder(Array(bytes[..<end])), name)
  }

  /// The paths under which a file may be known: that of `file`, and for a link the file that it leads to.
  mutating func places(of path: String) -> [String] {
    let own = file(path)
    guard FileStatus(named: path)?.kind == .link else { return [own] }
    return [own] + (Self.real(path).map { [$0] } ?? [])
  }

  private mutating func folder(_ path: [UInt8]) -> String {
    var end = path.count
    while end > 1, path[end - 1] == Self.slash { end -= 1 }
    let path = Array(path[..<end])
    if let known = folders[path] { return known }
    let found = look(at: path)
    if folders.count >= Self.foldersMaximum { folders = [:] }
    folders[path] = found
    return found
  }

  private mutating func look(at path: [UInt8]) -> String {
    guard path != [Self.slash] else { return "/" }
    guard !path.isEmpty else { return Self.real(".") ?? "." }
    let start = (path.lastIndex(of: Self.slash) ?? -1) + 1
    let parent = folder(Array(path[..<start]))
    switch String(decoding: path[start...], as: UTF8.self) {
    case ".": return parent
    case "..": return Self.parent(of: parent)
    case let name:
      let whole = Self.join(parent, name)
      guard FileStatus(named: whole)?.kind == .link else { return whole }
      return Self.real(whole) ?? whole
    }
  }

  /// The parent of a real path, in which no name is a link.
  private static func parent(of path: String) -> String {
    let end = path.utf8.lastIndex(of: slash) ?? path.startIndex
    return end == path.startIndex ? "/" : String(path[..<end])
  }

  private static func join(_ folder: String, _ name: String) -> String {
    folder == "/" ? "/" + name : folder + "/" + name
  }

  /// nil for a path that leads nowhere.
  private static func real(_ path: String) -> String? {
    guard let found = realpath(path, nil) else { return nil }
    defer { free(found) }
    return String(cString: found)
  }
}
