import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

@testable import GodwitCLI
@testable import GodwitManifest

/// A store of three entities with every type of value, and its model beside it.
private struct TinyStore {
  let folder: TemporaryFolder
  var store: String { folder.file("tiny.sqlite") }
  var model: String { folder.file("Tiny.xcdatamodel") }
  static let uuid = "0B0E1E5A-0000-4000-8000-000000000001"

  init() throws {
    folder = try TemporaryFolder()
    let types: [(String, AttributeType)] = [
      ("title", .string), ("price", .decimal), ("day", .date), ("pages", .integer32), ("score", .double),
      ("id", .uuid), ("site", .uri), ("cover", .binary), ("tint", .transformable), ("isNew", .boolean),
    ]
    var book = EntityDescription(
      name: "Book", attributes: types.map { AttributeDescription(name: $0.0, type: $0.1) },
      relationships: [
        RelationshipDescription(name: "author", destinationEntityName: "Writer", inverseName: "books"),
        RelationshipDescription(name: "tags", destinationEntityName: "Tag", inverseName: "books", isToMany: true),
      ])
    book.attributes.append(AttributeDescription(name: "media", type: .binary))
    book.attributes[book.attributes.count - 1].allowsExternalBinaryDataStorage = true
    var books = RelationshipDescription(
      name: "books", destinationEntityName: "Book", inverseName: "author", isToMany: true)
    books.isOrdered = true
    let model = try ManagedObjectModel(
      name: "Tiny",
      entities: [
        book,
        EntityDescription(
          name: "Comic", superentityName: "Book", attributes: [AttributeDescription(name: "ink", type: .string)]),
        EntityDescription(name: "Writer", relationships: [books]),
        EntityDescription(
          name: "Tag",
          relationships: [
            RelationshipDescription(name: "books", destinationEntityName: "Book", inverseName: "tags", isToMany: true)
          ]),
      ])
    try FileManager.default.createDirectory(atPath: self.model, withIntermediateDirectories: true)
    try Data(model.xcodeContents.utf8).write(to: URL(filePath: self.model + "/contents"))
    let builder = try StoreBuilder(
      path: store, model: model, metadata: StoreMetadata(model: model, uuid: UUID(uuidString: Self.uuid) ?? UUID()))
    try builder.insert(
      "Book",
      attributes: [
        "title": AttributeValue("A \"quoted\", line\nA\u{301}🦆"), "price": .decimal(Decimal(string: "10.11") ?? 0),
        "day": .date(0.5), "pages": .integer(-7), "score": .double(0.25),
        "id": .uuid(UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF") ?? UUID()),
        "site": .uri("https://example.org/a?b=c"), "cover": .data([]), "tint": .data([1, 2, 255]),
        "isNew": .boolean(true), "media": .data([9]),
      ], relationships: ["author": [1], "tags": [2, 1]])
    try builder.insert("Comic", key: 5, attributes: ["title": .string(Text(utf8: [0xFF, 0x41])), "ink": .init("")])
    try builder.insert("Writer", relationships: ["books": [5, 1]])
    try builder.insert("Tag")
    try builder.insert("Tag")
    try builder.finish()
  }

  func export(_ arguments: String...) -> (status: Int32, output: String, diagnostics: String) {
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let status = GodwitCommand.run(arguments: ["export", store] + arguments, in: session)
    return (status, session.output.text, session.diagnostics.text)
  }
}

struct `Exporting objects` {
  @Test func `exported JSON lines hold every value, sorted by name`() throws {
    let tiny = try TinyStore()
    let base = "x-coredata://\(TinyStore.uuid)"
    let result = tiny.export("--entity", "Book", "--model", tiny.model, "--subentities")
    #expect(result.status == 0, "\(result.diagnostics)")
    #expect(
      result.output == """
        {"@entity":"Book","@uri":"\(base)/Book/p1","author":"\(base)/Writer/p1","cover":"",\
        "day":"2001-01-01T00:00:00.500000Z","id":"00112233-4455-6677-8899-AABBCCDDEEFF","isNew":true,"media":"CQ==",\
        "pages":-7,"price":"10.11","score":0.25,"site":"https://example.org/a?b=c",\
        "tags":["\(base)/Tag/p1","\(base)/Tag/p2"],"tint":"AQL/","title":"A \\"quoted\\", line\\nA\u{301}🦆"}
        {"@entity":"Comic","@uri":"\(base)/Comic/p5","author":"\(base)/Writer/p1","cover":null,"day":null,"id":null,\
        "ink":"","isNew":null,"media":null,"pages":null,"price":null,"score":null,"site":null,"tags":[],"tint":null,\
        "title":{"@base64":"/0E="}}

        """)
    let writers = tiny.export("--entity", "Writer", "--model", tiny.model)
    #expect(
      writers.output
        == "{\"@entity\":\"Writer\",\"@uri\":\"\(base)/Writer/p1\",\"books\":[\"\(base)/Comic/p5\",\"\(base)/Book/p1\"]}\n"
    )
    #expect(tiny.export("--entity", "Book", "--model", tiny.model).output.split(separator: "\n").count == 1)
  }

  @Test func `exported CSV follows RFC 4180, has a header, and distinguishes an empty value from nil`() throws {
    let tiny = try TinyStore()
    let base = "x-coredata://\(TinyStore.uuid)"
    let result = tiny.export("--entity", "Book", "--model", tiny.model, "--subentities", "--format", "csv")
    #expect(
      result.output
        == "@entity,@uri,author,cover,day,id,ink,isNew,media,pages,price,score,site,tags,tint,title\r\n"
        + "Book,\(base)/Book/p1,\(base)/Writer/p1,\"\",2001-01-01T00:00:00.500000Z,00112233-4455-6677-8899-AABBCCDDEEFF,,"
        + "true,CQ==,-7,10.11,0.25,https://example.org/a?b=c,\(base)/Tag/p1 \(base)/Tag/p2,AQL/,"
        + "\"A \"\"quoted\"\", line\nA\u{301}🦆\"\r\n"
        + "Comic,\(base)/Comic/p5,\(base)/Writer/p1,,,,\"\",,,,,,,,,base64:/0E=\r\n")
  }

  @Test func `an exported file is written completely or not at all`() throws {
    let tiny = try TinyStore()
    let file = tiny.folder.file("out.jsonl")
    let shown = tiny.export("--entity", "Book", "--model", tiny.model)
    let result = tiny.export("--entity", "Book", "--model", tiny.model, "-o", file)
    #expect(result.status == 0 && result.output.isEmpty)
    #expect(try String(contentsOfFile: file, encoding: .utf8) == shown.output)
    #expect(tiny.export("--entity", "Book", "--model", tiny.model, "-o", file).status == 73)
    let connection = try StoreConnection(path: tiny.store)
    try connection.execute("UPDATE ZBOOK SET ZPAGES = 'many' WHERE Z_PK = 1")
    try connection.close()
    let damaged = tiny.export("--entity", "Book", "--model", tiny.model, "-o", tiny.folder.file("other.jsonl"))
    #expect(damaged.status == 65)
    #expect(damaged.diagnostics.contains("Book p1") && !damaged.diagnostics.contains("many"))
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: tiny.folder.path).sorted() == [
        "Tiny.xcdatamodel", "out.jsonl", "tiny.sqlite",
      ])
  }

  @Test func `wrong usage of export is 64 and suggests the nearest name`() throws {
    let tiny = try TinyStore()
    let unknown = tiny.export("--entity", "Boko", "--model", tiny.model)
    #expect(unknown.status == 64 && unknown.diagnostics.contains("did you mean 'Book'?"))
    let noModel = tiny.export("--entity", "Book")
    #expect(noModel.status == 64 && noModel.diagnostics.contains("--model"))
    #expect(tiny.export("--entity", "Book", "--model", tiny.folder.file("No.xcdatamodel")).status == 66)
    #expect(tiny.export("--entity", "Book", "--model", tiny.model, "--format", "xml").status == 64)
  }

  @Test(
    arguments: [
      (0, "2001-01-01T00:00:00.000000Z"), (-978_307_200, "1970-01-01T00:00:00.000000Z"),
      (-63_114_076_800, "0000-12-30T00:00:00.000000Z"), (63_113_904_000, "4001-01-01T00:00:00.000000Z"),
      (-0.25, "2000-12-31T23:59:59.750000Z"), (99_792_000 + 3661, "2004-03-01T01:01:01.000000Z"),
      (0.999_999_9, "2001-01-01T00:00:01.000000Z"), (252_423_993_600, "+010000-01-01T00:00:00.000000Z"),
      (1e300, "1e+300"),
    ] as [(Double, String)])
  func `exported dates are ISO 8601 in UTC`(seconds: Double, text: String) {
    #expect(ObjectWriter.date(seconds) == text)
  }

  @Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
  func `a store with a model inside is exported without --model`() throws {
    var exported = 0
    for path in TestTier.sample(CorpusStores.paths, each: 3) {
      guard let metadata = try? StoreMetadata(readingStoreAt: path),
        case .fits(let cached) = try StoredModel(inStoreAt: path, metadata: metadata)
      else { continue }
      for entity in cached.model.entityNames {
        let session = CommandSession(output: .memory(), diagnostics: .memory())
        let status = GodwitCommand.run(arguments: ["export", path, "--entity", entity, "--subentities"], in: session)
        #expect(status == 0, "\(path): \(session.diagnostics.text)")
      }
      exported += 1
    }
    #expect(exported >= TestTier.choose(2, long: 8))
  }

  @Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"), arguments: CorpusPair.all.map(\.name))
  func `every store of the corpus with a known model is exported, line by line`(name: String) throws {
    let pair = try #require(CorpusPair.all.first { $0.name == name })
    let summary = try StoreSummary(readingStoreAt: pair.path)
    let reader = try ObjectReader(path: pair.path, model: pair.model)
    for entity in pair.model.entityNames {
      let lines = ObjectWriter(format: .jsonl, entities: [entity], reader: reader)
      let records = ObjectWriter(format: .csv, entities: [entity], reader: reader)
      let fields = lines.head.isEmpty ? 2 + reader.propertyNames(of: entity).count : 0
      var count: Int64 = 0
      try reader.forEachObject(of: [entity]) { object in
        count += 1
        let line = lines.record(object)
        guard count <= 200 else { return true }
        let parsed = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        #expect(parsed?.count == fields)
        #expect(records.record(object).hasSuffix("\r\n"))
        return true
      }
      let number = Int64(reader.schema.number(of: entity) ?? -1)
      var rows = summary.entities.first { $0.number == number }?.rows ?? 0
      // Whatever number they bear: no table of the corpus that has strays is a hierarchy's.
      let table = reader.schema.table(of: entity)?.name
      rows += summary.strayRows.filter { $0.table == table }.reduce(0) { $0 + $1.rows }
      #expect(count == rows, "\(entity)")
    }
  }
}
