import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitStore

private func open(_ objects: [BinaryMapNode], metadata: [String: Any] = [:]) throws -> StoreConnection {
  let folder = try TemporaryFolder()
  let path = folder.file("store.binary")
  try HandwrittenBinaryStore(objects: objects, metadata: metadata).write(to: path)
  let connection = try StoreConnection.openStore(readingAt: path, model: BinaryPets.model())
  #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["store.binary"])
  return connection
}

@Suite struct BinaryStoreTests {
  // MARK: Reading

  @Test func `values of a binary store that Foundation archived are read by attribute`() throws {
    let id = try #require(UUID(uuidString: "343C8D7F-A000-42C4-8463-43FA1E5EF3FB"))
    let whole = BinaryPets.person(
      102, " A <b>\r\n\u{1F600}\u{E9}" as NSString,
      change: [
        0: Date(timeIntervalSinceReferenceDate: 336046917.001642) as NSDate, 3: NSNumber(value: 1.5),
        4: try #require(NSURL(string: "https://example.org/?a=1")), 5: id as NSUUID, 6: NSNumber(value: true),
        7: Data([1, 2, 3]) as NSData, 8: NSNumber(value: -7), 9: NSDecimalNumber(string: "-10.11"),
      ])
    let employee = BinaryPets.person(
      7, "$null" as NSString, entity: "Employee", more: [NSNumber(value: Int64.min), NSNumber(value: 0.1)])
    let connection = try open([whole, employee])
    let found = try connection.rows(
      "SELECT Z_PK, Z_ENT, ZFULLNAME, ZBORN, ZHEIGHT, ZHOME, hex(ZID), ZISTALL, hex(ZPHOTO), ZSHOESIZE, ZWAGE, ZBADGE, ZZEAL FROM source.ZPERSON ORDER BY 1"
    )
    #expect(
      found[1] == [
        .int(102), found[1][1], .text(" A <b>\r\n\u{1F600}\u{E9}"), .real(336046917.001642), .real(1.5),
        .text("https://example.org/?a=1"), .text("343C8D7FA00042C4846343FA1E5EF3FB"), .int(1), .text("010203"),
        .int(-7), .real(-10.11), .null, .null,
      ])
    #expect(found[0][0] == .int(7) && found[0][1] != found[1][1])
    #expect(found[0][3...10] == [.null, .null, .null, .text(""), .null, .text(""), .null, .null])
    #expect(found[0][11...] == [.integer(.min), .real(0.1)])
    #expect(
      try connection.rows("SELECT DISTINCT Z_MAX FROM source.Z_PRIMARYKEY WHERE Z_SUPER = 0 AND Z_NAME != 'Ghost'")
        == [[.int(500)]])
    #expect(try connection.value("PRAGMA source.integrity_check") == .text("ok"))
  }

  @Test func `one side of a relationship is enough, order is kept, and metadata are read`() throws {
    let connection = try open(
      [
        BinaryPets.person(1, pets: [9, 3, 5]), BinaryPets.pet(3, owner: 1), BinaryPets.pet(5),
        BinaryPets.pet(9, owner: 1), BinaryPets.pet(4, owner: 1),
      ],
      metadata: ["NSPersistenceFrameworkVersion": 849, "own": ["a": [Date(timeIntervalSinceReferenceDate: 1), true]]])
    #expect(
      try connection.rows("SELECT Z_PK, ZOWNER, Z_FOK_OWNER FROM source.ZPET ORDER BY 3") == [
        [.int(9), .int(1), .int(2048)], [.int(3), .int(1), .int(3072)], [.int(5), .int(1), .int(4096)],
        [.int(4), .int(1), .int(5120)],
      ])
    let metadata = try StoreMetadata(reading: connection, path: "x")
    #expect(metadata.uuid == "343C8D7F-A000-42C4-8463-43FA1E5EF3FB" && metadata.frameworkVersion == 849)
    #expect(metadata.values["NSStoreType"] == .string("Binary") && metadata.values["NSStoreUUID"] == nil)
    let list = metadata.values["own"]?.dictionary?["a"]?.array
    #expect(list?.first == .date(1) && list?.count == 2)
  }

  @Test func `a summary and raw tables need no model`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a")
    try HandwrittenBinaryStore(
      objects: [BinaryPets.person(1, "x" as NSString, pets: [2]), BinaryPets.pet(2, owner: 1), BinaryPets.person(3)],
      metadata: ["NSStoreModelVersionHashes": ["Ghost": Data([1])], "mine": 1]
    ).write(to: path)
    let summary = try StoreSummary(readingStoreAt: path)
    #expect(summary.type == .binary && summary.applicationKeys == ["mine"])
    #expect(summary.entities.map(\.name) == ["Ghost", "Person", "Pet"] && summary.entities.map(\.rows) == [0, 2, 1])
    let tables = try AtomicTables.open(StoreFiles(path: path))
    #expect(
      try tables.rows("SELECT id, value2, pets FROM source.Person ORDER BY id") == [
        [.text("1"), .text("x"), .text("2")], [.text("3"), .null, .null],
      ])
  }

  private static let damaged: [(name: String, objects: [BinaryMapNode], message: String)] = [
    ("unknown entity", [BinaryMapNode(entity: "Persons", key: 1, values: [], related: [:])], "did you mean 'Person'"),
    (
      "too few values", [BinaryMapNode(entity: "Person", key: 1, values: [NSNull()], related: [:])],
      "expected 11 values"
    ),
    ("a value too much", [BinaryPets.person(1, more: [NSNull()])], "expected 11 values"),
    ("a relationship's value", [BinaryMapNode(entity: "Pet", key: 1, values: [1], related: [:])], "expected nil after"),
    ("number as text", [BinaryPets.person(1, 5)], "expected String as attribute 'fullName', found a number"),
    ("text as date", [BinaryPets.person(1, change: [0: "x"])], "expected Date as attribute 'born', found a text"),
    ("range", [BinaryPets.person(1, change: [8: 40_000])], "expected Integer 16 as attribute 'shoeSize'"),
    ("fraction", [BinaryPets.person(1, change: [8: 1.5])], "expected Integer 16 as attribute 'shoeSize'"),
    ("class", [BinaryPets.person(1, change: [5: BinaryColour(name: "x")])], "found an object of the class 'NSColor'"),
    ("not a number", [BinaryPets.person(1, change: [3: Double.nan])], "expected Float"),
    ("zero as key", [BinaryPets.person(0)], "expected a positive key"),
    ("dangling", [BinaryPets.pet(1, owner: 99)], "names 99, which no object has"),
    (
      "wrong entity", [BinaryPets.pet(1, owner: 2), BinaryPets.pet(2)],
      "names 2, which is not an object of entity 'Person'"
    ),
    ("dangling to-many", [BinaryPets.person(1, pets: [99])], "names 99, which no object has"),
    (
      "two owners", [BinaryPets.person(1, pets: [3]), BinaryPets.person(2, pets: [3]), BinaryPets.pet(3)],
      "belongs to another one"
    ),
    ("named twice", [BinaryPets.person(1, pets: [3, 3]), BinaryPets.pet(3)], "names 3 twice"),
    (
      "to-one of two",
      [
        BinaryMapNode(entity: "Pet", key: 1, values: [NSNull()], related: ["owner": [2, 3]]), BinaryPets.person(2),
        BinaryPets.person(3),
      ], "names 2 objects"
    ),
    (
      "unknown relationship", [BinaryMapNode(entity: "Pet", key: 1, values: [NSNull()], related: ["x": [1]])],
      "no relationship 'x'"
    ),
    ("abstract entity", [BinaryMapNode(entity: "Ghost", key: 1, values: [], related: [:])], "it is abstract"),
  ]

  @Test(arguments: damaged.map(\.name))
  func `a binary store that does not fit its model is refused with its object`(name: String) throws {
    let example = try #require(Self.damaged.first { $0.name == name })
    let error = try #require(throws: GodwitError.self) { try open(example.objects) }
    #expect(error.code == .dataWrong, "\(error)")
    #expect(error.message.contains(example.message), "\(error)")
    #expect(error.context?.contains("object ") == true, "\(error)")
  }

  @Test func `a composite attribute is refused before anything is read`() throws {
    let folder = try TemporaryFolder()
    try HandwrittenBinaryStore(objects: []).write(to: folder.file("a"))
    var entity = EntityDescription(name: "A")
    entity.attributes = [.composite("c", [.init(name: "x", type: .string)])]
    let model = try ManagedObjectModel(name: "M", entities: [entity])
    let error = try #require(throws: GodwitError.self) {
      try StoreConnection.openStore(readingAt: folder.file("a"), model: model)
    }
    #expect(error.code == .configuration && error.message.contains("'A.c'"))
  }

  // MARK: Transformable values

  @Test func `the objects of a transformable value are carried with their links`() throws {
    let folder = try TemporaryFolder()
    let colour = BinaryColour(name: "red")
    colour.twin = BinaryColour(name: "blue", twin: colour)
    let objects = [
      BinaryPets.person(1, change: [2: colour]), BinaryPets.person(2, change: [2: "a text" as NSString]),
      BinaryPets.person(3, change: [2: NSArray(array: [1, colour])]), BinaryPets.person(4),
    ]
    try HandwrittenBinaryStore(objects: objects).write(to: folder.file("a"))
    let source = try StoreConnection.openStore(readingAt: folder.file("a"), model: BinaryPets.model())
    func decoded(_ key: Int) throws -> Any? {
      guard case .blob(let bytes)? = try source.value("SELECT ZHAIR FROM source.ZPERSON WHERE Z_PK = \(key)") else {
        return nil
      }
      let archive = try NSKeyedUnarchiver(forReadingFrom: Data(bytes))
      archive.requiresSecureCoding = false
      archive.setClass(BinaryColour.self, forClassName: "NSColor")
      return archive.decodeObject(forKey: NSKeyedArchiveRootObjectKey)
    }
    let found = try #require(decoded(1) as? BinaryColour)
    #expect(found.name == "red" && found.twin?.name == "blue" && found.twin?.twin === found)
    #expect(try decoded(2) as? String == "a text")
    #expect(try ((decoded(3) as? NSArray)?.lastObject as? BinaryColour)?.twin?.name == "blue")
    #expect(try decoded(4) == nil)
    // And back.
    try source.execute("VACUUM source INTO ?1", [.text(folder.file("b.sqlite"))])
    try AtomicStoreWriter(readingStoreAt: folder.file("b.sqlite"), model: BinaryPets.model(), as: .binary, name: "c")
      .write(to: folder.file("c"))
    let again = try BinaryStoreContent(path: folder.file("c"))
    let second = try #require(again[1]?.values[2] as? BinaryColour)
    #expect(second.name == "red" && second.twin?.name == "blue" && second.twin?.twin === second)
    let other = try StoreConnection.openStore(readingAt: folder.file("c"), model: BinaryPets.model())
    let sql = "SELECT Z_PK, ZHAIR FROM source.ZPERSON ORDER BY 1"
    #expect(try source.rows(sql) == other.rows(sql))
  }

  @Test func `a transformable value that is no archive is refused with its object`() throws {
    let folder = try TemporaryFolder()
    let builder = try StoreBuilder(path: folder.file("a.sqlite"), model: BinaryPets.model())
    try builder.insert("Person", key: 3, attributes: ["hair": .data([1, 2, 3])])
    try builder.finish()
    let error = try #require(throws: GodwitError.self) {
      try AtomicStoreWriter(readingStoreAt: folder.file("a.sqlite"), model: BinaryPets.model(), as: .binary, name: "b")
        .write(to: folder.file("b"))
    }
    #expect(error.code == .dataWrong && error.context == "attribute 'hair' of Person p3")
    #expect(error.message.contains("keyed archive"))
  }

  // MARK: Writing

  @Test func `a binary store that is written is what Foundation's unarchiver reads`() throws {
    let folder = try TemporaryFolder()
    let id = UUID()
    let builder = try StoreBuilder(path: folder.file("a.sqlite"), model: BinaryPets.model())
    try builder.insert(
      "Employee", key: 3,
      attributes: [
        "fullName": .init("$null"), "born": .date(12.25), "photo": .data([9, 8]), "isTall": .boolean(true),
        "id": .uuid(id), "home": .uri("https://example.org/\u{E9}"), "height": .double(0.5), "shoeSize": .integer(-3),
        "wage": .decimal(-12.25), "badge": .integer(.max), "zeal": .double(.infinity),
      ], relationships: ["pets": [2, 5]])
    try builder.insert("Person", key: 4, attributes: ["fullName": .init("\u{1F600}\u{0}")])
    for key in [2, 3, 5] as [Int64] { try builder.insert("Pet", key: key) }
    try builder.finish()
    try AtomicStoreWriter(readingStoreAt: folder.file("a.sqlite"), model: BinaryPets.model(), as: .binary, name: "b")
      .write(to: folder.file("b"))
    let found = try BinaryStoreContent(path: folder.file("b"))
    #expect(found.head[0] == 0x0000_0001_0804_0800 && found.head[3] == 64 && found.head[6] == 0)
    #expect(found.head[1] == 64 + found.head[4])
    let size = try #require(try FileManager.default.attributesOfItem(atPath: folder.file("b"))[.size] as? UInt64)
    #expect(size == 64 + found.head[2] + found.head[4])
    #expect(found.objects.count == 5 && found.metadata["NSStoreType"] as? String == "Binary")
    #expect(found.objects.map(\.key).max().map { UInt64($0) } ?? .max <= found.head[5])
    #expect(found.objects.allSatisfy { $0.key > 0 })
    let employee = try #require(found.objects.first { $0.entity == "Employee" })
    let values = employee.values
    #expect(values.count == 13 && values[12] is NSNull && values[2] is NSNull)
    #expect((values[0] as? Date)?.timeIntervalSinceReferenceDate == 12.25)
    #expect(values[1] as? String == "$null" && values[3] as? Double == 0.5)
    #expect((values[4] as? URL)?.relativeString.hasPrefix("https://example.org/") == true)
    #expect((values[5] as? NSUUID)?.uuidString ?? (values[5] as? UUID)?.uuidString == id.uuidString)
    #expect(values[6] as? Bool == true && values[7] as? Data == Data([9, 8]) && values[8] as? Int == -3)
    #expect((values[9] as? NSDecimalNumber)?.stringValue == "-12.25")
    #expect(values[10] as? Int64 == .max && values[11] as? Double == .infinity)
    let pets = try #require(employee.related["pets"]).map { found[$0]?.related["owner"] }
    #expect(pets == [[employee.key], [employee.key]])
    #expect(found.objects.filter { $0.entity == "Pet" && $0.related.isEmpty }.count == 1)
    #expect(found.objects.first { $0.entity == "Person" }?.values[1] as? String == "\u{1F600}\u{0}")
  }

  @Test func `equal stores give equal bytes, and metadata come back`() throws {
    let folder = try TemporaryFolder()
    var metadata = StoreMetadata(model: try BinaryPets.model())
    metadata.values["own"] = .dictionary([
      "list": .array([
        .integer(1), .real(0.5), .boolean(true), .data([1]), .date(3), .string("$null"), .dictionary([:]),
      ])
    ])
    let builder = try StoreBuilder(path: folder.file("a.sqlite"), model: BinaryPets.model(), metadata: metadata)
    try builder.insert("Pet", key: 2)
    try builder.finish()
    for name in ["b", "c"] {
      try AtomicStoreWriter(readingStoreAt: folder.file("a.sqlite"), model: BinaryPets.model(), as: .binary, name: name)
        .write(to: folder.file(name))
    }
    #expect(try StoreComparison(folder.file("b"), folder.file("c")).firstDifference() == nil)
    let found = try StoreMetadata(readingStoreAt: folder.file("b"))
    #expect(found.uuid == metadata.uuid && found.values["own"] == metadata.values["own"])
    #expect(found.entityVersionHashes == metadata.entityVersionHashes)
    #expect(found.values["NSStoreType"] == .string("Binary") && found.values["_NSAutoVacuumLevel"] == nil)
  }
}
