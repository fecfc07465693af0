import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// A value in an external file that is missing, where a run needs its bytes.
struct MissingFileTests {
  /// How a run comes to need the bytes.
  enum Way: String, CaseIterable {
    case copy, expression, filter, xml, policy
  }

  private struct Plain: EntityMigrationPolicy {}

  private static func note(external: Bool, optional: Bool = true) -> EntityDescription {
    var data = AttributeDescription(name: "data", type: .binary)
    (data.allowsExternalBinaryDataStorage, data.isOptional) = (external, optional)
    return EntityDescription(name: "Note", attributes: [data, AttributeDescription(name: "name", type: .string)])
  }

  private static func name(_ key: Int64) -> String { "0000000\(key)-1111-2222-3333-444444444444" }

  /// Six notes. The bytes of n1 are in its row, those of n3 in a file; n2 and n5 name a file that is missing.
  private func fixture(_ way: Way, optional: Bool = true) throws -> MigrationFixture {
    let fixture = try MigrationFixture(
      [Self.note(external: true)], to: [Self.note(external: way == .xml, optional: optional)])
    try fixture.build { store in
      for key in Int64(1)...6 {
        try store.insert(
          "Note", key: key, attributes: ["name": .init("n\(key)"), "data": key == 1 ? .data([7]) : .null])
      }
    }
    let folder = SupportFolder(ofStoreAt: fixture.sourcePath)
    try FileManager.default.createDirectory(atPath: folder.dataPath, withIntermediateDirectories: true)
    try Data([3, 3]).write(to: URL(filePath: folder.path(of: Self.name(3))))
    let connection = try StoreConnection(path: fixture.sourcePath)
    for key in [Int64(2), 3, 5] {
      try connection.execute(
        "UPDATE ZNOTE SET ZDATA = ?1 WHERE Z_PK = ?2",
        [.blob(StoredBinary.external(name: Self.name(key)).bytes), .integer(key)])
    }
    try connection.close()
    let mapping: EntityMapping =
      switch way {
      case .copy, .xml, .policy: try .make("Note", "Note", kind: .copy)
      case .expression:
        try .make("Note", "Note", kind: .copy, attributes: ["data": "TERNARY($source.data == nil, nil, $source.data)"])
      case .filter:
        try .make("Note", "Note", filter: "data != nil OR name != nil", attributes: ["name": "$source.name"])
      }
    fixture.mappings = [mapping]
    if way == .policy { fixture.mappings[0].policyName = "Plain" }
    return fixture
  }

  private func job(
    _ way: Way, _ fixture: MigrationFixture, _ change: (inout MigrationJob) -> Void = { _ in }
  ) throws -> MigrationJob {
    var job = try fixture.job
    if way == .xml { job.destinationType = .xml }
    if way == .policy { job.policies = ["Plain": { Plain() }] }
    change(&job)
    return job
  }

  /// The names of the notes in the destination, each with its bytes.
  private func notes(_ job: MigrationJob) throws -> [String] {
    let reader = try ObjectReader(path: job.destinationPath, model: job.destinationModel)
    var found: [String] = []
    try reader.forEachObject(of: ["Note"]) { object in
      func text(_ name: String) -> String {
        switch object.properties.first(where: { $0.name == name })?.value {
        case .attribute(.string(let text), _): "\(text)"
        case .attribute(.data(let bytes), _): bytes.map(String.init).joined(separator: " ")
        case .attribute(.null, _): "nil"
        case .missingFile: "missing"
        default: "?"
        }
      }
      found.append("\(text("name")): \(text("data"))")
      return true
    }
    return found
  }

  private func expectProof(_ job: MigrationJob, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let report = try Verifier(job: job).run()
    #expect(report.isClean, "\(report)", sourceLocation: sourceLocation)
  }

  // MARK: Without quarantine

  @Test(arguments: Way.allCases)
  func `a missing file stops the run with its table, object and path, as the plan says`(way: Way) throws {
    let fixture = try fixture(way)
    let job = try job(way, fixture)
    // The plan cannot know what a policy reads, and evaluates filters itself.
    if way != .policy, way != .filter {
      #expect(try MigrationManager(job).plan().obstacles.map(\.code) == [.missingFile])
    }
    let error = try #require(throws: GodwitError.self) { try MigrationManager(job).run() }
    #expect(error.code == .dataWrong)
    let path = SupportFolder(ofStoreAt: fixture.sourcePath).path(of: Self.name(2))
    #expect(error.message.contains("'data' for Note p2: its external file '\(path)' is missing"), "\(error)")
    #expect(error.cause == "table ZNOTE, column ZDATA, Z_PK 2")
    #expect(error.remedy?.contains("restore the file") == true && error.remedy?.contains("on-invalid") == true)
  }

  // MARK: Quarantine

  @Test(arguments: Way.allCases.filter { $0 != .policy })
  func `a quarantine sets aside the objects whose file is missing, as the plan counts them`(way: Way) throws {
    let fixture = try fixture(way)
    let job = try job(way, fixture) { $0.quarantine = Quarantine(maximumRows: 2) }
    let plan = try MigrationManager(job).plan()
    #expect(plan.setAside == 2 && plan.obstacles.isEmpty)
    #expect(plan.verdict.contains("external file"), "\(plan.verdict)")
    #expect(try MigrationManager(job).runAsPlanned().quarantinedObjects == 2)
    let data = way == .filter ? ["nil", "nil", "nil", "nil"] : ["7", "3 3", "nil", "nil"]
    #expect(try notes(job) == zip([1, 3, 4, 6], data).map { "n\($0): \($1)" })
    let connection = try StoreConnection.openStore(readingAt: job.quarantinePath)
    let reasons = try connection.strings("SELECT ZMESSAGE FROM source.ZGODWITQUARANTINEREASON ORDER BY ZKEY")
    #expect(reasons.count == 2 && reasons.allSatisfy { $0.hasSuffix("is missing") }, "\(reasons)")
    try expectProof(job)
  }

  @Test func `more missing files than the job may set aside stop it`() throws {
    let fixture = try fixture(.copy)
    let job = try job(.copy, fixture) { $0.quarantine = Quarantine(maximumRows: 1) }
    #expect(try MigrationManager(job).plan().obstacles.map(\.code) == [.objectsRejected, .objectsRejected])
    #expect(throws: GodwitError.self) { try MigrationManager(job).runAsPlanned() }
  }

  @Test func `an object in quarantine gets its file back with quarantine apply`() throws {
    let fixture = try fixture(.copy)
    let job = try job(.copy, fixture) { $0.quarantine = Quarantine(maximumRows: 2) }
    _ = try MigrationManager(job).run()
    let (aside, copy) = (SupportFolder(ofStoreAt: job.quarantinePath), fixture.folder.file("edited.sqlite"))
    try FileManager.default.createDirectory(atPath: aside.dataPath, withIntermediateDirectories: true)
    for key in [Int64(2), 5] { try Data([9]).write(to: URL(filePath: aside.path(of: Self.name(key)))) }
    _ = try QuarantineEdits.apply(
      URL(filePath: job.quarantinePath), to: URL(filePath: job.sourcePath), writing: URL(filePath: copy))
    let again = try self.job(.copy, fixture) {
      ($0.sourcePath, $0.destinationPath) = (copy, fixture.folder.file("again.sqlite"))
    }
    _ = try MigrationManager(again).runAsPlanned()
    #expect(try notes(again) == ["n1: 7", "n2: 9", "n3: 3 3", "n4: nil", "n5: 9", "n6: nil"])
  }

  // MARK: Keep

  @Test(arguments: Way.allCases)
  func `keep makes the values nil, and plan and summary count the loss`(way: Way) throws {
    let fixture = try fixture(way)
    let job = try job(way, fixture) { $0.keepsInvalid = true }
    func lost(_ losses: LossReport) -> [String] {
      losses.losses.filter { $0.cause == .missingFile }.map { "\($0.kind) \($0.subject) \($0.count ?? -1)" }
    }
    #expect(lost(try MigrationManager(job).plan().losses) == ["values Note.data 2"])
    let summary = try MigrationManager(job).runAsPlanned()
    #expect(lost(summary.losses) == ["values Note.data 2"])
    let data = way == .filter ? Array(repeating: "nil", count: 6) : ["7", "nil", "3 3", "nil", "nil", "nil"]
    #expect(try notes(job) == zip(1...6, data).map { "n\($0): \($1)" })
    try expectProof(job)
    var strict = job
    strict.destinationPath += "2"
    strict.onLoss = .fail
    #expect(throws: GodwitError.self) { try MigrationManager(strict).runAsPlanned() }
  }

  @Test func `keep holds in place and for a store that is added to`() throws {
    let fixture = try fixture(.copy)
    let first = try job(.copy, fixture) { $0.keepsInvalid = true }
    _ = try MigrationManager(first).run()
    // A second store with the same notes.
    let other = try fixture.copyOfSource("other")
    let connection = try StoreConnection(path: other)
    var metadata = try StoreMetadata(readingStoreAt: other)
    metadata.uuid = UUID().uuidString
    try metadata.write(to: connection)
    try connection.close()
    let added = try job(.copy, fixture) {
      ($0.sourcePath, $0.keepsInvalid, $0.existingDestination) = (other, true, .append)
    }
    let summary = try MigrationManager(added).runAsPlanned()
    #expect(summary.losses.losses.map(\.count) == [2])
    #expect(try notes(added).count == 12)
    var inPlace = fixture.jobInPlace(try fixture.copyOfSource("place"), keepsOld: false)
    inPlace.keepsInvalid = true
    #expect(try MigrationManager(inPlace).runAsPlanned().losses.losses.map(\.count) == [2])
    #expect(try notes(inPlace) == ["n1: 7", "n2: nil", "n3: 3 3", "n4: nil", "n5: nil", "n6: nil"])
  }

  @Test func `a required attribute has no nil, so keep stops there as the plan says`() throws {
    let fixture = try fixture(.copy, optional: false)
    try fixture.alter("UPDATE ZNOTE SET ZDATA = x'0101' WHERE ZDATA IS NULL")
    let job = try job(.copy, fixture) { $0.keepsInvalid = true }
    #expect(
      try MigrationManager(job).plan().obstacles.map(\.message)
        == ["2 objects of Note: attribute 'data' is required and is nil"])
    #expect(throws: GodwitError.self) { try MigrationManager(job).runAsPlanned() }
  }

  // MARK: Siblings

  @Test(arguments: [false, true])
  func `a value that stays in its file is no loss, and its object stays`(keeps: Bool) throws {
    let fixture = try MigrationFixture([Self.note(external: true)], to: [Self.note(external: true)])
    let built = try self.fixture(.copy)
    try FileManager.default.copyItem(atPath: built.sourcePath, toPath: fixture.sourcePath)
    fixture.mappings = [try .make("Note", "Note", kind: .copy)]
    let job = try job(.copy, fixture) {
      if keeps { $0.keepsInvalid = true } else { $0.quarantine = Quarantine(maximumRows: 9) }
    }
    let summary = try MigrationManager(job).runAsPlanned()
    #expect(summary.losses.isEmpty && summary.quarantinedObjects == 0)
    #expect(try notes(job) == ["n1: 7", "n2: missing", "n3: missing", "n4: nil", "n5: missing", "n6: nil"])
    try expectProof(job)
  }

  @Test(arguments: [false, true])
  func `files that cannot be looked at are not missing, whatever the job does with those`(keeps: Bool) throws {
    let fixture = try fixture(.copy)
    // A file in place of the folder: the disk gives an error other than that there is no such file.
    let folder = SupportFolder(ofStoreAt: fixture.sourcePath)
    try FileManager.default.removeItem(atPath: folder.dataPath)
    try Data().write(to: URL(filePath: folder.dataPath))
    let job = try job(.copy, fixture) {
      if keeps { $0.keepsInvalid = true } else { $0.quarantine = Quarantine(maximumRows: 9) }
    }
    let error = try #require(throws: GodwitError.self) { try MigrationManager(job).runAsPlanned() }
    #expect(error.code != .dataWrong && error.cause?.contains("Not a directory") != false, "\(error)")
  }

  @Test(arguments: [Way.copy, .xml])
  func `a reference of no known form is set aside, and is an error otherwise`(way: Way) throws {
    let fixture = try fixture(way)
    try fixture.alter("UPDATE ZNOTE SET ZDATA = NULL WHERE Z_PK = 5")
    try fixture.alter("UPDATE ZNOTE SET ZDATA = x'02' || 'not a name' WHERE Z_PK = 2")
    try fixture.alter("UPDATE ZNOTE SET ZDATA = CAST(ZDATA AS BLOB)")
    for keeps in [true, false] {
      let job = try job(way, fixture) {
        if keeps { $0.keepsInvalid = true } else { $0.quarantine = Quarantine(maximumRows: 9) }
      }
      guard keeps else {
        #expect(try MigrationManager(job).runAsPlanned().quarantinedObjects == 1)
        try expectProof(job)
        continue
      }
      let error = try #require(throws: GodwitError.self) { try MigrationManager(job).runAsPlanned() }
      #expect(error.message.contains("neither bytes nor the name of an external file"), "\(error)")
      _ = try MigrationManager.discard(destination: job.destinationPath)
    }
  }

  @Test func `an audit counts the values of a mapping that needs their bytes`() throws {
    let fixture = try fixture(.copy)
    let findings = try MigrationManager(job(.copy, fixture)).audit().findings.filter { $0.kind == .missingFile }
    #expect(findings.map(\.count) == [2, 2])
    #expect(findings.map(\.mapping) == [nil, "NoteToNote"])
    let kept = try MigrationManager(job(.copy, fixture) { $0.keepsInvalid = true }).audit().findings
    #expect(
      kept.map(\.message) == ["values whose external file is missing; they are nil where a mapping needs their bytes"])
  }
}
