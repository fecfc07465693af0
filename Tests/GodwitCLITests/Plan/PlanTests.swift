import Foundation
import Godwit
import GodwitCLI
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode
import Synchronization
import TestSupport
import Testing
import Yams

/// The first lines of `godwit plan`, and the additions of `--details`.
struct PlanTests {
  /// Notes and folders; the folder, the mood and the links between are left out by a mapping with a filter.
  private static func project(_ keys: String = "", versions: Int = 2) throws -> ProjectFixture {
    let project = ProjectFixture()
    func model(_ name: String, _ attributes: [String]) throws -> ManagedObjectModel {
      try ManagedObjectModel(
        name: name,
        entities: [
          EntityDescription(
            name: "Note", attributes: attributes.map { AttributeDescription(name: $0, type: .string) }),
          EntityDescription(name: "Tag", attributes: [AttributeDescription(name: "word", type: .string)]),
        ])
    }
    let models = [
      try model("Notes", ["text", "mood"]), try model("Notes 2", ["text", "weather"]), try model("Notes 3", ["text"]),
    ]
    try project.bundle("Notes.xcdatamodeld", Array(models.prefix(versions)))
    try project.store("notes.sqlite", models[0]) { store in
      for key in Int64(1)...5 {
        try store.insert("Note", key: key, attributes: ["text": .init("t"), "mood": key < 3 ? .init("m") : .null])
      }
      try store.insert("Tag", key: 1, attributes: ["word": .init("w")])
    }
    for (name, source, filter) in [("a", "Notes", "        filter: text != nil\n"), ("b", "Notes 2", "")] {
      try project.write(
        "\(name).mapping.yaml",
        """
        godwit-mapping: 1
        source-model: \(source)
        destination-model: \(source == "Notes" ? "Notes 2" : "Notes 3")
        entity-mappings:
          - name: Notes
            source: Note
            destination: Note
            attributes:
              text: $source.text

        """.replacing("        attributes", with: filter + "        attributes"))
    }
    try project.write(
      "job.yaml",
      "godwit: 1\nsource: notes.sqlite\ndestination: out/out.sqlite\nmodels: Notes.xcdatamodeld\n" + keys)
    return project
  }

  /// The lines with the folder, the time and the disk taken out, which are of the machine.
  private static func lines(_ text: String, of project: ProjectFixture) throws -> [String] {
    try text.replacing(project.path(""), with: "").split(separator: "\n").map(String.init).map { line in
      for label in ["  time ", "  disk "] where line.hasPrefix(label) { return label + "…" }
      return line.hasPrefix("  source ") ? line.prefix { $0 != "(" } + "(…)" : line
    }
  }

  @Test func `the plan begins with about ten lines: path, objects in, out and lost, time, disk, verdict`() throws {
    let project = try Self.project()
    let plan = project.godwit("plan", try project.path("job.yaml"))
    #expect(plan.status == 0, "\(plan.diagnostics)")
    #expect(
      try Self.lines(plan.output, of: project) == [
        "job job",
        "  path         Notes to Notes 2 (1 step, a.mapping.yaml)",
        "  source       notes.sqlite (…)",
        "  destination  out/out.sqlite",
        "  objects      6 in, 5 out; lost: 1 object, 2 values",
        "  dropped      1 of Tag (no mapping)",
        "  lost         2 values of Note.mood (no destination attribute takes them)",
        "  time …",
        "  disk …",
        "  verdict      LOSES: the step loses data",
        "  more         `godwit plan --details` shows every mapping, filter, lane, loss and note",
      ])
    let time = try #require(plan.output.split(separator: "\n").first { $0.hasPrefix("  time ") })
    #expect(time.hasSuffix(", estimated from a sample of 5 objects"), "\(time)")
  }

  /// 10,000 notes, half of them with a mood.
  private static func largeProject() throws -> ProjectFixture {
    let project = try project()
    let store = try StoreConnection(path: project.path("notes.sqlite"))
    try store.execute(
      """
      INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTEXT, ZMOOD) WITH RECURSIVE n(i) AS \
      (SELECT 6 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) \
      SELECT i, (SELECT Z_ENT FROM ZNOTE LIMIT 1), 1, 't', CASE WHEN i % 2 THEN 'm' END FROM n
      """)
    try store.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = 10000 WHERE Z_NAME = 'Note'")
    try store.close()
    return project
  }

  @Test func `a plan from a sample says so in text and JSON`() throws {
    let project = try Self.largeProject()
    let job = try project.path("job.yaml")
    func lines(_ arguments: String...) throws -> [String] {
      let plan = project.godwit(["plan", job] + arguments)
      #expect(plan.status == 0, "\(plan.diagnostics)")
      return try Self.lines(plan.output, of: project)
    }
    let exact = try lines()
    #expect(exact.contains("  objects      10001 in, 10000 out; lost: 1 object, 4999 values"))
    try EngineTuning.with(\.sampledKeys, 10) {
      let sample = try lines("--sample")
      #expect(
        sample[1]
          == "  estimate     from a sample, 641 of 10001 keys: counts are estimates, and losses that are rare may be missing"
      )
      #expect(sample.contains { $0.hasPrefix("  objects      about ") })
      #expect(sample.contains { $0.hasPrefix("  lost         about ") && $0.contains(" values of Note.mood (") })
      #expect(sample.contains("  verdict      LOSES: the step loses data; an estimate from a sample"))
      let details = try lines("--sample", "--details")
      #expect(details.contains { $0.hasPrefix("  estimate     from a sample, 641 of ") })
      let json = try #require(try compose(yaml: lines("--sample", "--format", "json").joined(separator: "\n")))
      #expect(json["sample"]?["keys"]?.int == 641 && json["sample"]?["ofKeys"]?.int == 10_001)
      let mood = try #require(json["losses"]?.sequence?.first { $0["subject"]?.string == "Note.mood" })
      #expect(mood["isEstimate"]?.bool == true && (4000...6000).contains(mood["count"]?.int ?? 0))
      let value = try JSONValue(parsing: lines("--sample", "--format", "json").joined(separator: "\n"))
      let schema = try JSONSchema(text: project.godwit("schema", "plan").output)
      #expect(schema.findings(value) == [])
    }
  }

  @Test(arguments: [
    (["-o", "plan.json"], "a run cannot do the plan that -o would write"),
    (["--diff", "plan.json"], "--diff compares"),
  ])
  func `what needs every count does not go with a sample`(options: [String], message: String) throws {
    let project = try Self.project()
    let plan = project.godwit(["plan", try project.path("job.yaml"), "--sample"] + options)
    #expect(plan.status == 64 && plan.diagnostics.contains(message), "\(plan.diagnostics)")
  }

  @Test func `a plan tells what it counts, and shows nothing on a standard error that is no terminal`() throws {
    let project = try Self.largeProject()
    let path = try project.path("job.yaml")
    var job = try JobLoader(contentsOf: URL(filePath: path)).job()
    let told = Mutex<[String]>([])
    job.hooks.whilePlanning = { part in told.withLock { $0.append(part.name) } }
    try EngineTuning.with(\.leastCountedKeys, 0) {
      // With one thread each item is told of.
      try EngineTuning.with(\.readers, 1) {
        try EngineTuning.with(\.progressPulseSeconds, 0) {
          _ = try MigrationManager(job).plan()
          #expect(project.godwit("plan", path).diagnostics.isEmpty)
        }
      }
    }
    let names = told.withLock { $0 }
    #expect(names.count > 2 && names.allSatisfy { $0 == "planning" }, "\(names)")
  }

  @Test func `the details have every mapping, and no overview`() throws {
    let project = try Self.project()
    let plan = project.godwit("plan", "--details", try project.path("job.yaml"))
    #expect(plan.status == 0)
    for text in ["step 1 of 1: Notes to Notes 2", "    Notes: Note to Note\n", "stages\n  create    1 chunk, 5 rows\n"]
    {
      #expect(plan.output.contains(text), "\(plan.output)")
    }
    #expect(!plan.output.contains("verdict"))
  }

  @Test func `a later step is said not to be counted, and what it leaves out is not called lost`() throws {
    let project = try Self.project(versions: 3)
    let plan = project.godwit("plan", try project.path("job.yaml"))
    #expect(plan.status == 0, "\(plan.diagnostics)")
    for line in [
      "  path         Notes to Notes 2 to Notes 3 (2 steps, each with a mapping model)",
      "  objects      step 1: 6 in, 5 out; lost: 1 object, 2 values",
      "  dropped      step 1: 1 of Tag (no mapping)",
      "  may drop     step 2: objects of Tag (no mapping), not counted yet",
      "  may lose     step 2: values of Note.weather (no destination attribute takes them), not counted yet",
      "  verdict      LOSES: 1 of 2 steps loses data; 1 more may, which is counted when the step before is done",
    ] { #expect(plan.output.contains(line + "\n"), "\(line)\n\(plan.output)") }
    #expect(plan.output.contains("; later steps are taken to be as long as step 1\n"))
  }

  @Test func `init and plan have the same line for a loss`() throws {
    let project = try Self.project(versions: 3)
    let manifest = try project.path("made.yaml")
    let made = project.godwit(
      "init", try project.path("notes.sqlite"), try project.path("Notes.xcdatamodeld"), "-o", manifest)
    #expect(made.status == 0, "\(made.diagnostics)")
    let plan = project.godwit("plan", manifest)
    let lines = plan.output.split(separator: "\n").filter { line in
      ["dropped", "lost", "may drop", "may lose"].contains { line.hasPrefix("  \($0) ") }
    }
    #expect(lines.count == 4, "\(plan.output)")
    let told = made.output.split(separator: "\n")
    for line in lines { #expect(told.contains(line), "\(line)\n\(made.output)") }
  }

  @Test func `before a loss is found, later steps are not called more`() throws {
    let project = try Self.project(versions: 3)
    for (name, text) in [
      ("a", "godwit-mapping: 1\nsource-model: Notes\ndestination-model: Notes 2\nentity-mappings:\n")
    ] {
      try project.write(
        "\(name).mapping.yaml",
        text + "  - {name: N, type: copy, source: Note, destination: Note, attributes: {weather: $source.mood}}\n"
          + "  - {name: T, type: copy, source: Tag, destination: Tag}\n")
    }
    let plan = project.godwit("plan", try project.path("job.yaml"))
    #expect(
      plan.output.contains(
        "  verdict      OK: no loss was found so far; 1 step may lose data, which is counted when the step before is done\n"
      ),
      "\(plan.output)\(plan.diagnostics)")
  }

  @Test func `the verdict names what would stop the run`() throws {
    let project = try Self.project("on-loss: fail\n")
    let plan = project.godwit("plan", try project.path("job.yaml"))
    #expect(plan.status == 65)
    #expect(
      plan.output.contains(
        "  verdict      STOPS (65): the job must lose nothing (on-loss: fail); the step loses data\n"),
      "\(plan.output)")
  }

  @Test func `of many losses the largest are shown, and the number of the others`() throws {
    let project = ProjectFixture()
    let names = (1...9).map { "a\($0)" }
    let old = try ManagedObjectModel(
      name: "Wide",
      entities: [
        EntityDescription(
          name: "Row", attributes: names.map { AttributeDescription(name: $0, type: .string) })
      ])
    try project.bundle(
      "Wide.xcdatamodeld",
      [
        old,
        ManagedObjectModel(
          name: "Wide 2",
          entities: [EntityDescription(name: "Row", attributes: [AttributeDescription(name: "b", type: .string)])]),
      ])
    try project.store("wide.sqlite", old) { store in
      for key in Int64(1)...9 {
        try store.insert(
          "Row", key: key,
          attributes: Dictionary(
            uniqueKeysWithValues: names.enumerated().map { ($1, $0 < key ? AttributeValue("x") : .null) }))
      }
    }
    try project.write(
      "job.yaml", "godwit: 1\nsource: wide.sqlite\ndestination: out.sqlite\nmodels: Wide.xcdatamodeld\n")
    let plan = project.godwit("plan", try project.path("job.yaml"))
    #expect(plan.status == 0, "\(plan.diagnostics)")
    let lost = plan.output.split(separator: "\n").filter { $0.hasPrefix("  lost ") }
    #expect(lost.map { $0.dropFirst(15).prefix(1) } == ["9", "8", "7", "6"])
    #expect(plan.output.contains("               and 5 more, see --details\n"), "\(plan.output)")
  }

  @Test func `what else to know is said too, three notes at most`() throws {
    let project = try Self.project()
    var plan = try MigrationManager(JobLoader(contentsOf: URL(filePath: project.path("job.yaml"))).job()).plan()
    func shown() -> [String] {
      plan.overview.split(separator: "\n").filter { $0.hasPrefix("  note ") || $0.contains("see --details") }
        .map(String.init)
    }
    plan.codedNotes = ["a", "b", "c"].map { MigrationNote(.externalData, $0) }
    #expect(shown() == ["  note         a", "  note         b", "  note         c"])
    plan.codedNotes.append(MigrationNote(.externalData, "d"))
    #expect(shown() == ["  note         a", "  note         b", "               and 2 more, see --details"])
  }

  @Test func `planning with a sample of the source writes nothing`() throws {
    let project = try Self.project()
    func files() throws -> [String: Data] {
      let folder = try project.path("")
      let names = try FileManager.default.subpathsOfDirectory(atPath: folder)
      return Dictionary(
        uniqueKeysWithValues: names.map { ($0, (try? Data(contentsOf: URL(filePath: folder + "/" + $0))) ?? Data()) })
    }
    let before = try files()
    for options in [[], ["--details"], ["--format", "json"], ["--format", "dot"]] {
      let plan = project.godwit(["plan", try project.path("job.yaml")] + options)
      #expect(plan.status == 0, "\(plan.diagnostics)")
    }
    #expect(try files() == before)
  }

  @Test func `JSON has what it had, a summary and an estimate of the time`() throws {
    let project = try Self.project()
    let plan = project.godwit("plan", "--format", "json", try project.path("job.yaml"))
    #expect(plan.output.hasPrefix("{\n"), "\(plan.diagnostics)")
    #expect(project.godwit("plan", "--format", "json", try project.path("job.yaml")).status == 0)
    let record = try #require(try JSONSerialization.jsonObject(with: Data(plan.output.utf8)) as? [String: Any])
    for key in [
      "job", "source", "destination", "isMigrationNeeded", "steps", "stages", "chunks", "losses", "missingPolicies",
      "mappingSearch", "notes", "totalRows", "diskBytes", "temporaryBytes", "freeBytes", "temporaryFolder",
      "temporaryFreeBytes", "sourceBytes",
    ] { #expect(record[key] != nil, "\(key)") }
    let summary = try #require(record["summary"] as? [String: Any])
    #expect(summary["objectsRead"] as? Int == 6 && summary["objectsLost"] as? Int == 1)
    #expect(summary["path"] as? [String] == ["Notes", "Notes 2"])
    let time = try #require(record["time"] as? [String: Any])
    let (low, high) = (try #require(time["lowSeconds"] as? Double), try #require(time["highSeconds"] as? Double))
    #expect(0 <= low && low <= high)
    #expect(time["sampledObjects"] as? Int == 5)
  }

  @Test func `a mapping in the object lane has a cost if enough objects were sampled`() throws {
    for rows in [40, 700] {
      let project = ProjectFixture()
      let text = AttributeDescription(name: "text", type: .string)
      let mood = AttributeDescription(name: "mood", type: .string)
      let models = try [("Notes", [text]), ("Notes 2", [text, mood])].map {
        try ManagedObjectModel(name: $0, entities: [EntityDescription.made("Note", $1)])
      }
      try project.store("notes.sqlite", models[0]) { store in
        for key in 1...Int64(rows) { try store.insert("Note", key: key, attributes: ["text": .init("note \(key)")]) }
      }
      try project.bundle("Notes.xcdatamodeld", models)
      try project.write(
        "notes.mapping.yaml",
        """
        godwit-mapping: 1
        source-model: Notes
        destination-model: Notes 2
        entity-mappings:
          - name: NoteToNote
            source: Note
            destination: Note
            attributes:
              text: uppercase($source.text)
        """)
      try project.write(
        "job.yaml",
        """
        godwit: 1
        source: notes.sqlite
        destination: out.sqlite
        models: Notes.xcdatamodeld
        mappings: notes.mapping.yaml
        """)
      let path = try project.path("job.yaml")
      func plan(_ options: String...) -> (status: Int32, output: String, diagnostics: String) {
        EngineTuning.with(\.runsAllInSwift, true) {
          EngineTuning.with(\.secondsForSample, .infinity) { project.godwit(["plan"] + options + [path]) }
        }
      }
      let details = plan("--details")
      #expect(details.output.contains("lane       object"), "\(details.output)\(details.diagnostics)")
      #expect(details.output.contains(" for a million objects\n") == (rows == 700), "\(details.output)")
      let json = try JSONValue(parsing: plan("--format", "json").output)
      let cost = json["time"]?["secondsPerMillion"]?["NoteToNote"]
      if rows == 700 { #expect(cost != nil && json["time"]?["secondsPerMillion"]?["Other"] == nil) }
      #expect((cost != nil) == (rows == 700))
    }
  }

  @Test(arguments: [["--details", "--format", "json"], ["--format", "json", "--details"]])
  func `options that contradict each other are wrong usage`(options: [String]) throws {
    let project = try Self.project()
    let plan = project.godwit(["plan"] + options + [try project.path("job.yaml")])
    #expect(plan.status == 64, "\(plan.diagnostics)")
    // No plan: who asked for JSON gets the error as JSON.
    let document = try JSONValue(parsing: plan.output)
    #expect(document["type"] == .string("error") && document["status"] == .integer(64))
  }

  @Test func `an error of a plan in JSON is JSON`() throws {
    let project = try Self.project("mapping: x\n")
    let plan = project.godwit("plan", "--format", "json", try project.path("job.yaml"))
    #expect(plan.status == 78)
    #expect(plan.output.contains("\"type\" : \"error\""))
  }
}
