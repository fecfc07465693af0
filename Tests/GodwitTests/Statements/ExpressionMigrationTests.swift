import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Expressions in whole migrations, each verified by code that lowers nothing.
@Suite struct ExpressionMigrationTests {
  private func migrate(_ values: [String: String], filter: String? = nil, chunkRows: Int = 3) throws -> MigrationFixture
  {
    let destination = EntityDescription.make(
      "Adult", ["text": .string, "number": .double, "whole": .integer64, "flag": .boolean, "date": .date])
    let world = try ExpressionWorld.model()
    let fixture = try MigrationFixture(world, to: ManagedObjectModel(name: "2", entities: [destination]))
    try fixture.build { store in
      for row in ExpressionWorld.rows {
        try store.insert(row.entity, key: row.key, attributes: row.attributes, relationships: row.links)
      }
    }
    fixture.chunkRows = chunkRows
    fixture.mappings = [try .make("Person", "Adult", filter: filter, attributes: values)]
    try fixture.run()
    return fixture
  }

  @Test func `random numbers are the same for every chunk size`() throws {
    let values = ["whole": "randomn(1000000)", "number": "random() + randomn(10)"]
    let query = "SELECT Z_PK, ZWHOLE, ZNUMBER FROM ZADULT ORDER BY Z_PK"
    let rows = try migrate(values, chunkRows: 1).rows(query)
    #expect(try migrate(values, chunkRows: 100).rows(query) == rows)
    #expect(Set(rows).count == 3)
  }

  @Test func `a random filter takes the same objects in every run`() throws {
    let query = "SELECT Z_PK FROM ZADULT"
    let rows = try migrate(["text": "$source.name"], filter: "randomn(2) == 1", chunkRows: 1).rows(query)
    #expect(try migrate(["text": "$source.name"], filter: "randomn(2) == 1", chunkRows: 10).rows(query) == rows)
  }

  @Test func `every part of the expression language works in a migration`() throws {
    let fixture = try migrate([
      "text": "TERNARY($source.name ==[cd] 'ZOE', $entityMapping.name, canonical($propertyMapping.name))",
      "whole":
        "$source.pets.@sum.weight + (SUBQUERY($source.clubs, $c, ANY $c.members.age < 18).@count << 4)",
      "number":
        "FETCH(FUNCTION($manager, 'fetchRequestForSourceEntityNamed:predicateString:', 'Pet', 'weight > 4'), $manager.sourceContext, YES) * 0.5",
      "flag": "TERNARY($source.pets[FIRST].name MATCHES 'R.*', YES, NO)", "date": "$source.born + 60",
    ])
    let rows = try fixture.rows("SELECT ZTEXT, ZWHOLE, ZNUMBER, ZFLAG, ZDATE FROM ZADULT ORDER BY Z_PK")
    #expect(rows == ["PersonToAdult|24|1.0|1|1060", "text|16|1.0|0|-86340.5", "text|0|1.0|0|nil"])
  }

  @Test(arguments: [
    ("FUNCTION($entityPolicy, 'core:', $source.name)", "no policy is registered that could answer 'core:'"),
    (
      "distanceToLocation:fromLocation:($source.age, $source.age)", "'distanceToLocation:fromLocation:' needs locations"
    ),
    ("$destination.text", "$destination has no values while they are computed"),
    ("$source.clubs[0].name", "a collection of 'Club' objects has no order"),
  ]) func `an invalid expression is refused before the run`(expression: String, message: String) throws {
    let error = #expect(throws: GodwitError.self) { try migrate(["text": expression]) }
    #expect(error?.code == .configuration)
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
  }
}
