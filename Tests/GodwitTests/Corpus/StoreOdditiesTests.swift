import Foundation
import Godwit
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Oddities of real stores that a fresh store lacks.
struct StoreOdditiesTests {
  private static let types: [String: AttributeType] = [
    "text": .string, "born": .date, "price": .decimal, "flag": .boolean, "id": .uuid, "link": .uri,
    "thing": .transformable,
  ]

  private func fixture(
    _ name: String = "Note", source: EntityDescription? = nil
  ) throws -> MigrationFixture {
    let entity = source ?? EntityDescription.make(name, Self.types, [.toOne("next", name, inverse: nil)])
    let fixture = try MigrationFixture([entity], to: [entity])
    fixture.mappings = [try .make(name, name, kind: .copy)]
    try fixture.build { store in
      for key in Int64(1)...4 { try store.insert(name, key: key, attributes: ["text": .init("n\(key)")]) }
    }
    return fixture
  }

  @Test func `a key counter of -1 is replaced by the highest key`() throws {
    let fixture = try fixture()
    try fixture.alter("UPDATE Z_PRIMARYKEY SET Z_MAX = -1")
    try fixture.run()
    #expect(try fixture.rows("SELECT Z_MAX FROM source.Z_PRIMARYKEY") == ["4"])
  }

  @Test func `an entity whose old name stays in Z_PRIMARYKEY is found by its number`() throws {
    let fixture = try fixture()
    try fixture.alter("UPDATE Z_PRIMARYKEY SET Z_NAME = 'Memo'")
    try fixture.run()
    #expect(try fixture.rows("SELECT Z_NAME, Z_MAX FROM source.Z_PRIMARYKEY") == ["Note|4"])
    #expect(try fixture.rows("SELECT COUNT(*) FROM source.ZNOTE") == ["4"])
  }

  @Test func `stale indexes and appended columns of the source make no difference`() throws {
    let fixture = try fixture()
    try fixture.alter("CREATE INDEX Z_14USERS_Z_22USERS1_INDEX ON ZNOTE (ZTEXT)")
    try fixture.alter("ALTER TABLE ZNOTE DROP COLUMN ZFLAG")
    try fixture.alter("ALTER TABLE ZNOTE ADD COLUMN ZFLAG INTEGER")
    try fixture.alter("ALTER TABLE ZNOTE ADD COLUMN ZFORGOTTEN VARCHAR")
    try fixture.alter("UPDATE ZNOTE SET ZFLAG = 1, ZFORGOTTEN = 'x'")
    try fixture.run()
    #expect(try fixture.rows("SELECT SUM(ZFLAG) FROM source.ZNOTE") == ["4"])
  }

  @Test func `dates as integers, decimals as reals and transformer bytes are kept unchanged`() throws {
    let fixture = try fixture()
    try fixture.alter("UPDATE ZNOTE SET ZBORN = 86400, ZPRICE = 10.11, ZTHING = x'627000FF', ZFLAG = 1 WHERE Z_PK = 1")
    try fixture.alter("UPDATE ZNOTE SET ZBORN = 0.5, ZPRICE = 7, ZTHING = x'', ZLINK = 'https://a.b/c' WHERE Z_PK = 2")
    try fixture.alter("UPDATE ZNOTE SET ZPRICE = 'NaN', ZID = x'000102030405060708090A0B0C0D0E0F' WHERE Z_PK = 3")
    try fixture.run()
    let columns = "typeof(ZBORN), ZBORN, typeof(ZPRICE), ZPRICE, ZTHING, ZFLAG, ZLINK, ZID"
    let source = try StoreConnection.openStore(readingAt: fixture.sourcePath)
    #expect(
      try fixture.rows("SELECT \(columns) FROM source.ZNOTE ORDER BY Z_PK")
        == source.rows("SELECT \(columns) FROM source.ZNOTE ORDER BY Z_PK").map {
          $0.map(\.plain).joined(separator: "|")
        })
    #expect(
      try fixture.rows("SELECT typeof(ZBORN), typeof(ZPRICE), typeof(ZTHING) FROM source.ZNOTE WHERE Z_PK = 1")
        == ["integer|real|blob"])
  }

  @Test func `a metadata row without property list is 65`() throws {
    let fixture = try fixture()
    try fixture.alter("UPDATE Z_METADATA SET Z_PLIST = NULL")
    let error = try #require(throws: GodwitError.self) { try StoreMetadata(readingStoreAt: fixture.sourcePath) }
    #expect(error.code == .dataWrong)
    #expect(error.message.contains("expected a property list in 'Z_PLIST', found NULL"))
    #expect(error.remedy?.contains("-wal") == true)
  }
}
