import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitEngine

/// What `unique-by` drops where objects differ that it makes one.
@Suite struct MergeLossTests {
  /// Six pens; 1 to 3 have code a, 4 has b, 5 and 6 have none.
  private func fixture() throws -> MigrationFixture {
    let pen: [String: AttributeType] = ["code": .string, "colour": .string, "price": .integer32, "size": .integer16]
    let fixture = try MigrationFixture(
      [
        .make("Pen", pen, [.toOne("owner", "Owner", inverse: "pens")]),
        .make("Owner", ["name": .string], [.toMany("pens", "Pen", inverse: "owner")]),
      ],
      to: [
        .make("Pen", pen, [.toOne("owner", "Owner", inverse: "pens")]),
        .make("Owner", ["name": .string], [.toMany("pens", "Pen", inverse: "owner")]),
      ])
    try fixture.build { store in
      for key in Int64(1)...2 { try store.insert("Owner", key: key, attributes: ["name": .init("o\(key)")]) }
      let rows: [(String?, String?, Int64, [Int64])] = [
        ("a", nil, 7, [1]), ("a", "red", 7, [2]), ("a", "blue", 8, [1]), ("b", "red", 1, [2]), (nil, "x", 5, [1]),
        (nil, "y", 6, []),
      ]
      for (index, (code, colour, price, owner)) in rows.enumerated() {
        try store.insert(
          "Pen", key: Int64(index + 1),
          attributes: [
            "code": code.map { .init($0) } ?? .null, "colour": colour.map { .init($0) } ?? .null,
            "price": .integer(price), "size": .integer(3),
          ], relationships: owner.isEmpty ? [:] : ["owner": owner])
      }
    }
    fixture.mappings = [
      try .make(
        "Owner", "Owner", attributes: ["name": "$source.name"]),
      try .make(
        "Pen", "Pen", uniqueBy: ["code"],
        attributes: [
          "code": "$source.code", "colour": "$source.colour", "price": "$source.price + 1", "size": "$source.size",
        ], relationships: ["owner": .sourceRelationship("owner")]),
    ]
    return fixture
  }

  private func told(_ losses: LossReport) -> [String] {
    losses.losses.filter { $0.cause == .merged }.map { "\($0.kind.rawValue) \($0.subject) \($0.count ?? -1)" }.sorted()
  }

  private let expected = ["links Pen.owner 1", "values Pen.colour 2", "values Pen.price 1"]

  @Test(arguments: [false, true], [1, 100])
  func `values and links that differ from those of the object that stays are counted, by the plan and by the run`(
    inSwift: Bool, rows: Int
  ) throws {
    let fixture = try fixture()
    fixture.chunkRows = rows
    try EngineTuning.with(\.runsAllInSwift, inSwift) {
      let plan = try MigrationManager(fixture.job).plan()
      #expect(told(plan.losses) == expected && plan.verdict.hasPrefix("LOSES"))
      let summary = try fixture.run()
      #expect(told(summary.losses) == expected)
      #expect(Set(summary.losses.losses) == Set(plan.losses.losses))
      #expect(try fixture.rows("SELECT ZCOLOUR, ZPRICE, ZOWNER FROM source.ZPEN ORDER BY Z_PK").first == "nil|8|1")
    }
  }

  @Test func `objects with nil stay apart and are told of, unless the mapping says that nil is merged`() throws {
    for mergesNil in [false, true] {
      let fixture = try fixture()
      fixture.mappings[1].mergesNil = mergesNil
      let plan = try MigrationManager(fixture.job).plan()
      let note = plan.codedNotes.first { $0.code == .nilKeys }?.text
      #expect(
        note == "2 objects of Pen have nil in code, and "
          + (mergesNil
            ? "nil is a value like others (nil-keys: merge, mapping PenToPen)"
            : "no two of them become one (mapping PenToPen)"))
      #expect(
        told(plan.losses)
          == (mergesNil ? ["links Pen.owner 1", "values Pen.colour 3", "values Pen.price 2"] : expected))
      let summary = try fixture.run()
      #expect(summary.codedNotes.contains { $0.code == .nilKeys })
      #expect(Set(summary.losses.losses) == Set(plan.losses.losses))
      #expect(try fixture.rows("SELECT COUNT(*) FROM source.ZPEN") == [mergesNil ? "3" : "4"])
    }
  }

  @Test func `nil in one of several attributes keeps an object apart`() throws {
    let fixture = try fixture()
    fixture.mappings[1].uniqueBy = ["code", "size"]
    try fixture.alter("UPDATE ZPEN SET ZSIZE = NULL WHERE Z_PK IN (2, 3)")
    #expect(try told(fixture.run().losses) == [])
    #expect(try fixture.rows("SELECT COUNT(*) FROM source.ZPEN") == ["6"])
  }

  @Test func `a job that must lose nothing stops before it begins`() throws {
    let fixture = try fixture()
    var job = try fixture.job
    job.onLoss = .fail
    #expect(try MigrationManager(job).plan().stopError?.code == .dataWrong)
    let error = #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
    #expect(error?.code == .dataWrong && error?.cause?.contains("2 values of Pen.colour (mapping PenToPen") == true)
    #expect(!FileManager.default.fileExists(atPath: fixture.destinationPath))
  }

  @Test func `a filter, equal objects and an unmapped value are no loss of a merge`() throws {
    let fixture = try fixture()
    fixture.mappings[1].filter = try FilterPredicate("price < 8 AND colour == nil OR code == 'b'")
    #expect(try told(fixture.run().losses) == [])
  }

  @Test func `the links of owners that no longer hold the merged object are counted`() throws {
    let fixture = try fixture()
    fixture.mappings[1].relationshipMappings = []
    fixture.mappings[0].relationshipMappings = [
      RelationshipMapping(name: "pens", value: .mapping("PenToPen", keyPath: ["pens"]))
    ]
    // Owner 2 comes last: two pens lose owner 1.
    let expected = expected.map { $0 == "links Pen.owner 1" ? "links Pen.owner 2" : $0 }
    let plan = try MigrationManager(fixture.job).plan()
    #expect(told(plan.losses) == expected)
    #expect(try told(fixture.run().losses) == expected)
    #expect(try fixture.rows("SELECT ZOWNER FROM source.ZPEN ORDER BY Z_PK") == ["2", "2", "1", "nil"])
  }

  @Test(arguments: [false, true])
  func `where both ends of a link are mapped, the later mapping decides which link stays`(ownersLast: Bool) throws {
    let fixture = try fixture()
    fixture.mappings[0].relationshipMappings = [
      RelationshipMapping(name: "pens", value: .mapping("PenToPen", keyPath: ["pens"]))
    ]
    if ownersLast { fixture.mappings.reverse() }
    try fixture.alter("UPDATE ZPEN SET ZOWNER = NULL WHERE Z_PK = 1")
    try fixture.alter("UPDATE ZPEN SET ZOWNER = 2 WHERE Z_PK = 4")
    let plan = try MigrationManager(fixture.job).plan()
    // The first pen has no owner, the others that become one with it have 2 and 1.
    #expect(told(plan.losses).first == (ownersLast ? "links Pen.owner 1" : "links Pen.owner 2"))
    #expect(try Set(fixture.run().losses.losses) == Set(plan.losses.losses))
    #expect(try fixture.rows("SELECT ZOWNER FROM source.ZPEN ORDER BY Z_PK").first == (ownersLast ? "2" : "nil"))
  }

  @Test func `a link to objects that become one is not lost`() throws {
    let fixture = try fixture()
    fixture.mappings[0].uniqueBy = ["name"]
    try fixture.alter("UPDATE ZOWNER SET ZNAME = 'one'")
    #expect(try told(fixture.run().losses) == ["values Pen.colour 2", "values Pen.price 1"])
  }

  @Test func `the places of objects that become one are values like others`() throws {
    let fixture = try MigrationFixture(
      [
        .make("List", [:], [.toMany("items", "Item", inverse: "list", ordered: true)]),
        .make("Item", ["code": .string], [.toOne("list", "List", inverse: "items")]),
      ], to: [.make("Item", ["code": .string, "place": .integer16])])
    try fixture.build { store in
      for key in Int64(1)...3 { try store.insert("Item", key: key, attributes: ["code": .init("a")]) }
      try store.insert("List", key: 1, relationships: ["items": [3, 1, 2]])
    }
    fixture.mappings = [
      try .make("Item", "Item", uniqueBy: ["code"], attributes: ["code": "$source.code", "place": "$index"])
    ]
    #expect(try told(MigrationManager(fixture.job).plan().losses) == ["values Item.place 2"])
    #expect(try told(fixture.run().losses) == ["values Item.place 2"])
  }

  @Test func `the links of owners of several entities are counted`() throws {
    let entities: [EntityDescription] = [
      .make("Owner", ["name": .string], [.toMany("pens", "Pen", inverse: "owner")]), .make("Firm", parent: "Owner"),
      .make("Pen", ["code": .string], [.toOne("owner", "Owner", inverse: "pens")]),
    ]
    let fixture = try MigrationFixture(entities, to: entities)
    try fixture.build { store in
      try store.insert("Owner", key: 1)
      try store.insert("Firm", key: 2)
      for key in Int64(1)...2 {
        try store.insert("Pen", key: key, attributes: ["code": .init("a")], relationships: ["owner": [key]])
      }
    }
    let pens: [String: RelationshipMapping.Value] = ["pens": .mapping("PenToPen", keyPath: ["pens"])]
    fixture.mappings = [
      try .make("Owner", "Owner", relationships: pens), try .make("Firm", "Firm", relationships: pens),
      try .make("Pen", "Pen", uniqueBy: ["code"], attributes: ["code": "$source.code"]),
    ]
    #expect(try told(MigrationManager(fixture.job).plan().losses) == ["links Pen.owner 1"])
    #expect(try told(fixture.run().losses) == ["links Pen.owner 1"])
    #expect(try fixture.rows("SELECT ZOWNER FROM source.ZPEN") == ["2"])
  }

  /// A Double can hold 2⁵³, and not the next integer. The objects of one code stand in their order.
  @Test(arguments: [false, true], [false, true])
  func `with fill-nil, a number counts as rounded if it stays, and as nil if no other takes its place`(
    fills: Bool, inSwift: Bool
  ) throws {
    let number: [String: AttributeType] = ["code": .string, "whole": .integer64, "text": .string]
    let fixture = try MigrationFixture(
      [.make("Number", number)], to: [.make("Number", ["code": .string, "real": .double, "parsed": .double])])
    let exact = Int64(1) << 53
    let rows: [(String, Int64?, String)] = [
      ("a", exact, "5"), ("a", exact + 1, "x"), ("b", nil, "x"), ("b", exact + 1, "5"), ("c", exact + 1, "x"),
      ("c", exact, "x"), ("d", exact + 1, "x"),
    ]
    try fixture.build { store in
      for (index, (code, whole, text)) in rows.enumerated() {
        try store.insert(
          "Number", key: Int64(index + 1),
          attributes: ["code": .init(code), "whole": whole.map { .integer($0) } ?? .null, "text": .init(text)])
      }
    }
    fixture.mappings = [
      try .make(
        "Number", "Number", uniqueBy: ["code"],
        attributes: [
          "code": "$source.code", "real": "$source.whole", "parsed": "CAST($source.text, 'NSNumber')",
        ])
    ]
    fixture.mappings[0].fillsNil = fills
    let expected = ["rounded Number.whole \(fills ? 3 : 2)", "values turned to nil Number.parsed \(fills ? 2 : 3)"]
    func told(_ losses: LossReport) -> [String] {
      losses.losses.filter { $0.kind == .nils || $0.kind == .rounded }
        .map { "\($0.kind.rawValue) \($0.subject) \($0.count ?? -1)" }.sorted()
    }
    try EngineTuning.with(\.runsAllInSwift, inSwift) {
      let plan = try MigrationManager(fixture.job).plan()
      #expect(told(plan.losses) == expected)
      let summary = try fixture.run()
      #expect(told(summary.losses) == expected)
    }
  }

  @Test func `an audit finds the values`() throws {
    let fixture = try fixture()
    let report = try MigrationManager(fixture.job).audit(samples: 1, showingValues: false)
    #expect(
      report.findings.filter { $0.kind == .merged }.map { "\($0.entity).\($0.property ?? "") \($0.count)" }
        == ["Pen.colour 2", "Pen.price 1", "Pen.owner 1"])
  }

  @Test(arguments: [false, true]) func `an audit names the objects whose values are dropped`(fills: Bool) throws {
    let fixture = try fixture()
    fixture.mappings[1].fillsNil = fills
    func named(_ samples: Int) throws -> [String] {
      try MigrationManager(fixture.job).audit(samples: samples, showingValues: true).findings
        .filter { $0.kind == .merged }.map { finding in
          let samples = finding.samples.map { "\($0.uri.split(separator: "/").last ?? "")=\($0.value ?? "")" }
          return "\(finding.property ?? ""): \(samples.joined(separator: " "))"
        }
    }
    let price = ["price: p3=9", "owner: p2="]
    #expect(try named(9) == [fills ? "colour: p3=\"blue\"" : "colour: p2=\"red\" p3=\"blue\""] + price)
    #expect(try named(1) == [fills ? "colour: p3=\"blue\"" : "colour: p2=\"red\""] + price)
  }
}
