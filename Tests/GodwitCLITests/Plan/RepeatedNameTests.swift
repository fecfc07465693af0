import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Names that come twice, or stand for what they do not name, through the verbs that meet them.
struct RepeatedNameTests {
  private static func project(_ mapping: String) throws -> ProjectFixture {
    let project = ProjectFixture()
    func model(_ name: String, _ more: [String]) throws -> ManagedObjectModel {
      var notes = RelationshipDescription(
        name: "notes", destinationEntityName: "Note", inverseName: "owner", isToMany: true)
      notes.isOrdered = true
      let person = EntityDescription(
        name: "Person", attributes: (["name", "email"] + more).map { .init(name: $0, type: .string) },
        relationships: [notes])
      let note = EntityDescription(
        name: "Note", attributes: [.init(name: "text", type: .string)],
        relationships: [.init(name: "owner", destinationEntityName: "Person", inverseName: "notes")])
      return try ManagedObjectModel(name: name, entities: [person, note])
    }
    let versions = [try model("M", []), try model("M 2", ["more"])]
    try project.bundle("M.xcdatamodeld", versions)
    try project.store("m.sqlite", versions[0]) { try $0.insert("Person", key: 1, attributes: ["name": .init("a")]) }
    try project.write(
      "M.mapping.yaml",
      """
      godwit-mapping: 1
      source-model: M
      destination-model: M 2
      entity-mappings:
        - name: Notes
          source: Note
          destination: Note
          attributes: {text: $source.text}
        - name: People
          source: Person
          destination: Person
          attributes: {name: $source.name, email: $source.email}
          \(mapping)
      """)
    try project.write(
      "job.yaml",
      "godwit: 1\nsource: m.sqlite\ndestination: out.sqlite\nmodels: M.xcdatamodeld\nmappings: M.mapping.yaml\n")
    return project
  }

  @Test(arguments: [
    ("unique-by: [email, name, email]", "unique-by names 'email' twice"),
    ("unique-by: {attributes: [email, email]}", "unique-by names 'email' twice"),
    (
      "unique-by: {attributes: [email], order-by: [name, \"name DESC\"]}",
      "order-by names 'name' twice in unique-by"
    ),
    (
      "relationships: {notes: {mapping: Notes, key-path: notes, order-by: [text, text]}}",
      "order-by names 'text' twice in relationship 'notes'"
    ),
  ])
  func `a name that is listed twice is 78, with its place`(mapping: String, says: String) throws {
    let project = try Self.project(mapping)
    for verb in ["plan", "audit", "run"] {
      let result = project.godwit(verb, try project.path("job.yaml"))
      #expect(result.status == 78 && result.diagnostics.contains(says), "\(verb): \(result)")
      #expect(result.diagnostics.contains("M.mapping.yaml:13:"), "\(verb): \(result)")
    }
    let lint = project.godwit("lint", try project.folder.get().path)
    #expect(lint.status == 4 && lint.output.contains(says), "\(lint)")
  }

  @Test func `braces in the source of one store are explained`() throws {
    let project = try Self.project("unique-by: [email]")
    for source in ["{m,n}.sqlite", try project.path("{m,n}.sqlite")] {
      let result = project.godwit("plan", try project.path("job.yaml"), "--set", "source='\(source)'")
      #expect(result.status == 66, "\(result)")
      #expect(result.diagnostics.contains("'{a,b}' stands for itself in a pattern"), "\(result)")
    }
  }
}
