import Foundation

/// The durable image of a folder beside its live one: what was synced, file by file and name by name.
///
/// A file's bytes are durable when it was synced, a name when its folder was. A second name of every file outside the
/// folder keeps its identity, so that a file has the same inode before and after the power cut, and none is used twice.
package final class DurableDisk {
  /// The part of the unsynced changes that survives a power cut.
  package enum Survival: Sendable, Hashable, CustomStringConvertible {
    /// No part: the least that POSIX promises.
    case syncedOnly
    /// All names, but no bytes: a journal of names without one of bytes.
    case names
    /// Any page of 4096 bytes of any file; and of the names all or the synced ones.
    case some(seed: UInt64)

    package var description: String {
      switch self {
      case .syncedOnly: "what was synced"
      case .names: "what was synced and all names"
      case .some(let seed): "some pages, seed \(seed)"
      }
    }
  }

  private final class Node {
    let inode: UInt64
    let isFolder: Bool
    /// The second name of a file.
    var keptPath = ""
    var bytes: [UInt8] = []
    var names: [String: Node] = [:]

    init(inode: UInt64, isFolder: Bool) {
      self.inode = inode
      self.isFolder = isFolder
    }
  }

  private let root: String
  private let kept: TemporaryFolder
  private var nodes: [UInt64: Node] = [:]
  private var rootNode = Node(inode: 0, isFolder: true)

  /// Takes all that is in the folder for durable.
  init(root: String) throws {
    self.root = root
    kept = try TemporaryFolder("godwit-kept")
    rootNode = try take(root)
  }

  private func take(_ path: String) throws -> Node {
    let node = self.node(at: path) ?? Node(inode: 0, isFolder: true)
    if node.isFolder {
      for name in try FileManager.default.contentsOfDirectory(atPath: path) {
        node.names[name] = try take(path + "/" + name)
      }
    } else {
      node.bytes = Self.bytes(path)
    }
    return node
  }

  // MARK: Following the live folder

  /// Hears of an operation that was carried out.
  func follow(_ operation: DiskOperation) {
    guard operation.path == root || operation.path.hasPrefix(root + "/") else { return }
    switch operation.kind {
    case .create, .makeFolder:
      // The number of a file or folder that was removed may come again.
      var info = stat()
      if lstat(operation.path, &info) == 0 { nodes[UInt64(info.st_ino)] = nil }
      _ = node(at: operation.path)
    case .sync: sync(operation.path)
    // The root stands for a file system.
    case .syncAll: syncAll(root)
    case .write, .truncate, .allocate, .rename, .link, .unlink, .removeFolder, .open, .read, .status: break
    }
  }

  private func sync(_ path: String) {
    guard let node = node(at: path) else { return }
    guard node.isFolder else {
      node.bytes = Self.bytes(path)
      return
    }
    let names = liveNames(of: path)
    // A folder has one parent: its move is one act, whichever of the two folders is synced.
    for moved in names.values where moved.isFolder {
      for folder in nodes.values where folder !== node {
        folder.names = folder.names.filter { $0.value !== moved }
      }
    }
    node.names = names
  }

  private func syncAll(_ folder: String) {
    sync(folder)
    for (name, node) in liveNames(of: folder) {
      let path = folder + "/" + name
      if node.isFolder { syncAll(path) } else { sync(path) }
    }
  }

  private func liveNames(of path: String) -> [String: Node] {
    var names: [String: Node] = [:]
    for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
      names[name] = node(at: path + "/" + name)
    }
    return names
  }

  private func node(at path: String) -> Node? {
    var info = stat()
    guard lstat(path, &info) == 0 else { return nil }
    let inode = UInt64(info.st_ino)
    let isFolder = info.st_mode & S_IFMT == S_IFDIR
    if let known = nodes[inode], known.isFolder == isFolder { return known }
    let node = Node(inode: inode, isFolder: isFolder)
    if !isFolder {
      node.keptPath = kept.file("\(inode)")
      link(path, node.keptPath)
    }
    nodes[inode] = node
    return node
  }

  private static func bytes(_ path: String) -> [UInt8] {
    FileManager.default.contents(atPath: path).map { Array($0) } ?? []
  }

  // MARK: After the cut

  /// Makes the live folder what outlived the cut.
  func restore(_ survival: Survival) throws {
    var generator = SeededGenerator(seed: 0)
    if case .some(let seed) = survival { generator = SeededGenerator(seed: seed) }
    let keepsNames =
      switch survival {
      case .syncedOnly: false
      case .names: true
      case .some: Bool.random(using: &generator)
      }
    let tree = keepsNames ? live(root) : rootNode
    for node in nodes.values.sorted(by: { $0.inode < $1.inode }) where !node.isFolder {
      let now = Self.bytes(node.keptPath)
      var wanted = node.bytes
      if case .some = survival { wanted = Self.mixed(node.bytes, now, using: &generator) }
      if wanted != now {
        guard let file = FileHandle(forWritingAtPath: node.keptPath) else { throw CocoaError(.fileWriteUnknown) }
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: Data(wanted))
        try file.close()
      }
    }
    // Folders are set aside and put back, for a folder keeps its number too.
    let aside = try TemporaryFolder("godwit-aside")
    try empty(root, aside: aside)
    try place(tree, at: root, aside: aside)
  }

  private func live(_ path: String) -> Node {
    let node = Node(inode: self.node(at: path)?.inode ?? 0, isFolder: true)
    for (name, child) in liveNames(of: path) {
      node.names[name] = child.isFolder ? live(path + "/" + name) : child
    }
    return node
  }

  private static func mixed(_ old: [UInt8], _ new: [UInt8], using generator: inout SeededGenerator) -> [UInt8] {
    var result = [UInt8](repeating: 0, count: Bool.random(using: &generator) ? old.count : new.count)
    for start in stride(from: 0, to: result.count, by: 4096) {
      let page = Bool.random(using: &generator) ? old : new
      for position in start..<min(start + 4096, result.count, max(start, page.count)) {
        result[position] = page[position]
      }
    }
    return result
  }

  private func empty(_ path: String, aside: TemporaryFolder) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: path) {
      let item = path + "/" + name
      var info = stat()
      guard lstat(item, &info) == 0 else { continue }
      if info.st_mode & S_IFMT == S_IFDIR {
        try empty(item, aside: aside)
        guard rename(item, aside.file("\(info.st_ino)")) == 0 else { throw CocoaError(.fileWriteUnknown) }
      } else {
        unlink(item)
      }
    }
  }

  private func place(_ folder: Node, at path: String, aside: TemporaryFolder) throws {
    for (name, node) in folder.names.sorted(by: { $0.key < $1.key }) {
      let item = path + "/" + name
      if node.isFolder {
        if rename(aside.file("\(node.inode)"), item) != 0 {
          try FileManager.default.createDirectory(atPath: item, withIntermediateDirectories: true)
        }
        try place(node, at: item, aside: aside)
      } else {
        guard link(node.keptPath, item) == 0 else { throw CocoaError(.fileWriteUnknown) }
      }
    }
  }
}
