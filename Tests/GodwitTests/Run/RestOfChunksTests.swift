import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// `rest` as the last predicate of `chunks.by`.
struct RestOfChunksTests {
  /// Names and ages with and without a value.
  private static func fixture() throws -> MigrationFixture {
    let person = EntityDescription.make("Person", ["name": .string, "age": .integer16])
    let fixture = try MigrationFixture([person], to: [person])
    try fixture.build { store in
      var key: Int64 = 0
      for name in ["Ada", "Bob", "Anna", "Carl", nil] {
        for age in [10, 50, nil] as [Int64?] {
          key += 1
          var attributes: [String: AttributeValue] = [:]
          attributes["name"] = name.map { AttributeValue($0) }
          attributes["age"] = age.map(AttributeValue.integer)
          try store.insert("Person", key: key, attributes: attributes)
        }
      }
    }
    fixture.mappings = [try .make("Person", "Person", kind: .copy)]
    return fixture
  }

  private static let rows = "SELECT Z_PK, ZNAME, ZAGE FROM source.ZPERSON ORDER BY Z_PK"

  @Test(arguments: [false, true]) func `it takes the rows that no other takes, nil included, in both lanes`(
    inSwift: Bool
  ) throws {
    let reference = try Self.fixture()
    try MigrationManager(reference.job).run()
    let fixture = try Self.fixture()
    var job = try fixture.job
    let parts = try [FilterPredicate("name BEGINSWITH 'A' AND age > 20"), FilterPredicate("NOT age > 20")]
    job.chunkPredicates = ["PersonToPerson": parts + [.rest(after: parts)]]
    var lines: [String] = []
    _ = try EngineTuning.with(\.runsAllInSwift, inSwift) {
      try MigrationManager(job).run { progress in
        if progress.stage == "create" { lines.append("\(progress.chunk)/\(progress.chunks) \(progress.rows)") }
      }
    }
    // Two As older than 20, five people of 10, and the eight others, of which five have no age.
    for line in ["1/3 2", "2/3 7", "3/3 15"] { #expect(lines.contains(line), "\(lines)") }
    #expect(try fixture.rows(Self.rows) == reference.rows(Self.rows))
    #expect(try Verifier(job: job).run().isClean)
  }

  @Test func `more predicates than one walk counts are refused by plan and run`() throws {
    let fixture = try Self.fixture()
    var job = try fixture.job
    let parts = try (0..<1000).map { try FilterPredicate("age == \($0)") }
    job.chunkPredicates = ["PersonToPerson": parts + [.rest(after: parts)]]
    for work in [{ _ = try MigrationManager(job).plan() }, { _ = try MigrationManager(job).run() }] {
      let error = try #require(throws: GodwitError.self) { try work() }
      #expect(error.code == .configuration && error.message.contains("at most 1000"), "\(error)")
    }
    let fewer = Array(parts.prefix(300))
    job.chunkPredicates = ["PersonToPerson": fewer + [.rest(after: fewer)]]
    #expect(try MigrationManager(job).plan().summary.objectsWritten == 15)
  }

  @Test func `alone it takes every row`() throws {
    let fixture = try Self.fixture()
    var job = try fixture.job
    job.chunkPredicates = ["PersonToPerson": [.rest(after: [])]]
    try MigrationManager(job).run()
    #expect(try fixture.rows(Self.rows).count == 15)
  }

  @Test func `predicates before it may not overlap, and an error in one of them is told with its text`() throws {
    let fixture = try Self.fixture()
    var job = try fixture.job
    let overlapping = try [FilterPredicate("age > 20"), FilterPredicate("age > 30")]
    job.chunkPredicates = ["PersonToPerson": overlapping + [.rest(after: overlapping)]]
    let error = #expect(throws: GodwitError.self) { try MigrationManager(job).plan() }
    #expect(error?.message.contains("more than one predicate matches 5 of its 15 objects") == true)
    let unknown = try [FilterPredicate("nmae == 'a'")]
    job.chunkPredicates = ["PersonToPerson": unknown + [.rest(after: unknown)]]
    let other = #expect(throws: GodwitError.self) { try MigrationManager(job).plan() }
    #expect(other?.cause?.hasPrefix("nmae == 'a'\n^^^^") == true)
  }

  @Test func `the first wrong mapping by name is reported`() throws {
    let fixture = try Self.fixture()
    let person = try #require(fixture.mappings.first)
    fixture.mappings = "abcdef".map { letter in
      var mapping = person
      mapping.name = String(letter)
      return mapping
    }
    var job = try fixture.job
    for name in fixture.mappings.map(\.name) { job.chunkPredicates[name] = [try FilterPredicate("\(name) == 1")] }
    let error = #expect(throws: GodwitError.self) { try MigrationManager(job).plan() }
    #expect(error?.message.contains("mapping 'a'") == true)
    job.chunkPredicates["_"] = [try FilterPredicate("name == 'a'")]
    let other = #expect(throws: GodwitError.self) { try MigrationManager(job).plan() }
    #expect(other?.message.contains("unknown mapping '_'") == true)
  }
}
