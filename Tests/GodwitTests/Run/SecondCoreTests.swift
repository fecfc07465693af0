import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitEngine

/// People with a required name.
private func fixture(names: (Int64) -> AttributeValue = { .init("person \($0)") }) throws -> MigrationFixture {
  var name = AttributeDescription(name: "name", type: .string)
  name.isOptional = false
  var person = EntityDescription.make("Person", ["age": .integer16], [.toOne("friend", "Person", inverse: "friendOf")])
  person.relationships.append(.toMany("friendOf", "Person", inverse: "friend"))
  var strict = person
  strict.attributes.append(name)
  var loose = person
  loose.attributes.append(AttributeDescription(name: "name", type: .string))
  let fixture = try MigrationFixture([loose], to: [strict])
  try fixture.build { store in
    for key in Int64(-50)...150 where key % 3 != 0 {
      try store.insert(
        "Person", key: key * 7, attributes: ["age": .integer(key + 60), "name": names(key)],
        relationships: ["friend": [(key / 2 * 2 + 1) * 7]])
    }
  }
  fixture.mappings = [
    try .make("Person", "Person", name: "Young", kind: .copy, filter: "age < 100"),
    try .make("Person", "Person", name: "Old", kind: .copy, filter: "age >= 100"),
  ]
  fixture.chunkRows = 20
  return fixture
}

@Suite struct SecondCoreTests {
  // MARK: Counting

  private static let spans: [(low: Int64, high: Int64)] = [
    (.min, .max), (5, 5), (-3, 100), (0, 15), (0, 16), (.min, .min), (.max - 1, .max), (.min, .min + 40),
  ]

  @Test(arguments: spans, [0, 1, 2, 16] as [Int64])
  func `ranges cover a span of keys, each key once`(span: (low: Int64, high: Int64), parts: Int64) {
    let ranges = KeySpans(span.low...span.high, parts: parts)
    #expect(ranges.first?.lowerBound == span.low && ranges.last?.upperBound == span.high)
    #expect(ranges.count <= max(1, parts) + 1)
    for (one, next) in zip(ranges, ranges.dropFirst()) { #expect(one.upperBound + 1 == next.lowerBound) }
    for (number, range) in ranges.enumerated() {
      #expect(ranges.number(of: range.lowerBound) == number && ranges.number(of: range.upperBound) == number)
    }
  }

  private func facts(_ fixture: MigrationFixture, leastKeys: Int64) throws -> PlanFacts {
    try EngineTuning.with(\.leastCountedKeys, leastKeys) {
      let job = try fixture.job
      return try SourceFiles(job).planner(job).plan(now: 0).1.facts
    }
  }

  @Test func `two threads count the same rows as one`() throws {
    let fixture = try fixture()
    fixture.mappings.append(try .make("Person", "Person", name: "All", kind: .copy))
    fixture.mappings.append(
      try .make("Person", "Person", name: "Some", kind: .copy, filter: "age < 130 AND {age, 0}[FIRST] > 90"))
    let alone = try facts(fixture, leastKeys: .max)
    #expect(try facts(fixture, leastKeys: 0) == alone)
    #expect(alone.mappings.map(\.rows) == [60, 74, 134, 26])
    #expect(alone.overlaps.count == 5)
  }

  @Test func `the lowest row that cannot be read is named`() throws {
    let fixture = try fixture()
    try fixture.alter("UPDATE ZPERSON SET ZAGE = 'old' WHERE Z_PK IN (14, 700, 1036)")
    for leastKeys in [0, Int64.max] {
      let error = #expect(throws: GodwitError.self) { try facts(fixture, leastKeys: leastKeys) }
      #expect(error?.message.contains("Person p14:") == true, "\(error.map { "\($0)" } ?? "")")
    }
  }

  // MARK: The digest of a large source

  /// Runs until the first chunk is durable, with a source that counts as large.
  private func begin(_ fixture: MigrationFixture) throws {
    let control = MigrationControl()
    let summary = try EngineTuning.with(\.largeSourceBytes, 0) {
      try MigrationManager(fixture.job).run(control: control) { _ in control.stop(reason: "enough") }
    }
    #expect(summary.outcome == .stopped)
  }

  private func withLedger<T>(_ fixture: MigrationFixture, _ body: (Ledger) throws -> T) throws -> T {
    let connection = try StoreConnection(
      path: WorkFolder.path(forDestination: fixture.destinationPath) + "/store.sqlite")
    defer { try? connection.close() }
    return try body(Ledger(connection: connection))
  }

  @Test(arguments: [true, false])
  func `a run resumes whether or not the source's digest was known`(known: Bool) throws {
    let fixture = try fixture()
    try begin(fixture)
    let digest = known ? try StoreFiles(path: fixture.sourcePath).contentDigest() : ""
    try withLedger(fixture) { try $0.setSource(digest) }
    let summary = try fixture.run()
    #expect(summary.wasResumed && summary.outcome == .finished)
    // The finished store bears the digest of the whole job.
    #expect(try MigrationManager(fixture.job).run().outcome == .alreadyFinished)
  }

  @Test func `while the digest is unknown, a changed file time counts as a changed source`() throws {
    let fixture = try fixture()
    try begin(fixture)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_000_000)], ofItemAtPath: fixture.sourcePath)
    try withLedger(fixture) { try $0.setSource("") }
    let error = #expect(throws: GodwitError.self) { try MigrationManager(fixture.job).run() }
    #expect(error?.code == .cannotCreate)
    #expect(error?.message.contains("the source store changed since the run began") == true)
    // With the digest the content decides.
    let digest = try StoreFiles(path: fixture.sourcePath).contentDigest()
    try withLedger(fixture) { try $0.setSource(digest) }
    #expect(try fixture.run().outcome == .finished)
  }

  @Test func `the digest of a large source is in the finished store`() throws {
    let (large, small) = (try fixture(), try fixture())
    try EngineTuning.with(\.largeSourceBytes, 0) { _ = try large.run() }
    try small.run()
    #expect(try MigrationManager(large.job).run().outcome == .alreadyFinished)
    #expect(try MigrationManager(small.job).run().outcome == .alreadyFinished)
  }

  // MARK: Validation

  @discardableResult
  private func run(_ fixture: MigrationFixture) throws -> MigrationSummary {
    try EngineTuning.with(\.leastValidatedRows, 0) { try fixture.run() }
  }

  @Test(arguments: [1, 2, 4]) func `speculative validation gives the same store`(readers: Int) throws {
    let (ahead, after) = (try fixture(), try fixture())
    try EngineTuning.with(\.readers, readers) { _ = try run(ahead) }
    try after.run()
    let rows = "SELECT * FROM source.ZPERSON ORDER BY Z_PK"
    #expect(try ahead.rows(rows) == after.rows(rows))
    #expect(try ahead.rows(rows).count == 134)
  }

  @Test func `speculative validation reports a broken rule as ordinary validation does`() throws {
    let errors = try [0, Int64.max].map { leastRows in
      let fixture = try fixture { key in key == 101 || key == 5 ? .null : .init("person \(key)") }
      return try EngineTuning.with(\.leastValidatedRows, leastRows) {
        let error = #expect(throws: GodwitError.self) { try fixture.run() }
        return try #require(error)
      }
    }
    #expect(errors[0].message.contains("Person p35:"))
    #expect(errors[0].message == errors[1].message && errors[0].context == errors[1].context)
  }

  /// One chunk of validation for the people from key 0 on, of a store.
  private func ahead(_ fixture: MigrationFixture, of path: String, threads: Int = 1) throws -> SpeculativeValidator {
    let sql = "SELECT Z_PK, 0 FROM source.ZPERSON WHERE Z_PK BETWEEN ?1 AND ?2 AND ZNAME IS NULL"
    let works = [(1, Int64(0)), (2, 500)].map { id, lower in
      SpeculativeValidator.Work(
        id: id, sql: sql, range: .init(lower: lower, upper: lower + 500))
    }
    return try SpeculativeValidator(works, path: path, threads: threads, cache: .mebibytes(1))
  }

  @Test(arguments: 1...3) func `a chunk passes speculative validation only if every row was found correct`(
    threads: Int
  ) throws {
    let fixture = try fixture { $0 == 101 ? .null : .init("person \($0)") }
    let ahead = try ahead(fixture, of: fixture.sourcePath, threads: threads)
    ahead.finish()
    #expect(ahead.passed(1))
    #expect(!ahead.passed(2))
    #expect(!ahead.passed(3))
    ahead.stop()
  }

  @Test func `validation does not wait for a chunk that the second thread has begun`() throws {
    let fixture = try fixture()
    let ahead = try ahead(fixture, of: fixture.sourcePath)
    ahead.stop()
    // Stopped or done, the answer is safe to ask for, and final.
    let first = ahead.passed(1)
    #expect(ahead.passed(1) == first)
  }

  @Test func `reading ahead leaves the writer's locks in place`() throws {
    let fixture = try fixture()
    let writer = try StoreConnection(path: fixture.sourcePath)
    try writer.execute("BEGIN IMMEDIATE")
    let inode = try #require(
      try FileManager.default.attributesOfItem(atPath: fixture.sourcePath)[.systemFileNumber] as? UInt64)
    func isLocked() throws -> Bool {
      try String(contentsOfFile: "/proc/locks", encoding: .utf8).contains(":\(inode) ")
    }
    #expect(try isLocked())
    let ahead = try ahead(fixture, of: fixture.sourcePath)
    ahead.finish()
    ahead.stop()
    #expect(try isLocked())
    try writer.execute("COMMIT")
  }

  // MARK: Expressions

  /// People whose names and ages are computed in Swift.
  private func computing(
    name: String = "{uppercase:($source.name), 'nobody'}[FIRST]", age: String = "{$source.age + 1, 0}[FIRST]",
    filters: [String] = ["age < 100", "age >= 100"], names: (Int64) -> AttributeValue = { .init("person \($0)") }
  ) throws -> MigrationFixture {
    let person = EntityDescription.make("Person", ["age": .integer16, "name": .string])
    let fixture = try MigrationFixture([person], to: [person])
    try fixture.build { store in
      for key in Int64(-100)...300 where key % 3 != 0 {
        try store.insert("Person", key: key * 7, attributes: ["age": .integer(key + 110), "name": names(key)])
      }
    }
    fixture.mappings = try filters.enumerated().map { number, filter in
      try .make(
        "Person", "Person", name: "Part \(number)", filter: filter, attributes: ["age": age, "name": name])
    }
    fixture.chunkRows = 120
    return fixture
  }

  private func ahead<T>(rowsPerSpan: Int64 = 10, _ body: () throws -> T) throws -> T {
    try EngineTuning.with(\.expressions.leastRows, 0) {
      try EngineTuning.with(\.expressions.rowsPerSpan, rowsPerSpan) { try body() }
    }
  }

  @Test(arguments: [1, 7, 50, 1000] as [Int64])
  func `prefetched expression values equal those of the statement`(rowsPerSpan: Int64) throws {
    for filters in [["age < 100", "age >= 100"], ["age < 300"], ["{age, 1}[FIRST] > 80", "age < 20"]] {
      let (two, one) = (try computing(filters: filters), try computing(filters: filters))
      try ahead(rowsPerSpan: rowsPerSpan) { _ = try two.run() }
      try one.run()
      let rows = "SELECT * FROM source.ZPERSON ORDER BY Z_PK"
      #expect(try two.rows(rows) == one.rows(rows))
      #expect(try two.rows(rows).count > 100)
    }
  }

  @Test func `the error of a prefetched expression is reported by the statement`() throws {
    let errors = try [true, false].map { isAhead in
      let fixture = try computing(age: "{$source.age * 200, 0}[FIRST]")
      let error = #expect(throws: GodwitError.self) {
        if isAhead { try ahead { _ = try fixture.run() } } else { try fixture.run() }
      }
      return try #require(error)
    }
    #expect(errors[0].message == errors[1].message && errors[0].context == errors[1].context)
    #expect(errors[0].message.contains("Person p"))
  }

  @Test func `prefetched values are not used by another statement`() throws {
    func fixture() throws -> MigrationFixture {
      let entities: [EntityDescription] = [
        .make("Owner", ["age": .integer16], [.toMany("pets", "Pet", inverse: "owner")]),
        .make("Pet", ["weight": .integer16], [.toOne("owner", "Owner", inverse: "pets")]),
      ]
      let fixture = try MigrationFixture(entities, to: entities)
      try fixture.build { store in
        for key in Int64(1)...200 where key % 3 != 0 {
          try store.insert("Owner", key: key, attributes: ["age": .integer(key % 90)])
        }
        for key in Int64(1)...200 {
          let owner = key % 3 == 0 ? key - 1 : key
          try store.insert("Pet", key: key, attributes: ["weight": .integer(key)], relationships: ["owner": [owner]])
        }
      }
      fixture.mappings = [
        try .make(
          "Owner", "Owner", filter: "{age, 0}[FIRST] > 40", attributes: ["age": "$source.age"]),
        try .make(
          "Pet", "Pet", attributes: ["weight": "{$source.weight + 1, 0}[FIRST]"],
          relationships: ["owner": .mapping("OwnerToOwner", keyPath: ["owner"])]),
      ]
      fixture.chunkRows = 1000
      return fixture
    }
    let (two, one) = (try fixture(), try fixture())
    // The keys of owners are read, with their filter in Swift, once the pets' statement is about to run.
    try EngineTuning.with(\.expressions.fills, true) { try ahead { _ = try two.run() } }
    try one.run()
    let rows = "SELECT * FROM source.ZPET ORDER BY Z_PK"
    #expect(try two.rows(rows) == one.rows(rows))
  }

  @Test func `large values are not prefetched`() throws {
    let long = String(repeating: "long ", count: 8_000)
    let fixture = try computing { .init($0 % 10 == 0 ? "\(long)\($0)" : "short \($0)") }
    fixture.chunkRows = 60
    try ahead { _ = try fixture.run() }
    #expect(try fixture.rows("SELECT COUNT(*) FROM source.ZPERSON WHERE length(ZNAME) > 40000") == ["27"])
  }

  /// The values that are evaluated ahead of the second mapping's statement over all keys.
  private func started(_ fixture: MigrationFixture, keys: ClosedRange<Int64>) throws -> ExpressionPrefetcher {
    let connection = try StoreConnection(path: nil)
    let (job, files) = (try fixture.job, try StoreFiles(path: fixture.sourcePath))
    try connection.attachSource(files)
    let attached = try AttachedSource(connection, job: job, files: files)
    let (_, program) = try attached.planner(job).plan(now: 0)
    let statement = try program.creation.statement(1, predicate: nil)
    let (query, numbers) = try #require(try program.creation.evaluations(of: [1], in: statement))
    #expect(numbers == [0, 1])
    let reader = try #require(try connection.anotherReader(cache: .mebibytes(1)))
    let functions = try SQLFunctions(connection: reader, sourceSchema: attached.sourceSchema, now: 0)
    return try ahead {
      ExpressionPrefetcher(query: query, numbers: numbers, keys: keys, rows: 267, reader: reader, functions: functions)
    }
  }

  @Test func `prefetched values are found by expression and key`() throws {
    let ahead = try started(computing(), keys: -700...2100)
    defer { ahead.stop() }
    ahead.fill()
    var found: [SQLValue] = []
    for key in Int64(-700)...2100 {
      for number in [1, 0] {
        if let value = ahead.value(number, key) { found.append(value) }
      }
    }
    // Only multiples of 7 or 21 have a row, and keys under 0 go through the other mapping.
    #expect(ahead.hits == found.count)
    #expect(found.contains(.integer(113)) && found.contains(.text(Array("PERSON 2".utf8))))
    #expect(!found.contains(.text(Array("PERSON -20".utf8))) && !found.contains(.integer(91)))
    // Back again, beside it, and outside of it.
    for (number, key) in [(0, Int64(14)), (2, 14), (-1, 14), (0, .min), (0, .max)] {
      #expect(ahead.value(number, key) == nil)
    }
  }

  @Test func `spans cover the lowest and highest possible keys`() throws {
    let ahead = try started(computing(), keys: .min ... .max)
    ahead.fill()
    #expect(ahead.value(0, .min) == nil && ahead.value(0, .max) == nil)
    ahead.stop()
  }

  // MARK: Work beside

  @Test func `a background task's result is awaited, kept, and thrown if it is an error`() throws {
    let work = BackgroundTask { _ in 7 }
    #expect(try work.value() == 7)
    #expect(try work.value() == 7)
    let failed = BackgroundTask<Int> { _ in throw GodwitError(.inputOutput, "no disk") }
    let error = #expect(throws: GodwitError.self) { try failed.value() }
    #expect(error?.message == "no disk")
  }

  @Test func `a background task that nobody needs ends`() throws {
    let work = BackgroundTask<Int> { isWanted in
      while isWanted() { usleep(1000) }
      throw CancellationError()
    }
    #expect(try work.value(while: { false }) == nil)
    work.abandon()
    #expect(throws: CancellationError.self) { try work.value(while: { true }) }
  }
}
