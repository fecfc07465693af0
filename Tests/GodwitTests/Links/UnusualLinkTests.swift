import Godwit
import GodwitJob
import GodwitModel
import GodwitVerifier
import TestSupport
import Testing

/// Links as Core Data's editor and its stores do not usually have them.
struct UnusualLinkTests {
  @Test(arguments: ["'a'", "x'00'", "1.5", "1e300", "NULL"])
  func `a place that is no whole number is sorted by run and proof as SQLite sorts it`(place: String) throws {
    func entities(_ more: [String: AttributeType]) -> [EntityDescription] {
      [
        .make("Town", [:], [.toMany("people", "Person", inverse: "town", ordered: true)]),
        .make("Person", more, [.toOne("town", "Town", inverse: "people")]),
      ]
    }
    let fixture = try MigrationFixture(entities([:]), to: entities(["name": .string]))
    try fixture.build { store in
      try store.insert("Town", key: 1)
      for key in Int64(1)...4 { try store.insert("Person", key: key, relationships: ["town": [1]]) }
    }
    try fixture.alter("UPDATE ZPERSON SET Z_FOK_TOWN = CASE Z_PK WHEN 2 THEN \(place) ELSE 9 - Z_PK END")
    fixture.mappings = [try .make("Town", "Town", kind: .copy), try .make("Person", "Person", kind: .copy)]
    try fixture.run()
    let report = try Verifier(job: fixture.job).runBothWays()
    #expect(report.isClean, "\(report)")
    let order = try fixture.rows("SELECT Z_PK FROM source.ZPERSON ORDER BY Z_FOK_TOWN")
    #expect(order == (place == "1.5" ? ["2", "4", "3", "1"] : ["4", "3", "1", "2"]))
  }

  /// Each of two to-ones has a column of its own, and nothing says that they agree.
  @Test(arguments: [false, true]) func `two to-ones of which one names the other are copied as they are`(
    inferred: Bool
  ) throws {
    let entities: [EntityDescription] = [
      .make("P", ["name": .string], [.toOne("r", "Q", inverse: "x")]),
      .make("Q", ["name": .string], [.toOne("x", "P", inverse: nil)]),
    ]
    var to = entities
    to[0].attributes.append(AttributeDescription(name: "more", type: .string))
    let fixture = try MigrationFixture(entities, to: to)
    try fixture.build { store in
      for key in Int64(1)...5 { try store.insert("P", key: key, relationships: ["r": [6 - key]]) }
      for key in Int64(1)...5 { try store.insert("Q", key: key, relationships: ["x": key == 2 ? [] : [key % 3 + 1]]) }
    }
    try fixture.alter("UPDATE ZQ SET ZX = CASE Z_PK WHEN 2 THEN NULL ELSE Z_PK % 3 + 1 END")
    if inferred {
      try fixture.infer()
    } else {
      fixture.mappings = [
        try .make("P", "P", relationships: ["r": .mapping("QToQ", keyPath: ["r"])]),
        try .make("Q", "Q", relationships: ["x": .mapping("PToP", keyPath: ["x"])]),
      ]
    }
    try fixture.run()
    #expect(try fixture.rows("SELECT ZR FROM source.ZP ORDER BY Z_PK") == ["5", "4", "3", "2", "1"])
    #expect(try fixture.rows("SELECT ZX FROM source.ZQ ORDER BY Z_PK") == ["2", "nil", "1", "2", "3"])
    let report = try Verifier(job: fixture.job).runBothWays()
    #expect(report.isClean, "\(report)")
  }
}
