import Foundation
import GodwitCLI
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// The result of a job, `out.sqlite` of `Notes 2`. No model beside it is `Notes 2`.
private struct Result {
  let project = ProjectFixture()
  let store, receipt, later: String

  init(destination: String = "out.sqlite", more: String = "") throws {
    func version(_ name: String, _ attributes: [String]) throws -> ManagedObjectModel {
      let described = attributes.map { AttributeDescription(name: $0, type: .string) }
      return try ManagedObjectModel(name: name, entities: [.made("Note", described)])
    }
    let notes = try version("Notes", ["title"])
    try project.bundle("Notes.xcdatamodeld", [notes, version("Notes 2", ["title", "body"])])
    try project.bundle("Later.xcdatamodeld", [notes, version("Notes 3", ["title", "body", "stars"])])
    try project.store("notes.sqlite", notes) { builder in
      for title in ["a", "b"] { try builder.insert("Note", attributes: ["title": AttributeValue(title)]) }
    }
    try project.write(
      "job.yaml",
      "godwit: 1\nsource: notes.sqlite\ndestination: \(destination)\nmodels: Notes.xcdatamodeld\n" + more)
    let ran = project.godwit("run", try project.path("job.yaml"))
    #expect(ran.status == 0, "\(ran)")
    (store, later) = (try project.path("out.sqlite"), try project.path("Later.xcdatamodeld"))
    receipt = store + Receipt.suffix
  }

  /// The receipt with another model in it.
  func change(model: (String) -> String) throws {
    var document = try Receipt.read(receipt)
    document.destination.model = model(document.destination.model)
    try document.encoded().write(to: URL(filePath: receipt))
  }
}

/// A store that Godwit made carries no model. Its receipt does.
struct ReceiptModelTests {
  @Test func `export and model extract take the model from the receipt`() throws {
    let result = try Result()
    let found = result.project.godwit("export", result.store, "--entity", "Note")
    #expect(found.status == 0, "\(found)")
    let bundle = try result.project.path("Notes.xcdatamodeld")
    #expect(found.output == result.project.godwit("export", result.store, "--entity", "Note", "--model", bundle).output)
    #expect(found.output.contains("\"title\":\"a\""), "\(found)")

    let made = try result.project.path("Made.xcdatamodel")
    #expect(result.project.godwit("model", "extract", result.store, "-o", made).status == 0)
    let hashes = result.project.godwit("model", "hash", made).output
    #expect(
      try hashes
        == result.project.godwit("model", "hash", result.project.path("Notes.xcdatamodeld") + "#Notes 2").output)
  }

  @Test func `inspect names the receipt, and shows details with its model`() throws {
    let result = try Result()
    let found = result.project.godwit("inspect", result.store, "--details")
    #expect(
      found.status == 0 && found.output.contains("\n  model        in the receipt '\(result.receipt)'\n"), "\(found)")
    #expect(found.output.contains("body   String, 2 NULL"), "\(found)")
    let document = try JSONValue(parsing: result.project.godwit("inspect", result.store, "--format", "json").output)
    try ManyStoresTests.check([document], "inspect")
    #expect(document["receiptWithModel"] == .string(result.receipt))
  }

  @Test func `why finds the way from a store whose version only the receipt has`() throws {
    let result = try Result()
    let found = result.project.godwit("why", result.store, result.later)
    #expect(found.status == 2, "\(found)")
    #expect(found.output.contains("source    the model is from the receipt '\(result.receipt)'"), "\(found)")
  }

  @Test func `a job reads the store, and trace follows its objects`() throws {
    let result = try Result()
    try result.project.write(
      "later.yaml", "godwit: 1\nsource: out.sqlite\ndestination: later.sqlite\nmodels: Later.xcdatamodeld\n")
    let job = try result.project.path("later.yaml")
    let ran = result.project.godwit("run", job)
    #expect(ran.status == 0, "\(ran)")
    let traced = result.project.godwit("trace", job, "Note/p2", "--side", "source")
    #expect(traced.status == 0 && traced.output.contains("title  \"b\""), "\(traced)")
  }

  @Test func `the receipt of a job that appends is found by its longer name`() throws {
    let result = try Result(
      destination: "{path: out.sqlite, existing: append}", more: "receipt: out.sqlite.0123456789ab.receipt.json\n")
    #expect(!FileManager.default.fileExists(atPath: result.receipt))
    let found = result.project.godwit("export", result.store, "--entity", "Note")
    #expect(found.status == 0, "\(found)")
  }

  @Test func `a model with other version hashes is not believed, by no command`() throws {
    let result = try Result()
    try result.change { $0.replacing("name=\"body\"", with: "name=\"tail\"") }
    let found = result.project.godwit("export", result.store, "--entity", "Note")
    #expect(found.status == 64 && found.diagnostics.contains("the model in the receipt"), "\(found)")
    let verified = result.project.godwit("verify", "--receipt", result.receipt)
    #expect(verified.status == 65 && verified.diagnostics.contains("it is damaged"), "\(verified)")
    let why = result.project.godwit("why", result.store, result.later)
    #expect(why.status == 69 && why.output.contains("no version"), "\(why)")
  }

  @Test func `a receipt that cannot be read is named, and stops nothing else`() throws {
    let result = try Result()
    try result.change { _ in "<model" }
    let found = result.project.godwit("export", result.store, "--entity", "Note")
    #expect(found.status == 64 && found.diagnostics.contains("'\(result.receipt)' cannot be used"), "\(found)")
    #expect(result.project.godwit("inspect", result.store).status == 0)
    try "[]".write(toFile: result.receipt, atomically: false, encoding: .utf8)
    #expect(result.project.godwit("inspect", result.store).status == 0)
  }

  @Test func `a store that names no job has no receipt`() throws {
    let result = try Result()
    let source = try result.project.path("notes.sqlite")
    try FileManager.default.copyItem(atPath: result.receipt, toPath: source + Receipt.suffix)
    let found = result.project.godwit("export", source, "--entity", "Note")
    #expect(found.status == 64 && !found.diagnostics.contains("receipt"), "\(found)")
  }
}
