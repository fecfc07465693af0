import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import GodwitXcode
import TestSupport
import Testing

/// A job folder that uses every stage: stored associations, every kind of link, order, indexes, derived attributes,
/// validation; and files of binary data that are carried over or go into their row.
final class CrashJob {
  let folder: TemporaryFolder
  var manifest: String { folder.file("job.yaml") }
  var destination: String { folder.file("out/people.sqlite") }

  init(people: Int64, rows: Int, copying other: CrashJob? = nil) throws {
    folder = try TemporaryFolder("godwit-crash")
    try write("mapping.yaml", Self.mapping)
    try write(
      "job.yaml",
      """
      godwit: 1
      source: people.sqlite
      destination: out/people.sqlite
      models: People.xcdatamodeld
      destination-model: People 2
      mappings: mapping.yaml
      chunks: {rows: \(rows)}
      """)
    let source = try Self.model("People", Self.sourceEntities)
    try write("People.xcdatamodeld/People.xcdatamodel/contents", source.xcodeContents)
    try write(
      "People.xcdatamodeld/People 2.xcdatamodel/contents",
      try Self.model("People 2", Self.destinationEntities).xcodeContents)
    if let other {
      for name in ["people.sqlite", ".people_SUPPORT"] {
        try FileManager.default.copyItem(atPath: other.folder.file(name), toPath: folder.file(name))
      }
      return
    }
    let store = try StoreBuilder(path: folder.file("people.sqlite"), model: source)
    for key in 1...max(1, people / 10) {
      try store.insert("Address", key: key, attributes: ["street": .init("s\(key)")], relationships: [:])
    }
    for key in 1...people {
      var links: [String: [Int64]] = ["address": [key % max(1, people / 10) + 1]]
      if key > 1 { links["friends"] = [key / 2, key - 1] }
      if key % 4 == 0 { links["spouse"] = [key - 1] }
      try store.insert(
        "Person", key: key,
        attributes: [
          "name": .init("person \(key)"), "company": .init("company \(key % 7)"), "age": .integer(key % 90),
        ],
        relationships: links)
    }
    try store.finish()
    try addFiles()
  }

  /// Every tenth of the first people has a photo in a file; the first one's scan is too large for one piece.
  private func addFiles() throws {
    let support = SupportFolder(ofStoreAt: folder.file("people.sqlite"))
    try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
    let connection = try StoreConnection(path: folder.file("people.sqlite"))
    func add(_ column: String, _ key: Int, _ size: Int) throws {
      let name = "00000000-0000-0000-\(column == "ZSCAN" ? 1000 : 2000)-\(String(100_000_000_000 + key))"
      try Data(repeating: UInt8(key % 251), count: size).write(to: URL(filePath: support.path(of: name)))
      try connection.execute(
        "UPDATE ZPERSON SET \(column) = ?1 WHERE Z_PK = ?2",
        [.blob(StoredBinary.external(name: name).bytes), .int(key)])
    }
    for key in stride(from: 1, through: 200, by: 10) { try add("ZPHOTO", key, 100 + key) }
    try add("ZSCAN", 1, 1_200_000)
    try add("ZSCAN", 2, 10)
    try connection.close()
  }

  private func write(_ name: String, _ text: String) throws {
    let url = URL(filePath: folder.file(name))
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try text.write(to: url, atomically: true, encoding: .utf8)
  }

  private static func model(_ name: String, _ entities: [EntityDescription]) throws -> ManagedObjectModel {
    try ManagedObjectModel(name: name, entities: entities, versionIdentifiers: [""])
  }

  private static func attributes(_ pairs: [(String, AttributeType)]) -> [AttributeDescription] {
    pairs.map { AttributeDescription(name: $0.0, type: $0.1) }
  }

  private static func link(
    _ name: String, _ entity: String, _ inverse: String, many: Bool = false, ordered: Bool = false
  )
    -> RelationshipDescription
  {
    var link = RelationshipDescription(name: name, destinationEntityName: entity, inverseName: inverse, isToMany: many)
    link.isOrdered = ordered
    return link
  }

  private static let people = [
    link("friends", "Person", "friendOf", many: true), link("friendOf", "Person", "friends", many: true),
    link("spouse", "Person", "spouseOf"), link("spouseOf", "Person", "spouse"), link("address", "Address", "people"),
  ]

  private static func binary(_ name: String, external: Bool) -> AttributeDescription {
    var attribute = AttributeDescription(name: name, type: .binary)
    attribute.allowsExternalBinaryDataStorage = external
    return attribute
  }

  private static let residents: AttributeDescription = {
    var attribute = AttributeDescription(name: "residents", type: .integer64)
    attribute.derivationExpression = "people.@count"
    return attribute
  }()

  private static let sourceEntities = [
    EntityDescription(
      name: "Address", attributes: attributes([("street", .string)]),
      relationships: [link("people", "Person", "address", many: true)]),
    EntityDescription(
      name: "Person",
      attributes: attributes([("name", .string), ("company", .string), ("age", .integer16)]) + [
        binary("photo", external: true), binary("scan", external: true),
      ],
      relationships: people),
  ]

  private static let destinationEntities = [
    EntityDescription(
      name: "Address", attributes: attributes([("street", .string)]) + [residents],
      relationships: [link("people", "Person", "address", many: true, ordered: true)]),
    EntityDescription(
      name: "Company", attributes: attributes([("name", .string)]),
      relationships: [link("staff", "Person", "company", many: true)]),
    EntityDescription(
      name: "Person",
      attributes: attributes([("name", .string), ("age", .integer16)]).map {
        var required = $0
        required.isOptional = false
        return required
      } + [binary("photo", external: true), binary("scan", external: false)],
      relationships: people + [link("company", "Company", "staff")]),
  ]

  private static let mapping = """
    godwit-mapping: 1
    entity-mappings:
      - {name: AddressToAddress, type: copy, source: Address, destination: Address}
      - name: PersonToPerson
        type: copy
        source: Person
        destination: Person
        attributes: {age: $source.age + 1}
        relationships:
          company: {mapping: PersonToCompany}
      - name: PersonToCompany
        source: Person
        destination: Company
        unique-by: name
        attributes: {name: $source.company}
    """

  func finish() throws -> StoreDump {
    let result = try BuiltCommand.run("run", manifest, "--progress", "plain")
    try #require(result.status == 0, "\(result.diagnostics)")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.file("out")).sorted()
    let receipts = names.filter { $0.hasSuffix(".receipt.json") }
    #expect(names.filter { !receipts.contains($0) } == [".people_SUPPORT", "people.sqlite"])
    // However often the run was killed, its receipt is whole, is the run's own, and holds.
    #expect(receipts.count == 1)
    for name in receipts {
      let path = folder.file("out/\(name)")
      let receipt = try Receipt.read(path)
      #expect(receipt.steps.first?.mappings.count == 3)
      let proof = try ReceiptCheck(receipt: URL(filePath: path)).run()
      #expect(proof.isClean, "\(proof)")
    }
    var dump = try StoreDump(destination)
    var files: [String] = []
    try SupportFolder(ofStoreAt: destination).forEachFile { files.append("file \($0) \($1)") }
    #expect(!files.isEmpty)
    dump.lines += files.sorted()
    return dump
  }
}

@Suite(.enabled(if: BuiltCommand.path != nil, "the executable is not beside the tests")) struct CrashTests {
  @Test func `a run killed after any chunk resumes to the same store`() throws {
    let whole = try CrashJob(people: 60, rows: 20)
    let source = try Data(contentsOf: URL(filePath: whole.folder.file("people.sqlite")))
    let expected = try whole.finish()
    var kills = 0
    // Every line in the long tier; the moments in between fall at random below.
    for lines in stride(from: 1, through: .max, by: TestTier.choose(5, long: 1)) {
      let job = try CrashJob(people: 60, rows: 20, copying: whole)
      let ended = try BuiltCommand.runAndKill(job.manifest, afterLines: lines)
      let found = try job.finish()
      #expect(found == expected, "killed after \(lines) lines: \(found.firstDifference(from: expected) ?? "")")
      #expect(try Data(contentsOf: URL(filePath: job.folder.file("people.sqlite"))) == source)
      if ended { break }
      kills += 1
      try #require(lines < 200)
    }
    #expect(kills > TestTier.choose(3, long: 20))
  }

  @Test func `discarding a killed run leaves nothing`() throws {
    let whole = try CrashJob(people: 60, rows: 20)
    _ = try whole.finish()
    for seconds in [0.02, 0.05, 0.08, 0.12, 0.16, 0.2, 0.3] {
      let job = try CrashJob(people: 60, rows: 5, copying: whole)
      if try BuiltCommand.runAndKill(job.manifest, seconds: seconds) { break }
      let isLinked = FileManager.default.fileExists(atPath: job.destination)
      let result = try BuiltCommand.run("discard", job.manifest)
      #expect(result.status == 0, "\(result.diagnostics)")
      guard !isLinked, FileManager.default.fileExists(atPath: job.folder.file("out")) else { continue }
      #expect(try FileManager.default.contentsOfDirectory(atPath: job.folder.file("out")) == [], "after \(seconds) s")
    }
  }

  @Test func `a run killed at random moments again and again ends in the same store`() throws {
    let seed = momentSeed()
    var random = SeededGenerator(seed: seed)
    let whole = try CrashJob(people: 3000, rows: 100)
    let expected = try whole.finish()
    var (kills, killsOfStore) = (0, 0)
    var job = try CrashJob(people: 3000, rows: 100, copying: whole)
    func expectWhole() throws {
      let found = try job.finish()
      #expect(found == expected, "seed \(seed), \(kills) kills: \(found.firstDifference(from: expected) ?? "")")
    }
    while kills < TestTier.choose(6, long: 40) {
      // How fast the machine is decides nothing: the first run of a store is killed after some lines.
      let hasEnded =
        killsOfStore == 0
        ? try BuiltCommand.runAndKill(job.manifest, afterLines: 1 + random.below(8))
        : try BuiltCommand.runAndKill(job.manifest, seconds: 0.02 + Double.random(in: 0..<0.3, using: &random))
      guard hasEnded else {
        (kills, killsOfStore) = (kills + 1, killsOfStore + 1)
        continue
      }
      try #require(killsOfStore > 0, "seed \(seed)")
      try expectWhole()
      (job, killsOfStore) = (try CrashJob(people: 3000, rows: 100, copying: whole), 0)
    }
    try expectWhole()
  }

  @Test func `a signal ends the run at a checkpoint, by the same signal, and the next run resumes`() throws {
    let whole = try CrashJob(people: 3000, rows: 50)
    let expected = try whole.finish()
    let job = try CrashJob(people: 3000, rows: 50, copying: whole)
    let run = try BuiltCommand.startRun(job.manifest)
    _ = run.next()
    run.send(SIGTERM)
    run.wait()
    #expect(run.process.terminationReason == .uncaughtSignal)
    #expect(run.process.terminationStatus == SIGTERM)
    #expect(FileManager.default.fileExists(atPath: job.destination + ".godwit/store.sqlite"))
    #expect(try job.finish() == expected)
  }

  @Test func `of two processes at once one runs and the other exits with 75`() throws {
    let job = try CrashJob(people: 3000, rows: 50)
    let run = try BuiltCommand.startRun(job.manifest)
    // The first line comes before the folder is made: wait for one that a chunk made.
    run.waitForOutput("progress")
    run.send(SIGSTOP)
    let second = try BuiltCommand.run("run", job.manifest, "--progress", "plain")
    let status = try BuiltCommand.run("status", job.manifest)
    run.send(SIGCONT)
    run.wait()
    #expect(second.status == 75)
    #expect(second.diagnostics.contains("another process is working on"))
    #expect(status.status == 0 || status.status == 75, "\(status.diagnostics)")
    #expect(run.process.terminationStatus == 0)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: job.folder.file("out")).sorted()
        == [".people_SUPPORT", "people.sqlite", "people.sqlite.receipt.json"])
  }

  /// The most memory of a run with a budget of 16 MiB.
  private func peak(people: Int64) throws -> Int {
    let job = try CrashJob(people: people, rows: 1000)
    let manifest = try String(contentsOfFile: job.manifest, encoding: .utf8)
    try (manifest + "\nmemory: 16 MiB\n").write(toFile: job.manifest, atomically: true, encoding: .utf8)
    let run = try BuiltCommand.startRun(job.manifest)
    let output = run.wait()
    #expect(run.process.terminationStatus == 0)
    let line = try #require(output.split(separator: "\n").last)
    let summary = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    return try #require(summary["peakBytes"] as? Int)
  }

  @Test func `memory does not grow with the store beyond the budget`() throws {
    // Held as objects, the more people would take over 20 MiB.
    let (few, many) = (try peak(people: 500), try peak(people: TestTier.choose(20_000, long: 60_000)))
    #expect(few > 0 && many < few + 16 << 20 && many < 80 << 20, "\(few) bytes, \(many) bytes")
  }
}
