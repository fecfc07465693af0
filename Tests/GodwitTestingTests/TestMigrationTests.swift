import Foundation
import GodwitModel
import GodwitStore
import GodwitTesting
import TestSupport
import Testing

@Suite struct TestMigrationTests {
  @Test func `a policy's objects come back with their values and relationships`() throws {
    let home = SourceObject("Home", ["street": "5 Elm St"])
    let ada = SourceObject("Person", ["fullName": "Ada Lovelace", "age": 36, "home": home])
    let result = try TestWorld.migration(["Names": { Names() }])
      .migrate(ada, SourceObject("Person", ["fullName": "Kurt Gödel", "friends": [ada]]))
    let people = try result.objects("Person")
    #expect(try people.map { try $0.string("given") } == ["Ada", "Kurt"])
    #expect(try people.map { try $0.integer("age") } == [36, nil])
    #expect(people.map(\.key) == [1, 2])
    #expect(try people[0].object("home")?.string("street") == "5 Elm St")
    #expect(try people[0].objects("friends") == [people[1]])
    #expect(result.summary.objects == 3)
    #expect(result.report.checks.contains { $0.name.hasPrefix("not proved") })
  }

  @Test func `a value of every type is written and read back`() throws {
    let types: [(String, AttributeType, any SourceValue)] = [
      ("small", .integer16, Int16.max), ("medium", .integer32, Int32.min), ("large", .integer64, Int64.max),
      ("whole", .integer64, 7), ("double", .double, 1.25), ("asInteger", .double, 3), ("float", .float, Float(0.5)),
      ("decimal", .decimal, 19.75), ("exact", .decimal, Decimal(12)), ("text", .string, "naïve\n"),
      ("truth", .boolean, true), ("date", .date, Date(timeIntervalSinceReferenceDate: 86_400)),
      ("bytes", .binary, Data([1, 0, 2])), ("opaque", .transformable, Data([3])),
      ("uuid", .uuid, try #require(UUID(uuidString: "0B0E1E5A-0000-4000-8000-000000000001"))),
      ("uri", .uri, try #require(URL(string: "https://example.com/a?b"))), ("asText", .uri, "urn:a"),
      ("raw", .string, AttributeValue.string(Text(utf8: [0xFF]))),
    ]
    let model = try ManagedObjectModel(
      name: "1",
      entities: [EntityDescription(name: "Thing", attributes: types.map { TestWorld.attribute($0.0, $0.1) })])
    let values = Dictionary(uniqueKeysWithValues: types.map { ($0.0, Optional($0.2)) })
    let migration = try TestMigration(from: model, to: model, mapping: .inferred)
    let thing = try #require(try migration.migrate(SourceObject("Thing", values)).objects("Thing").first)
    #expect(try thing.integer("small") == 32_767)
    #expect(try thing.integer("medium") == -2_147_483_648)
    #expect(try thing.integer("large") == .max)
    #expect(try thing.integer("whole") == 7)
    #expect(try thing.double("double") == 1.25)
    #expect(try thing.double("asInteger") == 3)
    #expect(try thing.double("float") == 0.5)
    #expect(try thing.decimal("decimal") == Decimal(string: "19.75"))
    #expect(try thing.decimal("exact") == 12)
    #expect(try thing.string("text") == "naïve\n")
    #expect(try thing.boolean("truth") == true)
    #expect(try thing.date("date") == Date(timeIntervalSinceReferenceDate: 86_400))
    #expect(try thing.data("bytes") == Data([1, 0, 2]))
    #expect(try thing.data("opaque") == Data([3]))
    #expect(try thing.uuid("uuid")?.uuidString == "0B0E1E5A-0000-4000-8000-000000000001")
    #expect(try thing.string("uri") == "https://example.com/a?b")
    #expect(try thing.string("asText") == "urn:a")
    #expect(try thing.attributeValue("raw") == .string(Text(utf8: [0xFF])))
  }

  @Test func `relationships of every kind are written from either side, in their order`() throws {
    let (a, b, c) = (
      SourceObject("Person", ["fullName": "a"]), SourceObject("Pupil", ["fullName": "b", "grade": 3]),
      SourceObject("Person", key: 9, ["fullName": "c"])
    )
    var d = SourceObject("Person", ["fullName": "d", "spouse": c])
    d["friends"] = [a, b]
    let objects = [
      a, b, c, d, SourceObject("Home", ["people": [c, a]]),
      SourceObject("List", ["title": "x", "members": [b, d, a]]),
      SourceObject("List", ["title": "y", "members": [d]]),
    ]
    let result = try TestWorld.migration(["Names": { Names() }]).migrate(objects)
    let people = try result.objects("Person")
    #expect(people.map(\.description) == ["Person p1", "Pupil p2", "Person p3", "Person p9"])
    #expect(try result.objects("Pupil").map { try $0.integer("grade") } == [3])
    #expect(try result.objects("Home")[0].objects("people").map(\.key) == [9, 1])
    #expect(try people[3].object("home")?.key == 1)
    #expect(try people[3].object("spouse") == people[2])
    #expect(try people[2].object("spouse") == people[3])
    #expect(try people[2].objects("friends").map(\.key) == [1, 2])
    #expect(try people[0].objects("friends").map(\.key) == [3])
    #expect(try result.objects("List").map { try $0.objects("members").map(\.key) } == [[2, 3, 1], [3]])
    #expect(try people[2].objects("lists").map { try $0.string("title") } == ["x", "y"])
  }

  @Test func `the copy of an object that was changed last is the one that is written`() throws {
    var first = SourceObject("Person", ["fullName": "old"])
    let second = SourceObject("Person", ["fullName": "second", "spouse": first])
    first["fullName"] = "new"
    first["spouse"] = second
    let result = try TestWorld.migration(["Names": { Names() }]).migrate(second, first)
    #expect(try result.objects("Person").map { try $0.string("given") } == ["second", "new"])
    #expect(try result.objects("Person")[1].object("spouse")?.key == 1)
    let old = first
    first["fullName"] = "newest"
    let friend = SourceObject("Person", ["fullName": "friend", "friends": [first]])
    let people = try TestWorld.migration(["Names": { Names() }]).migrate(old, friend).objects("Person")
    #expect(try people.map { try $0.string("given") } == ["newest", "friend", "second"])
  }

  // MARK: Errors

  @Test(arguments: [
    (["Persom"], "model '1' has no such entity (did you mean 'Person'?)", "write one of Home, List, Person, Pupil"),
    (
      ["Person", "fulName"], "it has no attribute or relationship 'fulName' (did you mean 'fullName'?)", "write one of"
    ),
    (["Person", "age", "text"], "attribute 'age' takes an integer from -2147483648 to 2147483647, found text", "`1`"),
    (["Pupil", "grade", "40000"], "attribute 'grade' takes an integer from -32768 to 32767, found 40000", "`1`"),
    (["Person", "fullName", "7"], "attribute 'fullName' takes text, found an integer", "`\"text\"`"),
    (["Person", "home", "text"], "to-one 'home' takes one object, found text", "an object of 'Home'"),
    (
      ["Person", "friends", "object"], "to-many 'friends' takes an array of objects, found an object of 'List'",
      "[object]"
    ),
    (
      ["Person", "home", "object"], "relationship 'home' leads to 'Home', found an object of 'List'", "object of 'Home'"
    ),
    (["Person"], "required attribute 'fullName' has no value, and the model gives no default", "or `nil`"),
  ])
  func `an object that does not fit the model is an error with its place in the test`(
    words: [String], message: String, remedy: String
  ) throws {
    let value: (any SourceValue)? =
      switch words.last {
      case "object": SourceObject("List")
      case let text?: Int(text).map { $0 as any SourceValue } ?? text
      case nil: nil
      }
    let line = #line + 1
    let object = SourceObject(words[0], words.count > 1 ? [words[1]: value] : [:])
    let migration = try TestWorld.migration(["Names": { Names() }])
    let error = try #require(throws: GodwitError.self) { try migration.migrate(object) }
    #expect(error.code == .usage)
    #expect(error.message == "cannot make an object of entity '\(words[0])': " + message)
    #expect(error.remedy?.contains(remedy) == true, "\(error)")
    #expect(error.location?.file.hasSuffix("TestMigrationTests.swift") == true)
    #expect(error.location?.line == line)
  }

  @Test func `the error that the page shows is the one that is printed`() throws {
    let root = PeoplizerStores.folder.deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(
      contentsOf: root.appending(path: "Sources/Godwit/Godwit.docc/Policies.md"), encoding: .utf8)
    let shown = try #require(page.components(separatedBy: "```text\n").last?.components(separatedBy: "\n```").first)
    let migration = try TestMigration(
      models: root.appending(path: "jobs/todo/TodoList.xcdatamodeld"), from: "TodoList", mapping: .inferred)
    let error = try #require(throws: GodwitError.self) {
      try migration.migrate(
        SourceObject("ListEntry", ["nam": "apples"], file: "TodoTests.swift", line: 12, column: 14))
    }
    #expect(error.description == shown)
  }

  @Test func `nil writes no value where the model wants one`() throws {
    let result = try TestWorld.migration(["Names": { Names() }]).migrate(SourceObject("Person", ["fullName": nil]))
    #expect(try result.objects("Person").map { try $0.string("given") } == [nil])
  }

  @Test func `a required relationship may be named from the other side, and is an error when it leads nowhere`() throws
  {
    let model = try ManagedObjectModel(
      name: "1",
      entities: [
        EntityDescription(
          name: "Page", relationships: [TestWorld.toOne("book", "Book", inverse: "pages", isOptional: false)]),
        EntityDescription(name: "Book", relationships: [TestWorld.toMany("pages", "Page", inverse: "book")]),
      ])
    let migration = try TestMigration(from: model, to: model, mapping: .inferred)
    let page = SourceObject("Page")
    #expect(try migration.migrate(SourceObject("Book", ["pages": [page]])).objects("Page").count == 1)
    let error = try #require(throws: GodwitError.self) { try migration.migrate(page) }
    #expect(error.message.hasSuffix("required relationship 'book' leads to no object"))
    let twice = try #require(throws: GodwitError.self) {
      try migration.migrate(SourceObject("Book", ["pages": [page]]), SourceObject("Book", ["pages": [page]]))
    }
    #expect(twice.message.hasSuffix("to-one 'book' would lead to two objects"))
  }

  @Test func `two objects of one table cannot have the same key`() throws {
    let error = try #require(throws: GodwitError.self) {
      try TestWorld.migration(["Names": { Names() }])
        .migrate(SourceObject("Person", key: 4, ["fullName": "a"]), SourceObject("Pupil", key: 4, ["fullName": "b"]))
    }
    #expect(error.message.hasSuffix("key 4 is taken by another object of the same table"))
  }

  @Test func `a name that the destination does not have is an error with the nearest name`() throws {
    let result = try TestWorld.migration(["Names": { Names() }]).migrate(SourceObject("Person", ["fullName": "a"]))
    let person = try #require(result.objects("Person").first)
    let errors = [
      try #require(throws: GodwitError.self) { try result.objects("Hom") },
      try #require(throws: GodwitError.self) { try person.string("fullName") },
      try #require(throws: GodwitError.self) { try person.string("home") },
      try #require(throws: GodwitError.self) { try person.objects("fiends") },
    ]
    #expect(errors.allSatisfy { $0.code == .usage && $0.remedy != nil })
    #expect(errors[0].message.contains("did you mean 'Home'?"))
    #expect(errors[1].message == "cannot read 'fullName': 'Person' has no such attribute")
    #expect(errors[2].remedy == "read the relationship with `objects(\"home\")`")
    #expect(errors[3].message.contains("did you mean 'friends'?"))
    let type = try #require(throws: GodwitError.self) { try person.integer("given") }
    #expect(type.message == "Person p1: attribute 'given' holds text, not an integer")
  }

  // MARK: Mappings and policies

  @Test func `a policy that no mapping names, or that is not registered, is an error`() throws {
    let unused = try #require(throws: GodwitError.self) { try TestWorld.migration(["Name": { Names() }]) }
    #expect(unused.message == "policy 'Name' is registered, but no mapping names it (did you mean 'Names'?)")
    let qualified = try TestMigration(
      from: TestWorld.source(), to: TestWorld.destination(), mapping: .model(TestWorld.mapping(policy: "App.Names")),
      policies: ["Names": { Names() }])
    #expect(try qualified.migrate(SourceObject("Person", ["fullName": "a b"])).objects("Person").count == 1)
    let missing = try #require(throws: GodwitError.self) {
      try TestWorld.migration([:]).migrate(SourceObject("Person", ["fullName": "a"]))
    }
    #expect(missing.code == .configuration)
    #expect(missing.message.contains("no policy 'Names' is registered"))
  }

  @Test func `a mapping is read from Xcode's file and from YAML`() throws {
    let folder = try TemporaryFolder()
    let models = PeoplizerStores.folder.appending(path: "Peoplizer.xcdatamodeld")
    var fixture = MappingFixture()
    fixture.mapping(
      "Person", "Person", number: 1,
      attributes: [["name": "name"]], more: ["name": "PersonToPerson"])
    let xcode = folder.file("M.xcmappingmodel")
    try FileManager.default.createDirectory(atPath: xcode, withIntermediateDirectories: false)
    try Data(fixture.document(source: "Peoplizer", destination: "Peoplizer 2"))
      .write(to: URL(filePath: xcode + "/xcmapping.xml"))
    let yaml = folder.file("m.mapping.yaml")
    try """
    godwit-mapping: 1
    entity-mappings:
      - { name: P, source: Person, destination: Person, attributes: { name: "$source.name" } }
    """.write(toFile: yaml, atomically: true, encoding: .utf8)
    for file in [xcode, yaml] {
      let migration = try TestMigration(
        models: models, from: "Peoplizer", to: "Peoplizer 2", mapping: .file(URL(filePath: file)))
      let people = try migration.migrate(SourceObject("Person", ["name": "Ada"])).objects("Person")
      #expect(try people.map { try $0.string("name") } == ["Ada"])
    }
    let wrong = try #require(throws: GodwitError.self) {
      try TestMigration(models: models, from: "Peoplizer", to: "Peoplizer 2", mapping: .file(models))
    }
    #expect(wrong.message.hasPrefix("cannot use mapping 'Peoplizer.xcdatamodeld': expected a mapping model"))
    let version = try #require(throws: GodwitError.self) {
      try TestMigration(models: models, from: "Peoplizer", to: "Peoplizer 22", mapping: .inferred)
    }
    #expect(version.code == .missingInput)
  }

  @Test func `an error of a policy comes through`() throws {
    struct Failing: EntityMigrationPolicy {
      struct Problem: Error {}
      func end(_ mapping: EntityMapping, manager: inout PolicyContext) throws { throw Problem() }
    }
    let error = try #require(throws: GodwitError.self) {
      try TestWorld.migration(["Names": { Failing() }]).migrate(SourceObject("Person", ["fullName": "a"]))
    }
    #expect(error.code == .dataWrong)
  }

  /// Numbers the people by a property, which is lost when the process ends.
  final class Counting: EntityMigrationPolicy {
    private var count: Int64 = 0

    func createDestinationInstances(
      forSource person: ManagedObject, in mapping: EntityMapping, manager: inout PolicyContext
    ) throws {
      count += 1
      var made = try manager.createDestinationInstance(forSource: person, in: mapping)
      made["age"] = .integer(count)
      try manager.insert(made)
      manager.associate(sourceInstance: person, withDestinationInstance: made, for: mapping)
    }
  }

  @Test func `a policy that loses its state when a run is resumed is found`() throws {
    var migration = try TestWorld.migration(["Names": { Counting() }])
    let people = (1...3).map { SourceObject("Person", ["fullName": "\($0)"]) }
    let error = try #require(throws: GodwitError.self) { try migration.migrate(people) }
    #expect(error.code == .findings)
    #expect(error.message == "a run that is stopped and resumed gives other objects: Person p2 has another 'age'")
    migration.checksResume = false
    #expect(try migration.migrate(people).objects("Person").map { try $0.integer("age") } == [1, 2, 3])
  }

  @Test func `what the verifier finds is an error that lists it`() throws {
    var migration = try TestWorld.migration(["Names": { Names() }])
    // No policy can do this: it may not change objects of mappings without one.
    migration.willVerify = { path in
      let store = try StoreConnection(path: path)
      try store.execute("UPDATE ZHOME SET ZSTREET = 'elsewhere'")
      try store.close()
    }
    let error = try #require(throws: GodwitError.self) {
      try migration.migrate(SourceObject("Home", ["street": "5 Elm St"]))
    }
    #expect(error.code == .findings)
    #expect(error.message == "the destination is not what the mapping says; findings of the verifier: 1")
    #expect(error.cause?.hasPrefix("value: Home.street p1") == true, "\(error)")
  }

  @Test func `no file is left behind, also after an error`() throws {
    let folder = try TemporaryFolder()
    var migration = try TestWorld.migration(["Names": { Names() }])
    migration.parentFolder = folder.path
    _ = try migration.migrate(SourceObject("Person", ["fullName": "a"]))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    migration = try TestWorld.migration(["Names": { Counting() }])
    migration.parentFolder = folder.path
    #expect(throws: GodwitError.self) {
      try migration.migrate((1...3).map { SourceObject("Person", ["fullName": "\($0)"]) })
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
  }

  @Test func `many migrations run beside each other`() async throws {
    let migration = try TestWorld.migration(["Names": { Names() }])
    try await withThrowingTaskGroup(of: String?.self) { group in
      for number in 0..<8 {
        group.addTask {
          try migration.migrate(SourceObject("Person", ["fullName": "p\(number) x"])).objects("Person")[0].string(
            "given")
        }
      }
      let names = try await group.reduce(into: Set<String?>()) { $0.insert($1) }
      #expect(names == Set((0..<8).map { "p\($0)" }))
    }
  }
}
