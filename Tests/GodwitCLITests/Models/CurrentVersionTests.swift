import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Models of which nothing says which version is the current one, or something says it wrong. The remedy of each error is
/// carried out.
struct CurrentVersionTests {
  private let project = ProjectFixture()

  enum Marker: CaseIterable {
    case missing, namesNone, hasConflict, isNumber, isEmpty
  }

  /// - Returns: The path of the model.
  private func make(_ marker: Marker) throws -> String {
    try project.makeTwoVersions()
    let path = "M.xcdatamodeld/.xccurrentversion"
    func list(_ value: Any) throws -> String {
      let list = try PropertyListSerialization.data(
        fromPropertyList: ["_XCCurrentVersionName": value], format: .xml, options: 0)
      return String(decoding: list, as: UTF8.self)
    }
    switch marker {
    case .missing: try FileManager.default.removeItem(atPath: project.path(path))
    case .namesNone: try project.write(path, list("M 9.xcdatamodel"))
    case .hasConflict: try project.write(path, "<<<<<<< HEAD\n")
    case .isNumber: try project.write(path, list(5))
    case .isEmpty: try project.write(path, "")
    }
    return try project.path("M.xcdatamodeld")
  }

  @Test(arguments: Marker.allCases) func `the remedy of each verb works`(marker: Marker) throws {
    let model = try make(marker)
    let (job, store) = try (project.path("job.yaml"), project.path("s.sqlite"))
    let plan = project.godwit("plan", job)
    #expect([66, 78].contains(plan.status) && plan.diagnostics.contains("name it with 'destination-model'"), "\(plan)")
    #expect(project.godwit("plan", job, "--set", "destination-model=M 2").status == 0)
    for verb in [["init", store, model, "-o", "-"], ["test", model, "--rows", "3"]] {
      let failed = project.godwit(verb)
      #expect(failed.diagnostics.contains("name it with `--to VERSION`"), "\(verb): \(failed)")
      #expect(!failed.diagnostics.contains("destination-model"), "\(verb): \(failed)")
      let result = project.godwit(verb + ["--to", "M 2"])
      #expect(result.status == 0, "\(verb): \(result)")
    }
    for verb in [["model", "hash"], ["why", store], ["make-store"]] {
      let end = verb == ["make-store"] ? [try project.path("new.sqlite"), "--rows", "1"] : []
      let failed = project.godwit(verb + [model] + end)
      #expect(failed.status == 66, "\(verb): \(failed)")
      let given = try #require(
        failed.diagnostics.firstMatch(of: #/give the version as '([^']+)'/#)?.1, "\(verb): \(failed)")
      let result = project.godwit(verb + [String(given)] + end)
      #expect(result.status == (verb[0] == "why" ? 2 : 0), "\(verb): \(result)")
    }
    let shown = project.godwit("inspect", model)
    #expect(shown.status == 0 && shown.output.contains("M 1, M 2"), "\(shown)")
    #expect((marker == .missing) == !shown.output.contains("unreadable"), "\(shown)")
  }
}
