import Foundation
import GodwitLint
import GodwitModel
import TestSupport
import Testing

struct `Linting many versions` {
  typealias P = LintProject

  /// Every version has an attribute more, and every third renames one.
  private func project(_ count: Int) throws -> LintProject {
    var project = try LintProject()
    var names: [String] = ["name"]
    for version in 1...count {
      var more: [String] = []
      for name in names { more.append(P.attribute(name)) }
      if version % 3 == 0 {
        more.append(P.attribute("renamed\(version)", "String", "optional=\"YES\" elementID=\"added\(version - 1)\""))
        more.removeAll { $0 == P.attribute("added\(version - 1)") }
        names.removeAll { $0 == "added\(version - 1)" }
      }
      more.append(P.attribute("added\(version)"))
      names.append("added\(version)")
      if version % 3 == 0 { names.append("renamed\(version)") }
      try project.version("App \(version)", P.person(more.joined(separator: "\n")))
    }
    try project.current("App \(count)")
    return project
  }

  @Test func `progress counts the versions, and what is remembered of comparisons changes no finding`() throws {
    let project = try project(9)
    var told: [Int] = []
    let report = try project.linter().report { checked, count in
      #expect(count == 9)
      told.append(checked)
    }
    #expect(told == Array(1...8))
    // The version after a rename forgets the identifier.
    #expect(
      Set(report.findings.map(\.rule)) == [.renameChainBroken, .renameUnmatched], "\(report.findings.map(\.key))")
  }

  @Test func `a pair of versions is compared once`() throws {
    func model(_ name: String, _ attributes: [String]) throws -> ManagedObjectModel {
      try ManagedObjectModel(
        name: name,
        entities: [EntityDescription(name: "E", attributes: attributes.map { .init(name: $0, type: .string) })])
    }
    let (a, b) = (try model("A", ["x"]), try model("B", ["x", "y"]))
    var required = b
    let cache = InferenceCache()
    #expect(cache.refusals(from: a, to: b).isEmpty)
    // The name stands for the version: what was found is given again.
    var attribute = AttributeDescription(name: "z", type: .string)
    attribute.isOptional = false
    required = try ManagedObjectModel(
      name: "B", entities: [EntityDescription(name: "E", attributes: [attribute])])
    #expect(cache.refusals(from: a, to: required).isEmpty)
    #expect(!InferenceCache().refusals(from: a, to: required).isEmpty)
    #expect(
      MappingInference.refusals(from: a, to: required).map(\.description)
        == MappingInference(from: a, to: required).refusals.map(\.description))
  }
}
