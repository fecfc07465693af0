import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitEngine

private let source: [EntityDescription] = [
  .make("Address", ["street": .string], [.toMany("people", "Person", inverse: "address")]),
  .make(
    "Person", ["name": .string, "company": .string, "age": .integer16],
    [
      .toOne("address", "Address", inverse: "people"), .toMany("friends", "Person", inverse: "friendOf"),
      .toMany("friendOf", "Person", inverse: "friends"), .toOne("spouse", "Person", inverse: "spouseOf"),
      .toOne("spouseOf", "Person", inverse: "spouse"),
    ]),
]

private let destination: [EntityDescription] = [
  .make("Address", ["street": .string], [.toMany("people", "Person", inverse: "address", ordered: true)]),
  .make("Company", ["name": .string], [.toMany("staff", "Person", inverse: "company")]),
  .make(
    "Person", ["name": .string, "age": .integer16],
    [
      .toOne("address", "Address", inverse: "people"), .toOne("company", "Company", inverse: "staff"),
      .toMany("friends", "Person", inverse: "friendOf"), .toMany("friendOf", "Person", inverse: "friends"),
      .toOne("spouse", "Person", inverse: "spouseOf"), .toOne("spouseOf", "Person", inverse: "spouse"),
    ]),
]

/// A job that uses every stage: associations, all kinds of links, order, indexes, validation.
private func fixture() throws -> MigrationFixture {
  let fixture = try MigrationFixture(source, to: destination)
  try fixture.build { store in
    for key in Int64(1)...5 {
      try store.insert("Address", key: key, attributes: ["street": .init("s\(key)")], relationships: [:])
    }
    for key in Int64(1)...20 {
      var links: [String: [Int64]] = ["address": [key % 5 + 1]]
      if key > 1 { links["friends"] = [key / 2, key - 1] }
      if key % 4 == 0 { links["spouse"] = [key - 1] }
      try store.insert(
        "Person", key: key,
        attributes: ["name": .init("p\(key)"), "company": .init("c\(key % 3)"), "age": .integer(key)],
        relationships: links)
    }
  }
  fixture.mappings = [
    try .make("Address", "Address", kind: .copy),
    try .make(
      "Person", "Person", kind: .copy, attributes: ["age": "$source.age + 1"],
      relationships: ["company": .mapping("Companies", keyPath: [])]),
    try .make("Person", "Company", name: "Companies", uniqueBy: ["name"], attributes: ["name": "$source.company"]),
  ]
  return fixture
}

private func dump(_ fixture: MigrationFixture) throws -> [String] {
  let connection = try StoreConnection.openStore(readingAt: fixture.destinationPath)
  var lines: [String] = []
  for row in try connection.rows("SELECT name, sql FROM source.sqlite_master ORDER BY name") {
    lines.append(row.map(\.plain).joined(separator: " "))
    let name = row[0].plain
    guard
      try connection.integer("SELECT COUNT(*) FROM source.sqlite_master WHERE type = 'table' AND name = ?1", [row[0]])
        == 1
    else { continue }
    lines += try connection.rows("SELECT * FROM source.\(quoted(name)) ORDER BY 1, 2").map {
      $0.map(\.plain).joined(separator: "|")
    }
  }
  return lines
}

@Suite struct ResumeTests {
  @Test func `a run stopped after every chunk resumes to the same store`() throws {
    let whole = try fixture()
    try whole.run()
    let pieces = try fixture()
    try? FileManager.default.removeItem(atPath: pieces.sourcePath)
    try FileManager.default.copyItem(atPath: whole.sourcePath, toPath: pieces.sourcePath)
    var runs = 0
    var percent = -1.0
    while true {
      let summary = try MigrationManager(pieces.job).run(maximumSeconds: 0) { progress in
        #expect(progress.percent >= percent)
        percent = progress.percent
      }
      runs += 1
      if summary.outcome == .finished { break }
      #expect(summary.outcome == .stopped)
      try #require(runs < 1000)
    }
    #expect(runs > 30)
    #expect(percent == 100)
    #expect(try dump(pieces) == dump(whole))
    #expect(try FileManager.default.contentsOfDirectory(atPath: pieces.folder.file("out")) == ["destination.sqlite"])
  }

  @Test(arguments: [1, 2, 7, 1000]) func `the content of a resumed run does not depend on the chunk size`(rows: Int)
    throws
  {
    let first = try fixture()
    try first.run()
    let second = try fixture()
    try FileManager.default.removeItem(atPath: second.sourcePath)
    try FileManager.default.copyItem(atPath: first.sourcePath, toPath: second.sourcePath)
    second.chunkRows = rows
    try second.run()
    #expect(try dump(second) == dump(first))
  }

  @Test func `a finished job run again says so and leaves the store alone`() throws {
    let fixture = try fixture()
    try fixture.run()
    let before = try Data(contentsOf: URL(filePath: fixture.destinationPath))
    #expect(try fixture.run().outcome == .alreadyFinished)
    #expect(try Data(contentsOf: URL(filePath: fixture.destinationPath)) == before)
  }

  @Test func `a changed source, model or mapping is noticed and named`() throws {
    func stopped() throws -> MigrationFixture {
      let fixture = try fixture()
      #expect(try MigrationManager(fixture.job).run(maximumSeconds: 0).outcome == .stopped)
      return fixture
    }
    func refusal(_ fixture: MigrationFixture) throws -> GodwitError {
      try #require(throws: GodwitError.self) { try fixture.run() }
    }
    let source = try stopped()
    try source.alter("UPDATE ZPERSON SET ZNAME = 'other' WHERE Z_PK = 3")
    #expect(try refusal(source).message.contains("the source store changed"))
    #expect(try refusal(source).code == .cannotCreate)

    let mapping = try stopped()
    mapping.mappings[1].attributeMappings[0].value = try ValueExpression("$source.age + 2")
    #expect(try refusal(mapping).message.contains("the mapping changed"))

    let finished = try fixture()
    try finished.run()
    finished.mappings[1].attributeMappings[0].value = try ValueExpression("$source.age + 2")
    #expect(try refusal(finished).message.contains("a mapping or the manifest changed"))
  }

  @Test func `a run resumes if its source was only touched or moved`() throws {
    let fixture = try fixture()
    #expect(try MigrationManager(fixture.job).run(maximumSeconds: 0).outcome == .stopped)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: -1000)], ofItemAtPath: fixture.sourcePath)
    #expect(try fixture.run().outcome == .finished)
  }

  @Test func `a ledger of another version is not resumed`() throws {
    let fixture = try fixture()
    #expect(try MigrationManager(fixture.job).run(maximumSeconds: 0).outcome == .stopped)
    let store = try StoreConnection(path: fixture.destinationPath + ".godwit/store.sqlite")
    try store.execute("UPDATE godwit_ledger SET value = '\(Ledger.version + 1)' WHERE key = 'version'")
    try store.close()
    let error = try #require(throws: GodwitError.self) { try fixture.run() }
    #expect(error.code == .cannotCreate)
    #expect(error.message.contains("another version"))
  }

  @Test(arguments: [
    "subject = 99 WHERE stage = 'create'", "subject = -1 WHERE stage = 'associate'", "part = 99 WHERE stage = 'relate'",
    "subject = 99 WHERE stage = 'resolve'", "subject = 99 WHERE stage = 'index'", "subject = 99 WHERE stage = 'order'",
  ])
  func `a ledger with a chunk of what the job lacks is refused`(change: String) throws {
    let fixture = try fixture()
    #expect(try MigrationManager(fixture.job).run(maximumSeconds: 0).outcome == .stopped)
    let store = try StoreConnection(path: fixture.destinationPath + ".godwit/store.sqlite")
    try store.execute("UPDATE godwit_chunk SET \(change)")
    #expect(store.changes > 0)
    try store.close()
    let error = try #require(throws: GodwitError.self) { try fixture.run() }
    #expect(error.code == .dataWrong)
    #expect(error.message.contains("does not fit the job"))
  }

  @Test func `discard removes an unfinished run and nothing else`() throws {
    let fixture = try fixture()
    #expect(try MigrationManager(fixture.job).run(maximumSeconds: 0).outcome == .stopped)
    #expect(try MigrationManager.discard(destination: fixture.destinationPath))
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder.file("out")).isEmpty)
    #expect(try !MigrationManager.discard(destination: fixture.destinationPath))
    #expect(try fixture.run().outcome == .finished)
  }

  @Test func `of two runs at once one works and the other is refused`() throws {
    let fixture = try fixture()
    let folder = try WorkFolder(forDestination: fixture.destinationPath)
    let error = try #require(throws: GodwitError.self) { try fixture.run() }
    #expect(error.code == .stopped)
    try folder.remove()
  }

  @Test func `a copy of the lock's descriptor, as a process that is being started has, holds no lock`() throws {
    let fixture = try fixture()
    let lock = WorkFolder.path(forDestination: fixture.destinationPath) + "/" + WorkFolder.lockName
    var copies: [Int32] = []
    defer { for copy in copies { close(copy) } }
    do {
      let folder = try WorkFolder(forDestination: fixture.destinationPath)
      for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
        let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
        guard target == lock, let descriptor = Int32(name) else { continue }
        copies.append(dup(descriptor))
      }
      withExtendedLifetime(folder) {}
    }
    try #require(!copies.isEmpty)
    #expect(try fixture.run().outcome == .finished)
  }

  @Test func `a work folder left before its first commit is started over`() throws {
    let fixture = try fixture()
    let path = WorkFolder.path(forDestination: fixture.destinationPath)
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try WorkFolder.mark(path, isSynced: true)
    try Data().write(to: URL(filePath: path + "/store.sqlite"))
    #expect(try fixture.run().outcome == .finished)
  }

  @Test func `a plan writes nothing`() throws {
    let fixture = try fixture()
    let plan = try MigrationManager(fixture.job).plan()
    #expect(plan.steps.first?.passes.count == 2)
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path) == ["source.sqlite"])
  }
}
