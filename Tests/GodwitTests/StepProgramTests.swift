import GodwitModel
import TestSupport
import Testing

@testable import GodwitEngine
@testable import GodwitJob
@testable import GodwitLowering
@testable import GodwitStore

/// The statements of each stage, read as SQL.
struct StepProgramTests {
  private func program() throws -> StepProgram {
    let town = EntityDescription.make("Town", ["name": .string], [.toMany("people", "Person", inverse: "town")])
    var age = AttributeDescription(name: "age", type: .integer16)
    age.minimumValue = .integer(0)
    var person = EntityDescription.make(
      "Person", ["name": .string],
      [
        .toOne("town", "Town", inverse: "people"), .toMany("friends", "Person", inverse: "friendOf"),
        .toMany("friendOf", "Person", inverse: "friends"),
      ])
    person.attributes.append(age)
    let fixture = try MigrationFixture([town, person], to: [town, person])
    try fixture.build { store in
      for key in Int64(1)...3 { try store.insert("Town", key: key) }
      for key in Int64(1)...8 {
        try store.insert("Person", key: key, relationships: ["town": [key % 3 + 1], "friends": [key % 8 + 1]])
      }
    }
    fixture.mappings = [
      try .make("Town", "Town", kind: .copy),
      try .make(
        "Person", "Person", filter: "age > 17",
        attributes: ["name": "$source.name", "age": "$source.age + 1"],
        relationships: ["town": .sourceRelationship("town"), "friends": .sourceRelationship("friends")]),
    ]
    return try fixture.planned().0
  }

  @Test func `create takes the rows of its key range in the order of their keys`() throws {
    let program = try program()
    let sql = try program.create(0, predicate: nil).sql
    #expect(sql.hasPrefix("INSERT INTO main.\"ZTOWN\" (\"Z_PK\", \"Z_ENT\", \"Z_OPT\", \"ZNAME\") SELECT "), "\(sql)")
    #expect(sql.contains(" FROM source.\"ZTOWN\" AS s WHERE s.Z_PK BETWEEN ?1 AND ?2 AND "), "\(sql)")
    #expect(sql.hasSuffix(" ORDER BY s.Z_PK"), "\(sql)")
  }

  @Test func `create reads every value through a test of its type, and the filter is part of the condition`() throws {
    let statement = try program().create(1, predicate: nil)
    let (before, after) = try #require(statement.sql.splitOnce(" WHERE "))
    #expect(before.contains("godwit_row("), "\(before)")
    #expect(before.contains("s.\"ZAGE\""), "\(before)")
    #expect(after.contains("s.\"ZAGE\"") && after.contains("17"), "\(after)")
    #expect(statement.reasons == [])
  }

  @Test func `relate writes pairs of a join table once, however often a source names them`() throws {
    let program = try program()
    let index = try #require(
      program.links.indices.first { index in
        (try? program.relateJobs(index).contains { if case .pairs = $0.work { true } else { false } }) == true
      })
    for job in try program.relateJobs(index) {
      let sql = try program.relate(job).sql
      #expect(sql.contains("INSERT INTO main.\"Z_1FRIENDOF\" ("), "\(sql)")
      #expect(sql.contains("BETWEEN ?1 AND ?2"), "\(sql)")
      #expect(sql.contains(" ON CONFLICT DO NOTHING"), "\(sql)")
    }
  }

  @Test func `validate finds the rows that break a rule of their entity`() throws {
    let program = try program()
    var patterns: [String] = []
    let rules = program.validationRules(of: "Person", patterns: &patterns)
    let sql = try program.validate(entity: "Person", rules: rules)
    #expect(sql.contains("FROM main.\"ZPERSON\""), "\(sql)")
    #expect(sql.contains("\"ZAGE\"") && sql.contains("BETWEEN ?1 AND ?2"), "\(sql)")
  }

  @Test func `without links that can displace each other there is no table of assignments`() throws {
    #expect(try program().scratchStatements == [])
  }
}

extension String {
  /// What stands before and after the first `mark`.
  fileprivate func splitOnce(_ mark: String) -> (String, String)? {
    guard let range = firstRange(of: mark) else { return nil }
    return (String(self[..<range.lowerBound]), String(self[range.upperBound...]))
  }
}
