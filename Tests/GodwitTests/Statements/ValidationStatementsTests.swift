import Foundation
import Testing

@testable import GodwitEngine

/// The statements that check objects, read as SQL.
struct ValidationStatementsTests {
  @Test func `the first row is found that breaks a rule, and the rule's number`() throws {
    let validation = try StatementWorld.program().validation.entity("Person")
    #expect(
      validation.rules.map(\.message) == [
        "attribute 'age' is below its minimum 0", "attribute 'name' does not match its regular expression",
      ])
    #expect(try validation.patterns.map { try $0.compiled().pattern } == ["\\A(?:[a-z]+)\\z"])
    #expect(
      validation.sql
        == "SELECT Z_PK, broken FROM (SELECT t.Z_PK, CASE WHEN t.\"ZAGE\" < 0 THEN 0 WHEN NOT godwit_matches(0, t.\"ZNAME\") THEN 1 END AS broken FROM main.\"ZPERSON\" AS t WHERE t.Z_PK BETWEEN ?1 AND ?2) WHERE broken IS NOT NULL"
    )
  }

  @Test func `another connection reads the store under another name`() throws {
    let validation = try StatementWorld.program().validation
    let (own, other) = (try validation.entity("Person"), try validation.entity("Person", database: "source"))
    #expect(other.sql == own.sql.replacing("FROM main.", with: "FROM source."))
    #expect(other.sql != own.sql)
  }

  @Test func `an entity without rules has none`() throws {
    #expect(try StatementWorld.program().validation.entity("Town").rules.isEmpty)
  }
}
