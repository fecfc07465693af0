import Foundation
import Godwit
import GodwitCLI
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

private func run(_ arguments: String...) -> (status: Int32, output: String, diagnostics: String) {
  let session = CommandSession(output: .memory(), diagnostics: .memory())
  let status = GodwitCommand.run(arguments: arguments, in: session)
  return (status, session.output.text, session.diagnostics.text)
}

private func rows(_ path: String, _ sql: String) throws -> [[SQLValue]] {
  try StoreConnection.openStore(readingAt: path).rows(sql)
}

/// Writes model versions as Xcode does, and manifests and mappings beside them.
private struct Project {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  func bundle(_ name: String, _ versions: [ManagedObjectModel]) throws -> String {
    let path = folder.file("\(name).xcdatamodeld")
    for model in versions {
      let version = path + "/\(model.name).xcdatamodel"
      try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
      try Data(model.xcodeContents.utf8).write(to: URL(filePath: version + "/contents"))
    }
    let marker = try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": (versions.last?.name ?? "") + ".xcdatamodel"], format: .xml,
      options: 0)
    try marker.write(to: URL(filePath: path + "/.xccurrentversion"))
    return path
  }

  func write(_ name: String, _ text: String) throws -> String {
    try Data(text.utf8).write(to: URL(filePath: folder.file(name)))
    return folder.file(name)
  }
}

private func entity(_ name: String, _ attributes: [String: AttributeType]) -> EntityDescription {
  EntityDescription(
    name: name, attributes: attributes.sorted { $0.key < $1.key }.map { AttributeDescription(name: $0, type: $1) })
}

struct `A store of several models` {
  @Test func `a store of several models is found by the versions that fit it, and moves to the current ones`() throws {
    let project = try Project()
    let app = [
      try ManagedObjectModel(name: "App", entities: [entity("Note", ["title": .string])]),
      try ManagedObjectModel(name: "App 2", entities: [entity("Note", ["title": .string, "stars": .integer16])]),
    ]
    let log = try ManagedObjectModel(name: "Log", entities: [entity("Event", ["when": .date])])
    let later = try ManagedObjectModel(name: "Later", entities: [entity("Extra", ["x": .string])])
    _ = try project.bundle("App", app)
    _ = try project.bundle("Log", [log])
    _ = try project.bundle("Later", [later])
    let store = try StoreBuilder(
      path: project.folder.file("in.sqlite"), model: try ManagedObjectModel(merging: [app[0], log]))
    try store.insert("Note", attributes: ["title": AttributeValue("x")])
    try store.insert("Event", attributes: ["when": .null])
    try store.finish()
    _ = try project.write(
      "m.mapping.yaml",
      """
      godwit-mapping: 1
      entity-mappings:
        - {name: Notes, type: copy, source: Note, destination: Note}
        - {name: Events, type: copy, source: Event, destination: Event}

      """)
    let job = try project.write(
      "job.yaml",
      """
      godwit: 1
      source: in.sqlite
      destination: out.sqlite
      models: App.xcdatamodeld
      merge-models: [App.xcdatamodeld, Log.xcdatamodeld, Later.xcdatamodeld]
      mappings: m.mapping.yaml

      """)
    let plan = run("plan", job)
    #expect(plan.status == 0, "\(plan.diagnostics)")
    #expect(plan.output.contains("App + Log to App 2 + Log + Later"))
    let ran = try BuiltCommand.run("run", "--progress", "plain", job)
    #expect(ran.status == 0, "\(ran.diagnostics)")
    #expect(run("verify", job).status == 0)
    let out = project.folder.file("out.sqlite")
    #expect(try rows(out, "SELECT ZTITLE, ZSTARS FROM ZNOTE").map { $0.map(\.isNull) } == [[false, true]])
    #expect(try rows(out, "SELECT COUNT(*) FROM ZEVENT") == [[.integer(1)]])
    let metadata = try StoreMetadata(readingStoreAt: out)
    #expect(metadata.versionHashes.keys.sorted() == ["Event", "Extra", "Note"])
  }

  @Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
  func `a corpus store of three models is copied completely`() throws {
    let project = try Project()
    let browser = "duckduckgo_BrowserServicesKit/Sources/"
    let names = [
      "AppRatingPromptEntity", "HTTPSExcludedDomain", "HTTPSStoredBloomFilterSpecification",
      "RemoteMessageManagedObject", "RemoteMessagingConfigManagedObject",
    ]
    _ = try project.write(
      "m.mapping.yaml",
      "godwit-mapping: 1\nentity-mappings:\n"
        + names.map { "  - {name: \($0), type: copy, source: \($0), destination: \($0)}\n" }.joined())
    let source = Corpus.path("duckduckgo_iOS/DuckDuckGoTests/AppRatingPrompt_v1/Database.sqlite")
    let rating = Corpus.path("duckduckgo_iOS/DuckDuckGo/AppRatingPrompt.xcdatamodeld")
    let job = try project.write(
      "job.yaml",
      """
      godwit: 1
      source: \(source)
      destination: out.sqlite
      models: \(rating)
      merge-models:
        - \(rating)
        - \(Corpus.path(browser + "BrowserServicesKit/SmarterEncryption/Store/HTTPSUpgrade.xcdatamodeld"))
        - \(Corpus.path(browser + "RemoteMessaging/CoreData/RemoteMessaging.xcdatamodeld"))
      mappings: m.mapping.yaml

      """)
    let ran = try BuiltCommand.run("run", "--progress", "plain", job)
    #expect(ran.status == 0, "\(ran.diagnostics)")
    #expect(run("verify", job).status == 0)
    let sql = "SELECT ZDOMAIN FROM ZHTTPSEXCLUDEDDOMAIN ORDER BY Z_PK"
    let domains = try rows(project.folder.file("out.sqlite"), sql)
    #expect(domains.count == 30)
    #expect(try domains == rows(source, sql))
  }

  @Test func `a store of several models is not found if one model has no version that fits`() throws {
    let project = try Project()
    let app = try ManagedObjectModel(name: "App", entities: [entity("Note", ["title": .string])])
    let old = try ManagedObjectModel(name: "App", entities: [entity("Note", ["text": .string])])
    _ = try project.bundle("App", [app])
    try StoreBuilder(path: project.folder.file("in.sqlite"), model: old).finish()
    _ = try project.write("m.mapping.yaml", "godwit-mapping: 1\nentity-mappings: []\n")
    let job = try project.write(
      "job.yaml",
      "godwit: 1\nsource: in.sqlite\ndestination: out.sqlite\nmodels: App.xcdatamodeld\nmerge-models: [App.xcdatamodeld]\nmappings: m.mapping.yaml\n"
    )
    #expect(run("plan", job).status == 69)
  }
}

struct `A store of a configuration` {
  private func project(_ key: String) throws -> (project: Project, job: String) {
    let project = try Project()
    let note = entity("Note", ["title": .string])
    let tag = entity("Tag", ["name": .string])
    let first = try ManagedObjectModel(
      name: "App", entities: [note, tag], configurations: ["Local": ["Note"], "Cloud": ["Tag"]])
    let second = try ManagedObjectModel(
      name: "App 2", entities: [entity("Note", ["title": .string, "stars": .integer16]), tag],
      configurations: ["Local": ["Note"], "Cloud": ["Tag"]])
    _ = try project.bundle("App", [first, second])
    let store = try StoreBuilder(
      path: project.folder.file("in.sqlite"), model: try first.restricted(toConfiguration: "Local"))
    try store.insert("Note", attributes: ["title": AttributeValue("x")])
    try store.finish()
    _ = try project.write(
      "m.mapping.yaml",
      "godwit-mapping: 1\nentity-mappings:\n  - {name: Notes, type: copy, source: Note, destination: Note}\n")
    let job = try project.write(
      "job.yaml",
      "godwit: 1\nsource: in.sqlite\ndestination: out.sqlite\nmodels: App.xcdatamodeld\nmappings: m.mapping.yaml\n\(key)\n"
    )
    return (project, job)
  }

  @Test func `a store of a configuration is migrated with only its entities`() throws {
    let (project, job) = try project("configuration: Local")
    let ran = try BuiltCommand.run("run", "--progress", "plain", job)
    #expect(ran.status == 0, "\(ran.diagnostics)")
    #expect(run("verify", job).status == 0)
    let out = project.folder.file("out.sqlite")
    #expect(try StoreMetadata(readingStoreAt: out).versionHashes.keys.sorted() == ["Note"])
    #expect(try rows(out, "SELECT name FROM sqlite_master WHERE name = 'ZTAG'").isEmpty)
  }

  @Test func `a store of a configuration is named if the key is missing`() throws {
    let (project, job) = try project("")
    let result = run("plan", job)
    withExtendedLifetime(project) {}
    #expect(result.status == 69)
    #expect(result.diagnostics.contains("the configuration 'Local' of 'App' does fit"))
    #expect(result.diagnostics.contains("write `configuration: Local`"))
  }

  @Test func `export and salvage take the version of a store of a configuration`() throws {
    let (project, _) = try project("")
    let (store, model) = (project.folder.file("in.sqlite"), project.folder.file("App.xcdatamodeld") + "#App")
    let exported = run("export", store, "--entity", "Note", "--model", model)
    #expect(exported.status == 0 && exported.output.contains("\"x\""), "\(exported)")
    let copy = project.folder.file("copy.sqlite")
    let salvaged = run("salvage", store, "-o", copy, "--model", model)
    #expect(salvaged.status == 0, "\(salvaged)")
    #expect(try rows(copy, "SELECT ZTITLE FROM source.ZNOTE") == [[.text(Array("x".utf8))]])
  }

  @Test func `an unknown configuration is 78 with its place`() throws {
    let (project, job) = try project("configuration: Lokal")
    let result = run("plan", job)
    withExtendedLifetime(project) {}
    #expect(result.status == 78)
    #expect(result.diagnostics.contains("job.yaml:6:1: cannot use configuration 'Lokal'"), "\(result.diagnostics)")
  }
}

struct `Hashes of Apple's` {
  /// A store whose hash differs from the computed one, as by a rule that is not what it seems.
  private func project() throws -> (project: Project, hash: [UInt8]) {
    let project = try Project()
    let first = try ManagedObjectModel(name: "App", entities: [entity("Note", ["größe": .string])])
    let second = try ManagedObjectModel(
      name: "App 2", entities: [entity("Note", ["größe": .string]), entity("Tag", [:])])
    _ = try project.bundle("App", [first, second])
    let hash = [UInt8](repeating: 9, count: 32)
    var metadata = StoreMetadata(model: first)
    metadata.values["NSStoreModelVersionHashes"] = .dictionary(["Note": .data(hash)])
    let store = try StoreBuilder(path: project.folder.file("in.sqlite"), model: first, metadata: metadata)
    try store.insert("Note", attributes: ["größe": AttributeValue("x")])
    try store.finish()
    let info: PropertyListValue = .dictionary([
      "NSManagedObjectModel_VersionHashes": .dictionary(["App": .dictionary(["Note": .data(hash)])])
    ])
    try Data(info.binaryPropertyList).write(to: URL(filePath: project.folder.file("VersionInfo.plist")))
    _ = try project.write(
      "m.mapping.yaml",
      "godwit-mapping: 1\nentity-mappings:\n  - {name: Notes, type: copy, source: Note, destination: Note}\n")
    return (project, hash)
  }

  private func job(_ project: Project, models: String) throws -> String {
    try project.write(
      "job.yaml",
      "godwit: 1\nsource: in.sqlite\ndestination: out.sqlite\nmodels: \(models)\ndestination-model: App 2\nmappings: m.mapping.yaml\n"
    )
  }

  @Test(arguments: ["VersionInfo.plist", "in.sqlite"])
  func `Apple's hashes from a file beside the models win over computed ones`(file: String) throws {
    let (project, _) = try project()
    #expect(run("plan", try job(project, models: "App.xcdatamodeld")).status == 69)
    let listed = try job(project, models: "[App.xcdatamodeld, \(file)]")
    let plan = run("plan", listed)
    #expect(plan.status == 0, "\(plan.diagnostics)")
    #expect(plan.diagnostics.contains("warning: the hash relies on an unconfirmed rule: Note.größe"))
    let ran = try BuiltCommand.run("run", "--progress", "plain", listed)
    #expect(ran.status == 0, "\(ran.diagnostics)")
    #expect(ran.diagnostics.contains("relies on an unconfirmed rule"))
    #expect(run("verify", listed).status == 0)
  }

  @Test func `Apple's hashes are used by why and model hash`() throws {
    let (project, hash) = try project()
    let bundle = project.folder.file("App.xcdatamodeld")
    let store = project.folder.file("in.sqlite")
    let info = project.folder.file("VersionInfo.plist")
    #expect(run("why", store, bundle + "#App").status == 69)
    let why = run("why", store, bundle + "#App", "--hashes", info)
    #expect(why.status == 0)
    #expect(why.diagnostics.isEmpty)
    let hashes = run("model", "hash", bundle + "#App", "--hashes", info)
    #expect(hashes.output.contains(Data(hash).base64EncodedString()))
  }

  @Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
  func `Apple's hashes are read from a compiled mapping model, for its two versions`() throws {
    let sample = Corpus.path("alemar11_CoreDataPlus/Tests/Resources/SampleModel") + "/"
    let published = try PublishedVersionHashes(contentsOf: sample + "Fixtures/V2toV3.cdm")
    #expect(published.versions.count == 2)
    let models = try ModelBundle(contentsOf: sample + "SampleModel.xcdatamodeld").models()
    let adopted = try published.adopted(by: models)
    #expect(adopted.contains { !$0.publishedVersionHashes.isEmpty })
    #expect(adopted.map(\.versionHashes) == models.map(\.versionHashes), "the rules gave the same")
    let other = run(
      "model", "hash", PeoplizerStores.file("Peoplizer.xcdatamodeld"), "--hashes", sample + "Fixtures/V2toV3.cdm")
    #expect(other.status == 78)
    #expect(other.diagnostics.contains("they belong to none of the models"))
  }

  @Test func `hashes are not read from a store that Godwit made`() throws {
    let (project, _) = try project()
    let store = project.folder.file("in.sqlite")
    let connection = try StoreConnection(path: store)
    var metadata = try StoreMetadata(reading: connection, schema: "main", path: store)
    metadata.values[MigrationManager.jobsKey] = .array([.string("x")])
    try metadata.write(to: connection)
    try connection.close()
    let result = run("plan", try job(project, models: "[App.xcdatamodeld, in.sqlite]"))
    #expect(result.status == 78)
    #expect(result.diagnostics.contains("Godwit made this store, and computed them"))
  }

  @Test func `the hashes of a compiled bundle are those of its VersionInfo`() throws {
    let folder = try TemporaryFolder()
    let bundle = folder.file("M.momd")
    try FileManager.default.createDirectory(atPath: bundle, withIntermediateDirectories: true)
    var archive = ArchiveFixture()
    let note = archive.entity("Note", [archive.attribute("t", .string, [:])])
    try Data(archive.model([note])).write(to: URL(filePath: bundle + "/M.mom"))
    let hash = [UInt8](repeating: 9, count: 32)
    let info: PropertyListValue = .dictionary([
      "NSManagedObjectModel_CurrentVersionName": .string("M"),
      "NSManagedObjectModel_VersionHashes": .dictionary(["M": .dictionary(["Note": .data(hash)])]),
    ])
    try Data(info.binaryPropertyList).write(to: URL(filePath: bundle + "/VersionInfo.plist"))
    let model = try ModelBundle(contentsOf: bundle).currentModel()
    #expect(model.versionHash(of: "Note")?.bytes == hash)
    #expect(model.computedVersionHashes["Note"]?.bytes != hash)
  }
}

extension SQLValue {
  fileprivate var isNull: Bool { if case .null = self { true } else { false } }
}
