import Foundation
import GodwitCLI
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// A bundle of `Notes`, `Notes 2` and the current `Notes 3`, and a store of the first with three rows.
private struct Notes {
  let folder: TemporaryFolder
  let bundle: String
  let store: String
  let models: [ManagedObjectModel]

  init() throws {
    folder = try TemporaryFolder()
    bundle = folder.file("Notes.xcdatamodeld")
    store = folder.file("notes.sqlite")
    var title = AttributeDescription(name: "title", type: .string)
    let first = try ManagedObjectModel(name: "Notes", entities: [EntityDescription(name: "Note", attributes: [title])])
    title.isOptional = false
    let second = try ManagedObjectModel(
      name: "Notes 2", entities: [EntityDescription(name: "Note", attributes: [title])])
    let stars = AttributeDescription(name: "stars", type: .integer16)
    let third = try ManagedObjectModel(
      name: "Notes 3", entities: [EntityDescription(name: "Note", attributes: [title, stars])])
    models = [first, second, third]
    for model in models {
      let version = bundle + "/\(model.name).xcdatamodel"
      try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
      try Data(model.xcodeContents.utf8).write(to: URL(filePath: version + "/contents"))
    }
    let marker = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": "Notes 3.xcdatamodel"], format: .xml, options: 0)
    try marker.write(to: URL(filePath: bundle + "/.xccurrentversion"))
    let builder = try StoreBuilder(path: store, model: first)
    for title in [AttributeValue.null, .null, AttributeValue("private words")] {
      try builder.insert("Note", attributes: ["title": title])
    }
    try builder.finish()
  }

  func version(_ name: String) -> String { "\(bundle)/\(name).xcdatamodel" }
}

private func why(_ arguments: String...) -> (status: Int32, output: String, diagnostics: String) {
  let session = CommandSession(output: .memory(), diagnostics: .memory())
  let status = GodwitCommand.run(arguments: ["why"] + arguments, in: session)
  return (status, session.output.text, session.diagnostics.text)
}

private func object(_ text: String) throws -> [String: Any] {
  try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
}

struct `The verb why` {
  @Test func `why exits with 0 if the version fits`() throws {
    let notes = try Notes()
    let result = why(notes.store, notes.bundle + "#Notes")
    #expect(result.status == 0)
    #expect(result.output == "compatible: 'Notes' fits '\(notes.store)'\n")
    #expect(result.diagnostics.isEmpty)
  }

  @Test func `why exits with 69 if a mapping model is missing, after a full report`() throws {
    let notes = try Notes()
    let result = why(notes.store, notes.bundle)
    #expect(result.status == 69)
    #expect(
      result.output == """
        a migration is needed: 'Notes 3' does not fit '\(notes.store)'
          fits      'Notes'
          first     Note.stars: the store's model has no such attribute
          from 'Notes' to 'Notes 3'
            Note.stars: attribute added (Integer 16, optional)
            Note.title: optional to required, no default, 2 rows are null: needs a mapping
          path      `mappings: auto` finds no path

        """)
    #expect(result.diagnostics.hasPrefix("godwit: no path leads from 'Notes' to 'Notes 3'\n"))
  }

  @Test func `why marks changes that can be inferred`() throws {
    let notes = try Notes()
    let result = why(notes.version("Notes 2"), "--against", notes.version("Notes 3"))
    #expect(result.status == 2)
    #expect(
      result.output == """
        a migration is needed: 'Notes 3' does not fit 'Notes 2'
          fits      'Notes 2'
          first     Note.stars: the store's model has no such attribute
          from 'Notes 2' to 'Notes 3'
            Note.stars: attribute added (Integer 16, optional)
          path      `mappings: auto`: 'Notes 2' to 'Notes 3' inferred

        """)
  }

  @Test func `why --against counts no rows`() throws {
    let notes = try Notes()
    let result = why(notes.bundle + "#Notes", "--against", notes.bundle + "#Notes 2")
    #expect(result.status == 69)
    #expect(
      result.output.contains(
        "    Note.title: optional to required, no default: needs a mapping if rows prevent inference\n"))
    #expect(result.output.contains("  path      `mappings: auto` finds no path\n"))
    #expect(result.diagnostics.contains("Note.title: optional to required without a default"))
  }

  @Test func `why finds a model compatible with itself`() throws {
    let notes = try Notes()
    let result = why(notes.bundle, "--against", notes.bundle)
    #expect(result.status == 0)
    #expect(result.output == "compatible: 'Notes 3' fits 'Notes 3'\n")
  }

  @Test func `why exits with 69 if no model fits, with a report`() throws {
    let notes = try Notes()
    let result = why(notes.store, notes.version("Notes 2"))
    #expect(result.status == 69)
    #expect(
      result.output == """
        no version fits: the store's own model is unknown, 'Notes 2' does not fit '\(notes.store)'
          first     Note.title: the store's model says optional
          by hashes
            entity Note: the hashes differ
              Note.title: the store's model says optional

        """)
    #expect(result.diagnostics.hasPrefix("godwit: no model fits the store '\(notes.store)'\n"))
    #expect(result.diagnostics.contains("  cause   Note.title: the store's model says optional\n"))
  }

  @Test func `why --format json holds the same facts`() throws {
    let notes = try Notes()
    let needed = why(notes.store, notes.bundle, "--format", "json")
    #expect(needed.status == 69)
    let record = try object(needed.output)
    #expect(record["verdict"] as? String == "migration-needed")
    #expect(record["model"] as? String == "Notes 3")
    #expect(record["source"] as? String == notes.store)
    #expect(record["fitting"] as? [String] == ["Notes"])
    #expect(record["migrationPath"] as? String == "mapping")
    #expect(record["first"] as? String == "Note.stars: the store's model has no such attribute")
    let changes = try #require(record["changes"] as? [[String: Any]])
    #expect(changes.map { $0["effort"] as? String } == ["inferable", "mapping"])
    #expect(changes.map { $0["rows"] as? Int } == [nil, 2])
    #expect(changes.map { $0["property"] as? String } == ["stars", "title"])
    let unknown = why(notes.store, notes.version("Notes 3"), "--format", "json")
    #expect(unknown.status == 69)
    let differences = try #require(try object(unknown.output)["differences"] as? [[String: Any]])
    #expect(differences.map { $0["kind"] as? String } == ["hashes-differ"])
    // Two facts differ, so no single one explains the hash.
    #expect(differences.first?["reason"] == nil)
  }

  @Test func `an unconfirmed hash rule gives a warning on standard error`() throws {
    let folder = try TemporaryFolder()
    let twin = RelationshipDescription(name: "twin", destinationEntityName: "Note", inverseName: "twin")
    let model = try ManagedObjectModel(name: "M", entities: [EntityDescription(name: "Note", relationships: [twin])])
    let path = folder.file("M.xcdatamodel")
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    try Data(model.xcodeContents.utf8).write(to: URL(filePath: path + "/contents"))
    let result = why(path, "--against", path)
    #expect(result.status == 0)
    #expect(
      result.diagnostics == "godwit: warning: the hash relies on an unconfirmed rule: "
        + "Note.twin: a relationship that is its own inverse counts as one without inverse\n")
  }

  @Test func `an unreadable version is named, and the readable ones are listed`() throws {
    let notes = try Notes()
    let damaged = notes.version("Notes 2") + "/contents"
    try Data("<model>\n<<<<<<< HEAD\n".utf8).write(to: URL(filePath: damaged))
    let fits = why(notes.store, notes.bundle)
    #expect(fits.status == 69)
    #expect(!fits.output.contains("not considered"), "a version that nobody needs is not looked at")
    let asked = why(notes.store, notes.bundle + "#Notes 2")
    #expect(asked.status == 66)
    #expect(asked.diagnostics.contains("\(damaged):2:1: "))
    #expect(asked.diagnostics.contains("these versions can be read: 'Notes', 'Notes 3'"))

    func inspect(_ path: String) -> (status: Int32, output: String, diagnostics: String) {
      let session = CommandSession(output: .memory(), diagnostics: .memory())
      let status = GodwitCommand.run(arguments: ["inspect", path], in: session)
      return (status, session.output.text, session.diagnostics.text)
    }
    let listed = inspect(notes.bundle)
    #expect(listed.status == 0)
    #expect(listed.output.contains("versions     Notes, Notes 2, Notes 3 (current)"))
    #expect(listed.output.contains("unreadable   \(damaged):2:1: "))
    #expect(inspect(notes.bundle + "#Notes 2").status == 66)
    let table = inspect(notes.folder.path).output
    #expect(table.contains(notes.bundle) && table.contains(notes.store), "a folder with a store too is a table")
    try FileManager.default.removeItem(atPath: notes.store)
    #expect(inspect(notes.folder.path).output.contains("found        \(notes.bundle)"))
    #expect(inspect(notes.version("Notes") + "/contents").output.contains("entities of 'Notes'"))
  }

  @Test func `a job warns in one line of replaced model values, only for the versions it uses`() throws {
    let notes = try Notes()
    func addAge(to version: String, named names: [String]) throws {
      let file = URL(filePath: notes.version(version) + "/contents")
      let more = names.map {
        "<attribute name=\"\($0)\" optional=\"YES\" attributeType=\"Integer 16\" defaultValueString=\"NO\"/>"
      }
      let text = try String(contentsOf: file, encoding: .utf8)
        .replacing("</entity>", with: more.joined() + "</entity>")
      try Data(text.utf8).write(to: file)
    }
    try addAge(to: "Notes 2", named: ["other"])
    try addAge(to: "Notes 3", named: ["age", "size"])
    let manifest = notes.folder.file("job.yaml")
    let yaml = """
      godwit: 1
      job: notes
      source: notes.sqlite
      destination: out.sqlite
      models: Notes.xcdatamodeld
      mappings: inferred
      """
    let relaxed = try String(contentsOf: URL(filePath: notes.version("Notes 3") + "/contents"), encoding: .utf8)
      .replacing("name=\"title\"", with: "name=\"title\" optional=\"YES\"")
    try Data(relaxed.utf8).write(to: URL(filePath: notes.version("Notes 3") + "/contents"))
    try Data(yaml.utf8).write(to: URL(filePath: manifest))
    for verb in ["plan", "run"] {
      let session = CommandSession(output: .memory(), diagnostics: .memory())
      #expect(GodwitCommand.run(arguments: [verb, manifest], in: session) == 0, "\(session.diagnostics.text)")
      let warnings = session.diagnostics.text.split(separator: "\n").filter { $0.hasPrefix("godwit: warning: model") }
      #expect(warnings.count == 1, "\(session.diagnostics.text)")
      let said = "the default value 'NO' is read as 0: 'Note.age' has the type Integer 16"
      #expect(warnings.first?.contains(said) == true)
      #expect(warnings.first?.hasSuffix("; 1 more like it (see `godwit inspect`)") == true)
    }
  }

  @Test func `wrong usage of why is 64`() throws {
    let notes = try Notes()
    for result in [
      why(), why(notes.store), why(notes.store, notes.bundle, "--against", notes.bundle),
      why(notes.bundle, notes.bundle), why(notes.store, notes.bundle, "--format", "xml"),
    ] {
      #expect(result.status == 64)
      #expect(result.output.isEmpty)
      #expect(result.diagnostics.hasPrefix("godwit: "))
    }
    #expect(why(notes.bundle, notes.bundle).diagnostics.contains("--against MODEL"))
  }

  @Test func `a missing store, model or version is 66 for why`() throws {
    let notes = try Notes()
    #expect(why(notes.folder.file("no.sqlite"), notes.bundle).status == 66)
    #expect(why(notes.store, notes.folder.file("No.xcdatamodeld")).status == 66)
    #expect(why(notes.folder.file("No.xcdatamodel"), "--against", notes.bundle).status == 66)
    let version = why(notes.store, notes.bundle + "#Notes 4")
    #expect(version.status == 66)
    #expect(version.diagnostics.contains("did you mean"))
  }

  @Test func `a damaged store is 65 for why`() throws {
    let notes = try Notes()
    try Data("no database".utf8).write(to: URL(filePath: notes.folder.file("text.sqlite")))
    #expect(why(notes.folder.file("text.sqlite"), notes.bundle).status == 65)
    for sql in ["DROP TABLE ZNOTE", "DELETE FROM Z_METADATA", "DROP TABLE Z_PRIMARYKEY"] {
      let path = notes.folder.file("damaged.sqlite")
      try? FileManager.default.removeItem(atPath: path)
      try FileManager.default.copyItem(atPath: notes.store, toPath: path)
      let connection = try StoreConnection(path: path)
      try connection.execute(sql)
      try connection.close()
      let result = why(path, notes.bundle)
      #expect(result.status == 65, "\(sql)")
      #expect(result.output.isEmpty)
    }
  }

  @Test func `a store without hashes fits no model`() throws {
    let notes = try Notes()
    let path = notes.folder.file("bare.sqlite")
    var metadata = StoreMetadata(model: notes.models[0])
    metadata.values[StoreMetadata.Key.versionHashes] = nil
    try StoreBuilder(path: path, model: notes.models[0], metadata: metadata).finish()
    let result = why(path, notes.bundle)
    #expect(result.status == 69)
    #expect(result.output.contains("  first     the store contains no version hashes\n"))
  }

  @Test func `why prints no values of the store`() throws {
    let notes = try Notes()
    for model in [notes.bundle, notes.version("Notes"), notes.version("Notes 2")] {
      for format in ["text", "json"] {
        let result = why(notes.store, model, "--format", format)
        #expect(!(result.output + result.diagnostics).contains("private"))
      }
    }
  }

  @Test func `why works in a read-only folder and changes nothing`() throws {
    let notes = try Notes()
    let manager = FileManager.default
    let before = try Set(manager.contentsOfDirectory(atPath: notes.folder.path))
    let bytes = try Data(contentsOf: URL(filePath: notes.store))
    try manager.setAttributes([.posixPermissions: 0o555], ofItemAtPath: notes.folder.path)
    defer { try? manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: notes.folder.path) }
    #expect(why(notes.store, notes.bundle).status == 69)
    #expect(try Set(manager.contentsOfDirectory(atPath: notes.folder.path)) == before)
    #expect(try Data(contentsOf: URL(filePath: notes.store)) == bytes)
  }

  @Test func `why --hashes tells the version that the hashes of a message belong to`() throws {
    let notes = try Notes()
    let file = notes.folder.file("error.txt")
    func ask(_ model: String, _ text: String) throws -> (status: Int32, output: String, diagnostics: String) {
      try Data(text.utf8).write(to: URL(filePath: file))
      return why(model, "--hashes", file)
    }
    let hashes = try notes.models.map { try #require($0.versionHashes["Note"]).bytes }
    func hex(_ bytes: some Sequence<UInt8>) -> String {
      bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
    let second = "Note = {length = 32, bytes = 0x\(hex(hashes[1].prefix(16))) ... \(hex(hashes[1].suffix(8))) };"
    #expect(try ask(notes.bundle + "#Notes 2", second).output == "compatible: 'Notes 2' fits '\(file)'\n")
    let newer = try ask(notes.bundle, second)
    #expect(newer.status == 2 && newer.output.contains("  fits      'Notes 2'\n"), "\(newer)")
    #expect(newer.output.contains("'Notes 2' to 'Notes 3' inferred"), "\(newer)")
    // A hash without a name, and one of a version that is not there.
    #expect(try ask(notes.bundle, hex(hashes[2])).status == 0)
    let strange = try ask(notes.bundle, "Note: " + hex(hashes[2].reversed()))
    #expect(strange.status == 69 && strange.diagnostics.contains("no version of '\(notes.bundle)' has the hashes"))
    #expect(try ask(notes.bundle, "nothing").status == 65)
    #expect(why(notes.bundle, "--hashes", notes.store).status == 64)
  }

  @Test func `hashes of all entities are those of the version that has no others`() throws {
    let note = EntityDescription(name: "Note", attributes: [AttributeDescription(name: "title", type: .string)])
    let models = [
      try ManagedObjectModel(name: "Notes", entities: [note]),
      try ManagedObjectModel(name: "Notes 2", entities: [note, EntityDescription(name: "Tag", attributes: [])]),
    ]
    let folder = try TemporaryFolder()
    for model in models {
      let version = folder.file("Notes.xcdatamodeld/\(model.name).xcdatamodel")
      try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
      try Data(model.xcodeContents.utf8).write(to: URL(filePath: version + "/contents"))
    }
    let bundle = folder.file("Notes.xcdatamodeld#Notes 2")
    func ask(_ names: String...) throws -> (status: Int32, output: String, diagnostics: String) {
      let lines = try names.map { name in
        "\(name) = \(Data(try #require(models[1].versionHashes[name]).bytes).base64EncodedString());"
      }
      try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: folder.file("hashes.txt")))
      return why(bundle, "--hashes", folder.file("hashes.txt"))
    }
    let older = try ask("Note")
    #expect(older.status == 2 && older.output.contains("  fits      'Notes'\n"), "\(older)")
    let part = try ask("Tag")
    #expect(part.status == 0, "\(part)")
    #expect(try ask("Note", "Tag").status == 0)
  }

  @Test func `the process of why exits with the same status`() throws {
    let notes = try Notes()
    #expect(try BuiltCommand.run("why", notes.store, notes.bundle).status == 69)
    #expect(try BuiltCommand.run("why", notes.store, notes.bundle + "#Notes").status == 0)
    #expect(try BuiltCommand.run("why", notes.store, notes.version("Notes 2")).status == 69)
  }
}

struct `The README` {
  @Test func `the README's table of verbs has the verb why`() throws {
    #expect(try Checkout.text("README.md").contains("`why`"))
  }
}
