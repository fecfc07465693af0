import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

@testable import GodwitEngine

private let source: [EntityDescription] = [
  .make("Adult", ["name": .string, "company": .string, "rank": .integer32])
]

private let destination: [EntityDescription] = [
  .make(
    "Company", ["name": .string, "business": .string, "rank": .integer32],
    [.toMany("staff", "Worker", inverse: "company")]),
  .make("Worker", ["name": .string], [.toOne("company", "Company", inverse: "staff")]),
]

private func fixture(_ companies: [String?]) throws -> MigrationFixture {
  let fixture = try MigrationFixture(source, to: destination)
  try fixture.build { store in
    for (index, company) in companies.enumerated() {
      try store.insert(
        "Adult", key: Int64(index + 1),
        attributes: [
          "name": .init("adult \(index + 1)"), "company": company.map { .init($0) } ?? .null,
          "rank": .integer(Int64(index)),
        ], relationships: [:])
    }
  }
  fixture.mappings = [
    try .make(
      "Adult", "Worker", attributes: ["name": "$source.name"],
      relationships: ["company": .mapping("AdultToCompany", keyPath: [])]),
    try .make(
      "Adult", "Company", uniqueBy: ["name"],
      attributes: [
        "name": "$source.company", "rank": "$source.rank",
        "business": "TERNARY($source.company == \"Apple\", \"makes phones\", \"makes stuff\")",
      ]),
  ]
  return fixture
}

@Suite struct UniqueByTests {
  private let companies: [String?] = ["Orange", "Apple", nil, "Orange", "apple", nil, "Apple", "e\u{301}", "é"]

  @Test(arguments: [1, 2, 100], [false, true])
  func `unique-by makes one object per distinct value, from the lowest key, and every source object finds it`(
    rows: Int, mergesNil: Bool
  ) throws {
    let fixture = try fixture(companies)
    fixture.chunkRows = rows
    fixture.mappings[1].mergesNil = mergesNil
    try fixture.run()
    // Bytes decide: case differs, composed and decomposed differ. Objects without a value are one only with merge-nil.
    #expect(
      try fixture.rows("SELECT Z_PK, hex(ZNAME), ZRANK, ZBUSINESS FROM source.ZCOMPANY ORDER BY Z_PK") == [
        "1|4F72616E6765|0|makes stuff", "2|4170706C65|1|makes phones", "3||2|makes stuff", "5|6170706C65|4|makes stuff",
      ] + (mergesNil ? [] : ["6||5|makes stuff"]) + ["8|65CC81|7|makes stuff", "9|C3A9|8|makes stuff"])
    #expect(
      try fixture.rows("SELECT Z_PK, ZCOMPANY FROM source.ZWORKER ORDER BY Z_PK") == [
        "1|1", "2|2", "3|3", "4|1", "5|5", "6|\(mergesNil ? 3 : 6)", "7|2", "8|8", "9|9",
      ])
  }

  @Test func `chunks by predicate give the same unique-by objects as key ranges`() throws {
    let fixture = try fixture(companies)
    fixture.chunkPredicates = [
      "AdultToCompany": ["company BEGINSWITH 'a'", "NOT company BEGINSWITH 'a' OR company == nil"],
      "AdultToWorker": ["rank > 4", "rank <= 4"],
    ]
    try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_PK, ZRANK FROM source.ZCOMPANY ORDER BY Z_PK") == [
        "1|0", "2|1", "3|2", "5|4", "6|5", "8|7", "9|8",
      ])
    #expect(try fixture.rows("SELECT COUNT(*) FROM source.ZWORKER WHERE ZCOMPANY IS NOT NULL") == ["9"])
  }

  @Test(arguments: [["rank > 4"], ["rank > 4", "rank < 7", "rank <= 4"]])
  func `chunk predicates that miss objects or match them twice are refused`(predicates: [String]) throws {
    let fixture = try fixture(companies)
    fixture.chunkPredicates = ["AdultToWorker": predicates]
    let error = try #require(throws: GodwitError.self) { try fixture.run() }
    #expect(error.code == .configuration)
    #expect(
      error.message.contains(
        predicates.count == 1 ? "no predicate matches 5 of its 9" : "more than one predicate matches"))
  }

  @Test func `a unique-by object has the union of its sources' to-many links`() throws {
    let entities: [EntityDescription] = [
      .make("Book", ["title": .string, "isbn": .string], [.toMany("shelves", "Shelf", inverse: "books")]),
      .make("Shelf", ["name": .string], [.toMany("books", "Book", inverse: "shelves")]),
    ]
    let fixture = try MigrationFixture(entities, to: entities)
    try fixture.build { store in
      for key in Int64(1)...3 { try store.insert("Shelf", key: key, attributes: [:], relationships: [:]) }
      for (key, isbn, shelf) in [(1, "a", 1), (2, "b", 2), (3, "a", 3), (4, "a", 1)] as [(Int64, String, Int64)] {
        try store.insert("Book", key: key, attributes: ["isbn": .init(isbn)], relationships: ["shelves": [shelf]])
      }
    }
    fixture.mappings = [
      try .make("Shelf", "Shelf"),
      try .make(
        "Book", "Book", uniqueBy: ["isbn"], attributes: ["isbn": "$source.isbn"],
        relationships: ["shelves": .sourceRelationship("shelves")]),
    ]
    try fixture.run()
    guard
      case .join(let join, let book, let shelf, _) = StoreSchema(model: fixture.destination).storage(
        of: "shelves", in: "Book")
    else { return }
    #expect(
      try fixture.rows("SELECT \(book), \(shelf) FROM source.\(join.name) ORDER BY 1, 2") == ["1|1", "1|3", "2|2"])
  }

  @Test func `a to-one that finds several objects is counted once for each object`() throws {
    let people: [EntityDescription] = [
      .make("Boss", [:], [.toMany("staff", "Worker", inverse: "boss")]),
      .make("Worker", ["name": .string], [.toOne("boss", "Boss", inverse: "staff")]),
    ]
    let fixture = try MigrationFixture(people, to: people)
    try fixture.build { store in
      try store.insert("Boss", key: 1, attributes: [:], relationships: [:])
      for key in Int64(1)...4 {
        try store.insert("Worker", key: key, attributes: ["name": .init("w\(key % 2)")], relationships: ["boss": [1]])
      }
    }
    fixture.mappings = [
      try .make("Boss", "Boss", name: "First"), try .make("Boss", "Boss", name: "Second"),
      try .make(
        "Worker", "Worker", uniqueBy: ["name"], attributes: ["name": "$source.name"],
        relationships: ["boss": .sourceRelationship("boss")]),
    ]
    #expect(try fixture.run().ambiguousToOne == 2)
  }

  @Test func `an index of the source that serves the filter does not change unique-by objects`() throws {
    let fixture = try fixture((0..<40).map { ["Apple", "Shell", "Esso", nil][$0 % 4] })
    fixture.mappings[1].filter = try FilterPredicate("company IN {'Apple', 'Esso'}")
    fixture.chunkRows = nil
    try fixture.alter("CREATE INDEX own ON ZADULT (ZCOMPANY)")
    try fixture.run()
    #expect(try fixture.rows("SELECT ZNAME FROM source.ZCOMPANY ORDER BY Z_PK") == ["Apple", "Esso"])
  }
}

/// `unique-by` with an order of the objects that become one, and with values of others in place of nil.
@Suite struct UniqueOrderTests {
  private struct Card {
    var key: Int64
    var email: String?
    var name: String?
    var phone: String?
    var changed: Double?
    var owner: Int64?
  }

  private static let attributes: [String: AttributeType] = [
    "email": .string, "name": .string, "phone": .string, "changed": .date,
  ]
  private static let entities: [EntityDescription] = [
    .make("Card", attributes, [.toOne("owner", "Owner", inverse: "cards")]),
    .make("Owner", ["rank": .decimal], [.toMany("cards", "Card", inverse: "owner")]),
  ]

  private let cards = [
    Card(key: 1, email: "a", name: "old", phone: nil, changed: 1, owner: 2),
    Card(key: 2, email: "b", name: nil, phone: "b2", changed: 5, owner: nil),
    Card(key: 3, email: "a", name: nil, phone: "a3", changed: 9, owner: 1),
    Card(key: 4, email: nil, name: "n4", phone: nil, changed: 1, owner: nil),
    Card(key: 5, email: "a", name: "mid", phone: "a5", changed: 5, owner: nil),
    Card(key: 6, email: nil, name: nil, phone: nil, changed: 2, owner: 2),
    Card(key: 7, email: "b", name: "b7", phone: nil, changed: nil, owner: 1),
    Card(key: 9, email: "a", name: "twin", phone: nil, changed: 9, owner: 2),
  ]

  private func fixture(_ order: [String], fill: Bool = false, mergesNil: Bool = false) throws -> MigrationFixture {
    let fixture = try MigrationFixture(Self.entities, to: Self.entities)
    try fixture.build { store in
      for key in Int64(1)...2 {
        try store.insert("Owner", key: key, attributes: ["rank": .decimal(Decimal(key))], relationships: [:])
      }
      for card in cards {
        try store.insert(
          "Card", key: card.key,
          attributes: [
            "email": card.email.map { .init($0) } ?? .null, "name": card.name.map { .init($0) } ?? .null,
            "phone": card.phone.map { .init($0) } ?? .null, "changed": card.changed.map { .date($0) } ?? .null,
          ], relationships: card.owner.map { ["owner": [$0]] } ?? [:])
      }
    }
    fixture.mappings = [
      try .make("Owner", "Owner", kind: .copy),
      try .make(
        "Card", "Card", uniqueBy: ["email"],
        attributes: Dictionary(uniqueKeysWithValues: Self.attributes.keys.map { ($0, "$source.\($0)") }),
        relationships: ["owner": .sourceRelationship("owner")]),
    ]
    fixture.mappings[1].uniqueOrder = try order.map { try #require(EntityMapping.SortDescriptor(text: $0)) }
    (fixture.mappings[1].fillsNil, fixture.mappings[1].mergesNil) = (fill, mergesNil)
    return fixture
  }

  /// The rows that the rules of the page give, written without the code under test.
  private func expected(
    by first: (Card, Card) -> Bool, fill: Bool, mergesNil: Bool = false, without left: Int64? = nil
  ) -> [String] {
    var groups: [[Card]] = []
    for card in cards where card.key != left {
      if card.email != nil || mergesNil, let known = groups.firstIndex(where: { $0[0].email == card.email }) {
        groups[known].append(card)
      } else {
        groups.append([card])
      }
    }
    return groups.map { group -> (Int64, String) in
      let sorted = group.sorted { first($0, $1) || !first($1, $0) && $0.key < $1.key }
      let top = sorted[0]
      func text(_ value: (Card) -> String?) -> String {
        (fill ? sorted.lazy.compactMap(value).first : value(top)) ?? "nil"
      }
      let changed = text { $0.changed.map { "\(Int($0))" } }
      return (top.key, "\(top.key)|\(text(\.name))|\(text(\.phone))|\(changed)|\(top.owner.map(String.init) ?? "nil")")
    }.sorted { $0.0 < $1.0 }.map(\.1)
  }

  private static let rows =
    "SELECT Z_PK, ZNAME, ZPHONE, CAST(ZCHANGED AS INTEGER), ZOWNER FROM source.ZCARD ORDER BY Z_PK"

  @Test(arguments: [false, true]) func `an element of a composite says who comes first`(inSwift: Bool) throws {
    var card = EntityDescription.make("Card", ["email": .string, "name": .string])
    card.attributes.append(.composite("made", [.make("at", .date)]))
    let fixture = try MigrationFixture([card], to: [.make("Card", ["email": .string, "name": .string])])
    try fixture.build { store in
      for (key, date) in [3, 9, 5].enumerated() {
        try store.insert(
          "Card", key: Int64(key + 1),
          attributes: ["email": .init("a"), "name": .init("at \(date)"), "made.at": .date(Double(date))])
      }
    }
    fixture.mappings = [
      try .make("Card", "Card", uniqueBy: ["email"], attributes: ["email": "$source.email", "name": "$source.name"])
    ]
    fixture.mappings[0].uniqueOrder = [.init("made.at", ascending: false)]
    try EngineTuning.with(\.runsAllInSwift, inSwift) { _ = try fixture.run() }
    #expect(try fixture.rows("SELECT Z_PK, ZNAME FROM source.ZCARD") == ["2|at 9"])
    fixture.mappings[0].uniqueOrder = [.init("made.on")]
    let error = #expect(throws: GodwitError.self) { try MigrationManager(fixture.job).plan() }
    #expect(error?.message.contains("'Card' has no attribute 'made.on' (did you mean 'made.at'?)") == true)
  }

  @Test(arguments: [1, 3, 100], [false, true])
  func `the first by the sort descriptors gives key and values, and nil takes the first value in that order`(
    rows: Int, inSwift: Bool
  ) throws {
    let orders: [([String], (Card, Card) -> Bool)] = [
      ([], { _, _ in false }),
      (["changed DESC"], { ($0.changed ?? -1) > ($1.changed ?? -1) }),
      (["changed"], { ($0.changed ?? -1) < ($1.changed ?? -1) }),
      (
        ["name desc", "changed"], { a, b in (a.name ?? "") != (b.name ?? "") ? (a.name ?? "") > (b.name ?? "") : false }
      ),
      (["owner.rank ASC"], { ($0.owner ?? 0) < ($1.owner ?? 0) }),
      (
        ["owner.rank DESC", "changed DESC"],
        {
          ($0.owner ?? 0) != ($1.owner ?? 0)
            ? ($0.owner ?? 0) > ($1.owner ?? 0) : ($0.changed ?? -1) > ($1.changed ?? -1)
        }
      ),
    ]
    for (order, first) in orders {
      for (fill, mergesNil) in [(false, false), (true, false), (true, true), (false, true)] {
        let fixture = try fixture(order, fill: fill, mergesNil: mergesNil)
        fixture.chunkRows = rows
        try EngineTuning.with(\.runsAllInSwift, inSwift) {
          let plan = try MigrationManager(fixture.job).plan()
          let summary = try fixture.run()
          #expect(Set(summary.losses.losses) == Set(plan.losses.losses))
        }
        let found = try fixture.rows(Self.rows)
        #expect(found == expected(by: first, fill: fill, mergesNil: mergesNil), "\(order), fill \(fill)")
        let report = try Verifier(job: fixture.job).run()
        #expect(report.findings.isEmpty, "\(order): \(report.findings)")
      }
    }
  }

  @Test func `the verifier finds values of an object that is not the first`() throws {
    let fixture = try fixture(["changed DESC"], fill: true)
    try fixture.run()
    for edit in ["UPDATE ZCARD SET ZNAME = 'old' WHERE Z_PK = 3", "UPDATE ZCARD SET ZPHONE = NULL WHERE Z_PK = 3"] {
      let folder = try TemporaryFolder()
      try FileManager.default.copyItem(atPath: fixture.destinationPath, toPath: folder.file("kept.sqlite"))
      let store = try StoreConnection(path: fixture.destinationPath)
      try store.execute(edit)
      try store.close()
      #expect(try Verifier(job: fixture.job).run().findings.count == 1)
      try FileManager.default.removeItem(atPath: fixture.destinationPath)
      try FileManager.default.copyItem(atPath: folder.file("kept.sqlite"), toPath: fixture.destinationPath)
    }
  }

  @Test func `a run that stops after every chunk gives the same store`() throws {
    let fixture = try fixture(["changed DESC"], fill: true)
    fixture.chunkRows = 2
    var runs = 0
    while try MigrationManager(fixture.job).run(maximumSeconds: 0).outcome == .stopped {
      runs += 1
      try #require(runs < 1000)
    }
    #expect(runs > 5)
    #expect(try fixture.rows(Self.rows) == expected(by: { ($0.changed ?? -1) > ($1.changed ?? -1) }, fill: true))
  }

  @Test(arguments: ["ZCHANGED", "ZEMAIL", "ZPHONE"], [1, 100])
  func `a wrong value sets its own object aside, and no other`(column: String, rows: Int) throws {
    let fixture = try fixture(["changed DESC"], fill: true)
    fixture.chunkRows = rows
    try fixture.alter("UPDATE ZCARD SET \(column) = x'00ff' WHERE Z_PK = 5")
    var job = try fixture.job
    job.quarantine = Quarantine(maximumPercent: 100)
    #expect(try MigrationManager(job).run().quarantinedObjects == 1)
    let order: (Card, Card) -> Bool = { ($0.changed ?? -1) > ($1.changed ?? -1) }
    #expect(try fixture.rows(Self.rows) == expected(by: order, fill: true, without: 5))
  }

  @Test func `losses count values that differ from those that stay`() throws {
    func told(_ order: [String], fill: Bool) throws -> [String] {
      let fixture = try fixture(order, fill: fill)
      return try MigrationManager(fixture.job).plan().losses.losses
        .filter { $0.cause == .merged }.map { "\($0.subject) \($0.count ?? -1)" }.sorted()
    }
    // a: 3 (nil, a3, 9, owner 1), 9 (twin, nil, 9, owner 2), 5 (mid, a5, 5), 1 (old, nil, 1, owner 2).
    // b: 2 (no owner), 7 (owner 1).
    #expect(
      try told(["changed DESC"], fill: false) == ["Card.changed 2", "Card.name 4", "Card.owner 3", "Card.phone 1"])
    #expect(
      try told(["changed DESC"], fill: true) == ["Card.changed 2", "Card.name 2", "Card.owner 3", "Card.phone 1"])
  }

  @Test(arguments: [
    ("nosuch", "source entity 'Card' has no attribute 'nosuch'"),
    ("$source.name DESC", "write 'name DESC'"), ("source.name", "write 'name'"), ("-name", "write 'name DESC'"),
    ("owner.cards.name", "to-many relationship"),
    ("owner.rnk DESC", "did you mean 'rank'"),
    ("owner DESC", "'Card.owner' is a relationship; it is ordered by an attribute behind it, such as 'owner.rank'"),
  ])
  func `a sort descriptor that names no value is refused`(descriptor: String, why: String) throws {
    let fixture = try fixture([descriptor])
    let error = #expect(throws: GodwitError.self) { try fixture.run() }
    #expect(error?.code == .configuration && error?.message.contains(why) == true, "\(error as Any)")
  }
}
