import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitCLI

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// Three versions: the second renames an attribute, the third drops one and adds a required one without a default if
/// asked.
private func project(isBroken: Bool = false) throws -> ProjectFixture {
  let project = ProjectFixture()
  func model(_ name: String, _ attributes: [AttributeDescription]) throws -> ManagedObjectModel {
    try ManagedObjectModel(name: name, entities: [EntityDescription(name: "Note", attributes: attributes)])
  }
  var title = AttributeDescription(name: "title", type: .string)
  title.renamingIdentifier = "text"
  var rank = AttributeDescription(name: "rank", type: .integer64)
  rank.isOptional = !isBroken
  let mood = AttributeDescription(name: "mood", type: .string)
  try project.bundle(
    "Notes.xcdatamodeld",
    [
      try model("Notes", [AttributeDescription(name: "text", type: .string), mood]),
      try model("Notes 2", [title, mood]), try model("Notes 3", [title, rank]),
    ])
  return project
}

private func run(_ project: ProjectFixture, _ arguments: String...) throws -> (
  status: Int32, output: String, errors: String
) {
  let session = CommandSession(output: .memory(), diagnostics: .memory())
  let status = GodwitCommand.run(
    arguments: ["test"] + arguments + ["--keep", try project.path("kept"), "--rows", "40"], in: session)
  return (status, session.output.text, session.diagnostics.text)
}

private func oldStore(_ project: ProjectFixture, _ path: String, texts: [String]) throws {
  try FileManager.default.createDirectory(atPath: project.path("stores"), withIntermediateDirectories: true)
  let old = try ManagedObjectModel(
    name: "Notes",
    entities: [
      EntityDescription(
        name: "Note",
        attributes: [
          AttributeDescription(name: "text", type: .string), AttributeDescription(name: "mood", type: .string),
        ])
    ])
  try project.store(path, old) { store in
    for (index, text) in texts.enumerated() {
      try store.insert("Note", key: Int64(index) + 1, attributes: ["text": .init(text)])
    }
  }
}

struct `The verb test` {
  @Test func `every version before the current one is migrated and proved, plain and nasty`() throws {
    let project = try project()
    let result = try run(project, project.path("Notes.xcdatamodeld"))
    #expect(result.status == 0, "\(result.output)\(result.errors)")
    let lines = result.output.split(separator: "\n").map { $0.split(separator: " ", omittingEmptySubsequences: true) }
    // Each test has a line, and another one for what it lost.
    #expect(lines.count == 10 && result.output.contains("\nlost: Notes, plain: "), "\(result.output)")
    #expect(lines.dropFirst().prefix(4).map { $0.last } == Array(repeating: "passed", count: 4))
    #expect(result.output.contains("4 tests: 4 passed, 0 failed"))
    // The attribute 'mood' is dropped.
    #expect(lines[1].contains("40") && lines[1][4] != "0")
    #expect(try !FileManager.default.fileExists(atPath: project.path("kept")))
  }

  @Test func `from limits the versions, and to names another end`() throws {
    let project = try project()
    let model = try project.path("Notes.xcdatamodeld")
    let last = try run(project, model, "--from", "1")
    #expect(last.output.contains("Notes 2  plain") && !last.output.contains("Notes    plain"))
    let second = try run(project, model, "--to", "Notes 2")
    #expect(second.output.contains("2 tests: 2 passed"), "\(second.output)\(second.errors)")
    let nothing = try run(project, model, "--from", "none")
    #expect(nothing.status == 0)
    #expect(nothing.errors.contains("nothing to test"))
  }

  @Test func `a version that cannot be migrated fails, and its store and job are kept`() throws {
    let project = try project(isBroken: true)
    let junit = try project.path("junit.xml")
    let result = try run(project, project.path("Notes.xcdatamodeld"), "--from", "1", "--junit", junit)
    #expect(result.status == 4, "\(result.output)")
    #expect(result.output.contains("2 tests: 0 passed, 2 failed"))
    let command = try #require(result.output.split(separator: "\n").first { $0.contains("repeat  godwit run ") })
    let job = try #require(command.split(separator: " ").first { $0.hasSuffix("job.yaml") })
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let status = GodwitCommand.run(arguments: ["run", String(job)], in: session)
    #expect(result.output.contains("failed (\(status))"))
    #expect(status != 0)
    let xml = try String(contentsOfFile: junit, encoding: .utf8)
    #expect(xml.contains("<testsuites name=\"godwit\" tests=\"2\" failures=\"0\" errors=\"2\""), "\(xml)")
    let document = try XMLDocument(data: Data(xml.utf8))
    #expect(try document.nodes(forXPath: "//testcase/error[@type='run']").count == 2)
  }

  @Test func `tests that failed alike share one paragraph, and others do not`() throws {
    let project = try project(isBroken: true)
    let result = try run(project, project.path("Notes.xcdatamodeld"), "--from", "1")
    #expect(result.output.contains("\nNotes 2, plain; Notes 2, nasty\n"), "\(result.output)")
    #expect(result.output.components(separatedBy: "  repeat  ").count == 2)
    var results = ["a", "b", "c"].map { MigrationTestResult(version: "1", store: $0, outcome: .failed) }
    for (place, message) in ["validation failed for Note p4: x", "validation failed for Note p12: x", "other"]
      .enumerated()
    {
      results[place].problems = [.init(kind: .run, code: 65, message: message)]
    }
    let text = TestTable.conclusion(results)
    #expect(text.contains("\n1, a; 1, b\n") && text.contains("\n1, c\n"), "\(text)")
  }

  @Test func `what a test lost is named below the table`() {
    var results = ["a", "b"].map { MigrationTestResult(version: "1", store: $0) }
    results[0].losses = (1...7).map { "\($0) values of P.a\($0)" }
    let text = TestTable.conclusion(results)
    #expect(text.contains("lost: 1, a: 1 values of P.a1; 2 values of P.a2; "), "\(text)")
    #expect(text.contains("5 values of P.a5; and 2 more\n") && !text.contains("1, b"), "\(text)")
  }

  @Test func `keys of the manifest are set for every test, and repeated by the command that repeats it`() throws {
    let project = try project()
    let model = try project.path("Notes.xcdatamodeld")
    let loss = try run(project, model, "--from", "1", "--set", "on-loss=fail")
    #expect(loss.status == 4 && loss.output.contains("--set on-loss=fail && godwit verify"), "\(loss.output)")
    #expect(try run(project, model, "--from", "1", "--set", "on-loss=report").status == 0)
    let wrong = try run(project, model, "--set", "source=a.sqlite")
    #expect(wrong.status == 64 && wrong.errors.contains("every test has its own source"), "\(wrong.errors)")
    let unknown = try run(project, model, "--from", "1", "--set", "memroy=1")
    #expect(unknown.output.contains("did you mean 'memory'?"), "\(unknown.output)")
  }

  @Test(arguments: ["xml", "binary"])
  func `stores that become XML or binary ones have keys that can be moved`(type: String) throws {
    let project = try project()
    let result = try run(project, project.path("Notes.xcdatamodeld"), "--set", "destination-type=\(type)")
    #expect(result.status == 0, "\(result.output)\(result.errors)")
  }

  @Test func `stores of a configuration that --set names have its entities alone`() throws {
    let project = ProjectFixture()
    func model(_ name: String, _ more: [String]) throws -> ManagedObjectModel {
      let texts = (["text"] + more).map { AttributeDescription(name: $0, type: .string) }
      return try ManagedObjectModel(
        name: name, entities: [.made("Note", texts), .made("Other", texts)],
        configurations: ["A": ["Note"], "B": ["Other"]])
    }
    try project.bundle("M.xcdatamodeld", [try model("M", []), try model("M 2", ["more"])])
    let result = try run(project, project.path("M.xcdatamodeld"), "--set", "configuration=A")
    #expect(result.status == 0, "\(result.output)\(result.errors)")
  }

  @Test func `a store with a receipt is the result of a job and is not tested`() throws {
    let project = try project()
    let model = try project.path("Notes.xcdatamodeld")
    try oldStore(project, "stores/a.sqlite", texts: ["one"])
    try oldStore(project, "stores/b.sqlite", texts: ["one"])
    try project.write("stores/b.sqlite.receipt.json", "{}")
    let result = try run(project, model, "--from", "none", "--stores", project.path("stores"))
    #expect(result.status == 0 && result.output.contains("1 tests: 1 passed"), "\(result)")
    #expect(result.errors.contains("1 store has a receipt and is not tested: jobs made it"), "\(result.errors)")
  }

  @Test func `given stores are found with their expectations, and what does not hold fails`() throws {
    let project = try project()
    let model = try project.path("Notes.xcdatamodeld")
    try oldStore(project, "stores/a.sqlite", texts: ["one", "two", "three"])
    try project.write(
      "stores/a.expect.yaml",
      """
      expect: 1
      objects:
        Note:
          count: 3
          all: title != nil
          some: [title == 'one', title BEGINSWITH 't']
          none: title == 'four'

      """)
    let stores = try project.path("stores")
    let good = try run(project, model, "--from", "none", "--stores", stores, "--format", "json")
    #expect(good.status == 0, "\(good.output)\(good.errors)")
    #expect(good.output.contains("\"expectations\" : 5"))
    try project.write(
      "stores/a.expect.yaml",
      """
      expect: 1
      objects:
        Note:
          at-most: 2
          all: title BEGINSWITH 't'
          some: title == 'four'
          none: title == 'two'

      """)
    let bad = try run(project, model, "--from", "none", "--stores", stores)
    #expect(bad.status == 4)
    for text in [
      "Note: expected at most 2 objects, found 3",
      "Note: all title BEGINSWITH 't': 1 of 3 objects do not fulfil it, first p1",
      "Note: some title == 'four': none of 3 objects fulfils it",
      "Note: none title == 'two': 1 of 3 objects fulfil it, first p2",
    ] { #expect(bad.output.contains(text), "\(bad.output)") }
  }

  @Test func `wrong expectations are named with their place`() throws {
    let project = try project()
    let model = try project.path("Notes.xcdatamodeld")
    try oldStore(project, "stores/a.sqlite", texts: ["one"])
    let stores = try project.path("stores")
    func output(_ lines: String) throws -> String {
      try project.write("stores/a.expect.yaml", "expect: 1\nobjects:\n" + lines + "\n")
      let result = try run(project, model, "--from", "none", "--stores", stores)
      #expect(result.status == 4)
      return result.output
    }
    #expect(
      try output("  Nota: {count: 1}").contains("a.expect.yaml:3:3: the expectations name the unknown entity 'Nota'"))
    #expect(try output("  Note: {all: titel == 'x'}").contains("a.expect.yaml:3:15"))
    #expect(try output("  Note: {al: title == 'x'}").contains("unknown key 'al'"))
    #expect(try output("  Note: {count: 1, at-most: 3}").contains("found both"))
    try project.write("stores/b.expect.yaml", "expect: 1\nobjects: {Note: {count: 1}}\n")
    let orphan = try run(project, model, "--stores", stores)
    #expect(orphan.status == 78)
    #expect(orphan.errors.contains("b.expect.yaml' belongs to no store"))
  }

  @Test func `a damaged store among the given ones fails alone`() throws {
    let project = try project()
    try oldStore(project, "stores/a.sqlite", texts: ["one"])
    try project.write("stores/b.sqlite", "not a store")
    let result = try run(
      project, project.path("Notes.xcdatamodeld"), "--from", "none", "--stores", project.path("stores"))
    #expect(result.status == 4)
    #expect(result.output.contains("2 tests: 1 passed, 1 failed"))
    #expect(result.output.contains("failed (65)"))
  }

  @Test func `a manifest serves as the template of every test`() throws {
    let project = try project()
    try project.write(
      "job.yaml",
      "godwit: 1\nsource: none.sqlite\ndestination: none/out.sqlite\nmodels: Notes.xcdatamodeld\non-loss: fail\n")
    let result = try run(project, project.path("job.yaml"))
    // The loss of 'mood' is refused by the manifest.
    #expect(result.status == 4)
    #expect(result.output.contains("failed (65)"))
    #expect(result.output.contains("--source "))
    #expect(try run(project, project.path("job.yaml"), "--to", "Notes 2").status == 64)
  }

  @Test func `a passing test says what it lost, accepted or not`() throws {
    let project = try project()
    try project.write(
      "job.yaml",
      "godwit: 1\nsource: none.sqlite\ndestination: none/out.sqlite\nmodels: Notes.xcdatamodeld\non-loss: fail\naccept-losses: [Note.mood]\n"
    )
    let junit = try project.path("junit.xml")
    let result = try run(project, project.path("job.yaml"), "--from", "1", "--junit", junit)
    #expect(result.status == 0, "\(result)")
    let line = #/lost: Notes 2, plain: (\d+) values of Note.mood \(.*\), accepted/#
    let found = try #require(result.output.firstMatch(of: line), "\(result.output)")
    let table = result.output.split(separator: "\n").first { $0.contains("plain") } ?? ""
    #expect(table.split(separator: " ").map(String.init).contains(String(found.output.1)), "\(table)")
    #expect(try String(contentsOfFile: junit, encoding: .utf8).contains("\(found.output.1) values of Note.mood"))
    let json = try run(project, project.path("job.yaml"), "--from", "1", "--format", "json")
    #expect(json.output.contains("\"isAccepted\" : true") && json.output.contains("\"lost\" : \(found.output.1)"))
  }

  @Test func `JUnit XML holds any text, and a quote before a combining mark ends no value`() throws {
    var result = MigrationTestResult(version: "v\"\u{301} x=\"1\r\n\t<&>", store: "s\u{1}")
    result.outcome = .failed
    result.problems = [.init(kind: .run, code: 65, message: "a \"\u{301}]]>\u{8}\u{FFFE}\r\nb")]
    let document = try XMLDocument(xmlString: JUnitReport(results: [result]).text)
    let test = try #require(try document.nodes(forXPath: "//testcase").first as? XMLElement)
    #expect(test.attribute(forName: "classname")?.stringValue == result.version)
    let (name, first) = ("s\u{FFFD}", "a \"\u{301}]]>\u{FFFD}\u{FFFD}")
    #expect(test.attribute(forName: "name")?.stringValue == name)
    let error = try #require(try document.nodes(forXPath: "//error").first as? XMLElement)
    #expect(error.attribute(forName: "message")?.stringValue == first)
    let whole = first + "\r\nb"
    #expect(error.stringValue == whole)
  }

  @Test func `a word of a shell command is one word, whatever is in it`() throws {
    for text in ["a b", "'", "'\u{301}; echo x; '\u{301}", "$(x)\r\n`y`", "Ä", "", "a\u{301}"] {
      let told = try ShellCommand.run("printf %s \(MigrationTestRunner.shell(text))", in: "/")
      #expect(Array(told.output.utf8) == Array(text.utf8), "\(told.diagnostics)")
    }
  }
}
