import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// The receipt of a finished job, and the findings of a comparison of a store with it.
struct ReceiptTests {
  private static let photo: AttributeDescription = {
    var attribute = AttributeDescription(name: "photo", type: .binary)
    attribute.allowsExternalBinaryDataStorage = true
    return attribute
  }()

  private static let person: EntityDescription = {
    var entity = EntityDescription.make(
      "Person", ["name": .string, "age": .integer16, "weight": .double],
      [
        .toOne("home", "Place", inverse: "people"), .toMany("friends", "Person", inverse: "friendOf"),
        .toMany("friendOf", "Person", inverse: "friends"),
      ])
    entity.attributes.append(photo)
    return entity
  }()
  private static let entities: [EntityDescription] = [
    person,
    .make("Place", ["street": .string], [.toMany("people", "Person", inverse: "home", ordered: true)]),
    .make("House", parent: "Place", ["floors": .integer16]),
  ]

  /// A job of ten people, two places and a house; the last person is filtered out.
  private static func fixture() throws -> MigrationFixture {
    let fixture = try MigrationFixture(entities, to: entities + [.make("Note", ["text": .string])])
    fixture.mappings = [
      try .make("Person", "Person", kind: .copy, filter: "age < 100"), try .make("Place", "Place", kind: .copy),
      try .make("House", "House", kind: .copy),
    ]
    try fixture.build { store in
      for key in Int64(1)...2 { try store.insert("Place", key: key, attributes: ["street": .init("s\(key)")]) }
      try store.insert("House", key: 3, attributes: ["floors": .integer(2)])
      for key in Int64(1)...10 {
        try store.insert(
          "Person", key: key,
          attributes: [
            "name": .init("p\(key)"), "age": .integer(key == 10 ? 100 : key), "weight": .double(Double(key)),
            "photo": .data([1, 2, UInt8(key)]),
          ], relationships: ["home": [key % 3 + 1], "friends": key > 1 ? [key - 1] : []])
      }
    }
    return fixture
  }

  private static func job(_ fixture: MigrationFixture) throws -> MigrationJob {
    var job = try fixture.job
    job.receipt = .besideDestination
    return job
  }

  private static func path(_ fixture: MigrationFixture) -> String { fixture.destinationPath + ".receipt.json" }

  private static func findings(_ fixture: MigrationFixture) throws -> [String] {
    try ReceiptCheck(receipt: URL(filePath: path(fixture))).run().findings.map(\.description)
  }

  private static func alter(_ fixture: MigrationFixture, _ sql: String) throws {
    let connection = try StoreConnection(path: fixture.destinationPath)
    try connection.execute(sql)
    try connection.close()
  }

  private static func exchange(_ one: String, _ other: String) -> String {
    "UPDATE Z_PRIMARYKEY SET Z_NAME = CASE Z_NAME WHEN '\(one)' THEN '\(other)' ELSE '\(one)' END WHERE Z_NAME IN ('\(one)', '\(other)')"
  }

  // MARK: The document

  @Test func `a finished run writes a receipt that follows its schema and counts what was taken and dropped`() throws {
    let fixture = try Self.fixture()
    try MigrationManager(Self.job(fixture)).run()
    let text = try String(contentsOfFile: Self.path(fixture), encoding: .utf8)
    #expect(try JSONSchema(named: "receipt.schema.json").findings(JSONValue(parsing: text)) == [])
    let receipt = try Receipt.read(Self.path(fixture))
    let people = try #require(receipt.steps.first?.mappings.first { $0.name == "PersonToPerson" })
    #expect([people.objectsIn, people.taken, people.leftOut, people.made] == [10, 9, 1, 9])
    #expect(
      receipt.steps.first?.dropped.map { "\($0.entity) \($0.objects) \($0.reason.rawValue)" } == [
        "Person 1 filtered-out"
      ])
    #expect(receipt.entities.map { "\($0.name) \($0.objects)" } == ["House 1", "Note 0", "Person 9", "Place 2"])
    #expect(
      receipt.relationships.map { "\($0.entity).\($0.name) \($0.links)" } == ["Person.friendOf 8", "Person.home 9"])
    #expect(receipt.source.digest == (try StoreFiles(path: fixture.sourcePath).contentDigest()))
    #expect(receipt.peakBytes ?? 0 > 0 && receipt.seconds ?? -1 >= 0)
    let metadata = try StoreMetadata(readingStoreAt: fixture.destinationPath)
    #expect(receipt.job.digest == metadata.applicationValues["GodwitJobs"]?.array?.last?.string)
    #expect(try Self.findings(fixture) == [])
    #expect(!FileManager.default.fileExists(atPath: WorkFolder.path(forDestination: fixture.destinationPath)))
  }

  @Test func `the version in a receipt is the command's`() throws {
    let source = try Checkout.text("Sources/GodwitCLI/Verbs/GodwitCommand.swift")
    #expect(source.contains("version = \"\(Receipt.godwitVersion)\""))
  }

  @Test func `checksums are the same whatever the chunks, the pages and the places of data are`() throws {
    let fixture = try Self.fixture()
    try MigrationManager(Self.job(fixture)).run()
    let before = try Receipt.read(Self.path(fixture))
    try Self.alter(fixture, "PRAGMA page_size = 1024")
    try Self.alter(fixture, "VACUUM")
    #expect(try Self.findings(fixture) == [])
    // The same bytes in a file of their own.
    let name = "11111111-2222-3333-4444-555555555555"
    let support = SupportFolder(ofStoreAt: fixture.destinationPath)
    try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
    try Data([1, 2, 4]).write(to: URL(filePath: support.path(of: name)))
    let hex = StoredBinary.external(name: name).bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    try Self.alter(fixture, "UPDATE ZPERSON SET ZPHOTO = x'\(hex)' WHERE Z_PK = 4")
    #expect(try Self.findings(fixture) == [])
    try Data([1, 2, 5]).write(to: URL(filePath: support.path(of: name)))
    #expect(try Self.findings(fixture).map { $0.prefix(14) } == ["value: Person:"])
    try FileManager.default.removeItem(atPath: support.path(of: name))
    #expect(try Self.findings(fixture).map { $0.prefix(14) } == ["value: Person:"])

    let other = try Self.fixture()
    other.chunkRows = 1
    try MigrationManager(Self.job(other)).run()
    let after = try Receipt.read(Self.path(other))
    #expect(after.entities.map(\.checksum) == before.entities.map(\.checksum))
    #expect(after.relationships.map(\.checksum) == before.relationships.map(\.checksum))
  }

  @Test(arguments: [
    (
      "UPDATE ZPERSON SET ZNAME = 'x' WHERE Z_PK = 3",
      ["value: Person: values of one or more of its 9 objects have changed, and not by"]
    ),
    ("UPDATE ZPERSON SET ZAGE = NULL WHERE Z_PK = 3", ["value: Person: values"]),
    ("UPDATE ZPERSON SET ZPHOTO = x'010203' WHERE Z_PK = 3", ["value: Person: values"]),
    ("UPDATE ZPERSON SET ZWEIGHT = 3.5 WHERE Z_PK = 3", ["value: Person: values"]),
    (
      "UPDATE ZPERSON SET ZNAME = CASE Z_PK WHEN 3 THEN 'p4' ELSE 'p3' END WHERE Z_PK IN (3, 4)",
      ["value: Person: values"]
    ),
    ("UPDATE ZPLACE SET ZFLOORS = 3 WHERE Z_PK = 3", ["value: House: values"]),
    (
      "UPDATE ZPERSON SET ZNAME = 'x', Z_OPT = 2 WHERE Z_PK = 3",
      ["value: Person: values of one or more of its 9 objects have changed"]
    ),
    (
      "DELETE FROM ZPLACE WHERE Z_PK = 3", ["missing object: House: 1 object is gone: it has 0, the receipt 1"]
    ),
    (
      "DELETE FROM ZPERSON WHERE Z_PK = 9",
      ["missing object: Person: 1 object is gone", "missing link: Person.home: 1 of 9 links are gone"]
    ),
    ("UPDATE ZPERSON SET ZHOME = NULL WHERE Z_PK = 3", ["missing link: Person.home: 1 of 9"]),
    (
      "UPDATE ZPERSON SET ZHOME = 3 WHERE Z_PK = 3",
      ["missing link: Person.home: one or more of its 9 links lead to another object, or the order of links"]
    ),
    (
      "UPDATE ZPERSON SET Z_FOK_HOME = 77 WHERE Z_PK = 3",
      ["missing link: Person.home: one or more of its 9 links lead to another object, or the order of links"]
    ),
    ("DELETE FROM Z_1FRIENDS WHERE rowid = 1", ["missing link: Person.friendOf: 1 of 8"]),
    ("INSERT INTO Z_1FRIENDS SELECT 1, 9", ["extra link: Person.friendOf: 1 link is new"]),
    ("INSERT INTO Z_1FRIENDS SELECT 1, 9999", ["extra link: Person.friendOf: 1 link is new, of objects"]),
    (
      "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (50, 1, 1, 'new')",
      ["extra object: Person: the application has added 1 object "]
    ),
    (
      "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZHOME) VALUES (50, 1, 1, 2)",
      ["extra object: Person: the application has added 1 object ", "extra link: Person.home: 1 link is new, of"]
    ),
    (
      "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (0, 1, 1, 'new')",
      ["extra object: Person: 1 object is new"]
    ),
    (
      exchange("House", "Place"), ["entity: House: its name and the name 'Place' in Z_PRIMARYKEY were exchanged"]
    ),
    ("UPDATE Z_METADATA SET Z_UUID = 'other'", ["metadata: .Z_UUID: the store's identifier has changed"]),
    ("UPDATE Z_PRIMARYKEY SET Z_MAX = 5 WHERE Z_NAME = 'Person'", ["counter: Person: Z_MAX is 5, less than"]),
    ("UPDATE Z_PRIMARYKEY SET Z_MAX = NULL WHERE Z_NAME = 'Person'", ["counter: Person: Z_MAX is 0, less than"]),
  ])
  func `each kind of change since the run is found and named`(sql: String, expected: [String]) throws {
    let fixture = try Self.fixture()
    try MigrationManager(Self.job(fixture)).run()
    for statement in sql.split(separator: ";") {
      let names = try Self.joinTable(fixture)
      try Self.alter(fixture, String(statement).replacing("Z_1FRIENDS", with: names))
    }
    let found = try Self.findings(fixture)
    #expect(found.count == expected.count, "\(found)")
    for (finding, part) in zip(found, expected) { #expect(finding.hasPrefix(part), "\(finding)") }
  }

  @Test(arguments: [3, 0]) func `exchanged names of entities with a table each are found, also where one is empty`(
    ponds: Int
  ) throws {
    let entities: [EntityDescription] = [.make("Fish", ["name": .string]), .make("Pond", ["name": .string])]
    let fixture = try MigrationFixture(entities, to: entities + [.make("Note", ["text": .string])])
    fixture.mappings = try entities.map { try .make($0.name, $0.name, kind: .copy) }
    try fixture.build { store in
      for key in Int64(1)...3 { try store.insert("Fish", key: key, attributes: ["name": .init("f\(key)")]) }
      for key in 0..<ponds { try store.insert("Pond", key: Int64(key) + 1, attributes: ["name": .init("p\(key)")]) }
    }
    try MigrationManager(Self.job(fixture)).run()
    #expect(try Self.findings(fixture) == [])
    try Self.alter(fixture, Self.exchange("Fish", "Pond"))
    let found = try Self.findings(fixture)
    #expect(found.count == 1, "\(found)")
    #expect(found.first?.hasPrefix("entity: Fish: its name and the name 'Pond' in Z_PRIMARYKEY") == true, "\(found)")
  }

  @Test(arguments: [
    ("UPDATE ZPERSON SET Z_OPT = 2 WHERE Z_PK = 3", "edits of Person, by their counters (Z_OPT)", Int64(1)),
    ("UPDATE Z_PRIMARYKEY SET Z_MAX = 99 WHERE Z_NAME = 'Person'", "new keys of Person, up to", 99),
    (
      "CREATE TABLE ATRANSACTION (Z_PK INTEGER); INSERT INTO ATRANSACTION VALUES (1)",
      "transactions of its history, before 0", 1
    ),
  ])
  func `what the application wrote without a change of an object is reported, and is not a finding`(
    sql: String, check: String, count: Int64
  ) throws {
    let fixture = try Self.fixture()
    try MigrationManager(Self.job(fixture)).run()
    for statement in sql.split(separator: ";") { try Self.alter(fixture, String(statement)) }
    let report = try ReceiptCheck(receipt: URL(filePath: Self.path(fixture))).run()
    #expect(report.isClean, "\(report)")
    #expect(
      report.checks.contains { $0.name == "written by the application: \(check)" && $0.count == count }, "\(report)")
  }

  @Test func `what a later system writes into the metadata when it opens a store is not a finding`() throws {
    let fixture = try Self.fixture()
    try MigrationManager(Self.job(fixture)).run()
    let connection = try StoreConnection(path: fixture.destinationPath)
    var metadata = try StoreMetadata(reading: connection, schema: "main", path: fixture.destinationPath)
    metadata.values["NSPersistenceFrameworkVersion"] = .integer(9999)
    try metadata.write(to: connection)
    try connection.close()
    #expect(try Self.findings(fixture) == [])
  }

  @Test func `a stop ends the comparison, and so does the end of its time`() throws {
    let fixture = try Self.fixture()
    try MigrationManager(Self.job(fixture)).run()
    let check = ReceiptCheck(receipt: URL(filePath: Self.path(fixture)))
    let control = MigrationControl()
    control.stop(reason: "test")
    for run in [{ try check.run(control: control) }, { try check.run(maximumSeconds: 0) }] {
      let error = #expect(throws: GodwitError.self) { try run() }
      #expect(error?.code == .stopped)
    }
  }

  private static func joinTable(_ fixture: MigrationFixture) throws -> String {
    try #require(StoreSchema(model: fixture.destination).joinTables.first).name
  }

  @Test func `a key of the metadata that the application changed is named`() throws {
    let fixture = try Self.fixture()
    try MigrationManager(Self.job(fixture)).run()
    let connection = try StoreConnection(path: fixture.destinationPath)
    var metadata = try StoreMetadata(reading: connection, schema: "main", path: fixture.destinationPath)
    metadata.values["com.example"] = .string("x")
    try metadata.write(to: connection)
    try connection.close()
    #expect(try Self.findings(fixture) == ["metadata: .com.example: the application has added the key since"])
  }

  @Test func `a receipt of another job and a file that is not a receipt are refused`() throws {
    let (fixture, other) = (try Self.fixture(), try Self.fixture())
    other.mappings.removeLast()
    for fixture in [fixture, other] { try MigrationManager(Self.job(fixture)).run() }
    func code(_ receipt: String, _ store: String?) -> GodwitError.Code? {
      do {
        _ = try ReceiptCheck(receipt: URL(filePath: receipt), destination: store.map { URL(filePath: $0) }).run()
        return nil
      } catch { return (error as? GodwitError)?.code }
    }
    #expect(code(Self.path(fixture), nil) == nil)
    #expect(code(Self.path(fixture), fixture.destinationPath) == nil)
    #expect(code(Self.path(fixture), other.destinationPath) == .dataWrong)
    #expect(code(fixture.sourcePath, fixture.destinationPath) == .dataWrong)
    #expect(code(Self.path(fixture) + "x", nil) == .missingInput)
    let moved = fixture.folder.file("moved.json")
    try FileManager.default.copyItem(atPath: Self.path(fixture), toPath: moved)
    #expect(code(moved, nil) == .missingInput)
    #expect(code(moved, fixture.destinationPath) == nil)
  }

  // MARK: Where it goes

  @Test func `the place of a receipt is checked before the run begins`() throws {
    let fixture = try Self.fixture()
    func failure(_ place: MigrationJob.ReceiptPlace) -> GodwitError.Code? {
      do {
        var job = try fixture.job
        job.receipt = place
        try MigrationManager(job).run()
        return nil
      } catch { return (error as? GodwitError)?.code }
    }
    let file = { (name: String) in MigrationJob.ReceiptPlace.file(URL(filePath: fixture.folder.file(name))) }
    try Data("mine".utf8).write(to: URL(filePath: fixture.folder.file("notes.json")))
    try FileManager.default.createSymbolicLink(
      atPath: fixture.folder.file("link.json"), withDestinationPath: fixture.folder.file("nowhere"))
    #expect(failure(file("notes.json")) == .cannotCreate)
    #expect(failure(file("link.json")) == .cannotCreate)
    #expect(failure(file("missing/receipt.json")) == .cannotCreate)
    #expect(failure(file("source.sqlite")) == .configuration)
    #expect(failure(file("out/destination.sqlite")) == .configuration)
    // The run did not begin.
    #expect(!FileManager.default.fileExists(atPath: fixture.folder.file("out")))
    #expect(try String(contentsOfFile: fixture.folder.file("notes.json"), encoding: .utf8) == "mine")
    #expect(failure(file("receipt.json")) == nil)
    #expect(FileManager.default.fileExists(atPath: fixture.folder.file("receipt.json")))
    #expect(!FileManager.default.fileExists(atPath: Self.path(fixture)))
  }

  @Test func `an earlier receipt is renamed, and a file that is not a receipt remains`() throws {
    let fixture = try Self.fixture()
    func names() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: fixture.folder.file("out")).filter { $0.contains("receipt") }
    }
    try MigrationManager(Self.job(fixture)).run()
    let first = try Receipt.read(Self.path(fixture))
    // The same job again: its own receipt is replaced.
    try FileManager.default.removeItem(atPath: fixture.destinationPath)
    try MigrationManager(Self.job(fixture)).run()
    #expect(try names() == ["destination.sqlite.receipt.json"])
    // The source has changed: the store before may have been moved away.
    try FileManager.default.removeItem(atPath: fixture.destinationPath)
    try fixture.alter("UPDATE ZPERSON SET ZNAME = 'new' WHERE Z_PK = 1")
    #expect(try MigrationManager(Self.job(fixture)).run().codedNotes.isEmpty)
    let mark = try #require(first.job.digest).prefix(12)
    #expect(try Receipt.read("\(fixture.destinationPath).\(mark).receipt.json").source.digest == first.source.digest)
    #expect(try Receipt.read(Self.path(fixture)).source.digest != first.source.digest)
    #expect(try Self.findings(fixture) == [])
    // Another mapping.
    try FileManager.default.removeItem(atPath: fixture.destinationPath)
    fixture.mappings.removeLast()
    try MigrationManager(Self.job(fixture)).run()
    #expect(try names().count == 3)
    try FileManager.default.removeItem(atPath: fixture.destinationPath)
    try Data("mine".utf8).write(to: URL(filePath: Self.path(fixture)))
    let summary = try MigrationManager(Self.job(fixture)).run()
    #expect(summary.outcome == .finished && summary.codedNotes.map(\.code) == [.receiptMissing])
    #expect(try String(contentsOfFile: Self.path(fixture), encoding: .utf8) == "mine")
    // Each run says so, until the file is gone: then the next one writes the receipt.
    let again = try MigrationManager(Self.job(fixture)).run()
    #expect(again.outcome == .alreadyFinished && again.codedNotes.map(\.code) == [.receiptMissing])
    #expect(try MigrationManager(Self.job(fixture)).status().state == .finished)
    try FileManager.default.removeItem(atPath: Self.path(fixture))
    let last = try MigrationManager(Self.job(fixture)).run()
    #expect(last.outcome == .alreadyFinished && last.codedNotes.isEmpty)
    #expect(try Self.findings(fixture) == [])
    #expect(!FileManager.default.fileExists(atPath: WorkFolder.path(forDestination: fixture.destinationPath)))
  }

  @Test func `two jobs of one manifest with one receipt keep both`() throws {
    let fixture = try Self.fixture()
    var job = try Self.job(fixture)
    job.receipt = .file(URL(filePath: fixture.folder.file("r.receipt.json")))
    for name in ["one.sqlite", "two.sqlite"] {
      job.destinationPath = fixture.folder.file("out/" + name)
      try MigrationManager(job).run()
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path).filter { $0.hasPrefix("r.") }
    let files = try names.map { try Receipt.read(fixture.folder.file($0)).destination.file }
    #expect(files.sorted() == ["one.sqlite", "two.sqlite"], "\(names)")
  }

  @Test func `the order of a many-to-many that is its own inverse counts`() throws {
    let entities: [EntityDescription] = [
      .make("Person", ["name": .string], [.toMany("friends", "Person", inverse: "friends", ordered: true)])
    ]
    let fixture = try MigrationFixture(entities, to: entities)
    try fixture.build { store in
      for key in Int64(1)...4 {
        try store.insert("Person", key: key, attributes: [:], relationships: ["friends": key > 1 ? [key - 1] : []])
      }
    }
    func sums() throws -> [StoreChecksums.Relationship] {
      try ReceiptedStore(path: fixture.sourcePath, model: fixture.source).checksums().relationships
    }
    let before = try sums()
    #expect(before.map(\.links.count) == [6])
    try fixture.alter("UPDATE Z_1FRIENDS SET Z_FOK_REFLEXIVE = Z_FOK_REFLEXIVE + 1 WHERE Z_1FRIENDS = 2")
    let after = try sums()
    #expect(after.map(\.links.count) == [6] && after.map(\.links) != before.map(\.links))
  }

  @Test func `a receipt that cannot be written beside the destination is a note, and the job is finished`() throws {
    let fixture = try Self.fixture()
    // 245 bytes are a good name, with the suffix of a receipt they are not.
    let name = String(repeating: "d", count: 238) + ".sqlite"
    var job = try Self.job(fixture)
    job.destinationPath = fixture.folder.file("out/" + name)
    let summary = try MigrationManager(job).run()
    #expect(summary.outcome == .finished && summary.codedNotes.map(\.code) == [.receiptMissing])
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder.file("out")) == [name])
    #expect(try MigrationManager(job).run().outcome == .alreadyFinished)
  }

  @Test func `a receipt that cannot be written where the manifest says is an error, and the next run writes it`() throws
  {
    let fixture = try Self.fixture()
    let path = fixture.folder.file("receipts/r.json")
    var job = try fixture.job
    job.receipt = .file(URL(filePath: path))
    try FileManager.default.createDirectory(
      atPath: fixture.folder.file("receipts"), withIntermediateDirectories: false)
    let error = #expect(throws: GodwitError.self) {
      try MigrationManager(job).run { progress in
        if progress.percent == 100 { return }
        // The place was free when the run began.
        try? Data("mine".utf8).write(to: URL(filePath: path))
      }
    }
    #expect(error?.code == .cannotCreate && error?.safe?.contains("in its place") == true)
    #expect(FileManager.default.fileExists(atPath: fixture.destinationPath))
    try FileManager.default.removeItem(atPath: path)
    #expect(try MigrationManager(job).run().outcome == .alreadyFinished)
    #expect(
      try ReceiptCheck(receipt: URL(filePath: path), destination: URL(filePath: fixture.destinationPath)).run().isClean)
    #expect(!FileManager.default.fileExists(atPath: WorkFolder.path(forDestination: fixture.destinationPath)))
    // A finished job does not check the place again.
    try Data("mine".utf8).write(to: URL(filePath: path))
    #expect(try MigrationManager(job).run().outcome == .alreadyFinished)
  }

  @Test func `the key does not belong to the job's identity`() throws {
    let fixture = try Self.fixture()
    #expect(try JobFingerprint(fixture.job) == JobFingerprint(Self.job(fixture)))
    let control = MigrationControl()
    let summary = try MigrationManager(fixture.job).run(control: control) { _ in control.stop(reason: "test") }
    try #require(summary.outcome == .stopped)
    // The run before had no receipt.
    #expect(try MigrationManager(Self.job(fixture)).run().wasResumed)
    #expect(try Receipt.read(Self.path(fixture)).steps.first?.mappings.count == 3)
    #expect(try Self.findings(fixture) == [])
  }

  // MARK: After

  @Test func `a wide table and large values give the checksums that small ones would`() throws {
    let count = 130
    let names = (0..<count).map { "a\($0)" }
    var wide = EntityDescription.make("Wide", [:], [])
    wide.attributes = names.map { AttributeDescription(name: $0, type: .integer32) }
    let thin = EntityDescription.make("Thin", ["text": .string])
    let fixture = try MigrationFixture([wide, thin], to: [wide, thin])
    fixture.mappings = [try .make("Wide", "Wide", kind: .copy), try .make("Thin", "Thin", kind: .copy)]
    let large = String(repeating: "x", count: 3 << 20)
    try fixture.build { store in
      for key in Int64(1)...20 {
        try store.insert(
          "Wide", key: key, attributes: Dictionary(uniqueKeysWithValues: names.map { ($0, .integer(key)) }))
        try store.insert("Thin", key: key, attributes: ["text": .init(key == 7 ? large : "t\(key)")])
      }
    }
    try MigrationManager(Self.job(fixture)).run()
    #expect(try Self.findings(fixture) == [])
    let receipt = try Receipt.read(Self.path(fixture))
    #expect(receipt.entities.map(\.objects) == [20, 20])
    // Without the large value the other way of reading is taken, which must count the other rows alike.
    try Self.alter(fixture, "UPDATE ZTHIN SET ZTEXT = 'x' || substr(ZTEXT, 2) WHERE Z_PK = 7")
    #expect(try Self.findings(fixture) == [])
    try Self.alter(fixture, "UPDATE ZTHIN SET ZTEXT = 'y' || substr(ZTEXT, 2) WHERE Z_PK = 7")
    #expect(try Self.findings(fixture).map { $0.prefix(12) } == ["value: Thin:"])
    try Self.alter(fixture, "UPDATE ZWIDE SET ZA129 = 5 WHERE Z_PK = 6")
    #expect(try Self.findings(fixture).map { $0.prefix(12) } == ["value: Thin:", "value: Wide:"])
  }

  @Test func `both ways of reading a table give the same sums`() throws {
    let fixture = try Self.fixture()
    try MigrationManager(fixture.job).run()
    let store = try ReceiptedStore(path: fixture.destinationPath, model: fixture.destination)
    let (fast, slow) = (try store.checksums(), try store.checksums(inPieces: true))
    #expect(fast.entities.map(\.objects) == slow.entities.map(\.objects))
    #expect(fast.relationships.map(\.links) == slow.relationships.map(\.links))
    #expect(fast.entities.contains { $0.objects.count == 9 && $0.objects.sum != 0 })
  }

  @Test func `several threads count the same sums as one`() throws {
    let entities: [EntityDescription] = [
      .make(
        "Person", ["name": .string],
        [
          .toMany("tags", "Tag", inverse: "people"), .toOne("boss", "Person", inverse: "staff"),
          .toMany("staff", "Person", inverse: "boss"),
        ]),
      .make("Tag", ["word": .string], [.toMany("people", "Person", inverse: "tags")]),
    ]
    let fixture = try MigrationFixture(entities, to: entities)
    try fixture.build { store in
      // So far apart that the table is read in parts.
      for key in Int64(-20)...100 {
        try store.insert("Tag", key: key * 5_000, attributes: ["word": .init("tag \(key)")])
        try store.insert(
          "Person", key: key * 777, attributes: ["name": .init("person \(key)")],
          relationships: ["tags": [key * 5_000], "boss": [key / 2 * 777]])
      }
    }
    func sums(_ readers: Int) throws -> StoreChecksums {
      try ReceiptedStore(path: fixture.sourcePath, model: fixture.source, readers: readers).checksums(
        limits: .init(highest: ["Person": 50_000, "Tag": 100_000], later: ["Tag": [100_001...200_000]]))
    }
    let (alone, together) = (try sums(1), try sums(4))
    #expect(alone.entities.map(\.objects) == together.entities.map(\.objects))
    #expect(alone.entities.map(\.newerObjects) == together.entities.map(\.newerObjects))
    #expect(alone.entities.map(\.laterObjects) == together.entities.map(\.laterObjects))
    #expect(alone.entities.map(\.edits) == together.entities.map(\.edits))
    #expect(alone.relationships.map(\.links) == together.relationships.map(\.links))
    #expect(alone.entities.map(\.objects.count) == [85, 41] && alone.entities.map(\.laterObjects) == [0, 20])
    // A part with an object that changes gives another sum.
    try fixture.alter("UPDATE ZPERSON SET ZNAME = 'x' WHERE Z_PK = 777")
    #expect(try sums(4).entities.map(\.objects) != alone.entities.map(\.objects))
  }

  @Test func `a receipt that a killed run left in the work folder is put in its place`() throws {
    let fixture = try Self.fixture()
    try MigrationManager(Self.job(fixture)).run()
    let data = try Data(contentsOf: URL(filePath: Self.path(fixture)))
    try FileManager.default.removeItem(atPath: Self.path(fixture))
    do {
      let folder = try WorkFolder(forDestination: fixture.destinationPath)
      try data.write(to: URL(filePath: folder.receiptPath))
    }
    #expect(try MigrationManager(Self.job(fixture)).status().state == .finished)
    #expect(try MigrationManager(Self.job(fixture)).run().outcome == .alreadyFinished)
    #expect(try Data(contentsOf: URL(filePath: Self.path(fixture))) == data)
    #expect(!FileManager.default.fileExists(atPath: WorkFolder.path(forDestination: fixture.destinationPath)))
  }

  @Test func `steps, XML and in place have receipts too`() throws {
    let fixture = try Self.fixture()
    let between = try ManagedObjectModel(name: "between", entities: Self.entities)
    var job = MigrationJob(
      name: "test", sourcePath: fixture.sourcePath, destinationPath: fixture.folder.file("out/steps.xml"),
      first: MigrationStep(
        sourceModel: fixture.source, destinationModel: between,
        mappingModels: [MappingModel(entityMappings: fixture.mappings)]),
      later: [
        MigrationStep(
          sourceModel: between, destinationModel: fixture.destination,
          mappingModels: [MappingModel(entityMappings: fixture.mappings)])
      ])
    job.destinationType = .xml
    job.receipt = .besideDestination
    try MigrationManager(job).run()
    let path = job.destinationPath + ".receipt.json"
    let receipt = try Receipt.read(path)
    #expect(receipt.steps.map(\.destinationModel) == ["between", "2"])
    #expect(receipt.steps.map { $0.mappings.reduce(0) { $0 + $1.made } } == [12, 12])
    let proof = try ReceiptCheck(receipt: URL(filePath: path)).run()
    #expect(proof.isClean, "\(proof)")
    let text = try String(contentsOfFile: job.destinationPath, encoding: .utf8)
    try text.replacing(">p3<", with: ">p7<").write(toFile: job.destinationPath, atomically: true, encoding: .utf8)
    #expect(try ReceiptCheck(receipt: URL(filePath: path)).run().findings.map(\.entity) == ["Person"])

    var inPlace = try fixture.job
    inPlace.existingDestination = .inPlace(keepsOld: true)
    inPlace.destinationPath = inPlace.sourcePath
    inPlace.receipt = .besideDestination
    try MigrationManager(inPlace).run()
    #expect(try ReceiptCheck(receipt: URL(filePath: inPlace.sourcePath + ".receipt.json")).run().isClean)
  }

  @Test func `an entity number far above the others takes no memory of that size`() throws {
    let fixture = try Self.fixture()
    try MigrationManager(Self.job(fixture)).run()
    try Self.alter(fixture, "UPDATE Z_PRIMARYKEY SET Z_ENT = 2000000000 WHERE Z_NAME = 'Note'")
    // The peak of the process includes the memory of other tests.
    let before = ProcessMemory.peakBytes
    // Numbers of entities are not content.
    #expect(try Self.findings(fixture) == [])
    #expect(ProcessMemory.peakBytes - before < 4 << 30)
  }
}
