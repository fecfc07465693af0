import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// A school before: pupils in classes, with clubs, lockers and records.
private func before() -> [EntityDescription] {
  [
    .make("Class", ["name": .string], [.toMany("pupils", "Pupil", inverse: "class", ordered: true)]),
    .make("Club", ["name": .string], [.toMany("members", "Pupil", inverse: "clubs")]),
    .make("Locker", ["number": .integer32], [.toOne("pupil", "Pupil", inverse: "locker")]),
    .make(
      "Pupil", ["name": .string, "age": .integer16, "house": .string, "born": .date],
      [
        .toOne("class", "Class", inverse: "pupils"), .toMany("clubs", "Club", inverse: "members", ordered: true),
        .toOne("locker", "Locker", inverse: "pupil"), .toMany("records", "Record", inverse: "owner"),
      ]),
    record([]), .make("Guest", ["name": .string]),
    .make("Visit", ["day": .date]),
  ]
}

/// One attribute of each type that the pupils lack.
private func record(_ more: [AttributeDescription], isOptional: Bool = true) -> EntityDescription {
  var photo = AttributeDescription(name: "photo", type: .binary)
  photo.allowsExternalBinaryDataStorage = true
  var owner = RelationshipDescription.toOne("owner", isOptional ? "Pupil" : "Junior", inverse: "records")
  owner.isOptional = isOptional
  var record = EntityDescription.make(
    "Record",
    [
      "flag": .boolean, "amount": .decimal, "ident": .uuid, "blob": .binary, "link": .uri, "ratio": .float,
      "big": .integer64, "note": .string,
    ], [owner])
  record.attributes += [photo] + more
  return record
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
  var records = RelationshipDescription.toMany("records", "Record", inverse: "owner")
  records.maxCount = 2
  pupil.relationships = [
    .toOne("class", "Class", inverse: "pupils"), .toMany("clubs", "Club", inverse: "members", ordered: true),
    .toOne("house", "House", inverse: "pupils"), .toOne("locker", "Locker", inverse: "pupil"), records,
  ]
  var plain = AttributeDescription(name: "plain", type: .string)
  plain.derivationExpression = "canonical:(note)"
  return [
    .make("Class", ["name": .string], [.toMany("pupils", "Junior", inverse: "class", ordered: true)]),
    .make("Club", ["name": .string], [.toMany("members", "Junior", inverse: "clubs")]),
    house, pupil, person, record([plain], isOptional: false),
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

enum School {
  static func fixture() throws -> MigrationFixture {
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
      for key in Int64(1)...8 { try insertRecord(key, store) }
      for key in Int64(1)...5 { try store.insert("Visit", key: key, attributes: [:], relationships: [:]) }
    }
    try addPhotos(fixture)
    let pupil = ["name": "$source.name", "born": "$source.born", "months": "$source.age * 12"]
    let links: [String: RelationshipMapping.Value] = [
      "class": .sourceRelationship("class"), "clubs": .sourceRelationship("clubs"),
      "house": .mapping("PupilToHouse", keyPath: []), "locker": .mapping("LockerToLocker", keyPath: ["locker"]),
    ]
    fixture.mappings = [
      try .make("Class", "Class", kind: .copy), try .make("Club", "Club", attributes: ["name": "$source.name"]),
      try .make("Locker", "Locker", kind: .copy), try .make("Record", "Record", kind: .copy),
      try .make("Pupil", "Junior", filter: "age < 12", attributes: pupil, relationships: links),
      try .make(
        "Pupil", "Senior", filter: "age >= 12",
        attributes: pupil.merging(["credits": "$source.age / 4.0"]) { a, _ in a },
        relationships: links),
      try .make("Pupil", "House", filter: "house != nil", uniqueBy: ["name"], attributes: ["name": "$source.house"]),
      try .make("Guest", "Visitor", attributes: ["name": "uppercase($source.name)", "greeting": "\"hello\""]),
    ]
    return fixture
  }

  /// The names of the external files of the records 1 and 2.
  static let photos = (1...2).map { "0000000\($0)-1111-2222-3333-444444444444" }

  private static func insertRecord(_ key: Int64, _ store: StoreBuilder) throws {
    try store.insert(
      "Record", key: key,
      attributes: [
        "flag": .boolean(key % 2 == 0), "amount": .decimal(Decimal(string: "\(key).25") ?? .nan),
        "ident": .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, UInt8(key)))),
        "blob": .data([UInt8(key), 0, 255]), "link": .uri(Text("https://example.com/\(key)")),
        "ratio": .double(Double(key) / 8), "big": .integer(9_007_199_254_740_993 + key),
        "note": key == 8 ? .null : .init("caf\u{E9} \(key)"), "photo": key > 2 ? .data([9, UInt8(key)]) : .null,
      ], relationships: ["owner": [(key + 1) / 2 * 2]])
  }

  /// Gives the first records photographs in files.
  private static func addPhotos(_ fixture: MigrationFixture) throws {
    let folder = SupportFolder(ofStoreAt: fixture.sourcePath)
    try FileManager.default.createDirectory(atPath: folder.dataPath, withIntermediateDirectories: true)
    let connection = try StoreConnection(path: fixture.sourcePath)
    for (index, name) in photos.enumerated() {
      try Data(repeating: UInt8(index + 1), count: 3000).write(to: URL(filePath: folder.path(of: name)))
      try connection.execute(
        "UPDATE ZRECORD SET ZPHOTO = ?1 WHERE Z_PK = ?2",
        [.blob(StoredBinary.external(name: name).bytes), .int(index + 1)])
    }
    try connection.close()
  }
}
