import Godwit
import GodwitJob
import GodwitModel
import TestSupport
import Testing

/// Which of several mappings takes an object, by sets of keys and by looks into the source.
@Suite struct KeySetJobTests {
  private static let source: [EntityDescription] = [
    .make("Note", ["size": .integer64], [.toOne("author", "Person", inverse: "notes")]),
    .make("Person", ["age": .integer16], [.toMany("notes", "Note", inverse: "author")]),
  ]
  private static let destination: [EntityDescription] = [
    .make("Address", ["age": .integer16], [.toMany("people", "Human", inverse: "address")]),
    .make(
      "Human", isAbstract: true, ["age": .integer16],
      [.toOne("address", "Address", inverse: "people"), .toMany("notes", "Note", inverse: "author")]),
    .make("Adult", parent: "Human"), .make("Child", parent: "Human"),
    .make("Note", ["size": .integer64], [.toOne("author", "Human", inverse: "notes")]),
  ]

  /// Ages by key: some near the ends of all keys, the others in a stretch with holes around zero.
  private func people(_ random: inout SeededGenerator) -> [Int64: Int64?] {
    let ends: [Int64] = [.min, .min + 1, -70_000, -65_537, 65_536, 131_071, 1 << 40, .max - 2, .max - 1]
    let some = (-40..<200).filter { _ in random.below(10) > 0 }.map { Int64($0) }
    return Dictionary(
      uniqueKeysWithValues: (ends + some).map { ($0, random.below(12) == 0 ? nil : Int64(random.below(90))) })
  }

  @Test(arguments: [nil, 0] as [Int64?], testSeeds(4))
  func `an object gets the links that its keys say, whatever they are looked up in`(
    keySetBytes: Int64?, seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let people = people(&random)
    let keys = people.keys.sorted()
    let authors = (1...300).map { _ -> Int64? in
      switch random.below(10) {
      case 0: nil
      // It may lead to nobody.
      case 1: Int64(random.below(70_000))
      default: keys[random.below(keys.count)]
      }
    }
    let fixture = try MigrationFixture(Self.source, to: Self.destination)
    try fixture.build { store in
      for key in keys {
        try store.insert("Person", key: key, attributes: ["age": (people[key] ?? nil).map { .integer($0) } ?? .null])
      }
      for (number, author) in authors.enumerated() {
        try store.insert(
          "Note", key: Int64(number) + 1, attributes: ["size": .integer(Int64(number))],
          relationships: author.map { ["author": [$0]] } ?? [:])
      }
    }
    fixture.chunkRows = 50
    fixture.mappings =
      try [.make("Person", "Address", filter: "age != 30", attributes: ["age": "$source.age"])]
      + [("Adult", "age >= 18"), ("Child", "age < 12")].map { entity, filter in
        try .make(
          "Person", entity, filter: filter, attributes: ["age": "$source.age"],
          relationships: ["address": .mapping("PersonToAddress", keyPath: [])])
      }
      + [
        try .make(
          "Note", "Note", attributes: ["size": "$source.size"],
          relationships: ["author": .sourceRelationship("author")])
      ]
    try EngineTuning.with(\.keySetBytes, keySetBytes) { _ = try fixture.run() }

    func isTaken(_ key: Int64) -> Bool {
      guard let age = people[key] ?? nil else { return false }
      return age >= 18 || age < 12
    }
    let notes = authors.enumerated().map { number, author in
      "\(number)|" + (author.flatMap { isTaken($0) ? "\($0)" : nil } ?? "nil")
    }
    let found = try fixture.rows("SELECT ZSIZE, ZAUTHOR FROM source.ZNOTE ORDER BY ZSIZE")
    #expect(found == notes, "seed \(seed)")
    let humans = keys.filter(isTaken).map { "\($0)|\((people[$0] ?? nil) == 30 ? "nil" : "\($0)")" }
    #expect(
      try fixture.rows("SELECT Z_PK, ZADDRESS FROM source.ZHUMAN ORDER BY Z_PK") == humans, "seed \(seed)")
    #expect(
      try fixture.rows(
        """
        SELECT COUNT(*) FROM source.ZNOTE AS n JOIN source.ZHUMAN AS h ON h.Z_PK = n.ZAUTHOR \
        WHERE n.\(Self.kind(fixture)) <> h.Z_ENT
        """) == ["0"])
  }

  private static func kind(_ fixture: MigrationFixture) -> String {
    let number = (try? fixture.rows("SELECT Z_ENT FROM source.Z_PRIMARYKEY WHERE Z_NAME = 'Human'"))?.first ?? ""
    return "Z\(number)_AUTHOR"
  }
}
