import GodwitJob
import GodwitModel
import GodwitStore
import Testing

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
