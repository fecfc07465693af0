import ArgumentParser
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

/// Runs verbs and checks every document that they print against the schema of its type.
private struct Contract {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder("godwit-contract") }

  func file(_ name: String) -> String { folder.file(name) }

  /// A manifest in the folder.
  func manifest(_ text: String, _ name: String = "job.yaml") throws -> String {
    try Data(text.utf8).write(to: URL(filePath: file(name)))
    return file(name)
  }

  func run(_ arguments: [String]) -> (status: Int32, output: String, diagnostics: String) {
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    let status = GodwitCommand.run(arguments: arguments, in: session)
    return (status, session.output.text, session.diagnostics.text)
  }

  /// The document that a verb prints with `--format json`.
  @discardableResult
  func document(
    _ schema: String, _ arguments: String..., status: Int32 = 0, location: SourceLocation = #_sourceLocation
  ) throws -> JSONValue {
    let result = run(arguments + ["--format", "json"])
    #expect(result.status == status, "\(result.diagnostics)", sourceLocation: location)
    let value = try JSONValue(parsing: result.output)
    #expect(try Self.schema(schema).findings(value) == [], sourceLocation: location)
    if case .object = value { #expect(value["type"] == .string(schema), sourceLocation: location) }
    return value
  }

  /// The lines that a run prints; the last one.
  @discardableResult
  func lines(
    _ arguments: String..., status: Int32 = 0, location: SourceLocation = #_sourceLocation
  ) throws -> JSONValue {
    let result = run(["run"] + arguments + ["--progress", "json"])
    #expect(result.status == status, "\(result.diagnostics)", sourceLocation: location)
    let lines = try JSONValue.lines(result.output)
    let schema = try Self.schema("progress")
    for line in lines { #expect(schema.findings(line) == [], sourceLocation: location) }
    #expect(lines.first?["type"] == .string("version") && lines.last?["type"] == .string("summary"))
    let last = try #require(lines.last)
    #expect(last["status"] == .integer(Int64(status)), sourceLocation: location)
    return last
  }

  /// From the executable itself, as a user gets it.
  static func schema(_ name: String) throws -> JSONSchema {
    try JSONSchema(text: #require(PublishedSchema.all.first { $0.name == name }?.text, "no schema \(name)"))
  }

  // MARK: Inputs of the verbs

  static let people = PeoplizerStores.file("Peoplizer.xcdatamodeld")
  static func people(_ version: Int) -> String { "\(people)#Peoplizer" + (version == 1 ? "" : " \(version)") }

  func job(_ name: String, _ destination: String = "out.sqlite") -> [String] {
    [PeoplizerStores.file(name), "--destination", file(destination)]
  }

  static func jobs(_ path: String) -> String {
    PeoplizerStores.folder.deletingLastPathComponent().appending(path: path).path
  }

  /// A copy of a store that may be changed.
  func store(_ version: Int = 4, _ name: String = "people.sqlite") throws -> String {
    try FileManager.default.copyItem(atPath: PeoplizerStores.path(version: version), toPath: file(name))
    return file(name)
  }

  func change(_ path: String, _ statements: String...) throws {
    let connection = try StoreConnection(path: path)
    for statement in statements { try connection.execute(statement) }
    try connection.close()
  }
}

/// Every verb with its groups, as the user types it.
private func leaves() -> [(name: String, verb: any ParsableCommand.Type)] {
  RootCommand.verbs.flatMap { verb -> [(String, any ParsableCommand.Type)] in
    let name = verb.configuration.commandName ?? ""
    guard !verb.configuration.subcommands.isEmpty else { return [(name, verb)] }
    return verb.configuration.subcommands.map { ("\(name) \($0.configuration.commandName ?? "")", $0) }
  }
}

struct `The schemas of outputs` {
  /// Each breaks one rule.
  @Test(arguments: [
    #"{"schemaVersion":1,"type":"status","state":"finished","job":"a","percent":100}"#,
    #"{"schemaVersion":1,"type":"status","state":"finished","job":"a","percent":101,"lines":[]}"#,
    #"{"schemaVersion":2,"type":"status","state":"finished","job":"a","percent":1,"lines":[]}"#,
    #"{"schemaVersion":1,"type":"status","state":"done","job":"a","percent":1,"lines":[]}"#,
    #"{"schemaVersion":1,"type":"status","state":"finished","job":null,"percent":1,"lines":[]}"#,
    #"{"schemaVersion":1,"type":"status","state":"finished","job":"a","percent":1,"lines":[{}]}"#,
    #"{"schemaVersion":1,"type":"status","state":"finished","job":"a","percent":1,"lines":[],"more":0}"#,
    #"{"schemaVersion":1,"type":"status","state":"finished","job":"a","percent":1,"lines":[],"step":0.5}"#,
  ])
  func `the validator refuses what a schema forbids`(text: String) throws {
    #expect(try Contract.schema("status").findings(JSONValue(parsing: text)).count >= 1, "\(text)")
  }

  @Test func `times are RFC 3339 in UTC`() throws {
    let schema = try Contract.schema("progress")
    for (time, isTime) in [
      ("2026-11-23T08:00:00.000000Z", true), ("2026-11-23T08:00:00Z", true), ("2026-11-23T08:00:00+01:00", false),
      ("2026-13-23T08:00:00Z", false), ("2026-11-23 08:00:00Z", false), ("1763884800", false), ("today", false),
    ] {
      let line = #"{"schemaVersion":1,"type":"version","version":"1","time":"\#(time)"}"#
      #expect(try schema.findings(JSONValue(parsing: line)).isEmpty == isTime, "\(time)")
    }
  }

  @Test func `every verb that can print JSON says which kind, and every kind belongs to a verb and has a schema`() {
    let schemas = Set(PublishedSchema.all.map(\.name))
    var claimed: Set<String> = ["error"]
    for (name, verb) in leaves() {
      let kinds = (verb as? any Verb.Type)?.outputs ?? []
      let offers = RootCommand.helpMessage(for: verb, columns: 500).contains("json")
      #expect(offers == !kinds.isEmpty, "\(name)")
      claimed.formUnion(kinds.map(\.rawValue))
    }
    #expect(claimed == Set(OutputKind.allCases.map(\.rawValue)))
    #expect(claimed.isSubset(of: schemas))
  }

  @Test func `the executable has every file of schemas as it is, and no other`() throws {
    let files = try FileManager.default.contentsOfDirectory(atPath: JSONSchema.folder.path)
    let end = ".schema.json"
    #expect(files.sorted() == PublishedSchema.all.map { $0.name + end })
    for schema in PublishedSchema.all {
      let file = JSONSchema.folder.appending(path: schema.name + end)
      #expect(try schema.text == String(contentsOf: file, encoding: .utf8))
      #expect(!schema.title.isEmpty && schema.description.hasSuffix("."))
    }
  }

  @Test(arguments: PublishedSchema.all.map(\.name))
  func `every key is described, objects are closed, and references lead somewhere`(name: String) throws {
    let schema = try Contract.schema(name)
    #expect(schema.undescribed() == [])
    #expect(schema.open() == [])
    #expect(schema.danglingReferences() == [])
  }

  @Test func `a definition of one name is the same in every schema`() throws {
    var seen: [String: (schema: String, text: JSONValue)] = [:]
    // These words mean something else in each.
    let local: Set<String> = ["change", "finding", "mapping", "path", "summary", "version"]
    for schema in PublishedSchema.all {
      for (name, text) in try Contract.schema(schema.name).definitions where !local.contains(name) {
        if let other = seen[name] { #expect(other.text == text, "\(name) of \(schema.name) and \(other.schema)") }
        seen[name] = (schema.name, text)
      }
    }
    #expect(seen["loss"] != nil && seen["policyUse"] != nil)
  }

  @Test func `codes in schemas are those of the code`() throws {
    func codes(_ schema: String, _ path: String...) throws -> Set<String> {
      var value = try JSONValue(parsing: PublishedSchema.all.first { $0.name == schema }?.text ?? "")
      for key in path { value = try #require(value[key], "\(path)") }
      return Set((value["enum"]?.array ?? value["items"]?["enum"]?.array ?? []).compactMap(\.string))
    }
    let stops = Set(GodwitError.StopReason.allCases.map(\.rawValue))
    #expect(try codes("error", "properties", "reasonCode") == stops)
    #expect(try codes("progress", "$defs", "summary", "properties", "reasonCode") == stops)
    let ends = Set(ObjectTrace.Gap.Reason.allCases.map(\.rawValue))
    #expect(try codes("trace", "$defs", "gap", "properties", "reason") == ends)
    #expect(
      try codes("plan", "$defs", "obstacle", "properties", "code") == Set(RunObstacle.Code.allCases.map(\.rawValue)))
    let stages = Set(ChunkPhase.allCases.map(\.rawValue))
    #expect(try codes("plan", "$defs", "stage", "properties", "stage") == stages)
    #expect(try codes("status", "$defs", "line", "properties", "stage") == stages)
    let losses = ["init", "progress", "receipt", "test", "why"].map { ($0, "loss") } + [("plan", "plannedLoss")]
    for (schema, loss) in losses {
      let kinds = Set(LossReport.Kind.allCases.map(\.rawValue))
      #expect(try codes(schema, "$defs", loss, "properties", "kind") == kinds, "\(schema)")
      let causes = Set(LossReport.Cause.allCases.map(\.rawValue))
      #expect(try codes(schema, "$defs", loss, "properties", "reasonCode") == causes, "\(schema)")
    }
    let kinds: [GodwitError.Code] = [
      .findings, .usage, .dataWrong, .missingInput, .noPath, .internalBug, .cannotCreate, .inputOutput, .stopped,
      .permission, .configuration, .interrupted, .terminated,
    ]
    for (schema, path) in [
      ("error", ["properties", "code"]), ("init", ["properties", "problemCode"]),
      ("why", ["$defs", "path", "properties", "problemCode"]),
    ] {
      var value = try JSONValue(parsing: PublishedSchema.all.first { $0.name == schema }?.text ?? "")
      for key in path { value = try #require(value[key]) }
      #expect(Set((value["enum"]?.array ?? []).compactMap(\.string)) == Set(kinds.map(\.name)))
    }
  }
}

/// The verbs that read a job.
struct `The JSON contract of jobs` {
  @Test func `plans of one step, of several, in place, with losses, without policies, and of a finished job`() throws {
    let contract = try Contract()
    for job in ["v3-to-v4.yaml", "v1-to-v5.yaml", "v2-to-v3.yaml"] {
      let arguments = contract.job(job)
      try contract.document("plan", "plan", arguments[0], arguments[1], arguments[2])
    }
    let people = try contract.store(1)
    let inPlace = try contract.manifest(
      "godwit: 1\nsource: \(people)\ndestination: {existing: in-place}\nmodels: \(Contract.people)\ndestination-model: Peoplizer 5\n"
    )
    let plan = try contract.document("plan", "plan", inPlace)
    #expect(plan["steps"]?[0]?["wayCode"] == .string("executor") && plan["steps"]?[0]?["way"] != nil)
    let lossy = try contract.document(
      "plan", "plan", Contract.jobs("travel/job.yaml"), "--destination", contract.file("travel.sqlite"))
    let losses = try #require(lossy["losses"]?.array)
    #expect(losses.contains { $0["reasonCode"] == .string("remove-mapping") })
    #expect(losses.allSatisfy { $0["reasonCode"] != nil })
    let notes = try #require(lossy["notes"]?.array)
    #expect(lossy["noteCodes"]?.array?.count == notes.count)
    let refused = try contract.document(
      "plan", "plan", Contract.jobs("travel/job.yaml"), "--destination", contract.file("travel.sqlite"),
      "--set", "on-loss=fail", status: 65)
    #expect(refused["obstacles"]?[0]?["code"] == .string("losses"))
    #expect(refused["obstacles"]?[0]?["message"] == refused["summary"]?["obstacles"]?[0])
    let missing = try contract.document(
      "plan", "plan", Contract.jobs("todo/by-policy.yaml"), "--destination", contract.file("todo.sqlite"), status: 78)
    #expect(missing["obstacles"]?[0]?["code"] == .string("policy-missing"))
    #expect(missing["obstacles"]?[0]?["status"] == .integer(78))
    let written = contract.run(
      ["plan"] + contract.job("v3-to-v4.yaml") + ["-o", contract.file("plan.json"), "--format", "json"])
    #expect(written.status == 0)
    let file = try JSONValue(parsing: String(contentsOfFile: contract.file("plan.json"), encoding: .utf8))
    #expect(try Contract.schema("plan").findings(file) == [])
    #expect(file["identity"]?["source"]?["modified"]?.string?.hasSuffix("Z") == true)
    let job = contract.job("v3-to-v4.yaml")
    try contract.document("plan-diff", "plan", job[0], job[1], job[2], "--diff", contract.file("plan.json"))
    #expect(contract.run(["run", "--quiet"] + job).status == 0)
    let finished = try contract.document("plan", "plan", job[0], job[1], job[2])
    #expect(finished["summary"] == nil)
  }

  @Test func `progress of runs that finish, resume, fail, stop and have nothing to do`() throws {
    let contract = try Contract()
    let people = try contract.store(4)
    let job = try contract.manifest(
      """
      godwit: 1
      source: \(people)
      destination: \(contract.file("out.sqlite"))
      models: \(Contract.people)
      stages:
        - step: Peoplizer 5
          before: test -e '\(contract.file("ready"))'
      """)
    let old = try contract.manifest(
      "godwit: 1\nsource: \(people)\ndestination: \(contract.file("old.sqlite"))\nmodels: nosuch.xcdatamodeld\n",
      "old.yaml")
    #expect(try contract.lines(job, status: 74)["code"] == .string("input-output"))
    try contract.document("status", "status", job)
    try Data().write(to: URL(filePath: contract.file("ready")))
    let finished = try contract.lines(job)
    #expect(finished["outcome"] == .string("finished"))
    #expect(finished["notes"]?.array?.count == finished["noteCodes"]?.array?.count)
    #expect(try contract.lines(job)["outcome"] == .string("already finished"))
    #expect(try contract.lines(old, status: 66)["code"] == .string("missing-input"))
    try contract.change(people, "UPDATE ZPERSON SET ZAGE = 'old' WHERE Z_PK = 70")
    let wrong = try contract.lines(job, "--destination", contract.file("wrong.sqlite"), status: 65)
    #expect(wrong["code"] == .string("data-wrong") && wrong["site"] != nil)
    #expect(try contract.lines("--nosuch", status: 64)["code"] == .string("usage"))
    #expect(contract.run(["run", "--nosuch", "--quiet", "--progress", "json"]).output.isEmpty)
  }

  @Test func `a run that stops says why with a code, and one that finds its job locked too`() throws {
    let contract = try Contract()
    let people = try contract.store(4)
    let job = try contract.manifest(
      """
      godwit: 1
      source: \(people)
      destination: \(contract.file("out.sqlite"))
      models: \(Contract.people)
      stages:
        - step: Peoplizer 5
          before: sleep 1
      """)
    let stopped = try contract.lines(job, "--max-duration", "1s", status: 75)
    #expect(stopped["outcome"] == .string("stopped") && stopped["reasonCode"] == .string("time-box"))
    let unfinished = try contract.document("status", "status", job)
    #expect(unfinished["state"] == .string("unfinished"))
    let lock = try #require(FileHandle(forUpdatingAtPath: contract.file("out.sqlite.godwit/lock")))
    #expect(flock(lock.fileDescriptor, LOCK_EX) == 0)
    let locked = try contract.lines(job, status: 75)
    #expect(locked["outcome"] == .string("failed") && locked["reasonCode"] == .string("lock"))
    try lock.close()
    let resumed = try contract.lines(job)
    #expect(resumed["outcome"] == .string("finished") && resumed["wasResumed"] == .boolean(true))
  }

  @Test func `status and discard in every state`() throws {
    let contract = try Contract()
    let people = try contract.store(4)
    let text = """
      godwit: 1
      source: \(people)
      destination: \(contract.file("out.sqlite"))
      models: \(Contract.people)
      """
    let job = try contract.manifest(text)
    #expect(try contract.document("status", "status", job)["state"] == .string("not started"))
    #expect(try contract.document("discard", "discard", job)["isRemoved"] == .boolean(false))
    try contract.document("error", "verify", job, status: 66)
    let failing = try contract.manifest(
      text + "\nstages:\n  - step: Peoplizer 5\n    before: exit 1\n", "failing.yaml")
    try contract.lines(failing, status: 74)
    #expect(try contract.document("discard", "discard", failing)["isRemoved"] == .boolean(true))
    try contract.lines(job)
    #expect(try contract.document("status", "status", job)["state"] == .string("finished"))
    let other = try contract.manifest(text + "\ndestination-model: Peoplizer 4\n", "other.yaml")
    #expect(try contract.document("status", "status", other)["state"] == .string("destination exists"))
    let traced = try contract.document("trace", "trace", job, "Person/p1", "--side", "source")
    #expect(traced["associations"]?[0]?["mapping"]?.string != nil && traced["object"]?["attributes"]?["name"] != nil)
    let proved = try contract.document("verify", "verify", job)
    #expect(proved["isClean"] == .boolean(true))
    #expect(proved["checks"]?.array?.allSatisfy { $0["isProved"] == .boolean(true) } == true)
    try contract.change(contract.file("out.sqlite"), "UPDATE ZPERSON SET ZNAME = 'other' WHERE Z_PK = 1")
    let found = try contract.document("verify", "verify", job, status: 4)
    #expect(found["isClean"] == .boolean(false) && found["findings"]?[0]?["kind"] == .string("value"))
  }

  @Test func `init writes a manifest or prints it, with what would be lost and what a run would stop with`() throws {
    let contract = try Contract()
    let people = try contract.store(4)
    let shown = try contract.document("init", "init", people, Contract.people, "-o", "-")
    #expect(shown["file"] == nil && shown["isMigrationNeeded"] == .boolean(true))
    #expect(shown["manifest"]?.string?.contains("godwit: 1\n") == true)
    let written = try contract.document("init", "init", people, Contract.people, "-o", contract.file("new.yaml"))
    #expect(try written["manifest"]?.string == String(contentsOfFile: contract.file("new.yaml"), encoding: .utf8))
    let copied = try contract.document("init", "init", people, Contract.people, "--to", "Peoplizer 4", "-o", "-")
    #expect(copied["isMigrationNeeded"] == .boolean(false))
    let travel = try contract.document(
      "init", "init", Contract.jobs("travel/stores/travel.sqlite"), Contract.jobs("travel/Travel.xcdatamodeld"), "-o",
      "-")
    #expect(travel["losses"]?.array?.isEmpty == false)
    try contract.document("error", "init", people, Contract.jobs("travel/Travel.xcdatamodeld"), "-o", "-", status: 69)
    try contract.document("error", "init", people, Contract.people, "-o", contract.file("new.yaml"), status: 73)
  }

  @Test func `policy stubs, with and without policies`() throws {
    let contract = try Contract()
    let todo = Contract.jobs("todo/by-policy.yaml")
    let shown = try contract.document("policy-stub", "policy", "stub", todo)
    #expect(shown["swift"]?.string?.contains("GodwitCommand.main") == true)
    #expect(shown["uses"]?.array?.isEmpty == false)
    let written = try contract.document("policy-stub", "policy", "stub", todo, "-o", contract.file("P.swift"))
    #expect(written["swift"] == nil && written["file"] == .string(contract.file("P.swift")))
    let none = try contract.document("policy-stub", "policy", "stub", PeoplizerStores.file("v3-to-v4.yaml"))
    #expect(none["uses"] == .array([]) && none["swift"] == nil)
  }

  @Test func `test reports of tests that pass, lose and fail`() throws {
    let contract = try Contract()
    func model(_ name: String, _ attributes: [AttributeDescription]) throws -> ManagedObjectModel {
      try ManagedObjectModel(name: name, entities: [EntityDescription(name: "Note", attributes: attributes)])
    }
    let project = ProjectFixture()
    let text = AttributeDescription(name: "text", type: .string)
    try project.bundle(
      "Notes.xcdatamodeld",
      [
        try model("Notes", [text, AttributeDescription(name: "mood", type: .string)]), try model("Notes 2", [text]),
      ])
    let arguments = ["--keep", contract.file("kept"), "--rows", "20"]
    let models = try project.path("Notes.xcdatamodeld")
    let passed = try contract.document("test", "test", models, arguments[0], arguments[1], arguments[2], arguments[3])
    #expect(passed["failed"] == .integer(0) && passed["tests"] == .integer(2))
    #expect(passed["results"]?[0]?["lossDetails"]?[0]?["reasonCode"] == .string("not-taken"))
    let failed = try contract.document(
      "test", "test", models, "--set", "on-loss=fail", arguments[0], arguments[1], status: 4)
    #expect(failed["results"]?[0]?["problems"]?[0]?["code"] == .integer(65))
    try contract.document("error", "test", contract.file("nosuch.xcdatamodeld"), status: 66)
  }
}

/// The verbs that read files.
struct `The JSON contract of files` {
  @Test func `inspections of every kind of file, alone and as an array`() throws {
    let contract = try Contract()
    let people = try contract.store(4)
    let empty = contract.file("empty.sqlite")
    #expect(contract.run(["make-store", Contract.people(4), empty, "--rows", "0"]).status == 0)
    for (path, kind) in [
      (people, "Core Data store"), (empty, "Core Data store"), (Contract.people, "model"),
      (PeoplizerStores.file("V3toV4.mapping.yaml"), "mapping model"),
      (PeoplizerStores.file("v3-to-v4.yaml"), "job manifest"), (Contract.jobs("travel/Travel.xcdatamodeld"), "model"),
    ] {
      #expect(try contract.document("inspect", "inspect", path)["kind"] == .string(kind))
    }
    let details = try contract.document("inspect", "inspect", people, "--details", "--models", Contract.people)
    #expect(details["fittingModel"] == .string("Peoplizer 4"))
    #expect(details["details"]?["entities"]?.array?.isEmpty == false)
    let xml = try contract.manifest(
      """
      godwit: 1
      source: \(people)
      destination: \(contract.file("people.xml"))
      destination-type: xml
      models: \(Contract.people)
      """, "xml.yaml")
    try contract.lines(xml)
    #expect(try contract.document("inspect", "inspect", contract.file("people.xml"))["store"] != nil)
    let failing = try contract.manifest(
      """
      godwit: 1
      source: \(people)
      destination: \(contract.file("out.sqlite"))
      models: \(Contract.people)
      stages:
        - step: Peoplizer 5
          before: exit 1
      """)
    try contract.lines(failing, status: 74)
    #expect(try contract.document("inspect", "inspect", contract.file("out.sqlite.godwit"))["work"] != nil)
    let plain = contract.file("plain.sqlite")
    try StoreConnection(path: plain, create: true).close()
    try contract.change(plain, "CREATE TABLE t (a)")
    let several = try contract.document(
      "inspect", "inspect", people, plain, contract.file("nosuch.sqlite"), Contract.people, status: 65)
    #expect(several[0]?["schemaVersion"] == .integer(1) && several[1]?["error"]?["status"] == .integer(65))
    #expect(several[2]?["kind"] == nil && several[2]?["schemaVersion"] == .integer(1))
    try contract.document("error", "inspect", contract.file("nosuch.sqlite"), status: 66)
    try contract.document("error", "inspect", people, "--configuration", "none", status: 64)
  }

  @Test func `a damaged store, alone and in an array`() throws {
    let contract = try Contract()
    let path = try contract.store(4)
    try contract.change(path, "DROP TABLE Z_METADATA")
    let result = contract.run(["inspect", path, "--format", "json"])
    #expect(result.status == 65)
    let alone = try JSONValue(parsing: result.output)
    #expect(try Contract.schema("inspect").findings(alone) == [])
    #expect(alone["database"]?["tables"]?.array?.isEmpty == false && alone["schemaVersion"] == .integer(1))
    // Its type is that of an error.
    #expect(alone["type"] == .string("error"))
    #expect(try Contract.schema("error").findings(alone) == [])
    let rows = try contract.document("inspect", "inspect", path, Contract.people, status: 65)
    #expect(rows[0]?["error"]?["code"] == .string("data-wrong"))
  }

  @Test func `a file that is read in part is an error by both schemas`() throws {
    let contract = try Contract()
    let store = try contract.store(4)
    var bytes = try Data(contentsOf: URL(filePath: store))
    // The number of a page that no tree has: SQLite's check finds pages that are never used.
    bytes.append(Data(count: 4096))
    bytes.replaceSubrange(28..<32, with: withUnsafeBytes(of: UInt32(bytes.count / 4096).bigEndian) { Data($0) })
    try bytes.write(to: URL(filePath: store))
    let bundle = contract.file("M.xcdatamodeld")
    try FileManager.default.copyItem(atPath: Contract.people, toPath: bundle)
    for version in try FileManager.default.contentsOfDirectory(atPath: bundle) where version.hasSuffix("5.xcdatamodel")
    {
      try Data("<model".utf8).write(to: URL(filePath: "\(bundle)/\(version)/contents"))
    }
    try contract.change(try contract.store(1, "old.sqlite"), "DROP TABLE IF EXISTS Z_MODELCACHE")
    for (arguments, status, key) in [
      ([store, "--check"], 65, "check"), ([bundle], 66, "model"),
      ([contract.file("old.sqlite"), "--details"], 64, "store"),
    ] as [([String], Int32, String)] {
      let result = contract.run(["inspect"] + arguments + ["--format", "json"])
      #expect(result.status == status, "\(arguments): \(result.diagnostics)")
      let value = try JSONValue(parsing: result.output)
      #expect(value[key] != nil, "\(arguments)")
      for schema in ["error", "inspect"] {
        #expect(try Contract.schema(schema).findings(value) == [], "\(arguments): \(schema)")
      }
    }
  }

  @Test func `why, where a model fits, a migration is needed, no model fits and none can be inferred`() throws {
    let contract = try Contract()
    let people = PeoplizerStores.path(version: 4)
    #expect(try contract.document("why", "why", people, Contract.people(4))["verdict"] == .string("compatible"))
    let needed = try contract.document("why", "why", people, Contract.people(5), status: 2)
    #expect(needed["changes"]?[0]?["changeCode"] != nil && needed["path"]?["steps"]?[0] != nil)
    let codes = needed["refusals"]?.array?.count
    #expect(codes == needed["refusalCodes"]?.array?.count)
    let back = try contract.document("why", "why", people, Contract.people(3), status: 69)
    #expect(back["path"]?["problemStatus"] == .integer(69) && back["path"]?["problemCode"] == .string("no-path"))
    let unknown = Contract.jobs("travel/Travel.xcdatamodeld") + "#Travel 4"
    #expect(try contract.document("why", "why", people, unknown, status: 69)["verdict"] == .string("no-model-fits"))
    try contract.document("why", "why", Contract.people(4), "--against", Contract.people(5), status: 2)
    try contract.document("error", "why", contract.file("nosuch.sqlite"), Contract.people(5), status: 66)
  }

  @Test func `models: hashes, schema, differences and extraction`() throws {
    let contract = try Contract()
    try contract.document("model-hash", "model", "hash", Contract.people(5))
    try contract.document("model-schema", "model", "schema", Contract.people(5))
    let difference = try contract.document("model-diff", "model", "diff", Contract.people(3), Contract.people(5))
    let entities = try #require(difference["entities"]?.array)
    for part in entities + entities.flatMap({ $0["properties"]?.array ?? [] }) {
      #expect(part["changes"]?.array?.count == part["changeCodes"]?.array?.count)
    }
    #expect(entities.contains { $0["kind"] == .string("added") })
    try contract.document("model-diff", "model", "diff", Contract.people(5), Contract.people(5))
    let people = PeoplizerStores.path(version: 4)
    try contract.document("error", "model", "extract", people, "-o", contract.file("X.xcdatamodeld"), status: 66)
    var archive = ArchiveFixture()
    let bytes = archive.model([archive.entity("Note", [archive.attribute("title", .string)])])
    let model = try ManagedObjectModel(compiled: bytes, name: "Notes")
    let path = contract.file("notes.sqlite")
    let store = try EmptyStore.create(
      at: path, schema: StoreSchema(model: model), metadata: StoreMetadata(model: model))
    try store.execute("CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB)")
    try store.execute("INSERT INTO Z_MODELCACHE VALUES (?1)", [.blob(bytes.deflated)])
    try store.close()
    let one = try contract.document(
      "model-extract", "model", "extract", path, "-o", contract.file("Notes.xcdatamodeld"))
    #expect(one["versions"]?.array?.count == 1 && one["version"] == .string("Notes"))
    let both = try contract.document(
      "model-extract", "model", "extract", path, path, "-o", contract.file("Both.xcdatamodeld"))
    #expect(both["versions"]?.array?.first?["stores"] == .array([.string(path), .string(path)]))
    #expect(try contract.document("inspect", "inspect", path)["cachedModel"]?["fits"] == .boolean(true))
  }

  @Test func `mapping files that are inferred, drafted, converted and refused`() throws {
    let contract = try Contract()
    let inferred = try contract.document("mapping-result", "mapping", "infer", Contract.people(1), Contract.people(2))
    #expect(inferred["yaml"]?.string?.contains("godwit-mapping: 1") == true)
    let written = try contract.document(
      "mapping-result", "mapping", "new", Contract.people(3), Contract.people(5), "-o", contract.file("m.yaml"))
    #expect(written["file"] == .string(contract.file("m.yaml")) && written["yaml"] == nil)
    #expect(written["remarks"]?.array?.isEmpty == false)
    let refused = try contract.document(
      "error", "mapping", "infer", Contract.people(3), Contract.people(4), status: 69)
    #expect(refused["refusalCodes"]?.array?.contains(.string("becomes-abstract")) == true)
    #expect(refused["refusals"]?.array?.count == refused["refusalCodes"]?.array?.count)
    try contract.document("error", "mapping", "convert", contract.file("nosuch.xcmappingmodel"), status: 66)
  }

  @Test func `lint reports with and without findings`() throws {
    let contract = try Contract()
    let lock = contract.file("models.lock.json")
    try contract.document("lint", "lint", Contract.people, "--lock", lock, "--write-lock")
    let text = try String(contentsOfFile: lock, encoding: .utf8)
    #expect(try Contract.schema("models-lock").findings(JSONValue(parsing: text)) == [])
    let shipped = try contract.document("lint", "lint", Contract.people, "--lock", lock)
    #expect(shipped["counts"]?["errors"] == .integer(0))
    let travel = try contract.document("lint", "lint", Contract.jobs("travel/Travel.xcdatamodeld"), status: 4)
    #expect(travel["findings"]?.array?.contains { $0["code"] == .string("GW104") } == true)
    try contract.document("error", "lint", contract.file("nosuch"), status: 66)
  }

  @Test func `synthetic stores and the list of schemas`() throws {
    let contract = try Contract()
    let made = try contract.document(
      "make-store", "make-store", Contract.people(5), contract.file("made.sqlite"), "--rows", "10", "--nasty")
    #expect(made["objects"] == .integer(10) && made["isNasty"] == .boolean(true))
    try contract.document(
      "error", "make-store", Contract.people(5), contract.file("made.sqlite"), "--rows", "1", status: 73)
    let list = try contract.document("schemas", "schema")
    #expect(list["schemas"]?.array?.count == PublishedSchema.all.count)
    for schema in PublishedSchema.all {
      let shown = contract.run(["schema", schema.name])
      #expect(shown.status == 0 && shown.output == schema.text)
    }
    let unknown = contract.run(["schema", "plans"])
    #expect(unknown.status == 64 && unknown.diagnostics.contains("did you mean 'plan'?"), "\(unknown.diagnostics)")
  }

  @Test func `a salvage with all that it can report`() throws {
    let contract = try Contract()
    let store = try contract.store()
    let whole = try contract.document("salvage", "salvage", store, "-o", contract.file("whole.sqlite"))
    #expect(whole["isWhole"] == .boolean(true) && whole["modelOrigin"] == nil)
    try contract.change(
      store, "UPDATE ZPERSON SET Z_ENT = 77 WHERE Z_PK = (SELECT min(Z_PK) FROM ZPERSON)", "DROP TABLE ZADDRESS")
    var bytes = Array(try Data(contentsOf: URL(filePath: store)))
    bytes.removeLast(4096)
    try Data(bytes).write(to: URL(filePath: store))
    let report = try contract.document(
      "salvage", "salvage", store, "-o", contract.file("copy.sqlite"), "--model", Contract.people, status: 3)
    #expect(report["isWhole"] == .boolean(false) && report["modelOrigin"] == .string("given"))
    #expect(report["strays"]?.array?.isEmpty == false && report["losses"]?.array?.isEmpty == false)
    try contract.document(
      "error", "salvage", contract.file("nosuch"), "-o", contract.file("none.sqlite"), status: 66)
  }

  @Test func `a compaction before, after and without anything to do`() throws {
    let contract = try Contract()
    let store = try contract.store()
    try contract.change(
      store, "CREATE TABLE ACHANGE ( Z_PK INTEGER PRIMARY KEY )", "INSERT INTO ACHANGE VALUES (1), (2)")
    let plan = try contract.document("compact", "compact", store, "--dry-run")
    #expect(plan["outcome"] == .string("planned") && plan["newBytes"] == nil)
    let made = try contract.document("compact", "compact", store, "--keep-old")
    #expect(made["outcome"] == .string("compacted") && made["keptAs"] != nil && made["newBytes"] != nil)
    let again = try contract.document("compact", "compact", store)
    #expect(again["outcome"] == .string("nothing-to-do"))
    try contract.document("error", "compact", contract.file("nosuch"), status: 66)
  }

  @Test func `exported objects and rows, line by line`() throws {
    let contract = try Contract()
    let store = contract.file("nasty.sqlite")
    #expect(contract.run(["make-store", Contract.people(5), store, "--rows", "60", "--nasty"]).status == 0)
    try contract.change(
      store, "UPDATE ZPERSON SET ZNAME = CAST(X'FF41' AS TEXT) WHERE Z_PK = (SELECT min(Z_PK) FROM ZPERSON)")
    for (schema, options) in [
      ("export", ["--entity", "Adult", "--entity", "Child", "--entity", "Address", "--model", Contract.people(5)]),
      ("export-raw", ["--raw", "--all"]),
    ] {
      let result = contract.run(["export", store] + options)
      #expect(result.status == 0, "\(result.diagnostics)")
      let lines = try JSONValue.lines(result.output)
      #expect(lines.count >= 30)
      let rules = try Contract.schema(schema)
      for line in lines { #expect(rules.findings(line) == []) }
    }
  }

  @Test(arguments: leaves().filter { ($0.verb as? any Verb.Type)?.outputs.isEmpty == false }.map(\.name))
  func `a wrong option is an error in JSON`(verb: String) throws {
    let contract = try Contract()
    let option = verb == "run" ? "--progress" : "--format"
    guard verb != "export" else { return }
    let result = contract.run(verb.split(separator: " ").map(String.init) + [option, "json", "--no-such-option"])
    #expect(result.status == 64)
    let last = try #require(try verb == "run" ? JSONValue.lines(result.output).last : JSONValue(parsing: result.output))
    #expect(try Contract.schema(verb == "run" ? "progress" : "error").findings(last) == [])
    #expect(last["status"] == .integer(64) && last["code"] == .string("usage"))
    #expect(last["message"]?.string?.isEmpty == false)
  }
}

struct `JSON in the documentation` {
  /// The schema that describes a sample: that of its type, or of its keys.
  private func schema(of value: JSONValue) -> String? {
    switch value["type"]?.string {
    case "version"?, "progress"?, "summary"?: "progress"
    case let type?: type
    case nil where value["bundles"] != nil: "models-lock"
    case nil where value["@table"] != nil: "export-raw"
    case nil where value["@uri"] != nil: "export"
    case nil: value[0] == nil ? nil : "inspect"
    }
  }

  @Test func `every sample conforms to its schema, and the page of outputs names each schema`() throws {
    let pages = Checkout.url("Sources/Godwit/Godwit.docc")
    var files = ["README.md", "jobs/ci/README.md"]
    files += try FileManager.default.contentsOfDirectory(atPath: pages.path).filter { $0.hasSuffix(".md") }
      .map { "Sources/Godwit/Godwit.docc/\($0)" }
    var kinds: [String] = []
    for file in files {
      for block in GettingStartedTests.blocks("json", of: try Checkout.text(file)) {
        let isWhole = (try? JSONValue(parsing: block)) != nil
        for value in try isWhole ? [JSONValue(parsing: block)] : JSONValue.lines(block) {
          let name = try #require(schema(of: value), "\(file): \(block)")
          #expect(try Contract.schema(name).findings(value) == [], "\(file)")
          kinds.append(name)
        }
      }
    }
    #expect(
      Set(kinds).isSuperset(of: ["error", "progress", "status", "verify", "inspect", "export-raw", "models-lock"]))
    let page = try Checkout.text("Sources/Godwit/Godwit.docc/Reference.md")
    let section = try #require(page.components(separatedBy: "\n## JSON output\n").last)
      .components(separatedBy: "\n### ")[0]
    for schema in PublishedSchema.all { #expect(section.contains("`\(schema.name)`"), "\(schema.name)") }
  }
}
