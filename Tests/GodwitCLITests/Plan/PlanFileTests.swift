import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

@testable import GodwitCLI

/// Plans in files: `plan -o`, `plan --diff` and `run --plan`.
struct PlanFileTests {
  private static func project(versions: Int = 2) throws -> ProjectFixture {
    let project = ProjectFixture()
    func model(_ name: String, _ attributes: [String]) throws -> ManagedObjectModel {
      try ManagedObjectModel(
        name: name,
        entities: [
          EntityDescription(
            name: "Note", attributes: attributes.map { AttributeDescription(name: $0, type: .string) })
        ])
    }
    let models = [
      try model("Notes", ["text", "mood"]), try model("Notes 2", ["text", "title"]), try model("Notes 3", ["text"]),
    ]
    try project.bundle("Notes.xcdatamodeld", Array(models.prefix(versions)))
    try project.store("notes.sqlite", models[0]) { store in
      for key in Int64(1)...40 { try store.insert("Note", key: key, attributes: ["text": .init("t\(key)")]) }
    }
    try write(project)
    try project.write(
      "job.yaml",
      "godwit: 1\nsource: notes.sqlite\ndestination: out/out.sqlite\nmodels: Notes.xcdatamodeld\n")
    return project
  }

  private static func write(
    _ project: ProjectFixture, title: String = "uppercase($source.text)", filter: String = "text != 't7'"
  ) throws {
    try project.write(
      "a.mapping.yaml",
      """
      godwit-mapping: 1
      source-model: Notes
      destination-model: Notes 2
      entity-mappings:
        - name: Notes
          source: Note
          destination: Note
          filter: \(filter)
          attributes:
            text: $source.text
            title: \(title)

      """)
  }

  private static func change(_ project: ProjectFixture, _ sql: String) throws {
    let connection = try StoreConnection(path: project.path("notes.sqlite"))
    try connection.execute(sql)
    try connection.close()
  }

  private static func text(_ project: ProjectFixture, _ name: String) throws -> String {
    try String(contentsOfFile: project.path(name), encoding: .utf8)
  }

  private static func plan(_ project: ProjectFixture) throws {
    let result = project.godwit("plan", "-o", try project.path("plan.json"), try project.path("job.yaml"))
    #expect(result.status == 0, "\(result.diagnostics)")
    #expect(result.diagnostics.hasPrefix("wrote the plan to '"))
  }

  private static func exists(_ project: ProjectFixture, _ name: String) throws -> Bool {
    FileManager.default.fileExists(atPath: try project.path(name))
  }

  // MARK: Running a plan

  @Test func `a plan alone is enough to run it, and again when it is done`() throws {
    let project = try Self.project()
    try Self.plan(project)
    for _ in 1...2 {
      let run = project.godwit("run", "--quiet", "--plan", try project.path("plan.json"))
      #expect(run.status == 0, "\(run.diagnostics)")
    }
    let made = try StoreConnection.openStore(readingAt: project.path("out/out.sqlite"))
    #expect(try made.integer("SELECT COUNT(*) FROM source.ZNOTE WHERE ZTITLE = upper(ZTEXT)") == 39)
  }

  @Test func `a result is known by another path to the same source`() throws {
    let project = try Self.project()
    let folder = try project.path("job.yaml").parentPath
    #expect(try BuiltCommand.run("plan", "job.yaml", "-o", "plan.json", in: folder).status == 0)
    // A plan has whole paths, the job those of its folder.
    #expect(try BuiltCommand.run("run", "--quiet", "--plan", "plan.json", in: folder).status == 0)
    let status = try BuiltCommand.run("status", "job.yaml", "--check", in: folder)
    #expect(status.status == 0, "\(status.output)")
    #expect(project.godwit("status", try project.path("job.yaml"), "--check").status == 0)
    try Self.change(project, "UPDATE ZNOTE SET ZTEXT = 'new' WHERE Z_PK = 3")
    let changed = try BuiltCommand.run("status", "job.yaml", "--check", in: folder)
    #expect(changed.status == 1 && changed.output.contains("the source store changed"), "\(changed.output)")
  }

  @Test func `what decides nothing may change: memory, chunks, the time of the file, the place of the whole tree`()
    throws
  {
    let project = try Self.project()
    try Self.plan(project)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1e9)], ofItemAtPath: project.path("notes.sqlite"))
    let other = try TemporaryFolder()
    for name in ["notes.sqlite", "Notes.xcdatamodeld", "a.mapping.yaml", "job.yaml", "plan.json"] {
      try FileManager.default.copyItem(atPath: project.path(name), toPath: other.file(name))
    }
    let run = project.godwit(
      "run", "--quiet", other.file("job.yaml"), "--plan", other.file("plan.json"), "--set", "memory=32MiB", "--set",
      "chunks.rows=7")
    #expect(run.status == 0, "\(run.diagnostics)")
    #expect(FileManager.default.fileExists(atPath: other.file("out/out.sqlite")))
  }

  @Test(arguments: [
    ("a filter", "the mapping"), ("an expression", "the mapping"), ("a row", "the content of the source"),
    ("the destination", "the destination: 'out/out.sqlite' in the plan, now 'out/other.sqlite'"),
    ("append", "'existing' of the destination: 'fail' in the plan, now 'append'"),
    ("the path", "the path: 'Notes to Notes 2' in the plan"),
    ("the model", "the version hashes of the model 'Notes 2'"), ("cloudkit", "keys of the manifest"),
    ("quarantine", "'on-invalid': 'fail' in the plan, now 'quarantine, at most 9 objects'"),
    ("on-loss", "'on-loss': 'fail' in the plan, now 'report'"),
    ("accept-losses", "'accept-losses': now 'Note.mood' too, not in the plan"),
  ])
  func `a run refuses a plan of which something changed, and says what`(change: String, says: String) throws {
    let project = try Self.project()
    try Self.plan(project)
    var options: [String] = []
    switch change {
    case "a filter": try Self.write(project, filter: "text != 't8'")
    case "an expression": try Self.write(project, title: "lowercase($source.text)")
    case "a row": try Self.change(project, "UPDATE ZNOTE SET ZTEXT = 'other' WHERE Z_PK = 3")
    case "the destination": options = ["--destination", try project.path("out/other.sqlite")]
    case "append": options = ["--set", "destination.existing=append"]
    case "cloudkit": options = ["--set", "cloudkit=drop"]
    case "quarantine": options = ["--set", "on-invalid={quarantine: {max-rows: 9}}"]
    case "on-loss", "accept-losses":
      if change == "accept-losses" { options = ["--set", "on-loss=fail", "--set", "accept-losses=[Note.mood]"] }
      // As if the manifest had said so when the plan was made.
      let text = try Self.text(project, "plan.json")
      let stricter = text.replacing("\"refusesLosses\" : false", with: "\"refusesLosses\" : true")
      try #require(stricter != text)
      try project.write("plan.json", stricter)
    case "the path": options = ["--set", "destination-model=Notes"]
    default:
      let model = try ManagedObjectModel(
        name: "Notes 2",
        entities: [
          EntityDescription(
            name: "Note",
            attributes: ["text", "title", "new"].map { AttributeDescription(name: $0, type: .string) })
        ])
      try project.write("Notes.xcdatamodeld/Notes 2.xcdatamodel/contents", model.xcodeContents)
    }
    let plan = try project.path("plan.json")
    let run = project.godwit(["run", try project.path("job.yaml"), "--plan", plan] + options)
    #expect(run.status == 73, "\(run.diagnostics)")
    #expect(run.diagnostics.contains("cannot run the plan '\(plan)': something changed since it was made"))
    #expect(run.diagnostics.contains(says), "\(run.diagnostics)")
    #expect(try !Self.exists(project, "out"))
  }

  @Test func `a run by a plan accepts the losses that the plan accepts`() throws {
    let project = try Self.project()
    try Self.change(project, "UPDATE ZNOTE SET ZMOOD = 'glad' WHERE Z_PK = 3")
    let lost = ["--set", "on-loss=fail", "--set", "accept-losses=[Note.mood, Note]"]
    let (job, plan) = (try project.path("job.yaml"), try project.path("plan.json"))
    let made = project.godwit(["plan", job, "-o", plan] + lost)
    #expect(made.status == 0, "\(made)")
    let stricter = project.godwit(["run", job, "--plan", plan, "--set", "on-loss=fail"])
    #expect(stricter.status == 65, "\(stricter)")
    let difference = project.godwit(["plan", job, "--diff", plan, "--set", "on-loss=report"])
    #expect(difference.output.contains("accept-losses: removed, it was 'Note.mood, Note'"), "\(difference)")
    let run = project.godwit(["run", job, "--plan", plan] + lost)
    #expect(run.status == 0, "\(run)")
  }

  @Test func `a run that was stopped goes on by its plan`() throws {
    let project = try Self.project()
    try Self.plan(project)
    let plan = try project.path("plan.json")
    var job = try JobLoader(contentsOf: URL(filePath: project.path("job.yaml"))).job()
    job.chunkRows = 5
    let control = MigrationControl()
    let stopped = try MigrationManager(job).run(control: control) { _ in control.stop(reason: "the test") }
    #expect(stopped.outcome == .stopped)
    #expect(try Self.exists(project, "out/out.sqlite.godwit"))
    let run = project.godwit("run", "--quiet", "--plan", plan)
    #expect(run.status == 0, "\(run.diagnostics)")
    #expect(project.godwit("verify", try project.path("job.yaml")).status == 0)
  }

  @Test func `a plan of a finished job runs to the same end, and not when the destination is gone`() throws {
    let project = try Self.project()
    #expect(project.godwit("run", "--quiet", try project.path("job.yaml")).status == 0)
    try Self.plan(project)
    let plan = try project.path("plan.json")
    #expect(project.godwit("run", "--quiet", "--plan", plan).status == 0)
    try FileManager.default.removeItem(atPath: project.path("out"))
    let run = project.godwit("run", "--plan", plan)
    #expect(run.status == 73)
    #expect(run.diagnostics.contains("the job was finished when the plan was made"), "\(run.diagnostics)")
  }

  @Test func `a plan of a job in place runs once, and finds the store migrated the second time`() throws {
    let project = try Self.project()
    try project.write(
      "job.yaml", "godwit: 1\nsource: notes.sqlite\ndestination: {existing: in-place}\nmodels: Notes.xcdatamodeld\n")
    try Self.plan(project)
    for _ in 1...2 {
      let run = project.godwit("run", "--quiet", "--plan", try project.path("plan.json"))
      #expect(run.status == 0, "\(run.diagnostics)")
    }
    #expect(try Self.exists(project, "notes~.sqlite"))
  }

  // MARK: Files

  @Test func `a plan replaces a plan, and nothing else`() throws {
    let project = try Self.project()
    try Self.plan(project)
    try Self.plan(project)
    for name in ["job.yaml", "notes.sqlite", "Notes.xcdatamodeld"] {
      let before = try? Data(contentsOf: URL(filePath: project.path(name)))
      let result = project.godwit("plan", "-o", try project.path(name), try project.path("job.yaml"))
      #expect(result.status == 73, "\(name)")
      #expect(result.diagnostics.contains("what is there is not a plan"), "\(result.diagnostics)")
      #expect(result.output.isEmpty)
      #expect(before == (try? Data(contentsOf: URL(filePath: project.path(name)))))
    }
    try FileManager.default.createSymbolicLink(
      atPath: project.path("link.json"), withDestinationPath: project.path("plan.json"))
    #expect(project.godwit("plan", "-o", try project.path("link.json"), try project.path("job.yaml")).status == 73)
    #expect(
      project.godwit("plan", "-o", try project.path("none/plan.json"), try project.path("job.yaml")).status == 73)
  }

  @Test(arguments: [
    ("{}", 78, "cannot use"), ("", 78, "it is not JSON of a plan"), ("[1]", 78, "it is not JSON of a plan"),
    ("{\"type\":\"lint\",\"schemaVersion\":1}", 78, "it is of type 'lint'"),
    ("{\"type\":\"plan\",\"schemaVersion\":2}", 78, "expected format version 1, found 2"),
    ("{\"type\":\"plan\",\"schemaVersion\":1}", 78, "it lacks 'job' at '$'"),
    (
      "{\"type\":\"plan\",\"schemaVersion\":1,\"job\":\"a\",\"source\":\"a\",\"destination\":\"b\",\"isMigrationNeeded\":true}",
      78, "the file has no digests of the source and the manifest"
    ),
  ])
  func `a file that is not a plan to run is refused, with what is wrong`(text: String, status: Int32, says: String)
    throws
  {
    let project = try Self.project()
    try project.write("plan.json", text)
    let run = project.godwit("run", "--plan", try project.path("plan.json"), try project.path("job.yaml"))
    #expect(run.status == status)
    #expect(run.diagnostics.contains(says) && run.diagnostics.contains("  try     "), "\(run.diagnostics)")
    #expect(try !Self.exists(project, "out"))
  }

  @Test func `a plan that is missing is 66, and one without its manifest says what to name`() throws {
    let project = try Self.project()
    let missing = project.godwit("run", "--plan", try project.path("none.json"))
    #expect(missing.status == 66, "\(missing.diagnostics)")
    try Self.plan(project)
    try FileManager.default.removeItem(atPath: project.path("job.yaml"))
    let run = project.godwit("run", "--plan", try project.path("plan.json"))
    #expect(run.status == 66)
    #expect(run.diagnostics.contains("godwit run JOB.yaml --plan"), "\(run.diagnostics)")
  }

  @Test func `a job that needs a policy makes no plan file`() throws {
    let project = try Self.project()
    let mapping = try Self.text(project, "a.mapping.yaml")
    try project.write("a.mapping.yaml", mapping.replacing("    filter:", with: "    policy: Missing\n    filter:"))
    let result = project.godwit("plan", "-o", try project.path("plan.json"), try project.path("job.yaml"))
    #expect(result.status == 78)
    #expect(try !Self.exists(project, "plan.json"))
  }

  // MARK: What changed

  @Test func `nothing changed between two plans of one job`() throws {
    let project = try Self.project()
    try Self.plan(project)
    let diff = project.godwit("plan", try project.path("job.yaml"), "--diff", try project.path("plan.json"))
    #expect(diff.status == 0, "\(diff.diagnostics)")
    #expect(diff.output == "nothing changed since the plan '\(try project.path("plan.json"))'\n")
    let json = project.godwit(
      "plan", "--format", "json", try project.path("job.yaml"), "--diff", try project.path("plan.json"))
    #expect(json.output.contains("\"isEqual\" : true"), "\(json.output)")
  }

  @Test func `a value that changes no count is a change of the source's content`() throws {
    let project = try Self.project()
    try Self.plan(project)
    try Self.change(project, "UPDATE ZNOTE SET ZTEXT = 'other' WHERE Z_PK = 3")
    let plan = try project.path("plan.json")
    let diff = project.godwit("plan", try project.path("job.yaml"), "--diff", plan)
    #expect(
      diff.output == "1 change since the plan '\(plan)'\n  content of the source: changed\n", "\(diff.diagnostics)")
    // A plan that was not written to a file has no content to compare with.
    try project.write("old.json", project.godwit("plan", "--format", "json", try project.path("job.yaml")).output)
    try Self.change(project, "UPDATE ZNOTE SET ZTEXT = 'others' WHERE Z_PK = 3")
    let counts = project.godwit("plan", try project.path("job.yaml"), "--diff", try project.path("old.json"))
    #expect(counts.output.hasPrefix("nothing changed"), "\(counts.output)")
  }

  @Test func `the difference names filters, expressions, counts, losses and steps`() throws {
    let project = try Self.project()
    let before = project.godwit("plan", "--format", "json", try project.path("job.yaml"))
    try project.write("old.json", before.output)
    try Self.write(project, title: "lowercase($source.text)", filter: "text BEGINSWITH 't1'")
    try Self.change(project, "UPDATE ZNOTE SET ZMOOD = 'm' WHERE Z_PK < 4")
    func diff() throws -> String {
      let result = project.godwit("plan", try project.path("job.yaml"), "--diff", try project.path("old.json"))
      #expect(result.status == 0, "\(result.diagnostics)")
      return result.output
    }
    let text = try diff()
    for line in [
      "  mappings: changed", "  step 1: mapping Notes, filter: 'text != 't7'' to 'text BEGINSWITH 't1''",
      "  step 1: mapping Notes, rows: '39' to '11'",
      "  step 1: property Notes.title: 'uppercase($source.text)' to 'lowercase($source.text)'",
      "  step 1: loss values of Note.mood (no destination attribute takes them): added, '3'",
      "  step 1: loss objects of Note (filtered out): '1' to '29'", "  objects out: '39' to '11'",
    ] { #expect(text.contains(line + "\n"), "\(line)\n\(text)") }
    let third = try ManagedObjectModel(
      name: "Notes 3",
      entities: [
        EntityDescription(name: "Note", attributes: [AttributeDescription(name: "text", type: .string)])
      ])
    try project.write("Notes.xcdatamodeld/Notes 3.xcdatamodel/contents", third.xcodeContents)
    try project.write(
      "job.yaml",
      "godwit: 1\nsource: notes.sqlite\ndestination: out/out.sqlite\nmodels: Notes.xcdatamodeld\ndestination-model: Notes 3\n"
    )
    let longer = try diff()
    #expect(longer.contains("  path: 'Notes to Notes 2' to 'Notes to Notes 2 to Notes 3'\n"), "\(longer)")
    #expect(longer.contains("  step 2: Notes 2 to Notes 3: added\n"), "\(longer)")
  }

  @Test(arguments: [["--details"], ["--format", "dot"], ["--format", "mermaid"]])
  func `a difference is text or JSON`(options: [String]) throws {
    let project = try Self.project()
    try Self.plan(project)
    let result = project.godwit(
      ["plan", try project.path("job.yaml"), "--diff", try project.path("plan.json")] + options)
    #expect(result.status == 64)
  }

  @Test func `paths are told from the folder of the manifest`() {
    #expect(PlanIdentity.relative("/a/b/out/x.sqlite", toFolderOf: "/a/b/job.yaml") == "out/x.sqlite")
    #expect(PlanIdentity.relative("/a/c/x.sqlite", toFolderOf: "/a/b/job.yaml") == "../c/x.sqlite")
    #expect(PlanIdentity.relative("/a/b", toFolderOf: "/a/b/job.yaml") == ".")
  }
}
