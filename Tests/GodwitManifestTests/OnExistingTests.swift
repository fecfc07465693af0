import Foundation
import GodwitModel
import TestSupport
import Testing
import Yams

@testable import GodwitManifest

/// The key `on-existing`, and `keep-old` beside it.
struct OnExistingTests {
  @Test func `the key is read, and its defaults are the careful ones`() throws {
    func read(_ lines: String) throws -> JobManifest { try manifest(Array((required + lines).utf8)) }
    #expect(try read("").onExisting == .fail)
    let replaced = try read("on-existing: replace\n")
    #expect(replaced.onExisting == .replace && !replaced.keepsReplaced)
    #expect(try read("on-existing: replace\nkeep-old: true\n").keepsReplaced)
    #expect(try !read("keep-old: false\non-existing: replace\n").keepsReplaced)
  }

  @Test(arguments: [
    ("on-existing: overwrite\n", "expected fail or replace for 'on-existing', found 'overwrite'"),
    ("on-existing: fail\nkeep-old: true\n", "or 'on-existing: replace', found neither"),
    ("on-existing: replace\nappend: true\n", "expected either 'on-existing: replace' or 'append: true', found both"),
    ("on-existing: replace\nreceipt: none\n", "expected a receipt beside 'on-existing: replace', found 'none'"),
  ])
  func `what does not go together is refused by the reader and by the schema`(lines: String, told: String) throws {
    let error = try complaint(of: required + lines)
    #expect(error?.code == .configuration && error?.message.contains(told) == true, "\(String(describing: error))")
    let schema = try JSONSchema(named: "job.schema.json")
    #expect(schema.findings(try #require(try compose(yaml: required + lines))) != [])
  }

  @Test func `a job in place replaces its source anyway`() throws {
    let text = "godwit: 1\nsource: a\nin-place: true\nmodels: m\non-existing: replace\n"
    let error = try complaint(of: text)
    #expect(error?.message.contains("expected a 'destination' beside 'on-existing: replace'") == true)
    #expect(error?.location?.line == 5)
  }

  @Test func `the schema takes what the reader takes`() throws {
    let schema = try JSONSchema(named: "job.schema.json")
    for lines in ["on-existing: replace\n", "on-existing: replace\nkeep-old: true\n", "on-existing: fail\n"] {
      #expect(schema.findings(try #require(try compose(yaml: required + lines))) == [], "\(lines)")
    }
  }

  @Test(arguments: ["", "in-place: false\n"])
  func `a destination of the command line leaves the rule for it in force`(more: String) throws {
    let text = required + more + "on-existing: replace\nkeep-old: true\n"
    let file = try YAMLFile(bytes: Array(text.utf8), path: "job.yaml", what: "job manifest")
    let override = ManifestOverride(key: "destination", text: "other.sqlite", option: "--destination")
    let set = try file.setting([override], what: "job manifest")
    let job = try JobManifest(reading: YAMLReader(file: set, what: "job manifest"))
    #expect(job.onExisting == .replace && job.keepsReplaced)
    guard case .file(let path) = job.destination else { throw Unexpected() }
    #expect(path.raw == "other.sqlite")
  }
}
