import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// `godwit init` of a store whose name would mean something else in a manifest.
struct InitNameTests {
  @Test(arguments: ["{name}", "a{file}b", "{{name}}", "{other}", "{", "a: b", "*"])
  func `a store whose name has a placeholder in it is no pattern`(name: String) throws {
    let project = ProjectFixture()
    let model = try ManagedObjectModel(
      name: "Notes", entities: [.made("Note", [AttributeDescription(name: "title", type: .string)])])
    try project.bundle("Notes.xcdatamodeld", [model])
    try project.write("\(name).sqlite.folder", "")
    try project.store("\(name).sqlite", model) { try $0.insert("Note", attributes: ["title": .init("a")]) }
    let folder = try project.folder.get().path
    for arguments in [["init", "\(name).sqlite", "Notes.xcdatamodeld"], ["run", "job.yaml"]] {
      let result = try BuiltCommand.run(arguments, in: folder)
      #expect(result.status == 0, "\(arguments): \(result)")
    }
    #expect(FileManager.default.fileExists(atPath: folder + "/\(name)-migrated.sqlite"))
  }
}
