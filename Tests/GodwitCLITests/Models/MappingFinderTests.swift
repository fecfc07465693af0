import Foundation
import GodwitManifest
import GodwitModel
import TestSupport
import Testing

/// The search for mapping models: files that cannot be read, and the number of files that are opened.
@Suite struct MappingFinderTests {
  private let project = ProjectFixture()

  private func note(_ version: String, _ attribute: String) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      name: version, entities: [.made("Note", [AttributeDescription(name: attribute, type: .string)])])
  }

  /// Two versions whose step is inferred, which loses the one attribute.
  private func notes(_ marker: String? = "repo/.git/x") throws -> (job: String, store: String, models: String) {
    let old = try note("Notes", "a")
    try project.bundle("repo/App/Notes.xcdatamodeld", [old, note("Notes 2", "b")])
    try project.store("notes.sqlite", old) { try $0.insert("Note", attributes: ["a": .init("x")]) }
    try project.write(
      "job.yaml", "godwit: 1\nsource: notes.sqlite\ndestination: out.sqlite\nmodels: repo/App/Notes.xcdatamodeld\n")
    if let marker { try project.write(marker, "") }
    return (
      try project.path("job.yaml"), try project.path("notes.sqlite"), try project.path("repo/App/Notes.xcdatamodeld")
    )
  }

  private static let head = "godwit-mapping: 1\nsource-model: Notes\ndestination-model: Notes 2\n"
  private static let unknownFunction =
    head
    + "entity-mappings:\n  - name: NToN\n    source: Note\n    destination: Note\n    attributes:\n      b: CONCAT($source.a, \"!\")\n"
  private static let xcode =
    "<?xml version=\"1.0\"?>\n<database><object type=\"XDDEVMAPPINGMODEL\" id=\"z1\">"
    + "<attribute name=\"sourcemodelpath\" type=\"string\">App/Notes.xcdatamodeld/Notes.xcdatamodel</attribute>"
    + "<attribute name=\"destinationmodelpath\" type=\"string\">App/Notes.xcdatamodeld/Notes 2.xcdatamodel</attribute>"

  /// Files that cannot be read, and a part of the error of each.
  static let unreadable: [(path: String, text: String, error: String)] = [
    ("repo/Maps/n.mapping.yaml", unknownFunction, "CONCAT"),
    ("repo/App/n.mapping.yaml", head + "entity-mappings:\n\t- name: x\n", "expected spaces, found a tab"),
    ("repo/App/n.mapping.yaml", "", "an empty file"),
    ("repo/Maps/n.mapping.yaml", "", "an empty file"),
    ("repo/Maps/n.mapping.yaml", "{\"godwit-mapping\": 1, \"source-model\": \"Notes\", ", "n.mapping.yaml"),
    ("repo/Maps/N.xcmappingmodel/xcmapping.xml", xcode, "xcmapping.xml"),
    ("repo/App/N.xcmappingmodel/xcmapping.xml", "<?xml", "xcmapping.xml"),
    ("repo/App/N.xcmappingmodel/other", "", "xcmapping.xml"),
    ("repo/App/N.cdm", "bplist00", "N.cdm"),
  ]

  @Test(arguments: unreadable.indices)
  func `a mapping model that cannot be read stops the job with its own error`(index: Int) throws {
    let (job, store, models) = try notes()
    let file = Self.unreadable[index]
    try project.write(file.path, file.text)
    let keep = try project.path("failures")
    for arguments in [
      ["plan", job], ["run", job, "-q"], ["init", store, models, "-o", try project.path("new.yaml")],
      ["init", store, try project.path("repo"), "-o", try project.path("new.yaml")],
      ["test", models, "--rows", "1", "--keep", keep], ["why", store, models],
    ] {
      let result = project.godwit(arguments)
      #expect(result.status == 78, "\(file.path), \(arguments): \(result)")
      #expect(result.diagnostics.contains(file.error), "\(file.path), \(arguments): \(result)")
    }
    let lint = project.godwit("lint", models)
    #expect(lint.status == 4 && lint.output.contains("GW2"), "\(lint)")
    #expect(lint.output.contains("the mapping model cannot be read"), "\(lint.output)")
    #expect(try !FileManager.default.fileExists(atPath: project.path("out.sqlite")))
  }

  @Test func `a mapping model that is damaged after the run stops verify`() throws {
    let (job, _, _) = try notes()
    try project.write(
      "repo/App/n.mapping.yaml", Self.unknownFunction.replacing("CONCAT($source.a, \"!\")", with: "$source.a"))
    #expect(project.godwit("run", "-q", job).status == 0)
    #expect(project.godwit("verify", job).status == 0)
    try project.write("repo/App/n.mapping.yaml", Self.unknownFunction)
    #expect(project.godwit("verify", job).status == 78)
  }

  /// Files for other models, and files of another kind.
  static let foreign: [(path: String, text: String)] = [
    ("repo/App/texts.mapping.yaml", "title: [unclosed"), ("repo/App/texts.mapping.yaml", "- a\n- b\n"),
    ("repo/App/o.mapping.yaml", unknownFunction.replacing("Notes", with: "Other")),
    (
      "repo/App/Old.xcmappingmodel/xcmapping.xml",
      xcode.replacing("Notes.xcdatamodel<", with: "Notes 0.xcdatamodel<").replacing(
        "Notes 2.xcdatamodel<", with: "Notes.xcdatamodel<")
    ),
    ("repo/Other/O.xcmappingmodel/xcmapping.xml", "<?xml"),
  ]

  @Test(arguments: foreign.indices)
  func `a file that is not for the versions is passed over and named`(index: Int) throws {
    let (job, store, models) = try notes()
    let file = Self.foreign[index]
    try project.write(file.path, file.text)
    // A second application of the repository.
    try project.bundle("repo/Other/Other.xcdatamodeld", [note("Other", "a")])
    let plan = project.godwit("plan", "--details", job)
    #expect(plan.status == 0, "\(file.path): \(plan)")
    let name = try #require(file.path.split(separator: "/").dropFirst(2).first)
    #expect(plan.output.contains(name), "\(file.path): \(plan.output)")
    #expect(try project.godwit("init", store, models, "-o", project.path("new.yaml")).status == 0)
    #expect(try project.godwit("test", models, "--rows", "1", "--keep", project.path("failures")).status == 0)
  }

  @Test func `mapping models in code are told of a file that cannot be read`() throws {
    _ = try notes()
    try project.write("repo/Maps/n.mapping.yaml", Self.unknownFunction)
    let folder = URL(filePath: try project.path("repo/Maps"))
    let (old, new) = (try note("Notes", "a"), try note("Notes 2", "b"))
    let error = #expect(throws: GodwitError.self) {
      try MappingModel(from: [folder], forSourceModel: old, destinationModel: new)
    }
    #expect(error?.code == .configuration)
    #expect(try FoundMapping.search(in: [folder], among: [note("Other", "a"), note("Other 2", "a")]).count == 1)
  }

  // MARK: Opened files

  @Test func `no folder outside the repository is searched`() throws {
    let (job, _, models) = try notes()
    try project.write("Maps/n.mapping.yaml", Self.unknownFunction)
    let plan = project.godwit("plan", "--details", job)
    #expect(plan.status == 0 && !plan.output.contains("Maps/n.mapping.yaml"), "\(plan)")
    let named = ManifestPath(
      raw: "x", resolved: try project.path("repo/App"), location: .init(file: "j", line: 1, column: 1))
    let finder = MappingFinder(models: [models], named: [named], base: try project.folder.get().path)
    #expect(try linesElsewhere(finder).isEmpty)
    try project.write("repo/Maps/n.mapping.yaml", Self.unknownFunction)
    let again = MappingFinder(models: [models], named: [named], base: try project.folder.get().path)
    #expect(try linesElsewhere(again).count == 1)
  }

  private func linesElsewhere(_ finder: MappingFinder) throws -> [String] {
    let (old, new) = (try note("Notes", "a"), try note("Notes 2", "b"))
    return finder.linesElsewhere(spanning: [["Notes", "Notes 2"]]) { .init(from: old, to: new, among: [old, new]) }
  }

  @Test func `at most twenty files outside the search are opened`() throws {
    let (_, _, models) = try notes(nil)
    for number in 0..<30 { try project.write("repo/Maps/\(number).mapping.yaml", Self.unknownFunction) }
    let finder = MappingFinder(models: [models], base: try project.path("repo"))
    #expect(try linesElsewhere(finder).count == 20)
  }

  @Test func `a command searches once and reads each file once`() throws {
    let (_, _, models) = try notes()
    let text = Self.unknownFunction.replacing("CONCAT($source.a, \"!\")", with: "$source.a")
    try project.write("repo/App/n.mapping.yaml", text)
    let files = MappingFiles()
    func finder() throws -> MappingFinder {
      MappingFinder(models: [models], base: try project.path("repo"), files: files)
    }
    let versions = [try note("Notes", "a"), try note("Notes 2", "b")]
    #expect(try finder().servedVersions(among: versions).map(\.pairs.count) == [1])
    try project.write("repo/App/n.mapping.yaml", Self.unknownFunction)
    try project.write("repo/App/other.mapping.yaml", Self.unknownFunction)
    #expect(try finder().servedVersions(among: versions).map(\.pairs.count) == [1])
    try finder().refuseUnreadable(among: versions)
  }
}
