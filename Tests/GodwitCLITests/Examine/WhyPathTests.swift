import Foundation
import GodwitCLI
import GodwitModel
import GodwitStore
import TestSupport
import Testing

private let mappingText = """
  godwit-mapping: 1
  source-model: Notes
  destination-model: Notes 2
  entity-mappings:
    - name: NoteToNote
      source: Note
      destination: Note
      attributes: {title: $source.title}

  """

/// The path that `why` prints, beside that of `plan`.
struct WhyPathTests {
  private let project = ProjectFixture()

  /// Three versions, each with one optional attribute more, and a store of the first.
  private func notes() throws {
    let names = ["title", "body", "stars"]
    let models = try (1...3).map { count in
      try ManagedObjectModel(
        name: count == 1 ? "Notes" : "Notes \(count)",
        entities: [.made("Note", names[..<count].map { AttributeDescription(name: $0, type: .string) })])
    }
    try project.bundle("Notes.xcdatamodeld", models)
    try project.store("notes.sqlite", models[0]) { builder in
      for _ in 0..<3 { try builder.insert("Note", attributes: ["title": .init("private")]) }
    }
    try project.write(
      "job.yaml", "godwit: 1\nsource: notes.sqlite\ndestination: out.sqlite\nmodels: Notes.xcdatamodeld\n")
  }

  private func why(_ options: String...) throws -> (status: Int32, output: String, diagnostics: String) {
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let arguments = ["why", try project.path("notes.sqlite"), try project.path("Notes.xcdatamodeld")] + options
    let status = GodwitCommand.run(arguments: arguments, in: session)
    return (status, session.output.text, session.diagnostics.text)
  }

  private func plan(
    _ job: String = "job.yaml", _ form: String...
  ) throws -> (status: Int32, output: String, diagnostics: String) {
    try plan(job, form)
  }

  private func plan(_ job: String, _ form: [String]) throws -> (status: Int32, output: String, diagnostics: String) {
    project.godwit(["plan", try project.path(job), "--detailed-exitcode"] + form)
  }

  @Test func `why names an inferred step, and plan agrees`() throws {
    try notes()
    let told = try why()
    #expect(told.status == 2, "\(told.diagnostics)")
    #expect(told.output.contains("  path      `mappings: auto`: 'Notes' to 'Notes 3' inferred\n"), "\(told.output)")
    #expect(try plan().status == 2)
  }

  @Test func `why names the application's mapping model with its file`() throws {
    try notes()
    try project.write("Move.mapping.yaml", mappingText)
    let told = try why()
    #expect(told.status == 2, "\(told.diagnostics)")
    let way = """
        path      `mappings: auto` takes 2 steps
                  'Notes' to 'Notes 2' by Move.mapping.yaml
                  'Notes 2' to 'Notes 3' inferred

      """
    #expect(told.output.contains(way), "\(told.output)")
    #expect(try plan().status == 2)
    let json = try why("--format", "json")
    let record = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
    let steps = try #require((record["path"] as? [String: Any])?["steps"] as? [[String: Any]])
    #expect(steps.map { $0["mappings"] as? String } == ["Move.mapping.yaml", "inferred"])
    #expect(record["verdict"] as? String == "migration-needed")
  }

  @Test func `why names an unregistered policy, with the exit status of plan`() throws {
    try notes()
    try project.write("Move.mapping.yaml", mappingText + "    policy: Mover\n")
    let told = try why()
    #expect(told.status == 78)
    #expect(
      told.output.contains("  policy    not registered: step 1, mapping 'NoteToNote' names 'Mover'"), "\(told.output)")
    #expect(told.diagnostics.contains("no policy 'Mover' is registered"))
    #expect(try plan().status == 78)
  }

  @Test func `why without a path is 69, as for plan`() throws {
    try notes()
    try project.write(
      "job.yaml", "godwit: 1\nsource: notes.sqlite\ndestination: out.sqlite\nmodels: Notes.xcdatamodeld\n")
    let last = try project.path("Notes.xcdatamodeld/Notes 3.xcdatamodel/contents")
    let text = try String(contentsOfFile: last, encoding: .utf8)
    try Data(text.replacing("attributeType=\"String\"", with: "attributeType=\"Date\"").utf8)
      .write(to: URL(filePath: last))
    let told = try why()
    #expect(told.status == 69)
    #expect(told.output.contains("  path      `mappings: auto` finds no path\n"), "\(told.output)")
    #expect(told.diagnostics.contains("no path leads from 'Notes' to 'Notes 3'"))
    #expect(try plan().status == 69)
  }

  @Test func `why counts what would be lost`() throws {
    try notes()
    let last = try project.path("Notes.xcdatamodeld/Notes 3.xcdatamodel/contents")
    let text = try String(contentsOfFile: last, encoding: .utf8)
    try Data(text.replacing("name=\"title\"", with: "name=\"heading\"").utf8).write(to: URL(filePath: last))
    let told = try why()
    #expect(told.status == 2)
    #expect(told.output.contains("  lost      3 values of Note.title"), "\(told.output)")
    #expect(!told.output.contains("private"))
  }

  @Test func `a store that fits needs no migration, for why and plan`() throws {
    try notes()
    try project.write(
      "fits.yaml",
      "godwit: 1\nsource: notes.sqlite\ndestination: out.sqlite\nmodels: Notes.xcdatamodeld\ndestination-model: Notes\n"
    )
    let fits = try plan("fits.yaml")
    #expect(fits.status == 0, "\(fits.diagnostics)")
    #expect(fits.output.contains("the source already has version 'Notes': no migration is needed"))
    #expect(
      project.godwit("why", try project.path("notes.sqlite"), try project.path("Notes.xcdatamodeld#Notes")).status == 0)
  }

  @Test func `for a store without version hashes why suggests assume-source-model`() throws {
    try notes()
    let path = try project.path("notes.sqlite")
    let connection = try StoreConnection(path: path)
    var metadata = try StoreMetadata(reading: connection, schema: "main", path: path)
    for key in metadata.values.keys where key.string.contains("Version") { metadata.values[key] = nil }
    try metadata.write(to: connection)
    try connection.close()
    let told = try why()
    #expect(told.status == 69)
    #expect(told.diagnostics.contains("`assume-source-model: NAME`"), "\(told.diagnostics)")
  }

  @Test func `why suggests --configuration for a store of one configuration`() throws {
    let note = EntityDescription.made("Note", [AttributeDescription(name: "title", type: .string)])
    let mark = EntityDescription.made("Mark", [AttributeDescription(name: "page", type: .integer16)])
    let whole = try ManagedObjectModel(name: "Notes", entities: [note, mark], configurations: ["Local": ["Note"]])
    try project.bundle("Notes.xcdatamodeld", [whole])
    try project.store("notes.sqlite", whole.restricted(toConfiguration: "Local")) { _ in }
    let refused = try why()
    #expect(refused.status == 69)
    #expect(refused.diagnostics.contains("add `--configuration 'Local'`"), "\(refused.diagnostics)")
    #expect(try why("--configuration", "Local").status == 0)
    let unknown = try why("--configuration", "Lokal")
    #expect(unknown.status == 78 && unknown.diagnostics.contains("did you mean 'Local'"), "\(unknown.diagnostics)")
    let (store, bundle) = (try project.path("notes.sqlite"), try project.path("Notes.xcdatamodeld"))
    let missed = project.godwit("inspect", store, "--models", bundle)
    #expect(
      missed.status == 69 && missed.diagnostics.contains("add `--configuration 'Local'`"), "\(missed.diagnostics)")
    let found = project.godwit("inspect", store, "--models", bundle, "--configuration", "Local")
    #expect(found.status == 0 && found.output.contains("'Notes' fits"), "\(found.diagnostics)")
    #expect(project.godwit("inspect", store, "--models", bundle, "--configuration", "Lokal").status == 78)
    #expect(project.godwit("inspect", store, "--configuration", "Local").status == 64)
  }

  @Test func `a step that loses more than the versions between would suggests 'stages'`() throws {
    let diary = try project.path("Diary.xcdatamodeld")
    try FileManager.default.copyItem(
      atPath: try #require(FixtureProject.all.first { $0.name == "Diary" }).bundle, toPath: diary)
    // Version 3 has the names of version 2 and forgot their identifiers: only version 2 tells what they were before.
    let second = try String(contentsOfFile: diary + "/Diary 2.xcdatamodel/contents", encoding: .utf8)
    let third = second.replacing(#/ elementID="\w+"/#, with: "")
      .replacing("name=\"created\"", with: "name=\"made\"")
    try project.write("Diary.xcdatamodeld/Diary 3.xcdatamodel/contents", third)
    let store = try project.path("diary.sqlite")
    #expect(project.godwit("make-store", diary + "#Diary", store, "--rows", "12").status == 0)
    let hint = "would keep (Note, Notebook): write `stages: [{step: Diary 2}]`"
    let told = project.godwit("why", store, diary)
    #expect(
      told.status == 65
        && told.output.contains("  hint      'Diary' to 'Diary 3' at once loses what the versions between \(hint)"))
    let job = "godwit: 1\nsource: diary.sqlite\ndestination: out.sqlite\nmodels: \(diary)\n"
    try project.write("job.yaml", job)
    #expect(try plan().diagnostics.contains(hint))
    #expect(project.godwit("run", try project.path("job.yaml")).diagnostics.contains(hint))
    try project.write("job.yaml", job + "on-loss: allow-empty\n")
    let empty = try plan()
    #expect(empty.status == 2 && empty.output.contains("note         'Diary' to 'Diary 3' at once"), "\(empty.output)")
    #expect(empty.output.contains(hint))
    try project.write("job.yaml", job + "stages: [{step: Diary 2}]\n")
    let through = try plan()
    #expect(through.status == 2 && !through.output.contains("at once loses"), "\(through.diagnostics)")
    try project.write("job.yaml", job.replacing("out.sqlite", with: "two.sqlite") + "destination-model: Diary 2\n")
    let near = try plan()
    #expect(near.status == 2 && !near.output.contains("at once loses"), "\(near.output)")
  }

  @Test func `a missing path of a manifest is reported with the manifest's folder`() throws {
    try project.write("jobs/job.yaml", "godwit: 1\nsource: a.sqlite\ndestination: b.sqlite\nmodels: M.xcdatamodeld\n")
    let folder = URL(filePath: try project.path("jobs")).standardizedFileURL.path
    let missing = try plan("jobs/job.yaml")
    #expect(missing.status == 66)
    #expect(
      missing.diagnostics.contains(
        "'models' is 'M.xcdatamodeld', relative to the manifest's folder '\(folder)'"),
      "\(missing.diagnostics)")
    try notes()
    try project.write(
      "jobs/job.yaml", "godwit: 1\nsource: a.sqlite\ndestination: b.sqlite\nmodels: ../Notes.xcdatamodeld\n")
    let store = try plan("jobs/job.yaml")
    #expect(store.status == 66 && store.diagnostics.contains("jobs/job.yaml:2:9: "), "\(store.diagnostics)")
    #expect(
      store.diagnostics.contains("'source' is 'a.sqlite', relative to the manifest's folder '\(folder)'"))
  }

  @Test func `mapping models for other models are counted, not listed`() throws {
    try notes()
    for number in 1...3 {
      try project.write("Other\(number).mapping.yaml", mappingText.replacing(": Notes", with: ": App \(number)"))
    }
    let told = try plan("job.yaml", "--details")
    #expect(
      told.output.contains("search       3 mapping models not used: they are for other models"), "\(told.output)")
    #expect(!told.output.contains("Other1"))
    // One that starts at a version of the bundle may be meant for it.
    try project.write("Near.mapping.yaml", mappingText.replacing("Notes 2", with: "Notes 9"))
    for form in [[], ["--details"]] {
      let told = try plan("job.yaml", form)
      #expect(told.output.contains("mapping model 'Near.mapping.yaml' not used"), "\(told.output)")
    }
    #expect(try !plan().output.contains("other models"))
    // A mapping model for another step of the project is not worth a note.
    let later = mappingText.replacing("Notes 2", with: "Notes 3").replacing("model: Notes\n", with: "model: Notes 2\n")
    try project.write("Later.mapping.yaml", later)
    try project.write(
      "two.yaml",
      "godwit: 1\nsource: notes.sqlite\ndestination: two.sqlite\nmodels: Notes.xcdatamodeld\ndestination-model: Notes 2\n"
    )
    #expect(try plan("two.yaml", "--details").output.contains("mapping model 'Later.mapping.yaml' not used"))
    let near = try plan("two.yaml")
    #expect(near.output.contains("Near.mapping.yaml") && !near.output.contains("Later.mapping.yaml"), "\(near.output)")
  }

  @Test func `plan without details names a mapping model that is stale, and why`() throws {
    try notes()
    var fixture = MappingFixture()
    fixture.mapping("Note", "Note", number: 1, attributes: [["name": "title"]])
    let document = fixture.document(
      source: "Notes", destination: "Notes 3",
      more: [
        "sourcemodeldata": MappingFixture.model("Note", ["title"]),
        "destinationmodeldata": MappingFixture.model("Note", ["title"]),
      ])
    try project.write("Old.xcmappingmodel/xcmapping.xml", String(decoding: document, as: UTF8.self))
    let told = try plan()
    #expect(told.status == 2, "\(told.diagnostics)")
    #expect(told.output.contains("note         mapping model 'Old.xcmappingmodel' is stale: "), "\(told.output)")
  }

  @Test func `conflict markers in an XML store are named`() throws {
    try project.write(
      "people.xml",
      "<?xml version=\"1.0\"?>\n<!DOCTYPE database SYSTEM \"file:///x.dtd\">\n<database>\n<<<<<<< HEAD\n</database>\n")
    let told = project.godwit("inspect", try project.path("people.xml"))
    #expect(told.status == 65)
    #expect(
      told.diagnostics.contains(":4:1: cannot read the XML store: it holds the conflict markers"), "\(told.diagnostics)"
    )
    #expect(told.diagnostics.contains("resolve the conflict in version control"))
  }
}
