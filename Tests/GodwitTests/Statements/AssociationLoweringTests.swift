import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitEngine

/// Where a destination object is found, read as SQL.
struct AssociationLoweringTests {
  /// People 1 to 9 through `All`, those of even age through `Even`, and their teams by name.
  private func association(memory: Int64 = 0) throws -> AssociationLowering {
    let person = EntityDescription.make("Person", ["age": .integer32, "team": .string])
    let fixture = try MigrationFixture(
      [person, .make("Empty")], to: [person, .make("Team", ["name": .string]), .make("Empty")])
    try fixture.build { store in
      for key in Int64(1)...9 {
        try store.insert("Person", key: key, attributes: ["age": .integer(key), "team": .init("t\(key % 2)")])
      }
    }
    fixture.mappings = [
      try .make("Person", "Person", name: "All", kind: .copy),
      try .make("Person", "Person", name: "Even", kind: .copy, filter: "modulus:by:(age, 2) == 0"),
      try .make("Person", "Team", uniqueBy: ["name"], attributes: ["name": "$source.team"]),
      try .make("Empty", "Empty", kind: .copy),
    ]
    let program = try fixture.planned().0
    var association = program.associations(StatementBuilder())
    if memory == 0 { association.keySets = [] }
    return association
  }

  @Test func `contiguous keys need no lookup in the source`() throws {
    #expect(
      try association().lookup(0, key: "s.ZBOSS")
        == "(CASE WHEN s.ZBOSS BETWEEN 1 AND 9 AND s.ZBOSS = CAST(s.ZBOSS AS INTEGER) THEN s.ZBOSS END)")
  }

  @Test func `keys with holes are looked up in the source, with the filter and the offset`() throws {
    let sql = try association().lookup(1, key: "s.ZBOSS")
    #expect(sql.hasPrefix("(SELECT (a1.Z_PK + 9) FROM source.\"ZPERSON\" AS a1 WHERE a1.Z_PK = s.ZBOSS AND "), "\(sql)")
    #expect(sql.contains("a1.\"ZAGE\""), "\(sql)")
  }

  @Test func `a joined lookup has the same condition on its own table`() throws {
    var joins: [String] = []
    #expect(try association().lookup(1, key: "s.ZBOSS", joins: &joins) == "(a1.Z_PK + 9)")
    #expect(joins.count == 1 && joins[0].hasPrefix("LEFT JOIN source.\"ZPERSON\" AS a1 ON a1.Z_PK = s.ZBOSS AND "))
  }

  @Test func `lookups of unique-by objects read the spill file`() throws {
    #expect(try association().lookup(2, key: "s.Z_PK") == "godwit_lookup(2, s.Z_PK)")
  }

  @Test func `a lookup in a mapping without rows gives NULL`() throws {
    #expect(try association().lookup(3, key: "s.Z_PK") == "NULL")
  }

  @Test func `of several mappings the first one that finds an object counts`() throws {
    let association = try association()
    #expect(try association.first(of: [], key: "k") == "NULL")
    let sql = try association.first(of: [2, 0], key: "k")
    #expect(sql == "COALESCE(godwit_lookup(2, k), (CASE WHEN k BETWEEN 1 AND 9 AND k = CAST(k AS INTEGER) THEN k END))")
  }
}
