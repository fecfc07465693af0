import Foundation
import GodwitCLI
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// The archive of a model with one entity, `Note`.
private func archive(attributes: [String]) -> [UInt8] {
  var archive = ArchiveFixture()
  let properties = attributes.map { archive.attribute($0, .string) }
  let entity = archive.entity("Note", properties)
  return archive.model([entity])
}

/// A store of `Note` that carries its model.
private func storeWithModel(_ path: String, attributes: [String]) throws {
  let model = try ManagedObjectModel(compiled: archive(attributes: attributes), name: "Notes")
  let store = try EmptyStore.create(
    at: path, schema: StoreSchema(model: model), metadata: StoreMetadata(model: model))
  try store.execute("CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)")
  try store.execute("INSERT INTO Z_MODELCACHE VALUES (?1)", [.blob(archive(attributes: attributes).deflated)])
  try store.close()
}

/// A folder with a store of `Note`, a model `Notes 2` with `Memo`, and a job from one to the other.
private func writeJob(in folder: TemporaryFolder, cached: [UInt8]?, listed: [ManagedObjectModel] = []) throws -> String
{
  let source = try ManagedObjectModel(compiled: archive(attributes: ["title"]), name: "Notes")
  let store = try EmptyStore.create(
    at: folder.file("notes.sqlite"), schema: StoreSchema(model: source), metadata: StoreMetadata(model: source))
  try store.execute("INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE) VALUES (1, 1, 1, 'a'), (2, 1, 1, 'b')")
  try store.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = 2")
  if let cached {
    try store.execute("CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)")
    try store.execute("INSERT INTO Z_MODELCACHE VALUES (?1)", [.blob(cached)])
  }
  try store.close()
  let memo = EntityDescription(name: "Memo", attributes: [AttributeDescription(name: "heading", type: .string)])
  for model in listed + [try ManagedObjectModel(name: "Notes 2", entities: [memo])] {
    let version = folder.file("Notes.xcdatamodeld/\(model.name).xcdatamodel")
    try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
    try Data(model.xcodeContents.utf8).write(to: URL(filePath: version + "/contents"))
  }
  let texts = [
    "job.yaml": """
    godwit: 1
    source: notes.sqlite
    destination: memos.sqlite
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

    """,
  ]
  for (name, text) in texts { try Data(text.utf8).write(to: URL(filePath: folder.file(name))) }
  return folder.file("job.yaml")
}

private func run(_ arguments: String...) -> (status: Int32, output: String, diagnostics: String) {
  let session = CommandSession(output: .memory(), diagnostics: .memory())
  let status = GodwitCommand.run(arguments: arguments, in: session)
  return (status, session.output.text, session.diagnostics.text)
}

struct `The model inside a store` {
  @Test func `why compares two stores by the models inside them`() throws {
    let folder = try TemporaryFolder()
    let (old, new) = (folder.file("old.sqlite"), folder.file("new.sqlite"))
    try storeWithModel(old, attributes: ["title"])
    try storeWithModel(new, attributes: ["title", "author"])
    func why(_ paths: String...) -> (status: Int32, text: String) {
      let session = CommandSession(output: .memory(), diagnostics: .memory())
      let status = GodwitCommand.run(arguments: ["why"] + paths, in: session)
      return (status, session.output.text + session.diagnostics.text)
    }
    let needed = why(old, new)
    #expect(needed.status == 2 && needed.text.contains("Note.author: attribute added"), "\(needed)")
    #expect(needed.text.contains("'\(new)' does not fit '\(old)'"), "\(needed)")
    #expect(why(old, new, "--configuration", "Cloud").status == 64)
    #expect(why(old, old).status == 0 && why(new, old).status == 2)
    // A store without its model cannot take part.
    let bare = folder.file("bare.sqlite")
    let model = try ManagedObjectModel(compiled: archive(attributes: ["title"]), name: "Notes")
    try EmptyStore.create(at: bare, schema: StoreSchema(model: model), metadata: StoreMetadata(model: model)).close()
    let unknown = why(bare, new)
    #expect(unknown.status == 69 && unknown.text.contains("cannot tell the model of '\(bare)'"), "\(unknown)")
  }

  @Test func `the model inside a store is the source model if no listed one fits, and the plan says so`() throws {
    let folder = try TemporaryFolder()
    let job = try writeJob(in: folder, cached: archive(attributes: ["title"]).deflated)
    let plan = run("plan", "--details", job)
    #expect(plan.status == 0, "\(plan.diagnostics)")
    #expect(plan.output.contains("Notes to Notes 2"))
    #expect(plan.output.contains("\n  source model  from the store's own cache\n"))
    let json = run("plan", job, "--format", "json")
    #expect(json.output.contains("from the store's own cache"))

    #expect(try BuiltCommand.run("run", job, "--quiet").status == 0)
    #expect(run("verify", job).status == 0)
    let finished = try StoreConnection.openStore(readingAt: folder.file("memos.sqlite"))
    #expect(try finished.integer("SELECT count(*) FROM source.ZMEMO WHERE ZHEADING IN ('a', 'b')") == 2)
  }

  @Test func `a listed model that fits wins over the model inside a store`() throws {
    let folder = try TemporaryFolder()
    let bytes = archive(attributes: ["title"])
    let job = try writeJob(
      in: folder, cached: bytes.deflated, listed: [ManagedObjectModel(compiled: bytes, name: "Notes")])
    let plan = run("plan", "--details", job)
    #expect(plan.status == 0, "\(plan.diagnostics)")
    #expect(!plan.output.contains("source model"))
    #expect(plan.output.contains("Notes to Notes 2"))
  }

  @Test func `a model inside a store is not used if it is damaged or its hashes differ`() throws {
    for cached in [archive(attributes: ["other"]).deflated, [1, 2, 3], archive(attributes: ["title"])] {
      let folder = try TemporaryFolder()
      let plan = run("plan", try writeJob(in: folder, cached: cached))
      #expect(plan.status == 69)
      #expect(plan.diagnostics.contains("the model in the store's own cache does not fit either"))
    }
    let folder = try TemporaryFolder()
    let plan = run("plan", try writeJob(in: folder, cached: nil))
    #expect(plan.status == 69)
    #expect(!plan.diagnostics.contains("cache"))
  }

  @Test func `inspect reports the model inside a store`() throws {
    let cases: [([UInt8]?, String?)] = [
      (archive(attributes: ["title"]).deflated, "model cache  fits"),
      (archive(attributes: ["other"]).deflated, "model cache  does not fit: its version hashes differ"),
      ([1, 2, 3], "model cache  does not fit: cannot read compiled model"),
      ([], "model cache  empty"), (nil, nil),
    ]
    for (cached, expected) in cases {
      let folder = try TemporaryFolder()
      _ = try writeJob(in: folder, cached: cached)
      let result = run("inspect", folder.file("notes.sqlite"))
      #expect(result.status == 0)
      #expect(result.output.contains("model cache") == (expected != nil))
      if let expected { #expect(result.output.contains(expected)) }
    }
  }
}

struct `Compiled models on the command line` {
  @Test func `compiled models are hashed, compared and inspected like their source`() throws {
    let folder = try TemporaryFolder()
    let bundle = folder.file("Notes.momd")
    try FileManager.default.createDirectory(atPath: bundle, withIntermediateDirectories: true)
    for (name, attributes) in [("Notes", ["title"]), ("Notes 2", ["title", "text"])] {
      try Data(archive(attributes: attributes)).write(to: URL(filePath: "\(bundle)/\(name).mom"))
    }
    let info = PropertyListValue.dictionary(["NSManagedObjectModel_CurrentVersionName": .string("Notes 2")])
    try Data(info.binaryPropertyList).write(to: URL(filePath: bundle + "/VersionInfo.plist"))

    let first = try ManagedObjectModel(contentsOf: bundle + "#Notes")
    #expect(run("model", "hash", bundle + "/Notes.mom").output.contains(first.versionChecksum))
    #expect(run("model", "hash", bundle + "#Notes").output.contains(first.versionChecksum))
    #expect(run("model", "diff", bundle + "#Notes", bundle).output.contains("text: added (String)"))
    #expect(run("model", "schema", bundle).output.contains("ZTEXT VARCHAR"))
    let inspected = run("inspect", bundle)
    #expect(inspected.status == 0)
    #expect(inspected.output.contains("Notes, Notes 2 (current)"))
    #expect(run("inspect", bundle + "/Notes.mom").output.contains("    Note"))
    let versions = try ModelVersions(references: [bundle])
    #expect(try versions.model(fitting: StoreMetadata(model: first), path: "s").name == "Notes")
  }
}
