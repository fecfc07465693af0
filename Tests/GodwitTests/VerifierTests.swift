import Foundation
import GodwitManifest
import GodwitModel
import TestSupport
import Testing

@testable import Godwit
@testable import GodwitJob
@testable import GodwitStore
@testable import GodwitVerifier

/// A school before: pupils in classes, with teachers, clubs and lockers.
private func before() -> [EntityDescription] {
  [
    .make("Class", ["name": .string], [.toMany("pupils", "Pupil", inverse: "class", ordered: true)]),
    .make("Club", ["name": .string], [.toMany("members", "Pupil", inverse: "clubs")]),
    .make("Locker", ["number": .integer32], [.toOne("pupil", "Pupil", inverse: "locker")]),
    .make(
      "Pupil", ["name": .string, "age": .integer16, "house": .string, "born": .date],
      [
        .toOne("class", "Class", inverse: "pupils"), .toMany("clubs", "Club", inverse: "members", ordered: true),
        .toOne("locker", "Locker", inverse: "pupil"),
      ]),
    .make("Guest", ["name": .string]),
    .make("Visit", ["day": .date]),
  ]
}

/// After: pupils of two kinds and guests in one table, houses as objects of their own.
private func after() throws -> [EntityDescription] {
  var name = AttributeDescription(name: "name", type: .string, isOptional: false)
  name.maximumLength = 40
  var born = AttributeDescription(name: "born", type: .date)
  born.minimumValue = .date(-5_000_000)
  var person = EntityDescription(name: "Person", isAbstract: true, attributes: [name, born])
  person.fetchIndexes = [
    FetchIndexDescription(
      name: "byName",
      elements: [.init(propertyName: "name", expressionText: nil, isRTree: false, isAscending: true)])
  ]
  var house = EntityDescription.make("House", ["name": .string], [.toMany("pupils", "Junior", inverse: "house")])
  house.uniquenessConstraints = [["name"]]
  var months = AttributeDescription(name: "months", type: .integer32)
  months.maximumValue = .integer(300)
  var level = AttributeDescription(name: "level", type: .string)
  level.defaultValue = .init("new")
  level.regularExpression = "[a-z]+"
  var pupil = EntityDescription(name: "Junior", superentityName: "Person", attributes: [months, level])
  pupil.relationships = [
    .toOne("class", "Class", inverse: "pupils"), .toMany("clubs", "Club", inverse: "members", ordered: true),
    .toOne("house", "House", inverse: "pupils"), .toOne("locker", "Locker", inverse: "pupil"),
  ]
  return [
    .make("Class", ["name": .string], [.toMany("pupils", "Junior", inverse: "class", ordered: true)]),
    .make("Club", ["name": .string], [.toMany("members", "Junior", inverse: "clubs")]),
    house, pupil, person,
    .make("Locker", ["number": .integer32], [.toOne("pupil", "Person", inverse: nil)]),
    .make("Senior", parent: "Junior", ["credits": .double]),
    .make("Visitor", parent: "Person", ["greeting": .string]),
  ].map { entity in
    guard entity.name == "Locker" else { return entity }
    var locker = entity
    locker.relationships = [.toOne("pupil", "Junior", inverse: "locker")]
    return locker
  }
}

private func school() throws -> MigrationFixture {
  let fixture = try MigrationFixture(before(), to: after())
  try fixture.build { store in
    for key in Int64(1)...3 {
      try store.insert("Class", key: key, attributes: ["name": .init("class \(key)")], relationships: [:])
      try store.insert("Club", key: key * 7, attributes: ["name": .init("club \(key)")], relationships: [:])
    }
    for key in Int64(1)...12 {
      try store.insert(
        "Pupil", key: key * 2,
        attributes: [
          "name": .init("pupil \(key)"), "age": key == 11 ? .null : .integer(key + 5),
          "house": key == 4 ? .null : .init("house \(key % 3)"), "born": .date(Double(key) * 100.5),
        ],
        relationships: [
          "class": [key % 3 + 1], "clubs": key % 2 == 0 ? [14, 7] : key % 3 == 0 ? [21] : [],
          "locker": key < 6 ? [key] : [],
        ])
    }
    for key in Int64(1)...6 {
      try store.insert("Locker", key: key, attributes: ["number": .integer(key)], relationships: [:])
    }
    for key in Int64(3)...8 {
      try store.insert("Guest", key: key, attributes: ["name": .init("guest \(key)")], relationships: [:])
    }
    for key in Int64(1)...5 { try store.insert("Visit", key: key, attributes: [:], relationships: [:]) }
  }
  let pupil = ["name": "$source.name", "born": "$source.born", "months": "$source.age * 12"]
  let links: [String: RelationshipMapping.Value] = [
    "class": .sourceRelationship("class"), "clubs": .sourceRelationship("clubs"),
    "house": .mapping("PupilToHouse", keyPath: []), "locker": .mapping("LockerToLocker", keyPath: ["locker"]),
  ]
  fixture.mappings = [
    try .make("Class", "Class", kind: .copy), try .make("Club", "Club", attributes: ["name": "$source.name"]),
    try .make("Locker", "Locker", kind: .copy),
    try .make("Pupil", "Junior", filter: "age < 12", attributes: pupil, relationships: links),
    try .make(
      "Pupil", "Senior", filter: "age >= 12", attributes: pupil.merging(["credits": "$source.age / 4.0"]) { a, _ in a },
      relationships: links),
    try .make("Pupil", "House", filter: "house != nil", uniqueBy: ["name"], attributes: ["name": "$source.house"]),
    try .make("Guest", "Visitor", attributes: ["name": "uppercase($source.name)", "greeting": "\"hello\""]),
  ]
  return fixture
}

@Suite struct VerifierTests {
  @Test func `a migrated store has no findings, and the report counts what was checked`() throws {
    let fixture = try school()
    try MigrationManager(fixture.job).run()
    var shares: [Double] = []
    let report = try Verifier(job: fixture.job).run { shares.append($0) }
    #expect(report.isClean, "\(report)")
    func count(_ name: String) -> Int64? { report.checks.first { $0.name == name }?.count }
    #expect(count("objects of Junior") == 6 && count("objects of Senior") == 5 && count("objects of Visitor") == 6)
    #expect(count("objects of House") == 3)
    #expect(
      count("source objects of Pupil that mappings take") == 12
        && count("source objects of Club that no filter accepts") == 0)
    #expect(count("source objects of Guest that no filter accepts") == 0)
    #expect(count("source objects dropped with entity Visit") == 5)
    #expect(count("links of Junior.class") == 11 && count("links of Junior.house") == 10)
    #expect(count("positions in Class.pupils") == 11)
    #expect(shares.first == 0 && shares.last == 1 && shares == shares.sorted())
    #expect(report.checks.allSatisfy { !$0.name.hasPrefix("not proved") }, "\(report)")
    let copy = try JSONDecoder().decode(VerificationReport.self, from: JSONEncoder().encode(report))
    #expect(copy.checks == report.checks)
  }

  struct Damage: Sendable, CustomTestStringConvertible {
    var name: String
    var sql: [String]
    var kind: VerificationReport.Finding.Kind
    var entity: String?
    var key: Int64?
    var property: String?
    /// A word of the message.
    var word = ""
    var testDescription: String { name }
  }

  static let damages: [Damage] = [
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
  ]

  @Test(arguments: damages) func `verify finds damage at its place`(damage: Damage) throws {
    let fixture = try school()
    try MigrationManager(fixture.job).run()
    guard
      case .join(let join, let club, let pupil, _) = StoreSchema(model: fixture.destination).storage(
        of: "members", in: "Club"),
      case .join(_, _, _, let order?) = StoreSchema(model: fixture.destination).storage(of: "clubs", in: "Junior"),
      case .foreignKey(_, _, let entity?, _) = StoreSchema(model: fixture.destination).storage(
        of: "pupil", in: "Locker")
    else {
      Issue.record("no join table")
      return
    }
    let connection = try StoreConnection(path: fixture.destinationPath)
    for sql in damage.sql {
      try connection.execute(
        sql.replacing("$join", with: join.name).replacing("$club", with: club).replacing("$pupil", with: pupil)
          .replacing("$order", with: order).replacing("$entity", with: entity))
      if !sql.hasPrefix("DROP"), !sql.hasPrefix("CREATE"), !sql.hasPrefix("ALTER") { #expect(connection.changes > 0) }
    }
    try connection.close()
    let report = try Verifier(job: fixture.job).run()
    #expect(
      report.findings.contains {
        $0.kind == damage.kind && (damage.entity == nil || $0.entity == damage.entity)
          && (damage.key == nil || $0.key == damage.key) && (damage.property == nil || $0.property == damage.property)
          && (damage.word.isEmpty || $0.message.contains(damage.word))
      }, "\(report)")
    #expect(report.totalFindings <= 8, "one damage makes a storm: \(report)")
    #expect(!"\(report)".contains("secret"))
  }

  @Test func `links along an ordered relationship and another one have no findings`() throws {
    let fixture = try MigrationFixture(
      [
        .make("Box", [:], [.toMany("items", "Item", inverse: "box", ordered: true)]),
        .make("Item", [:], [.toOne("box", "Box", inverse: "items"), .toOne("tag", "Tag", inverse: nil)]), .make("Tag"),
      ],
      to: [
        .make("Box", [:], [.toMany("tags", "Tag", inverse: "boxes", ordered: true)]),
        .make("Tag", [:], [.toMany("boxes", "Box", inverse: "tags")]),
      ])
    try fixture.build { store in
      for key in Int64(1)...9 { try store.insert("Tag", key: key, attributes: [:], relationships: [:]) }
      for key in Int64(1)...3 {
        try store.insert(
          "Box", key: key, attributes: [:], relationships: ["items": (0..<9).map { (9 - $0) * 3 - 3 + key }])
      }
      for key in Int64(1)...27 {
        try store.insert(
          "Item", key: key, attributes: [:], relationships: ["box": [(key - 1) % 3 + 1], "tag": [key * 5 % 9 + 1]])
      }
    }
    fixture.mappings = [
      try .make("Box", "Box", relationships: ["tags": .mapping("TagToTag", keyPath: ["items", "tag"])]),
      try .make("Tag", "Tag"),
    ]
    try fixture.run()
  }

  @Test func `a link that an object of a policy took and gave up is not called missing`() throws {
    let fixture = try MigrationFixture(
      [
        .make("Man", [:], [.toOne("dog", "Dog", inverse: "man")]),
        .make("Dog", [:], [.toOne("man", "Man", inverse: "dog")]),
        .make("Ghost"),
      ],
      to: [
        .make("Man", [:], [.toOne("dog", "Dog", inverse: "man")]),
        .make("Dog", [:], [.toOne("man", "Man", inverse: "dog")]),
      ])
    try fixture.build { store in
      for key in Int64(1)...4 {
        try store.insert("Man", key: key, attributes: [:], relationships: ["dog": [key]])
        try store.insert("Dog", key: key, attributes: [:], relationships: ["man": [key]])
      }
      try store.insert("Ghost", key: 1, attributes: [:], relationships: [:])
    }
    var taking = ClosurePolicy()
    taking.relate = { ghost, _, manager in
      guard let dog = try manager.destinationInstance(ofEntityNamed: "Dog", key: 2) else { return }
      try manager.setRelationship("dog", of: ghost, to: dog)
      try manager.setRelationship("dog", of: ghost, to: nil as ManagedObject?)
    }
    var ghost = try EntityMapping.make("Ghost", "Man")
    ghost.policyName = "Taking"
    fixture.mappings = [
      try .make("Man", "Man", relationships: ["dog": .sourceRelationship("dog")]), try .make("Dog", "Dog"), ghost,
    ]
    var job = try fixture.job
    job.policies = ["Taking": { [taking] in taking }]
    try MigrationManager(job).run()
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
    #expect(try fixture.rows("SELECT COUNT(ZDOG) FROM ZMAN") == ["3"])
    // A link that no policy can have taken is missing all the same.
    let connection = try StoreConnection(path: fixture.destinationPath)
    try connection.execute("DELETE FROM ZMAN WHERE Z_PK > 4")
    try connection.close()
    #expect(try !Verifier(job: job).run().isClean)
  }

  @Test(arguments: 1...4) func `verify has no findings for any job of the repository`(version: Int) throws {
    let folder = try TemporaryFolder()
    var mapping = try MappingModel(contentsOfYAML: PeoplizerStores.file("V\(version)toV\(version + 1).mapping.yaml"))
    let job = MigrationJob(
      name: "peoplizer", sourcePath: PeoplizerStores.path(version: version),
      destinationPath: folder.file("out.sqlite"), sourceModel: try PeoplizerStores.model(version: version),
      destinationModel: try PeoplizerStores.model(version: version + 1), mappingModels: [mapping], chunkRows: 7)
    try MigrationManager(job).run()
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
    #expect(!"\(report)".contains("not proved"))
    // The same store against another mapping: what that one says is found wanting.
    for index in mapping.entityMappings.indices {
      mapping.entityMappings[index].attributeMappings.removeAll { $0.name == "name" || $0.name == "street" }
    }
    var other = job
    other.steps[0].mappingModels = [mapping]
    #expect(try !Verifier(job: other).run().isClean)
  }

  @Test func `verify finds changed metadata key by key`() throws {
    let fixture = try school()
    try MigrationManager(fixture.job).run()
    let connection = try StoreConnection(path: fixture.destinationPath)
    var metadata = try StoreMetadata(reading: connection, schema: "main", path: "")
    var hashes = metadata.versionHashes
    hashes["Club"] = Array(repeating: 7, count: 32)
    metadata.values[StoreMetadata.Key.versionHashes] = .dictionary(hashes.mapValues { .data($0) })
    metadata.values[StoreMetadata.Key.digest] = .string("x")
    metadata.values[StoreMetadata.Key.frameworkVersion] = .integer(977)
    metadata.values[MigrationManager.jobsKey] = nil
    metadata.values["Theirs"] = .string("x")
    try metadata.write(to: connection)
    try connection.close()
    let report = try Verifier(job: fixture.job).run()
    #expect(
      report.findings.map { $0.entity ?? $0.property ?? "" } == [
        "Club", StoreMetadata.Key.frameworkVersion, StoreMetadata.Key.digest, "Theirs", MigrationManager.jobsKey,
      ])
    #expect(report.findings.allSatisfy { $0.kind == .metadata })
  }

  @Test func `verify requires the source's application keys and counters`() throws {
    let fixture = try school()
    var metadata = StoreMetadata(model: fixture.source)
    metadata.values["Mine"] = .integer(5)
    let connection = try StoreConnection(path: fixture.sourcePath)
    try metadata.write(to: connection)
    try connection.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = 500 WHERE Z_NAME = 'Pupil'")
    try connection.close()
    fixture.mappings.removeLast()
    try MigrationManager(fixture.job).run()
    #expect(try Verifier(job: fixture.job).run().isClean)
    let made = try StoreConnection(path: fixture.destinationPath)
    var changed = try StoreMetadata(reading: made, schema: "main", path: "")
    changed.values["Mine"] = nil
    try changed.write(to: made)
    try made.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = 400 WHERE Z_NAME = 'Person'")
    try made.close()
    let report = try Verifier(job: fixture.job).run()
    #expect(report.findings.map(\.kind) == [.metadata, .counter])
    #expect(report.findings.first?.property == "Mine")
  }

  @Test func `a report keeps only the first findings, and counts all`() throws {
    let entities: [EntityDescription] = [.make("Item", ["size": .integer32])]
    let fixture = try MigrationFixture(entities, to: entities)
    try fixture.build { store in
      for key in Int64(1)...250 { try store.insert("Item", key: key, attributes: ["size": .integer(key)]) }
    }
    fixture.mappings = [try .make("Item", "Item", kind: .copy)]
    try MigrationManager(fixture.job).run()
    let connection = try StoreConnection(path: fixture.destinationPath)
    try connection.execute("UPDATE ZITEM SET ZSIZE = ZSIZE + 1")
    try connection.close()
    let report = try Verifier(job: fixture.job).run()
    #expect(report.totalFindings == 250 && report.findings.count == VerificationReport.findingLimit)
    #expect("\(report)".contains("and 150 more"))
  }

  @Test func `verify counts values of now() as not proved, and proves all others`() throws {
    let fixture = try MigrationFixture(
      [.make("Item", ["size": .integer32])], to: [.make("Item", ["size": .integer32, "at": .date])])
    try fixture.build { store in try store.insert("Item", attributes: ["size": .integer(1)]) }
    fixture.mappings = [try .make("Item", "Item", attributes: ["size": "$source.size", "at": "now()"])]
    try MigrationManager(fixture.job).run()
    let report = try Verifier(job: fixture.job).run()
    #expect(report.isClean)
    #expect(report.checks.contains { $0.name == "not proved: attributes of mapping 'ItemToItem'" && $0.count == 1 })
  }

  @Test func `verify of an unfinished job is an error`() throws {
    let fixture = try school()
    let missing = try #require(throws: GodwitError.self) { _ = try Verifier(job: fixture.job).run() }
    #expect(missing.code == .missingInput)
    try fixture.run()
    try FileManager.default.createDirectory(
      atPath: fixture.destinationPath + ".godwit", withIntermediateDirectories: true)
    let unfinished = try #require(throws: GodwitError.self) { _ = try Verifier(job: fixture.job).run() }
    #expect(unfinished.code == .missingInput && unfinished.message.contains("unfinished"))
  }

  @Test func `verify changes neither store and leaves nothing beside them`() throws {
    let fixture = try school()
    try MigrationManager(fixture.job).run()
    func state() throws -> [String: Data] {
      var state: [String: Data] = [:]
      for path in [fixture.sourcePath, fixture.destinationPath] {
        let folder = (path as NSString).deletingLastPathComponent
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
          state[folder + "/" + name] = FileManager.default.contents(atPath: folder + "/" + name)
        }
      }
      return state
    }
    let earlier = try state()
    #expect(try Verifier(job: fixture.job).run().isClean)
    #expect(try state() == earlier)
  }
}
