import GodwitModel
import GodwitStore
import Testing

/// The words of a plan for a step whose source does not exist yet.
struct LaterStepTests {
  /// Three versions, and mapping files of which the second has a filter.
  private static func project(filter: String) throws -> ProjectFixture {
    let project = ProjectFixture()
    let names = ["age", "x", "y"]
    let versions = try (1...3).map { count in
      try ManagedObjectModel(
        name: "S \(count)",
        entities: [.made("P", names.prefix(count).map { AttributeDescription(name: $0, type: .integer32) })])
    }
    try project.bundle("S.xcdatamodeld", versions)
    try project.store("s.sqlite", versions[0]) { store in
      for age in [1, 44] { try store.insert("P", attributes: ["age": .integer(Int64(age))]) }
    }
    for (step, more) in [(1, ""), (2, filter)] {
      try project.write(
        "\(step).mapping.yaml",
        "godwit-mapping: 1\nsource-model: S \(step)\ndestination-model: S \(step + 1)\nentity-mappings:\n"
          + "  - {name: PToP, type: copy, source: P, destination: P\(more)}\n")
    }
    try project.write("job.yaml", "godwit: 1\nsource: s.sqlite\ndestination: o.sqlite\nmodels: S.xcdatamodeld\n")
    return project
  }

  private static let line = "  may drop     step 2: objects of P (filtered out), not counted yet\n"

  @Test func `a filter of a later step may drop objects, and plan and init say so`() throws {
    let project = try Self.project(filter: ", filter: age < 40")
    let plan = project.godwit("plan", try project.path("job.yaml"))
    #expect(plan.status == 0 && plan.output.contains(Self.line), "\(plan.output)\(plan.diagnostics)")
    let made = project.godwit(
      "init", try project.path("s.sqlite"), try project.path("S.xcdatamodeld"), "-o", try project.path("made.yaml"))
    #expect(made.output.contains(Self.line), "\(made.output)\(made.diagnostics)")
    #expect(project.godwit("plan", "--set", "on-loss=fail", try project.path("job.yaml")).status == 0)
  }

  @Test func `a later step without a filter may drop nothing`() throws {
    let project = try Self.project(filter: "")
    #expect(!project.godwit("plan", try project.path("job.yaml")).output.contains("may drop"))
  }
}
