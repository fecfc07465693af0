import Foundation
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

private func note(_ version: String, _ type: AttributeType) throws -> ManagedObjectModel {
  // A change of type that no inference makes.
  try ManagedObjectModel(
    name: version,
    entities: [.made("Note", [AttributeDescription(name: "text", type: .string), .init(name: "when", type: type)])])
}

private let mapping = """
  godwit-mapping: 1
  source-model: Notes
  destination-model: Notes 2
  entity-mappings:
    - name: NoteToNote
      source: Note
      destination: Note
      attributes:
        text: $source.text
        when: CAST($source.when, "NSDate")

  """

private func project(_ marker: String?) throws -> ProjectFixture {
  let project = ProjectFixture()
  let old = try note("Notes", .double)
  try project.bundle("repo/App/Models/Notes.xcdatamodeld", [old, note("Notes 2", .string)])
  try project.store("notes.sqlite", old) { store in
    try store.insert("Note", attributes: ["text": .init("a"), "when": .double(1)])
  }
  try project.write(
    "job.yaml",
    "godwit: 1\nsource: notes.sqlite\ndestination: out.sqlite\nmodels: repo/App/Models/Notes.xcdatamodeld\n")
  if let marker { try project.write("repo/\(marker)/x", "") }
  return project
}

private let convert = mapping.replacingOccurrences(
  of: "CAST($source.when, \"NSDate\")", with: "CAST($source.when, \"NSString\")")

@Suite struct MappingSearchTests {
  @Test(arguments: [".git", "App.xcodeproj", "App.xcworkspace"])
  func `a mapping model anywhere in the project is found`(marker: String) throws {
    let project = try project(marker)
    try project.write("repo/Migration/Deep/notes.mapping.yaml", convert)
    let plan = project.godwit("plan", "--details", try project.path("job.yaml"))
    #expect(plan.status == 0, "\(plan)")
    #expect(plan.output.contains("searched for mapping models in '"))
    #expect(plan.output.contains("the project in '"))
    #expect(plan.output.contains("Migration/Deep/notes.mapping.yaml"), "\(plan.output)")
    #expect(project.godwit("run", "-q", try project.path("job.yaml")).status == 0)
  }

  @Test func `without a project what is below the models' folder is found`() throws {
    let project = try project(nil)
    try project.write("repo/App/Models/Maps/notes.mapping.yaml", convert)
    let plan = project.godwit("plan", "--details", try project.path("job.yaml"))
    #expect(plan.status == 0 && plan.output.contains("Maps/notes.mapping.yaml"), "\(plan)")
  }

  @Test func `without a project only the models' folder is searched, and the message says so`() throws {
    let project = try project(nil)
    try project.write("repo/Migration/notes.mapping.yaml", convert)
    let plan = project.godwit("plan", "--details", try project.path("job.yaml"))
    #expect(plan.status == 69)
    #expect(plan.diagnostics.contains("searched for mapping models in '"), "\(plan.diagnostics)")
    #expect(plan.diagnostics.contains("App/Models' and below: none found"), "\(plan.diagnostics)")
    #expect(!plan.diagnostics.contains("the project in"))
    // The plan names mapping models elsewhere, and the key that finds them.
    #expect(plan.diagnostics.contains("not searched: 'repo/Migration/notes.mapping.yaml', 'Notes' to 'Notes 2'"))
    #expect(plan.diagnostics.contains("try     write `mapping-search: ['repo/Migration']`: mapping models"))
    let job = try project.path("job.yaml")
    let set = "mapping-search=[\(try project.path("repo/Migration"))]"
    #expect(project.godwit("plan", job, "--set", set).status == 0)
    try FileManager.default.removeItem(atPath: project.path("repo/Migration"))
    let none = project.godwit("plan", job)
    #expect(none.status == 69 && !none.diagnostics.contains("not searched"), "\(none)")
    #expect(none.diagnostics.contains("name the folder under `mapping-search`"), "\(none.diagnostics)")
  }

  @Test func `a step that is inferred although a mapping model lies near is told, and fails where losses do`() throws {
    let project = ProjectFixture()
    let old = try note("Notes", .double)
    let more = AttributeDescription(name: "mood", type: .string)
    let new = try ManagedObjectModel(name: "Notes 2", entities: [.made("Note", old.attributes(of: "Note") + [more])])
    try project.bundle("repo/App/Models/Notes.xcdatamodeld", [old, new])
    try project.store("notes.sqlite", old) { store in
      try store.insert("Note", attributes: ["text": .init("a"), "when": .double(1)])
    }
    try project.write(
      "job.yaml",
      "godwit: 1\nsource: notes.sqlite\ndestination: out.sqlite\nmodels: repo/App/Models/Notes.xcdatamodeld\n")
    let (job, store) = (try project.path("job.yaml"), try project.path("notes.sqlite"))
    let models = try project.path("repo/App/Models/Notes.xcdatamodeld")
    let before = project.godwit("plan", job)
    #expect(before.status == 0 && !before.output.contains("not searched"), "\(before)")
    try project.write(
      "repo/Migration/notes.mapping.yaml",
      mapping.replacingOccurrences(of: "CAST($source.when, \"NSDate\")", with: "$source.when + 1"))
    for arguments in [
      ["plan", job], ["why", store, models], ["init", store, models, "-o", try project.path("new.yaml")],
    ] {
      let result = project.godwit(arguments)
      #expect((result.output + result.diagnostics).contains("notes.mapping.yaml"), "\(arguments): \(result)")
    }
    #expect(project.godwit("plan", job, "--set", "on-loss=fail").status == 65)
    #expect(project.godwit("run", job, "--set", "on-loss=fail").status == 65)
    let test = project.godwit("test", models, "--rows", "3", "--keep", try project.path("failures"))
    #expect(test.status == 4 && test.output.contains("notes.mapping.yaml"), "\(test)")
    let run = project.godwit("run", job, "--progress", "json")
    #expect(run.status == 0 && run.output.contains("\"mapping-unsearched\""), "\(run)")
    // The key that the note gives uses it.
    let set = "mapping-search=[\(try project.path("repo/Migration"))]"
    let named = project.godwit("plan", job, "--details", "--set", "destination=other.sqlite", "--set", set)
    #expect(
      named.status == 0 && named.output.contains("notes.mapping.yaml") && !named.output.contains("not searched"),
      "\(named)")
  }

  @Test func `init names the folders of the mapping models that it uses`() throws {
    let project = try project(".git")
    try project.write("repo/Migration/notes.mapping.yaml", convert)
    let made = project.godwit(
      "init", try project.path("notes.sqlite"), try project.path("repo/App/Models/Notes.xcdatamodeld"), "-o",
      try project.path("new.yaml"))
    #expect(made.status == 0, "\(made)")
    let text = try String(contentsOfFile: project.path("new.yaml"), encoding: .utf8)
    #expect(text.contains("mapping-search:\n") && text.contains("repo/Migration\n"), "\(text)")
    // Without the marker the manifest means the same.
    try FileManager.default.removeItem(atPath: project.path("repo/.git"))
    let plan = project.godwit("plan", try project.path("new.yaml"))
    #expect(plan.status == 0 && !plan.output.contains("not searched"), "\(plan)")
  }

  @Test func `a folder under mapping-search is searched with all below it, and an empty one is a note`() throws {
    let project = try project(nil)
    try project.write("maps/Two/Deep/notes.mapping.yaml", convert)
    try project.write("maps/.hidden/other.mapping.yaml", convert)
    try project.write("maps/Pods/Other/foreign.mapping.yaml", convert)
    try project.write("empty/readme.txt", "nothing")
    let job = try project.path("job.yaml")
    let folders = "[\(try project.path("maps")), \(try project.path("empty"))]"
    let plan = project.godwit("plan", job, "--set", "mapping-search=\(folders)")
    #expect(plan.status == 0 && plan.output.contains("maps/Two/Deep/notes.mapping.yaml"), "\(plan)")
    #expect(plan.output.contains("no mapping model was found in '\(try project.path("empty"))'"), "\(plan.output)")
    let ran = project.godwit("run", job, "--progress", "json", "--set", "mapping-search=\(folders)")
    #expect(ran.status == 0 && ran.output.contains("\"mapping-search-empty\""), "\(ran)")
    // A file in the folder itself wins.
    try project.write("maps/near.mapping.yaml", convert)
    let near = project.godwit(
      "plan", job, "--details", "--set", "destination=near.sqlite", "--set", "mapping-search=\(folders)")
    #expect(near.output.contains("mappings     near.mapping.yaml"), "\(near)")
    #expect(near.output.contains("'near.mapping.yaml' in a folder that is named serves"), "\(near.output)")
  }

  @Test func `a folder given for the model stands for the bundle in it`() throws {
    let project = try project(nil)
    try project.write("repo/App/Models/near.mapping.yaml", convert)
    let (store, job) = (try project.path("notes.sqlite"), try project.path("job.yaml"))
    for folder in ["repo/App/Models", "repo/App", "repo/"] {
      let place = try project.path(folder)
      let plan = project.godwit("plan", job, "--details", "--set", "models=\(place)")
      #expect(plan.status == 0 && plan.output.contains("mappings     near.mapping.yaml"), "\(folder): \(plan)")
      let why = project.godwit("why", store, place)
      let named = project.godwit("why", store, try project.path("repo/App/Models/Notes.xcdatamodeld"))
      #expect(why.status == 2 && why.output == named.output, "\(folder): \(why)")
      #expect(why.output.contains("by near.mapping.yaml"), "\(folder): \(why)")
    }
  }

  @Test func `folders of other projects and above the project are not searched`() throws {
    let project = try project(".git")
    for folder in ["repo/Pods/Other", "repo/.build/x", "repo/node_modules", ".", "repo/A.xcodeproj"] {
      try project.write("\(folder)/notes.mapping.yaml", convert)
    }
    let found = MappingSearch(besideModels: [try project.path("repo/App/Models/Notes.xcdatamodeld")])
    #expect(found.files == [])
    #expect(project.godwit("plan", "--details", try project.path("job.yaml")).status == 69)
  }

  @Test func `a mapping model beside the models wins over one elsewhere`() throws {
    let project = try project(".git")
    try project.write("repo/App/Models/near.mapping.yaml", convert)
    try project.write("repo/Old/far.mapping.yaml", convert.replacingOccurrences(of: "$source.text", with: "'far'"))
    let plan = project.godwit("plan", "--details", try project.path("job.yaml"))
    #expect(plan.status == 0, "\(plan.diagnostics)")
    #expect(plan.output.contains("mappings     near.mapping.yaml"))
    #expect(
      plan.output.contains("far.mapping.yaml' not used: 'near.mapping.yaml' beside the models serves"),
      "\(plan.output)")
  }

  @Test func `a mapping model elsewhere that names what the models lack is called stale`() throws {
    let project = try project(".git")
    try project.write(
      "repo/Old/old.mapping.yaml", convert.replacingOccurrences(of: "source: Note\n", with: "source: Memo\n"))
    let plan = project.godwit("plan", "--details", try project.path("job.yaml"))
    #expect(plan.status == 69)
    #expect(
      plan.diagnostics.contains("it is stale, or for other models of these names: it names the entity 'Memo'"),
      "\(plan.diagnostics)")
  }

  /// Bundle, and how many mapping models serve two of its versions once the whole project is searched.
  static let projects: [(folder: String, bundle: String, served: Int)] = [
    ("objcio_core-data/Migrations", "Migrations/Moody.xcdatamodeld", 4),
    ("hwaxxer_BookMigration", "BookMigration/BookMigration.xcdatamodeld", 2),
    ("wibosco_CoreDataMigration-Example", "", 2), ("alemar11_CoreDataPlus", "", 1),
    ("carekit-apple_CareKit", "", 1), ("novasamatech_nova-wallet-ios", "", 1),
  ]

  @Test(.enabled(if: Corpus.isPresent), arguments: TestTier.sample(projects.map(\.folder), each: 3))
  func `mapping models of corpus projects are found wherever they are`(folder: String) throws {
    let expected = try #require(Self.projects.first { $0.folder == folder })
    // A copy: the corpus holds files without the repository around them.
    let project = ProjectFixture()
    let root = try project.path("repo")
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    let paths = try FileManager.default.subpathsOfDirectory(atPath: Corpus.path(folder))
    for path in paths where path.contains(".xcdatamodel") || path.contains(".xcmappingmodel") || path.hasSuffix(".cdm")
    {
      let whole = Corpus.path(folder) + "/" + path
      guard try FileManager.default.attributesOfItem(atPath: whole)[.type] as? FileAttributeType == .typeRegular else {
        continue
      }
      let copy = URL(filePath: root + "/" + path)
      try FileManager.default.createDirectory(at: copy.deletingLastPathComponent(), withIntermediateDirectories: true)
      try FileManager.default.copyItem(at: URL(filePath: whole), to: copy)
    }
    try FileManager.default.createDirectory(atPath: root + "/.git", withIntermediateDirectories: true)
    var served: Set<String> = []
    // The same files are found from every bundle of a project: each is read once.
    var mappingModels: [String: XcodeMappingModel] = [:]
    for path in paths where path.hasSuffix(".xcdatamodeld") {
      let files = MappingSearch(besideModels: [root + "/" + path]).files
      guard let bundle = try? ModelBundle(contentsOf: root + "/" + path) else { continue }
      let models = bundle.versions.compactMap { try? ManagedObjectModel(contentsOf: root + "/" + path, version: $0) }
      for file in files where !served.contains(file.path) && XcodeFileKind.identify(file.path) == .mappingModel {
        guard let model = mappingModels[file.path] ?? (try? XcodeMappingModel(contentsOf: file.path)) else {
          continue
        }
        mappingModels[file.path] = model
        let fits = models.contains { from in
          models.contains { to in from.name != to.name && model.fit(from: from, to: to) == .hashes }
        }
        if fits { served.insert(file.path) }
      }
    }
    #expect(served.count >= expected.served, "\(served)")
  }
}
