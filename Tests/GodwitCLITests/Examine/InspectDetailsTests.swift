import Foundation
import GodwitCLI
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

private func runGodwit(_ arguments: String...) -> (status: Int32, output: String, diagnostics: String) {
  let session = CommandSession(output: .memory(), diagnostics: .memory())
  let status = GodwitCommand.run(arguments: arguments, in: session)
  return (status, session.output.text, session.diagnostics.text)
}

/// A store of people, and its model beside it.
private struct PeopleStore {
  let folder: TemporaryFolder
  var store: String { folder.file("people.sqlite") }
  var model: String { folder.file("People.xcdatamodel") }

  init() throws {
    folder = try TemporaryFolder()
    var friends = RelationshipDescription(
      name: "friends", destinationEntityName: "Person", inverseName: "admirers", isToMany: true)
    friends.isOptional = true
    let person = EntityDescription(
      name: "Person",
      attributes: [
        AttributeDescription(name: "age", type: .integer16), AttributeDescription(name: "born", type: .date),
        AttributeDescription(name: "name", type: .string), AttributeDescription(name: "photo", type: .binary),
      ],
      relationships: [
        RelationshipDescription(
          name: "admirers", destinationEntityName: "Person", inverseName: "friends", isToMany: true), friends,
        RelationshipDescription(name: "home", destinationEntityName: "Home", inverseName: "people"),
      ])
    let home = EntityDescription(
      name: "Home",
      relationships: [
        RelationshipDescription(name: "people", destinationEntityName: "Person", inverseName: "home", isToMany: true)
      ])
    let worker = EntityDescription(name: "Worker", superentityName: "Person")
    let model = try ManagedObjectModel(name: "People", entities: [person, home, worker])
    try FileManager.default.createDirectory(atPath: self.model, withIntermediateDirectories: true)
    try Data(model.xcodeContents.utf8).write(to: URL(filePath: self.model + "/contents"))
    let builder = try StoreBuilder(path: store, model: model, metadata: StoreMetadata(model: model))
    try builder.insert(
      "Person", attributes: ["age": .integer(7), "born": .date(0), "name": .init("Zoë"), "photo": .data([1, 2, 3])],
      relationships: ["home": [1], "friends": [2, 3]])
    try builder.insert("Person", attributes: ["age": .integer(-3), "name": .init("")], relationships: ["home": [1]])
    try builder.insert("Worker", attributes: ["age": .integer(99)], relationships: ["friends": [1]])
    try builder.insert("Home")
    try builder.finish()
  }
}

struct `Details of a store` {
  @Test func `inspect shows types, NULL counts, minima, maxima, sizes and links of every property`() throws {
    let people = try PeopleStore()
    let plain = runGodwit("inspect", people.store, "--models", people.model)
    let result = runGodwit("inspect", people.store, "--models", people.model, "--details")
    #expect(result.status == 0, "\(result.diagnostics)")
    #expect(result.output.hasPrefix(plain.output))
    #expect(
      result.output.dropFirst(plain.output.count) == """
          details
            Home: 1 row
              people  to-many Person, 2 links
            Person: 2 rows
              age       Integer 16, 0 NULL, -3 to 7
              born      Date, 1 NULL, 2001-01-01T00:00:00.000000Z to 2001-01-01T00:00:00.000000Z
              name      String, 0 NULL, 0 to 4 bytes, 4 B in all
              photo     Binary, 1 NULL, 3 to 3 bytes, 3 B in all
              admirers  to-many Person, 2 links
              friends   to-many Person, 2 links
              home      to-one Home, 0 NULL, 2 links
            Worker: 1 row
              age       Integer 16, 0 NULL, 99 to 99
              born      Date, 1 NULL
              name      String, 1 NULL
              photo     Binary, 1 NULL
              admirers  to-many Person, 1 link
              friends   to-many Person, 1 link
              home      to-one Home, 1 NULL, 0 links

        """)
    let json = runGodwit("inspect", people.store, "--models", people.model, "--details", "--format", "json")
    let document = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
    let entities = (document["details"] as? [String: Any])?["entities"] as? [[String: Any]]
    #expect(entities?.compactMap { $0["rows"] as? Int } == [1, 2, 1])
    let missing = runGodwit("inspect", people.store, "--details")
    #expect(missing.status == 64 && missing.diagnostics.contains("--models") && missing.output.contains("entities"))
  }
}

struct `SQLite's check of a store` {
  @Test func `inspect --check finds an index that lacks its rows`() throws {
    let job = try BreakableJob()
    try job.sql("CREATE INDEX pages ON ZBOOK (ZPAGES)")
    let store = job.file("library.sqlite")
    let schema = try JSONSchema(text: runGodwit("schema", "inspect").output)
    func check(_ status: Int32, _ isSound: Bool) throws -> String {
      let text = runGodwit("inspect", store, "--check")
      #expect(text.status == status, "\(text)")
      #expect(text.output.contains("\n  SQLite check \(isSound ? "ok" : "failed")\n"), "\(text.output)")
      let json = runGodwit("inspect", store, "--check", "--format", "json")
      let document = try JSONValue(parsing: json.output)
      #expect(json.status == status && schema.findings(document) == [])
      #expect(document["check"]?["isSound"] == .boolean(isSound))
      let table = runGodwit("inspect", store, job.file("job.yaml"), "--check")
      #expect(table.status == status, "\(table)")
      return text.diagnostics
    }
    #expect(try check(0, true).isEmpty)
    #expect(!runGodwit("inspect", store).output.contains("SQLite check"))
    var bytes = try Data(contentsOf: URL(filePath: store))
    let place = try #require(bytes.range(of: Data("INDEX pages ON ZBOOK (ZPAGES)".utf8)))
    bytes.replaceSubrange(place, with: Data("INDEX pages ON ZBOOK (ZTITLE)".utf8))
    try job.write("library.sqlite", bytes)
    #expect(runGodwit("inspect", store).status == 0)
    let told = try check(65, false)
    #expect(told.contains("missing from index pages") && told.contains("godwit salvage STORE"), "\(told)")
  }
}

struct `Inspecting several files` {
  @Test func `several paths, a pattern and a folder give one table, and an array in JSON`() throws {
    let people = try PeopleStore()
    let other = people.folder.file("other.sqlite")
    try FileManager.default.copyItem(atPath: people.store, toPath: other)
    for arguments in [
      [people.model, other, people.store], [people.folder.path + "/*"], [people.folder.path],
    ] {
      let session = CommandSession(output: .memory(), diagnostics: .memory())
      let status = GodwitCommand.run(arguments: ["inspect"] + arguments, in: session)
      #expect(status == 0, "\(session.diagnostics.text)")
      let lines = session.output.text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
      #expect(lines.first == ["PATH", "KIND", "SIZE", "ENTITIES", "OBJECTS", "MODEL"])
      #expect(lines.dropFirst().map { $0[0] }.sorted() == [people.model, other, people.store].sorted())
      #expect(lines.contains { $0[0] == other && $0.suffix(2) == ["3", "4"] }, "\(session.output.text)")
    }
    let json = runGodwit("inspect", people.folder.path, "--format", "json")
    let array = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [[String: Any]]
    #expect(array?.count == 3 && array?.allSatisfy { $0["kind"] != nil && $0["error"] == nil } == true)
    let model = runGodwit("inspect", people.model + "/..", "--models", people.model)
    #expect(model.status == 0)
  }

  @Test func `a file that cannot be read has its line, and the exit status is its own`() throws {
    let people = try PeopleStore()
    let none = people.folder.file("none.sqlite")
    let result = runGodwit("inspect", people.store, none)
    #expect(result.status == 66 && result.output.contains("Core Data store") && result.output.contains("unreadable"))
    #expect(result.diagnostics.contains("cannot read 1 of 2 files"))
    let json = runGodwit("inspect", none, people.store, "--format", "json")
    #expect(json.status == 66)
    let array = try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [[String: Any]]
    #expect((array?.first?["error"] as? [String: Any])?["status"] as? Int == 66)
  }
}

struct `Inspecting damaged files` {
  @Test func `a store without metadata shows its tables, counts and SQLite's check`() throws {
    let people = try PeopleStore()
    let connection = try StoreConnection(path: people.store)
    try connection.execute("DROP TABLE Z_METADATA")
    try connection.close()
    let result = runGodwit("inspect", people.store)
    #expect(result.status == 65 && result.diagnostics.contains("'Z_METADATA'"))
    #expect(result.output.contains(": SQLite file\n  tables\n"), "\(result.output)")
    #expect(result.output.contains("    ZPERSON: 3 rows\n") && result.output.hasSuffix("  SQLite check ok\n"))
  }

  @Test func `a damaged page is reported beside the tables that can be read`() throws {
    let people = try PeopleStore()
    let connection = try StoreConnection(path: people.store)
    // The summary counts by the index on Z_ENT, which would hide the page.
    for row in try connection.rows("SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = 'ZPERSON'") {
      if case .text(let name) = row[0] {
        try connection.execute("DROP INDEX \"\(String(decoding: name, as: UTF8.self))\"")
      }
    }
    let page = try connection.integer("SELECT rootpage FROM sqlite_master WHERE name = 'ZPERSON'") ?? 0
    try connection.close()
    let file = try #require(FileHandle(forUpdatingAtPath: people.store))
    try file.seek(toOffset: UInt64(page - 1) * 4096)
    try file.write(contentsOf: Data(repeating: 0xA5, count: 4096))
    try file.close()
    let result = runGodwit("inspect", people.store, "--format", "json")
    #expect(result.status == 65)
    let document = try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
    let database = try #require(document["database"] as? [String: Any])
    let tables = try #require(database["tables"] as? [[String: Any]])
    #expect(tables.first { $0["name"] as? String == "ZPERSON" }?["problem"] != nil)
    #expect(tables.first { $0["name"] as? String == "ZHOME" }?["rows"] as? Int == 1)
    #expect((database["complaints"] as? [String])?.isEmpty == false)
    // A reader of JSON that looks for the error finds it as for every verb.
    #expect(document["type"] as? String == "error" && document["status"] as? Int == 65)
    #expect((document["message"] as? String)?.isEmpty == false && document["path"] as? String == people.store)
  }

  @Test func `a file that is cut off shows the tables whose pages are there`() throws {
    let people = try PeopleStore()
    let connection = try StoreConnection(path: people.store)
    let last = try connection.integer("SELECT max(rootpage) FROM sqlite_master") ?? 0
    try connection.close()
    let whole = try Data(contentsOf: URL(filePath: people.store))
    try whole.prefix(Int(last - 1) * 4096).write(to: URL(filePath: people.store))
    let result = runGodwit("inspect", people.store)
    #expect(result.status == 65 && result.diagnostics.contains("people.sqlite"), "\(result.diagnostics)")
    #expect(result.output.contains("    ZPERSON: 3 rows\n"), "\(result.output)")
    #expect(result.output.contains("  SQLite check failed\n"))
    #expect(try Data(contentsOf: URL(filePath: people.store)) == whole.prefix(Int(last - 1) * 4096))
  }
}
