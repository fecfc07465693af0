import Foundation
import GodwitCLI
import GodwitModel
import GodwitXcode
import TestSupport
import Testing

/// Writes `App.xcdatamodeld` with versions of an entity with these texts; the last is current.
private func writeBundle(in folder: TemporaryFolder, _ versions: [(name: String, attributes: [String])]) throws {
  let bundle = folder.file("App.xcdatamodeld")
  for (name, attributes) in versions {
    let entity = EntityDescription(
      name: "Note", attributes: attributes.map { AttributeDescription(name: $0, type: .string) })
    let model = try ManagedObjectModel(name: name, entities: [entity])
    let version = bundle + "/\(name).xcdatamodel"
    try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
    try Data(model.xcodeContents.utf8).write(to: URL(filePath: version + "/contents"))
  }
  let marker = try PropertyListSerialization.data(
    fromPropertyList: ["_XCCurrentVersionName": "\(versions[versions.count - 1].name).xcdatamodel"], format: .xml,
    options: 0)
  try marker.write(to: URL(filePath: bundle + "/.xccurrentversion"))
}

struct `The verb lint` {
  @Test func `a release is locked, then an edit of it is found`() throws {
    let folder = try TemporaryFolder()
    try writeBundle(in: folder, [("App", ["title", "mood"]), ("App 2", ["title"])])
    let first = try BuiltCommand.run("lint", ".", "--write-lock", in: folder.path)
    #expect(first.status == 0, "\(first.output)\(first.diagnostics)")
    #expect(
      first.output.hasPrefix(
        "App.xcdatamodeld/App 2.xcdatamodel/contents:3: warning: GW201 'App' to 'App 2' drops Note.mood"))
    #expect(first.diagnostics == "models.lock.json: 2 versions added\n")
    let again = try BuiltCommand.run("lint", ".", "--strict", in: folder.path)
    #expect(again.status == 0 && again.diagnostics.isEmpty)
    try writeBundle(in: folder, [("App", ["title", "mood", "more"]), ("App 2", ["title"])])
    let edited = try BuiltCommand.run("lint", "App.xcdatamodeld", in: folder.path)
    #expect(edited.status == 4 && edited.output.contains("error: GW101 version 'App' was shipped and then edited"))
    let kept = try BuiltCommand.run("lint", ".", "--write-lock", in: folder.path)
    #expect(kept.status == 4 && kept.diagnostics == "models.lock.json: no version added\n")
  }

  @Test func `a warning is 4 under --strict alone`() throws {
    let folder = try TemporaryFolder()
    try writeBundle(in: folder, [("App", ["title", "mood"]), ("App 2", ["title"])])
    let first = try BuiltCommand.run("lint", ".", in: folder.path)
    #expect(first.status == 0 && first.output.contains("; it would hide "), "\(first)")
    #expect(try BuiltCommand.run("lint", ".", "--strict", in: folder.path).status == 4)
    for format in ["json", "sarif", "github"] {
      let result = try BuiltCommand.run("lint", ".", "--strict", "--format", format, in: folder.path)
      #expect(result.status == 4 && result.diagnostics.isEmpty && result.output.contains("GW201"))
      if format != "github" { _ = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) }
    }
  }

  @Test func `what is missing is 66, wrong usage 64, a wrong lock file 78`() throws {
    let folder = try TemporaryFolder()
    try writeBundle(in: folder, [("App", ["title"])])
    let cases: [([String], Int32)] = [
      (["nosuch"], 66), (["App.xcdatamodeld#Ap"], 66), ([".", "--lock", "nosuch.json"], 66), ([], 64),
      ([".", "--format", "xml"], 64), (["."], 0),
    ]
    for (arguments, status) in cases {
      let result = try BuiltCommand.run(["lint"] + arguments, in: folder.path)
      #expect(result.status == status, "\(arguments)")
      #expect(result.diagnostics.isEmpty == (status == 0))
    }
    try FileManager.default.createDirectory(atPath: folder.file("empty"), withIntermediateDirectories: true)
    #expect(try BuiltCommand.run("lint", "empty", in: folder.path).status == 66)
    try Data("{}".utf8).write(to: URL(filePath: folder.file("models.lock.json")))
    #expect(try BuiltCommand.run("lint", ".", in: folder.path).status == 78)
    #expect(try BuiltCommand.run("lint", ".", "--lock", "no/such.json", "--write-lock", in: folder.path).status == 73)
  }
}

@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct `Linting the corpus` {
  /// Each was judged: these and no other codes, and no error but the two.
  @Test func `a project has the findings that were judged`() throws {
    let expected: [(project: String, status: Int32, codes: [String: Int])] = [
      ("wibosco_CoreDataMigration-Example", 0, ["GW108": 1, "GW210": 1, "GW211": 1]),
      ("objcio_core-data", 0, ["GW108": 1, "GW210": 1]),
      ("hwaxxer_BookMigration", 0, ["GW108": 1, "GW210": 2]),
      ("apple_sample-cloudkit-coredatasync", 0, [:]),
      ("ashalkhakov_FreeCoreData", 4, ["GW104": 1]),
    ]
    for (project, status, codes) in expected {
      let result = try BuiltCommand.run("lint", Corpus.path(project), "--format", "json")
      #expect(result.status == status, "\(project)")
      let root = try #require(try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
      let findings = try #require(root["findings"] as? [[String: Any]])
      var found: [String: Int] = [:]
      for case let code as String in findings.map({ $0["code"] as Any }) { found[code, default: 0] += 1 }
      #expect(found == codes, "\(project)")
    }
  }
}
