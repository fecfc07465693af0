import Foundation
import GodwitCLI
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// Runs a verb in this process.
func godwit(_ arguments: String...) -> (status: Int32, output: String, diagnostics: String) {
  let session = CommandSession(output: .memory(), diagnostics: .memory())
  let status = GodwitCommand.run(arguments: arguments, in: session)
  return (status, session.output.text, session.diagnostics.text)
}

/// The mapping model in a printed mapping file.
func read(_ yaml: String, in folder: TemporaryFolder) throws -> MappingModel {
  let file = folder.file("\(UUID().uuidString).mapping.yaml")
  try Data(yaml.utf8).write(to: URL(filePath: file))
  return try MappingModel(contentsOfYAML: file)
}

@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct `Converting mapping models of the corpus` {
  private static let paths: [String] = {
    guard let folder = Corpus.folder, let walk = FileManager.default.enumerator(atPath: folder.path) else { return [] }
    return walk.compactMap { $0 as? String }
      .filter { $0.hasSuffix(".xcmappingmodel") || $0.hasSuffix(".cdm") }.sorted()
  }()

  @Test(arguments: TestTier.sample(paths, each: 9))
  func `a converted mapping model reads back as the same`(path: String) throws {
    let folder = try TemporaryFolder()
    let result = godwit("mapping", "convert", Corpus.path(path))
    #expect(result.status == 0 && result.diagnostics.isEmpty)
    let model = try XcodeMappingModel(contentsOf: Corpus.path(path)).mappingModel()
    let again = try read(result.output, in: folder)
    #expect(again.placeless == model.placeless)
    #expect(!again.entityMappings.isEmpty)
  }

  @Test(arguments: TestTier.sample(paths, each: 9)) func `inspect describes a mapping model`(path: String) throws {
    let result = godwit("inspect", Corpus.path(path))
    #expect(result.status == 0)
    #expect(result.output.contains(": mapping model\n  "))
    #expect(result.output.contains(path.hasSuffix(".cdm") ? "compiled mapping model for" : "mapping model source; its"))
    let model = try XcodeMappingModel(contentsOf: Corpus.path(path))
    for mapping in model.outline { #expect(result.output.contains("    \(mapping.name): \(mapping.kind.rawValue) ")) }
  }

  private static let moods = "objcio_core-data/Migrations/"

  @Test func `a job may list an .xcmappingmodel`() throws {
    let folder = try TemporaryFolder()
    let store = try CorpusStores.copy(Corpus.path(Self.moods + "MigrationsTests/Moody 2.moody"), into: folder)
    let manifest = """
      godwit: 1
      source: \(store)
      destination: \(folder.file("out/made.sqlite"))
      models: \(Corpus.path(Self.moods + "Migrations/Moody.xcdatamodeld"))
      destination-model: Moody 3
      mappings: "\(Corpus.path(Self.moods + "Migrations/Moody 2-Moody 3.xcmappingmodel"))"

      """
    try Data(manifest.utf8).write(to: URL(filePath: folder.file("job.yaml")))
    let plan = godwit("plan", "--details", folder.file("job.yaml"))
    #expect(plan.status == 0 && plan.output.contains("MoodToMood"))
    let run = try BuiltCommand.run("run", folder.file("job.yaml"))
    #expect(run.status == 0, "\(run.diagnostics)")
    let verify = godwit("verify", folder.file("job.yaml"))
    #expect(verify.status == 0, "\(verify.output)\(verify.diagnostics)")
  }

  @Test func `a job that lists the mapping model of another step is refused at its line`() throws {
    let folder = try TemporaryFolder()
    let store = try CorpusStores.copy(Corpus.path(Self.moods + "MigrationsTests/Moody 2.moody"), into: folder)
    let manifest = """
      godwit: 1
      source: \(store)
      destination: \(folder.file("out/made.sqlite"))
      models: \(Corpus.path(Self.moods + "Migrations/Moody.xcdatamodeld"))
      destination-model: Moody 3
      mappings: "\(Corpus.path(Self.moods + "Migrations/Moody 4-Moody 5.xcmappingmodel"))"

      """
    try Data(manifest.utf8).write(to: URL(filePath: folder.file("job.yaml")))
    let plan = godwit("plan", folder.file("job.yaml"))
    #expect(plan.status == 78)
    #expect(plan.diagnostics.contains("job.yaml:6:12: cannot use mapping model"))
    #expect(plan.diagnostics.contains("it names 'Moody 4' and 'Moody 5'"))
  }
}

struct `Converting mapping models` {
  private func write(_ fixture: MappingFixture, in folder: TemporaryFolder) throws -> String {
    let bundle = folder.file("M.xcmappingmodel")
    try FileManager.default.createDirectory(atPath: bundle, withIntermediateDirectories: true)
    try Data(fixture.document()).write(to: URL(filePath: bundle + "/xcmapping.xml"))
    return bundle
  }

  @Test func `mapping convert never overwrites a file`() throws {
    let folder = try TemporaryFolder()
    var fixture = MappingFixture()
    let value = MappingFixture.archived { a in a.constant(.integer(1)) }
    fixture.mapping("A", "B", number: 1, attributes: [["name": "n", "valueexpressiondata": value]])
    let path = try write(fixture, in: folder)
    let out = folder.file("M.mapping.yaml")
    let first = godwit("mapping", "convert", path, "-o", out)
    #expect(first.status == 0 && first.output == "\(out): 1 entity mapping\n")
    #expect(try MappingModel(contentsOfYAML: out)["AToB"]?.attributeMappings.map(\.value.source.text) == ["1"])
    #expect(godwit("mapping", "convert", path, "-o", out).status == 73)
    let bare = godwit("mapping", "convert", path + "/xcmapping.xml", "--format", "json")
    #expect(bare.status == 0 && bare.output.contains("\"mappings\" : [\n    \"AToB\"\n  ]"))
  }

  @Test func `an unreadable mapping model gives the reason`() throws {
    let folder = try TemporaryFolder()
    var fixture = MappingFixture()
    fixture.mapping("A", "B", number: 1, attributes: [["name": "n"]])
    let path = try write(fixture, in: folder)
    let open = godwit("mapping", "convert", path)
    #expect(open.status == 78)
    #expect(
      open.diagnostics.contains("those in the file cannot be read")
        && open.diagnostics.contains("try     give the models"))
    #expect(godwit("mapping", "convert", folder.file("none.cdm")).status == 66)
    #expect(godwit("mapping", "convert", folder.path).status == 66)
    #expect(godwit("mapping", "convert", path, "--source", "a").status == 64)
    #expect(godwit("mapping").status == 64)
  }
}

/// A bundle with two versions that differ in what the tests ask for.
private struct Versions {
  let folder: TemporaryFolder
  let source, destination: String
  let models: [ManagedObjectModel]

  init(_ before: [EntityDescription], _ after: [EntityDescription]) throws {
    folder = try TemporaryFolder()
    let bundle = folder.file("Notes.xcdatamodeld")
    models = [
      try ManagedObjectModel(name: "Notes", entities: before), try ManagedObjectModel(name: "Notes 2", entities: after),
    ]
    for model in models {
      let version = bundle + "/\(model.name).xcdatamodel"
      try FileManager.default.createDirectory(atPath: version, withIntermediateDirectories: true)
      try Data(model.xcodeContents.utf8).write(to: URL(filePath: version + "/contents"))
    }
    (source, destination) = (bundle + "#Notes", bundle + "#Notes 2")
  }

  static func inferable() throws -> Versions {
    var rank = AttributeDescription(name: "rank", type: .integer16, isOptional: false)
    rank.defaultValue = .integer(3)
    var heading = AttributeDescription(name: "heading", type: .string)
    heading.renamingIdentifier = "title"
    return try Versions(
      [
        EntityDescription(
          name: "Note",
          attributes: [
            AttributeDescription(name: "title", type: .string), AttributeDescription(name: "rank", type: .integer16),
            AttributeDescription(name: "old", type: .string),
          ])
      ],
      [
        EntityDescription(
          name: "Note", attributes: [heading, rank, AttributeDescription(name: "stars", type: .integer16)])
      ])
  }

  static func open() throws -> Versions {
    try Versions(
      [
        EntityDescription(
          name: "Note",
          attributes: [
            AttributeDescription(name: "count", type: .string), AttributeDescription(name: "title", type: .string),
          ])
      ],
      [
        EntityDescription(
          name: "Note",
          attributes: [
            AttributeDescription(name: "count", type: .integer16),
            AttributeDescription(name: "title", type: .string, isOptional: false),
          ])
      ])
  }
}

struct `Inferring and drafting mapping models` {
  @Test func `an inferred mapping is printed with a reason on every line, and reads back`() throws {
    let versions = try Versions.inferable()
    let result = godwit("mapping", "infer", versions.source, versions.destination)
    #expect(result.status == 0 && result.diagnostics.isEmpty)
    #expect(
      result.output == """
        godwit-mapping: 1
        source-model: Notes
        destination-model: Notes 2
        entity-mappings:
          - name: IEM_Transform_Note # its version hash differs
            source: Note
            destination: Note
            attributes:
              heading: $source.title # renamed from title
              rank: { value: $source.rank, if-nil: default } # optional to required: nil becomes the default
              # stars: new: stays nil
              # old: the earlier 'old' is gone: its values are dropped

        """)
    let model = try MappingModel(inferredFrom: versions.models[0], to: versions.models[1])
    #expect(try read(result.output, in: versions.folder).placeless == model.placeless)
  }

  @Test func `mapping infer prints every reason against an inference, and exits with 69`() throws {
    let versions = try Versions.open()
    let result = godwit("mapping", "infer", versions.source, versions.destination)
    #expect(result.status == 69 && result.output.isEmpty)
    #expect(
      result.diagnostics == """
        godwit: no mapping model can be inferred from 'Notes' to 'Notes 2'
          cause   Note.count: type String to Integer 16
                  Note.title: optional to required without a default: no value can replace nil
          try     write a mapping file for this step; `godwit mapping new` drafts one, with 'CAST($source.count, "NSNumber")' for Note.count, or use a policy

        """)
    let json = godwit("mapping", "infer", versions.source, versions.destination, "--format", "json")
    #expect(json.status == 69 && json.output.contains("\"Note.count: type String to Integer 16\""))
  }

  @Test func `no job accepts a drafted mapping file until its placeholders are replaced`() throws {
    func note(_ count: AttributeType, _ born: AttributeType) -> EntityDescription {
      EntityDescription(
        name: "Note",
        attributes: [
          AttributeDescription(name: "count", type: count), AttributeDescription(name: "born", type: born),
          AttributeDescription(name: "title", type: .string, isOptional: count == .string),
        ])
    }
    let versions = try Versions([note(.string, .date)], [note(.integer16, .uuid)])
    let file = versions.folder.file("new.mapping.yaml")
    let result = godwit("mapping", "new", versions.source, versions.destination, "-o", file)
    #expect(result.status == 0 && result.diagnostics == "godwit: 1 placeholder to replace, marked ???\n")
    let text = try String(contentsOfFile: file, encoding: .utf8)
    #expect(
      text.hasSuffix(
        """
            attributes:
              count: 'CAST($source.count, "NSNumber")' # String 'count' to Integer 16: a text that is not a number becomes nil, a counted loss; a fraction and a number out of range are 65
              title: $source.title # now required, without a default: an object without a value stops the run
              born: '???' # Date 'born' to UUID: no expression converts it, a policy does

        """))
    let error = #expect(throws: GodwitError.self) { try MappingModel(contentsOfYAML: file) }
    #expect(error?.code == .configuration && error?.location?.line == 11)
    #expect(error?.message == "cannot read mapping file: 'born' is still a placeholder ('???')")
    let filled = text.replacing("'???'", with: "newUUID()")
    #expect(try read(filled, in: versions.folder)["NoteToNote"]?.attributeMappings.count == 3)
  }

  @Test func `a job may use 'mappings: inferred'`() throws {
    let versions = try Versions.inferable()
    let store = versions.folder.file("notes.sqlite")
    let builder = try StoreBuilder(path: store, model: versions.models[0])
    try builder.insert("Note", attributes: ["title": .init("a"), "rank": .integer(1)])
    try builder.insert("Note", attributes: ["title": .init("b")])
    try builder.finish()
    let job = versions.folder.file("job.yaml")
    try Data(
      """
      godwit: 1
      source: notes.sqlite
      destination: out.sqlite
      models: Notes.xcdatamodeld
      destination-model: Notes 2
      mappings: inferred

      """.utf8
    ).write(to: URL(filePath: job))
    let plan = godwit("plan", "--details", job)
    #expect(plan.status == 0 && plan.output.contains("IEM_Transform_Note"), "\(plan.diagnostics)")
    #expect(try BuiltCommand.run("run", job).status == 0)
    #expect(godwit("verify", job).status == 0)
    let made = try StoreConnection.openStore(readingAt: versions.folder.file("out.sqlite"))
    #expect(
      try made.rows("SELECT ZHEADING, ZRANK, ZSTARS FROM source.ZNOTE ORDER BY Z_PK") == [
        [.text(Array("a".utf8)), .integer(1), .null], [.text(Array("b".utf8)), .integer(3), .null],
      ])
  }

  @Test func `a job whose mapping cannot be inferred is refused at its key`() throws {
    let versions = try Versions.open()
    let store = versions.folder.file("notes.sqlite")
    try StoreBuilder(path: store, model: versions.models[0]).finish()
    let job = versions.folder.file("job.yaml")
    try Data(
      "godwit: 1\nsource: notes.sqlite\ndestination: out.sqlite\nmodels: Notes.xcdatamodeld\ndestination-model: Notes 2\nmappings: inferred\n"
        .utf8
    ).write(to: URL(filePath: job))
    let plan = godwit("plan", job)
    #expect(plan.status == 69)
    #expect(
      plan.diagnostics.contains("job.yaml:6:") && plan.diagnostics.contains("Note.count: type String to Integer 16"))
  }
}
