import GodwitJob
import GodwitModel
import TestSupport
import Testing
import Yams

@testable import GodwitManifest

/// The key `destination`, and the keys of an earlier version that it has taken the place of.
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
    #expect(job.destination.existing == rule && job.notes == [])
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

  // MARK: Keys of an earlier version

  @Test(arguments: [
    (
      "in-place: true", MigrationJob.ExistingDestinationRule.inPlace(keepsOld: true),
      "remove 'in-place' and write `destination: {existing: in-place}`"
    ),
    (
      "in-place: true\nkeep-old: false", .inPlace(keepsOld: false),
      "remove 'in-place' and 'keep-old' and write `destination: {existing: in-place, keep-old: false}`"
    ),
    (
      "keep-old: false\nin-place: true", .inPlace(keepsOld: false),
      "remove 'keep-old' and 'in-place' and write `destination: {keep-old: false, existing: in-place}`"
    ),
    ("destination: b\nappend: true", .append, "remove 'append' and write `destination: {path: b, existing: append}`"),
    (
      "destination: 'b: 1'\non-existing: replace", .replace(keepsOld: false),
      "write `destination: {path: 'b: 1', existing: replace}`"
    ),
    (
      "destination: b\non-existing: replace\nkeep-old: true", .replace(keepsOld: true),
      "write `destination: {path: b, existing: replace, keep-old: true}`"
    ),
    (
      "destination: b\nin-place: false\non-existing: fail\nappend: false", .fail,
      "remove 'in-place' and 'on-existing' and 'append': they are keys of an earlier version"
    ),
  ])
  func `old keys are read, with a note on what to write`(
    lines: String, rule: MigrationJob.ExistingDestinationRule, note: String
  ) throws {
    let job = try read(lines)
    #expect(job.destination.existing == rule)
    #expect(job.notes.count == 1 && job.notes[0].contains(note), "\(job.notes)")
    // The advice gives the same job.
    guard let advice = job.notes[0].firstMatch(of: /write `(.*)`/)?.1 else { return }
    let rewritten = try read(String(advice))
    #expect(rewritten.destination.existing == rule && rewritten.notes == [])
    #expect(rewritten.destination.path?.raw == job.destination.path?.raw)
  }

  @Test func `other old keys are read, too`() throws {
    let empty = try read("destination: b", "allow-empty: true\n")
    #expect(empty.onLoss == .allowEmpty && empty.notes.first?.contains("write `on-loss: allow-empty`") == true)
    // Everything lost is a loss.
    let strict = try read("destination: b", "allow-empty: true\non-loss: fail\n")
    #expect(strict.onLoss == .fail && strict.notes.first?.contains("remove 'allow-empty': ") == true)
    #expect(try read("destination: b", "allow-empty: false\n").onLoss == .report)
    let layout = try read("destination: b", "layout-from: c.sqlite\n")
    #expect(layout.layout?.from?.raw == "c.sqlite")
    #expect(
      layout.notes.first?.contains("jobs/people.yaml:5:1: remove 'layout-from' and write `layout: {from: c.sqlite}`")
        == true)
    let history = try read("destination: b", "history: drop\n")
    #expect(history.notes.first?.contains("remove 'history': it is a key of an earlier version") == true)
    #expect(try read("destination: b").notes == [])
  }

  @Test(arguments: [
    ("destination: {path: b}", "append: true\n", "expected either 'destination' or 'append', found both"),
    (
      "destination: {existing: in-place}", "keep-old: true\n", "expected either 'destination' or 'keep-old', found both"
    ),
    (
      "destination: b", "layout: {strict: true}\nlayout-from: c\n",
      "expected either 'layout' or 'layout-from', found both"
    ),
    ("destination: b", "in-place: true\n", "found both"), ("destination: b", "keep-old: true\n", "found 'fail'"),
    ("destination: b", "on-existing: replace\nappend: true\n", "found two"),
    ("in-place: true", "on-existing: replace\n", "found two"),
    ("destination: b", "on-existing: overwrite\n", "expected fail or replace for 'on-existing', found 'overwrite'"),
    ("destination: b", "history: keep\n", "expected drop for 'history', found 'keep'"),
    ("in-place: false", "", "expected the key 'destination', found none"),
  ])
  func `old keys do not stand beside new ones, nor against each other`(
    lines: String, more: String, told: String
  ) throws {
    let error = try complaint(of: Self.text(lines, more))
    #expect(error?.code == .configuration && error?.message.contains(told) == true, "\(String(describing: error))")
  }

  @Test(arguments: [
    (
      "destination: b", ["on-existing=replace", "keep-old=true"],
      MigrationJob.ExistingDestinationRule.replace(keepsOld: true)
    ),
    ("destination: b", ["append=true"], .append), ("destination: b", ["in-place=true"], .inPlace(keepsOld: true)),
    ("destination: {path: b, existing: append}", ["append=false"], .fail),
    ("destination: b\non-existing: replace\nkeep-old: true", ["on-existing=", "keep-old="], .fail),
    ("in-place: true\nkeep-old: false", ["destination=c"], .fail),
    ("destination: b\non-existing: replace\nkeep-old: true", ["destination=c"], .replace(keepsOld: true)),
    ("destination: b\nappend: true", ["destination.existing=replace"], .replace(keepsOld: false)),
  ])
  func `options set old keys and new ones, over old keys and new ones`(
    lines: String, options: [String], rule: MigrationJob.ExistingDestinationRule
  ) throws {
    let file = try YAMLFile(bytes: Array(Self.text(lines).utf8), path: "job.yaml", what: "job manifest")
    let set = try file.setting(options.map(ManifestOverride.init(parsing:)))
    let job = try JobManifest(reading: YAMLReader(file: set))
    #expect(job.destination.existing == rule)
    #expect(job.destination.path?.raw == (job.isInPlace ? nil : options.contains("destination=c") ? "c" : "b"))
    let old = options.filter { OldKeys.names.contains(String($0.prefix { $0 != "=" })) }
    #expect(job.notes.count { $0.hasPrefix("--set ") } == old.count, "\(job.notes)")
  }
}
