import Foundation
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

@testable import GodwitCLI

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

  func export(_ arguments: String...) -> (status: Int32, output: String, diagnostics: String) { run(arguments) }

  func run(_ arguments: [String]) -> (status: Int32, output: String, diagnostics: String) {
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let status = GodwitCommand.run(arguments: ["export", store] + arguments, in: session)
    return (status, session.output.text, session.diagnostics.text)
  }
}

struct `Exporting objects` {
  @Test func `a composite attribute is an object of its elements, null when all are nil`() throws {
    let folder = try TemporaryFolder()
    let place = AttributeDescription.composite("place", [.make("zip"), .make("photo", .binary)])
    let entity = EntityDescription(
      name: "A", attributes: [.composite("at", [.make("day", .integer16), place]), .make("b"), .make("atom")])
    let model = try ManagedObjectModel(name: "M", entities: [entity])
    try FileManager.default.createDirectory(atPath: folder.file("M.xcdatamodel"), withIntermediateDirectories: true)
    try Data(model.xcodeContents.utf8).write(to: URL(filePath: folder.file("M.xcdatamodel/contents")))
    let builder = try StoreBuilder(path: folder.file("m.sqlite"), model: model)
    try builder.insert("A", attributes: ["at.day": .integer(3), "b": .init("x")])
    try builder.insert(
      "A", attributes: ["at.place.photo": .data(Array(repeating: 7, count: 1 << 20)), "atom": .init("y")])
    try builder.insert("A")
    try builder.finish()
    func export(_ more: String...) -> String {
      let session = CommandSession(output: .memory(), diagnostics: .memory())
      let arguments =
        ["export", folder.file("m.sqlite"), "--entity", "A", "--model", folder.file("M.xcdatamodel")] + more
      #expect(GodwitCommand.run(arguments: arguments, in: session) == 0, "\(session.diagnostics.text)")
      return session.output.text
    }
    let lines = export().split(separator: "\n").compactMap { line in
      line.firstRange(of: #""at""#).map { String(line[$0.lowerBound...]) }
    }
    let photo = Data(Array(repeating: 7, count: 1 << 20)).base64EncodedString()
    #expect(
      lines.map { $0.replacing(photo, with: "…") } == [
        #""at":{"day":3,"place":null},"atom":null,"b":"x"}"#,
        #""at":{"day":null,"place":{"photo":"…","zip":null}},"atom":"y","b":null}"#,
        #""at":null,"atom":null,"b":null}"#,
      ])
    #expect(export("--format", "csv").hasPrefix("@entity,@uri,at.day,at.place.photo,at.place.zip,atom,b\r\n"))
    #expect(export("--where", "at.day == 3").split(separator: "\n").count == 1)
  }

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

  @Test func `a CSV field stays one field if a combining mark follows a quote`() {
    let (mark, quote) = ("\u{301}", "\"")
    let field = ObjectWriter.field("a" + quote + mark + ",b")
    let expected = quote + "a" + quote + quote + mark + ",b" + quote
    #expect(Array(field.utf8) == Array(expected.utf8))
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

  @Test func `several entities are exported one after another, each object once`() throws {
    let tiny = try TinyStore()
    let result = tiny.export(
      "--entity", "Tag", "--entity", "Book", "--entity", "Comic", "--subentities", "--model", tiny.model)
    #expect(result.status == 0, "\(result.diagnostics)")
    let named = result.output.split(separator: "\n").map { $0.prefix { $0 != "," } }
    #expect(
      named == ["{\"@entity\":\"Tag\"", "{\"@entity\":\"Tag\"", "{\"@entity\":\"Book\"", "{\"@entity\":\"Comic\""])
    let csv = tiny.export("--entity", "Tag", "--entity", "Writer", "--format", "csv", "--model", tiny.model).output
    let lines = csv.split(separator: "\r\n")
    #expect(lines.first == "@entity,@uri,books" && lines.count == 4)
  }

  @Test func `all entities go to one file each in a new folder, which is complete or absent`() throws {
    let tiny = try TinyStore()
    let folder = tiny.folder.file("out")
    let result = tiny.export("--all", "--format", "csv", "-o", folder + "/", "--model", tiny.model)
    #expect(result.status == 0 && result.output.isEmpty, "\(result.diagnostics)")
    let names = ["Book", "Comic", "Tag", "Writer"]
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder).sorted() == names.map { $0 + ".csv" })
    for name in names {
      let shown = tiny.export("--entity", name, "--format", "csv", "--model", tiny.model).output
      #expect(try String(contentsOfFile: "\(folder)/\(name).csv", encoding: .utf8) == shown)
    }
    #expect(tiny.export("--all", "-o", folder, "--model", tiny.model).status == 73)
    let connection = try StoreConnection(path: tiny.store)
    try connection.execute("UPDATE ZBOOK SET ZPAGES = 'many' WHERE Z_PK = 1")
    try connection.close()
    for arguments in [["--all"], ["--all", "--format", "sqlite"]] {
      let damaged = tiny.run(arguments + ["-o", tiny.folder.file("other"), "--model", tiny.model])
      #expect(damaged.status == 65)
    }
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: tiny.folder.path).sorted() == [
        "Tiny.xcdatamodel", "out", "tiny.sqlite",
      ])
  }

  @Test(arguments: [
    ("pages < 0", 1), ("pages > 0", 0), ("pages == nil", 1), ("NOT (pages > 0)", 1), ("author.books.@count == 2", 2),
    ("ANY tags.books.title CONTAINS 'quoted'", 1), ("day < now()", 1),
  ])
  func `export writes only the objects that fulfil a predicate`(predicate: String, count: Int) throws {
    let tiny = try TinyStore()
    let arguments = ["--entity", "Book", "--subentities", "--model", tiny.model, "--where", predicate]
    let result = tiny.run(arguments)
    #expect(result.status == 0, "\(result.diagnostics)")
    #expect(result.output.split(separator: "\n").count == count)
    let file = tiny.folder.file("out.db")
    #expect(tiny.run(arguments + ["--format", "sqlite", "-o", file]).status == 0)
    let made = try StoreConnection(path: file)
    #expect(
      try made.integer("SELECT (SELECT count(*) FROM Book) + (SELECT count(*) FROM Comic)") == Int64(count))
  }

  @Test func `a wrong predicate is 78 with its position, and nothing is written`() throws {
    let tiny = try TinyStore()
    let file = tiny.folder.file("out.jsonl")
    for (predicate, place) in [
      ("pgaes < 3", "--where:1:1"), ("pages <", "--where:1:8"), ("pages < 3 AND title > 4", "--where:1:15"),
    ] {
      let result = tiny.export("--entity", "Book", "--model", tiny.model, "--where", predicate, "-o", file)
      #expect(result.status == 78 && result.diagnostics.contains(place), "\(result.diagnostics)")
      #expect(!FileManager.default.fileExists(atPath: file))
    }
    #expect(
      tiny.export("--entity", "Book", "--model", tiny.model, "--where", "pgaes < 3").diagnostics.contains(
        "did you mean 'pages'?"))
    let tag = tiny.export("--entity", "Book", "--entity", "Tag", "--model", tiny.model, "--where", "pages < 3")
    #expect(tag.status == 78 && tag.diagnostics.contains("does not fit entity 'Tag'"))
  }

  @Test func `a SQLite export has readable tables, keys, and one table for each many-to-many`() throws {
    let tiny = try TinyStore()
    let file = tiny.folder.file("out.db")
    let result = tiny.export("--all", "--format", "sqlite", "-o", file, "--model", tiny.model)
    #expect(result.status == 0 && result.output.isEmpty, "\(result.diagnostics)")
    let made = try StoreConnection(path: file)
    func texts(_ sql: String) throws -> [String] {
      try made.rows(sql).map { row in
        row.map { value in
          switch value {
          case .null: "nil"
          case .integer(let number): "\(number)"
          case .real(let number): "\(number)r"
          case .text(let bytes): String(decoding: bytes, as: UTF8.self)
          case .blob(let bytes): "x" + bytes.map { String($0, radix: 16) }.joined(separator: ".")
          }
        }.joined(separator: "|")
      }
    }
    #expect(
      try texts("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        == ["Book", "Book_tags", "Comic", "Tag", "Writer", "Writer_books"])
    #expect(
      try texts("SELECT name, type FROM pragma_table_info('Book')") == [
        "pk|INTEGER", "author|INTEGER", "cover|BLOB", "day|TEXT", "id|TEXT", "isNew|INTEGER", "media|BLOB",
        "pages|INTEGER", "price|NUMERIC", "score|REAL", "site|TEXT", "tint|BLOB", "title|TEXT",
      ])
    #expect(
      try texts("SELECT * FROM Book") == [
        "1|1|x|2001-01-01T00:00:00.500000Z|00112233-4455-6677-8899-AABBCCDDEEFF|1|x9|-7|10.11r|0.25r|"
          + "https://example.org/a?b=c|x1.2.ff|A \"quoted\", line\nA\u{301}🦆"
      ])
    #expect(try texts("SELECT pk, author, ink, title, pages FROM Comic") == ["5|1||xff.41|nil"])
    #expect(try texts("SELECT * FROM Book_tags") == ["1|Book|1", "1|Book|2"])
    #expect(try texts("SELECT * FROM Writer_books") == ["1|5|Comic|0", "1|1|Book|1"])
    #expect(
      try texts("SELECT \"from\", \"table\", \"to\" FROM pragma_foreign_key_list('Book')") == ["author|Writer|pk"])
    #expect(try texts("PRAGMA integrity_check") == ["ok"])
    try made.close()
    #expect(tiny.export("--all", "--format", "sqlite", "-o", file, "--model", tiny.model).status == 73)

    let part = tiny.folder.file("part.db")
    #expect(tiny.export("--entity", "Tag", "--format", "sqlite", "-o", part, "--model", tiny.model).status == 0)
    let tags = try StoreConnection(path: part)
    #expect(try tags.integer("SELECT count(*) FROM Tag_books") == 2)
  }

  @Test func `decimals of a SQLite export compare as numbers, or are texts on demand`() throws {
    let tiny = try TinyStore()
    let store = try StoreConnection(path: tiny.store)
    try store.execute("UPDATE ZBOOK SET ZPRICE = CASE Z_PK WHEN 1 THEN 10.11 ELSE 9 END")
    func export(_ name: String, _ more: String...) throws -> ([[SQLValue]], String) {
      let file = tiny.folder.file(name)
      let all = ["--all", "--format", "sqlite", "-o", file, "--model", tiny.model]
      let result = tiny.run(all + more)
      #expect(result.status == 0)
      let made = try StoreConnection(path: file)
      let rows = try made.rows(
        "SELECT price, price > 5 FROM (SELECT price FROM Book UNION ALL SELECT price FROM Comic) ORDER BY price")
      return (rows, result.diagnostics)
    }
    let numbers = try export("numbers.db")
    #expect(numbers.0 == [[.integer(9), .integer(1)], [.real(10.11), .integer(1)]] && numbers.1.isEmpty)
    #expect(try export("texts.db", "--decimals", "text").0.map { $0[0] } == [.text("10.11"), .text("9")])
    try store.execute("UPDATE ZBOOK SET ZPRICE = 'NaN' WHERE Z_PK = 1")
    let held = try export("nan.db")
    #expect(held.0.map { $0[0] } == [.integer(9), .text("NaN")])
    #expect(held.1.contains("1 decimal has more digits than a number holds, or no value"), "\(held.1)")
  }

  @Test func `names of a SQLite export that differ only in case get a number`() {
    var names = SQLiteNames()
    #expect(
      ["name", "Name", "NAME", "name_2", "", "sqlite_x", "a\u{0}b"].map { names.add($0) } == [
        "name", "Name_2", "NAME_3", "name_2_2", "_", "_sqlite_x", "a_b",
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
    let wrong: [[String]] = [
      [], ["--all"], ["--all", "--entity", "Book"], ["--all", "--subentities", "-o", "x"],
      ["--entity", "Book", "--format", "sqlite"], ["--entity", "Book", "--decimals", "text"],
    ]
    for arguments in wrong {
      let result = tiny.run(arguments + ["--model", tiny.model])
      #expect(result.status == 64 && result.diagnostics.contains("expected"), "\(arguments): \(result.diagnostics)")
    }
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
    #expect(DateText.text(seconds) == text)
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
      let folder = try TemporaryFolder()
      let session = CommandSession(output: .memory(), diagnostics: .memory())
      let file = folder.file("out.db")
      let status = GodwitCommand.run(
        arguments: ["export", path, "--all", "--format", "sqlite", "-o", file], in: session)
      #expect(status == 0, "\(path): \(session.diagnostics.text)")
      let made = try StoreConnection(path: file)
      let reader = try ObjectReader(path: path, model: cached.model)
      for entity in cached.model.entities where !entity.isAbstract {
        var count: Int64 = 0
        try reader.forEachObject(of: [entity.name]) { _ in
          count += 1
          return true
        }
        #expect(try made.integer("SELECT count(*) FROM \"\(entity.name)\"") == count)
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
      let properties = lines.head.isEmpty ? 2 + reader.propertyNames(of: entity).count : 0
      var count: Int64 = 0
      try reader.forEachObject(of: [entity]) { object in
        count += 1
        var (line, fields) = ("", "")
        try lines.write(object) { line += $0 }
        try records.write(object) { fields += $0 }
        guard count <= 200 else { return true }
        let parsed = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        #expect(parsed?.count == properties)
        #expect(fields.hasSuffix("\r\n"))
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
