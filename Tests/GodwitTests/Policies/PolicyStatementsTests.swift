import GodwitJob
import GodwitModel
import Testing

@testable import GodwitEngine

/// The statements that a policy's hooks run, read as SQL.
struct PolicyStatementsTests {
  @Test func `a page of source objects has the columns asked for, then the mapping's values`() throws {
    let policy = try StatementWorld.program().policy
    let bare = try policy.policyPage(StatementWorld.town, columns: "s.Z_PK", isPrepared: false, limit: 3)
    #expect(
      bare.statement.sql.hasPrefix("SELECT s.Z_PK FROM source.\"ZTOWN\" AS s WHERE s.Z_PK BETWEEN ?1 AND ?2 AND "))
    #expect(bare.statement.sql.hasSuffix(" ORDER BY s.Z_PK LIMIT 3"), "\(bare.statement.sql)")
    let prepared = try policy.policyPage(StatementWorld.town, columns: "s.Z_PK", isPrepared: true, limit: 3)
    #expect(prepared.statement.sql.contains("\"ZNAME\""), "\(prepared.statement.sql)")
    #expect(prepared.keyColumns == [])
  }

  @Test func `what an object leads to comes in the order of its places`() throws {
    let program = try StatementWorld.program()
    let link = try program.link("Person", "spouse")
    let sql = program.policy.related(link, from: .first)
    #expect(sql.hasPrefix("SELECT x AS other, MIN(dx) FROM ("), "\(sql)")
    #expect(sql.contains("target IS NOT NULL AND subject = ?1"), "\(sql)")
    #expect(sql.hasSuffix(" GROUP BY 1 ORDER BY 2, 1"), "\(sql)")
  }

  @Test func `a link that is written with its objects can be taken from them`() throws {
    let program = try StatementWorld.program()
    let links = program.links.ids.filter { program.links[$0].inlineEnd != nil }
    for link in links {
      let sql = try #require(program.policy.clearing(link))
      #expect(sql.hasPrefix("UPDATE main.") && sql.contains(" = NULL"), "\(sql)")
    }
  }
}
