import Foundation
import GodwitCLI
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

struct InspectionTests {
  @Test func `a spill file is recognised by the skippable frame before its first frame`() throws {
    let project = ProjectFixture()
    let path = try project.path("pairs.lz4")
    for (first, isOurs) in [(UInt8(0x50), true), (0x51, true), (0x40, false)] {
      try Data([first, 0x2A, 0x4D, 0x18] + [UInt8](repeating: 0, count: 64)).write(to: URL(filePath: path))
      let told = project.godwit("inspect", path)
      #expect(told.status == 65)
      #expect(told.diagnostics.contains("cannot read spill file") == isOurs, "\(first): \(told.diagnostics)")
    }
  }

  @Test func `a line feed in a name begins no line of text`() throws {
    let project = ProjectFixture()
    let names = ["Note\n/etc/passwd: SQLite store", "Memo\nTask"]
    func model(_ name: String, _ attribute: String) throws -> ManagedObjectModel {
      let attributes = ["title", attribute].map { AttributeDescription(name: $0, type: .string) }
      return try ManagedObjectModel(name: name, entities: names.map { EntityDescription.made($0, attributes) })
    }
    let versions = [try model("Notes", "old\nfield"), try model("Notes 2", "new\nfield")]
    try project.bundle("Notes.xcdatamodeld", versions)
    try project.store("notes.sqlite", versions[0]) { try $0.insert(names[0], attributes: ["title": .init("a")]) }
    let (bundle, store) = (try project.path("Notes.xcdatamodeld"), try project.path("notes.sqlite"))
    // The same with names of one line.
    let plain = ProjectFixture()
    func flat(_ model: ManagedObjectModel) throws -> ManagedObjectModel {
      var entities = model.entities
      for place in entities.indices {
        entities[place].name = entities[place].name.onOneLine
        for index in entities[place].attributes.indices {
          entities[place].attributes[index].name = entities[place].attributes[index].name.onOneLine
        }
      }
      return try ManagedObjectModel(name: model.name, entities: entities)
    }
    let flattened = try versions.map(flat)
    try plain.bundle("Notes.xcdatamodeld", flattened)
    try plain.store("notes.sqlite", flattened[0]) {
      try $0.insert(flattened[0].entities[0].name, attributes: ["title": .init("a")])
    }
    let (plainBundle, plainStore) = (try plain.path("Notes.xcdatamodeld"), try plain.path("notes.sqlite"))
    func lines(_ result: (status: Int32, output: String, diagnostics: String)) -> Int {
      #expect(result.status == 0, "\(result)")
      return result.output.unicodeScalars.count { CharacterSet.newlines.contains($0) }
    }
    for (found, expected) in [
      (project.godwit("inspect", store), plain.godwit("inspect", plainStore)),
      (
        project.godwit("inspect", store, "--details", "--models", bundle),
        plain.godwit("inspect", plainStore, "--details", "--models", plainBundle)
      ),
      (project.godwit("inspect", bundle), plain.godwit("inspect", plainBundle)),
      (project.godwit("inspect", store, bundle), plain.godwit("inspect", plainStore, plainBundle)),
      (project.godwit("model", "hash", bundle), plain.godwit("model", "hash", plainBundle)),
      (
        project.godwit("model", "diff", bundle + "#Notes", bundle),
        plain.godwit("model", "diff", plainBundle + "#Notes", plainBundle)
      ),
    ] {
      let count = lines(found)
      #expect(count == lines(expected) && count > 2, "\(found.output)\(expected.output)")
    }
  }
}
