import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitManifest

/// `source: {merge: […]}` in a manifest.
struct MergeManifestTests {
  private static func text(_ merge: String, _ destination: String = "out.sqlite", more: String = "") -> String {
    "godwit: 1\nsource: {merge: \(merge)}\ndestination: \(destination)\nmodels: M\n\(more)"
  }

  @Test func `the stores are relative to the manifest, in their order`() throws {
    let job = try manifest(Array(Self.text("[b.sqlite, sub/a.sqlite, /c.sqlite]").utf8))
    #expect(job.merge.map(\.resolved) == ["jobs/b.sqlite", "jobs/sub/a.sqlite", "/c.sqlite"])
    #expect(job.source == job.merge[0] && !job.isForManyStores && !job.isList)
    #expect(job.sourceText == "b.sqlite, sub/a.sqlite, /c.sqlite")
    #expect(job.inputPaths.filter { $0.key == "merge" }.count == 3)
  }

  @Test(arguments: [
    (text("a.sqlite"), 2, "expected at least two stores for 'merge', found 1", "write `source: a.sqlite`"),
    (text("[a.sqlite]"), 2, "expected at least two stores", "write `source: a.sqlite`"),
    (text("[a.sqlite, b/../a.sqlite]"), 2, "found 'b/../a.sqlite' twice, which is 'a.sqlite'", "remove one"),
    (text("[a, b]", "{existing: in-place}"), 3, "found 'existing: in-place'", "write `destination: PATH`"),
    (text("[a, b]", "b"), 3, "expected 'source' and 'destination' to be different files", "existing: append"),
    (text("[a, b]", more: "stores: {jobs: 2}\n"), 5, "expected no 'stores' beside 'merge'", "remove 'stores'"),
    (text("[a, b]", "\"{name}.sqlite\""), 3, "expected a pattern", "name its destination too"),
    (
      "godwit: 1\nsource: {merge: [a, b], list: c}\ndestination: d\nmodels: M\n", 2,
      "expected either 'list' or 'merge'",
      "remove one"
    ), (text("{a: b}"), 2, "expected a path or a list for 'merge'", ""),
  ]) func `what cannot be merged is told with the form that works`(
    text: String, line: Int, message: String, remedy: String
  ) throws {
    let error = try #require(try complaint(of: text))
    #expect(error.code == .configuration && error.location?.line == line, "\(error)")
    #expect(error.message.contains(message), "\(error.message)")
    #expect(remedy.isEmpty || error.remedy?.contains(remedy) == true, "\(error.remedy ?? "")")
  }

  @Test func `a pattern stands for the stores that match it, by their paths, without those that are named`() throws {
    let folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.file("stores"), withIntermediateDirectories: true)
    for name in ["b.sqlite", "a.sqlite", "c.sqlite", "a.sqlite-wal", "b.sqlite.receipt.json", "c.txt", ".d.sqlite"] {
      try Data("x".utf8).write(to: URL(filePath: folder.file("stores/" + name)))
    }
    func merge(_ text: String, _ destination: String = "out.sqlite", more: String = "") throws -> JobManifest {
      try Self.text(text, destination, more: more).write(
        toFile: folder.file("job.yaml"), atomically: true, encoding: .utf8)
      return try JobManifest(contentsOf: folder.file("job.yaml"))
    }
    func names(_ text: String) throws -> [String] {
      try merge(text).merge.map { String($0.raw.dropFirst("stores/".count)) }
    }
    #expect(try names("'stores/*.sqlite'") == ["a.sqlite", "b.sqlite", "c.sqlite"])
    #expect(try names("['stores/[bc]*.sqlite', 'stores/*.sqlite*']") == ["b.sqlite", "c.sqlite", "a.sqlite"])
    #expect(try names("['stores/*.sqlite', stores/b.sqlite]") == ["a.sqlite", "c.sqlite", "b.sqlite"])
    #expect(try merge("'stores/*.sqlite'").merge[1].resolved == folder.file("stores/b.sqlite"))
    #expect(try !merge("'stores/*.sqlite'").isForManyStores)
    let none = try #require(throws: GodwitError.self) { try merge("'other/*.sqlite'") }
    #expect(none.code == .missingInput && none.location?.line == 2)
    let one = try #require(throws: GodwitError.self) { try merge("'stores/a*.sqlite'") }
    #expect(one.code == .configuration && one.message.hasSuffix("found 1: 'stores/a.sqlite'"))
    for (destination, more, key) in [
      ("stores/new.sqlite", "", "destination"), ("new.sqlite", "receipt: stores/r.sqlite\n", "receipt"),
    ] {
      let error = try #require(throws: GodwitError.self) { try merge("'stores/*.sqlite'", destination, more: more) }
      #expect(error.code == .configuration && error.message.contains("expected a '\(key)' that no pattern"), "\(error)")
    }
  }

  @Test func `a store of another version is refused by its name, and others are one source`() throws {
    let folder = try TemporaryFolder()
    let note = EntityDescription(name: "Note", attributes: [AttributeDescription(name: "text", type: .string)])
    let models = try [1, 2].map { number in
      var note = note
      note.attributes += (1..<number).map { AttributeDescription(name: "more\($0)", type: .string) }
      return try ManagedObjectModel(name: "Notes \(number)", entities: [note])
    }
    for (name, model) in [("a", models[0]), ("b", models[0]), ("c", models[1])] {
      let store = try StoreBuilder(path: folder.file("\(name).sqlite"), model: model)
      try store.insert("Note", key: 1)
      try store.finish()
    }
    let bundle = folder.file("Notes.xcdatamodeld")
    for model in models {
      let version = "\(bundle)/\(model.name).xcdatamodel"
      try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
      try model.xcodeContents.write(toFile: version + "/contents", atomically: true, encoding: .utf8)
    }
    func loader(_ merge: String) throws -> JobLoader {
      try Self.text(merge, more: "").replacing(
        "models: M", with: "models: Notes.xcdatamodeld\ndestination-model: Notes 2"
      )
      .write(toFile: folder.file("job.yaml"), atomically: true, encoding: .utf8)
      return try JobLoader(contentsOf: URL(filePath: folder.file("job.yaml")))
    }
    let job = try loader("[a.sqlite, b.sqlite]").job()
    #expect(job.sourcePaths == [folder.file("a.sqlite"), folder.file("b.sqlite")])
    #expect(job.sourcePath == folder.file("out.sqlite.godwit/merged.sqlite"))
    #expect(job.sourceModel.name == "Notes 1")
    let error = try #require(throws: GodwitError.self) { try loader("[a.sqlite, c.sqlite]").job() }
    #expect(error.code == .configuration && error.location?.line == 2)
    #expect(error.message == "cannot merge 'c.sqlite' with 'a.sqlite': it has another version of the model")
    let missing = try #require(throws: GodwitError.self) { try loader("[a.sqlite, d.sqlite]").job() }
    #expect(missing.code == .missingInput && missing.message.contains("d.sqlite"))
    #expect(missing.cause?.contains("'merge' is 'd.sqlite', relative to the manifest's folder") == true)
  }
}
