import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

@testable import GodwitEngine

/// Workers and their companies: holes between keys, keys below zero, values of every kind of length.
private func fixture(
  company: String = "$source.company", workers: Int64 = 240, keys: (Int64) -> Int64 = { $0 * 5 },
  companies: (Int64) -> AttributeValue = { $0 % 11 == 0 ? .null : .init("company \($0 * 7919 % 37)") }
) throws -> MigrationFixture {
  let fixture = try MigrationFixture(
    [.make("Worker", ["name": .string, "company": .string, "age": .integer16])],
    to: [
      .make("Company", ["name": .string, "age": .integer16], [.toMany("staff", "Worker", inverse: "company")]),
      .make("Worker", ["name": .string], [.toOne("company", "Company", inverse: "staff")]),
    ])
  try fixture.build { store in
    for key in -60...workers where key % 4 != 0 {
      try store.insert(
        "Worker", key: keys(key),
        attributes: ["name": .init("worker \(key)"), "company": companies(key), "age": .integer(key % 90)])
    }
  }
  fixture.mappings = [
    try .make(
      "Worker", "Worker", attributes: ["name": "$source.name"],
      relationships: ["company": .mapping("Companies", keyPath: [])]),
    try .make(
      "Worker", "Company", name: "Companies", filter: "age != 17", uniqueBy: ["name"],
      attributes: ["name": company, "age": "$source.age"]),
  ]
  fixture.chunkRows = 90
  return fixture
}

private func content(_ fixture: MigrationFixture) throws -> [String] {
  try fixture.rows("SELECT Z_PK, ZNAME, ZAGE FROM source.ZCOMPANY ORDER BY Z_PK")
    + fixture.rows("SELECT Z_PK, ZNAME, ZCOMPANY FROM source.ZWORKER ORDER BY Z_PK")
}

private func onTwoCores<T>(rowsPerSpan: Int64 = 10, fills: Bool = true, _ body: () throws -> T) throws -> T {
  try EngineTuning.with(\.uniqueKeys.leastRows, 0) {
    try EngineTuning.with(\.uniqueKeys.rowsPerSpan, rowsPerSpan) {
      try EngineTuning.with(\.uniqueKeys.fills, fills) { try body() }
    }
  }
}

@Suite struct IdentityTests {
  // MARK: The walk

  @Test(arguments: [1, 7, 50, 1000] as [Int64], [false, true])
  func `two threads make the same associations as one`(rowsPerSpan: Int64, fills: Bool) throws {
    for company in ["$source.company", "{uppercase:($source.company), 'none'}[FIRST]"] {
      let (two, one) = (try fixture(company: company), try fixture(company: company))
      try onTwoCores(rowsPerSpan: rowsPerSpan, fills: fills) { _ = try two.run() }
      try one.run()
      #expect(try content(two) == content(one))
      #expect(try content(one).count > 220)
    }
  }

  @Test func `sparse keys are read too`() throws {
    let keys: (Int64) -> Int64 = { $0 < 0 ? .min + 100 + $0 : $0 > 200 ? 1 << 62 + $0 : $0 + 7 }
    let (two, one) = (try fixture(keys: keys), try fixture(keys: keys))
    try onTwoCores { _ = try two.run() }
    try one.run()
    #expect(try content(two) == content(one))
  }

  /// A walk over all workers.
  ///
  /// - Parameter isStopped: Whether long statements of the second thread are interrupted.
  private func walk(
    _ fixture: MigrationFixture, rowsPerSpan: Int64 = 10, isStopped: Bool = false
  ) throws -> (UniqueKeyScan, StoreConnection) {
    let connection = try StoreConnection(path: nil)
    let (job, files) = (try fixture.job, try StoreFiles(path: fixture.sourcePath))
    try connection.attachSource(files)
    let attached = try AttachedSource(connection, job: job, files: files)
    let (_, program) = try attached.planner(job).plan(now: 0)
    let own = UniqueKeyScan.Scan(
      query: try program.associationStage.pairs(1), connection: connection, functions: attached.functions,
      context: "here")
    var other = own
    other.connection = try #require(try connection.anotherReader(cache: .mebibytes(1)))
    other.functions = try SQLFunctions(connection: other.connection, sourceSchema: attached.sourceSchema, now: 0)
    if isStopped { other.connection.whileRunning(stopIf: { true }) }
    let walk = EngineTuning.with(\.uniqueKeys.rowsPerSpan, rowsPerSpan) {
      // Two spans of more rows than their share, where there are many.
      UniqueKeyScan(
        keys: -300...(isStopped ? 50_000 : 1200), rows: isStopped ? 2 : 225, own: own, other: other,
        memory: .mebibytes(4))
    }
    return (walk, connection)
  }

  @Test func `the second thread reads, and rows come in the order of their keys`() throws {
    let (walk, _) = try walk(fixture())
    var keys: [Int64] = []
    var identities: Set<[UInt8]> = []
    try EngineTuning.with(\.uniqueKeys.fills, true) {
      try walk.run { key, identity in
        keys.append(key)
        identities.insert(Array(identity))
      }
    }
    let taken = (Int64(-60)...240).filter { $0 % 4 != 0 && $0 % 90 != 17 }
    #expect(keys == taken.map { $0 * 5 })
    // Objects with nil stay apart.
    let companies = Set(taken.map { $0 % 11 == 0 ? 1_000_000 + $0 : $0 * 7919 % 37 })
    #expect(identities.count == companies.count && companies.count > 40)
    #expect(walk.spansBeside >= 12)
  }

  @Test(arguments: [0, 3, 100]) func `an error of the caller ends both threads`(rows: Int) throws {
    let (walk, _) = try walk(fixture())
    var count = 0
    #expect(throws: CancellationError.self) {
      try walk.run { _, _ in
        if count == rows { throw CancellationError() }
        count += 1
      }
    }
    #expect(count == rows)
  }

  @Test func `an interrupt of the caller's connection ends both threads`() throws {
    let (walk, connection) = try walk(fixture(), rowsPerSpan: 100)
    let error = #expect(throws: GodwitError.self) { try walk.run { _, _ in connection.interrupt() } }
    #expect(error?.code == .stopped)
  }

  @Test func `an interrupt that reaches only the second thread ends the scan`() throws {
    let (walk, _) = try walk(fixture(workers: 10_000), rowsPerSpan: 1, isStopped: true)
    let error = #expect(throws: GodwitError.self) {
      try EngineTuning.with(\.uniqueKeys.fills, true) { try walk.run { _, _ in } }
    }
    #expect(error?.code == .stopped)
  }

  @Test func `the lowest row that cannot be read is named, as on one core`() throws {
    let errors = try [false, true].map { isTwo in
      let fixture = try fixture()
      fixture.chunkRows = 1000
      try fixture.alter("UPDATE ZWORKER SET ZCOMPANY = x'00' WHERE Z_PK IN (-35, 205, 1150)")
      let error = #expect(throws: GodwitError.self) {
        if isTwo { try onTwoCores { _ = try fixture.run() } } else { try fixture.run() }
      }
      return try #require(error)
    }
    #expect(errors[0].message.contains("Worker p-35:"), "\(errors[0])")
    #expect(errors[0].message == errors[1].message && errors[0].context == errors[1].context)
    #expect(errors[0].safe == errors[1].safe && errors[0].remedy == errors[1].remedy)
  }

  @Test func `large values are read once, in their turn`() throws {
    let long = String(repeating: "long ", count: 30_000)
    let fixture = try fixture(companies: { .init("\(long)\($0 % 5)") })
    try onTwoCores { _ = try fixture.run() }
    #expect(try fixture.rows("SELECT COUNT(*), MIN(length(ZNAME)) FROM source.ZCOMPANY") == ["9|150001"])
  }

  @Test func `a run stopped after any chunk resumes to the same store`() throws {
    let whole = try fixture()
    try whole.run()
    let expected = try content(whole)
    let chunks = try MigrationManager(whole.job).plan().chunks.count
    for stop in 1..<chunks {
      let fixture = try fixture()
      try onTwoCores {
        for _ in 0..<stop { _ = try MigrationManager(fixture.job).run(maximumSeconds: 0) }
        let summary = try fixture.run()
        #expect(summary.wasResumed)
      }
      #expect(try content(fixture) == expected, "stopped after \(stop) chunks")
    }
  }

  @Test func `a statement that brings files along has one thread`() throws {
    func creation(_ allowsFiles: (old: Bool, new: Bool)) throws -> ChunkStatement {
      func person(_ allowsFiles: Bool) -> EntityDescription {
        var photo = AttributeDescription(name: "photo", type: .binary)
        photo.allowsExternalBinaryDataStorage = allowsFiles
        var person = EntityDescription.make("Person", [:])
        person.attributes = [photo]
        return person
      }
      let fixture = try MigrationFixture([person(allowsFiles.old)], to: [person(allowsFiles.new)])
      try fixture.build { try $0.insert("Person", key: 1) }
      fixture.mappings = [try .make("Person", "Person", kind: .copy)]
      return try fixture.planned().0.creation.statement(0, predicate: nil)
    }
    #expect(try creation((false, false)).isSameOnAnyThread)
    #expect(try creation((false, true)).isSameOnAnyThread)
    #expect(try !creation((true, true)).isSameOnAnyThread)
    #expect(try !creation((true, false)).isSameOnAnyThread)
  }

  // MARK: The map

  /// Identities of many lengths, some the beginning of others, the empty one among them.
  private func identities(_ count: Int) -> [[UInt8]] {
    (0..<count).map { number in
      number < 40 ? Array(repeating: 7, count: number) : Array("\(number * 7919 % 100_003)".utf8)
    }
  }

  private func add(_ map: UniqueKeyMap, _ identity: [UInt8], _ key: Int64, isNew: Bool = true) -> Bool {
    identity.withUnsafeBytes { map.add($0, key: key, isNew: isNew) }
  }

  private func key(_ map: UniqueKeyMap, _ identity: [UInt8]) -> Int64? {
    identity.withUnsafeBytes { map.key(of: $0) }
  }

  @Test func `a unique-key map contains what was added and nothing else`() throws {
    let map = UniqueKeyMap(limitBytes: 1 << 20, isWhole: true)
    let all = identities(5_000)
    for (number, identity) in all.enumerated() {
      #expect(key(map, identity) == nil)
      #expect(add(map, identity, Int64(number)))
    }
    for (number, identity) in all.enumerated() { #expect(key(map, identity) == Int64(number)) }
    #expect(key(map, Array("none".utf8)) == nil && key(map, Array(repeating: 7, count: 40)) == nil)
    #expect(map.isWhole && map.count == 5_000)
  }

  @Test func `a full unique-key map reports that it is incomplete and keeps its entries`() throws {
    for limit in [4096, 20_000, 100_000] {
      let map = UniqueKeyMap(limitBytes: limit, isWhole: true)
      let all = identities(5_000)
      let added = all.enumerated().filter { add(map, $1, Int64($0)) }
      #expect(!map.isWhole && added.count < 5_000)
      #expect(added.allSatisfy { key(map, $0.element) == Int64($0.offset) })
      #expect(map.count == added.count)
    }
  }

  @Test func `new unique keys are handed out once, in order`() throws {
    let map = UniqueKeyMap(limitBytes: 1 << 20, isWhole: false)
    let all = identities(300)
    for identity in all[..<100] { _ = add(map, identity, 1, isNew: false) }
    for identity in all[100...] { _ = add(map, identity, 2) }
    var handed: [[UInt8]] = []
    map.takeNew { identity, key in
      #expect(key == 2)
      handed.append(identity)
    }
    #expect(handed == all[100...].sorted { $0.lexicographicallyPrecedes($1) })
    map.takeNew { _, _ in Issue.record("nothing is new") }
    #expect(!map.isWhole)
  }

  @Test(arguments: [nil, 20] as [Int?]) func `values of unique-by beyond the memory budget change nothing`(rows: Int?)
    throws
  {
    func make() throws -> MigrationFixture {
      let fixture = try fixture(companies: { .init(String(repeating: "x", count: 600) + "\($0 % 150)") })
      fixture.chunkRows = rows
      return fixture
    }
    let (small, large) = (try make(), try make())
    var job = try small.job
    job.memory = .init(bytes: 1 << 20)
    let outcome = try onTwoCores { try MigrationManager(job).run().outcome }
    #expect(outcome == .finished)
    #expect(try Verifier(job: job).run().isClean)
    try large.run()
    let (one, other) = (try content(small), try content(large))
    #expect(one == other && one.count > 300)
  }
}
