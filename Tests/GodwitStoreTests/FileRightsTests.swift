import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Permissions that go from a file to the one made of it, and temporary files that nobody else can use.
struct FileRightsTests {
  private func file(_ folder: TemporaryFolder, _ name: String, _ mode: mode_t) throws -> String {
    let path = folder.file(name)
    try Data().write(to: URL(filePath: path))
    try #require(chmod(path, mode) == 0)
    return path
  }

  private func mode(_ path: String) throws -> mode_t {
    var info = stat()
    try #require(stat(path, &info) == 0)
    return info.st_mode & 0o7777
  }

  private func attribute(_ name: String, of path: String) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = CLibrary.getAttribute(path, name, &bytes, bytes.count)
    return count < 0 ? nil : Array(bytes.prefix(count))
  }

  /// An access list that lets user 1234 read, as Linux stores it: version, then tag, permissions and id of each entry.
  private static let list: [UInt8] = {
    func entry(_ tag: UInt8, _ rights: UInt8, _ id: UInt32) -> [UInt8] {
      [tag, 0, rights, 0] + withUnsafeBytes(of: id.littleEndian) { Array($0) }
    }
    return [2, 0, 0, 0] + entry(1, 6, .max) + entry(2, 4, 1234) + entry(4, 0, .max) + entry(0x10, 4, .max)
      + entry(0x20, 0, .max)
  }()

  @Test func `mode, extended attributes and access list are copied`() throws {
    let folder = try TemporaryFolder()
    let (old, new) = (try file(folder, "old", 0o664), try file(folder, "new", 0o600))
    guard CLibrary.setAttribute(old, "user.note", Array("kept".utf8)) == 0 else { return }
    try #require(CLibrary.setAttribute(new, "user.other", [1]) == 0)
    let hasLists = CLibrary.setAttribute(old, "system.posix_acl_access", Self.list) == 0
    try FileRights.copyAll(of: old, to: new)
    #expect(attribute("user.note", of: new) == Array("kept".utf8))
    #expect(attribute("user.other", of: new) == nil)
    #expect(try mode(new) == mode(old))
    guard hasLists else { return }
    #expect(attribute("system.posix_acl_access", of: new) == Self.list)
    // The group's bits of the mode are the list's mask: as a plain mode they would let the group in.
    let made = try file(folder, "made", 0o600)
    try FileRights.copyMode(of: old, to: made)
    #expect(try mode(made) == 0o600)
  }

  @Test func `a group that cannot be kept gets the rights of others`() throws {
    guard getuid() == 0 else { return }
    let folder = try TemporaryFolder()
    let old = try file(folder, "old", 0o640)
    try #require(chown(old, 0, 4321) == 0)
    let new = try file(folder, "new", 0o600)
    try FileRights.copyMode(of: old, to: new)
    #expect(try mode(new) == 0o600)
  }

  @Test func `a new folder gets the rights of the folder it replaces, or is private`() throws {
    let folder = try TemporaryFolder()
    let old = folder.file("old")
    #expect(FileRights.folderMode(like: old) == 0o700)
    try FileManager.default.createDirectory(atPath: old, withIntermediateDirectories: false)
    for mode: mode_t in [0o700, 0o500] {
      try #require(chmod(old, mode) == 0)
      #expect(FileRights.folderMode(like: old) == 0o700)
    }
    try #require(chmod(old, 0o755) == 0)
    // Under the umask, whatever that is.
    let new = folder.file("new")
    try Data().write(to: URL(filePath: new))
    try FileRights.copyMode(of: [], to: new)
    #expect(try FileRights.folderMode(like: old) & 0o744 == 0o700 | UInt32(mode(new) & 0o044))
    try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: old)
    #expect(FileRights.folderMode(like: folder.file("link")) == 0o700)
  }

  @Test func `a file that was created meanwhile is not replaced`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("out.csv")
    let temporary = try NewFile.temporaryName(beside: path)
    try Data("theirs".utf8).write(to: URL(filePath: path))
    let error = #expect(throws: GodwitError.self) { try NewFile.publish(temporary, as: path, like: []) }
    #expect(error?.code == .cannotCreate)
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "theirs")
  }

  @Test func `temporary files have names that nobody can guess, and are their owner's`() throws {
    let folder = try TemporaryFolder()
    let names = try (0..<8).map { _ in try NewFile.temporaryName(beside: folder.file("out.csv")) }
    #expect(Set(names).count == 8)
    for name in names {
      #expect(!name.contains(".\(getpid())."))
      #expect(try mode(name) == 0o600)
    }
  }

  @Test func `a scratch folder is private, removed with its value, and swept when stale`() throws {
    let folder = try TemporaryFolder()
    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }
    do {
      let scratch = try ScratchFolder(in: folder.path)
      #expect(try mode(scratch.path) == 0o700)
      #expect(try names().count == 1)
    }
    #expect(try names() == [])
    // One that a killed process left; one that is held; one that is anybody's.
    let (stale, theirs) = (folder.file("godwit-scratch-aaaaaa"), folder.file("godwit-scratch-bbbbbb"))
    for path in [stale, theirs] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      try #require(chmod(path, 0o700) == 0)
    }
    try Data().write(to: URL(filePath: stale + "/lock"))
    try Data("secret".utf8).write(to: URL(filePath: stale + "/source-copy.sqlite"))
    try Data("precious".utf8).write(to: URL(filePath: theirs + "/letters.txt"))
    // One that others can look into is none of ours, whatever is in it.
    let open = folder.file("godwit-scratch-cccccc")
    try FileManager.default.createDirectory(atPath: open, withIntermediateDirectories: false)
    try Data().write(to: URL(filePath: open + "/lock"))
    try #require(chmod(open, 0o755) == 0)
    // One that was made a moment ago, and whose lock is not taken yet.
    let young = folder.file("godwit-scratch-dddddd")
    try FileManager.default.createDirectory(atPath: young, withIntermediateDirectories: false)
    try #require(chmod(young, 0o700) == 0)
    try Data().write(to: URL(filePath: young + "/lock"))
    let held = try ScratchFolder(in: folder.path)
    for path in [stale, theirs, held.path, open] {
      var times = [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)]
      try #require(utimes(path, &times) == 0)
    }
    let next = try ScratchFolder(in: folder.path)
    #expect(!FileManager.default.fileExists(atPath: stale))
    for path in [theirs + "/letters.txt", held.path + "/lock", next.path + "/lock", open + "/lock", young + "/lock"] {
      #expect(FileManager.default.fileExists(atPath: path))
    }
  }
}
