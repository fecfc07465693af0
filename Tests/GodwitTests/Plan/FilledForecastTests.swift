import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

@testable import GodwitEngine

/// Plan and audit of objects that become one and fill each other's nil, beside the run.
struct FilledForecastTests {
  /// The values of the objects 1, 2, 3 (which become one), 4 and 5 (each alone).
  struct World: CustomTestStringConvertible {
    var name: String
    var type = AttributeType.integer16
    var value = "$source.n"
    var key = "$source.email"
    var sets: String
    var takesDefault = false
    /// How many objects a quarantine sets aside: where object 1 is the first, and where object 3 is. Without a quarantine,
    /// the run ends with 65 where it would set any aside.
    var setAside: [Int64]
    var change: @Sendable (inout AttributeDescription) -> Void = { _ in }

    var testDescription: String { name }
  }

  private static let maximum: @Sendable (inout AttributeDescription) -> Void = { $0.maximumValue = .integer(5) }
  private static let required: @Sendable (inout AttributeDescription) -> Void = { $0.isOptional = false }

  private static func numbers(_ cells: [Int64: String]) -> String {
    "ZN = CASE Z_PK \(cells.map { "WHEN \($0) THEN \($1)" }.joined(separator: " ")) ELSE 1 END"
  }

  static let worlds = [
    World(name: "nothing is wrong", sets: numbers([2: "NULL"]), setAside: [0, 0]),
    World(name: "the first does not fit", sets: numbers([1: "70000"]), setAside: [1, 1]),
    World(name: "one that is not taken does not fit", sets: numbers([2: "70000"]), setAside: [1, 1]),
    World(name: "one alone does not fit", sets: numbers([4: "70000"]), setAside: [1, 1]),
    World(name: "one is text", sets: numbers([2: "'x'"]), setAside: [1, 1]),
    World(
      name: "sums do not fit", value: "$source.n + 1", sets: numbers([2: "32767", 3: "32766"]), setAside: [1, 1]),
    World(
      name: "a value cannot be computed", type: .uuid, value: "uuid:($source.s)", sets: "ZS = 'x' WHERE Z_PK = 2",
      setAside: [1, 1]),
    World(name: "a maximum of one alone", sets: numbers([4: "9"]), setAside: [1, 1], change: maximum),
    World(name: "a maximum of the first", sets: numbers([1: "9"]), setAside: [3, 0], change: maximum),
    World(
      name: "a maximum that is not taken", sets: numbers([2: "9"]), setAside: [0, 0], change: maximum),
    World(
      name: "a maximum that is filled in", sets: numbers([1: "NULL", 2: "9", 3: "NULL"]), setAside: [3, 3],
      change: maximum),
    World(
      name: "a maximum that is filled in, by an expression", value: "TERNARY($source.n > 1, $source.n, nil)",
      sets: numbers([2: "9"]), setAside: [3, 3], change: maximum),
    World(name: "nil that is filled", sets: numbers([1: "NULL", 3: "NULL"]), setAside: [0, 0], change: required),
    World(
      name: "nil of all", sets: numbers([1: "NULL", 2: "NULL", 3: "NULL"]), setAside: [3, 3], change: required),
    // Statements within statements would be too deep for SQLite's parser.
    World(
      name: "nil of all, with a computed key",
      key: "TERNARY($source.email != nil AND $source.rank > 0, TERNARY($source.rank > 99, 'x', $source.email), 'y')",
      sets: numbers([1: "NULL", 2: "NULL", 3: "NULL"]), setAside: [3, 3], change: required),
    World(name: "nil of one alone", sets: numbers([4: "NULL"]), setAside: [1, 1], change: required),
    World(
      name: "nil of all, with a default", sets: numbers([1: "NULL", 2: "NULL", 3: "NULL", 4: "NULL"]),
      takesDefault: true, setAside: [0, 0]
    ) { ($0.isOptional, $0.defaultValue) = (false, .integer(3)) },
    World(
      name: "the default breaks the rule", sets: numbers([1: "NULL", 2: "NULL", 3: "NULL"]), takesDefault: true,
      setAside: [3, 3]
    ) { ($0.maximumValue, $0.defaultValue) = (.integer(5), .integer(7)) },
    World(
      name: "the second breaks a rule once the first is gone", sets: numbers([1: "70000", 2: "9"]),
      setAside: [3, 1], change: maximum),
  ]

  private static func fixture(_ world: World, isDown: Bool) throws -> MigrationFixture {
    let kinds: [String: AttributeType] = ["email": .string, "n": .integer64, "rank": .integer64, "s": .string]
    var card = EntityDescription.make("Card", ["email": .string, "v": world.type])
    world.change(&card.attributes[1])
    let fixture = try MigrationFixture([.make("Card", kinds)], to: [card])
    try fixture.build { store in
      for key in Int64(1)...8 {
        try store.insert(
          "Card", key: key,
          attributes: [
            "email": .init(key < 4 ? "a" : "b\(key)"), "n": .integer(1), "rank": .integer(key),
            "s": .init("\(UUID())"),
          ])
      }
    }
    try fixture.alter("UPDATE ZCARD SET \(world.sets)")
    fixture.mappings = [
      try .make("Card", "Card", uniqueBy: ["email"], attributes: ["email": world.key, "v": world.value])
    ]
    for place in fixture.mappings[0].attributeMappings.indices
    where fixture.mappings[0].attributeMappings[place].name == "v" {
      fixture.mappings[0].attributeMappings[place].usesDefaultForNil = world.takesDefault
    }
    fixture.mappings[0].fillsNil = true
    if isDown { fixture.mappings[0].uniqueOrder = [.init("rank", ascending: false)] }
    return fixture
  }

  @Test(arguments: worlds, [false, true])
  func `plan and audit see what the run stops at and sets aside`(world: World, isDown: Bool) throws {
    let fixture = try Self.fixture(world, isDown: isDown)
    let expected = world.setAside[isDown ? 1 : 0]
    try EngineTuning.with(\.runsAllInSwift, isDown) {
      var job = try fixture.job
      let findings = try MigrationManager(job).audit().findings.filter { $0.kind != .merged }
      #expect(findings.isEmpty == (expected == 0), "\(findings)")
      var code: Int32 = 0
      do { try fixture.run() } catch let error as GodwitError { code = error.code.rawValue }
      #expect(code == (expected == 0 ? 0 : 65))
      job.destinationPath += "q"
      job.quarantine = Quarantine(maximumRows: 5)
      let planned = try MigrationManager(job).plan().setAside ?? 0
      let summary = try MigrationManager(job).runAsPlanned()
      #expect(planned == expected && summary.quarantinedObjects == expected)
    }
  }
}
