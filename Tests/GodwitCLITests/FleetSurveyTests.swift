import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

@testable import GodwitCLI
@testable import GodwitFleet

/// What a plan makes of stores that are not like the others.
@Suite(.enabled(if: BuiltCommand.path != nil, "the executable is not beside the tests"))
struct FleetSurveyTests {
  // MARK: Models in stores

  private static let manifests = [
    "job.yaml": """
    godwit: 1
    source: "stores/*.sqlite"
    destination: "out/{name}.sqlite"
    models: Notes.xcdatamodeld
    destination-model: Notes 2
    mappings: m.mapping.yaml

    """,
    "m.mapping.yaml": """
    godwit-mapping: 1
    source-model: Notes
    entity-mappings:
      - name: NoteToMemo
        source: Note
        destination: Memo
        attributes: {heading: $source.title}

    """, "fleet.yaml": "godwit: 1\njob: job.yaml\nshards: 1\n",
  ]

  /// A store of a version that no listed model has.
  ///
  /// - Parameter cached: The model that it carries.
  private func addStore(_ path: String, rows: Int, cached: [UInt8]?, model: ManagedObjectModel) throws {
    let store = try EmptyStore.create(
      at: path, schema: StoreSchema(model: model), metadata: StoreMetadata(model: model))
    for key in 1...rows {
      let title = String(repeating: "x", count: 900)
      try store.execute("INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (\(key), 1, 1, '\(title)')")
    }
    try store.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = \(rows)")
    if let cached {
      try store.execute("CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)")
      try store.execute("INSERT INTO Z_MODELCACHE VALUES (?1)", [.blob(cached)])
    }
    try store.close()
  }

  @Test func `of stores that no model fits, those that carry their own are migrated`() throws {
    let folder = try TemporaryFolder("godwit-fleet")
    try FileManager.default.createDirectory(atPath: folder.file("stores"), withIntermediateDirectories: true)
    var archive = ArchiveFixture()
    let cached = archive.model([archive.entity("Note", [archive.attribute("title", .string)])])
    let source = try ManagedObjectModel(compiled: cached, name: "Notes")
    // The small ones, which are asked first, carry none, or one of another version.
    for number in 1...3 {
      try addStore(folder.file("stores/small-\(number).sqlite"), rows: 1, cached: nil, model: source)
    }
    var strange = ArchiveFixture()
    let other = strange.model([strange.entity("Note", [strange.attribute("text", .string)])])
    try addStore(folder.file("stores/strange.sqlite"), rows: 1, cached: other.deflated, model: source)
    try addStore(folder.file("stores/large.sqlite"), rows: 60, cached: cached.deflated, model: source)
    let memo = EntityDescription(name: "Memo", attributes: [AttributeDescription(name: "heading", type: .string)])
    let model = try ManagedObjectModel(name: "Notes 2", entities: [memo])
    let version = folder.file("Notes.xcdatamodeld/Notes 2.xcdatamodel")
    try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
    try Data(model.xcodeContents.utf8).write(to: URL(filePath: version + "/contents"))
    for (name, text) in Self.manifests { try Data(text.utf8).write(to: URL(filePath: folder.file(name))) }
    let said = try BuiltCommand.run(["fleet", "plan", "fleet.yaml", "--format", "json"], in: folder.path)
    #expect(said.status == 0, "\(said.diagnostics)")
    let plan = try JSONValue(parsing: said.output)
    try FleetFixture.check(plan, "fleet-plan")
    #expect(plan["stores"] == .integer(1) && plan["unreadable"] == .integer(4))
    let pairs = plan["pairs"]?.array ?? []
    #expect(Set(pairs.map { $0["outcome"]?.string }) == ["migrate", "no-path"] && pairs.count == 2)
    #expect(pairs.first { $0["outcome"] == .string("migrate") }?["path"]?.array?.count == 2)
    let run = try BuiltCommand.run(["fleet", "run", "fleet.yaml"], in: folder.path)
    #expect(run.status == 0, "\(run.diagnostics)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.file("out")).contains("large.sqlite"))
    let results = FleetFolder(path: folder.file("fleet.fleet")).resultsPath(0)
    let line = try #require(try JSONValue.lines(String(contentsOfFile: results, encoding: .utf8)).first)
    let place = try #require(line["pair"]?.integer)
    #expect(pairs[Int(place)]["outcome"] == .string("migrate"))
  }

  // MARK: Others

  @Test func `versions without a path are named up to a hundred`() throws {
    let fixture = try FleetFixture(stores: 1)
    let template = URL(filePath: fixture.file(FleetFixture.name(0)))
    let whole = try Data(contentsOf: template)
    let hashes = try StoreMetadata(readingStoreAt: template.path).versionHashes.values.map { Data($0) }
    let hash = try #require(hashes.first)
    let place = try #require(whole.range(of: hash))
    for number in 1...103 {
      var bytes = whole
      bytes.replaceSubrange(place, with: Data([UInt8(number)]) + hash.dropFirst().map { $0 ^ 0xFF })
      try bytes.write(to: URL(filePath: fixture.file("stores/a/strange-\(number).sqlite")))
    }
    let plan = try fixture.document("plan")
    #expect(plan["stores"] == .integer(1) && plan["unreadable"] == .integer(103))
    let pathless = plan["pairs"]?.array?.filter { $0["outcome"] == .string("no-path") } ?? []
    #expect(pathless.count == 101 && pathless.last?["version"] == .string("other versions"))
    #expect(pathless.last?["stores"] == .integer(3))
    #expect(pathless.compactMap { $0["stores"]?.integer }.reduce(0, +) == 103)
  }

  @Test func `in place, listed old stores are counted, and are no stores`() throws {
    let fixture = try FleetFixture(stores: 2, fleet: "shards: 1\nstores: {list: list.txt}\n")
    try fixture.write(
      "job.yaml",
      FleetFixture.job.replacing("destination: \"out/{folder}/{name}.sqlite\"", with: "in-place: true"))
    try FileManager.default.copyItem(
      atPath: fixture.file(FleetFixture.name(0)), toPath: fixture.file("stores/a/u00~.sqlite"))
    try fixture.write("list.txt", "\(FleetFixture.name(0))\n\(FleetFixture.name(1))\nstores/a/u00~.sqlite\n")
    let plan = try fixture.document("plan")
    #expect(plan["stores"] == .integer(2) && plan["oldStores"] == .integer(1) && plan["duplicates"] == .integer(0))
    #expect(try fixture.fleet("plan").output.contains("1 left out as old stores of others"))
  }

  @Test func `a fleet's folder may be a link, which stays`() throws {
    let fixture = try FleetFixture(stores: 2, fleet: "shards: 1\n")
    try FileManager.default.createDirectory(atPath: fixture.file("shared/real"), withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: fixture.file("fleet.fleet"), withDestinationPath: "shared/real")
    for _ in 1...2 {
      try fixture.fleet("plan")
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: fixture.file("fleet.fleet")) == "shared/real")
      #expect(FileManager.default.fileExists(atPath: fixture.file("shared/real/plan.json")))
    }
    try fixture.fleet("run")
    try fixture.fleet("merge")
    #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.file("shared")) == ["real"])
  }
}
