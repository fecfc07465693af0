import Foundation
import GodwitModel
import GodwitStore
import Testing

/// Models that can be read and that no store can follow: every verb says so before anything is written.
struct BrokenModelTests {
  private static func entity(_ name: String, pattern: String? = nil) -> EntityDescription {
    var code = AttributeDescription(name: "code", type: .string)
    code.regularExpression = pattern
    return .made(name, [code])
  }

  /// A store with one `Pa`, and a job to a version with other entities.
  private static func project(_ entities: [EntityDescription]) throws -> ProjectFixture {
    let project = ProjectFixture()
    let old = try ManagedObjectModel(name: "M", entities: [entity("Pa")])
    try project.bundle("M.xcdatamodeld", [old, ManagedObjectModel(name: "M 2", entities: entities)])
    try project.store("s.sqlite", old) { try $0.insert("Pa", attributes: ["code": .init("x")]) }
    try project.write("job.yaml", "godwit: 1\nsource: s.sqlite\ndestination: o.sqlite\nmodels: M.xcdatamodeld\n")
    return project
  }

  private static func files(_ project: ProjectFixture) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: project.path("")).sorted()
  }

  @Test(arguments: ["pA", "_PRIMARYKEY", "_METADATA", "_MODELCACHE"])
  func `an entity whose table has the name of another table is refused by every verb that makes a store`(
    name: String
  ) throws {
    let project = try Self.project([Self.entity("Pa"), Self.entity(name)])
    let before = try Self.files(project)
    let (job, model) = (try project.path("job.yaml"), try project.path("M.xcdatamodeld"))
    for arguments in [
      ["plan", job], ["run", "--quiet", job], ["model", "schema", model],
      ["make-store", model, try project.path("new.sqlite")],
    ] {
      let result = project.godwit(arguments)
      #expect(result.status == 66, "\(arguments)\n\(result.diagnostics)")
      #expect(result.diagnostics.contains("entity '\(name)' would share the name"), "\(result.diagnostics)")
    }
    #expect(try Self.files(project) == before)
    let lint = project.godwit("lint", model)
    #expect(lint.status == 4 && lint.output.contains("error: GW401 "), "\(lint.output)\(lint.diagnostics)")
  }
}
