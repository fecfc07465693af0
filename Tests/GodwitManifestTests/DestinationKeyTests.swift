import GodwitJob
import GodwitModel
import TestSupport
import Testing
import Yams

@testable import GodwitManifest

/// The key `destination`.
struct DestinationKeyTests {
  private static func text(_ destination: String, _ more: String = "") -> String {
    "godwit: 1\nsource: a\n\(destination)\nmodels: m\n\(more)"
  }

  private func read(_ destination: String, _ more: String = "") throws -> JobManifest {
    try manifest(Array(Self.text(destination, more).utf8))
  }

  @Test(arguments: [
    ("b", MigrationJob.ExistingDestinationRule.fail), ("{path: b}", .fail), ("{path: b, existing: fail}", .fail),
    ("{path: b, existing: append}", .append), ("{path: b, existing: replace}", .replace(keepsOld: false)),
    ("{path: b, existing: replace, keep-old: true}", .replace(keepsOld: true)),
    ("{existing: in-place}", .inPlace(keepsOld: true)),
    ("{keep-old: false, existing: in-place}", .inPlace(keepsOld: false)),
  ])
  func `the reader and the schema take every form`(
    value: String, rule: MigrationJob.ExistingDestinationRule
  ) throws {
    let job = try read("destination: \(value)")
    #expect(job.destination.existing == rule)
    #expect(job.destination.path?.raw == (job.isInPlace ? nil : "b"))
    let schema = try JSONSchema(named: "job.schema.json")
    #expect(schema.findings(try #require(try compose(yaml: Self.text("destination: \(value)")))) == [])
  }

  @Test(arguments: [
    ("{}", ""), ("{existing: replace}", ""), ("{path: b, existing: in-place}", ""), ("{path: b, keep-old: true}", ""),
    ("{path: b, existing: append, keep-old: false}", ""), ("{path: b, existing: overwrite}", ""),
    ("{path: b, existing: replace}", "receipt: none\n"), ("[b]", ""),
  ])
  func `the reader and the schema refuse what does not go together`(value: String, more: String) throws {
    let text = Self.text("destination: \(value)", more)
    #expect(try complaint(of: text)?.code == .configuration)
    let schema = try JSONSchema(named: "job.schema.json")
    #expect(schema.findings(try #require(try compose(yaml: text))) != [])
  }

  @Test(arguments: [
    ("in-place: true", "write `destination: {existing: in-place}`"),
    ("append: true", "write `destination: {path: PATH, existing: append}`"),
    ("replace: true", "write `destination: {path: PATH, existing: replace}`"),
    ("keep-old: true", "write `destination: {keep-old: …}`"), ("allow-empty: true", "write `on-loss: allow-empty`"),
    ("from: c.sqlite", "write `layout: {from: …}`"), ("rows: 5", "write `chunks: {rows: …}`"),
    ("results: r", "write `stores: {results: …}`"), ("on-existing: replace", "use one of: godwit, job, "),
    ("history: drop", "use one of: godwit, job, "),
  ])
  func `a key of the wrong place is unknown, and the message says what to write`(line: String, remedy: String) throws {
    let error = try complaint(of: Self.text("destination: b", line + "\n"))
    let key = line.prefix { $0 != ":" }
    #expect(error?.code == .configuration && error?.message.contains("unknown key '\(key)'") == true)
    #expect(error?.remedy?.contains(remedy) == true, "\(String(describing: error))")
  }

  @Test(arguments: [
    (
      "b", ["destination.existing=replace", "destination.keep-old=true"],
      MigrationJob.ExistingDestinationRule.replace(keepsOld: true)
    ),
    ("b", ["destination.existing=in-place"], .inPlace(keepsOld: true)),
    ("{path: b, existing: append}", ["destination.existing="], .fail),
    ("{existing: in-place, keep-old: false}", ["destination=c"], .fail),
    ("{path: b, existing: replace, keep-old: true}", ["destination=c"], .replace(keepsOld: true)),
  ])
  func `options set what happens at the destination`(
    value: String, options: [String], rule: MigrationJob.ExistingDestinationRule
  ) throws {
    let text = Self.text("destination: \(value)")
    let file = try YAMLFile(bytes: Array(text.utf8), path: "job.yaml", what: "job manifest")
    let set = try file.setting(options.map(ManifestOverride.init(parsing:)))
    let job = try JobManifest(reading: YAMLReader(file: set))
    #expect(job.destination.existing == rule)
    #expect(job.destination.path?.raw == (job.isInPlace ? nil : options.contains("destination=c") ? "c" : "b"))
  }
}
