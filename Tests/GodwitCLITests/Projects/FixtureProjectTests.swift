import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitStore
import GodwitSynthesis
import GodwitVerifier
import GodwitXcode
import Logging
import TestSupport
import Testing

/// Eleven made-up applications, each migrated from its older versions by the manifest that comes to mind first.
struct FixtureProjectTests {
  struct Case: Sendable, CustomStringConvertible {
    var project: FixtureProject
    var start: FixtureProject.Start
    var isNasty: Bool
    var description: String { "\(start.version) of \(project)\(isNasty ? ", nasty" : "")" }
  }

  private static let cases = FixtureProject.all.flatMap { project in
    project.starts.flatMap { start in
      // Nasty values have all that plain ones have.
      TestTier.choose([true], long: [false, true]).map { Case(project: project, start: start, isNasty: $0) }
    }
  }

  @Test(arguments: TestTier.sample(cases, each: 4))
  func `an older version migrates to the current one with everything that both have`(_ given: Case) throws {
    let folder = try TemporaryFolder()
    let source = try ModelBundle(contentsOf: given.project.bundle).model(named: given.start.version)
    let store = folder.file("source.sqlite")
    let count = TestTier.choose(50, long: 120)
    try StoreSynthesis(model: source, rows: count, seed: 11, isNasty: given.isNasty).write(to: store)
    let manifest = folder.file("job.yaml")
    try Data(
      """
      godwit: 1
      source: source.sqlite
      destination: out/made.sqlite
      models: \(given.project.bundle)
      \(given.start.keys)
      """.utf8
    ).write(to: URL(filePath: manifest))
    let loader = try JobLoader(
      manifestPath: manifest, logger: Logger(label: "fixture") { _ in SwiftLogNoOpLogHandler() })
    let manager = MigrationManager(try loader.job())
    #expect(try manager.run().outcome == .finished)
    let report = try Verifier(job: manager.job).run()
    #expect(report.isClean, "\(report.findings.prefix(3).map(\.description))")
    let connection = try StoreConnection.openStore(readingAt: store)
    defer { try? connection.close() }
    try connection.execute("ATTACH ?1 AS made", [.text("file://\(folder.file("out/made.sqlite"))?immutable=1")])
    for same in given.start.same {
      let (before, after) = try (rows(same.source, connection), rows(same.made, connection))
      let lost = before.first { !after.contains($0) }
      let extra = after.first { !before.contains($0) }
      #expect(lost == nil && extra == nil, "\(same.made): expected \(lost ?? "nothing"), found \(extra ?? "nothing")")
      #expect(!before.isEmpty, "\(same.source) tests nothing")
    }
  }

  @Test(arguments: ["mine.mapping.yaml", "auto"])
  func `a mapping may name a version by the name of another with equal hashes`(mappings: String) throws {
    let folder = try TemporaryFolder()
    let example = Checkout.url("jobs/peoplizer").path
    let bundle = folder.file("Peoplizer.xcdatamodeld")
    try FileManager.default.copyItem(atPath: "\(example)/Peoplizer.xcdatamodeld", toPath: bundle)
    try FileManager.default.copyItem(
      atPath: "\(bundle)/Peoplizer 3.xcdatamodel", toPath: "\(bundle)/Peoplizer 3 again.xcdatamodel")
    let text = try String(contentsOfFile: "\(example)/V3toV4.mapping.yaml", encoding: .utf8)
    let named = text.replacing("source-model: Peoplizer 3\n", with: "source-model: Peoplizer 3 again\n")
    #expect(named != text)
    try Data(named.utf8).write(to: URL(filePath: folder.file("mine.mapping.yaml")))
    try Data(
      """
      godwit: 1
      source: \(example)/stores/people-3.sqlite
      destination: out/made.sqlite
      models: Peoplizer.xcdatamodeld
      destination-model: Peoplizer 4
      mappings: \(mappings)
      """.utf8
    ).write(to: URL(filePath: folder.file("job.yaml")))
    let loader = try JobLoader(
      manifestPath: folder.file("job.yaml"), logger: Logger(label: "fixture") { _ in SwiftLogNoOpLogHandler() })
    let job = try loader.job()
    #expect(job.steps.map(\.origin).allSatisfy { $0 != MigrationStep.inferredOrigin })
    #expect(try MigrationManager(job).run().outcome == .finished)
    #expect(try Verifier(job: job).run().isClean)
  }

  @Test func `the job of jobs/travel skips the broken versions and counts its losses`() throws {
    let folder = try TemporaryFolder()
    let example = Checkout.url("jobs/travel").path
    let copy = folder.file("travel")
    try FileManager.default.copyItem(atPath: example, toPath: copy)
    try? FileManager.default.removeItem(atPath: copy + "/out")
    let refused = try BuiltCommand.run("run", "job.yaml", "--set", "on-loss=fail", in: copy)
    #expect(refused.status == 65, "\(refused.diagnostics)")
    #expect(
      refused.diagnostics.contains("dropped 20 of Stop") && refused.diagnostics.contains("17 links of Trip.stops"))
    #expect(!FileManager.default.fileExists(atPath: copy + "/out/travel-4.sqlite"))
    let ran = try BuiltCommand.run("run", "job.yaml", in: copy)
    #expect(ran.status == 0, "\(ran.diagnostics)")
    #expect(ran.output.contains("lost       17 links of Trip.stops"), "\(ran.output)")
    #expect(try BuiltCommand.run("verify", "job.yaml", in: copy).status == 0)
  }

  private func rows(_ sql: String, _ connection: StoreConnection) throws -> Set<String> {
    Set(try connection.rows(sql).map { $0.map(StoreDump.text).joined(separator: " | ") })
  }
}
