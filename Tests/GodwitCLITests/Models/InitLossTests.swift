import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// The losses in a manifest that `godwit init` drafts.
struct InitLossTests {
  @Test func `a draft proposes the losses that it found, and they are accepted as they stand there`() throws {
    let project = ProjectFixture()
    func model(_ name: String, _ attributes: [String]) throws -> ManagedObjectModel {
      try ManagedObjectModel(
        name: name,
        entities: [.made("Note", attributes.map { AttributeDescription(name: $0, type: .string) })])
    }
    let versions = [try model("Notes", ["title", "body", "mood"]), try model("Notes 2", ["title"])]
    try project.bundle("Notes.xcdatamodeld", versions)
    try project.store("notes.sqlite", versions[0]) { store in
      try store.insert("Note", attributes: ["title": .init("t"), "body": .init("b"), "mood": .init("m")])
    }
    let connection = try StoreConnection(path: project.path("notes.sqlite"))
    try connection.execute("CREATE TABLE \"its, own: 'log'\" (a)")
    try connection.execute("INSERT INTO \"its, own: 'log'\" VALUES (1)")
    try connection.close()
    let job = try project.path("job.yaml")
    let made = try project.godwit([
      "init", project.path("notes.sqlite"), project.path("Notes.xcdatamodeld"), "-o", job,
    ])
    #expect(made.status == 0, "\(made)")
    var text = try String(contentsOfFile: job, encoding: .utf8)
    #expect(text.contains("\n# accept-losses: ["), "\(text)")
    #expect(text.contains("Note.body") && text.contains("Note.mood"), "\(text)")
    text = text.replacing("# accept-losses", with: "accept-losses").replacing("on-loss: report", with: "on-loss: fail")
    try project.write("job.yaml", text)
    let run = project.godwit("run", job)
    #expect(run.status == 0, "\(run)")
    try project.write("job.yaml", text.replacing("Note.mood", with: "Note.body"))
    #expect(project.godwit("plan", job, "--set", "destination=other.sqlite").status == 65)
  }

  @Test func `a draft without losses proposes none`() throws {
    let project = ProjectFixture()
    let model = try ManagedObjectModel(
      name: "Notes", entities: [.made("Note", [AttributeDescription(name: "title", type: .string)])])
    try project.bundle("Notes.xcdatamodeld", [model])
    try project.store("notes.sqlite", model) { try $0.insert("Note", attributes: ["title": .init("t")]) }
    let made = try project.godwit([
      "init", project.path("notes.sqlite"), project.path("Notes.xcdatamodeld"), "-o", "-",
    ])
    #expect(made.status == 0 && !made.output.contains("accept-losses"), "\(made)")
  }
}
