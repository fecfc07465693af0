import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// A source whose pages are damaged.
@Suite struct SourceCheckTests {
  private func fixture() throws -> MigrationFixture {
    let models: [EntityDescription] = [
      .make("Owner", ["name": .string], [.toMany("pets", "Pet", inverse: "owner")]),
      .make(
        "Pet", ["name": .string, "weight": .integer32, "flag": .boolean], [.toOne("owner", "Owner", inverse: "pets")]),
    ]
    let fixture = try MigrationFixture(models, to: models)
    fixture.chunkRows = 100
    try fixture.build { store in
      for key in Int64(1)...60 {
        try store.insert("Owner", key: key, attributes: ["name": .init("owner \(key)")], relationships: [:])
      }
      for key in Int64(1)...900 {
        try store.insert(
          "Pet", key: key,
          attributes: ["name": .init("pet \(key)"), "weight": .integer(key * 3), "flag": .boolean(key % 2 == 0)],
          relationships: ["owner": [key % 60 + 1]])
      }
    }
    fixture.mappings = [
      try .make("Owner", "Owner", kind: .copy),
      try .make(
        "Pet", "Pet", filter: "weight > 10 OR owner.pets.@count > 3",
        attributes: ["name": "$source.name", "weight": "$source.weight + 1", "flag": "$source.flag"],
        relationships: ["owner": .sourceRelationship("owner")]),
    ]
    return fixture
  }

  private func content(_ fixture: MigrationFixture) throws -> [String] {
    try ["ZOWNER", "ZPET", "Z_PRIMARYKEY"].flatMap { try fixture.rows("SELECT * FROM \($0) ORDER BY 1") }
  }

  /// Changes bytes of a store as a bad disk or a half-finished copy does.
  private func damage(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
    let page = 4096
    let pages = bytes.count / page
    let start = random.below(max(1, pages)) * page
    // The header of the first page says what the file is.
    let low = start == 0 ? 100 : start
    switch random.below(5) {
    case 0: for _ in 0..<3 { bytes[low + random.below(start + page - low)] ^= UInt8(1 << random.below(8)) }
    case 1: bytes.replaceSubrange(low..<start + page, with: Array(repeating: 0, count: start + page - low))
    case 2:
      let other = random.below(max(1, pages - 1)) * page + page
      if start > 0, other + page <= bytes.count {
        bytes.replaceSubrange(start..<start + page, with: bytes[other..<other + page])
      }
    case 3: for offset in 0..<16 { bytes[low + offset] = UInt8(random.below(256)) }
    default:
      // The numbers of cells, and where they are.
      let place = low + random.below(64)
      bytes[place] = bytes[place] &+ UInt8(random.below(20))
    }
  }

  /// `GODWIT_RUNS` runs so many seeds, `GODWIT_SEED` one.
  @Test func `a run over a damaged store ends with 65, or its result is right`() throws {
    let fixture = try fixture()
    let sound = [UInt8](try Data(contentsOf: URL(filePath: fixture.sourcePath)))
    try MigrationManager(fixture.job).run()
    let right = try content(fixture)
    var refused = 0
    let seeds = testSeeds(14)
    for seed in seeds {
      var random = SeededGenerator(seed: seed)
      var bytes = sound
      damage(&bytes, &random)
      try Data(bytes).write(to: URL(filePath: fixture.sourcePath))
      for level in [MigrationJob.SourceCheck.quick, .full] {
        try? FileManager.default.removeItem(atPath: fixture.folder.file("out"))
        var job = try fixture.job
        job.sourceCheck = level
        do {
          try MigrationManager(job).run()
          let isRight = try content(fixture) == right
          // An index that misses a row is seen by the full check alone.
          let isFound = try !Verifier(job: job).run().isClean
          if !isRight, level == .full || !isFound {
            // A change that SQLite does not see as damage is another value, which nobody can know.
            let connection = try StoreConnection.openStore(readingAt: fixture.sourcePath)
            let complaints = try connection.complaints(about: "source", isFull: true, limit: 1)
            if !complaints.isEmpty { Issue.record("seed \(seed), \(level): \(complaints) passed") }
          }
        } catch let error as GodwitError {
          refused += 1
          #expect([.dataWrong, .missingInput].contains(error.code), "seed \(seed), \(level): \(error)")
        }
      }
    }
    if seeds.count > 10 { #expect(refused > seeds.count / fewest(2)) }
  }

  @Test func `a wrong value of a damaged store is told as damage`() throws {
    let fixture = try fixture()
    let sound = [UInt8](try Data(contentsOf: URL(filePath: fixture.sourcePath)))
    // The pages of rows of the two entities.
    let leaves = (1..<sound.count / 4096).filter { page in
      let text = String(decoding: sound[page * 4096..<(page + 1) * 4096], as: UTF8.self)
      return sound[page * 4096] == 0x0D && (text.contains("pet ") || text.contains("owner "))
    }
    var told = 0
    for (a, b) in zip(leaves, leaves.dropFirst()) {
      var bytes = sound
      bytes.replaceSubrange(a * 4096..<(a + 1) * 4096, with: sound[b * 4096..<(b + 1) * 4096])
      bytes.replaceSubrange(b * 4096..<(b + 1) * 4096, with: sound[a * 4096..<(a + 1) * 4096])
      try Data(bytes).write(to: URL(filePath: fixture.sourcePath))
      try? FileManager.default.removeItem(atPath: fixture.folder.file("out"))
      do { try MigrationManager(fixture.job).run() } catch let error as GodwitError where error.code == .dataWrong {
        told += 1
        #expect(error.remedy?.contains("godwit salvage") == true, "pages \(a) and \(b): \(error)")
      } catch { continue }
      // So do the plan and the audit.
      try? FileManager.default.removeItem(atPath: fixture.folder.file("out"))
      let manager = try MigrationManager(fixture.job)
      let planned = Result { try manager.plan().obstacles.first?.remedy }
      let audited = Result { try manager.audit(samples: 1).findings }
      for end in [planned.map { $0 ?? "" }, audited.map { "\($0)" }] {
        let remedy =
          switch end {
          case .success(let text): text
          case .failure(let error): (error as? GodwitError)?.remedy ?? "\(error)"
          }
        #expect(remedy.contains("godwit salvage"), "pages \(a) and \(b): \(remedy)")
      }
    }
    #expect(told > 3, "\(leaves)")
  }

  @Test func `damage that no row shows is found during the run, and is not searched for with 'check-source: none'`()
    throws
  {
    let fixture = try fixture()
    // A page of an index that this job does not read.
    let connection = try StoreConnection(path: fixture.sourcePath)
    try connection.execute("CREATE INDEX extra ON ZPET (ZNAME, ZWEIGHT)")
    let root = try connection.integer("SELECT rootpage FROM sqlite_master WHERE name = 'extra'") ?? 0
    try connection.close()
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: fixture.sourcePath)))
    let start = Int(root - 1) * 4096
    bytes.replaceSubrange(start..<start + 64, with: Array(repeating: 7, count: 64))
    try Data(bytes).write(to: URL(filePath: fixture.sourcePath))
    for level in MigrationJob.SourceCheck.allCases {
      try? FileManager.default.removeItem(atPath: fixture.folder.file("out"))
      var job = try fixture.job
      job.sourceCheck = level
      if level == .none {
        #expect(try MigrationManager(job).run().outcome == .finished)
        #expect(try Verifier(job: job).run().findings.contains { $0.kind == .source })
      } else {
        let error = #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
        #expect(error?.code == .dataWrong && error?.message.contains("damaged") == true, "\(String(describing: error))")
        #expect(!FileManager.default.fileExists(atPath: fixture.destinationPath))
      }
    }
  }

  /// Leaves the source in the middle of a transaction, as a process does that is killed.
  private func makeHot(_ fixture: MigrationFixture) throws {
    let path = fixture.sourcePath
    let writer = try StoreConnection(path: path)
    for pragma in ["synchronous = FULL", "cache_size = 1", "cache_spill = 1"] { try writer.execute("PRAGMA \(pragma)") }
    try writer.execute("BEGIN IMMEDIATE")
    try writer.execute("UPDATE ZPET SET ZNAME = 'half' || Z_PK, ZWEIGHT = 7")
    let made = try ["", "-journal"].map { ($0, try Data(contentsOf: URL(filePath: path + $0))) }
    try writer.execute("ROLLBACK")
    try writer.close()
    for (suffix, data) in made { try data.write(to: URL(filePath: path + suffix)) }
    #expect(try StoreFiles(path: path).hasHotJournal())
  }

  @Test(arguments: MigrationJob.SourceCheck.allCases)
  func `a source with a hot journal is checked as it is after the rollback`(level: MigrationJob.SourceCheck)
    throws
  {
    let fixture = try fixture()
    try MigrationManager(fixture.job).run()
    let right = try content(fixture)
    try FileManager.default.removeItem(atPath: fixture.folder.file("out"))
    try makeHot(fixture)
    var job = try fixture.job
    job.sourceCheck = level
    try MigrationManager(job).run()
    #expect(try content(fixture) == right && Verifier(job: job).run().isClean)

    // Damage that this job does not read, and that the journal does not mend.
    let damaged = try self.fixture()
    let connection = try StoreConnection(path: damaged.sourcePath)
    try connection.execute("CREATE TABLE extra (a, b)")
    try connection.execute("INSERT INTO extra SELECT ZNAME, Z_PK FROM ZOWNER")
    try connection.execute("CREATE INDEX extra_a ON extra (a)")
    let root = try connection.integer("SELECT rootpage FROM sqlite_master WHERE name = 'extra_a'") ?? 0
    try connection.close()
    try makeHot(damaged)
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: damaged.sourcePath)))
    let start = Int(root - 1) * 4096
    bytes.replaceSubrange(start..<start + 64, with: Array(repeating: 7, count: 64))
    try Data(bytes).write(to: URL(filePath: damaged.sourcePath))
    job = try damaged.job
    job.sourceCheck = level
    if level == .none {
      #expect(try MigrationManager(job).run().outcome == .finished)
      #expect(try Verifier(job: job).run().findings.contains { $0.kind == .source })
    } else {
      let error = #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
      #expect(error?.code == .dataWrong && error?.message.contains("damaged") == true, "\(String(describing: error))")
      #expect(!FileManager.default.fileExists(atPath: damaged.destinationPath))
    }
    // Both files of the source are untouched.
    #expect([UInt8](try Data(contentsOf: URL(filePath: damaged.sourcePath))) == bytes)
    #expect(try StoreFiles(path: damaged.sourcePath).hasHotJournal())
  }

  @Test func `SQL cannot write the schema of a store behind our back`() throws {
    let folder = try TemporaryFolder()
    let connection = try StoreConnection(path: folder.file("a.sqlite"), create: true)
    try connection.execute("CREATE TABLE t (a)")
    try connection.execute("PRAGMA writable_schema = ON")
    #expect(throws: GodwitError.self) { try connection.execute("UPDATE sqlite_master SET sql = '' WHERE name = 't'") }
    #expect(try connection.integer("PRAGMA trusted_schema") == 0 && connection.integer("PRAGMA cell_size_check") == 1)
  }

  @Test func `a read that fails during SQLite's check is a fault of the disk, not of the store`() {
    #expect(StoreConnection.tellsOfDisk("Tree 4 page 9: unable to get the page. error code=8458"))
    #expect(
      StoreConnection.tellsOfDisk(
        "*** in database source ***\nTree 2 page 2 cell 1: unable to get the page. error code=266"))
    for text in ["Tree 4 page 9: unable to get the page. error code=11", "row 3 missing from index A", "error code="] {
      #expect(!StoreConnection.tellsOfDisk(text))
    }
  }

  @Test func `status distinguishes this job's result from another job's`() throws {
    let fixture = try fixture()
    try fixture.run()
    #expect(try MigrationManager(fixture.job).status().state == .finished)
    fixture.mappings.removeLast()
    #expect(try MigrationManager(fixture.job).status().state == .foreign)
  }
}
