import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitEngine

/// Mappings of one table into one table are carried out in one walk; what comes out is as if each had its own.
@Suite struct SharedCreationTests {
  private func people(_ rows: ClosedRange<Int64> = 1...10) throws -> MigrationFixture {
    let fixture = try MigrationFixture(
      [
        .make("Town", ["name": .string], [.toMany("people", "Person", inverse: "town")]),
        .make("Person", ["name": .string, "age": .integer32], [.toOne("town", "Town", inverse: "people")]),
      ],
      to: [
        .make("Town", ["name": .string], [.toMany("people", "Human", inverse: "town")]),
        .make(
          "Human", isAbstract: true, ["name": .string, "age": .integer16], [.toOne("town", "Town", inverse: "people")]),
        .make("Adult", parent: "Human", ["years": .integer32]), .make("Child", parent: "Human"),
      ])
    try fixture.build { store in
      for key in Int64(1)...4 where key != 3 { try store.insert("Town", key: key) }
      for key in rows {
        try store.insert(
          "Person", key: key * 2, attributes: ["name": .init("n\(key)"), "age": .integer(key * 4)],
          relationships: key % 3 == 0 ? [:] : ["town": [[1, 2, 4][Int(key % 3)]]])
      }
    }
    fixture.mappings = [
      try .make("Town", "Town", kind: .copy),
      try .make(
        "Person", "Adult", filter: "age >= 18",
        attributes: ["name": "$source.name", "age": "$source.age", "years": "$source.age * 2"],
        relationships: ["town": .mapping("TownToTown", keyPath: ["town"])]),
      try .make(
        "Person", "Child", filter: "age < 18", attributes: ["name": "$source.name", "age": "$source.age"],
        relationships: ["town": .mapping("TownToTown", keyPath: ["town"])]),
    ]
    return fixture
  }

  @Test func `chunks of mappings that share a table take turns, and each counts its own rows`() throws {
    let fixture = try people()
    let (_, plan) = try fixture.planned()
    let chunks = plan.chunks.filter { $0.phase == .create && $0.name != "TownToTown" }
    #expect(chunks.map(\.name) == ["PersonToAdult", "PersonToChild"].cycled(times: chunks.count / 2))
    #expect(chunks.count == 8)
    let summary = try fixture.run()
    #expect(summary.objects == 13)
    #expect(
      try fixture.rows("SELECT Z_PK, Z_ENT, ZNAME, ZAGE, ZYEARS, ZTOWN FROM source.ZHUMAN ORDER BY Z_PK") == [
        "2|3|n1|4|nil|2", "4|3|n2|8|nil|4", "6|3|n3|12|nil|nil", "8|3|n4|16|nil|2", "10|2|n5|20|40|4",
        "12|2|n6|24|48|nil", "14|2|n7|28|56|2", "16|2|n8|32|64|4", "18|2|n9|36|72|nil", "20|2|n10|40|80|2",
      ])
  }

  @Test func `one statement creates the objects of two mappings`() throws {
    let fixture = try people()
    let (program, _) = try fixture.planned()
    let short = try #require(try program.creation.statement(sharing: [1, 2]))
    #expect(!short.sql.contains("godwit_member"))
    let names = (0..<30).map { "name != 'nobody of the name \($0)'" }.joined(separator: " AND ")
    fixture.mappings[1].filter = try FilterPredicate("age >= 18 AND (\(names))")
    fixture.mappings[2].filter = try FilterPredicate("age < 18 AND (\(names))")
    let long = try #require(try fixture.planned().0.creation.statement(sharing: [1, 2]))
    #expect(long.sql.contains("godwit_member"))
    try fixture.run()
    #expect(
      try fixture.rows("SELECT Z_ENT, COUNT(*), SUM(Z_PK) FROM source.ZHUMAN GROUP BY 1") == ["2|6|90", "3|4|20"])
  }

  @Test func `rows that no mapping takes are left out of a shared scan`() throws {
    let fixture = try people()
    fixture.mappings[1].filter = try FilterPredicate("age >= 30")
    let summary = try fixture.run()
    #expect(summary.objects == 10)
    #expect(try fixture.rows("SELECT Z_PK FROM source.ZHUMAN ORDER BY 1") == ["2", "4", "6", "8", "16", "18", "20"])
    #expect(summary.dropped.map(\.rows) == [3])
  }

  @Test func `a hierarchy of entities is scanned once, and each entity keeps its own columns`() throws {
    let family: [EntityDescription] = [
      .make("Animal", ["name": .string]), .make("Cat", parent: "Animal", ["lives": .integer16]),
      .make("Dog", parent: "Animal", ["tricks": .string]), .make("Puppy", parent: "Dog", ["lives": .integer64]),
    ]
    let fixture = try MigrationFixture(family, to: family)
    try fixture.build { store in
      for key in Int64(1)...20 {
        switch key % 4 {
        case 0: try store.insert("Animal", key: key, attributes: ["name": .init("a")])
        case 1: try store.insert("Cat", key: key, attributes: ["name": .init("c"), "lives": .integer(key)])
        case 2: try store.insert("Dog", key: key, attributes: ["tricks": .init("roll")])
        default: try store.insert("Puppy", key: key, attributes: ["tricks": .init("none"), "lives": .integer(-key)])
        }
      }
    }
    fixture.mappings = try ["Animal", "Cat", "Dog", "Puppy"].map { try .make($0, $0, kind: .copy) }
    let (program, plan) = try fixture.planned()
    #expect(plan.chunks.prefix(4).map(\.name) == ["AnimalToAnimal", "CatToCat", "DogToDog", "PuppyToPuppy"])
    #expect(Set(plan.chunks.prefix(4).map(\.range)).count == 1)
    #expect(try program.creation.statement(sharing: [0, 1, 2, 3]) != nil)
    try fixture.run()
    let columns = try fixture.rows("SELECT name FROM pragma_table_info('ZANIMAL')").joined(separator: ", ")
    let made = try fixture.rows("SELECT \(columns) FROM source.ZANIMAL ORDER BY Z_PK")
    let connection = try StoreConnection.openStore(readingAt: fixture.sourcePath)
    let expected = try connection.rows("SELECT \(columns) FROM source.ZANIMAL ORDER BY Z_PK").map {
      $0.map(\.plain).joined(separator: "|")
    }
    #expect(made == expected)
  }

  @Test func `a failing row in a shared scan names its mapping and chunk, and earlier chunks are durable`() throws {
    let fixture = try people()
    try fixture.alter("UPDATE ZPERSON SET ZNAME = x'00' WHERE Z_PK = 8")
    let error = try #require(throws: GodwitError.self) { try fixture.run() }
    #expect(error.code == .dataWrong)
    #expect(error.message.contains("'name' for Person p8"), "\(error.message)")
    #expect(error.context?.contains("PersonToChild, chunk 2 (Person p8 to p13)") == true, "\(error.context ?? "")")
    #expect(try MigrationManager(fixture.job).status().lines.reduce(0) { $0 + $1.done } == 4)
  }

  @Test func `a value out of range in a shared scan is refused as in a separate one`() throws {
    let fixture = try people()
    try fixture.alter("UPDATE ZPERSON SET ZAGE = 40000 WHERE Z_PK = 20")
    let error = try #require(throws: GodwitError.self) { try fixture.run() }
    #expect(error.message.contains("'age' for Person p20"), "\(error.message)")
    #expect(error.context?.contains("PersonToAdult") == true)
  }

  @Test func `a foreign key to a missing object gives no link, where keys have holes and where they have none`() throws
  {
    for missing: Int64 in [3, 99] {
      let fixture = try people()
      // Towns 1, 2 and 4 have a hole; 1 and 2 alone have none.
      if missing == 99 { try fixture.alter("DELETE FROM ZTOWN WHERE Z_PK = 4") }
      try fixture.alter("UPDATE ZPERSON SET ZTOWN = \(missing) WHERE Z_PK = 2")
      try fixture.alter("UPDATE ZPERSON SET ZTOWN = 1.5 WHERE Z_PK = 4")
      try fixture.alter("UPDATE ZPERSON SET ZTOWN = 'x' WHERE Z_PK = 6")
      try MigrationManager(fixture.job).run()
      #expect(
        try fixture.rows("SELECT ZTOWN FROM source.ZHUMAN WHERE Z_PK < 10 ORDER BY Z_PK") == ["nil", "nil", "nil", "2"])
    }
  }
}

extension [String] {
  fileprivate func cycled(times: Int) -> [String] { (0..<times).flatMap { _ in self } }
}
