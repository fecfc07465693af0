import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

private let mappings = """
  godwit-mapping: 1
  entity-mappings:
    - name: NoteToNote
      type: custom
      source: Note
      destination: Note
      policy: App.Split Notes
      attributes:
        text: $source.text
        core: FUNCTION($entityPolicy, "core:of:", $source.text, $source.stars)
    - name: Tags
      type: add
      destination: Tag
      policy: class
    - name: Other "quoted"
      type: custom
      source: Memo
      destination: Note
      policy: Other.SplitNotes

  """

private func project(_ mappings: String = mappings) throws -> ProjectFixture {
  let project = ProjectFixture()
  func attribute(_ name: String, _ type: AttributeType, isOptional: Bool = true) -> AttributeDescription {
    var attribute = AttributeDescription(name: name, type: type)
    attribute.isOptional = isOptional
    return attribute
  }
  let old = try ManagedObjectModel(
    name: "Notes",
    entities: [
      .made("Note", [attribute("text", .string), attribute("stars", .integer16)]),
      .made("Memo", [attribute("text", .string)]),
    ])
  let new = try ManagedObjectModel(
    name: "Notes 2",
    entities: [
      .made(
        "Note",
        [attribute("text", .string), attribute("core", .string), attribute("due", .date, isOptional: false)]),
      .made("Tag", [attribute("word", .string)]),
    ])
  try project.bundle("Notes.xcdatamodeld", [old, new])
  try project.store("notes.sqlite", old) { store in
    try store.insert("Note", attributes: ["text": .init("a"), "stars": .integer(1)])
  }
  try project.write("a.mapping.yaml", mappings)
  try project.write(
    "job.yaml",
    "godwit: 1\nsource: notes.sqlite\ndestination: out/out.sqlite\nmodels: Notes.xcdatamodeld\nmappings: a.mapping.yaml\n"
  )
  return project
}

@Suite struct PolicyStubTests {
  @Test func `plan lists every unregistered policy, shows the rest, and ends with 78`() throws {
    let project = try project()
    let plan = project.godwit("plan", "--details", try project.path("job.yaml"))
    #expect(plan.status == 78)
    for line in [
      "NoteToNote: Note to Note", "stages",
      "not registered: step 1, mapping 'NoteToNote' names 'App.Split Notes'; nothing else fills the required due; it answers core:of: for core",
      "not registered: step 1, mapping 'Tags' names 'class'",
      "not registered: step 1, mapping 'Other \"quoted\"' names 'Other.SplitNotes'; nothing else fills the required due",
    ] { #expect(plan.output.contains(line), "\(line)\n\(plan.output)") }
    #expect(plan.diagnostics.contains("3 policies are not registered: 'App.Split Notes', 'class', 'Other.SplitNotes'"))
    let run = project.godwit("run", try project.path("job.yaml"))
    #expect(run.status == 78)
    #expect(run.diagnostics.contains("3 policies are not registered"), "\(run.diagnostics)")
    #expect(!FileManager.default.fileExists(atPath: try project.path("out/out.sqlite.godwit")))
  }

  @Test func `a stub has a type for each class, its required attributes and its functions`() throws {
    let project = try project()
    let stub = project.godwit("policy", "stub", try project.path("job.yaml"))
    #expect(stub.status == 0, "\(stub.diagnostics)")
    for text in [
      "struct Split_Notes: EntityMigrationPolicy", "struct classPolicy: EntityMigrationPolicy",
      "struct SplitNotes: EntityMigrationPolicy", "\"App.Split Notes\": { Split_Notes() }", "object[\"due\"] = .null",
      "case \"core:of:\":", "case \"Other \\\"quoted\\\"\":", "/// - due Date, required", "/// Source ",
      "/// Destination ",
    ] { #expect(stub.output.contains(text), "\(text)\n\(stub.output)") }
    let file = try project.path("Stub.swift")
    #expect(project.godwit("policy", "stub", try project.path("job.yaml"), "-o", file).status == 0)
    #expect(try String(contentsOfFile: file, encoding: .utf8) == stub.output)
  }

  @Test(.enabled(if: TypeChecker.isAvailable))
  func `a stub compiles`() throws {
    let project = try project()
    let file = try project.path("Stub.swift")
    #expect(project.godwit("policy", "stub", try project.path("job.yaml"), "-o", file).status == 0)
    #expect(try TypeChecker.errors(in: file, "-parse-as-library") == nil)
  }
}
