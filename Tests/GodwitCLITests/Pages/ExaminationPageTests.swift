import Foundation
import GodwitStore
import TestSupport
import Testing

/// The page Forensics: its commands are run, and the files that they read stay as they are.
struct ExaminationPageTests {
  /// Every file below a folder with its bytes.
  private static func content(of folder: String) throws -> [String: Data] {
    var content: [String: Data] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
      var isFolder: ObjCBool = false
      _ = FileManager.default.fileExists(atPath: folder + "/" + name, isDirectory: &isFolder)
      content[name] = isFolder.boolValue ? Data() : try Data(contentsOf: URL(filePath: folder + "/" + name))
    }
    return content
  }

  private static func rows(_ sql: String, of path: String) throws -> [[SQLValue]] {
    let store = try StoreConnection(path: path)
    defer { try? store.close() }
    return try store.rows(sql)
  }

  private static func folder() throws -> TemporaryFolder {
    let folder = try TemporaryFolder("godwit-page")
    try FileManager.default.createDirectory(atPath: folder.file("evidence"), withIntermediateDirectories: false)
    try ExaminedStore.chat(in: folder.file("evidence"))
    return folder
  }

  /// The commands of the page: those that examine `evidence`, or those that look into `people.sqlite`.
  private static func scripts(ofEvidence: Bool) throws -> [String] {
    try DocumentationPage("Forensics").blocks("sh").filter { $0.contains("evidence") == ofEvidence }
  }

  @Test func `the commands of Forensics show the whole store and change nothing of it`() throws {
    let folder = try Self.folder()
    let page = try DocumentationPage("Forensics")
    let before = try Self.content(of: folder.file("evidence"))
    #expect(before.keys.sorted().last == "chat.sqlite-wal")
    var outputs: [String] = []
    for script in try Self.scripts(ofEvidence: true) {
      let result = try GettingStartedTests.run(script, in: folder)
      #expect(result.status == 0, "\(script): \(result.output)\(result.diagnostics)")
      #expect(try Self.content(of: folder.file("evidence")) == before, "\(script)")
      outputs.append(result.output)
    }
    #expect(outputs.count == 7)
    #expect(outputs[1].hasPrefix("PATH ") && outputs[1].contains("evidence/chat.sqlite  Core Data store"))
    #expect(outputs[1].hasSuffix(try #require(page.blocks("text").first) + "\n"), "\(outputs[1])")
    #expect(outputs[2].contains("sentAt  Date, 0 NULL, 2025-01-01T12:00:00.000000Z to 2025-01-02T08:40:00.000000Z"))
    #expect(!outputs[2].contains("Happy"))
    // The page shows the first object; the date in the predicate is that of this one.
    let shown = try #require(page.blocks("json").first)
    #expect(outputs[4].split(separator: "\n").first.map(String.init) == shown)
    #expect(try String(contentsOfFile: folder.file("chat/Message.jsonl"), encoding: .utf8).hasPrefix(shown + "\n"))

    let queries = page.blocks("sql")
    try #require(queries.count == 4)
    let messages = try Self.rows(queries[0], of: folder.file("chat.db"))
    #expect(
      messages.map { $0[2] } == ["Happy new year", "And to you", "Back on Monday", "In the log"].map { .text($0) })
    #expect(messages[0].prefix(2) == [.text("2025-01-01T12:00:00.000000Z"), .text("Family")])
    let photo = try Self.rows("SELECT photo FROM Message WHERE pk = 2", of: folder.file("chat.db"))
    #expect(photo == [[.blob(Array("not a picture".utf8))]])
    let copy = folder.file("work/chat.sqlite")
    let raw = try Self.rows(queries[1], of: copy)
    #expect(raw.count == 4)
    #expect(
      raw[0] == [.integer(1), .text("Message"), .text("2025-01-01 12:00:00"), .text("Happy new year")], "\(raw)")
    #expect(try Self.rows(queries[2], of: copy) == [[.text("Message"), .integer(5), .integer(4)]])
    #expect(
      try Self.rows(queries[3], of: copy) == [
        [.text("2025-01-01 12:00:00"), .text("app"), .text("insert"), .text("Message"), .integer(1)],
        [.text("2025-01-01 12:01:00"), .null, .text("update"), .text("Message"), .integer(1)],
        [.text("2025-01-01 12:01:00"), .null, .text("delete"), .text("Message"), .integer(4)],
      ])
  }

  @Test func `without its log the store is the earlier one, and an encrypted file is unknown`() throws {
    let folder = try Self.folder()
    let script = """
      cp evidence/chat.sqlite early.sqlite
      godwit inspect early.sqlite
      head -c 8192 /dev/urandom > sealed.sqlite
      godwit inspect sealed.sqlite
      """
    let result = try GettingStartedTests.run(script, in: folder)
    #expect(result.output.contains("2 Message: 3 rows"), "\(result)")
    #expect(result.status == 65 && result.diagnostics.contains("an unknown kind of file"), "\(result)")
  }

  @Test func `the last commands of Forensics notice a changed and a new file`() throws {
    let last = try #require(try Self.scripts(ofEvidence: true).last)
    let first = try #require(try Self.scripts(ofEvidence: true).first)
    for change in ["echo more >> evidence/chat.sqlite", "touch evidence/chat.sqlite-shm"] {
      let folder = try Self.folder()
      #expect(try GettingStartedTests.run("\(first)\n\(last)", in: folder).status == 0)
      #expect(try GettingStartedTests.run("\(first)\n\(change)\n\(last)", in: folder).status == 1)
    }
  }

  @Test(.enabled(if: Corpus.isPresent))
  func `the history of a store of Core Data is read by the query of the page`() throws {
    let folder = try TemporaryFolder("godwit-page")
    let copy = folder.file("store.sqlite")
    try FileManager.default.copyItem(
      atPath: Corpus.path("alemar11_CoreDataPlus/Tests/Resources/SampleModel2/Fixtures/SampleModel2_V1.sqlite"),
      toPath: copy)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: copy)
    let changes = try Self.rows(try #require(try DocumentationPage("Forensics").blocks("sql").last), of: copy)
    #expect(changes.count == 5468)
    #expect(Set(changes.map { $0[0] }) == [.text("2024-05-10 18:14:07")])
    #expect(Set(changes.map { $0[2] }) == [.text("insert")])
  }

  @Test func `the commands that look into a store do what Forensics says`() throws {
    let folder = try TemporaryFolder("godwit-page")
    try FileManager.default.createDirectory(atPath: folder.file("backups"), withIntermediateDirectories: false)
    try ExaminedStore.people(at: folder.file("people.sqlite"))
    for name in ["monday", "tuesday"] {
      try FileManager.default.copyItem(
        atPath: folder.file("people.sqlite"), toPath: folder.file("backups/\(name).sqlite"))
    }
    let scripts = try Self.scripts(ofEvidence: false)
    try #require(scripts.count == 4)
    // The reader of the first block has the model already.
    let extraction = try #require(scripts.last)
    #expect(extraction.hasPrefix("godwit model extract "))
    for script in [extraction] + scripts.dropLast() {
      let result = try GettingStartedTests.run(script, in: folder)
      #expect(result.status == 0, "\(script): \(result.diagnostics)")
      if script.contains("--details") {
        #expect(result.output.contains("      age       Integer 16, 0 NULL, 12 to 40\n"), "\(result.output)")
        #expect(result.output.contains("backups/tuesday.sqlite  Core Data store"))
      }
      if script.contains("--where") {
        let objects = result.output.split(separator: "\n")
        #expect(objects.count == 1 && objects[0].contains("\"name\":\"Ann\""), "\(result.output)")
      }
    }
    let people = try Self.rows("SELECT name FROM Person ORDER BY pk", of: folder.file("people.db"))
    #expect(people == ["Ann", "Bo", "Cy"].map { [.text($0)] })
    #expect(FileManager.default.fileExists(atPath: folder.file("people/Person.csv")))
    let raw = try Self.rows("SELECT ZNAME FROM ZPERSON ORDER BY Z_PK", of: folder.file("raw.db"))
    #expect(raw == ["Ann", "Bo", "Cy"].map { [.text($0)] })
    #expect(try String(contentsOfFile: folder.file("people.jsonl"), encoding: .utf8).split(separator: "\n").count == 3)
  }
}
