import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// A store whose tables were rebuilt, or whose definitions are damaged, so that SQLite keeps no keys apart.
@Suite struct TableKeysTests {
  private static let photo = AttributeDescription(name: "photo", type: .binary)
  private static let join = "Z_1TAGS"

  private func entities(_ more: [String: AttributeType] = [:]) -> [EntityDescription] {
    var person = EntityDescription.make(
      "Person", ["name": .string].merging(more) { first, _ in first }, [.toMany("tags", "Tag", inverse: "people")])
    person.attributes.append(Self.photo)
    return [
      person, .make("Worker", parent: "Person", ["pay": .integer32]),
      .make("Tag", ["text": .string], [.toMany("people", "Person", inverse: "tags")]),
    ]
  }

  private func fixture() throws -> MigrationFixture {
    let fixture = try MigrationFixture(entities(), to: entities(["age": .integer32]))
    try fixture.build { store in
      for key in Int64(1)...3 { try store.insert("Tag", key: key, attributes: ["text": .init("tag \(key)")]) }
      for key in Int64(1)...9 {
        // Larger than what is read with its row.
        let photo: [UInt8] = key % 4 == 0 ? .init(repeating: UInt8(key), count: 1_200_000) : [UInt8(key)]
        try store.insert(
          key % 2 == 0 ? "Worker" : "Person", key: key, attributes: ["name": .init("\(key)"), "photo": .data(photo)],
          relationships: ["tags": [key % 3 + 1]])
      }
    }
    try fixture.infer()
    return fixture
  }

  /// A change of a store's tables.
  struct Rebuilt: Sendable, CustomTestStringConvertible {
    var table: String
    /// The text of the definition to replace, with what is in its place.
    var definition: [String]
    var statements: [String] = []
    /// Words of the error; empty where all rows still have keys.
    var words: [String] = []
    var testDescription: String { "\(definition.last ?? "") \(statements)" }

    func apply(to path: String) throws {
      let connection = try StoreConnection(path: path)
      let old = try #require(
        try connection.strings("SELECT sql FROM sqlite_master WHERE name = ?1", [.text(table)]).first)
      let sql = old.replacing(definition[0], with: definition[1])
      try #require(sql != old, "\(old)")
      try connection.execute("ALTER TABLE \(table) RENAME TO old")
      try connection.execute(sql)
      try connection.execute("INSERT INTO \(table) SELECT * FROM old")
      try connection.execute("DROP TABLE old")
      for statement in statements { try connection.execute(statement) }
      try connection.close()
    }
  }

  private static let noKey = ["Z_PK INTEGER PRIMARY KEY", "Z_PK INTEGER"]
  private static let noPair = [", PRIMARY KEY (Z_1PEOPLE, Z_3TAGS)", ""]
  private static let noNumber = ["Z_ENT INTEGER PRIMARY KEY", "Z_ENT INTEGER"]
  private static let turned = "UPDATE ZPERSON SET rowid = 100 - rowid"

  static let sound: [Rebuilt] = [
    .init(table: "ZPERSON", definition: noKey), .init(table: "ZPERSON", definition: noKey, statements: [turned]),
    .init(table: "ZPERSON", definition: ["INTEGER PRIMARY KEY", "INTEGER PRIMARY KEY DESC"], statements: [turned]),
    .init(table: "ZPERSON", definition: ["Z_PK INTEGER PRIMARY KEY", "Z_PK INT PRIMARY KEY"]),
    .init(table: "ZPERSON", definition: ["Z_ENT INTEGER", "Z_ENT"]), .init(table: join, definition: noPair),
    .init(table: "Z_PRIMARYKEY", definition: noNumber),
  ]

  static let damaged: [Rebuilt] = [
    .init(
      table: "ZPERSON", definition: noKey, statements: ["UPDATE ZPERSON SET Z_PK = NULL"],
      words: ["'ZPERSON'", "9 rows", "NULL"]),
    .init(
      table: "ZPERSON", definition: noKey, statements: ["UPDATE ZPERSON SET Z_PK = NULL WHERE Z_PK = 5"],
      words: ["'ZPERSON'", "1 row", "row 5"]),
    .init(
      table: "ZPERSON", definition: noKey, statements: ["UPDATE ZPERSON SET Z_PK = 'secret' WHERE Z_PK = 5"],
      words: ["'ZPERSON'", "row 5", "a text"]),
    .init(
      table: "ZPERSON", definition: noKey, statements: ["UPDATE ZPERSON SET Z_PK = 5.5 WHERE Z_PK = 5"],
      words: ["'ZPERSON'", "row 5", "a real number"]),
    .init(
      table: "ZPERSON", definition: noKey, statements: ["UPDATE ZPERSON SET Z_PK = 4 WHERE Z_PK = 5"],
      words: ["'ZPERSON'", "2 rows", "4"]),
    .init(table: "ZPERSON", definition: ["ZPHOTO BLOB )", "ZPHOTO BLOB ) WITHOUT ROWID"], words: ["WITHOUT ROWID"]),
    .init(
      table: join, definition: noPair, statements: ["UPDATE \(join) SET Z_3TAGS = NULL WHERE rowid = 2"],
      words: ["'\(join)'", "row 2", "'Z_3TAGS'"]),
    .init(
      table: join, definition: noPair, statements: ["UPDATE \(join) SET Z_1PEOPLE = 'secret' WHERE rowid = 2"],
      words: ["'\(join)'", "row 2", "'Z_1PEOPLE'"]),
    .init(
      table: join, definition: noPair, statements: ["UPDATE \(join) SET Z_3TAGS = 1.5 WHERE rowid = 2"],
      words: ["'\(join)'", "row 2", "'Z_3TAGS'"]),
    .init(
      table: join, definition: noPair, statements: ["INSERT INTO \(join) SELECT * FROM \(join) WHERE rowid = 3"],
      words: ["'\(join)'", "2 rows"]),
    .init(
      table: "Z_PRIMARYKEY", definition: noNumber, statements: ["UPDATE Z_PRIMARYKEY SET Z_ENT = NULL"],
      words: ["'Z_PRIMARYKEY'"]),
    .init(
      table: "Z_PRIMARYKEY", definition: noNumber,
      statements: ["UPDATE Z_PRIMARYKEY SET Z_ENT = 1 WHERE Z_NAME = 'Worker'"],
      words: ["'Person' and 'Worker'", "Z_PRIMARYKEY"]),
    .init(
      table: "Z_PRIMARYKEY", definition: noNumber,
      statements: ["UPDATE Z_PRIMARYKEY SET Z_MAX = 'secret' WHERE Z_NAME = 'Person'"], words: ["'Z_MAX'"]),
    .init(
      table: "ZPERSON", definition: ["Z_ENT INTEGER", "Z_ENT"],
      statements: ["UPDATE ZPERSON SET Z_ENT = '2' WHERE Z_PK = 4"], words: ["row 4 of ZPERSON"]),
  ]

  @Test(arguments: sound) func `a rebuilt table whose rows still have keys comes over whole, in place too`(
    change: Rebuilt
  ) throws {
    let fixture = try fixture()
    try fixture.run()
    func content() throws -> [String] {
      try fixture.rows(
        "SELECT Z_PK, Z_ENT, ZNAME, LENGTH(ZPHOTO), HEX(SUBSTR(ZPHOTO, -1)) FROM source.ZPERSON ORDER BY 1")
        + fixture.rows("SELECT * FROM source.\(Self.join) ORDER BY 1, 2")
    }
    let expected = try content()
    try #require(expected.count == 18)
    for name in ["out", "kept", "edited"] { try FileManager.default.removeItem(atPath: fixture.folder.file(name)) }
    try change.apply(to: fixture.sourcePath)
    guard change.table == "Z_PRIMARYKEY" else {
      try fixture.run()
      return #expect(try content() == expected)
    }
    // The table of entities is made anew only with the whole store.
    try MigrationManager(fixture.job).run()
    #expect(try content() == expected && Verifier(job: fixture.job).run().isClean)
    let copy = try fixture.copyOfSource("edited")
    try MigrationManager(fixture.jobInPlace(copy, keepsOld: false)).run()
    let sql = "SELECT sql FROM source.sqlite_master WHERE name = 'Z_PRIMARYKEY'"
    #expect(try StoreConnection.openStore(readingAt: copy).strings(sql).first?.contains("PRIMARY KEY") == true)
  }

  @Test(arguments: damaged) func `a table with a row that has no key of its own is 65, whatever reads it`(
    change: Rebuilt
  ) throws {
    let fixture = try fixture()
    try change.apply(to: fixture.sourcePath)
    let bytes = try Data(contentsOf: URL(filePath: fixture.sourcePath))
    var unchecked = try fixture.job
    unchecked.sourceCheck = .none
    var jobs = [try fixture.job, unchecked, fixture.jobInPlace(fixture.sourcePath, keepsOld: false)]
    jobs.append(fixture.jobInPlace(fixture.sourcePath))
    for job in jobs {
      for verb in [{ _ = try MigrationManager(job).plan() }, { _ = try MigrationManager(job).run() }] {
        let error = try #require(throws: GodwitError.self) { try verb() }
        let text = "\(error.message) \(error.cause ?? "")"
        #expect(error.code == .dataWrong && !text.contains("secret"), "\(error)")
        for word in change.words { #expect(text.contains(word), "\(text)") }
      }
    }
    #expect(try Data(contentsOf: URL(filePath: fixture.sourcePath)) == bytes)
    #expect(throws: GodwitError.self) {
      try ObjectReader(path: fixture.sourcePath, model: fixture.source).checkEntities(["Worker"])
    }
    if change.table == "ZPERSON", !change.definition[0].hasPrefix("Z_ENT") {
      #expect(try StoreSummary(readingStoreAt: fixture.sourcePath).damagedKeys.count == 1)
    }
  }

  @Test func `verify finds rows without keys in the source by itself`() throws {
    for change in Self.damaged where change.table != "Z_PRIMARYKEY" && change.definition[0].hasPrefix("Z_ENT") == false
    {
      let fixture = try fixture()
      try MigrationManager(fixture.job).run()
      try change.apply(to: fixture.sourcePath)
      guard !change.definition[1].hasSuffix("ROWID") else { continue }
      let report = try Verifier(job: fixture.job).run()
      #expect(
        report.findings.contains { $0.kind == .source && $0.message.contains("'\(change.table)'") },
        "\(change): \(report)")
    }
  }

  @Test func `a store is appended to only while SQLite keeps its keys apart`() throws {
    for change in Self.sound where change.table != "Z_PRIMARYKEY" && !change.definition[0].hasPrefix("Z_ENT") {
      let fixture = try fixture()
      try MigrationManager(fixture.job).run()
      var change = change
      if change.table == "ZPERSON" { change.statements = [] }
      try change.apply(to: fixture.destinationPath)
      try fixture.alter("UPDATE ZTAG SET ZTEXT = 'of another night'")
      var job = try fixture.job
      job.existingDestination = .append
      let error = try #require(throws: GodwitError.self) { try MigrationManager(job).run() }
      #expect(error.code == .dataWrong && error.message.contains("'\(change.table)'"), "\(error)")
    }
  }
}
