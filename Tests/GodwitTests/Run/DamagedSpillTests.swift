import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// A job that was stopped when its spill files were complete, and what damage to them comes to.
@Suite struct DamagedSpillTests {
  private let expected: [String]
  private let whole: FaultJob
  private let chunksDone: Int

  init() throws {
    whole = try FaultJob(.everyStage, people: 20, chunkRows: 7)
    let reference = try FaultJob(again: whole)
    try reference.run()
    expected = try reference.content()
    chunksDone = try MigrationManager(whole.job).plan().chunks.count { $0.phase == .associate }
  }

  private func stopped(after chunks: Int) throws -> FaultJob {
    let job = try FaultJob(again: whole)
    for _ in 0..<chunks { #expect(try job.run(maximumSeconds: 0).outcome == .stopped) }
    return job
  }

  private func spill(_ job: FaultJob) throws -> String {
    let folder = WorkFolder.path(forDestination: job.destinationPath)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".lz4") }
    return folder + "/" + (try #require(names.first))
  }

  private func expectMadeAnew(_ job: FaultJob, _ what: String) throws {
    let summary = try job.run()
    #expect(summary.outcome == .finished)
    #expect(summary.notes.contains { $0.contains("'Companies' was damaged and rebuilt") }, "\(what)")
    #expect(try job.content() == expected, "\(what)")
    #expect(try job.namesLeft() == job.leftNames, "\(what)")
  }

  @Test(arguments: [1, 3]) func `any flipped bit of a spill file is found, and the file is rebuilt`(done: Int) throws {
    let chunks = done == 1 ? 2 : chunksDone
    let job = try stopped(after: chunks)
    let bytes = try Data(contentsOf: URL(filePath: spill(job)))
    for position in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 9)) {
      let job = try stopped(after: chunks)
      var damaged = bytes
      damaged[position] ^= 1 << (position % 8)
      try damaged.write(to: URL(filePath: spill(job)))
      try expectMadeAnew(job, "byte \(position) of \(bytes.count)")
    }
  }

  @Test func `a truncated spill file is rebuilt`() throws {
    let job = try stopped(after: chunksDone)
    let path = try spill(job)
    let bytes = try Data(contentsOf: URL(filePath: path))
    try bytes.prefix(bytes.count / 2).write(to: URL(filePath: path))
    try expectMadeAnew(job, "half of it")
  }

  @Test func `a missing spill file is rebuilt, also in the middle of its stage`() throws {
    for chunks in [2, chunksDone] {
      let job = try stopped(after: chunks)
      try FileManager.default.removeItem(atPath: spill(job))
      try expectMadeAnew(job, "missing after \(chunks)")
    }
  }

  @Test func `damage that a lookup finds in the middle of a run is repaired there`() throws {
    let job = try stopped(after: chunksDone)
    let path = try spill(job)
    var isDamaged = false
    let control = MigrationControl()
    let summary = try MigrationManager(job.job).run(control: control) { _ in
      guard !isDamaged else { return }
      isDamaged = true
      // Headers are sound and were read; the frame of the last record is not.
      guard let file = FileHandle(forUpdatingAtPath: path), let end = try? file.seekToEnd(), end > 2 else { return }
      try? file.seek(toOffset: end - 2)
      try? file.write(contentsOf: Data([0xA5, 0x5A]))
      try? file.close()
    }
    #expect(summary.outcome == .finished)
    #expect(try job.content() == expected)
  }

  @Test func `without the keys of unique-by a damaged spill file stops the run with a remedy`() throws {
    let job = try stopped(after: chunksDone)
    try FileManager.default.removeItem(atPath: spill(job))
    let store = try StoreConnection(path: WorkFolder.path(forDestination: job.destinationPath) + "/store.sqlite")
    let name = try #require(
      try store.rows("SELECT name FROM sqlite_master WHERE name LIKE 'godwit_identity_%' AND type = 'table'").first?[0])
    try store.execute("DELETE FROM \(name.plain)")
    try store.close()
    let error = try #require(throws: GodwitError.self) { try job.run() }
    #expect(error.code == .inputOutput)
    #expect(error.message.hasPrefix("cannot rebuild the damaged spill file of mapping 'Companies'"))
    #expect(error.remedy?.contains("godwit discard") == true)
    #expect(!FileManager.default.fileExists(atPath: job.destinationPath))
  }

  @Test func `a rebuilt spill file has the same dense keys`() throws {
    let make = {
      let fixture = try MigrationFixture(
        [
          .make(
            "A", ["n": .integer64], [.toOne("next", "A", inverse: "before"), .toMany("before", "A", inverse: "next")])
        ],
        to: [
          .make(
            "B", ["n": .integer64], [.toOne("next", "B", inverse: "before"), .toMany("before", "B", inverse: "next")])
        ])
      try fixture.build { store in
        for key in Int64(1)...12 {
          try store.insert("A", key: key, attributes: ["n": .integer(key)], relationships: ["next": [key % 12 + 1]])
        }
      }
      try fixture.alter("UPDATE ZA SET ZNEXT = 9223372036854775800 WHERE ZNEXT = 12")
      try fixture.alter("UPDATE ZA SET Z_PK = 9223372036854775800 WHERE Z_PK = 12")
      fixture.mappings = try ["One", "Two"].map {
        try .make(
          "A", "B", name: $0, attributes: ["n": "$source.n"], relationships: ["next": .mapping($0, keyPath: ["next"])])
      }
      return fixture
    }
    let whole = try make()
    let plan = try MigrationManager(whole.job).plan()
    #expect(plan.steps[0].passes.flatMap(\.mappings).contains { $0.keys.hasPrefix("dense") })
    try whole.run()
    let broken = try make()
    let chunks = plan.chunks.count { $0.phase == .associate }
    #expect(chunks > 1)
    for _ in 0..<chunks { #expect(try MigrationManager(broken.job).run(maximumSeconds: 0).outcome == .stopped) }
    let folder = WorkFolder.path(forDestination: broken.destinationPath)
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) where name.hasSuffix(".lz4") {
      try FileManager.default.removeItem(atPath: folder + "/" + name)
    }
    let summary = try broken.run()
    #expect(summary.notes.contains { $0.contains("rebuilt") })
    let rows = "SELECT Z_PK, ZN, ZNEXT FROM source.ZB ORDER BY 1"
    #expect(try broken.rows(rows) == whole.rows(rows))
  }
}
