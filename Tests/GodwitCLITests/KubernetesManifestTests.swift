import Foundation
import GodwitModel
import Testing
import Yams

@testable import GodwitCLI

/// The manifest is read as YAML, held against the published rules, and its scripts are run as a container would.
struct KubernetesManifestTests {
  private static func jobs(_ fleet: SubmittedFleet) throws -> [JobRules.Object] {
    try Yams.load_all(yaml: KubernetesManifest(fleet.checked()).text).map { try #require($0 as? JobRules.Object) }
  }

  private static func name(_ job: JobRules.Object) -> String {
    (job["metadata"] as? JobRules.Object)?["name"] as? String ?? ""
  }

  private static func spec(_ job: JobRules.Object) throws -> JobRules.Object {
    try #require(job["spec"] as? JobRules.Object)
  }

  private static func pod(_ job: JobRules.Object) throws -> JobRules.Object {
    let template = try #require(spec(job)["template"] as? JobRules.Object)
    return try #require(template["spec"] as? JobRules.Object)
  }

  private static func container(_ job: JobRules.Object) throws -> JobRules.Object {
    try #require((pod(job)["containers"] as? [JobRules.Object])?.first)
  }

  /// What Kubernetes makes of a command, an argument or a variable: `$$` is a dollar sign, and `$(NAME)` a variable.
  private static func expanded(_ text: String, _ variables: [String: String]) -> String {
    var result = ""
    var rest = text[...]
    while let character = rest.popFirst() {
      guard character == "$", let next = rest.first else {
        result.append(character)
        continue
      }
      if next == "$" {
        rest.removeFirst()
        result.append("$")
      } else if next == "(", let end = rest.firstIndex(of: ")") {
        let name = String(rest[rest.index(after: rest.startIndex)..<end])
        result += variables[name] ?? "$(\(name))"
        rest = rest[rest.index(after: end)...]
      } else {
        result.append("$")
      }
    }
    return result
  }

  /// Runs the container of a job.
  private static func run(
    _ job: JobRules.Object, index: Int? = nil, around script: String = "\"$@\"", in fixture: SubmitFixture
  ) throws -> BuiltCommand.Result {
    let container = try container(job)
    var variables: [String: String] = [:]
    for variable in container["env"] as? [JobRules.Object] ?? [] {
      let name = try #require(variable["name"] as? String)
      variables[name] = expanded(try #require(variable["value"] as? String), variables)
    }
    if let index { variables["JOB_COMPLETION_INDEX"] = "\(index)" }
    let words = try #require(container["command"] as? [String]) + (container["args"] as? [String] ?? [])
    let command = words.map { ScriptText.shell(expanded($0, variables)) }.joined(separator: " ")
    let exports = variables.map { "export \($0)=\(ScriptText.shell($1))\n" }.joined()
    return try fixture.run("\(exports)set -- \(command)\n\(script)")
  }

  @Test(arguments: [1, 2, 3, 100, 10_000], [false, true])
  func `the jobs keep the rules of the API`(shards: Int, hasCanary: Bool) throws {
    for (name, options) in [
      ("users", SubmitOptions()), ("123", SubmitOptions(seconds: 600, throttle: 7)),
      ("Null", SubmitOptions(image: "registry.example.org:5000/godwit@sha256:0123", claim: "claim.1")),
      ("_A-" + String(repeating: "x", count: 57), SubmitOptions()), ("-_-", SubmitOptions()),
    ] {
      var fleet = try SubmitFixture(shards: shards, hasCanary: hasCanary, options: options).fleet
      fleet.name = name
      let jobs = try Self.jobs(fleet)
      #expect(jobs.count == 1 + (hasCanary ? 1 : 0) + (shards > (hasCanary ? 1 : 0) ? 1 : 0))
      for job in jobs { #expect(JobRules.findings(job) == [], "\(name) \(Self.name(job))") }
      #expect(Set(jobs.map(Self.name)).count == jobs.count)
    }
  }

  @Test func `the rules find what the server would refuse`() throws {
    let text = try KubernetesManifest(SubmitFixture(shards: 3, hasCanary: false).fleet.checked()).text
    let breakages: [(old: String, new: String)] = [
      ("restartPolicy: Never", "restartPolicy: Always"), ("completions: 3", "completion: 3"),
      ("  backoffLimitPerIndex: 10\n", ""), ("maxFailedIndexes: 3", "maxFailedIndexes: 4"),
      ("values: [4, 64,", "values: [64, 4,"), ("values: [4,", "values: [0, 4,"), ("values: [4,", "values: [4, 4,"),
      ("operator: In", "operator: in"), ("containerName: godwit", "containerName: other"), ("\"True\"", "true"),
      ("completionMode: Indexed\n", "\n"), ("name: users-shards", "name: Users"),
      ("apiVersion: batch/v1", "apiVersion: batch/v2"),
      ("- { name: fleet, mountPath", "- { name: other, mountPath"), ("action: FailIndex", "action: Fail"),
      ("instance: \"users\"", "instance: 1"),
    ]
    for (old, new) in breakages {
      let range = try #require(text.firstRange(of: old), "\(old)")
      let jobs = Array(try Yams.load_all(yaml: text.replacingCharacters(in: range, with: new)))
      let job = try #require(jobs.first as? JobRules.Object)
      #expect(!JobRules.findings(job).isEmpty, "\(old) became \(new)")
    }
  }

  @Test func `each index runs its shard, and the report comes last`() throws {
    let fixture = try SubmitFixture(
      shards: 4, hasCanary: true, folderName: SubmitFixture.folderName.replacing(":", with: "") + " \\ $$ $(fleet)")
    let jobs = try Self.jobs(fixture.fleet)
    #expect(jobs.map(Self.name) == ["users-canary", "users-shards", "users-report"])
    #expect(try jobs.map { try Self.spec($0)["suspend"] as? Bool } == [false, true, true])
    #expect(try Self.run(jobs[0], index: 0, in: fixture).status == 0)
    for index in 0..<3 {
      let said = try Self.run(jobs[1], index: index, in: fixture)
      #expect(said.status == 0, "\(said)")
    }
    #expect(try fixture.shardsRun() == [0, 1, 2, 3])
    #expect(try Self.run(jobs[2], in: fixture).status == 0)
    #expect(fixture.lines("calls").last?.hasPrefix("<fleet><merge><\(fixture.fleet.manifest)><-o>") == true)
    fixture.expectNoHarm()
    // The folder of the fleet is in the volume.
    let mounts = try #require(Self.container(jobs[1])["volumeMounts"] as? [JobRules.Object])
    let path = try #require(mounts.first?["mountPath"] as? String)
    #expect(fixture.fleet.folder == path + "/users.fleet")
  }

  @Test func `a pod ends with the status of its shard, and stops at a checkpoint when it is told to`() throws {
    let fixture = try SubmitFixture(shards: 1, hasCanary: false)
    let job = try Self.jobs(fixture.fleet)[0]
    for (status, expected) in [("0", 0), ("3", 0), ("4", 4), ("65", 65), ("75", 75)] as [(String, Int32)] {
      try fixture.write(status, to: "status.0")
      #expect(try Self.run(job, index: 0, in: fixture).status == expected)
    }
    try fixture.write("", to: "slow")
    let stopped = try Self.run(
      job, index: 0,
      around: """
        "$@" & pod=$!
        while [ ! -e started ]; do sleep 0.05; done
        kill -TERM "$pod"
        wait "$pod"
        """, in: fixture)
    #expect(stopped.status == 75, "\(stopped)")
    try "{}".write(toFile: fixture.fleet.folder + "/plan.json", atomically: true, encoding: .utf8)
    #expect(try Self.run(job, index: 0, in: fixture).status == 73)
  }

  @Test func `no other pod follows a status that would come again, and one follows a stop or a full disk`() throws {
    let job = try Self.jobs(SubmitFixture(shards: 2, hasCanary: false).fleet)[0]
    let policy = try #require(Self.spec(job)["podFailurePolicy"] as? JobRules.Object)
    let rules = try #require(policy["rules"] as? [JobRules.Object])
    let final = try #require(rules.last?["onExitCodes"] as? JobRules.Object)
    let again: Set<Int> = [74, 75, 130, 143]
    let known = Set((1...255).compactMap { GodwitError.Code(rawValue: $0).map { Int($0.rawValue) } })
    #expect(Set(try #require(final["values"] as? [Int])) == known.subtracting(again))
    #expect(rules.first?["action"] as? String == "Ignore")
  }

  @Test func `what Kubernetes cannot mount or name is refused`() throws {
    func refused(_ change: (inout SubmittedFleet) -> Void) throws -> Bool {
      var fleet = try SubmitFixture(shards: 2, hasCanary: false).fleet
      change(&fleet)
      do { _ = try KubernetesManifest(fleet.checked()) } catch { return (error as? GodwitError)?.code == .usage }
      return false
    }
    #expect(try !refused { _ in })
    #expect(try refused { $0.jobManifest = "/job.yaml" })
    #expect(
      try refused {
        $0.folder = "/a:b/f"
        $0.manifest = "/a:b/f.yaml"
        $0.jobManifest = "/a:b/job.yaml"
      })
    #expect(try refused { $0.options.image = "two words" })
    #expect(try refused { $0.options.image = "" })
    #expect(try refused { $0.options.claim = "Claim" })
    #expect(try refused { $0.options.claim = "a/b" })
  }
}
