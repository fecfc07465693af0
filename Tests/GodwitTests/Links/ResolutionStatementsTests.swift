import GodwitJob
import Testing

@testable import GodwitEngine

/// The statements that resolve collected assignments, read as SQL.
struct ResolutionStatementsTests {
  @Test func `edges that no later assignment overrides go to the table of edges`() throws {
    let program = try StatementWorld.program()
    let link = try program.link("Person", "spouse")
    let sql = try program.resolution.statements(link)
    #expect(sql.asserted.hasPrefix("SELECT COUNT(*) FROM (SELECT DISTINCT d, x FROM ("), "\(sql.asserted)")
    #expect(
      sql.collect.hasPrefix("INSERT INTO temp.godwit_edge (d, x, dx, xd) SELECT d, x, MIN(dx), MIN(xd) FROM ("),
      "\(sql.collect)")
    #expect(sql.collect.contains("FROM godwit_link_\(link)"), "\(sql.collect)")
    #expect(sql.collect.contains("(l.mapping, l.turn) > (e.mapping, e.turn)"), "\(sql.collect)")
    #expect(sql.collect.hasSuffix(" GROUP BY d, x"), "\(sql.collect)")
  }

  @Test func `both ends of a one-to-one are stored`() throws {
    let program = try StatementWorld.program()
    let store = try program.resolution.statements(program.link("Person", "spouse")).store
    #expect(
      store == [
        "UPDATE main.\"ZPERSON\" AS t SET \"ZSPOUSEOF\" = e.x FROM temp.godwit_edge AS e WHERE t.Z_PK = e.d",
        "UPDATE main.\"ZPERSON\" AS t SET \"ZSPOUSE\" = e.d FROM temp.godwit_edge AS e WHERE t.Z_PK = e.x",
      ]
        || store == [
          "UPDATE main.\"ZPERSON\" AS t SET \"ZSPOUSE\" = e.x FROM temp.godwit_edge AS e WHERE t.Z_PK = e.d",
          "UPDATE main.\"ZPERSON\" AS t SET \"ZSPOUSEOF\" = e.d FROM temp.godwit_edge AS e WHERE t.Z_PK = e.x",
        ], "\(store)")
  }

  @Test func `one edge is stored by its own values`() throws {
    let program = try StatementWorld.program()
    for stored in try program.resolution.storeEdge(program.link("Person", "spouse")) {
      #expect(stored.row?.table == "ZPERSON")
      #expect(stored.sql.hasSuffix(stored.row?.isSecond == true ? " WHERE t.Z_PK = ?2" : " WHERE t.Z_PK = ?1"))
    }
  }
}
