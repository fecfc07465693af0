import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// The value of `now()` in the run that made a destination, when it is proved later.
@Suite struct JobClockTests {
  /// Six notes with texts and dates of 1991 and 2101 by turns.
  private func notes(
    then: [String: AttributeType] = ["text": .string, "born": .date, "seen": .date, "dice": .integer32],
    attributes: [String: String] = ["seen": "now() + 86400", "dice": "random()"], filter: String? = nil,
    uniqueBy: [String] = []
  ) throws -> MigrationFixture {
    let fixture = try MigrationFixture(
      [.make("Note", ["text": .string, "born": .date])], to: [.make("Note", then)])
    try fixture.build { store in
      for key in Int64(1)...6 {
        try store.insert(
          "Note", key: key, attributes: ["text": .init("note \(key)"), "born": .date(key % 2 == 0 ? -3e8 : 3e9)])
      }
    }
    fixture.mappings = [
      try .make("Note", "Note", kind: .copy, filter: filter, uniqueBy: uniqueBy, attributes: attributes)
    ]
    return fixture
  }

  /// The same with a second step, which copies all and adds a number.
  private func chain(_ fixture: MigrationFixture, then: [EntityMapping]? = nil) throws -> MigrationJob {
    var job = try fixture.job
    let attributes = Dictionary(
      uniqueKeysWithValues: fixture.destination.attributes(of: "Note").map { ($0.name, $0.type) })
    let last = try ManagedObjectModel(
      name: "3", entities: [.make("Note", attributes.merging(["day": .double]) { first, _ in first })])
    let copy = try EntityMapping.make("Note", "Note", kind: .copy, attributes: ["day": "$source.seen - $source.born"])
    job.steps.append(
      MigrationStep(
        sourceModel: fixture.destination, destinationModel: last,
        mappingModels: [MappingModel(entityMappings: then ?? [copy])], origin: "last"))
    return job
  }

  private func edit(_ job: MigrationJob, _ sql: String...) throws {
    let connection = try StoreConnection(path: job.destinationPath)
    for sql in sql { try connection.execute(sql) }
    try connection.close()
  }

  /// Takes away what earlier versions did not write.
  private func forgetMoment(_ job: MigrationJob) throws {
    let connection = try StoreConnection(path: job.destinationPath)
    var metadata = try StoreMetadata(reading: connection, schema: "main", path: "")
    metadata.values["GodwitMoments"] = nil
    try metadata.write(to: connection)
    try connection.close()
  }

  private func places(_ report: VerificationReport) -> [String] {
    report.findings.map { "\($0.property ?? "") \($0.key ?? 0)" }
  }

  private func unproved(_ report: VerificationReport) -> [String] {
    report.checks.map(\.name).filter { $0.hasPrefix("not proved") }
  }

  @Test func `what now and random gave in an earlier step is proved`() throws {
    let fixture = try notes()
    defer { withExtendedLifetime(fixture) {} }
    let job = try chain(fixture)
    try MigrationManager(job).run()
    let report = try Verifier(job: job).runBothWays()
    #expect(report.isClean && unproved(report).isEmpty, "\(report)")
    try edit(
      job, "UPDATE ZNOTE SET ZSEEN = ZSEEN + 1 WHERE Z_PK = 3", "UPDATE ZNOTE SET ZDAY = ZDAY + 1 WHERE Z_PK = 4",
      "UPDATE ZNOTE SET ZDICE = ZDICE + 1 WHERE Z_PK = 5")
    let changed = try Verifier(job: job).runBothWays()
    #expect(places(changed) == ["seen 3", "day 4", "dice 5"], "\(changed)")
  }

  @Test func `what now gave in the only step, and in a derived attribute, is proved`() throws {
    let fixture = try notes()
    var derived = AttributeDescription(name: "changed", type: .date)
    derived.derivationExpression = "now()"
    var note = EntityDescription.make("Note", ["text": .string, "seen": .date])
    note.attributes.append(derived)
    let other = try MigrationFixture(fixture.source, to: ManagedObjectModel(name: "2", entities: [note]))
    try FileManager.default.copyItem(atPath: fixture.sourcePath, toPath: other.sourcePath)
    other.mappings = [try .make("Note", "Note", kind: .copy, attributes: ["seen": "now()"])]
    let job = try other.job
    try MigrationManager(job).run()
    let report = try Verifier(job: job).runBothWays()
    #expect(report.isClean && !"\(unproved(report))".contains("now()"), "\(report)")
    for trigger in try other.rows("SELECT name FROM source.sqlite_master WHERE type = 'trigger'") {
      try edit(job, "DROP TRIGGER \(quoted(trigger))")
    }
    try edit(job, "UPDATE ZNOTE SET ZSEEN = ZSEEN + 1 WHERE Z_PK = 3", "UPDATE ZNOTE SET ZCHANGED = ZCHANGED + 1")
    let changed = try Verifier(job: job).runBothWays()
    #expect(changed.findings.count { $0.property == "changed" } == 6, "\(changed)")
    #expect(changed.findings.filter { $0.property == "seen" }.map(\.key) == [3], "\(changed)")
  }

  @Test func `objects that now decided in an earlier step are proved`() throws {
    for (filter, uniqueBy) in [("born < now()", []), (nil, ["seen"])] as [(String?, [String])] {
      let fixture = try notes(attributes: ["seen": "now()"], filter: filter, uniqueBy: uniqueBy)
      defer { withExtendedLifetime(fixture) {} }
      let job = try chain(fixture)
      try MigrationManager(job).run()
      let report = try Verifier(job: job).runBothWays()
      #expect(report.isClean && unproved(report).isEmpty, "\(report)")
      try edit(job, "DELETE FROM ZNOTE WHERE Z_PK = (SELECT MAX(Z_PK) FROM ZNOTE)")
      #expect(try Verifier(job: job).runBothWays().findings.map(\.kind) == [.missingObject])
      // A guess at the moment says nothing of what it decided.
      try forgetMoment(job)
      let old = try Verifier(job: job).runBothWays()
      #expect(old.isClean && "\(unproved(old))".contains("step 2 of 2"), "\(old)")
    }
  }

  @Test func `a destination that does not say its moment is proved but for the values concerned`() throws {
    let fixture = try notes()
    defer { withExtendedLifetime(fixture) {} }
    let job = try chain(fixture)
    try MigrationManager(job).run()
    try forgetMoment(job)
    let report = try Verifier(job: job).runBothWays()
    #expect(report.isClean, "\(report)")
    let unknown = report.checks.filter { !$0.isProved }
    #expect(unknown.map(\.count) == [2] && unknown[0].name.contains("attributes of mapping 'NoteToNote'"), "\(report)")
    try edit(
      job, "UPDATE ZNOTE SET ZSEEN = 1, ZDAY = 1 WHERE Z_PK = 3", "UPDATE ZNOTE SET ZTEXT = 'x' WHERE Z_PK = 4",
      "UPDATE ZNOTE SET ZDICE = ZDICE + 1 WHERE Z_PK = 5")
    let changed = try Verifier(job: job).runBothWays()
    #expect(places(changed) == ["text 4", "dice 5"], "\(changed)")
    // A moment of another job is none.
    let connection = try StoreConnection(path: job.destinationPath)
    var metadata = try StoreMetadata(reading: connection, schema: "main", path: "")
    metadata.values["GodwitMoments"] = .dictionary(["0123": .real(7), "4567": .string("x")])
    try metadata.write(to: connection)
    try connection.close()
    #expect(try Verifier(job: job).runBothWays().findings == changed.findings)
  }

  @Test func `a trace through steps shows what now was in the run`() throws {
    let fixture = try notes()
    defer { withExtendedLifetime(fixture) {} }
    let job = try chain(fixture)
    try MigrationManager(job).run()
    let trace = try MigrationManager(job).trace("Note/p2")
    #expect(trace.remarks.isEmpty && trace.associations.count == 2)
    let between = try #require(trace.associations.first { $0.step == 2 }?.source.attributes["seen"])
    #expect(!between.isNull && between == trace.object.attributes["seen"])
    try forgetMoment(job)
    #expect(try MigrationManager(job).trace("Note/p2").remarks.contains { $0.contains("now()") })
  }

  @Test func `only a job that calls now says when it ran, and jobs that append say it each`() throws {
    let plain = try notes(attributes: [:])
    try plain.run()
    func moments(_ path: String) throws -> [Text: PropertyListValue] {
      try StoreMetadata(readingStoreAt: path).values["GodwitMoments"]?.dictionary ?? [:]
    }
    #expect(try moments(plain.destinationPath).isEmpty)
    let fixture = try notes()
    var first = try fixture.job
    first.existingDestination = .append
    var second = first
    second.sourcePath = plain.sourcePath
    for job in [first, second] { try MigrationManager(job).run() }
    #expect(try moments(first.destinationPath).count == 2)
    for job in [first, second] {
      let report = try Verifier(job: job).runBothWays()
      #expect(report.isClean && !"\(unproved(report))".contains("attributes of mapping"), "\(report)")
    }
    try edit(second, "UPDATE ZNOTE SET ZSEEN = ZSEEN + 1 WHERE Z_PK = 8")
    #expect(try Verifier(job: first).runBothWays().isClean)
    #expect(try Verifier(job: second).runBothWays().findings.map(\.property) == ["seen"])
  }

  @Test func `a store that was migrated in place is proved with what now was`() throws {
    let fixture = try notes()
    var job = try chain(fixture)
    job.destinationPath = job.sourcePath
    job.existingDestination = .inPlace(keepsOld: true)
    try MigrationManager(job).run()
    job.existingDestination = .fail
    job.sourcePath = MigrationJob.oldPath(of: job.destinationPath)
    let report = try Verifier(job: job).runBothWays()
    #expect(report.isClean && unproved(report).isEmpty, "\(report)")
    try edit(job, "UPDATE ZNOTE SET ZSEEN = ZSEEN + 1 WHERE Z_PK = 3")
    #expect(try Verifier(job: job).runBothWays().findings.map(\.property) == ["seen"])
  }
}
