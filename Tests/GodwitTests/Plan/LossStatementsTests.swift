import Testing

@testable import GodwitEngine

/// The statements that count what was lost, read as SQL.
struct LossStatementsTests {
  @Test func `nils are counted where the source has a value`() throws {
    let losses = try StatementWorld.program().losses
    let watches = losses.nilWatches(StatementWorld.person)
    #expect(watches.map(\.attribute) == ["half"] && watches.map(\.inputs) == [[["age"]]])
    let statement = try #require(try losses.nils(StatementWorld.person, watches, predicate: nil))
    #expect(statement.sql.hasPrefix("SELECT COALESCE(SUM(d."), "\(statement.sql)")
    #expect(
      statement.sql.contains(" FROM main.\"ZPERSON\" AS d CROSS JOIN source.\"ZPERSON\" AS s ON s.Z_PK = d.Z_PK"),
      "\(statement.sql)")
    let again = try losses.nils(StatementWorld.person, watches, predicate: nil)
    #expect(again?.builder === statement.builder)
  }

  @Test func `nothing is counted where nothing can be lost`() throws {
    let losses = try StatementWorld.program().losses
    #expect(losses.nilWatches(StatementWorld.town).isEmpty)
    #expect(try losses.nils(StatementWorld.town, [], predicate: nil) == nil)
    #expect(try losses.ambiguousToOne(StatementWorld.town, predicate: nil) == nil)
  }
}
