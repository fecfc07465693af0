import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import Synchronization
import TestSupport
import Testing

@testable import Godwit
@testable import GodwitEngine

/// The facts that a run checks once more before it goes on or ends, because they may have changed.
struct LastLookTests {
  private func failure(
    _ job: MigrationJob, _ code: GodwitError.Code, _ text: String, layer: FaultLayer? = nil,
    sourceLocation: SourceLocation = #_sourceLocation, progress: (MigrationProgress) -> Void = { _ in }
  ) -> GodwitError? {
    let error = #expect(throws: GodwitError.self, sourceLocation: sourceLocation) {
      if let layer {
        try layer.run { _ = try MigrationManager(job).run(progress: progress) }
      } else {
        try MigrationManager(job).run(progress: progress)
      }
    }
    #expect(
      error?.code == code && error?.description.contains(text) == true, "\(String(describing: error))",
      sourceLocation: sourceLocation)
    return error
  }

  private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

  // MARK: The finished store

  @Test func `a page of the new store that only SQLite's check finds damaged stops its delivery`() throws {
    let fixture = try MigrationFixture.notes()
    try fixture.alter("UPDATE ZNOTE SET ZTEXT = 'note ' || Z_PK || hex(zeroblob(400))")
    var job = try fixture.job
    let control = MigrationControl()
    #expect(
      try MigrationManager(job).run(control: control) { if $0.rows >= 20 { control.stop(reason: "test") } }.outcome
        == .stopped)
    let store = job.workPath + "/store.sqlite"
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: store)))
    // A leaf of rows that are done. No statement reads how many bytes are free between its cells.
    let leaf = try #require(
      stride(from: 4096, to: bytes.count, by: 4096).first {
        bytes[$0] == 0x0D && String(decoding: bytes[$0..<$0 + 4096], as: UTF8.self).contains("note 2")
      })
    bytes[leaf + 7] = 59
    try Data(bytes).write(to: URL(filePath: store))
    job.sourceCheck = .none
    _ = failure(job, .inputOutput, "the new store fails SQLite's check")
    #expect(!exists(job.destinationPath))
  }

  @Test func `a chunk that is not durable at the end is not delivered without`() throws {
    let fixture = try MigrationFixture.notes()
    let job = try fixture.job
    let error = failure(job, .stopped, "not all chunks") { _ in
      guard let connection = try? StoreConnection(path: job.workPath + "/store.sqlite") else { return }
      try? connection.execute("UPDATE godwit_chunk SET done = 0 WHERE id = (SELECT MIN(id) FROM godwit_chunk)")
      try? connection.close()
    }
    #expect(error?.stopReason == .requested && !exists(job.destinationPath))
  }

  // MARK: The source

  @Test(arguments: [true, false], [MigrationJob.SourceCheck.quick, .full])
  func `a damaged store is not migrated in place by SQL`(keepsOld: Bool, level: MigrationJob.SourceCheck) throws {
    let fixture = try MigrationFixture(
      [.make("Note", ["text": .string])],
      to: [
        EntityDescription(
          name: "Note",
          attributes: [
            AttributeDescription(name: "text", type: .string),
            AttributeDescription.make("zeta", isOptional: false, default: .init("z")),
          ])
      ])
    try fixture.build { store in
      for key in Int64(1)...40 { try store.insert("Note", key: key, attributes: ["text": .init("note \(key)")]) }
    }
    try fixture.infer()
    try fixture.alter("CREATE INDEX extra ON ZNOTE (ZTEXT)")
    let root = try StoreConnection.openStore(readingAt: fixture.sourcePath)
      .integer("SELECT rootpage FROM source.sqlite_master WHERE name = 'extra'")
    let start = Int(try #require(root) - 1) * 4096
    var bytes = try Data(contentsOf: URL(filePath: fixture.sourcePath))
    // The page can be read: no statement asks how many bytes are free between its cells.
    bytes[start + 7] = 59
    try bytes.write(to: URL(filePath: fixture.sourcePath))
    var job = fixture.jobInPlace(fixture.sourcePath, keepsOld: keepsOld)
    job.sourceCheck = level
    _ = failure(job, .dataWrong, "SQLite finds the store damaged") { part in Issue.record("\(part)") }
    #expect(try Data(contentsOf: URL(filePath: fixture.sourcePath)) == bytes)
    #expect(try !WorkFolder.exists(forDestination: fixture.sourcePath))
  }

  @Test func `no object is set aside by a run whose source has changed`() throws {
    let fixture = try MigrationFixture(
      [.make("Person", ["age": .integer16])], to: [.make("Person", ["age": .integer16])])
    fixture.mappings = [try .make("Person", "Person", attributes: ["age": "$source.age + 1"])]
    try fixture.build { store in
      for key in Int64(1)...20 { try store.insert("Person", key: key, attributes: ["age": .integer(32767)]) }
    }
    var job = try fixture.job
    job.quarantine = Quarantine(maximumRows: 20)
    var isChanged = false
    let error = failure(job, .stopped, "changed during the run") { _ in
      guard !isChanged else { return }
      isChanged = true
      #expect(throws: Never.self) { try fixture.alter("UPDATE ZPERSON SET ZAGE = 7") }
    }
    #expect(error?.stopReason == .sourceChanged && (try? RejectionRecord.exists(in: job.workPath)) == false)
  }

  // MARK: The destination

  @Test func `a run that another one overtakes while it makes its folder replaces nothing`() throws {
    let night = try SecondNight(keepsOld: true)
    let job = try night.job(night.first)
    let layer = try FaultLayer(.none)
    var other: MigrationSummary?
    layer.beforeEach = { operation in
      guard operation.kind == .makeFolder, operation.path.hasSuffix(".godwit"), other == nil else { return }
      other = try? MigrationManager(job).run()
    }
    let error = failure(job, .stopped, "another process has just replaced", layer: layer)
    #expect(error?.stopReason == .locked && other?.outcome == .finished)
    // The store of the first night is kept, and not that of the faster run.
    try night.expectDone(night.first, "overtaken")
  }

  @Test func `a destination that changes while a job appends to it stays as it is`() throws {
    let world = try AppendWorld()
    try world.build("a.sqlite")
    try world.buildDestination()
    let job = try world.job("a.sqlite")
    var changed: Data?
    _ = failure(job, .cannotCreate, "it changed since the run began") { _ in
      guard changed == nil, var bytes = try? Data(contentsOf: URL(filePath: world.destinationPath)),
        let place = bytes.range(of: Data("old tag".utf8))
      else { return }
      bytes.replaceSubrange(place, with: Data("new tag".utf8))
      // As a copy over the file does, which asks for no lock of SQLite.
      try? bytes.write(to: URL(filePath: world.destinationPath))
      changed = bytes
    }
    #expect(try Data(contentsOf: URL(filePath: world.destinationPath)) == changed)
  }

  @Test func `a log that comes between the write-back and the lock keeps a store from being replaced`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a.sqlite")
    let writer = try StoreConnection(path: path, create: true)
    for sql in ["PRAGMA journal_mode = WAL", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1)"] {
      try writer.execute(sql)
    }
    // A killed process leaves these files.
    let left = try ["", "-wal"].map { ($0, try Data(contentsOf: URL(filePath: path + $0))) }
    try writer.close()
    for (suffix, data) in left { try data.write(to: URL(filePath: path + suffix)) }
    let layer = try FaultLayer(.none)
    var isBack = false
    layer.afterEach = { operation in
      guard operation.kind == .unlink, operation.path.hasSuffix("a.sqlite-wal") else { return }
      isBack = true
      try? left[1].1.write(to: URL(filePath: path + "-wal"))
    }
    let error = #expect(throws: GodwitError.self) { try layer.run { _ = try StoreLock(store: path) } }
    #expect(isBack && error?.code == .stopped && error?.stopReason == .inUse, "\(String(describing: error))")
    let lock = try StoreLock(store: path)
    #expect(try !StoreFiles(path: path).hasWAL())
    withExtendedLifetime(lock) {}
  }

  @Test func `a store that is written to while its receipt is counted gets none`() throws {
    let fixture = try MigrationFixture.notes()
    fixture.chunkRows = nil
    try fixture.infer()
    try fixture.alter(
      "WITH n (k) AS (SELECT 41 UNION ALL SELECT k + 1 FROM n WHERE k < 20000) INSERT INTO ZNOTE SELECT k, 1, 1, 'n' FROM n"
    )
    var job = fixture.jobInPlace(fixture.sourcePath, keepsOld: false)
    #expect(try MigrationManager(job).run().outcome == .finished)
    job.receipt = .besideDestination
    let isOver = Mutex(false)
    let path = fixture.sourcePath
    let application = Thread {
      var time = 1_000_000_000
      while !isOver.withLock({ $0 }) {
        time += 1
        var times = [timeval(tv_sec: time, tv_usec: 0), timeval(tv_sec: time, tv_usec: 0)]
        utimes(path, &times)
      }
    }
    application.start()
    defer { isOver.withLock { $0 = true } }
    // On a busy machine the application may not have its turn while the store is counted.
    for attempt in 1...5 {
      var summary = MigrationSummary(outcome: .finished)
      let claim = try Claim(job)
      let placement = ReceiptPlacement(job)
      let watch = StopCondition(control: MigrationControl(), start: Date(), maximumSeconds: nil)
      try placement.prepareOfEditedStore(
        StoreFiles(path: path), in: claim, &summary, watch,
        history: HistoryRecorder(job, folder: nil, begin: watch.start))
      let end = try placement.settle(claim).end
      try claim.end(end)
      let isThere = exists(path + Receipt.suffix)
      if isThere, attempt < 5 {
        try FileManager.default.removeItem(atPath: path + Receipt.suffix)
        continue
      }
      #expect(!isThere)
      #expect(summary.codedNotes.contains { $0.code == .receiptMissing && $0.text.contains("another process") })
      break
    }
  }

  // MARK: The quarantine

  @Test func `an object that the source does not have is missed when the quarantine is written`() throws {
    let made = try FaultJob(.quarantine)
    let (job, folder) = (try made.job, made.folder.file("work"))
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let files = try StoreFiles(path: job.sourcePath)
    let record = try RejectionRecord(
      in: folder, for: JobFingerprint(job).withContent(of: files), stamp: files.stamp())
    try record.add(
      in: "validate Person", roots: ["Person": "Person"],
      find: { note in
        for key in [Int64(1), 999] {
          try note(
            .init(entity: "Person", key: key, mapping: "m", destination: "Person", property: nil, message: "it is"))
        }
      }, check: { #expect($0 == 2) })
    try record.finishRound(percent: 50)
    let error = #expect(throws: GodwitError.self) {
      try QuarantineWriter(job, record, in: folder).make(digest: "d", from: files) { _ in }
    }
    #expect(error?.code == .dataWrong && error?.message.contains("expected 2 objects in the source, found 1") == true)
    #expect(!exists(folder + "/quarantine.sqlite"))
  }

  /// The quarantine of the same job, which a person has edited, and a file of something else.
  @Test(arguments: [true, false])
  func `a file that came to the quarantine's place during the run is neither taken nor replaced`(isOfJob: Bool) throws {
    let whole = try FaultJob(.quarantine)
    let layer = try FaultLayer(.none)
    try layer.run { _ = try whole.run() }
    let placing = try #require(
      layer.operations.firstIndex { $0.kind == .link && $0.path.hasSuffix("/quarantine.sqlite") })
    let made = try FaultJob(again: whole)
    let path = made.destinationPath + Quarantine.suffix
    var mine: Data?
    func place() {
      guard mine == nil else { return }
      mine = isOfJob ? try? Data(contentsOf: URL(filePath: whole.destinationPath + Quarantine.suffix)) : Data([1])
      try? mine?.write(to: URL(filePath: path))
    }
    if isOfJob {
      _ = failure(try made.job, .cannotCreate, "'\(path)' exists") { _ in place() }
    } else {
      // The run has noted that it puts the quarantine there, and dies before it does.
      #expect(throws: GodwitError.self) { try FaultLayer(.death(at: placing + 1)).run { _ = try made.run() } }
      place()
    }
    _ = failure(try made.job, .cannotCreate, "'\(path)' exists")
    #expect(try Data(contentsOf: URL(filePath: path)) == mine && !exists(made.destinationPath))
    try FileManager.default.removeItem(atPath: path)
    #expect(try made.run().outcome == .finished)
    #expect(try made.content() == whole.content())
  }
}
