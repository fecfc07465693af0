import ArgumentParser
import Foundation
import GodwitModel
import GodwitXcode
import TestSupport
import Testing

@testable import GodwitCLI

/// Writes a bundle with two versions, `Notes` and the current `Notes 2`.
private func writeBundle(in folder: TemporaryFolder) throws -> (path: String, models: [ManagedObjectModel]) {
  var title = AttributeDescription(name: "title", type: .string)
  let first = try ManagedObjectModel(
    name: "Notes", entities: [EntityDescription(name: "Note", attributes: [title])])
  title.name = "heading"
  title.renamingIdentifier = "title"
  var memo = EntityDescription(
    name: "Memo", attributes: [title, AttributeDescription(name: "stars", type: .integer16)])
  memo.renamingIdentifier = "Note"
  let second = try ManagedObjectModel(name: "Notes 2", entities: [memo])
  let bundle = folder.file("Notes.xcdatamodeld")
  for model in [first, second] {
    let version = bundle + "/\(model.name).xcdatamodel"
    try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
    try Data(model.xcodeContents.utf8).write(to: URL(filePath: version + "/contents"))
  }
  let marker = try PropertyListSerialization.data(
    fromPropertyList: ["_XCCurrentVersionName": "Notes 2.xcdatamodel"], format: .xml, options: 0)
  try marker.write(to: URL(filePath: bundle + "/.xccurrentversion"))
  return (bundle, [first, second])
}

private func object(_ text: String) throws -> [String: Any] {
  try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
}

struct `The verb list` {
  @Test func `a command whose words cannot be read says why, and a call with words of its own does not need them`() {
    #expect(GodwitCommand.missingArguments(["godwit"], given: []) == nil)
    #expect(GodwitCommand.missingArguments([], given: ["plan"]) == nil)
    let error = GodwitCommand.missingArguments([], given: [])
    #expect(error?.code == .missingInput && error?.message.contains("/proc/self/cmdline") == true)
    #expect(error?.remedy?.hasPrefix("mount /proc") == true)
  }

  @Test func `help names every verb once and no other`() {
    let help = RootCommand.helpMessage(columns: 500)
    let lines = help.split(separator: "SUBCOMMANDS:").last?.split(separator: "\n") ?? []
    let named = lines.filter { $0.hasPrefix("  ") }.compactMap { $0.split(separator: " ").first.map(String.init) }
    #expect(named.filter { $0 != "See" } == GodwitCommand.verbs)
    #expect(Set(GodwitCommand.verbs).count == GodwitCommand.verbs.count)
  }

  @Test func `help names every exit status`() {
    let help = RootCommand.helpMessage(columns: 500)
    let words = Set(help.split { !$0.isNumber }.map(String.init))
    for status in [0, 2, 3, 4, 64, 65, 66, 69, 70, 73, 74, 75, 77, 78, 130, 143] {
      #expect(words.contains("\(status)"), "\(status)")
    }
  }

  @Test func `every verb says what it does in one line`() {
    for verb in RootCommand.verbs {
      #expect(verb.configuration.abstract.hasSuffix("."))
      #expect(!verb.configuration.abstract.contains("\n"))
    }
  }

  @Test func `every verb that prints data can print JSON`() {
    for verb in [PlanVerb.self, StatusVerb.self, VerifyVerb.self, InspectVerb.self, LintVerb.self]
      as [any ParsableCommand.Type]
      + ModelVerb.configuration.subcommands + MappingVerb.configuration.subcommands
    {
      #expect(RootCommand.helpMessage(for: verb).contains("--format"))
    }
  }
}

struct `Exit status and streams` {
  @Test func `--version prints one line`() throws {
    let result = try BuiltCommand.run("--version")
    #expect(result.status == 0)
    #expect(result.output == "godwit 0.3.0\n")
    #expect(result.diagnostics.isEmpty)
  }

  @Test func `asking for help exits with 0`() throws {
    for arguments in [["--help"], ["help"], ["run", "--help"], ["help", "model"]] {
      let session = CommandSession(output: .memory(), diagnostics: .memory())
      #expect(GodwitCommand.run(arguments: arguments, in: session) == 0)
      #expect(session.output.text.contains("USAGE: godwit"))
      #expect(session.diagnostics.text.isEmpty)
    }
  }

  @Test(arguments: [
    [], ["nosuch"], ["--nosuch"], ["run"], ["run", "--nosuch", "job.yaml"], ["run", "a.yaml", "b.yaml"], ["model"],
    ["model", "nosuch"], ["run", "job.yaml", "--progress", "loud"], ["run", "job.yaml", "--max-duration", "soon"],
    ["plan", "job.yaml", "--format", "xml"], ["inspect"], ["model", "diff", "one"],
  ])
  func `wrong usage is 64, with a message on standard error`(arguments: [String]) {
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    #expect(GodwitCommand.run(arguments: arguments, in: session) == 64)
    #expect(session.output.text.isEmpty)
    #expect(session.diagnostics.text.hasPrefix("godwit: "))
    #expect(!session.diagnostics.text.contains("Error:"))
  }

  @Test func `wrong usage is 64 for the process too`() throws {
    let result = try BuiltCommand.run("rnu", "job.yaml")
    #expect(result.status == 64)
    #expect(result.diagnostics.hasPrefix("godwit: unknown verb 'rnu' (did you mean 'run'?)\n"))
  }

  @Test(arguments: ["run", "plan", "status", "verify", "discard"])
  func `a missing manifest is 66`(verb: String) throws {
    let folder = try TemporaryFolder()
    let result = try BuiltCommand.run(verb, folder.file("job.yaml"))
    #expect(result.status == 66)
    #expect(result.output.isEmpty)
    #expect(result.diagnostics.hasPrefix("godwit: "))
  }

  @Test func `a missing model is 66`() throws {
    let folder = try TemporaryFolder()
    #expect(try BuiltCommand.run("model", "hash", folder.file("No.xcdatamodeld")).status == 66)
  }

  @Test func `a full disk under standard output is 74`() throws {
    let full = "/dev/full"
    guard FileManager.default.fileExists(atPath: full) else { return }
    let process = Process()
    process.executableURL = URL(filePath: try #require(BuiltCommand.path))
    process.arguments = ["--version"]
    process.standardOutput = FileHandle(forWritingAtPath: full)
    process.standardError = FileHandle.nullDevice
    try process.start()
    process.wait()
    #expect(process.terminationStatus == 74)
  }

  @Test func `a closed pipe at standard output does not crash the command`() throws {
    let process = Process()
    process.executableURL = URL(filePath: try #require(BuiltCommand.path))
    process.arguments = ["--help"]
    let pipe = Pipe()
    process.standardOutput = pipe
    try pipe.fileHandleForReading.close()
    try process.start()
    process.wait()
    #expect(process.terminationReason == .exit)
    #expect(process.terminationStatus == 0)
  }
}

struct `Models on the command line` {
  @Test func `hashes are printed as JSON in the published form`() throws {
    let folder = try TemporaryFolder()
    let (path, models) = try writeBundle(in: folder)
    let result = try BuiltCommand.run("model", "hash", path, "--format", "json")
    #expect(result.status == 0)
    let record = try object(result.output)
    #expect(Set(record.keys) == ["schemaVersion", "type", "entities", "checksum", "digest"])
    #expect(record["entities"] as? [String: String] == models[1].versionHashes.mapValues(\.base64))
    #expect(record["checksum"] as? String == models[1].versionChecksum)
    #expect(record["digest"] as? String == models[1].versionHashesDigest)
  }

  @Test func `a version is named after a number sign`() throws {
    let folder = try TemporaryFolder()
    let (path, models) = try writeBundle(in: folder)
    let result = try BuiltCommand.run("model", "hash", path + "#Notes", "--format", "json")
    #expect(try object(result.output)["checksum"] as? String == models[0].versionChecksum)
    let unknown = try BuiltCommand.run("model", "hash", path + "#Notes 3")
    #expect(unknown.status == 66)
    #expect(unknown.diagnostics.contains("did you mean 'Notes 2'?"))
  }

  @Test func `the schema is SQL`() throws {
    let folder = try TemporaryFolder()
    let (path, _) = try writeBundle(in: folder)
    let result = try BuiltCommand.run("model", "schema", path)
    #expect(result.status == 0)
    #expect(result.output.hasPrefix("CREATE TABLE ZMEMO ( Z_PK INTEGER PRIMARY KEY"))
  }

  @Test func `model diff distinguishes renames from removals`() throws {
    let folder = try TemporaryFolder()
    let (path, _) = try writeBundle(in: folder)
    let result = try BuiltCommand.run("model", "diff", path + "#Notes", path)
    #expect(result.status == 0)
    #expect(
      result.output == """
        'Notes' to 'Notes 2'
          entity Memo: renamed from Note
            heading: renamed from title
            stars: added (Integer 16)
        version hashes differ: a store has to be migrated

        """)
  }

  @Test func `model diff finds no difference between a model and itself`() throws {
    let folder = try TemporaryFolder()
    let (path, _) = try writeBundle(in: folder)
    let result = try BuiltCommand.run("model", "diff", path, path, "--format", "json")
    let record = try object(result.output)
    #expect(record["hashesDiffer"] as? Bool == false)
    #expect((record["entities"] as? [Any])?.isEmpty == true)
  }

  @Test func `inspecting a model lists its versions`() throws {
    let folder = try TemporaryFolder()
    let (path, _) = try writeBundle(in: folder)
    let result = try BuiltCommand.run("inspect", path)
    #expect(result.status == 0)
    #expect(result.output.contains("Notes, Notes 2 (current)"))
  }

  @Test func `inspecting an unknown kind of file is 65`() throws {
    let folder = try TemporaryFolder()
    try Data("hello".utf8).write(to: URL(filePath: folder.file("note.txt")))
    #expect(try BuiltCommand.run("inspect", folder.file("note.txt")).status == 65)
    #expect(try BuiltCommand.run("inspect", folder.file("none.txt")).status == 66)
    // As large as pages of a database are.
    try Data(count: 8192).write(to: URL(filePath: folder.file("zeros.sqlite")))
    let zeros = try BuiltCommand.run("inspect", folder.file("zeros.sqlite"))
    #expect(zeros.status == 65 && zeros.diagnostics.contains("`godwit salvage STORE -o COPY --model MODEL`"))
  }

  @Test(arguments: [["inspect", "nosuch.sqlite", "--format", "json"], ["plan", "nosuch.yaml", "--format=json"]])
  func `a verb that was asked for JSON fails in JSON, with the message on standard error too`(arguments: [String])
    throws
  {
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let status = GodwitCommand.run(arguments: arguments, in: session)
    #expect(status == 66)
    let json = try JSONSerialization.jsonObject(with: Data(session.output.text.utf8)) as? [String: Any]
    #expect(json?["type"] as? String == "error" && json?["status"] as? Int == 66, "\(session.output.text)")
    #expect((json?["message"] as? String)?.contains(arguments[1]) == true)
    #expect(session.diagnostics.text.hasPrefix("godwit: cannot read"))
  }

  @Test func `inspect knows a spill file by the header before its first frame`() throws {
    let folder = try TemporaryFolder()
    let path = folder.file("person.pairs.lz4")
    try Data([0x50, 0x2A, 0x4D, 0x18] + [UInt8](repeating: 7, count: 60)).write(to: URL(filePath: path))
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    #expect(GodwitCommand.run(arguments: ["inspect", path], in: session) == 65)
    #expect(session.diagnostics.text.contains("cannot read spill file"), "\(session.diagnostics.text)")
  }
}
