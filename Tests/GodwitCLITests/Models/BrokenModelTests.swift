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
      ["make-store", model, try project.path("new.sqlite"), "--rows", "3"],
    ] {
      let result = project.godwit(arguments)
      #expect(result.status == 66, "\(arguments)\n\(result.diagnostics)")
      #expect(result.diagnostics.contains("entity '\(name)' would share the name"), "\(result.diagnostics)")
    }
    #expect(try Self.files(project) == before)
    let lint = project.godwit("lint", model)
    #expect(lint.status == 4 && lint.output.contains("error: GW401 "), "\(lint.output)\(lint.diagnostics)")
  }

  @Test func `a regular expression that does not compile is told with its attribute and its place in the model`() throws
  {
    let project = try Self.project([Self.entity("Pa", pattern: "[a-")])
    let before = try Self.files(project)
    let (job, model) = (try project.path("job.yaml"), try project.path("M.xcdatamodeld"))
    let lines = try String(contentsOfFile: model + "/M 2.xcdatamodel/contents", encoding: .utf8).split(separator: "\n")
    let line = try #require(lines.firstIndex { $0.contains("regularExpressionString") }) + 1
    for arguments in [
      ["plan", job], ["audit", job], ["run", "--quiet", job], ["run", "--quiet", "--set", "on-invalid=keep", job],
    ] {
      let result = project.godwit(arguments)
      #expect(result.status == 66, "\(arguments)\n\(result.diagnostics)")
      #expect(
        result.diagnostics.contains("M 2.xcdatamodel/contents:\(line):")
          && result.diagnostics.contains(
            "cannot use the regular expression of 'Pa.code' in model 'M 2': it does not compile"),
        "\(arguments)\n\(result.diagnostics)")
    }
    #expect(try Self.files(project) == before)
    let lint = project.godwit("lint", model)
    let told =
      "contents:\(line): error: GW212 'M' to 'M 2': the regular expression of Pa.code does not compile: it stops every run that makes objects of Pa"
    #expect(lint.status == 4 && lint.output.contains(told), "\(lint.output)\(lint.diagnostics)")
    #expect(project.godwit("inspect", model).output.contains("the regular expression of 'Pa.code' does not compile"))
  }
}
