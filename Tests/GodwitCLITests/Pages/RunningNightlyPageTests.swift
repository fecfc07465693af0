import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import GodwitCLI
@testable import GodwitManifest

/// The page Running nightly and the files that it names: the scripts are run, and the units and manifests are read.
struct RunningNightlyPageTests {
  private static func page() throws -> DocumentationPage { try DocumentationPage("RunningNightly") }

  /// A file of `jobs/deploy` that the page names.
  private static func deployed(_ name: String) throws -> String {
    #expect(try page().text.contains("`\(name)`"), "\(name)")
    return try Checkout.text("jobs/deploy/\(name)")
  }

  /// A folder with the bundle, mapping models, `job.yaml` as `init` writes it, and `godwit` in `bin`.
  ///
  /// - Parameter hook: Runs before the second step.
  private static func folder(hook: String? = nil) throws -> TemporaryFolder {
    let folder = try GettingStartedTests.folder()
    let made = try GettingStartedTests.run("godwit init people.sqlite Peoplizer.xcdatamodeld", in: folder)
    #expect(made.status == 0, "\(made.diagnostics)")
    if let hook {
      let manifest = try String(contentsOfFile: folder.file("job.yaml"), encoding: .utf8)
      try write(manifest + "stages: [{step: Peoplizer 5, before: '\(hook)'}]", to: folder.file("job.yaml"))
    }
    for name in ["bin", "snapshots"] {
      try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
    }
    let command = try #require(BuiltCommand.path)
    try FileManager.default.createSymbolicLink(atPath: folder.file("bin/godwit"), withDestinationPath: command)
    return folder
  }

  private static func write(_ text: String, to path: String) throws {
    try (text + "\n").write(toFile: path, atomically: true, encoding: .utf8)
  }

  private static func run(_ script: String, in folder: TemporaryFolder) throws -> BuiltCommand.Result {
    try ShellCommand.run("PATH=\"$PWD/bin:$PATH\"\n" + script, in: folder.path)
  }

  private static func snapshot(_ name: String, of store: String = "people-3", in folder: TemporaryFolder) throws {
    try FileManager.default.copyItem(
      atPath: folder.file("stores/\(store).sqlite"), toPath: folder.file("snapshots/\(name).sqlite"))
  }

  /// The `type` of each line, and its keys.
  private static func lines(_ text: String) throws -> [(type: String, object: [String: Any])] {
    try text.split(separator: "\n").map { line in
      let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      return (try #require(object["type"] as? String), object)
    }
  }

  @Test func `the script migrates each snapshot, proves it once, and says which one failed`() throws {
    let folder = try Self.folder()
    let page = try Self.page()
    try Self.write(try Self.deployed("nightly"), to: folder.file("nightly"))
    try Self.snapshot("a", in: folder)
    try Self.snapshot("b", of: "people-4", in: folder)
    let first = try Self.run("sh nightly", in: folder)
    #expect(first.status == 0 && first.output.isEmpty && first.diagnostics.isEmpty, "\(first)")
    let log = try String(contentsOfFile: folder.file("log/a.jsonl"), encoding: .utf8)
    let lines = try Self.lines(log)
    #expect(lines.first?.type == "version" && lines.last?.type == "summary")
    #expect(lines.last?.object["outcome"] as? String == "finished")
    // The page shows one line of each type, with keys of today.
    for shown in try Self.lines(try #require(page.blocks("json").first)) {
      let real = try #require(lines.last { $0.type == shown.type })
      #expect(Set(shown.object.keys).isSubset(of: real.object.keys), "\(shown.type)")
    }
    for name in ["a", "b"] {
      #expect(FileManager.default.fileExists(atPath: folder.file("migrated/\(name).sqlite")))
      #expect(FileManager.default.fileExists(atPath: folder.file("log/\(name).verified")))
      _ = try JSONSerialization.jsonObject(
        with: Data(contentsOf: URL(filePath: folder.file("log/\(name).verify.json"))))
    }

    // The next night has a bad store before a good one. Proved stores are not touched again.
    try Self.snapshot("bad", in: folder)
    let bad = try StoreConnection(path: folder.file("snapshots/bad.sqlite"))
    try bad.execute("UPDATE ZPERSON SET ZAGE = 'old' WHERE Z_PK = 70")
    try bad.close()
    try Self.snapshot("c", of: "people-4", in: folder)
    let second = try Self.run("sh nightly", in: folder)
    #expect(second.status == 65)
    let said = try String(contentsOfFile: folder.file("log/bad.err"), encoding: .utf8)
    #expect(said.contains("Person p70") && second.diagnostics == "bad: status 65\n" + said, "\(second)")
    // The report of an earlier night is not repeated.
    let again = try Self.run("sh nightly", in: folder)
    #expect(again.status == 65 && again.diagnostics == second.diagnostics, "\(again)")
    let failed = try Self.lines(String(contentsOfFile: folder.file("log/bad.jsonl"), encoding: .utf8))
    #expect(failed.last?.object["outcome"] as? String == "failed" && failed.last?.object["status"] as? Int == 65)
    #expect(FileManager.default.fileExists(atPath: folder.file("log/c.verified")))
    #expect(try String(contentsOfFile: folder.file("log/a.jsonl"), encoding: .utf8) == log)
  }

  @Test func `three nights go as the page tells, and the page of a job shows one`() throws {
    let folder = try Self.folder()
    let page = try Self.page()
    let texts = page.blocks("text")
    try #require(texts.count == 7)
    try Self.write(try Self.deployed("nightly"), to: folder.file("nightly"))
    try Self.snapshot("a", in: folder)
    try Self.snapshot("b", of: "people-4", in: folder)
    let first = try Self.run("sh nightly && ls migrated", in: folder)
    #expect(first.status == 0 && first.diagnostics.isEmpty && first.output == texts[0] + "\n", "\(first)")
    let made = try FileManager.default.attributesOfItem(atPath: folder.file("migrated/a.sqlite"))[.modificationDate]
    try Self.snapshot("c", of: "people-4", in: folder)
    let second = try Self.run("sh nightly", in: folder)
    #expect(second.status == 0 && second.diagnostics.isEmpty && second.output.isEmpty, "\(second)")
    #expect(FileManager.default.fileExists(atPath: folder.file("log/c.verified")))
    let now = try FileManager.default.attributesOfItem(atPath: folder.file("migrated/a.sqlite"))[.modificationDate]
    #expect(now as? Date == made as? Date)
    try Self.snapshot("bad", in: folder)
    let bad = try StoreConnection(path: folder.file("snapshots/bad.sqlite"))
    try bad.execute("UPDATE ZPERSON SET ZAGE = 'old' WHERE Z_PK = 70")
    try bad.close()
    try Self.snapshot("d", of: "people-4", in: folder)
    let third = try Self.run("sh nightly", in: folder)
    #expect(third.status == 65 && third.diagnostics == texts[1] + "\n", "\(third)")
    #expect(FileManager.default.fileExists(atPath: folder.file("log/d.verified")))
    let said = try String(contentsOfFile: folder.file("log/bad.err"), encoding: .utf8)
    #expect("bad: status 65\n" + said == texts[1] + "\n", "\(said)")
    let discard = "godwit discard job.yaml --source snapshots/bad.sqlite --destination migrated/bad.sqlite"
    #expect(try Self.run(discard, in: folder).status == 0)
    #expect(!FileManager.default.fileExists(atPath: folder.file("migrated/bad.sqlite.godwit")))
    // The page of the good job, and of the bad one.
    let report = try #require(page.blocks("sh").first)
    let written = try Self.run(report, in: folder)
    #expect(written.status == 0, "\(written)")
    let html = try String(contentsOfFile: folder.file("log/a.html"), encoding: .utf8)
    #expect(html.contains(">verify</span> found nothing") && html.contains(">finished</span>"))
  }

  @Test func `a night that is too short goes on in the next`() throws {
    let folder = try Self.folder(hook: "test -e slept || { touch slept; sleep 3; }")
    try Self.write(try Self.deployed("nightly"), to: folder.file("nightly"))
    try Self.snapshot("a", in: folder)
    let first = try Self.run("sh nightly 2", in: folder)
    #expect(first.status == 75 && first.diagnostics.isEmpty, "\(first)")
    let stopped = try Self.lines(String(contentsOfFile: folder.file("log/a.jsonl"), encoding: .utf8))
    #expect(stopped.last?.object["outcome"] as? String == "stopped")
    #expect(stopped.last?.object["reason"] as? String == "time limit reached")
    let status = try Self.run(
      "godwit status job.yaml --source snapshots/a.sqlite --destination migrated/a.sqlite", in: folder)
    #expect(status.output.contains("unfinished"), "\(status)")
    #expect(try Self.run("sh nightly 0", in: folder).status == 75)
    let second = try Self.run("sh nightly", in: folder)
    #expect(second.status == 0, "\(second)")
    let resumed = try Self.lines(String(contentsOfFile: folder.file("log/a.jsonl"), encoding: .utf8))
    #expect(resumed.last?.object["wasResumed"] as? Bool == true)
    // A finished job of another source under the same name.
    try FileManager.default.removeItem(atPath: folder.file("snapshots/a.sqlite"))
    try Self.snapshot("a", of: "people-4", in: folder)
    try FileManager.default.removeItem(atPath: folder.file("log/a.verified"))
    #expect(try Self.run("sh nightly", in: folder).status == 73)
  }

  @Test func `a second call finds the run of the first, and leaves the other stores to it`() throws {
    let folder = try Self.folder(hook: "test -e slept || { touch slept; sleep 3; }")
    try Self.write(try Self.deployed("nightly"), to: folder.file("nightly"))
    try Self.snapshot("a", in: folder)
    try Self.snapshot("b", of: "people-4", in: folder)
    let both = """
      godwit run job.yaml --quiet --source snapshots/a.sqlite --destination migrated/a.sqlite &
      while ! test -e slept; do sleep 0.1; done
      sh nightly
      status=$?
      wait $! && exit $status
      """
    let second = try Self.run(both, in: folder)
    #expect(second.status == 75 && second.diagnostics.hasPrefix("a: status 75\ngodwit: cannot run: "), "\(second)")
    #expect(second.diagnostics.contains("the lock is held by process "), "\(second)")
    #expect(!FileManager.default.fileExists(atPath: folder.file("log/b.jsonl")))
    let third = try Self.run("sh nightly", in: folder)
    #expect(third.status == 0, "\(third)")
  }

  @Test func `a signal ends the script too, and a night without snapshots is a good one`() throws {
    let folder = try Self.folder(hook: "test -e killed || { touch killed; kill -TERM $PPID; sleep 1; }")
    try Self.write(try Self.deployed("nightly"), to: folder.file("nightly"))
    #expect(try Self.run("sh nightly", in: folder).status == 0)
    try Self.snapshot("a", in: folder)
    try Self.snapshot("b", of: "people-4", in: folder)
    let stopped = try Self.run("sh nightly", in: folder)
    #expect(stopped.status == 143 && stopped.diagnostics.contains("a: status 143\n"), "\(stopped)")
    #expect(!FileManager.default.fileExists(atPath: folder.file("log/b.jsonl")))
    #expect(try Self.run("sh nightly", in: folder).status == 0)
  }

  @Test func `the job of Slurm asks for another turn only when it stopped at a checkpoint`() throws {
    let folder = try Self.folder(hook: "test -e slept || { touch slept; sleep 3; }")
    let script = try Self.deployed("slurm.sh")
    let limit = "--max-duration 3h45m"
    try #require(script.contains(limit) && script.contains("#SBATCH --time=04:00:00"))
    try Self.write("#!/bin/sh\necho \"$@\" >> asked", to: folder.file("bin/scontrol"))
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o755], ofItemAtPath: folder.file("bin/scontrol"))
    let short = script.replacing(limit, with: "--max-duration 2s")
    #expect(try Self.run("SLURM_JOB_ID=17\n" + short, in: folder).status == 75)
    #expect(try String(contentsOfFile: folder.file("asked"), encoding: .utf8) == "requeue 17\n")
    let second = try Self.run("SLURM_JOB_ID=17\n" + script, in: folder)
    #expect(second.status == 0, "\(second)")
    #expect(try String(contentsOfFile: folder.file("asked"), encoding: .utf8) == "requeue 17\n")
  }

  @Test func `the timer and cron start the script with a time that it takes`() throws {
    let lines = try #require(try Self.page().blocks("crontab").first)
    let command = try #require(lines.prefixMatch(of: /(?:[0-9*]+ ){5}(\/srv\/migrate\/nightly [0-9]+)\n/)).1
    let unit = try Self.deployed("migrate.service")
    #expect(unit.contains("ExecStart=\(command)\n"))
    #expect(unit.contains("SuccessExitStatus=\(GodwitError.Code.stopped.rawValue)\n"))
  }

  private static let analyzer = "/usr/bin/systemd-analyze"

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: analyzer), "systemd is not installed"))
  func `systemd finds nothing wrong with the units`() throws {
    let folder = try Self.folder()
    for name in ["migrate.service", "migrate.timer"] {
      // The user of the unit need not exist here.
      let here = try Self.deployed(name).replacing("/srv/migrate", with: folder.path)
        .replacing("User=migrate\n", with: "")
      try Self.write(here, to: folder.file(name))
    }
    let said = try Self.run(
      "touch nightly && chmod +x nightly && \(Self.analyzer) verify ./migrate.service ./migrate.timer", in: folder)
    #expect(said.status == 0 && said.diagnostics.isEmpty, "\(said)")
  }

  @Test func `the job of Kubernetes is YAML, and its statuses and its command are Godwit's`() throws {
    let folder = try TemporaryFolder()
    let text = try Self.deployed("kubernetes.yaml")
    try Self.write(text, to: folder.file("job.yaml"))
    // Throws what is not YAML.
    _ = try YAMLFile(contentsOf: folder.file("job.yaml"), what: "job")
    let lists = text.matches(of: /values: \[([0-9, ]+)\]/).map {
      $0.1.split(separator: ", ").compactMap { Int32($0) }
    }
    try #require(lists.count == 2)
    let resumed: [GodwitError.Code] = [.stopped, .interrupted, .terminated]
    #expect(lists[0] == resumed.map(\.rawValue))
    // A full disk may be empty when the next pod starts, so it counts against the limit.
    let final: [GodwitError.Code] = [
      .findings, .usage, .dataWrong, .missingInput, .noPath, .internalBug, .cannotCreate, .permission, .configuration,
    ]
    #expect(lists[1] == [RunVerb.quarantinedStatus] + final.map(\.rawValue))
    let command = try #require(text.firstMatch(of: /command: \[godwit, ([^\]]+)\]/)).1.components(separatedBy: ", ")
    let session = CommandSession(output: .memory(), diagnostics: .memory())
    // The command line is right: only the file is missing.
    let arguments = command.map { $0.replacing("/data", with: folder.path + "/no") }
    #expect(GodwitCommand.run(arguments: arguments, in: session) == 66)
  }

  @Test func `three nights of one store go as the page says, and a monitor hears of each`() throws {
    let folder = try Self.folder()
    let manifest = try String(contentsOfFile: folder.file("job.yaml"), encoding: .utf8)
    let replacing = manifest.replacing(/destination: (\S+)/) {
      "destination: {path: \($0.1), existing: replace, keep-old: true}"
    }
    try #require(replacing != manifest)
    try Self.write(replacing, to: folder.file("job.yaml"))
    let check = "godwit status job.yaml --check --max-age 26h"
    let page = try Self.page()
    #expect(page.text.contains("`\(check)`") && page.text.contains("existing: replace"))
    func masked(_ line: String) -> String { line.replacing(/age=[0-9.]+s/, with: "age=21612.4s") }
    #expect(try Self.run(check, in: folder).status == 2)
    #expect(try Self.run("godwit run job.yaml --quiet", in: folder).status == 0)
    let shown = try #require(page.blocks("text").first { $0.hasPrefix("GODWIT ") }) + "\n"
    #expect(try masked(Self.run(check, in: folder).output) == shown)
    let made = try Data(contentsOf: URL(filePath: folder.file("people-migrated.sqlite")))

    let nothing = try Self.run("godwit run job.yaml", in: folder)
    #expect(nothing.status == 0 && nothing.output.contains("is already finished"), "\(nothing)")
    #expect(try Data(contentsOf: URL(filePath: folder.file("people-migrated.sqlite"))) == made)

    let store = try StoreConnection(path: folder.file("people.sqlite"))
    try store.execute("UPDATE ZPERSON SET ZNAME = 'other' WHERE Z_PK = 1")
    try store.close()
    let refused = try Self.run(
      "godwit run job.yaml --set destination.existing= --set destination.keep-old= --quiet", in: folder)
    #expect(
      refused.status == 73 && refused.diagnostics.contains("this job made it, and the source store changed since"))
    let before = try Self.run("godwit status job.yaml", in: folder)
    #expect(before.output.hasPrefix("job job: outdated: the next run replaces the destination"), "\(before)")
    let third = try Self.run("godwit run job.yaml --verify", in: folder)
    #expect(third.status == 0 && third.output.contains("the new store replaces"), "\(third)")
    #expect(try Data(contentsOf: URL(filePath: folder.file("people-migrated~.sqlite"))) == made)
    #expect(try Data(contentsOf: URL(filePath: folder.file("people-migrated.sqlite"))) != made)
    #expect(try masked(Self.run(check, in: folder).output) == shown)
  }

  /// `ReferencePageTests` holds that the table has every status.
  @Test func `the table of statuses says what to do after each, and the page leads to it`() throws {
    #expect(try Self.page().text.contains("<doc:Reference#Exit-statuses>"))
    let text = try DocumentationPage("Reference").text
    let section = try #require(text.components(separatedBy: "\n## Exit statuses\n").dropFirst().first)
      .components(separatedBy: "\n## ")[0]
    let rows = section.split(separator: "\n").compactMap { $0.wholeMatch(of: /\| ([0-9, ]+) \| .+ \|(.*)\|/) }
    #expect(rows.count > 10 && section.contains("137"))
    for row in rows where row.1 != "0" && row.1 != "2" {
      #expect(row.2.contains { !$0.isWhitespace }, "\(row.1)")
    }
  }
}
