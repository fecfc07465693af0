import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Values, links and order that mappings leave behind, in small cases whose figures are plain to see.
@Suite struct PropertyLossTests {
  private func losses(_ fixture: MigrationFixture, isInferred: Bool = false) throws -> [String] {
    var job = try fixture.job
    if isInferred { job.steps[0].origin = MigrationStep.inferredOrigin }
    return try MigrationManager(job).plan().losses.losses.map(\.description).sorted()
  }

  /// Nine documents and nine pictures, each with an owner; `owner` is an attribute of a person too.
  private func owners(_ destination: [EntityDescription]) throws -> MigrationFixture {
    let fixture = try MigrationFixture(
      [
        .make("Doc", ["n": .string], [.toOne("owner", "Person", inverse: "docs")]),
        .make("Art", ["n": .string], [.toOne("owner", "Person", inverse: "arts")]),
        .make(
          "Person", ["name": .string, "owner": .string],
          [.toMany("docs", "Doc", inverse: "owner"), .toMany("arts", "Art", inverse: "owner")]),
      ], to: destination)
    try fixture.build { store in
      for key in Int64(1)...3 {
        try store.insert("Person", key: key, attributes: ["name": .init("p"), "owner": key < 3 ? .init("o") : .null])
      }
      for key in Int64(1)...9 {
        try store.insert("Doc", key: key, attributes: ["n": .init("d")], relationships: ["owner": [key % 3 + 1]])
        try store.insert("Art", key: key, attributes: ["n": .init("a")], relationships: ["owner": [key % 2 + 1]])
      }
    }
    return fixture
  }

  @Test func `a relationship of the same name elsewhere keeps neither links nor values`() throws {
    let fixture = try owners([
      .make("Doc", ["n": .string]), .make("Art", ["n": .string], [.toOne("owner", "Person", inverse: "arts")]),
      .make("Person", ["name": .string], [.toMany("arts", "Art", inverse: "owner")]),
    ])
    try fixture.infer()
    let expected = [
      "2 values of Person.owner (no destination attribute takes them)",
      "9 links of Doc.owner (no destination relationship takes them)",
    ]
    #expect(try losses(fixture) == expected)
    var job = try fixture.job
    job.onLoss = .fail
    let error = #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
    #expect(error?.code == .dataWrong)
    #expect(try fixture.run().losses.losses.map(\.description).sorted() == expected)
  }

  @Test func `a path to a value keeps the values that it reaches, and no links`() throws {
    let fixture = try owners([
      .make("Doc", ["n": .string, "by": .string]), .make("Art", ["n": .string]), .make("Person", ["name": .string]),
    ])
    // Art leads to the first two persons, Doc to all three; the third has no value.
    fixture.mappings = [
      try .make("Doc", "Doc", attributes: ["n": "$source.n", "by": "$source.owner.owner"]),
      try .make("Art", "Art", attributes: ["n": "$source.n"]),
      try .make("Person", "Person", attributes: ["name": "$source.name"]),
    ]
    let links = [
      "9 links of Art.owner (no destination relationship takes them)",
      "9 links of Doc.owner (no destination relationship takes them)",
    ]
    #expect(try losses(fixture) == links)
    fixture.mappings[0].filter = try FilterPredicate("owner.owner == nil")
    let reached = try losses(fixture).filter { $0.contains("values") }
    #expect(
      reached == [
        "2 values of Person.owner (no destination attribute takes them, and no path leads to them; the filter of mapping 'DocToDoc' reads them)"
      ])
  }

  @Test func `mappings of one entity that differ lose what the others take`() throws {
    let fixture = try owners([
      .make("Doc", ["n": .string], [.toOne("owner", "Person", inverse: "docs")]), .make("Art", ["n": .string]),
      .make("Person", ["name": .string], [.toMany("docs", "Doc", inverse: "owner")]),
    ])
    fixture.mappings = [
      try .make("Person", "Person", name: "Owned", filter: "owner != nil", attributes: ["name": "$source.name"]),
      try .make("Person", "Person", name: "Free", filter: "owner == nil"),
      try .make(
        "Doc", "Doc", attributes: ["n": "$source.n"],
        relationships: ["owner": .mapping("Owned", keyPath: ["owner"])]),
    ]
    #expect(
      try losses(fixture).filter { !$0.contains("Art") } == [
        "1 value of Person.name (the mappings of these objects do not read them)",
        "2 values of Person.owner (no destination attribute takes them; the filter of mapping 'Owned' and the filter of mapping 'Free' read them)",
        "3 links of Doc.owner (to 'Person', between objects whose mappings do not set them)",
      ])
  }

  @Test func `links that only the other end takes are not lost`() throws {
    let fixture = try owners([
      .make("Doc", ["n": .string], [.toOne("owner", "Person", inverse: "docs")]), .make("Art", ["n": .string]),
      .make("Person", ["name": .string], [.toMany("docs", "Doc", inverse: "owner")]),
    ])
    fixture.mappings = [
      try .make("Doc", "Doc", attributes: ["n": "$source.n"]),
      try .make("Art", "Art", attributes: ["n": "$source.n"]),
      try .make(
        "Person", "Person", attributes: ["name": "$source.name"],
        relationships: ["docs": .mapping("DocToDoc", keyPath: ["docs"])]),
    ]
    #expect(
      try losses(fixture) == [
        "2 values of Person.owner (no destination attribute takes them)",
        "9 links of Art.owner (no destination relationship takes them)",
      ])
  }

  @Test func `an order that the destination does not keep is a loss of its own kind`() throws {
    func list(ordered: Bool) -> [EntityDescription] {
      [
        .make("List", ["n": .string], [.toMany("items", "Item", inverse: "list", ordered: ordered)]),
        .make("Item", ["n": .string], [.toOne("list", "List", inverse: "items")]),
      ]
    }
    for keepsOrder in [false, true] {
      let fixture = try MigrationFixture(list(ordered: true), to: list(ordered: keepsOrder))
      try fixture.build { store in
        // A list of one item has no order.
        for key in Int64(1)...3 {
          let items: [[Int64]] = [[3, 1, 2], [4], [6, 5]]
          try store.insert("List", key: key, relationships: ["items": items[Int(key) - 1]])
        }
        for key in Int64(1)...6 { try store.insert("Item", key: key) }
      }
      try fixture.infer()
      let expected =
        keepsOrder
        ? [] : ["5 links of List.items lose their order (no ordered relationship of the destination takes them)"]
      #expect(try losses(fixture, isInferred: true) == expected)
      let plan = try MigrationManager(fixture.job).plan()
      #expect(plan.losses.refusable.map(\.kind) == (keepsOrder ? [] : [.order]))
      #expect(plan.overview.contains("nothing lost") == keepsOrder)
      var job = try fixture.job
      job.onLoss = .fail
      if keepsOrder {
        #expect(try MigrationManager(job).run().outcome == .finished)
      } else {
        let error = #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
        #expect(error?.code == .dataWrong)
      }
    }
  }

  @Test func `a required attribute that a mapping gives nil is told before the run`() throws {
    let fixture = try MigrationFixture(
      [.make("Note", ["text": .string])],
      to: [EntityDescription(name: "Note", attributes: [.make("text"), .make("display", isOptional: false)])])
    try fixture.build { store in try store.insert("Note", key: 1, attributes: ["text": .init("t")]) }
    fixture.mappings = [
      try .make("Note", "Note", attributes: ["text": "$source.text", "display": "$source.text"])
    ]
    #expect(try MigrationManager(fixture.job).plan().summary.obstacles == [])
    fixture.mappings = [
      try .make("Note", "Note", attributes: ["text": "$source.text", "display": "nil"])
    ]
    let plan = try MigrationManager(fixture.job).plan()
    #expect(
      plan.summary.obstacles == ["the run stops with 65: 1 object of Note: attribute 'display' is required and is nil"])
    let error = #expect(throws: GodwitError.self) { try MigrationManager(fixture.job).run() }
    #expect(error?.code == .dataWrong)
  }
}
