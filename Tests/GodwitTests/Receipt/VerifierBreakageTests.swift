import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// A change of a finished destination, and the finding that names it.
struct Breakage: Sendable, CustomTestStringConvertible {
  var name: String
  /// With `$join` and its columns, and `$entity`, in place of names that the schema gives.
  var sql: [String] = []
  /// A change of the file itself or of those beside it.
  var files: (@Sendable (_ path: String) throws -> Void)?
  var metadata: (@Sendable (inout StoreMetadata) -> Void)?
  var kind: VerificationReport.Finding.Kind
  var entity: String?
  var key: Int64?
  var property: String?
  /// A word of the message.
  var word = ""
  var testDescription: String { name }
}

/// Each way in which a destination can be broken has its finding, at its place.
@Suite struct VerifierBreakageTests {
  /// One migration for all: a breakage is done to a copy of its destination.
  private struct Finished: Sendable {
    let folder: TemporaryFolder
    let job: MigrationJob
  }

  private static let finished = Result<Finished, any Error> {
    let fixture = try School.fixture()
    try MigrationManager(fixture.job).run()
    return Finished(folder: fixture.folder, job: try fixture.job)
  }

  @Test(arguments: breakages) func `verify names a breakage, at its place`(breakage: Breakage) throws {
    let finished = try Self.finished.get()
    let copy = try TemporaryFolder()
    var job = finished.job
    job.destinationPath = copy.file("destination.sqlite")
    let original = URL(filePath: finished.job.destinationPath).deletingLastPathComponent()
    for file in try FileManager.default.contentsOfDirectory(at: original, includingPropertiesForKeys: nil) {
      try FileManager.default.copyItem(atPath: file.path, toPath: copy.file(file.lastPathComponent))
    }
    try breakage.apply(to: job)
    let report = try Verifier(job: job).runBothWays()
    #expect(
      report.findings.contains {
        $0.kind == breakage.kind && (breakage.entity == nil || $0.entity == breakage.entity)
          && (breakage.key == nil || $0.key == breakage.key)
          && (breakage.property == nil || $0.property == breakage.property)
          && (breakage.word.isEmpty || $0.message.contains(breakage.word))
      }, "\(report)")
    #expect(report.totalFindings <= 8, "one breakage makes a storm: \(report)")
    #expect(!"\(report)".contains("secret"))
  }

  @Test func `a destination that nobody broke has no findings, and there are 60 breakages`() throws {
    let report = try Verifier(job: Self.finished.get().job).run()
    #expect(report.isClean, "\(report)")
    #expect(Self.breakages.count >= 60)
    #expect(Set(Self.breakages.map(\.name)).count == Self.breakages.count)
  }

  static let breakages: [Breakage] = [
    .init(
      name: "a changed value", sql: ["UPDATE ZPERSON SET ZNAME = 'secret' WHERE Z_PK = 6"], kind: .value,
      entity: "Junior", key: 6, property: "name"),
    .init(
      name: "a computed value off by one", sql: ["UPDATE ZPERSON SET ZMONTHS = ZMONTHS + 1 WHERE Z_PK = 4"],
      kind: .value, entity: "Junior", key: 4, property: "months"),
    .init(
      name: "a default lost", sql: ["UPDATE ZPERSON SET ZLEVEL = NULL WHERE Z_PK = 24"], kind: .value, entity: "Senior",
      key: 24, property: "level"),
    .init(
      name: "a date as text", sql: ["UPDATE ZPERSON SET ZBORN = 'x' WHERE Z_PK = 2"], kind: .value, entity: "Junior",
      key: 2, property: "born"),
    .init(
      name: "a value of another entity's column", sql: ["UPDATE ZPERSON SET ZGREETING = 'x' WHERE Z_PK = 2"],
      kind: .value, entity: "Junior", key: 2, word: "ZGREETING"),
    .init(
      name: "a lost object", sql: ["DELETE FROM ZCLUB WHERE Z_PK = 21"], kind: .missingObject, entity: "Club", key: 21),
    .init(
      name: "the last object lost", sql: ["DELETE FROM ZPERSON WHERE Z_PK = (SELECT MAX(Z_PK) FROM ZPERSON)"],
      kind: .missingObject, entity: "Visitor", key: 32),
    .init(
      name: "the first of a moved group lost", sql: ["DELETE FROM ZPERSON WHERE ZNAME = 'GUEST 3'"],
      kind: .missingObject, entity: "Visitor", key: 27),
    .init(
      name: "an extra object", sql: ["INSERT INTO ZCLASS (Z_PK, Z_ENT, Z_OPT) VALUES (0, 1, 1)"], kind: .extraObject,
      entity: "Class", key: 0),
    .init(
      name: "swapped keys", sql: ["UPDATE ZPERSON SET ZCLASS = 1 WHERE Z_PK = 4"], kind: .extraLink, entity: "Junior",
      key: 4, property: "class"),
    .init(
      name: "a lost to-one", sql: ["UPDATE ZPERSON SET ZHOUSE = NULL WHERE Z_PK = 10"], kind: .missingLink,
      entity: "Junior", key: 10, property: "house"),
    .init(
      name: "a dangling key", sql: ["UPDATE ZPERSON SET ZCLASS = 99 WHERE Z_PK = 4"], kind: .danglingLink,
      entity: "Junior", key: 4, property: "class"),
    .init(
      name: "one side of a one-to-one", sql: ["UPDATE ZLOCKER SET ZPUPIL = NULL WHERE Z_PK = 3"], kind: .missingLink,
      entity: "Locker", key: 3, property: "pupil"),
    .init(
      name: "a wrong entity column", sql: ["UPDATE ZLOCKER SET $entity = 1 WHERE Z_PK = 3"], kind: .danglingLink,
      entity: "Locker", key: 3, property: "pupil", word: "Z_ENT"),
    .init(
      name: "a wrong Z_ENT",
      sql: ["UPDATE ZPERSON SET Z_ENT = (SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'Senior') WHERE Z_PK = 4"],
      kind: .entity, entity: "Junior", key: 4),
    .init(
      name: "an abstract Z_ENT",
      sql: ["UPDATE ZPERSON SET Z_ENT = (SELECT Z_ENT FROM Z_PRIMARYKEY WHERE Z_NAME = 'Person') WHERE Z_PK = 4"],
      kind: .entity, entity: "Person", key: 4, word: "abstract"),
    .init(
      name: "an unknown Z_ENT", sql: ["UPDATE ZPERSON SET Z_ENT = 99 WHERE Z_PK = 4"], kind: .entity, entity: "Person",
      key: 4),
    .init(
      name: "Z_OPT changed", sql: ["UPDATE ZCLASS SET Z_OPT = 2 WHERE Z_PK = 2"], kind: .entity, entity: "Class",
      key: 2, word: "Z_OPT"),
    .init(
      name: "a counter too small", sql: ["UPDATE Z_PRIMARYKEY SET Z_MAX = 5 WHERE Z_NAME = 'Person'"], kind: .counter,
      entity: "Person"),
    .init(
      name: "an entity number moved", sql: ["UPDATE Z_PRIMARYKEY SET Z_NAME = 'Other' WHERE Z_NAME = 'Locker'"],
      kind: .counter, entity: "Locker"),
    .init(
      name: "a lost join row", sql: ["DELETE FROM $join WHERE rowid = (SELECT MIN(rowid) FROM $join)"],
      kind: .missingLink, entity: "Club", property: "members"),
    .init(
      name: "an extra join row", sql: ["INSERT INTO $join ($club, $pupil, $order) VALUES (21, 4, 9000)"],
      kind: .extraLink, entity: "Club", key: 21, property: "members"),
    .init(
      name: "a join row that leads nowhere", sql: ["INSERT INTO $join ($club, $pupil, $order) VALUES (21, 400, 9000)"],
      kind: .danglingLink, property: "members"),
    .init(
      name: "join order turned round", sql: ["UPDATE $join SET $order = 90000 - $order WHERE $pupil = 4"], kind: .order,
      entity: "Junior", key: 4, property: "clubs"),
    .init(
      name: "places turned round", sql: ["UPDATE ZPERSON SET Z_FOK_CLASS = 90000 - Z_FOK_CLASS WHERE ZCLASS = 2"],
      kind: .order, entity: "Class", key: 2, property: "pupils"),
    .init(
      name: "two objects in one place", sql: ["UPDATE ZPERSON SET Z_FOK_CLASS = 2048 WHERE ZCLASS = 2"], kind: .order,
      entity: "Class", key: 2, property: "pupils", word: "after"),
    .init(name: "a missing index", sql: ["DROP INDEX Z_Person_byName"], kind: .schema, word: "Z_Person_byName"),
    .init(name: "an extra column", sql: ["ALTER TABLE ZCLUB ADD COLUMN ZMORE INTEGER"], kind: .schema, word: "ZCLUB"),
    .init(
      name: "a table left behind", sql: ["CREATE TABLE godwit_chunk (id INTEGER)"], kind: .schema, word: "godwit_chunk"),
    .init(
      name: "a second row of metadata",
      sql: ["INSERT INTO Z_METADATA (Z_VERSION, Z_UUID, Z_PLIST) SELECT 2, Z_UUID, Z_PLIST FROM Z_METADATA"],
      kind: .metadata, word: "more than one row"),
    .init(
      name: "another version of the metadata", sql: ["UPDATE Z_METADATA SET Z_VERSION = 2"], kind: .metadata,
      property: "Z_VERSION"),
    .init(name: "another identifier", sql: ["UPDATE Z_METADATA SET Z_UUID = 'X'"], kind: .metadata, property: "Z_UUID"),
    .init(
      name: "keys off by one", sql: ["UPDATE ZCLUB SET Z_PK = 22 WHERE Z_PK = 21"], kind: .missingObject,
      entity: "Club", key: 21),
    .init(
      name: "a moved group off by one",
      sql: [
        "UPDATE ZPERSON SET Z_PK = Z_PK + 1000 WHERE Z_PK > 24",
        "UPDATE ZPERSON SET Z_PK = Z_PK - 999 WHERE Z_PK > 1000",
      ], kind: .counter, entity: "Person"),
    .init(
      name: "a limit broken", sql: ["UPDATE ZPERSON SET ZMONTHS = 301 WHERE Z_PK = 4"], kind: .invalid,
      entity: "Junior", key: 4, property: "months"),
    .init(
      name: "a pattern broken", sql: ["UPDATE ZPERSON SET ZLEVEL = 'NEW' WHERE Z_PK = 4"], kind: .invalid,
      entity: "Junior", key: 4, property: "level"),
    .init(
      name: "a required value lost", sql: ["UPDATE ZPERSON SET ZNAME = NULL WHERE Z_PK = 4"], kind: .invalid,
      entity: "Junior", key: 4, property: "name"),
    .init(
      name: "a duplicate under a constraint",
      sql: ["DROP INDEX Z_House_UNIQUE_name", "UPDATE ZHOUSE SET ZNAME = 'house 1'"], kind: .invalid, entity: "House",
      property: "name"),
    .init(
      name: "truth turned round", sql: ["UPDATE ZRECORD SET ZFLAG = 1 - ZFLAG WHERE Z_PK = 3"], kind: .value,
      entity: "Record", key: 3, property: "flag"),
    .init(
      name: "a truth that is neither", sql: ["UPDATE ZRECORD SET ZFLAG = 2 WHERE Z_PK = 4"], kind: .invalid,
      entity: "Record", key: 4, property: "flag"),
    .init(
      name: "a decimal off in its last place", sql: ["UPDATE ZRECORD SET ZAMOUNT = ZAMOUNT + 1e-15 WHERE Z_PK = 3"],
      kind: .value, entity: "Record", key: 3, property: "amount"),
    .init(
      name: "another identifier of an object",
      sql: ["UPDATE ZRECORD SET ZIDENT = (SELECT ZIDENT FROM ZRECORD WHERE Z_PK = 2) WHERE Z_PK = 3"], kind: .value,
      entity: "Record", key: 3, property: "ident"),
    .init(
      name: "an identifier that is too short", sql: ["UPDATE ZRECORD SET ZIDENT = substr(ZIDENT, 2) WHERE Z_PK = 3"],
      kind: .invalid, entity: "Record", key: 3, property: "ident"),
    .init(
      name: "the last byte of a blob", sql: ["UPDATE ZRECORD SET ZBLOB = x'0300fe' WHERE Z_PK = 3"], kind: .value,
      entity: "Record", key: 3, property: "blob"),
    .init(
      name: "a blob cut off", sql: ["UPDATE ZRECORD SET ZBLOB = x'0300' WHERE Z_PK = 3"], kind: .value,
      entity: "Record", key: 3, property: "blob"),
    .init(
      name: "a blob grown", sql: ["UPDATE ZRECORD SET ZBLOB = x'0300ff00' WHERE Z_PK = 3"], kind: .value,
      entity: "Record", key: 3, property: "blob"),
    .init(
      name: "a text in place of a blob", sql: ["UPDATE ZRECORD SET ZBLOB = 'secret' WHERE Z_PK = 3"], kind: .invalid,
      entity: "Record", key: 3, property: "blob"),
    .init(
      name: "an address in other letters", sql: ["UPDATE ZRECORD SET ZLINK = upper(ZLINK) WHERE Z_PK = 3"],
      kind: .value, entity: "Record", key: 3, property: "link"),
    .init(
      name: "a number lost", sql: ["UPDATE ZRECORD SET ZRATIO = NULL WHERE Z_PK = 3"], kind: .value, entity: "Record",
      key: 3, property: "ratio"),
    .init(
      name: "an empty text in place of nil", sql: ["UPDATE ZRECORD SET ZNOTE = '' WHERE Z_PK = 8"], kind: .value,
      entity: "Record", key: 8, property: "note"),
    .init(
      name: "a large number rounded",
      sql: ["UPDATE ZRECORD SET ZBIG = CAST(CAST(ZBIG AS REAL) AS INTEGER) WHERE Z_PK = 4"],
      kind: .value, entity: "Record", key: 4, property: "big"),
    .init(
      name: "a text with a space more", sql: ["UPDATE ZRECORD SET ZLINK = ZLINK || ' ' WHERE Z_PK = 3"], kind: .value,
      entity: "Record", key: 3, property: "link"),
    .init(
      name: "a text in another normal form",
      sql: ["UPDATE ZCLASS SET ZNAME = 'cla' || char(115, 0x200B) || 's 1' WHERE Z_PK = 1"], kind: .value,
      entity: "Class", key: 1, property: "name"),
    .init(
      name: "an empty text in place of another", sql: ["UPDATE ZPERSON SET ZGREETING = '' WHERE Z_PK = 27"],
      kind: .value,
      entity: "Visitor", key: 27, property: "greeting"),
    .init(
      name: "values of two objects exchanged",
      sql: ["UPDATE ZCLUB SET ZNAME = CASE Z_PK WHEN 7 THEN 'club 2' ELSE 'club 1' END WHERE Z_PK IN (7, 14)"],
      kind: .value, entity: "Club", key: 14, property: "name"),
    .init(
      name: "an object twice",
      sql: [
        "INSERT INTO ZCLUB (Z_PK, Z_ENT, Z_OPT, ZNAME) SELECT 22, Z_ENT, Z_OPT, ZNAME FROM ZCLUB WHERE Z_PK = 21",
        "UPDATE Z_PRIMARYKEY SET Z_MAX = 22 WHERE Z_NAME = 'Club'",
      ],
      kind: .extraObject, entity: "Club", key: 22),
    .init(
      name: "no Z_ENT", sql: ["UPDATE ZCLUB SET Z_ENT = NULL WHERE Z_PK = 21"], kind: .entity, entity: "Club", key: 21),
    .init(
      name: "no Z_OPT", sql: ["UPDATE ZCLUB SET Z_OPT = NULL WHERE Z_PK = 21"], kind: .entity, entity: "Club", key: 21,
      word: "Z_OPT"),
    .init(
      name: "a required to-one lost", sql: ["UPDATE ZRECORD SET ZOWNER = NULL WHERE Z_PK = 3"], kind: .invalid,
      entity: "Record", key: 3, property: "owner"),
    .init(
      name: "more objects than a to-many may have", sql: ["UPDATE ZRECORD SET ZOWNER = 2 WHERE Z_PK = 3"],
      kind: .invalid, entity: "Junior", key: 2, property: "records"),
    .init(
      name: "a to-one to an object of another entity", sql: ["UPDATE ZRECORD SET ZOWNER = 27 WHERE Z_PK = 3"],
      kind: .danglingLink, entity: "Record", key: 3, property: "owner"),
    .init(
      name: "to-ones of two objects exchanged",
      sql: ["UPDATE ZLOCKER SET ZPUPIL = CASE Z_PK WHEN 1 THEN 4 ELSE 2 END WHERE Z_PK IN (1, 2)"], kind: .extraLink,
      entity: "Locker", key: 1, property: "pupil"),
    .init(
      name: "a to-one in place of nil", sql: ["UPDATE ZPERSON SET ZHOUSE = 1 WHERE Z_PK = 8"], kind: .extraLink,
      entity: "Junior", key: 8, property: "house"),
    .init(
      name: "a key as text", sql: ["UPDATE ZPERSON SET ZCLASS = 'x' WHERE Z_PK = 4"], kind: .extraLink,
      entity: "Junior", key: 4, property: "class"),
    .init(
      name: "a place lost", sql: ["UPDATE ZPERSON SET Z_FOK_CLASS = NULL WHERE Z_PK = 4"], kind: .order,
      entity: "Class", property: "pupils", word: "not set"),
    .init(
      name: "a place in a join lost", sql: ["UPDATE $join SET $order = NULL WHERE $pupil = 4 AND $club = 7"],
      kind: .order, entity: "Junior", key: 4, property: "clubs", word: "not set"),
    .init(
      name: "a join row of another object", sql: ["UPDATE $join SET $pupil = 6 WHERE $pupil = 4 AND $club = 7"],
      kind: .missingLink, entity: "Club", key: 7, property: "members"),
    .init(
      name: "a derived value", sql: ["UPDATE ZRECORD SET ZPLAIN = 'secret' WHERE Z_PK = 3"], kind: .value,
      entity: "Record", key: 3, property: "plain"),
    .init(
      name: "no row of Z_PRIMARYKEY", sql: ["DELETE FROM Z_PRIMARYKEY WHERE Z_NAME = 'House'"], kind: .counter,
      entity: "House"),
    .init(
      name: "a row of Z_PRIMARYKEY too many",
      sql: ["INSERT INTO Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX) VALUES (77, 'Other', 0, 1)"], kind: .counter,
      word: "77"),
    .init(
      name: "a counter lost", sql: ["UPDATE Z_PRIMARYKEY SET Z_MAX = NULL WHERE Z_NAME = 'House'"], kind: .counter,
      entity: "House"),
    .init(
      name: "a parent lost", sql: ["UPDATE Z_PRIMARYKEY SET Z_SUPER = 0 WHERE Z_NAME = 'Senior'"], kind: .counter,
      entity: "Senior"),
    .init(name: "a table lost", sql: ["DROP TABLE ZLOCKER"], kind: .schema, word: "ZLOCKER"),
    .init(
      name: "an index that is not unique",
      sql: ["DROP INDEX Z_House_UNIQUE_name", "CREATE INDEX Z_House_UNIQUE_name ON ZHOUSE (ZNAME)"], kind: .schema,
      word: "Z_House_UNIQUE_name"),
    .init(name: "an index too many", sql: ["CREATE INDEX mine ON ZHOUSE (ZNAME)"], kind: .schema, word: "mine"),
    .init(
      name: "a trigger too many",
      sql: ["CREATE TRIGGER mine AFTER INSERT ON ZHOUSE BEGIN UPDATE ZHOUSE SET ZNAME = 'x'; END"], kind: .schema,
      word: "mine"),
    .init(name: "a view too many", sql: ["CREATE VIEW mine AS SELECT 1"], kind: .schema, word: "mine"),
    .init(
      name: "bytes of an external file",
      files: { path in
        try Data(repeating: 9, count: 3000).write(
          to: URL(filePath: SupportFolder(ofStoreAt: path).path(of: School.photos[0])))
      }, kind: .value, entity: "Record", key: 1, property: "photo"),
    .init(
      name: "an external file cut off",
      files: { path in
        try Data(repeating: 1, count: 2999).write(
          to: URL(filePath: SupportFolder(ofStoreAt: path).path(of: School.photos[0])))
      }, kind: .value, entity: "Record", key: 1, property: "photo"),
    .init(
      name: "an external file lost",
      files: { try FileManager.default.removeItem(atPath: SupportFolder(ofStoreAt: $0).path(of: School.photos[1])) },
      kind: .value, entity: "Record", key: 2, property: "photo", word: "missing"),
    .init(
      name: "an external file too many",
      files: { try Data([1]).write(to: URL(filePath: SupportFolder(ofStoreAt: $0).path(of: "other"))) }, kind: .file,
      word: "other"),
    .init(
      name: "the external file of another object",
      sql: ["UPDATE ZRECORD SET ZPHOTO = (SELECT ZPHOTO FROM ZRECORD WHERE Z_PK = 2) WHERE Z_PK = 1"], kind: .value,
      entity: "Record", key: 1, property: "photo"),
    .init(
      name: "bytes of data that lie in the row", sql: ["UPDATE ZRECORD SET ZPHOTO = x'010908' WHERE Z_PK = 3"],
      kind: .value, entity: "Record", key: 3, property: "photo"),
    .init(
      name: "a list of free pages that is none",
      files: { path in
        let file = try FileHandle(forUpdating: URL(filePath: path))
        try file.seek(toOffset: 36)
        try file.write(contentsOf: Data([0, 0, 0, 5]))
        try file.close()
      }, kind: .file),
    .init(
      name: "an entry of an index changed", files: { try changeIndex("Z_House_UNIQUE_name", "house 1", "house A", $0) },
      kind: .file, word: "Z_House_UNIQUE_name"),
    .init(
      name: "entries of an index exchanged",
      files: {
        try changeIndex("Z_House_UNIQUE_name", "house 0", "house X", $0)
        try changeIndex("Z_House_UNIQUE_name", "house 1", "house 0", $0)
        try changeIndex("Z_House_UNIQUE_name", "house X", "house 1", $0)
      }, kind: .file, word: "Z_House_UNIQUE_name"),
    .init(
      name: "a version hash", metadata: { $0.values[StoreMetadata.Key.digest] = .string("x") }, kind: .metadata,
      property: StoreMetadata.Key.digest),
    .init(
      name: "a key of an application too many", metadata: { $0.values["Theirs"] = .string("x") }, kind: .metadata,
      property: "Theirs"),
    .init(
      name: "the name of the job", metadata: { $0.values[MigrationManager.jobsKey] = nil }, kind: .metadata,
      property: MigrationManager.jobsKey),
  ]
}

/// Changes a text in the first page of an index, and not in its table.
private func changeIndex(_ name: String, _ old: String, _ new: String, _ path: String) throws {
  let connection = try StoreConnection(path: path)
  let page = try #require(
    try connection.integer("SELECT rootpage FROM sqlite_master WHERE name = ?1", [.text(name)]))
  let size = try #require(try connection.integer("PRAGMA page_size"))
  try connection.close()
  var file = try Data(contentsOf: URL(filePath: path))
  let place = try #require(
    file.range(of: Data(old.utf8), in: Int((page - 1) * size)..<Int(page * size)), "no such entry")
  file.replaceSubrange(place, with: Data(new.utf8))
  try file.write(to: URL(filePath: path))
}

extension Breakage {
  func apply(to job: MigrationJob) throws {
    let schema = StoreSchema(model: job.destinationModel)
    guard case .join(let join, let club, let pupil, _) = schema.storage(of: "members", in: "Club"),
      case .join(_, _, _, let order?) = schema.storage(of: "clubs", in: "Junior"),
      case .foreignKey(_, _, let entity?, _) = schema.storage(of: "pupil", in: "Locker")
    else {
      Issue.record("no join table")
      return
    }
    try files?(job.destinationPath)
    guard !sql.isEmpty || metadata != nil else { return }
    let connection = try StoreConnection(path: job.destinationPath)
    for sql in sql {
      try connection.execute(
        sql.replacing("$join", with: join.name).replacing("$club", with: club).replacing("$pupil", with: pupil)
          .replacing("$order", with: order).replacing("$entity", with: entity))
      if !sql.hasPrefix("DROP"), !sql.hasPrefix("CREATE"), !sql.hasPrefix("ALTER") { #expect(connection.changes > 0) }
    }
    if let metadata {
      var changed = try StoreMetadata(reading: connection, schema: "main", path: "")
      metadata(&changed)
      try changed.write(to: connection)
    }
    try connection.close()
  }
}
