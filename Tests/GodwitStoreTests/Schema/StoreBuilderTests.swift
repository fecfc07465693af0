import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@Suite struct `Store builder` {
  @Test func `objects of a built store are read back as inserted`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("library.sqlite")
    let builder = try StoreBuilder(path: path, model: libraryModel())
    let uuid = UUID()
    let first = try builder.insert(
      "Book",
      attributes: [
        "title": AttributeValue("A\u{301}"), "price": .decimal(Decimal(string: "10.11") ?? 0), "publishedAt": .date(5),
        "pages": .integer(7), "score": .double(0.5), "id": .uuid(uuid), "site": .uri("https://example.org/"),
        "cover": .data([]), "tint": .data([1, 2]),
      ], relationships: ["author": [2], "tags": [1, 2]])
    #expect(first == 1)
    try builder.insert("Comic", key: 10, attributes: ["isColoured": .boolean(true)], relationships: ["shelf": [1]])
    #expect(try builder.insert("Atlas") == 11)
    try builder.insert("Writer", relationships: ["follows": [2, 1], "friends": [2]])
    try builder.insert("Poet")
    try builder.insert("Tag")
    try builder.insert("Tag", relationships: ["books": [1]])
    try builder.insert("shelf", relationships: ["books": [11, 1]])
    try builder.finish()

    let connection = try StoreConnection.openStore(readingAt: path)
    #expect(try connection.value("PRAGMA source.integrity_check") == .text("ok"))
    #expect(try connection.integer("PRAGMA source.page_size") == 4096)
    #expect(try connection.integer("PRAGMA source.auto_vacuum") == 2)
    #expect(
      try connection.rows("SELECT Z_PK, Z_ENT, ZAUTHOR, Z6_AUTHOR, ZSHELF, Z_FOK_SHELF FROM source.ZBOOK") == [
        [.int(1), .int(1), .int(2), .int(7), .int(1), .int(3072)],
        [.int(10), .int(3), .null, .null, .int(1), .int(4096)],
        [.int(11), .int(2), .null, .null, .int(1), .int(2048)],
      ])
    #expect(
      try connection.rows("SELECT Z_6FOLLOWERS, Z_6FOLLOWS, Z_FOK_6FOLLOWS FROM source.Z_6FOLLOWS ORDER BY 3") == [
        [.int(1), .int(2), .int(2048)], [.int(1), .int(1), .int(3072)],
      ])
    #expect(
      try connection.rows("SELECT * FROM source.Z_6FRIENDS") == [[.int(1), .int(2)], [.int(2), .int(1)]])
    #expect(try connection.rows("SELECT * FROM source.Z_1TAGS") == [[.int(1), .int(1)], [.int(1), .int(2)]])
    #expect(
      try connection.rows("SELECT Z_ENT, Z_SUPER, Z_MAX FROM source.Z_PRIMARYKEY") == [
        [.int(1), .int(0), .int(11)], [.int(2), .int(1), .int(0)], [.int(3), .int(1), .int(0)],
        [.int(4), .int(0), .int(1)], [.int(5), .int(0), .int(2)], [.int(6), .int(0), .int(2)],
        [.int(7), .int(6), .int(0)],
      ])
    let model = try libraryModel()
    let schema = try StoreSchema(model: model, probing: connection)
    #expect(schema == StoreSchema(model: model))
    func value(_ name: String) throws -> AttributeValue {
      let attribute = try #require(model.attribute(name, of: "Book"))
      let column = try #require(schema.column(of: name, in: "Book"))
      let stored = try connection.value("SELECT \(column) FROM source.ZBOOK WHERE Z_PK = 1")
      return try AttributeValue(decoding: stored ?? .null, as: attribute)
    }
    #expect(try value("title") == AttributeValue("A\u{301}"))
    #expect(try value("title") != AttributeValue("\u{C1}"))
    #expect(try value("price") == .decimal(Decimal(string: "10.11") ?? 0))
    #expect(try value("publishedAt") == .date(5))
    #expect(try value("pages") == .integer(7))
    #expect(try value("score") == .double(0.5))
    #expect(try value("id") == .uuid(uuid))
    #expect(try value("site") == .uri("https://example.org/"))
    #expect(try value("cover") == .data([]))
    #expect(try value("tint") == .data([1, 2]))
    let indexes = try connection.rows(
      "SELECT name FROM source.sqlite_master WHERE sql LIKE 'CREATE%INDEX%' ORDER BY rowid")
    #expect(indexes.map { $0.first } == schema.indexes.map { .text($0.name) })

    let metadata = try StoreMetadata(readingStoreAt: path)
    #expect(model.isCompatible(with: metadata.entityVersionHashes))
    #expect(metadata.digest == model.versionHashesDigest)
    let summary = try StoreSummary(readingStoreAt: path)
    #expect(summary.entities.map(\.rows) == [1, 1, 1, 1, 2, 1, 1])
    #expect(summary.journalMode == "delete")
    #expect(summary.cloudKitTables.isEmpty && summary.historyTables.isEmpty && !summary.hasModelCache)
  }

  @Test func `rows of an entity with the name of an entity of history are its own`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("s.sqlite")
    let model = try ManagedObjectModel(
      name: "M", entities: [EntityDescription(name: "CHANGE"), EntityDescription(name: "Transaction")])
    let builder = try StoreBuilder(path: path, model: model)
    for _ in 0..<3 { try builder.insert("CHANGE") }
    try builder.insert("Transaction")
    try builder.finish()
    let connection = try StoreConnection(path: path)
    for (name, number) in [("CHANGE", 16001), ("TRANSACTION", 16002)] {
      try connection.execute("CREATE TABLE A\(name) ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER )")
      try connection.execute("INSERT INTO Z_PRIMARYKEY VALUES (\(number), '\(name)', 0, 2)")
      try connection.execute("INSERT INTO A\(name) VALUES (1, \(number), 1), (2, \(number), 1)")
    }
    // A migration in place keeps the former name of an entity.
    try connection.execute("UPDATE Z_PRIMARYKEY SET Z_NAME = 'Former' WHERE Z_ENT = 1")
    try connection.execute("ALTER TABLE ZCHANGE RENAME TO ZFORMER")
    try connection.close()
    let summary = try StoreSummary(readingStoreAt: path)
    #expect(summary.entities.map { "\($0.number) \($0.rows ?? -1)" } == ["1 3", "2 1", "16001 2", "16002 2"])
    #expect(summary.strayRows.isEmpty)
    let schema = try StoreSchema(model: model, probing: .openStore(readingAt: path))
    #expect(schema.number(of: "CHANGE") == 1)
  }

  @Test func `a built store holds more objects than one transaction`() throws {
    let folder = try TemporaryFolder()
    let builder = try StoreBuilder(path: folder.file("s.sqlite"), model: libraryModel())
    for _ in 0..<20_001 { try builder.insert("Tag") }
    try builder.finish()
    #expect(try StoreSummary(readingStoreAt: folder.file("s.sqlite")).entities[4].rows == 20_001)
  }

  @Test func `values that do not fit the model are refused`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("s.sqlite")
    let builder = try StoreBuilder(path: path, model: libraryModel())
    func code(_ body: () throws -> Void) -> GodwitError.Code? {
      do {
        try body()
        return nil
      } catch { return (error as? GodwitError)?.code }
    }
    #expect(code { try builder.insert("Nobody") } == .dataWrong)
    #expect(code { try builder.insert("Book", attributes: ["nothing": .null]) } == .dataWrong)
    #expect(code { try builder.insert("Book", attributes: ["title": .integer(1)]) } == .dataWrong)
    #expect(code { try builder.insert("Book", attributes: ["pages": .integer(1 << 40)]) } == .dataWrong)
    #expect(code { try builder.insert("Book", attributes: ["score": .double(.nan)]) } == .dataWrong)
    #expect(code { try builder.insert("Book", relationships: ["nothing": [1]]) } == .dataWrong)
    #expect(code { try builder.insert("Book", relationships: ["author": [1, 2]]) } == .dataWrong)
    #expect(code { try builder.insert("Tag", key: .max) } == nil)
    #expect(code { try builder.insert("Tag") } == .dataWrong)
    #expect(code { try builder.insert("Tag", key: .max) } == .dataWrong)
    #expect(code { _ = try StoreBuilder(path: path, model: libraryModel()) } == .cannotCreate)
  }

  @Test func `binary data with external storage has its prefix`() throws {
    var attribute = AttributeDescription(name: "media", type: .binary)
    #expect(try SQLValue(encoding: .data([9]), as: attribute) == .blob([9]))
    attribute.allowsExternalBinaryDataStorage = true
    #expect(try SQLValue(encoding: .data([9]), as: attribute) == .blob([1, 9]))
    #expect(try AttributeValue(decoding: .blob([1, 9]), as: attribute) == .data([9]))
    let name = UUID().uuidString
    let stored = StoredBinary.external(name: name).bytes
    #expect(stored.count == 38)
    #expect(try AttributeValue(decoding: .blob(stored), as: attribute) { Array($0.utf8) } == .data(Array(name.utf8)))
    #expect(throws: GodwitError.self) { try AttributeValue(decoding: .blob(stored), as: attribute) }
    for wrong: [UInt8] in [[], [3, 1], [2] + Array("../../../../../../../../etc/passwd00000".utf8.prefix(36)) + [0]] {
      #expect(throws: GodwitError.self) {
        try AttributeValue(decoding: .blob(wrong), as: attribute) { _ in [] }
      }
    }
  }

  @Test func `numbers are read by the attribute's type, whatever the column's affinity`() throws {
    func read(_ value: SQLValue, _ type: AttributeType) throws -> AttributeValue {
      try AttributeValue(decoding: value, as: AttributeDescription(name: "a", type: type))
    }
    #expect(try read(.integer(5), .date) == .date(5))
    #expect(try read(.integer(5), .decimal) == .decimal(5))
    #expect(try read(.integer(5), .double) == .double(5))
    #expect(try read(.integer(2), .boolean) == .boolean(true))
    #expect(try read(.real(3), .integer64) == .integer(3))
    #expect(throws: GodwitError.self) { try read(.real(1e300), .integer64) }
    #expect(try read(.real(.infinity), .decimal) == .decimal(.nan))
    #expect(throws: GodwitError.self) { try read(.text("x"), .integer16) }
    #expect(throws: GodwitError.self) { try read(.blob([1]), .uuid) }
    #expect(try read(.text("NaN"), .decimal) == .decimal(.nan))
    #expect(
      try SQLValue(encoding: .decimal(.nan), as: AttributeDescription(name: "a", type: .decimal)) == .text("NaN"))
    #expect(throws: GodwitError.self) { try read(.text("1"), .decimal) }
    #expect(try read(.text([0xFF]), .string) == .string(Text(utf8: [0xFF])))
  }
}
