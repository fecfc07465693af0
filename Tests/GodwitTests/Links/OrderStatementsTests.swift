import Testing

@testable import GodwitEngine

/// The statements that number places, read as SQL.
struct OrderStatementsTests {
  @Test func `places of an ordered relationship are numbered within their owner`() throws {
    let rules = try StatementWorld.program().order.rules
    #expect(rules.map { "\($0.entityName).\($0.relationshipName)" } == ["Town.people"])
    #expect(
      rules.first?.sql == """
        UPDATE main."ZPERSON" AS t SET "Z_FOK_TOWN" = r.place FROM (SELECT Z_PK AS id, \
        1024 * (1 + row_number() OVER (PARTITION BY "ZTOWN" \
        ORDER BY "Z_FOK_TOWN" IS NULL, "Z_FOK_TOWN", Z_PK)) AS place FROM main."ZPERSON" \
        WHERE "ZTOWN" BETWEEN ?1 AND ?2) AS r WHERE t.Z_PK = r.id AND t."Z_FOK_TOWN" IS NOT r.place
        """)
  }
}
