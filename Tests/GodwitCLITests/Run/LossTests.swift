import Foundation
import GodwitCLI
import GodwitModel
import GodwitStore
import TestSupport
import Testing

private func entity(
  _ name: String, _ attributes: [String], _ relationships: [RelationshipDescription] = []
) -> EntityDescription {
  EntityDescription(
    name: name, attributes: attributes.map { AttributeDescription(name: $0, type: .string) },
    relationships: relationships)
}

private func project(_ keys: String = "", filter: String = "text != nil") throws -> ProjectFixture {
  let project = ProjectFixture()
  let old = try ManagedObjectModel(
    name: "Notes",
    entities: [
      entity(
        "Note", ["text", "mood"], [.init(name: "folder", destinationEntityName: "Folder", inverseName: "notes")]),
      entity(
        "Folder", ["name"],
        [.init(name: "notes", destinationEntityName: "Note", inverseName: "folder", isToMany: true)]),
    ])
  try project.bundle(
    "Notes.xcdatamodeld",
    [old, ManagedObjectModel(name: "Notes 2", entities: [entity("Note", ["text"]), entity("Folder", ["name"])])])
  try project.store("notes.sqlite", old) { store in
    try store.insert("Folder", key: 1, attributes: ["name": .init("f")])
    for key in Int64(1)...5 {
      try store.insert(
        "Note", key: key, attributes: ["text": key == 5 ? .null : .init("t"), "mood": key < 3 ? .init("m") : .null],
        relationships: key < 4 ? ["folder": [1]] : [:])
    }
  }
  try project.write(
    "a.mapping.yaml",
    """
    godwit-mapping: 1
    entity-mappings:
      - name: Notes
        source: Note
        destination: Note
        filter: \(filter)
        attributes:
          text: $source.text

    """)
  try project.write(
    "job.yaml",
    "godwit: 1\nsource: notes.sqlite\ndestination: out/out.sqlite\nmodels: Notes.xcdatamodeld\nmappings: a.mapping.yaml\n"
      + keys)
  return project
}

private let lost = [
  "1 of Folder (no mapping)", "1 of Note (filtered out)", "2 values of Note.mood (no destination attribute takes them)",
  "3 links of Note.folder (no destination relationship takes them)",
]

@Suite struct LossTests {
  @Test func `an explicit mapping's losses are in plan and summary, and in JSON`() throws {
    let files = try project()
    let plan = files.godwit("plan", try files.path("job.yaml"))
    let run = files.godwit("run", try files.path("job.yaml"))
    #expect(plan.status == 0 && run.status == 0, "\(run.diagnostics)")
    for line in lost {
      #expect(plan.output.contains(line), "\(line)\n\(plan.output)")
      #expect(run.output.contains(line), "\(line)\n\(run.output)")
    }
    let json = try project()
    #expect(
      json.godwit("plan", "--format", "json", try json.path("job.yaml")).output.contains("\"subject\" : \"Note.mood\""))
    let lines = json.godwit("run", "--progress", "json", try json.path("job.yaml")).output
    #expect(lines.contains("\"subject\":\"Note.mood\""))
  }

  @Test(arguments: [true, false])
  func `a job with 'on-loss: fail' is refused with 65 before it writes`(byKey: Bool) throws {
    let files = try project(byKey ? "on-loss: fail\n" : "")
    let flags = byKey ? [] : ["--set", "on-loss=fail"]
    for verb in ["plan", "run"] {
      let session = CommandSession(output: .memory(), diagnostics: .memory())
      let status = GodwitCommand.run(arguments: [verb] + flags + [try files.path("job.yaml")], in: session)
      #expect(status == 65)
      for line in lost { #expect(session.diagnostics.text.contains(line), "\(line)\n\(session.diagnostics.text)") }
    }
    #expect(!FileManager.default.fileExists(atPath: try files.path("out/out.sqlite")))
    #expect(!FileManager.default.fileExists(atPath: try files.path("out/out.sqlite.godwit")))
  }

  @Test func `a job that leaves no object is refused, unless the manifest allows it`() throws {
    let refused = try project("", filter: "text == 'nobody'")
    for verb in ["plan", "run"] {
      let result = refused.godwit(verb, try refused.path("job.yaml"))
      #expect(result.status == 65)
      #expect(result.diagnostics.contains("would be in the destination"), "\(result.diagnostics)")
    }
    let allowed = try project("on-loss: allow-empty\n", filter: "text == 'nobody'")
    #expect(allowed.godwit("run", try allowed.path("job.yaml")).status == 0)
  }

  @Test func `'accept-losses' lets a job run that fails on any other loss`() throws {
    let meant = "on-loss: fail\naccept-losses: [Folder, \"Note (filtered out)\", Note.mood, Note.folder]\n"
    let files = try project(meant)
    let plan = files.godwit("plan", try files.path("job.yaml"))
    #expect(plan.output.contains("of Note.mood (no destination attribute takes them), accepted"), "\(plan.output)")
    let run = files.godwit("run", "--progress", "json", try files.path("job.yaml"))
    #expect(run.status == 0, "\(run.diagnostics)")
    #expect(run.output.contains(#""isAccepted":true"#), "\(run.output)")
    let receipt = try String(contentsOfFile: files.path("out/out.sqlite.receipt.json"), encoding: .utf8)
    #expect(receipt.contains(#""isAccepted" : true"#))
    let page = files.godwit("report", try files.path("job.yaml"), "-o", "-")
    #expect(page.output.contains("; accepted"), "\(page.diagnostics)")
    let wrong = try project(meant.replacing("Note.mood", with: "Note.mod"))
    let refused = wrong.godwit("run", try wrong.path("job.yaml"))
    #expect(refused.status == 78 && refused.diagnostics.contains("did you mean 'Note.mood'?"), "\(refused.diagnostics)")
    #expect(refused.diagnostics.contains("job.yaml:7:"), "\(refused.diagnostics)")
    #expect(wrong.godwit("plan", try wrong.path("job.yaml"), "--set", "accept-losses=[Note.mood]").status == 65)
  }

  @Test func `a store of many may name losses of other versions, and tables of other stores`() throws {
    let files = ProjectFixture()
    let models = try [["a", "b", "c"], ["a", "b"], ["a"]].enumerated().map {
      try ManagedObjectModel(name: "Notes \($0.offset + 1)", entities: [entity("Note", $0.element)])
    }
    try files.bundle("Notes.xcdatamodeld", models)
    try FileManager.default.createDirectory(atPath: files.path("stores"), withIntermediateDirectories: true)
    for place in [0, 1] {
      try files.store("stores/\(place + 1).sqlite", models[place]) { store in
        try store.insert("Note", key: 1, attributes: ["a": .init("a"), "b": .init("b")])
      }
    }
    func run(_ entries: String) throws -> (status: Int32, output: String, diagnostics: String) {
      try files.write(
        "job.yaml",
        "godwit: 1\nsource: 'stores/*.sqlite'\ndestination: 'out/{name}.sqlite'\nmodels: Notes.xcdatamodeld\n"
          + "mappings: inferred\non-loss: fail\naccept-losses: \(entries)\n")
      return files.godwit("run", try files.path("job.yaml"))
    }
    #expect(try run("[Note.c]").status == 65)
    #expect(try run("[Note.d, Note.b]").status == 78)
    let bare = try run("[Note.b, Note.c, app_cache]")
    #expect(bare.status == 78 && bare.diagnostics.contains("write 'app_cache (not in model)'"), "\(bare)")
    let slip = try run("[Note.b, Note.c, Noot.b]")
    #expect(slip.status == 78 && slip.diagnostics.contains("did you mean 'Note.b'?"), "\(slip)")
    let done = try run("[Note.b, Note.c, \"app_cache (not in model)\"]")
    #expect(done.status == 0, "\(done.output)\(done.diagnostics)")
    try FileManager.default.removeItem(atPath: files.path("out"))
    let planned = files.godwit("plan", try files.path("job.yaml"))
    #expect(planned.output.contains("1 accepted loss"), "\(planned.output)\(planned.diagnostics)")
  }
}
