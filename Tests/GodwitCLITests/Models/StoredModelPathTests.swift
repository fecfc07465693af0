import Foundation
import GodwitCLI
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// A project whose bundle lacks the version of a store, `Notes 2`. The store carries its model.
private struct LostVersion {
  let project = ProjectFixture()

  /// - Parameter attributes: The attributes of the store's entity, `Note`.
  init(_ attributes: [String] = ["title", "body"], more job: String = "") throws {
    func version(_ name: String, _ attributes: [String]) throws -> ManagedObjectModel {
      let described = attributes.map { AttributeDescription(name: $0, type: .string) }
      return try ManagedObjectModel(name: name, entities: [.made("Note", described)])
    }
    try project.bundle(
      "Notes.xcdatamodeld", [version("Notes", ["title"]), version("Notes 3", ["title", "body", "stars"])])
    try project.write(
      "job.yaml",
      "godwit: 1\nsource: notes.sqlite\ndestination: out.sqlite\nmodels: Notes.xcdatamodeld\n" + job)
    try addStore("notes.sqlite", attributes)
  }

  func addStore(_ name: String, _ attributes: [String]) throws {
    var archive = ArchiveFixture()
    let properties = attributes.map { archive.attribute($0, .string) }
    let entity = archive.entity("Note", properties)
    let bytes = archive.model([entity])
    let source = try ManagedObjectModel(compiled: bytes, name: "Notes 2")
    let path = try project.path(name)
    try FileManager.default.createDirectory(
      at: URL(filePath: path).deletingLastPathComponent(), withIntermediateDirectories: true)
    let store = try EmptyStore.create(
      at: path, schema: StoreSchema(model: source), metadata: StoreMetadata(model: source))
    for key in 1...3 {
      try store.execute(
        "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, Z\(attributes[0].uppercased())) VALUES (\(key), 1, 1, 'n\(key)')")
    }
    try store.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = 3")
    try store.execute("CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)")
    try store.execute("INSERT INTO Z_MODELCACHE VALUES (?1)", [.blob(bytes.deflated)])
    try store.close()
  }

  func mapping(_ file: String, from source: String) throws {
    try project.write(
      file,
      """
      godwit-mapping: 1
      source-model: \(source)
      destination-model: Notes 3
      entity-mappings:
        - name: NoteToNote
          source: Note
          destination: Note
          attributes: {title: $source.title}

      """)
  }

  func godwit(_ verb: String, _ more: String...) throws -> (status: Int32, output: String, diagnostics: String) {
    project.godwit([verb, try project.path("job.yaml")] + more)
  }

  /// A document, checked against its schema.
  func document(_ schema: String, _ arguments: [String]) throws -> JSONValue {
    let found = project.godwit(arguments + ["--format", "json"])
    let document = try JSONValue(parsing: found.output)
    try ManyStoresTests.check([document], schema)
    return document
  }
}

private let code = JSONValue.string("model-from-store")

/// The treatment of a model inside a store if no listed model fits: the job says so, or refuses it.
struct StoredModelPathTests {
  @Test func `plan, run, init and test have a note`() throws {
    let lost = try LostVersion()
    let plan = try lost.godwit("plan")
    #expect(plan.status == 0 && plan.output.contains("no listed model fits the store: the source model"), "\(plan)")
    let job = try lost.project.path("job.yaml")
    #expect(try lost.document("plan", ["plan", job])["noteCodes"]?.array?.first == code)

    let (store, bundle) = (try lost.project.path("notes.sqlite"), try lost.project.path("Notes.xcdatamodeld"))
    let draft = try lost.document("init", ["init", store, bundle, "-o", "-"])
    #expect(draft["noteCodes"]?.array == [code])
    #expect(draft["manifest"]?.string?.contains("# Note: no listed model fits the store") == true, "\(draft)")

    let stores = try lost.project.path("stores")
    try lost.addStore("stores/old.sqlite", ["title", "body"])
    let tested = try lost.document("test", ["test", bundle, "--stores", stores, "--from", "none"])
    #expect(tested["results"]?.array?.first?["noteCodes"]?.array == [code], "\(tested)")
    #expect(tested["failed"] == .integer(0))

    let ran = try BuiltCommand.run("run", job, "--progress", "json")
    #expect(ran.status == 0 && ran.output.contains("\"noteCodes\":[\"model-from-store\""), "\(ran)")
    #expect(try lost.godwit("verify").status == 0)
  }

  @Test func `why names the property that differs where no step can be inferred`() throws {
    let lost = try LostVersion()
    let bundle = try lost.project.path("New.xcdatamodeld")
    var required = AttributeDescription(name: "stars", type: .integer16)
    required.isOptional = false
    let title = AttributeDescription(name: "title", type: .string)
    try lost.project.bundle(
      "New.xcdatamodeld", [ManagedObjectModel(name: "New", entities: [.made("Note", [title, required])])])
    let why = lost.project.godwit("why", try lost.project.path("notes.sqlite"), bundle)
    #expect(why.status == 69, "\(why)")
    #expect(why.output.contains("first     Note.") && why.output.contains("Note.stars"), "\(why.output)")
  }

  @Test func `the schemas know every code of a note that their documents may have`() throws {
    let input: [MigrationNote.Code] = [
      .renamingIdentifiers, .modelPartsLeftOut, .mappingSearchEmpty, .mappingUnsearched,
    ]
    let known = ["plan", "progress", "stores"].map { ($0, MigrationNote.Code.allCases) }
    for (name, codes) in known + ["init", "test", "why"].map({ ($0, input) }) {
      let text = try #require(PublishedSchema.all.first { $0.name == name }?.text)
      for code in codes { #expect(text.contains("\"\(code.rawValue)\""), "\(name): \(code.rawValue)") }
    }
  }

  @Test func `a listed model needs no note`() throws {
    let lost = try LostVersion()
    let model = try lost.project.path("Notes 2.xcdatamodel")
    #expect(lost.project.godwit("model", "extract", try lost.project.path("notes.sqlite"), "-o", model).status == 0)
    let plan = try lost.godwit(
      "plan", "--set", "models=[\(lost.project.path("Notes.xcdatamodeld")), \(model)]", "--set",
      "destination-model=Notes 3")
    #expect(plan.status == 0 && !plan.output.contains("no listed model fits"), "\(plan)")
  }

  @Test func `the results of many stores have the note, and a foreign store among them fails alone`() throws {
    let lost = try LostVersion()
    try lost.project.write(
      "job.yaml",
      "godwit: 1\nsource: \"stores/*.sqlite\"\ndestination: \"out/{name}.sqlite\"\nmodels: Notes.xcdatamodeld\n")
    try lost.addStore("stores/a.sqlite", ["title", "body"])
    try lost.addStore("stores/b.sqlite", ["colour", "size", "weight"])
    let job = try lost.project.path("job.yaml")
    for verb in ["plan", "why"] {
      let rows = try lost.document("stores", [verb, job])["stores"]?.array
      #expect(rows?.count == 2 && rows?[0]["noteCodes"]?.array == [code], "\(verb): \(rows ?? [])")
      #expect(rows?[1]["status"] == .integer(69), "\(verb): \(rows ?? [])")
    }
    let ran = try BuiltCommand.run("run", job, "--progress", "json")
    #expect(ran.status == 69, "\(ran)")
    let lines = try JSONValue.lines(ran.output)
    let found = lines.filter { $0["type"]?.string == "store" && $0["outcome"]?.string == "finished" }
    #expect(found.count == 1 && found.first?["noteCodes"]?.array?.first == code, "\(lines)")
  }

  // MARK: Refusals

  @Test func `an inferred step is not taken past mapping models`() throws {
    let lost = try LostVersion()
    try lost.mapping("Move.mapping.yaml", from: "Notes 2")
    for verb in ["plan", "run"] {
      let refused = try lost.godwit(verb)
      #expect(refused.status == 69, "\(verb): \(refused)")
      #expect(refused.diagnostics.contains("may skip mapping models"), "\(refused.diagnostics)")
      #expect(refused.diagnostics.contains("mapping models that may be skipped: 'Move.mapping.yaml'"))
      #expect(refused.diagnostics.contains("`godwit model extract STORE -o NAME.xcdatamodel`"))
    }
    let (store, bundle) = (try lost.project.path("notes.sqlite"), try lost.project.path("Notes.xcdatamodeld"))
    let why = lost.project.godwit("why", store, bundle)
    #expect(why.status == 69 && why.diagnostics.contains("may skip mapping models"), "\(why)")
    let draft = lost.project.godwit("init", store, bundle, "-o", "-")
    #expect(draft.status == 69 && draft.diagnostics.contains("-o COPY.xcdatamodeld/NAME.xcdatamodel"), "\(draft)")

    // The remedy, word for word.
    let model = try lost.project.path("Notes 2.xcdatamodel")
    #expect(lost.project.godwit("model", "extract", store, "-o", model).status == 0)
    let plan = try lost.godwit(
      "plan", "--details", "--set", "models=[\(bundle), \(model)]", "--set", "destination-model=Notes 3")
    #expect(plan.status == 0 && plan.output.contains("mappings     Move.mapping.yaml"), "\(plan)")
    // That of `init`.
    let copy = try lost.project.path("Copy.xcdatamodeld")
    try FileManager.default.copyItem(atPath: bundle, toPath: copy)
    #expect(
      lost.project.godwit("model", "extract", store, "-o", copy + "/Notes 2.xcdatamodel").status == 0)
    let drafted = lost.project.godwit("init", store, copy, "-o", "-")
    #expect(drafted.status == 0 && drafted.output.contains("'Notes 2' to 'Notes 3': Move.mapping.yaml"), "\(drafted)")
  }

  @Test func `what the author wrote for this very model, or lists, is used`() throws {
    let lost = try LostVersion()
    try lost.mapping("Own.mapping.yaml", from: "model of the store")
    let found = try lost.godwit("plan", "--details")
    #expect(found.status == 0 && found.output.contains("mappings     Own.mapping.yaml"), "\(found)")

    let listing = try LostVersion(more: "mappings: Move.mapping.yaml\n")
    try listing.mapping("Move.mapping.yaml", from: "Notes 2")
    #expect(try listing.godwit("plan").status == 0)

    let inferring = try LostVersion(more: "mappings: inferred\n")
    try inferring.mapping("Move.mapping.yaml", from: "Notes 2")
    let inferred = try inferring.godwit("plan")
    #expect(inferred.status == 0 && inferred.output.contains("no listed model fits the store"), "\(inferred)")
  }

  @Test func `a mapping model that leads back does not make the job refuse`() throws {
    let lost = try LostVersion()
    try lost.project.write(
      "Back.mapping.yaml",
      "godwit-mapping: 1\nsource-model: Notes 3\ndestination-model: Notes\nentity-mappings:\n"
        + "  - {name: N, source: Note, destination: Note, attributes: {title: $source.title}}\n")
    #expect(try lost.godwit("plan").status == 0)
  }

  /// Attributes of a store, and whether it is taken. The destination has three.
  @Test(
    arguments: [
      (["title", "body"], true), (["title", "colour"], true), (["title", "body", "colour", "size"], true),
      (["title", "colour", "size"], false), (["colour", "size", "weight"], false), (["colour"], false),
    ] as [([String], Bool)])
  func `a store that hardly resembles the destination is refused`(attributes: [String], isTaken: Bool) throws {
    for more in ["", "mappings: inferred\n"] {
      let plan = try LostVersion(attributes, more: more).godwit("plan")
      #expect(plan.status == (isTaken ? 0 : 69), "\(plan)")
      #expect(plan.diagnostics.contains("hardly resembles 'Notes 3'") == !isTaken, "\(plan.diagnostics)")
    }
  }

  // MARK: Real stores

  private static let care = "carekit-apple_CareKit/_history/CareKitStore/CareKitStore"
  private static let moody = "objcio_core-data/Migrations/"

  @Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
  func `real stores of versions that are gone are migrated with the note`() throws {
    let cases = [
      (Self.care + "Tests/CoreDataSchema/Migrations/SampleStore2.1.sqlite", Self.care + "/CoreData/CareKitStore"),
      (Self.moody + "MigrationsTests/Moody 3.moody", "objcio_core-data/Moody/MoodyModel/Moody"),
    ]
    for (store, bundle) in TestTier.sample(cases, each: 2) {
      let project = ProjectFixture()
      try project.write(
        "job.yaml",
        "godwit: 1\nsource: '\(Corpus.path(store))'\ndestination: out.sqlite\nmodels: '\(Corpus.path(bundle)).xcdatamodeld'\n"
      )
      let plan = project.godwit("plan", try project.path("job.yaml"))
      #expect(plan.status == 0 && plan.output.contains("no listed model fits the store"), "\(plan)")
    }
  }

  @Test(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
  func `a real bundle without a version does not lead past its mapping models`() throws {
    let project = ProjectFixture()
    let bundle = try project.path("Migrations")
    try FileManager.default.copyItem(atPath: Corpus.path(Self.moody + "Migrations"), toPath: bundle)
    try FileManager.default.removeItem(atPath: bundle + "/Moody.xcdatamodeld/Moody 3.xcdatamodel")
    func plan(_ store: String) throws -> (status: Int32, output: String, diagnostics: String) {
      try project.write(
        "job.yaml",
        "godwit: 1\nsource: '\(Corpus.path(store))'\ndestination: out.moody\nmodels: Migrations/Moody.xcdatamodeld\nunregistered-policies: default\n"
      )
      return project.godwit("plan", try project.path("job.yaml"))
    }
    let refused = try plan(Self.moody + "MigrationsTests/Moody 3.moody")
    #expect(refused.status == 69 && refused.diagnostics.contains("'Moody 4-Moody 5.xcmappingmodel'"), "\(refused)")
    // A version that is there has its mapping models.
    #expect(try plan(Self.moody + "MigrationsTests/Moody 4.moody").status == 0)
    // A store of another application.
    let foreign = try plan("duckduckgo_iOS/DuckDuckGoTests/AppRatingPrompt_v1/Database.sqlite")
    #expect(foreign.status == 69 && foreign.diagnostics.contains("hardly resembles 'Moody 6'"), "\(foreign)")
  }
}
