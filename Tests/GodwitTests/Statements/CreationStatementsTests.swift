import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitEngine

/// The statements that make objects, read as SQL.
struct CreationStatementsTests {
  @Test func `objects are made of the rows of a key range in the order of their keys`() throws {
    let sql = try StatementWorld.program().creation.statement(StatementWorld.town, predicate: nil).sql
    #expect(sql.hasPrefix("INSERT INTO main.\"ZTOWN\" (\"Z_PK\", \"Z_ENT\", \"Z_OPT\", \"ZNAME\") SELECT "), "\(sql)")
    #expect(sql.contains(" FROM source.\"ZTOWN\" AS s WHERE s.Z_PK BETWEEN ?1 AND ?2 AND "), "\(sql)")
    #expect(sql.hasSuffix(" ORDER BY s.Z_PK"), "\(sql)")
  }

  @Test func `every value is read through a test of its type, and the filter is part of the condition`() throws {
    let statement = try StatementWorld.program().creation.statement(StatementWorld.person, predicate: nil)
    let parts = statement.sql.components(separatedBy: " WHERE ")
    let (before, after) = (parts[0], try #require(parts.last))
    #expect(before.contains("godwit_row("), "\(before)")
    #expect(before.contains("s.\"ZAGE\""), "\(before)")
    #expect(after.contains("s.\"ZAGE\"") && after.contains("17"), "\(after)")
    #expect(statement.reasons == [])
  }

  @Test func `objects of unique-by are made of the rows that its table lists`() throws {
    let sql = try StatementWorld.program().creation.statement(StatementWorld.company, predicate: nil).sql
    #expect(
      sql.contains(
        " FROM main.godwit_unique_2 AS u CROSS JOIN source.\"ZPERSON\" AS s ON s.Z_PK = u.source WHERE u.source BETWEEN ?1 AND ?2"
      ), "\(sql)")
    #expect(sql.hasSuffix(" ORDER BY u.source"), "\(sql)")
  }

  @Test func `a predicate of the user's joins the condition, and keys narrow no part of the table`() throws {
    let creation = try StatementWorld.program().creation
    let predicate = try FilterPredicate("age < 25")
    let whole = try creation.statement(StatementWorld.person, predicate: predicate).sql
    #expect(whole.contains("< 25"), "\(whole)")
    let part = try creation.statement(StatementWorld.person, predicate: predicate, isPart: true).sql
    #expect(part.contains(" WHERE s.Z_PK BETWEEN ?1 AND ?2"), "\(part)")
  }

  @Test func `a value that is left out is NULL`() throws {
    let creation = try StatementWorld.program().creation
    let sql = try creation.statement(StatementWorld.town, predicate: nil, leavingOut: ["name"]).sql
    #expect(sql.contains("NULL FROM source.\"ZTOWN\" AS s"), "\(sql)")
  }

  @Test func `a mapping is lowered once for all of its chunks`() throws {
    let creation = try StatementWorld.program().creation
    let first = try creation.statement(StatementWorld.person, predicate: nil)
    let second = try creation.statement(StatementWorld.person, predicate: nil)
    #expect(first.builder === second.builder)
    let other = try creation.statement(StatementWorld.person, predicate: try FilterPredicate("age < 25"))
    #expect(first.builder !== other.builder && first.sql != other.sql)
  }

  @Test func `a change of the links that objects are written with lowers again`() throws {
    var program = try StatementWorld.program()
    let before = try program.creation.statement(StatementWorld.person, predicate: nil)
    let unchanged = program
    program.inlineLinks = [0]
    #expect(try program.creation.statement(StatementWorld.person, predicate: nil).builder !== before.builder)
    program.computedAssociations = [0]
    #expect(try unchanged.creation.statement(StatementWorld.person, predicate: nil).builder === before.builder)
  }
}
