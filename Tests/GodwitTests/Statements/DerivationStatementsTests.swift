import Testing

@testable import GodwitEngine

/// The statements that compute derived attributes, read as SQL.
struct DerivationStatementsTests {
  @Test func `a derived attribute is computed from the row, for a range of keys`() throws {
    let rules = try StatementWorld.program().derivation.rules()
    #expect(rules.map(\.entityName) == ["Person"])
    let sql = try #require(rules.first).statement.sql
    #expect(sql.hasPrefix("UPDATE main.\"ZPERSON\" AS t SET \"ZSORTED\" = godwit_fit(godwit_derive("), "\(sql)")
    #expect(sql.contains(", t.\"ZNAME\")"), "\(sql)")
    #expect(sql.hasSuffix(" WHERE t.Z_PK BETWEEN ?1 AND ?2"), "\(sql)")
  }

  @Test func `rules are lowered once`() throws {
    let derivation = try StatementWorld.program().derivation
    #expect(try derivation.rules().first?.statement.builder === derivation.rules().first?.statement.builder)
  }
}
