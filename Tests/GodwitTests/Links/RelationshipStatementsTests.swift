import Testing

@testable import GodwitEngine

/// The statements of the relationship stage, read as SQL.
struct RelationshipStatementsTests {
  private func statements(_ relationship: String) throws -> [(scan: RelationshipScan, sql: String)] {
    let program = try StatementWorld.program()
    let scans = try program.relationships.scans(program.link("Person", relationship))
    return try scans.map { ($0, try program.relationships.statement($0).sql) }
  }

  @Test func `pairs of a join table are written once, however often a source names them`() throws {
    let statements = try statements("friends")
    #expect(!statements.isEmpty)
    for (scan, sql) in statements {
      guard case .pairs = scan.work else {
        Issue.record("not join rows: \(scan.work)")
        continue
      }
      #expect(sql.contains("INSERT INTO main.\"Z_2FRIENDOF\" (") || sql.contains("FRIENDOF\" ("), "\(sql)")
      #expect(sql.contains("BETWEEN ?1 AND ?2"), "\(sql)")
      #expect(sql.hasSuffix(" ON CONFLICT DO NOTHING"), "\(sql)")
    }
  }

  @Test func `assignments of a one-to-one are collected with their targets`() throws {
    let program = try StatementWorld.program()
    let link = try program.link("Person", "spouse")
    let statements = try statements("spouse")
    #expect(!statements.isEmpty)
    for (scan, sql) in statements {
      guard case .single = scan.work else {
        Issue.record("not single targets: \(scan.work)")
        continue
      }
      #expect(
        sql.hasPrefix(
          "INSERT INTO main.godwit_link_\(link) (side, mapping, turn, subject, target, inverse_position) SELECT "),
        "\(sql)")
      #expect(sql.contains(" FROM source.\"ZPERSON\" AS s WHERE s.Z_PK BETWEEN ?1 AND ?2 AND "), "\(sql)")
    }
  }

  @Test func `links that are written with their objects have no scan`() throws {
    #expect(try statements("town").isEmpty)
  }

  @Test func `a scan is lowered once for all of its chunks`() throws {
    let relationships = try StatementWorld.program().relationships
    let scan = try #require(try relationships.scans(relationships.step.link("Person", "friends")).first)
    #expect(try relationships.statement(scan).builder === relationships.statement(scan).builder)
  }
}
