import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// The exchange of a store for the one made of it: whole at every step, whatever the file system offers.
struct InPlaceExchangeTests {
  private struct Died: Error {}

  private static func photo(_ more: String? = nil) -> EntityDescription {
    var photo = AttributeDescription(name: "photo", type: .binary)
    photo.allowsExternalBinaryDataStorage = true
    var scan = AttributeDescription(name: "scan", type: .binary)
    scan.allowsExternalBinaryDataStorage = true
    let name = AttributeDescription(name: "name", type: .string)
    guard let more else { return EntityDescription(name: "Person", attributes: [name, photo, scan]) }
    // The files of 'scan' go with it.
    return EntityDescription(
      name: "Person", attributes: [name, photo, AttributeDescription(name: more, type: .string)])
  }

  /// Six people, of whom some have photos and scans in files; the last two lie in the write-ahead log.
  private func fixture(to: EntityDescription = photo("motto")) throws -> MigrationFixture {
    let fixture = try MigrationFixture([Self.photo()], to: [to])
    try fixture.build { store in
      for key in Int64(1)...6 { try store.insert("Person", key: key, attributes: ["name": .init("p\(key)")]) }
    }
    let support = SupportFolder(ofStoreAt: fixture.sourcePath)
    try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
    let connection = try StoreConnection(path: fixture.sourcePath)
    for (column, key) in [("ZPHOTO", 1), ("ZPHOTO", 2), ("ZSCAN", 2), ("ZSCAN", 3)] {
      let name = "0000000\(key)-\(column == "ZSCAN" ? "1000" : "2000")-2222-3333-444444444444"
      try Data("\(column) \(key)".utf8).write(to: URL(filePath: support.path(of: name)))
      try connection.execute(
        "UPDATE ZPERSON SET \(column) = ?1 WHERE Z_PK = ?2",
        [.blob(StoredBinary.external(name: name).bytes), .int(key)])
    }
    try connection.close()
    try fixture.infer()
    return fixture
  }

  /// A copy of the source with a write-ahead log that holds two more rows.
  private func storeWithLog(_ fixture: MigrationFixture, _ name: String) throws -> String {
    let path = try fixture.copyOfSource(name)
    let writer = try StoreConnection(path: path)
    try writer.execute("PRAGMA journal_mode = WAL")
    try writer.execute("PRAGMA wal_autocheckpoint = 0")
    for key in 7...8 {
      try writer.execute("INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (?1, 1, 1, 'logged')", [.int(key)])
    }
    // A process that ends without closing its store leaves these files.
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: path + ".left" + suffix)
    }
    try writer.close()
    for suffix in ["", "-wal"] {
      try? FileManager.default.removeItem(atPath: path + suffix)
      try FileManager.default.moveItem(atPath: path + ".left" + suffix, toPath: path + suffix)
    }
    #expect(try StoreFiles(path: path).hasWAL())
    return path
  }

  private func job(
    _ fixture: MigrationFixture, _ path: String, isLightweight: Bool = true, links: Bool = true, keepsOld: Bool = true,
    dyingBefore step: Int? = nil
  ) -> MigrationJob {
    var job = fixture.jobInPlace(path, keepsOld: keepsOld)
    if !isLightweight { job.steps[0].origin = nil }
    job.hooks.makesHardLinks = links
    job.hooks.makesReflinks = links
    if let step { job.hooks.beforeSwapStep = { if $0 == step { throw Died() } } }
    return job
  }

  /// Without the key that names the job, whose digest depends on whether a log was written back.
  private func content(_ path: String) throws -> InPlaceContent {
    var content = try InPlaceContent(path)
    content.dump.lines.removeAll { $0.hasPrefix("metadata GodwitJobs") || $0.contains("x'62706c697374") }
    return content
  }

  private func expectWhole(_ path: String, _ expected: InPlaceContent, sourceLocation: SourceLocation) throws {
    let found = try content(path)
    #expect(found == expected, "\(found.firstDifference(from: expected) ?? "")", sourceLocation: sourceLocation)
    let size = try? FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
    #expect((size ?? 0) == 0, sourceLocation: sourceLocation)
  }

  @Test(arguments: [true, false], [true, false])
  func `a run that dies before any step of the exchange resumes to the same store`(isLightweight: Bool, links: Bool)
    throws
  {
    let fixture = try fixture()
    let whole = try storeWithLog(fixture, "whole")
    let before = try content(whole)
    let manager = MigrationManager(job(fixture, whole, isLightweight: isLightweight, links: links))
    #expect(try manager.plan().steps.first?.way?.hasPrefix("through the executor") == !isLightweight)
    try manager.run()
    let after = try content(whole)
    #expect(after.files.count == 2 && before.files.count == 4)
    #expect(try content(InPlaceSwap.oldPath(of: whole)) == before)
    for step in 1...6 {
      let path = try storeWithLog(fixture, "step-\(step)")
      let dying = job(fixture, path, isLightweight: isLightweight, links: links, dyingBefore: step)
      #expect(throws: Died.self) { try MigrationManager(dying).run() }
      if step < 6 {
        // Files of both stores may lie there; the old store's are among them.
        var found = try content(path)
        #expect(Set(found.files).isSuperset(of: before.files))
        found.files = before.files
        #expect(found == before, "before step \(step)")
      } else {
        #expect(try content(path).dump == after.dump)
      }
      let size = try? FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
      #expect((size ?? 0) == 0)
      let again = try MigrationManager(job(fixture, path, isLightweight: isLightweight, links: links)).run()
      #expect(again.outcome == (step < 6 ? .finished : .alreadyFinished))
      try expectWhole(path, after, sourceLocation: #_sourceLocation)
      #expect(try content(InPlaceSwap.oldPath(of: path)) == before, "before step \(step)")
      #expect(try !WorkFolder.exists(forDestination: path))
    }
  }

  @Test func `the new store is synced before its rename, and the folder before files of the old store go`() throws {
    let fixture = try fixture()
    let path = try fixture.copyOfSource("order")
    let layer = try FaultLayer(.none)
    let job = job(fixture, path, isLightweight: false, keepsOld: false)
    try layer.run { _ = try MigrationManager(job).run() }
    let operations = layer.operations
    func name(_ path: String) -> String { (path as NSString).lastPathComponent }
    let exchange = try #require(operations.firstIndex { $0.kind == .rename && $0.secondPath == path })
    let before = operations[exchange - 1]
    #expect(before.kind == .sync && name(before.path) == name(operations[exchange].path), "\(before)")
    let synced = try #require(operations[exchange...].firstIndex { $0.kind == .sync && name($0.path) == "order" })
    let gone = operations[exchange...].indices.filter {
      operations[$0].kind == .unlink && operations[$0].path.contains("/.source_SUPPORT/")
    }
    #expect(gone.count == 2 && gone.allSatisfy { $0 > synced }, "\(operations[exchange...])")
  }

  @Test func `a name that the old store is to get is looked for before any work`() throws {
    let fixture = try fixture()
    let path = try storeWithLog(fixture, "taken")
    let old = InPlaceSwap.oldPath(of: path)
    try Data("mine".utf8).write(to: URL(filePath: old))
    var parts = 0
    let error = #expect(throws: GodwitError.self) {
      try MigrationManager(job(fixture, path, isLightweight: false)).run { _ in parts += 1 }
    }
    #expect(try error?.code == .cannotCreate && parts == 0 && !WorkFolder.exists(forDestination: path))
    #expect(try Data(contentsOf: URL(filePath: old)) == Data("mine".utf8))
  }

  @Test(arguments: [true, false])
  func `a folder of external files that became a link during the run is not followed`(isLightweight: Bool) throws {
    let fixture = try fixture()
    let path = try storeWithLog(fixture, "linked")
    let before = try content(path)
    var job = job(fixture, path, isLightweight: isLightweight)
    job.receipt = .besideDestination
    let (support, elsewhere) = (SupportFolder(ofStoreAt: path), fixture.folder.file("elsewhere"))
    let layer = try FaultLayer(.none)
    layer.beforeEach = { operation in
      // The last of the work before the exchange.
      guard operation.path.hasSuffix("/receipt.json.new"), operation.kind == .create else { return }
      rename(support.path, elsewhere)
      symlink(elsewhere, support.path)
    }
    let error = #expect(throws: GodwitError.self) { try layer.run { try MigrationManager(job).run() } }
    #expect(
      error?.code == .dataWrong && error?.message.contains("symbolic link") == true, "\(String(describing: error))")
    unlink(support.path)
    #expect(rename(elsewhere, support.path) == 0)
    #expect(try content(path) == before && !FileManager.default.fileExists(atPath: InPlaceSwap.oldPath(of: path)))
    #expect(try MigrationManager(job).run().outcome == .finished)
  }

  @Test(arguments: [true, false])
  func `an unreadable folder of external files is not treated as empty`(keepsOld: Bool) throws {
    let fixture = try fixture()
    let whole = try storeWithLog(fixture, "whole")
    let before = try content(whole)
    try MigrationManager(job(fixture, whole, isLightweight: false, keepsOld: keepsOld)).run()
    let after = try content(whole)
    var (failures, old) = (0, 0)
    for entries in 0..<100 {
      let path = try storeWithLog(fixture, "unread-\(entries)")
      let job = job(fixture, path, isLightweight: false, keepsOld: keepsOld)
      var isDone = false
      do {
        try UnreadableFolder.with(pathEnding: "/_EXTERNAL_DATA", after: entries) { try MigrationManager(job).run() }
        isDone = true
      } catch let error as GodwitError {
        failures += 1
        #expect(error.code == .inputOutput, "\(error)")
        let found = try content(path)
        // Before the exchange, or after it, when the work folder is removed.
        let isOld = found.dump == before.dump
        old += isOld ? 1 : 0
        #expect(isOld || found.dump == after.dump, "after \(entries) entries")
        #expect(Set(found.files).isSuperset(of: isOld ? before.files : after.files), "after \(entries) entries")
        try MigrationManager(job).run()
      }
      try expectWhole(path, after, sourceLocation: #_sourceLocation)
      if keepsOld { #expect(try content(InPlaceSwap.oldPath(of: path)) == before) }
      if isDone { break }
    }
    // The names of both stores' files, with `.` and `..`.
    #expect(old >= 8 && failures < 99, "\(old) of \(failures)")
  }

  @Test(arguments: [true, false], [true, false])
  func `discarding a job that died in its exchange leaves the old store`(links: Bool, isLightweight: Bool) throws {
    let fixture = try fixture()
    for step in 1...5 {
      let path = try storeWithLog(fixture, "discarded-\(step)")
      let before = try content(path)
      #expect(throws: Died.self) {
        try MigrationManager(job(fixture, path, isLightweight: isLightweight, links: links, dyingBefore: step)).run()
      }
      #expect(try MigrationManager.discard(destination: path, isInPlace: true))
      #expect(try content(path) == before, "step \(step)")
      let left = try FileManager.default.contentsOfDirectory(atPath: (path as NSString).deletingLastPathComponent)
      #expect(
        left.filter { !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }.sorted() == [".source_SUPPORT", "source.sqlite"])
    }
  }

  @Test(arguments: [(true, true), (true, false), (false, true)], [true, false])
  func `the external files that an exchange added are not left by a job that died in it`(
    _ kind: (links: Bool, keepsOld: Bool), isDiscarded: Bool
  ) throws {
    let (links, keepsOld) = kind
    var twice = Self.photo()
    twice.attributes.append(twice.attributes[1])
    twice.attributes[3].name = "print"
    let fixture = try fixture(to: twice)
    // The second attribute with the value of a file gets a file of its own.
    fixture.mappings = [
      try .make(
        "Person", "Person",
        attributes: ["name": "$source.name", "photo": "$source.photo", "print": "$source.photo"])
    ]
    for step in 1...6 {
      let path = try fixture.copyOfSource("added-\(step)")
      let before = try content(path)
      let job = job(fixture, path, isLightweight: false, links: links, keepsOld: keepsOld, dyingBefore: step)
      #expect(throws: Died.self) { try MigrationManager(job).run() }
      guard isDiscarded else {
        let whole = self.job(fixture, path, isLightweight: false, links: links, keepsOld: keepsOld)
        #expect(try MigrationManager(whole).run().outcome == (step < 6 ? .finished : .alreadyFinished))
        let kept = InPlaceSwap.oldPath(of: path)
        #expect(try content(path).files.count == 4)
        #expect(try keepsOld ? content(kept) == before : !WorkFolder.exists(kept), "step \(step)")
        continue
      }
      #expect(try MigrationManager.discard(destination: path, isInPlace: true))
      if step < 6 {
        #expect(try content(path) == before, "step \(step)")
      } else {
        #expect(try content(path).files.count == 4)
      }
    }
  }

  @Test(arguments: [true, false])
  func `with 'keep-old: false' the old store's external files are removed`(isLightweight: Bool) throws {
    let fixture = try fixture()
    let path = try storeWithLog(fixture, "dropped")
    try MigrationManager(job(fixture, path, isLightweight: isLightweight, keepsOld: false)).run()
    let found = try content(path)
    #expect(found.files.count == 2)
    #expect(try MigrationManager(job(fixture, path)).isFinished())
    let left = try FileManager.default.contentsOfDirectory(atPath: (path as NSString).deletingLastPathComponent)
    #expect(left.sorted() == [".source_SUPPORT", "source.sqlite"])
  }

  @Test(arguments: [true, false])
  func `an existing file under the old store's second name is 73, and nothing is written`(isSupport: Bool) throws {
    let fixture = try fixture()
    let path = try fixture.copyOfSource("taken")
    let before = try content(path)
    let old = InPlaceSwap.oldPath(of: path)
    if isSupport {
      let support = SupportFolder(ofStoreAt: old)
      try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
      try Data([1]).write(to: URL(filePath: support.path(of: "foreign")))
    } else {
      try Data([1]).write(to: URL(filePath: old))
    }
    let error = #expect(throws: GodwitError.self) { try MigrationManager(job(fixture, path)).run() }
    #expect(error?.code == .cannotCreate)
    #expect(try content(path) == before)
    #expect(try !WorkFolder.exists(forDestination: path))
  }

  @Test func `a file that an earlier migration kept is never removed`() throws {
    let fixture = try fixture()
    let path = try fixture.copyOfSource("earlier")
    let old = InPlaceSwap.oldPath(of: path)
    let earlier = Data("the store before the last migration".utf8)
    try earlier.write(to: URL(filePath: old))
    func die() throws {
      #expect(throws: Died.self) {
        try MigrationManager(job(fixture, path, isLightweight: false, keepsOld: false, dyingBefore: 5)).run()
      }
    }
    try die()
    let error = #expect(throws: GodwitError.self) {
      try MigrationManager(job(fixture, path, isLightweight: false)).run()
    }
    #expect(error?.code == .cannotCreate)
    #expect(try Data(contentsOf: URL(filePath: old)) == earlier)
    #expect(try MigrationManager.discard(destination: path, isInPlace: true))
    #expect(try Data(contentsOf: URL(filePath: old)) == earlier)
    try die()
    try MigrationManager(job(fixture, path, isLightweight: false, keepsOld: false)).run()
    #expect(try Data(contentsOf: URL(filePath: old)) == earlier)
  }

  @Test(arguments: [true, false])
  func `a file that takes the old store's second name during the run is 73, and the next run resumes`(
    isLightweight: Bool
  ) throws {
    let fixture = try fixture()
    let path = try fixture.copyOfSource("late")
    let before = try content(path)
    let old = InPlaceSwap.oldPath(of: path)
    let manager = MigrationManager(job(fixture, path, isLightweight: isLightweight))
    let error = #expect(throws: GodwitError.self) {
      try manager.run { _ in _ = FileManager.default.createFile(atPath: old, contents: Data([7])) }
    }
    #expect(error?.code == .cannotCreate)
    #expect(try content(path).dump == before.dump)
    #expect(try Data(contentsOf: URL(filePath: old)) == Data([7]))
    try FileManager.default.removeItem(atPath: old)
    #expect(try manager.run().outcome == .finished)
    #expect(try content(old) == before)
  }

  @Test func `a store that the application migrated meanwhile keeps its external files`() throws {
    let fixture = try fixture()
    let whole = try fixture.copyOfSource("whole")
    try MigrationManager(job(fixture, whole)).run()
    let path = try fixture.copyOfSource("overtaken")
    let files = try content(path).files
    #expect(throws: Died.self) {
      try MigrationManager(job(fixture, path, isLightweight: false, dyingBefore: 5)).run()
    }
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.copyItem(atPath: whole, toPath: path)
    #expect(try MigrationManager(job(fixture, path, isLightweight: false)).run().outcome == .alreadyFinished)
    #expect(Set(try content(path).files).isSuperset(of: files))
  }

  // MARK: Other processes

  private static let hasPython = FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")

  /// Another process that has a store open until it is told to end.
  private final class Holder {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    init(_ path: String, _ statements: [String]) throws {
      process.executableURL = URL(filePath: "/usr/bin/env")
      let program = """
        import sqlite3, sys
        c = sqlite3.connect(sys.argv[1], isolation_level=None)
        for s in sys.argv[2:]: c.execute(s).fetchone()
        print('ready', flush=True)
        sys.stdin.read()
        """
      process.arguments = ["python3", "-c", program, path] + statements
      process.standardInput = input
      process.standardOutput = output
      try process.start()
      let data = output.fileHandleForReading.availableData
      try #require(String(decoding: data, as: UTF8.self).hasPrefix("ready"))
    }

    func end() {
      try? input.fileHandleForWriting.close()
      process.wait()
    }
  }

  @Test(
    arguments: [
      ["BEGIN IMMEDIATE"], ["BEGIN", "SELECT * FROM ZPERSON"], ["PRAGMA journal_mode = WAL", "SELECT * FROM ZPERSON"],
      ["PRAGMA journal_mode = WAL", "BEGIN IMMEDIATE"],
    ], [true, false])
  func `a store in place that another process has open is 75, and runs once it is closed`(
    statements: [String], keepsOld: Bool
  ) throws {
    let fixture = try fixture()
    let path = try fixture.copyOfSource("held")
    let before = try content(path)
    let holder = try Holder(path, statements)
    let error = #expect(throws: GodwitError.self) {
      try MigrationManager(job(fixture, path, keepsOld: keepsOld)).run()
    }
    #expect(error?.code == .stopped, "\(String(describing: error))")
    #expect(error?.message.contains("another process has it open") == true)
    #expect(try content(path).dump == before.dump)
    #expect(try !WorkFolder.exists(forDestination: path))
    holder.end()
    #expect(try MigrationManager(job(fixture, path, keepsOld: keepsOld)).run().outcome == .finished)
  }

  // MARK: Several steps, XML

  @Test func `a chain of steps in place runs through the executor, step by step`() throws {
    let fixture = try fixture()
    let third = try ManagedObjectModel(
      name: "3", entities: [EntityDescription(name: "Person", attributes: [.init(name: "name", type: .string)])])
    let path = try storeWithLog(fixture, "chain")
    let before = try content(path)
    var job = job(fixture, path)
    job.steps.append(
      MigrationStep(
        sourceModel: fixture.destination, destinationModel: third,
        mappingModels: [try MappingModel(inferredFrom: fixture.destination, to: third)],
        origin: MigrationStep.inferredOrigin))
    let manager = MigrationManager(job)
    #expect(
      try manager.plan().steps.map(\.way) == Array(repeating: "through the executor: the job has 2 steps", count: 2))
    #expect(try manager.run().outcome == .finished)
    #expect(try content(InPlaceSwap.oldPath(of: path)) == before)
    #expect(try StoreMetadata(readingStoreAt: path).entityVersionHashes == third.versionHashes)
    #expect(try content(path).files == [])
  }

  @Test func `an XML store is migrated in place`() throws {
    let fixture = try MigrationFixture(
      [.make("Note", ["text": .string])], to: [.make("Note", ["text": .string, "zeta": .string])])
    try fixture.build { try $0.insert("Note", key: 1, attributes: ["text": .init("t")]) }
    try fixture.infer()
    let path = fixture.folder.file("notes.xml")
    try AtomicStoreWriter(readingStoreAt: fixture.sourcePath, model: fixture.source, name: path).write(to: path)
    var job = fixture.jobInPlace(path)
    job.destinationType = .xml
    let old = try Data(contentsOf: URL(filePath: path))
    #expect(
      try MigrationManager(job).plan().steps.first?.way == "through the executor: the store is not a SQLite file")
    #expect(try MigrationManager(job).run().outcome == .finished)
    #expect(try StoreMetadata(readingStoreAt: path).entityVersionHashes == fixture.destination.versionHashes)
    #expect(try Data(contentsOf: URL(filePath: fixture.folder.file("notes~.xml"))) == old)
    #expect(try MigrationManager(job).run().outcome == .alreadyFinished)
  }

  @Test func `a cloned file has the original's bytes and permissions, and a stopped copy leaves no file`() throws {
    let folder = try TemporaryFolder()
    let (path, copy) = (folder.file("a"), folder.file("b"))
    let bytes = Data((0..<3_000_001).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    try bytes.write(to: URL(filePath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
    try Data([1]).write(to: URL(filePath: copy))
    var copied = 0
    try StoreCloner.make(of: path, to: copy, isReflinkWanted: false, isSynced: true) { copied += $0 }
    #expect(copied == bytes.count)
    #expect(try Data(contentsOf: URL(filePath: copy)) == bytes)
    #expect(try FileManager.default.attributesOfItem(atPath: copy)[.posixPermissions] as? Int == 0o640)
    #expect(throws: Died.self) {
      try StoreCloner.make(of: path, to: copy, isReflinkWanted: false) { _ in throw Died() }
    }
    #expect(!FileManager.default.fileExists(atPath: copy))
    try StoreCloner.make(of: path, to: copy)
    #expect(try Data(contentsOf: URL(filePath: copy)) == bytes)
  }
}
