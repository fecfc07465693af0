import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// Persistent history and CloudKit mirroring: tables that no model names.
struct LeftOutTableTests {
  private static let history = [
    "CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZCHANGETYPE INTEGER, ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER, ZCOLUMNS BLOB )",
    "CREATE TABLE ATRANSACTION ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTIMESTAMP FLOAT, ZAUTHOR VARCHAR )",
    "CREATE INDEX ACHANGE_ZTRANSACTIONID_INDEX ON ACHANGE (ZTRANSACTIONID)",
    "CREATE INDEX Z_TRANSACTION_TransactionAuthorIndex ON ATRANSACTION (ZAUTHOR COLLATE BINARY ASC)",
    "INSERT INTO ATRANSACTION (Z_PK, Z_ENT) VALUES (7, 16002), (8, 16002)",
    "INSERT INTO ACHANGE (Z_PK, Z_ENT, ZTRANSACTIONID) VALUES (40, 16001, 7), (41, 16001, 8), (42, 16001, 8)",
    // One counter is ahead of its rows, one behind.
    "INSERT INTO Z_PRIMARYKEY VALUES (16001, 'CHANGE', 0, 50), (16002, 'TRANSACTION', 0, 3)",
  ]

  private static let mirror = [
    "CREATE TABLE ANSCKRECORDMETADATA ( Z_PK INTEGER PRIMARY KEY, ZENTITYPK INTEGER )",
    "INSERT INTO ANSCKRECORDMETADATA VALUES (1, 1), (2, 2)",
    "CREATE TABLE ANSCKDATABASEMETADATA ( Z_PK INTEGER PRIMARY KEY )",
    "INSERT INTO Z_PRIMARYKEY VALUES (17001, 'NSCKRecordMetadata', 0, 2)",
  ]

  private func fixture(_ statements: [String]) throws -> MigrationFixture {
    let note = EntityDescription.make("Note", ["text": .string])
    let fixture = try MigrationFixture([note], to: [note, .make("Added", ["x": .string])])
    fixture.mappings = [try .make("Note", "Note", kind: .copy)]
    try fixture.build { try $0.insert("Note", key: 1, attributes: ["text": .init("t")]) }
    for sql in statements { try fixture.alter(sql) }
    return fixture
  }

  @Test func `history tables stay, empty, with their counters`() throws {
    let fixture = try fixture(Self.history)
    #expect(
      try fixture.run().notes == [
        "persistent history is dropped: 3 rows of ACHANGE", "persistent history is dropped: 2 rows of ATRANSACTION",
      ])
    #expect(
      try fixture.rows("SELECT sql FROM source.sqlite_master WHERE tbl_name LIKE 'A%' ORDER BY name, type DESC")
        == [Self.history[0], Self.history[2], Self.history[1], Self.history[3]])
    #expect(
      try fixture.rows("SELECT (SELECT COUNT(*) FROM source.ACHANGE), (SELECT COUNT(*) FROM source.ATRANSACTION)")
        == ["0|0"])
    #expect(
      try fixture.rows("SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM source.Z_PRIMARYKEY ORDER BY 1") == [
        "1|Added|0|0", "2|Note|0|1", "16001|CHANGE|0|50", "16002|TRANSACTION|0|8",
      ])
  }

  @Test func `the verifier finds kept history rows and reset counters`() throws {
    let fixture = try fixture(Self.history)
    try fixture.run()
    let connection = try StoreConnection(path: fixture.destinationPath)
    try connection.execute("INSERT INTO ACHANGE (Z_PK) VALUES (1)")
    try connection.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = 7 WHERE Z_ENT = 16002")
    try connection.close()
    #expect(try Verifier(job: fixture.job).run().findings.map(\.kind) == [.schema, .counter])
  }

  @Test(arguments: [StoreType.xml, .binary])
  func `a store without tables lacks nothing of a history`(type: StoreType) throws {
    let fixture = try fixture(Self.history)
    var job = try fixture.job
    job.destinationType = type
    try MigrationManager(job).run()
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
  }

  @Test func `the hashes of history's own model stay with its tables`() throws {
    for isThere in [true, false] {
      let fixture = try fixture(isThere ? Self.history : [])
      let connection = try StoreConnection(path: fixture.sourcePath)
      var metadata = try StoreMetadata(reading: connection, schema: "main", path: "source")
      metadata.values[StoreMetadata.Key.ancillaryHashes] = .dictionary(["CHANGE": .data([1])])
      try metadata.write(to: connection)
      try connection.close()
      try fixture.run()
      let made = try StoreMetadata(readingStoreAt: fixture.destinationPath)
      #expect((made.values[StoreMetadata.Key.ancillaryHashes] != nil) == isThere)
    }
  }

  @Test func `a history whose tables are not Core Data's is 65`() throws {
    let fixture = try fixture(["CREATE TABLE ACHANGE (Z_PK INTEGER PRIMARY KEY, x TEXT DEFAULT 'a;b')"])
    let error = try #require(throws: GodwitError.self) { try MigrationManager(fixture.job).plan() }
    #expect(error.code == .dataWrong)
    #expect(error.message == "cannot read the persistent history: table 'ACHANGE' differs from Core Data's")
  }

  @Test func `a CloudKit-mirrored store is 65; with 'cloudkit: drop' it loses only the mirror`() throws {
    let fixture = try fixture(Self.mirror)
    let connection = try StoreConnection(path: fixture.sourcePath)
    var metadata = try StoreMetadata(reading: connection, schema: "main", path: "source")
    metadata.values["PFCloudKitMetadataModelVersion"] = .string("1")
    metadata.values["app.CloudKitUserID"] = .string("me")
    try metadata.write(to: connection)
    try connection.close()
    var job = try fixture.job
    let error = try #require(throws: GodwitError.self) { try MigrationManager(job).plan() }
    #expect(error.code == .dataWrong)
    #expect(error.remedy?.contains("`cloudkit: drop`") == true)
    job.dropsMirroring = true
    let summary = try MigrationManager(job).run()
    #expect(
      summary.notes == [
        "CloudKit mirroring is dropped: 2 rows of ANSCKRECORDMETADATA",
        "CloudKit mirroring is dropped: 0 rows of ANSCKDATABASEMETADATA",
        "CloudKit mirroring is dropped: metadata key PFCloudKitMetadataModelVersion",
      ])
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
    #expect(try fixture.rows("SELECT name FROM source.sqlite_master WHERE name LIKE 'ANSCK%'") == [])
    #expect(try fixture.rows("SELECT Z_ENT FROM source.Z_PRIMARYKEY ORDER BY 1") == ["1", "2"])
    let made = try StoreMetadata(readingStoreAt: fixture.destinationPath)
    #expect(made.values["PFCloudKitMetadataModelVersion"] == nil)
    #expect(made.values["app.CloudKitUserID"] == .string("me"))
    // Settings that decide content are part of the job's identity.
    job.dropsMirroring = false
    #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
  }
}
