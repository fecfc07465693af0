import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Links of objects in quarantine, and links to nothing: which of them a plan and a run call lost.
struct QuarantineLinkTests {
  private static func entities(longest: Int?) -> [EntityDescription] {
    var card = EntityDescription.make(
      "Card", ["name": .string],
      [.toOne("box", "Box", inverse: "cards"), .toMany("tags", "Tag", inverse: "cards")])
    card.attributes[0].maximumLength = longest
    return [
      card, .make("Box", ["label": .string], [.toMany("cards", "Card", inverse: "box")]),
      .make("Tag", ["word": .string], [.toMany("cards", "Card", inverse: "tags")]),
    ]
  }

  /// Cards c1 and c2 are sound, c3 and c4 too long. The boxes of c2 and c4 are gone, and tag t9 of c2, c3
  /// and c4 is too.
  private func fixture() throws -> MigrationFixture {
    let fixture = try MigrationFixture(Self.entities(longest: nil), to: Self.entities(longest: 3))
    try fixture.build { store in
      try store.insert("Box", key: 1)
      try store.insert("Tag", key: 1)
      for key in Int64(1)...4 {
        try store.insert(
          "Card", key: key, attributes: ["name": .init(key < 3 ? "c\(key)" : "card \(key)")],
          relationships: ["box": [1], "tags": [1]])
      }
    }
    try fixture.alter("UPDATE ZCARD SET ZBOX = 9 WHERE Z_PK IN (2, 4)")
    let join = try #require(StoreSchema(model: fixture.source).joinTables.first)
    let (cards, tags) =
      join.ownerEntityName == "Card"
      ? (join.ownerColumn, join.destinationColumn) : (join.destinationColumn, join.ownerColumn)
    try fixture.alter("INSERT INTO \(join.name) (\(cards), \(tags)) SELECT Z_PK, 9 FROM ZCARD WHERE Z_PK > 1")
    fixture.mappings = [
      try .make("Card", "Card", kind: .copy), try .make("Box", "Box", kind: .copy),
      try .make("Tag", "Tag", kind: .copy),
    ]
    return fixture
  }

  private static func lines(_ losses: LossReport, _ kinds: LossReport.Kind...) -> [String] {
    losses.losses.filter { kinds.contains($0.kind) }.map { "\($0.kind.rawValue) \($0.subject) \($0.count ?? -1)" }
      .sorted()
  }

  @Test func `a link to nothing of an object in quarantine is no loss, and plan and run count the others alike`() throws
  {
    let fixture = try fixture()
    var job = try fixture.job
    job.quarantine = Quarantine(maximumRows: 5)
    let plan = try MigrationManager(job).plan()
    let summary = try MigrationManager(job).run()
    #expect(summary.quarantinedObjects == 2)
    let nothing = ["links to nothing Card.box 1", "links to nothing Card.tags 1"]
    #expect(Self.lines(plan.losses, .linksToNothing) == nothing)
    #expect(Self.lines(summary.losses, .linksToNothing) == nothing)
    // c3 has a box, and c3 and c4 have the tag that is there.
    #expect(Self.lines(summary.losses, .links) == ["links Card.box 1", "links Card.tags 2"])
    #expect(try Verifier(job: job).run().isClean)
  }

  @Test func `a job in place that reads no row tells of no link to nothing, and neither does its plan`() throws {
    let cards = Self.entities(longest: nil)
    var more = cards
    more[1].attributes.append(AttributeDescription(name: "note", type: .string))
    let fixture = try MigrationFixture(cards, to: more)
    try fixture.build { store in
      try store.insert("Box", key: 1)
      try store.insert("Card", key: 1, attributes: ["name": .init("c")], relationships: ["box": [1]])
    }
    try fixture.alter("UPDATE ZCARD SET ZBOX = 9")
    try fixture.infer()
    var job = try fixture.job
    job.steps[0].origin = MigrationStep.inferredOrigin
    job.destinationPath = job.sourcePath
    job.existingDestination = .inPlace(keepsOld: false)
    let plan = try MigrationManager(job).plan()
    #expect(plan.steps.first?.strategy == .definitions)
    let summary = try MigrationManager(job).run()
    #expect(plan.losses == summary.losses, "\(plan.losses)")
  }
}
