import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

@Suite struct VerifierTests {
  @Test func `the overview of a report has three lines, and sums up objects, values and links of all steps`() {
    var report = VerificationReport()
    report.count("objects of A, step 1 of 2", 3)
    report.count("objects of A, step 2 of 2", 1)
    report.count("values in ZA, step 1 of 2", 5)
    report.count("objects of A under a uniqueness constraint", 7)
    report.count("links of A.b", 1)
    #expect(
      report.overview
        == "compared 4 objects, 5 values and 1 link in 2 steps\nall 5 checks were possible\nno difference found")
    for (index, name) in ["a", "b", "c", "d"].enumerated() { report.count("not proved: \(name)", Int64(index)) }
    #expect(report.overview.contains("\nnot proved: a (0); b (1); and 2 more, see --details\n"), "\(report.overview)")
    report.add(.init(.value, entity: "A", key: 7, message: "wrong"))
    #expect(report.overview.hasPrefix("value: A p7: wrong\ncompared ") && report.overview.hasSuffix("\n1 finding"))
  }

  @Test func `a migrated store has no findings, and the report counts what was checked`() throws {
    let fixture = try School.fixture()
    try MigrationManager(fixture.job).run()
    var shares: [Double] = []
    let report = try Verifier(job: fixture.job).run { shares.append($0) }
    #expect(report.isClean, "\(report)")
    func count(_ name: String) -> Int64? { report.checks.first { $0.name == name }?.count }
    #expect(count("objects of Junior") == 6 && count("objects of Senior") == 5 && count("objects of Visitor") == 6)
    #expect(count("objects of House") == 3)
    #expect(
      count("source objects of Pupil that mappings take") == 12
        && count("source objects of Club that no filter accepts") == 0)
    #expect(count("source objects of Guest that no filter accepts") == 0)
    #expect(count("source objects dropped with entity Visit") == 5)
    #expect(count("links of Junior.class") == 11 && count("links of Junior.house") == 10)
    #expect(count("positions in Class.pupils") == 11)
    #expect(shares.first == 0 && shares.last == 1 && shares == shares.sorted())
    #expect(
      report.checks.map(\.name).filter { $0.hasPrefix("not proved") }
        == ["not proved: triggers of derived attribute Record.plain"], "\(report)")
    let copy = try JSONDecoder().decode(VerificationReport.self, from: JSONEncoder().encode(report))
    #expect(copy.checks == report.checks)
  }

  @Test func `links along an ordered relationship and another one have no findings`() throws {
    let fixture = try MigrationFixture(
      [
        .make("Box", [:], [.toMany("items", "Item", inverse: "box", ordered: true)]),
        .make("Item", [:], [.toOne("box", "Box", inverse: "items"), .toOne("tag", "Tag", inverse: nil)]), .make("Tag"),
      ],
      to: [
        .make("Box", [:], [.toMany("tags", "Tag", inverse: "boxes", ordered: true)]),
        .make("Tag", [:], [.toMany("boxes", "Box", inverse: "tags")]),
      ])
    try fixture.build { store in
      for key in Int64(1)...9 { try store.insert("Tag", key: key, attributes: [:], relationships: [:]) }
      for key in Int64(1)...3 {
        try store.insert(
          "Box", key: key, attributes: [:], relationships: ["items": (0..<9).map { (9 - $0) * 3 - 3 + key }])
      }
      for key in Int64(1)...27 {
        try store.insert(
          "Item", key: key, attributes: [:], relationships: ["box": [(key - 1) % 3 + 1], "tag": [key * 5 % 9 + 1]])
      }
    }
    fixture.mappings = [
      try .make("Box", "Box", relationships: ["tags": .mapping("TagToTag", keyPath: ["items", "tag"])]),
      try .make("Tag", "Tag"),
    ]
    try fixture.run()
  }

  @Test func `a link that an object of a policy took and gave up is not called missing`() throws {
    let fixture = try MigrationFixture(
      [
        .make("Man", [:], [.toOne("dog", "Dog", inverse: "man")]),
        .make("Dog", [:], [.toOne("man", "Man", inverse: "dog")]),
        .make("Ghost"),
      ],
      to: [
        .make("Man", [:], [.toOne("dog", "Dog", inverse: "man")]),
        .make("Dog", [:], [.toOne("man", "Man", inverse: "dog")]),
      ])
    try fixture.build { store in
      for key in Int64(1)...4 {
        try store.insert("Man", key: key, attributes: [:], relationships: ["dog": [key]])
        try store.insert("Dog", key: key, attributes: [:], relationships: ["man": [key]])
      }
      try store.insert("Ghost", key: 1, attributes: [:], relationships: [:])
    }
    var taking = ClosurePolicy()
    taking.relate = { ghost, _, manager in
      guard let dog = try manager.destinationInstance(ofEntityNamed: "Dog", key: 2) else { return }
      try manager.setRelationship("dog", of: ghost, to: dog)
      try manager.setRelationship("dog", of: ghost, to: nil as ManagedObject?)
    }
    var ghost = try EntityMapping.make("Ghost", "Man")
    ghost.policyName = "Taking"
    fixture.mappings = [
      try .make("Man", "Man", relationships: ["dog": .sourceRelationship("dog")]), try .make("Dog", "Dog"), ghost,
    ]
    var job = try fixture.job
    job.policies = ["Taking": { [taking] in taking }]
    try MigrationManager(job).run()
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
    #expect(try fixture.rows("SELECT COUNT(ZDOG) FROM ZMAN") == ["3"])
    // A link that no policy can have taken is missing all the same.
    let connection = try StoreConnection(path: fixture.destinationPath)
    try connection.execute("DELETE FROM ZMAN WHERE Z_PK > 4")
    try connection.close()
    #expect(try !Verifier(job: job).run().isClean)
  }

  @Test func `a true boolean is 1 in a number, whatever the source holds for it`() throws {
    let numbers: [String: AttributeType] = ["i": .integer16, "d": .double, "m": .decimal, "b": .boolean]
    let fixture = try MigrationFixture(
      [.make("Flag", ["on": .boolean])], to: [.make("Flag", numbers), .make("Kind", numbers)])
    let values: [Int64] = [0, 1, 2, -1, .max]
    try fixture.build { store in
      for key in values.indices { try store.insert("Flag", key: Int64(key + 1), attributes: ["on": .boolean(true)]) }
    }
    for (key, value) in values.enumerated() {
      try fixture.alter("UPDATE ZFLAG SET ZON = \(value) WHERE Z_PK = \(key + 1)")
    }
    let attributes = numbers.mapValues { _ in "$source.on" }
    fixture.mappings = [
      try .make("Flag", "Flag", attributes: attributes),
      try .make("Flag", "Kind", uniqueBy: ["i"], attributes: attributes),
    ]
    try fixture.run()
    #expect(
      try fixture.rows("SELECT ZI, ZD, ZM, ZB FROM source.ZFLAG ORDER BY Z_PK")
        == ["0|0.0|0|0"] + Array(repeating: "1|1.0|1|1", count: 4))
    #expect(try fixture.rows("SELECT Z_PK, ZI FROM source.ZKIND ORDER BY 1") == ["1|0", "2|1"])
    let connection = try StoreConnection(path: fixture.destinationPath)
    try connection.execute("UPDATE ZFLAG SET ZI = 2 WHERE Z_PK = 3")
    try connection.execute("UPDATE ZFLAG SET ZD = -1 WHERE Z_PK = 4")
    try connection.execute("UPDATE ZFLAG SET ZM = 0 WHERE Z_PK = 5")
    try connection.close()
    let report = try Verifier(job: fixture.job).runBothWays()
    #expect(report.findings.map { "\($0.property ?? "") \($0.key ?? 0)" } == ["i 3", "d 4", "m 5"], "\(report)")
    // The same by inference, and in place.
    let inferred = try MigrationFixture(
      [.make("Flag", ["on": .boolean])], to: [.make("Flag", ["on": .integer32, "new": .string])])
    try FileManager.default.copyItem(atPath: fixture.sourcePath, toPath: inferred.sourcePath)
    try inferred.infer()
    try inferred.run()
    #expect(try inferred.rows("SELECT ZON FROM source.ZFLAG ORDER BY Z_PK") == ["0", "1", "1", "1", "1"])
  }

  @Test(arguments: 1...4) func `verify has no findings for any job of the repository`(version: Int) throws {
    let folder = try TemporaryFolder()
    var mapping = try MappingModel(contentsOfYAML: PeoplizerStores.file("V\(version)toV\(version + 1).mapping.yaml"))
    let job = MigrationJob(
      name: "peoplizer", sourcePath: PeoplizerStores.path(version: version),
      destinationPath: folder.file("out.sqlite"), sourceModel: try PeoplizerStores.model(version: version),
      destinationModel: try PeoplizerStores.model(version: version + 1), mappingModels: [mapping], chunkRows: 7)
    try MigrationManager(job).run()
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)")
    #expect(!"\(report)".contains("not proved"))
    // The same store against another mapping: what that one says is found wanting.
    for index in mapping.entityMappings.indices {
      mapping.entityMappings[index].attributeMappings.removeAll { $0.name == "name" || $0.name == "street" }
    }
    var other = job
    other.steps[0].mappingModels = [mapping]
    #expect(try !Verifier(job: other).run().isClean)
  }

  @Test func `verify finds changed metadata key by key`() throws {
    let fixture = try School.fixture()
    try MigrationManager(fixture.job).run()
    let connection = try StoreConnection(path: fixture.destinationPath)
    var metadata = try StoreMetadata(reading: connection, schema: "main", path: "")
    var hashes = metadata.versionHashes
    hashes["Club"] = Array(repeating: 7, count: 32)
    metadata.values[StoreMetadata.Key.versionHashes] = .dictionary(hashes.mapValues { .data($0) })
    metadata.values[StoreMetadata.Key.digest] = .string("x")
    metadata.values[StoreMetadata.Key.frameworkVersion] = .integer(977)
    metadata.values[MigrationManager.jobsKey] = nil
    metadata.values["Theirs"] = .string("x")
    try metadata.write(to: connection)
    try connection.close()
    let report = try Verifier(job: fixture.job).run()
    #expect(
      report.findings.map { $0.entity ?? $0.property ?? "" } == [
        "Club", StoreMetadata.Key.frameworkVersion, StoreMetadata.Key.digest, "Theirs", MigrationManager.jobsKey,
      ])
    #expect(report.findings.allSatisfy { $0.kind == .metadata })
  }

  @Test func `verify requires the source's application keys and counters`() throws {
    let fixture = try School.fixture()
    var metadata = StoreMetadata(model: fixture.source)
    metadata.values["Mine"] = .integer(5)
    let connection = try StoreConnection(path: fixture.sourcePath)
    try metadata.write(to: connection)
    try connection.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = 500 WHERE Z_NAME = 'Pupil'")
    try connection.close()
    fixture.mappings.removeLast()
    try MigrationManager(fixture.job).run()
    #expect(try Verifier(job: fixture.job).run().isClean)
    let made = try StoreConnection(path: fixture.destinationPath)
    var changed = try StoreMetadata(reading: made, schema: "main", path: "")
    changed.values["Mine"] = nil
    try changed.write(to: made)
    try made.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = 400 WHERE Z_NAME = 'Person'")
    try made.close()
    let report = try Verifier(job: fixture.job).run()
    #expect(report.findings.map(\.kind) == [.metadata, .counter])
    #expect(report.findings.first?.property == "Mine")
  }

  @Test func `a report keeps only the first findings, and counts all`() throws {
    let entities: [EntityDescription] = [.make("Item", ["size": .integer32])]
    let fixture = try MigrationFixture(entities, to: entities)
    try fixture.build { store in
      for key in Int64(1)...250 { try store.insert("Item", key: key, attributes: ["size": .integer(key)]) }
    }
    fixture.mappings = [try .make("Item", "Item", kind: .copy)]
    try MigrationManager(fixture.job).run()
    let connection = try StoreConnection(path: fixture.destinationPath)
    try connection.execute("UPDATE ZITEM SET ZSIZE = ZSIZE + 1")
    try connection.close()
    let report = try Verifier(job: fixture.job).run()
    #expect(report.totalFindings == 250 && report.findings.count == VerificationReport.findingLimit)
    #expect("\(report)".contains("and 150 more"))
  }

  @Test func `verify counts values of a now() that was not kept as not proved, and proves all others`() throws {
    let fixture = try MigrationFixture(
      [.make("Item", ["size": .integer32])], to: [.make("Item", ["size": .integer32, "at": .date])])
    try fixture.build { store in try store.insert("Item", attributes: ["size": .integer(1)]) }
    fixture.mappings = [try .make("Item", "Item", attributes: ["size": "$source.size", "at": "now()"])]
    try fixture.run()
    let connection = try StoreConnection(path: fixture.destinationPath)
    var metadata = try StoreMetadata(reading: connection, schema: "main", path: "")
    metadata.values["GodwitMoments"] = nil
    try metadata.write(to: connection)
    try connection.close()
    let report = try Verifier(job: fixture.job).run()
    #expect(report.isClean)
    #expect(report.checks.contains { $0.name == "not proved: attributes of mapping 'ItemToItem'" && $0.count == 1 })
  }

  @Test func `a verification that is stopped or out of time says so, and keeps nothing before the first row`() throws {
    let fixture = try School.fixture()
    try MigrationManager(fixture.job).run()
    let control = MigrationControl()
    control.stop(reason: "SIGTERM")
    let verifier = Verifier(job: try fixture.job)
    let stopped = try #require(throws: GodwitError.self) { _ = try verifier.run(control: control) }
    #expect(stopped.code == .stopped && stopped.message.contains("SIGTERM"))
    #expect(stopped.remedy?.contains("begins with the first object") == true)
    let late = try #require(throws: GodwitError.self) { _ = try verifier.run(maximumSeconds: 0) }
    #expect(late.code == .stopped && late.stopReason == .timeLimit)
    #expect(try verifier.run(maximumSeconds: 600).isClean)
  }

  @Test func `verify of an unfinished job is an error`() throws {
    let fixture = try School.fixture()
    let missing = try #require(throws: GodwitError.self) { _ = try Verifier(job: fixture.job).run() }
    #expect(missing.code == .missingInput)
    try fixture.run()
    try FileManager.default.createDirectory(
      atPath: fixture.destinationPath + ".godwit", withIntermediateDirectories: true)
    let unfinished = try #require(throws: GodwitError.self) { _ = try Verifier(job: fixture.job).run() }
    #expect(unfinished.code == .missingInput && unfinished.message.contains("unfinished"))
  }

  @Test func `verify changes neither store and leaves nothing beside them`() throws {
    let fixture = try School.fixture()
    try MigrationManager(fixture.job).run()
    func state() throws -> [String: Data] {
      var state: [String: Data] = [:]
      for path in [fixture.sourcePath, fixture.destinationPath] {
        let folder = (path as NSString).deletingLastPathComponent
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
          state[folder + "/" + name] = FileManager.default.contents(atPath: folder + "/" + name)
        }
      }
      return state
    }
    let earlier = try state()
    #expect(try Verifier(job: fixture.job).run().isClean)
    #expect(try state() == earlier)
  }
}
