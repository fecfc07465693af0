import GodwitModel
import Testing

@testable import GodwitEngine

/// The statements that say which source objects a mapping takes, read as SQL.
struct AssociationStatementsTests {
  @Test func `unique-by hands the values of each row over in the order of keys`() throws {
    let sql = try StatementWorld.program().associationStage.pairs(StatementWorld.company).sql
    #expect(sql.contains(", godwit_identity(0, s.Z_PK, "), "\(sql)")
    #expect(
      sql.hasSuffix(
        " FROM source.\"ZPERSON\" AS s NOT INDEXED WHERE s.Z_PK BETWEEN ?1 AND ?2 AND TRUE ORDER BY s.Z_PK"), "\(sql)")
  }

  @Test func `the keys that a mapping takes pass its filter`() throws {
    let sql = try StatementWorld.program().associationStage.takenKeys(StatementWorld.person, limit: 7).sql
    #expect(sql.hasPrefix("SELECT s.Z_PK FROM source.\"ZPERSON\" AS s WHERE s.Z_PK BETWEEN ?1 AND ?2 AND "), "\(sql)")
    #expect(sql.contains("17"), "\(sql)")
    #expect(sql.hasSuffix(" ORDER BY s.Z_PK LIMIT 7"), "\(sql)")
  }

  @Test func `a mapping is lowered once for all of its chunks`() throws {
    let stage = try StatementWorld.program().associationStage
    #expect(try stage.pairs(StatementWorld.company).builder === stage.pairs(StatementWorld.company).builder)
  }

  @Test func `a statement that looks up a stored association reads its spill file`() throws {
    let program = try StatementWorld.program()
    func readsSpill(_ mapping: MappingID) throws -> Bool {
      let builder = StatementBuilder()
      let association = program.associations(builder)
      _ = try association.lookup(mapping, key: "1", entity: nil)
      let read = builder.readsSpill
      _ = association.counterpart(mapping, ofRow: "s")
      #expect(builder.readsSpill == read)
      return read
    }
    #expect(try readsSpill(StatementWorld.company))
    #expect(try !readsSpill(StatementWorld.town))
  }
}
