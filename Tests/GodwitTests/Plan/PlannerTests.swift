import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitEngine

/// The decisions of the planner from counting alone: keys, passes and chunks.
struct PlannerTests {
  /// People with towns; two mappings make objects of one entity.
  private func fixture(people: Int64 = 10, rows: Int? = 3) throws -> MigrationFixture {
    let town = EntityDescription.make("Town", ["name": .string], [.toMany("people", "Person", inverse: "town")])
    let person = EntityDescription.make("Person", ["age": .integer32], [.toOne("town", "Town", inverse: "people")])
    let fixture = try MigrationFixture([town, person], to: [town, person])
    fixture.chunkRows = rows
    try fixture.build { store in
      for key in Int64(1)...2 { try store.insert("Town", key: key) }
      for key in 1...people {
        try store.insert("Person", key: key, attributes: ["age": .integer(key)], relationships: ["town": [1]])
      }
    }
    let link: [String: RelationshipMapping.Value] = ["town": .mapping("TownToTown", keyPath: ["town"])]
    fixture.mappings = [
      try .make("Person", "Person", name: "All", attributes: ["age": "$source.age"], relationships: link),
      try .make("Person", "Person", name: "Again", attributes: ["age": "$source.age"], relationships: link),
      try .make("Town", "Town", kind: .copy),
    ]
    return fixture
  }

  @Test func `a pattern of dates that is probably meant otherwise is a note`() throws {
    let fixture = try MigrationFixture([.make("A", ["text": .string])], to: [.make("A", ["when": .date])])
    try fixture.build { store in try store.insert("A", key: 1, attributes: ["text": .init("24.12.2023")]) }
    fixture.mappings = [
      try .make("A", "A", attributes: ["when": "date:format:else:($source.text, 'dd.MM.YYYY', nil)"])
    ]
    let notes = try fixture.planned().1.codedNotes.filter { $0.code == .datePattern }
    #expect(
      notes.map(\.text) == [
        "attribute 'when' of mapping 'AToA': in the pattern 'dd.MM.YYYY' 'YYYY' is the year of the week: write 'yyyy'"
      ])
  }

  @Test func `a number that no decimal holds is too large, or too near to 0`() throws {
    let fixture = try MigrationFixture([.make("A", ["d": .double])], to: [.make("A", ["d": .decimal])])
    try fixture.build { store in
      for (key, number) in [Double.leastNonzeroMagnitude, 1e300, 7].enumerated() {
        try store.insert("A", key: Int64(key + 1), attributes: ["d": .double(number)])
      }
    }
    fixture.mappings = [try .make("A", "A", attributes: ["d": "$source.d"])]
    let notes = try fixture.planned().1.codedNotes.filter { $0.code == .valuesTooLarge }
    #expect(
      notes.map(\.text) == [
        "2 values of A.d are too large or too near to 0, Double to Decimal: they stay, and are read as NaN"
      ])
  }

  @Test func `the first mapping of a table keeps its keys, the second moves above them`() throws {
    let (_, plan) = try fixture().planned()
    let mappings = plan.steps.flatMap(\.passes).flatMap(\.mappings)
    let keys = Dictionary(uniqueKeysWithValues: mappings.map { ($0.name, $0.keys) })
    #expect(keys == ["All": "kept", "Again": "+10", "TownToTown": "kept"])
    #expect(mappings.allSatisfy { $0.association == "computed" })
  }

  @Test(arguments: [1, 3, 1000]) func `the chunks of a mapping cover every key once`(rows: Int) throws {
    let (_, plan) = try fixture(rows: rows).planned()
    for name in ["All", "Again", "TownToTown"] {
      let chunks = plan.chunks.filter { $0.phase == .create && $0.name == name }
      #expect(chunks.first?.range.lower == nil && chunks.last?.range.upper == nil)
      for (chunk, next) in zip(chunks, chunks.dropFirst()) {
        #expect(chunk.range.upper != nil && chunk.range.upper == next.range.lower, "\(name)")
      }
      #expect(chunks.reduce(0) { $0 + $1.rows } == (name == "TownToTown" ? 2 : 10))
      #expect(chunks.allSatisfy { $0.rows <= Int64(rows) })
    }
    #expect(plan.chunks.map(\.id) == Array(plan.chunks.indices))
  }

  @Test func `equal facts are encoded as equal bytes, whatever the order in which overlaps were found`() throws {
    var facts = try fixture().planned().0.facts
    let pairs = (0..<40).map { [MappingID($0), MappingID($0 + 1)] }
    var texts: Set<String> = []
    for order in [pairs, pairs.reversed(), pairs.shuffled()] {
      facts.overlaps = Set(minimumCapacity: texts.count * 1000)
      for pair in order { facts.overlaps.insert(pair) }
      texts.insert(String(decoding: try facts.sortedJSON(), as: UTF8.self))
    }
    #expect(texts.count == 1 && texts.first?.contains("\"overlaps\":[[0,1],[1,2],") == true)
  }

  @Test func `the same source gives the same plan`() throws {
    let fixture = try fixture()
    let (first, second) = (try fixture.planned(), try fixture.planned())
    #expect(first.1.chunks == second.1.chunks)
    #expect(first.0.facts == second.0.facts)
  }

  @Test func `the shares of the memory budget add up to the whole`() {
    for (total, weights) in [(5_000_000, [1, 1, 1]), (7, [1, 0, 2]), (0, [3, 4]), (.max, [5, 5, 5])]
      as [(Int64, [Int64])]
    {
      let shares = Planner.shares(of: total, by: weights)
      #expect(shares.reduce(0, +) == total && shares.allSatisfy { $0 >= 0 })
    }
    #expect(Planner.shares(of: 10, by: [1, 1, 1]) == [3, 3, 4] && Planner.shares(of: 3, by: []) == [])
  }
}
