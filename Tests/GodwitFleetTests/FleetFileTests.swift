import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitFleet
@testable import GodwitManifest

/// What a fleet reads: its file, lists of stores, its plan.
@Suite struct FleetFileTests {
  private func fleet(_ more: String, path: String = "a/users.yaml") throws -> FleetManifest {
    try FleetManifest(text: "godwit: 1\njob: job.yaml\n" + more, path: path)
  }

  @Test func `what is left out has defaults, and paths count from the file`() throws {
    let fleet = try fleet("")
    #expect(
      fleet.name == "users" && fleet.job.resolved == "a/job.yaml"
        && fleet.folder.resolved == "a/users.fleet")
    #expect(
      fleet.stores == .ofJob && fleet.shards == .minutes(10) && fleet.jobs == nil
        && fleet.canary == nil)
    #expect(fleet.failures == .init() && fleet.base == "a/")
    #expect(try self.fleet("", path: "my fleet.yaml").name == "fleet")
    let whole = try self.fleet(
      """
      fleet: f-1
      stores: {list: users.txt}
      root: data
      folder: /shared/f
      shards: 16
      jobs: 2
      canary: {percent: 0.5}
      failures: {max-stores: 0, max-percent: 0.5}
      """)
    #expect(
      whole.root?.resolved == "a/data" && whole.folder.resolved == "/shared/f"
        && whole.shards == .count(16))
    #expect(whole.canary == .percent(0.5) && whole.failures == .init(maxStores: 0, maxPercent: 0.5))
    guard case .list(let path) = whole.stores else {
      Issue.record("no list")
      return
    }
    #expect(path.resolved == "a/users.txt")
    #expect(try self.fleet("stores: {list: '-'}").stores == .standardInput)
  }

  @Test(arguments: [
    "colour: red", "fleet: a/b", "fleet: ''", "stores: users.txt", "stores: {lists: a}", "root: a",
    "shards: 0",
    "shards: 10001", "shards: {minutes: 0}", "shards: many", "jobs: 0", "jobs: 65", "canary: 1",
    "canary: {percent: 0}", "canary: {stores: 1, percent: 1}", "canary: {}", "failures: {}",
    "failures: {max-percent: 101}", "failures: {max-stores: -1}", "source: a", "stores: [a, b]",
  ])
  func `what is wrong is 78 with its place`(line: String) throws {
    let error = #expect(throws: GodwitError.self) { try fleet(line) }
    #expect(error?.code == .configuration && error?.location?.line == 3)
  }

  @Test func `a job manifest is told from a fleet file`() throws {
    let error = #expect(throws: GodwitError.self) {
      try FleetManifest(text: "godwit: 1\nsource: a\ndestination: b\nmodels: c\n", path: "job.yaml")
    }
    #expect(error?.message.contains("found a job manifest") == true)
  }

  // MARK: Lists

  private func paths(_ bytes: [UInt8], _ folder: TemporaryFolder) throws -> [String] {
    try Data(bytes).write(to: URL(filePath: folder.file("list")))
    var paths: [String] = []
    try StoreList(path: folder.file("list")).forEachPath {
      paths.append($0.replacing(folder.path, with: ""))
    }
    return paths
  }

  @Test func `a list may have empty lines, ends of Windows, a byte order mark and no last end`()
    throws
  {
    let folder = try TemporaryFolder()
    let text = "\u{FEFF}a.sqlite\r\n\n  \n./b c.sqlite\n/c\r\nd"
    #expect(try paths(Array(text.utf8), folder) == ["/a.sqlite", "/b c.sqlite", "/c", "/d"])
    #expect(try paths([], folder) == [])
    let error = #expect(throws: GodwitError.self) { try paths([0x61, 0x0A, 0xFF, 0x0A], folder) }
    #expect(error?.code == .dataWrong && error?.location?.line == 2)
    let missing = #expect(throws: GodwitError.self) { try StoreList(path: folder.file("nosuch")) }
    #expect(missing?.code == .missingInput)
  }

  @Test func `lines longer than a buffer are whole, and one without end is refused`() throws {
    let folder = try TemporaryFolder()
    let long = String(repeating: "x", count: 200_000)
    #expect(try paths(Array("\(long)\ny\n".utf8), folder) == ["/" + long, "/y"])
    #expect(throws: GodwitError.self) {
      try paths(Array(repeating: 0x78, count: LineFile.bytesMaximum + (1 << 17)), folder)
    }
  }

  // MARK: Paths

  @Test func `paths are kept relative to the file, and folders begin at the root`() {
    let paths = FleetPaths(base: "jobs/", root: "jobs/stores/")
    #expect(
      paths.kept("jobs/stores/a/b.sqlite") == "stores/a/b.sqlite" && paths.kept("/x/y") == "/x/y")
    #expect(
      paths.opened("stores/a/b.sqlite") == "jobs/stores/a/b.sqlite"
        && paths.opened("/x/y") == "/x/y")
    let inside = paths.match("stores/a/./c/../b.sqlite")
    #expect(inside.isInRoot && inside.match.folder == "a" && inside.match.name == "b.sqlite")
    #expect(
      paths.match("stores/b.sqlite").match.folder == "" && paths.match("stores/b.sqlite").isInRoot)
    #expect(
      !paths.match("/elsewhere/b.sqlite").isInRoot && !paths.match("stores2/b.sqlite").isInRoot)
    #expect(FleetPaths(base: "", root: "/").match("/a/b").match.folder == "a")
  }

  @Test func `what is kept does not depend on how the file's path was given`() throws {
    let current = FleetPaths.absolute(".")
    for base in ["jobs/", "./jobs/", "\(current)/jobs/"] {
      let paths = FleetPaths(base: base, root: base + "stores")
      for path in ["jobs/stores/u.sqlite", "\(current)/jobs/stores/u.sqlite", "\(base)stores/u.sqlite"] {
        #expect(paths.kept(path) == "stores/u.sqlite", "\(base) \(path)")
      }
      #expect(paths.kept("/jobs/stores/u.sqlite") == "/jobs/stores/u.sqlite")
      #expect(paths.kept("jobs2/u.sqlite") == "\(current)/jobs2/u.sqlite")
    }
    #expect(FleetPaths(base: "", root: "stores").kept("\(current)/stores/u") == "stores/u")
    #expect(FleetPaths(base: "/", root: "/").kept("/u") == "u")
  }

  @Test func `names are cut by their bytes`() throws {
    // A combining mark is one character with what is before it, and the two names are equal as text.
    let (mark, composed, decomposed) = ("\u{301}a.sqlite", "\u{E9}", "e\u{301}")
    let paths = FleetPaths(base: "jobs/", root: "jobs/stores")
    let kept = paths.kept("jobs/" + mark)
    #expect(Array(kept.utf8) == Array(mark.utf8) && paths.opened(kept) == "jobs/" + mark)
    let match = paths.match("stores/\(decomposed)/\(mark)")
    #expect(match.isInRoot && Array(match.match.name.utf8) == Array(mark.utf8))
    #expect(Array(match.match.folder.utf8) == Array(decomposed.utf8))
    let other = FleetPaths(base: "jobs/", root: "jobs/\(composed)").match("\(decomposed)/a.sqlite")
    #expect(!other.isInRoot)
    #expect(Array(FleetPaths.absolute("/x/./\(mark)").utf8) == Array("/x/\(mark)".utf8))
    let folder = try TemporaryFolder()
    #expect(try self.paths(Array("/\(mark)\n".utf8), folder).map { Array($0.utf8) } == [Array("/\(mark)".utf8)])
  }

  @Test func `the digest of inputs has the files that decide, and no files of others`() throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.file("M"), withIntermediateDirectories: true)
    func digest() throws -> [UInt8] {
      var digest = FileTreeDigest()
      try digest.add(folder.file("M"))
      return digest.finish()
    }
    func write(_ name: String, _ text: String) throws {
      try Data(text.utf8).write(to: URL(filePath: folder.file("M/" + name)))
    }
    try write("contents", "a")
    let first = try digest()
    for name in [".DS_Store", "._contents", ".nfs0001", ".contents.swp"] { try write(name, "x") }
    #expect(try digest() == first)
    try write(".xccurrentversion", "1")
    let second = try digest()
    try write(".xccurrentversion", "2")
    #expect(try second != first && digest() != second)
    try write("contents", "b")
    #expect(try digest() != second)
  }

  @Test func `the folder of a store is that of its list, wherever the root is now`() throws {
    let paths = FleetPaths(base: "jobs/", root: "elsewhere")
    let listed = ShardStore(store: "stores/a/u.sqlite", bytes: 1, pair: nil, folder: "a")
    #expect(try paths.match(listed, needsFolder: true).folder == "a")
    let old = ShardStore(store: "stores/a/u.sqlite", bytes: 1, pair: nil)
    #expect(try paths.match(old, needsFolder: false).name == "u.sqlite")
    let error = #expect(throws: GodwitError.self) { try paths.match(old, needsFolder: true) }
    #expect(error?.code == .cannotCreate)
  }

  // MARK: Locks

  @Test func `a lock outlasts those who only look, and is none on a file that was taken away`() throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.file("results"), withIntermediateDirectories: true)
    let place = FleetFolder(path: folder.path)
    // Somebody looks for a moment: shorter than a run tries, and longer than one try.
    let looking = open(place.lockPath(7), O_RDONLY | O_CREAT, 0o666)
    #expect(flock(looking, LOCK_SH) == 0)
    let thread = Thread {
      usleep(30_000)
      flock(looking, LOCK_UN)
    }
    thread.start()
    let lock = try place.lock(shard: 7)
    #expect(place.isLocked(7) && place.lockedShard == 7)
    let error = #expect(throws: GodwitError.self) { try place.lock(shard: 7) }
    #expect(error?.stopReason == .locked)
    withExtendedLifetime(lock) {}
    close(looking)
  }

  @Test(arguments: testSeeds(20)) func `times are those of Foundation`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<20 {
      let date = Date(
        timeIntervalSince1970: Double(random.below(8_000_000_000)) - 1_000_000_000 + 0.125)
      let found = try #require(FleetTime.seconds(FleetTime.text(date)))
      #expect(abs(found - date.timeIntervalSince1970) < 0.001, "\(FleetTime.text(date))")
    }
    for text in [
      "", "today", "2026-13-01T00:00:00Z", "2026-11-23T08:00:00+01:00", "2026-11-23 08:00:00Z",
    ] {
      #expect(FleetTime.seconds(text) == nil, "\(text)")
    }
    #expect(FleetTime.seconds("1970-01-02T00:00:01Z") == 86_401)
  }

  // MARK: The plan

  @Test func `a plan is read as it was written, and a damaged one is refused`() throws {
    let folder = try TemporaryFolder()
    var plan = FleetPlan(
      fleet: "users", jobManifest: "job.yaml", made: FleetTime.text(Date(timeIntervalSince1970: 0)),
      jobs: 2,
      memoryBytes: 1, failures: .init(.init(maxStores: 3)),
      inputs: String(repeating: "0", count: 64))
    (plan.identity, plan.surveyed) = (plan.inputs, plan.inputs)
    (plan.shards, plan.shardStores, plan.stores, plan.unreadable) = (2, [1, 2], 3, 1)
    plan.firstUnreadable = [.init(store: "a\n\"", status: 65, code: "data-wrong", message: "m")]
    plan.pairs = [
      .init(
        version: "V 1", stores: 3, bytes: 9, outcome: .noPath, path: [], losses: ["x"],
        message: "no path")
    ]
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    let bytes = try encoder.encode(plan)
    try bytes.write(to: URL(filePath: folder.file("plan.json")))
    #expect(try FleetFolder(path: folder.path).plan() == plan)
    let text = String(decoding: bytes, as: UTF8.self)
    let schema = try #require(PublishedSchema.all.first { $0.name == "fleet-plan" })
    #expect(try JSONSchema(text: schema.text).findings(JSONValue(parsing: text)) == [])
    for wrong in [
      text.replacing("\"version\":1}", with: "\"version\":2}"),
      text.replacing("[1,2]", with: "[1]"), text.replacing("[1,2]", with: "[1,9000000000000000000]"),
      text.replacing("[1,2]", with: "[2,2]"), text.replacing("\"unreadable\":1", with: "\"unreadable\":-1"),
      text.replacing("\"unreadable\":1", with: "\"unreadable\":9000000000000000000"),
      text.replacing("\"canaryStores\":0", with: "\"canaryStores\":2"), "{",
    ] {
      #expect(wrong != text)
      try Data(wrong.utf8).write(to: URL(filePath: folder.file("plan.json")))
      let error = #expect(throws: GodwitError.self) { try FleetFolder(path: folder.path).plan() }
      #expect(error?.code == .dataWrong)
    }
  }

  @Test func `the list of a shard must have what the plan says`() throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(
      atPath: folder.file("shards"), withIntermediateDirectories: true)
    let place = FleetFolder(path: folder.path)
    func read(_ text: String, expecting count: Int64) throws -> [String] {
      try Data(text.utf8).write(to: URL(filePath: place.shardPath(3)))
      let reader = try ShardReader(place, shard: 3, expecting: count)
      var found: [String] = []
      while let store = try reader.next() { found.append(store.store) }
      return found
    }
    let lines = "{\"bytes\":1,\"store\":\"a\"}\n{\"bytes\":2,\"pair\":0,\"store\":\"b\"}\n"
    #expect(try read(lines, expecting: 2) == ["a", "b"])
    for (text, count) in [(lines, 1), (lines, 3), (String(lines.dropLast(4)), 2), ("x\n", 1)]
      as [(String, Int64)]
    {
      let error = #expect(throws: GodwitError.self) { try read(text, expecting: count) }
      #expect(error?.code == .dataWrong, "\(text) \(count)")
    }
  }
}
