import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

private func open(_ objects: [PetNode], metadata: [String: PropertyListValue] = [:]) throws -> StoreConnection {
  let folder = try TemporaryFolder()
  let path = folder.file("store.binary")
  try HandwrittenBinaryStore(objects, metadata: metadata).write(to: path)
  let connection = try StoreConnection.openStore(readingAt: path, model: BinaryPets.model())
  #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["store.binary"])
  return connection
}

@Suite struct BinaryStoreTests {
  // MARK: Reading

  @Test func `values of a binary store are read by attribute`() throws {
    let uuid: [UInt8] = [0x34, 0x3C, 0x8D, 0x7F, 0xA0, 0, 0x42, 0xC4, 0x84, 0x63, 0x43, 0xFA, 0x1E, 0x5E, 0xF3, 0xFB]
    let whole = BinaryPets.person(
      102, .plain(.string(" A <b>\r\n\u{1F600}\u{E9}")),
      change: [
        0: .date(336046917.001642), 3: .plain(.real(1.5)),
        4: .object("NSURL", ["NS.base": .uid(0), "NS.relative": .string("https://example.org/?a=1")]),
        5: .object("NSUUID", ["NS.uuidbytes": .data(uuid)]), 6: .plain(.boolean(true)), 7: .plain(.data([1, 2, 3])),
        8: .plain(.integer(-7)), 9: .decimal(Decimal(-1011) / 100),
      ])
    let employee = BinaryPets.person(
      7, .text("$null"), entity: "Employee", more: [.plain(.integer(.min)), .plain(.real(0.1))])
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
    #expect(found[0][2...10] == [.text("$null"), .null, .null, .null, .text(""), .null, .text(""), .null, .null])
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
      metadata: [
        "NSPersistenceFrameworkVersion": .integer(849), "own": .dictionary(["a": .array([.date(1), .boolean(true)])]),
      ])
    #expect(
      try connection.rows("SELECT Z_PK, ZOWNER, Z_FOK_OWNER FROM source.ZPET ORDER BY 3") == [
        [.int(9), .int(1), .int(2048)], [.int(3), .int(1), .int(3072)], [.int(5), .int(1), .int(4096)],
        [.int(4), .int(1), .int(5120)],
      ])
    let metadata = try StoreMetadata(reading: connection, path: "x")
    #expect(metadata.uuid == "343C8D7F-A000-42C4-8463-43FA1E5EF3FB" && metadata.frameworkVersion == 849)
    #expect(metadata.values["NSStoreType"] == .string("Binary") && metadata.values["NSStoreUUID"] == nil)
    #expect(metadata.values["own"] == .dictionary(["a": .array([.date(1), .boolean(true)])]))
  }

  @Test func `a summary and raw tables need no model`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("a")
    try HandwrittenBinaryStore(
      [
        BinaryPets.person(1, .plain(.string("x")), pets: [2]), BinaryPets.pet(2, owner: 1), BinaryPets.person(3),
      ],
      metadata: ["NSStoreModelVersionHashes": .dictionary(["Ghost": .data([1])]), "mine": .integer(1)]
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

  private static let damaged: [(name: String, objects: [PetNode], message: String)] = {
    func person(_ change: [Int: PetNode.Value]) -> [PetNode] { [BinaryPets.person(1, change: change)] }
    return [
      ("unknown entity", [PetNode(entity: "Persons", key: 1, values: [])], "did you mean 'Person'"),
      ("too few values", [PetNode(entity: "Person", key: 1, values: [.null])], "expected 11 values"),
      ("a value too much", [BinaryPets.person(1, more: [.null])], "expected 11 values"),
      ("a relationship's value", [PetNode(entity: "Pet", key: 1, values: [.text("x")])], "expected nil after"),
      ("number as text", person([1: .plain(.integer(5))]), "expected String as attribute 'fullName', found a number"),
      ("text as date", person([0: .plain(.string("x"))]), "expected Date as attribute 'born', found a text"),
      ("range", person([8: .plain(.integer(40_000))]), "expected Integer 16 as attribute 'shoeSize'"),
      ("fraction", person([8: .plain(.real(1.5))]), "expected Integer 16 as attribute 'shoeSize'"),
      ("class", person([5: .colours("a", "b")]), "found an object of the class 'NSColor'"),
      ("not a number", person([3: .plain(.real(.nan))]), "expected Float"),
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
          PetNode(entity: "Pet", key: 1, values: [.null], related: [("owner", [2, 3])]), BinaryPets.person(2),
          BinaryPets.person(3),
        ], "names 2 objects"
      ),
      (
        "unknown relationship", [PetNode(entity: "Pet", key: 1, values: [.null], related: [("x", [1])])],
        "no relationship 'x'"
      ),
      (
        "relationship twice",
        [PetNode(entity: "Pet", key: 1, values: [.null], related: [("owner", [2]), ("owner", [2])])],
        "expected relationship 'owner' once"
      ),
      ("abstract entity", [PetNode(entity: "Ghost", key: 1, values: [])], "it is abstract"),
    ]
  }()

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
    try HandwrittenBinaryStore([]).write(to: folder.file("a"))
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
    let values: [Int64: PetNode.Value] = [
      1: .colours("red", "blue"), 2: .text("a text"), 3: .list([.plain(.integer(1)), .colours("red", "blue")]),
    ]
    let objects = values.sorted { $0.key < $1.key }.map { BinaryPets.person($0, change: [2: $1]) }
    try HandwrittenBinaryStore(objects + [BinaryPets.person(4)]).write(to: folder.file("a"))
    let source = try StoreConnection.openStore(readingAt: folder.file("a"), model: BinaryPets.model())
    func graph(_ key: Int64, _ store: StoreConnection) throws -> ArchivedGraph? {
      guard case .blob(let bytes)? = try store.value("SELECT ZHAIR FROM source.ZPERSON WHERE Z_PK = \(key)") else {
        return nil
      }
      return try ArchivedGraph(archive: bytes)
    }
    for (key, value) in values { #expect(try graph(key, source) == HandwrittenBinaryStore.graph(value)) }
    #expect(try graph(4, source) == nil)
    // And back.
    try source.execute("VACUUM source INTO ?1", [.text(folder.file("b.sqlite"))])
    try AtomicStoreWriter(readingStoreAt: folder.file("b.sqlite"), model: BinaryPets.model(), as: .binary, name: "c")
      .write(to: folder.file("c"))
    let again = try WrittenBinaryStore(path: folder.file("c"))
    let red = try #require(again.objects[1]?.values[2])
    let blue = try #require(again.field("twin", of: red))
    #expect(again.className(of: red) == "NSColor" && again.field("name", of: red) == .string("red"))
    #expect(again.field("name", of: blue) == .string("blue") && again.field("twin", of: blue) == red)
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

  @Test func `a binary store that is written has the form of a real one`() throws {
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
    let found = try WrittenBinaryStore(path: folder.file("b"))
    #expect(found.head[0] == 0x0000_0001_0804_0800 && found.head[3] == 64 && found.head[6] == 0)
    #expect(found.head[1] == 64 + found.head[4] && UInt64(found.size) == 64 + found.head[2] + found.head[4])
    #expect(found.objects.count == 5 && found.metadata.dictionary?["NSStoreType"] == .string("Binary"))
    #expect(found.objects.keys.allSatisfy { (1...Int64(clamping: found.head[5])).contains($0) })
    let (key, employee) = try #require(found.objects.first { $0.value.entity == "Employee" })
    let values = employee.values
    #expect(values.count == 13 && [2, 12].allSatisfy { found.className(of: values[$0]) == "NSNull" })
    #expect(found.field("NS.time", of: values[0]) == .real(12.25))
    #expect(
      found.className(of: values[1]) == "NSMutableString" && found.field("NS.string", of: values[1]) == .string("$null")
    )
    #expect(
      values[3] == .real(0.5) && found.field("NS.relative", of: values[4]) == .string("https://example.org/\u{E9}"))
    #expect(found.field("NS.uuidbytes", of: values[5]) == .data(withUnsafeBytes(of: id.uuid) { Array($0) }))
    #expect(values[6] == .boolean(true) && values[7] == .data([9, 8]) && values[8] == .integer(-3))
    // -12.25 is -1225 / 100, and 1225 is 0x4C9.
    #expect(found.field("NS.mantissa", of: values[9]) == .data([0xC9, 4] + [UInt8](repeating: 0, count: 14)))
    #expect(
      found.field("NS.exponent", of: values[9]) == .integer(-2)
        && found.field("NS.length", of: values[9]) == .integer(1))
    #expect(found.field("NS.negative", of: values[9]) == .boolean(true))
    #expect(values[10] == .integer(.max) && values[11] == .real(.infinity))
    let pets = try #require(employee.related["pets"]).map { found.objects[$0]?.related["owner"] }
    #expect(pets == [[key], [key]])
    #expect(found.objects.values.filter { $0.entity == "Pet" && $0.related.isEmpty }.count == 1)
    #expect(found.objects.values.first { $0.entity == "Person" }?.values[1] == .string("\u{1F600}\u{0}"))
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
