import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// A job whose source and destination are XML or binary stores.
private final class AtomicJob {
  let folder: TemporaryFolder
  private let suffix: String
  var manifest: String { folder.file("job.yaml") }

  /// The name of the source.
  var store: String { "people.\(suffix)" }

  init(_ type: StoreType, people: Int64, rows: Int, copying other: AtomicJob? = nil) throws {
    folder = try TemporaryFolder("godwit-atomic")
    suffix = type.manifestName
    try write(
      "job.yaml",
      """
      godwit: 1
      source: people.\(suffix)
      destination: out/people.\(suffix)
      destination-type: \(suffix)
      models: People.xcdatamodeld
      destination-model: People 2
      mappings: mapping.yaml
      chunks: {rows: \(rows)}
      """)
    try write(
      "mapping.yaml",
      """
      godwit-mapping: 1
      entity-mappings:
        - {name: TeamToTeam, type: copy, source: Team, destination: Team}
        - {name: PersonToPerson, type: copy, source: Person, destination: Person, attributes: {age: $source.age + 1}}
      """)
    let model = try Self.model("People", age: .integer16)
    try write("People.xcdatamodeld/People.xcdatamodel/contents", model.xcodeContents)
    try write(
      "People.xcdatamodeld/People 2.xcdatamodel/contents", try Self.model("People 2", age: .integer32).xcodeContents)
    if let other {
      try FileManager.default.copyItem(atPath: other.folder.file(store), toPath: folder.file(store))
      return
    }
    let path = folder.file("people.sqlite")
    let builder = try StoreBuilder(path: path, model: model)
    for key in 1...4 as ClosedRange<Int64> {
      try builder.insert("Team", key: key, attributes: ["name": .init("t\(key)")])
    }
    for key in 1...people {
      try builder.insert(
        "Person", key: key, attributes: ["name": .init("person \(key)"), "age": .integer(key % 90)],
        relationships: [
          "team": [key % 4 + 1],
          "friends": key > 1 ? [key / 2, key - 1].reduce(into: []) { if !$0.contains($1) { $0.append($1) } } : [],
        ])
    }
    try builder.finish()
    try AtomicStoreWriter(readingStoreAt: path, model: model, as: type, name: path).write(to: folder.file(store))
    try FileManager.default.removeItem(atPath: path)
  }

  func write(_ name: String, _ text: String) throws {
    let url = URL(filePath: folder.file(name))
    try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try text.write(to: url, atomically: true, encoding: .utf8)
  }

  private static func model(_ name: String, age: AttributeType) throws -> ManagedObjectModel {
    var people = RelationshipDescription(
      name: "people", destinationEntityName: "Person", inverseName: "team", isToMany: true)
    people.isOrdered = true
    return try ManagedObjectModel(
      name: name,
      entities: [
        EntityDescription(
          name: "Person", attributes: [.init(name: "name", type: .string), .init(name: "age", type: age)],
          relationships: [
            RelationshipDescription(name: "team", destinationEntityName: "Team", inverseName: "people"),
            RelationshipDescription(
              name: "friends", destinationEntityName: "Person", inverseName: "friendOf", isToMany: true),
            RelationshipDescription(
              name: "friendOf", destinationEntityName: "Person", inverseName: "friends", isToMany: true),
          ]),
        EntityDescription(name: "Team", attributes: [.init(name: "name", type: .string)], relationships: [people]),
      ], versionIdentifiers: [""])
  }

  func finish() throws -> Data {
    let result = try BuiltCommand.run("run", manifest, "--progress", "plain")
    try #require(result.status == 0, "\(result.diagnostics)")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: folder.file("out")).sorted()
        == [store, "\(store).receipt.json"])
    return try Data(contentsOf: URL(filePath: folder.file("out/\(store)")))
  }
}

@Suite(.enabled(if: BuiltCommand.path != nil, "the executable is not beside the tests")) struct AtomicStoreCommandTests
{
  @Test(arguments: TestTier.sample([StoreType.binary, .xml], each: 2))
  func `a run between atomic stores killed after any line resumes to the same bytes`(type: StoreType) throws {
    let whole = try AtomicJob(type, people: 60, rows: 20)
    let source = try Data(contentsOf: URL(filePath: whole.folder.file(whole.store)))
    let expected = try whole.finish()
    var kills = 0
    for lines in stride(from: 1, through: .max, by: TestTier.choose(3, long: 1)) {
      let job = try AtomicJob(type, people: 60, rows: 20, copying: whole)
      let ended = try BuiltCommand.runAndKill(job.manifest, afterLines: lines)
      #expect(try job.finish() == expected, "killed after \(lines) lines")
      #expect(try Data(contentsOf: URL(filePath: job.folder.file(job.store))) == source)
      if ended { break }
      kills += 1
      try #require(lines < 200)
    }
    #expect(kills > TestTier.choose(3, long: 5))
    #expect(try BuiltCommand.run("verify", whole.manifest).status == 0)
  }

  @Test(arguments: TestTier.sample([StoreType.binary, .xml], each: 2))
  func `a run between atomic stores killed at random moments ends in the same bytes`(type: StoreType) throws {
    let whole = try AtomicJob(type, people: 1200, rows: 200)
    let expected = try whole.finish()
    let job = try AtomicJob(type, people: 1200, rows: 200, copying: whole)
    var kills = 0
    // From the conversion at the beginning to the writing at the end.
    for step in stride(from: 1, through: 20, by: TestTier.choose(4, long: 1)) {
      if try BuiltCommand.runAndKill(job.manifest, seconds: 0.04 * Double(step)) { break }
      kills += 1
    }
    #expect(try job.finish() == expected, "\(kills) kills")
    #expect(kills > 0)
  }

  @Test(arguments: [StoreType.xml, .binary])
  func `every verb reads an atomic store`(type: StoreType) throws {
    let job = try AtomicJob(type, people: 12, rows: 20)
    let store = job.folder.file(job.store)
    let model = job.folder.file("People.xcdatamodeld")
    let inspected = try BuiltCommand.run("inspect", store, "--models", model)
    #expect(inspected.status == 0, "\(inspected.diagnostics)")
    for text in ["type         \(type.rawValue)", "1 Person: 12 rows", "2 Team: 4 rows", "'People' fits"] {
      #expect(inspected.output.contains(text), "\(inspected.output)")
    }
    let why = try BuiltCommand.run("why", store, model + "#People 2")
    #expect(why.status == 2)
    #expect(why.output.contains("Person.age"))
    #expect(try BuiltCommand.run("why", store, model + "#People").status == 0)
    let exported = try BuiltCommand.run("export", store, "--entity", "Person", "--model", model)
    #expect(exported.output.split(separator: "\n").count == 12, "\(exported.diagnostics)")
    let plan = try BuiltCommand.run("plan", job.manifest, "--detailed-exitcode")
    #expect(plan.status == 2, "\(plan.diagnostics)")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: job.folder.path).sorted() == [
        "People.xcdatamodeld", "job.yaml", "mapping.yaml", job.store,
      ])
    let audited = try BuiltCommand.run("audit", job.manifest)
    #expect(audited.status == 0, "\(audited.diagnostics)")
    let raw = try BuiltCommand.run("export", store, "--raw", "--all", "-o", job.folder.file("raw"))
    #expect(raw.status == 0, "\(raw.diagnostics)")
    try FileManager.default.removeItem(atPath: job.folder.file("raw"))
    let drafted = try BuiltCommand.run("init", store, model, "--to", "People 2", "-o", "-")
    #expect(drafted.output.contains("destination-type: \(type.manifestName)"), "\(drafted.diagnostics)")
    let first = try BuiltCommand.run("run", "job.yaml", "--progress", "plain", in: job.folder.path)
    #expect(first.status == 0, "\(first.diagnostics)")
    let bytes = try Data(contentsOf: URL(filePath: job.folder.file("out/\(job.store)")))
    #expect(try BuiltCommand.run("run", job.manifest, "--progress", "plain").status == 0)
    #expect(try Data(contentsOf: URL(filePath: job.folder.file("out/\(job.store)"))) == bytes)
    let verified = try BuiltCommand.run("verify", job.manifest)
    #expect(verified.status == 0, "\(verified.output)")
    #expect(try BuiltCommand.run("plan", job.manifest, "--detailed-exitcode").status == 0)
  }

  @Test(arguments: [
    ["run", "job.yaml"], ["plan", "job.yaml"], ["inspect", "people.xml"],
    ["why", "people.xml", "People.xcdatamodeld#People 2"],
    ["export", "people.xml", "--entity", "Person"],
  ])
  func `a property list is named by every verb`(arguments: [String]) throws {
    let job = try AtomicJob(.xml, people: 1, rows: 20)
    try job.write("people.xml", "bplist00 ... NSPersistenceFrameworkVersion ...")
    let result = try BuiltCommand.run(arguments: arguments, in: job.folder.path)
    #expect(result.status == 65)
    #expect(result.diagnostics.contains("a property list"), "\(result.diagnostics)")
    #expect(result.diagnostics.contains("NSInMemoryStoreType"))
  }

  @Test(arguments: [(StoreType.xml, "found the end of the file"), (.binary, "may be cut off")])
  func `a damaged atomic source leaves no trace`(type: StoreType, message: String) throws {
    let job = try AtomicJob(type, people: 12, rows: 20)
    let path = job.folder.file(job.store)
    let bytes = try Data(contentsOf: URL(filePath: path))
    try bytes.dropLast(11).write(to: URL(filePath: path))
    let result = try BuiltCommand.run("run", "job.yaml", in: job.folder.path)
    #expect(result.status == 65)
    #expect(result.diagnostics.contains(message))
    #expect(!FileManager.default.fileExists(atPath: job.folder.file("out")))
  }

  @Test func `store types that cannot be written are named`() throws {
    let job = try AtomicJob(.xml, people: 1, rows: 20)
    let text = try String(contentsOf: URL(filePath: job.manifest), encoding: .utf8)
    try job.write("job.yaml", text.replacing("type: xml", with: "type: memory"))
    let result = try BuiltCommand.run("run", "job.yaml", in: job.folder.path)
    #expect(result.status == 78)
    #expect(result.diagnostics.contains("NSInMemoryStoreType"), "\(result.diagnostics)")
  }
}
