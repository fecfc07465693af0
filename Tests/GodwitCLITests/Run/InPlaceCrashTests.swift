import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// A store that is migrated in place by SQL: one table grows, one is rebuilt, a join table is renamed, entity numbers
/// move, files of binary data go with the attribute that names them.
private final class InPlaceJob {
  let folder: TemporaryFolder
  let keepsOld: Bool
  var manifest: String { folder.file("job.yaml") }
  var store: String { folder.file("people.sqlite") }
  var old: String { folder.file("people~.sqlite") }

  init(people: Int64, keepsOld: Bool, copying other: InPlaceJob? = nil) throws {
    folder = try TemporaryFolder("godwit-in-place")
    self.keepsOld = keepsOld
    try write(
      "job.yaml",
      """
      godwit: 1
      source: people.sqlite
      destination: {existing: in-place, keep-old: \(keepsOld)}
      models: People.xcdatamodeld
      destination-model: People 2
      mappings: inferred
      """)
    let source = try ManagedObjectModel(name: "People", entities: Self.entities(isLater: false))
    try write("People.xcdatamodeld/People.xcdatamodel/contents", source.xcodeContents)
    try write(
      "People.xcdatamodeld/People 2.xcdatamodel/contents",
      try ManagedObjectModel(name: "People 2", entities: Self.entities(isLater: true)).xcodeContents)
    if let other {
      for name in ["people.sqlite", ".people_SUPPORT"] {
        try FileManager.default.copyItem(atPath: other.folder.file(name), toPath: folder.file(name))
      }
      return
    }
    let builder = try StoreBuilder(path: store, model: source)
    for key in 1...max(1, people / 10) {
      try builder.insert("Address", key: key, attributes: ["street": .init("s\(key)")])
      try builder.insert("Tag", key: key, attributes: ["word": .init("t\(key)")])
    }
    for key in 1...people {
      try builder.insert(
        "Person", key: key, attributes: ["name": .init("person \(key)"), "age": .integer(key % 90)],
        relationships: ["address": [key % max(1, people / 10) + 1], "tags": [key % max(1, people / 10) + 1]])
    }
    try builder.finish()
    let support = SupportFolder(ofStoreAt: store)
    try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
    let connection = try StoreConnection(path: store)
    for key in 1...20 {
      for column in ["ZPHOTO", "ZSCAN"] {
        let name = "00000000-0000-0000-\(column == "ZSCAN" ? 1000 : 2000)-\(String(100_000_000_000 + key))"
        try Data(repeating: UInt8(key), count: 200 + key).write(to: URL(filePath: support.path(of: name)))
        try connection.execute(
          "UPDATE ZPERSON SET \(column) = ?1 WHERE Z_PK = ?2",
          [.blob(StoredBinary.external(name: name).bytes), .int(key)])
      }
    }
    try connection.close()
  }

  private func write(_ name: String, _ text: String) throws {
    let url = URL(filePath: folder.file(name))
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try text.write(to: url, atomically: true, encoding: .utf8)
  }

  private static func entities(isLater: Bool) -> [EntityDescription] {
    func attribute(_ name: String, _ type: AttributeType, external: Bool = false) -> AttributeDescription {
      var attribute = AttributeDescription(name: name, type: type)
      attribute.allowsExternalBinaryDataStorage = external
      return attribute
    }
    func link(_ name: String, _ entity: String, _ inverse: String, many: Bool = false) -> RelationshipDescription {
      RelationshipDescription(name: name, destinationEntityName: entity, inverseName: inverse, isToMany: many)
    }
    var address = EntityDescription(
      name: "Address", attributes: [attribute("street", .string)],
      relationships: [link("people", "Person", "address", many: true)])
    var person = EntityDescription(
      name: "Person",
      attributes: [
        attribute("name", .string), attribute("age", .integer16), attribute("photo", .binary, external: true),
      ],
      relationships: [link("address", "Address", "people"), link("tags", "Tag", "people", many: true)])
    let tag = EntityDescription(
      name: "Tag", attributes: [attribute("word", .string)],
      relationships: [link("people", "Person", "tags", many: true)])
    guard isLater else {
      person.attributes.append(attribute("scan", .binary, external: true))
      return [address, person, tag]
    }
    var town = attribute("town", .string)
    town.isOptional = false
    town.defaultValue = .init("nowhere")
    address.attributes.append(town)
    return [EntityDescription(name: "Aaa"), address, person, tag]
  }

  var content: [String] {
    get throws {
      var lines = try StoreDump(store).lines
      var files: [String] = []
      try SupportFolder(ofStoreAt: store).forEachFile { files.append("file \($0) \($1)") }
      lines += files.sorted()
      return lines
    }
  }

  func finish() throws -> [String] {
    let result = try BuiltCommand.run("run", manifest, "--progress", "plain")
    try #require(result.status == 0, "\(result.diagnostics)")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    let kept = keepsOld ? [".people_SUPPORT", ".people~_SUPPORT"] : [".people_SUPPORT"]
    #expect(
      names == kept + ["People.xcdatamodeld", "job.yaml", "people.sqlite"] + (keepsOld ? ["people~.sqlite"] : []))
    return try content
  }
}

@Suite(.enabled(if: BuiltCommand.path != nil, "the executable is not beside the tests")) struct InPlaceCrashTests {
  @Test(arguments: [true, false])
  func `a store migrated in place is whole whenever the run is killed, and the next run completes`(keepsOld: Bool)
    throws
  {
    let seed = momentSeed()
    var random = SeededGenerator(seed: seed)
    let whole = try InPlaceJob(people: 4000, keepsOld: keepsOld)
    let before = try whole.content
    let pristine = try InPlaceJob(people: 4000, keepsOld: keepsOld, copying: whole)
    var job = try InPlaceJob(people: 4000, keepsOld: keepsOld, copying: pristine)
    let plan = try BuiltCommand.run("plan", "--details", whole.manifest)
    #expect(plan.output.contains("in place by SQL, loading no rows"))
    let expected = try whole.finish()
    #expect(expected != before)
    var (kills, runs) = (0, 0)
    // On a busy machine a run may end before each of the first kills.
    while runs < TestTier.choose(6, long: 25) || kills == 0 && runs < 60 {
      runs += 1
      let seconds = 0.005 + Double.random(in: 0...0.15, using: &random)
      let ended = try BuiltCommand.runAndKill(job.manifest, seconds: seconds)
      kills += ended ? 0 : 1
      // A reader rolls back what was begun, as SQLite would.
      let found = try job.content
      let rows = found.filter { !$0.hasPrefix("file ") }
      #expect(
        rows == before.filter { !$0.hasPrefix("file ") } || rows == expected.filter { !$0.hasPrefix("file ") },
        "seed \(seed), killed after \(seconds) s")
      #expect(Set(found).isSuperset(of: expected.filter { $0.hasPrefix("file ") }), "seed \(seed)")
      guard try job.isMigrated() else { continue }
      #expect(try job.finish() == expected, "seed \(seed)")
      job = try InPlaceJob(people: 4000, keepsOld: keepsOld, copying: pristine)
    }
    #expect(try job.finish() == expected, "seed \(seed), \(kills) kills")
    #expect(kills > 0, "seed \(seed)")
  }

  @Test func `a signal during a migration in place leaves the store unchanged and ends the run`() throws {
    let people: Int64 = TestTier.choose(20_000, long: 60_000)
    let pristine = try InPlaceJob(people: people, keepsOld: true)
    for keepsOld in [true, false] {
      try signal(try InPlaceJob(people: people, keepsOld: keepsOld, copying: pristine))
    }
  }

  private func signal(_ job: InPlaceJob) throws {
    let before = try job.content
    let run = try BuiltCommand.startRun(job.manifest)
    run.waitForOutput("\"progress\"")
    run.send(SIGTERM)
    run.wait()
    #expect(run.process.terminationReason == .uncaughtSignal)
    #expect(run.process.terminationStatus == SIGTERM)
    #expect(try job.content == before)
    #expect(!FileManager.default.fileExists(atPath: job.store + ".godwit"))
    #expect(!FileManager.default.fileExists(atPath: job.old))
    _ = try job.finish()
  }
}

extension InPlaceJob {
  func isMigrated() throws -> Bool { try StoreMetadata(readingStoreAt: store).versionHashes["Aaa"] != nil }
}
