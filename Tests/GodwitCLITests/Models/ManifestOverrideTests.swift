import Foundation
import GodwitJob
import GodwitModel
import TestSupport
import Testing

@testable import GodwitManifest

/// `--source`, `--destination` and `--set`, and manifests from standard input.
struct ManifestOverrideTests {
  private func manifest(
    _ text: String = BreakableJob.manifest, _ settings: String..., destination: String? = nil
  ) throws -> JobManifest {
    let folder = try TemporaryFolder()
    try Data(text.utf8).write(to: URL(filePath: folder.file("job.yaml")))
    let options = destination.map { [ManifestOverride(key: "destination", text: $0, option: "--destination")] } ?? []
    return try JobManifest(
      contentsOf: folder.file("job.yaml"), overrides: options + settings.map(ManifestOverride.init(parsing:)))
  }

  private func complaint(_ settings: String...) -> GodwitError? {
    #expect(throws: GodwitError.self) {
      let folder = try TemporaryFolder()
      try Data((BreakableJob.manifest + "stages:\n  - step: Library 2\n").utf8)
        .write(to: URL(filePath: folder.file("job.yaml")))
      _ = try JobManifest(contentsOf: folder.file("job.yaml"), overrides: settings.map(ManifestOverride.init(parsing:)))
    }
  }

  // MARK: What is set

  @Test func `a value is set, added and removed; a later one wins`() throws {
    let job = try manifest(
      BreakableJob.manifest, "memory=20 MiB", "memory=24MiB", "on-loss=fail", "mappings=", "destination-model=null",
      "version-order=[Library, Library 2]")
    #expect(job.memory == .mebibytes(24))
    #expect(job.onLoss == .fail)
    #expect(job.mappings == .auto)
    #expect(job.destinationModel == nil)
    #expect(job.versionOrder == ["Library", "Library 2"])
  }

  @Test func `dots lead into nested maps, which are made where they are missing`() throws {
    #expect(try manifest(BreakableJob.manifest, "chunks.rows=7").chunks.rows == 7)
    let bare = BreakableJob.manifest.replacing("chunks:\n  rows: 100\n", with: "")
    let chunks = try manifest(bare, "chunks.by.Book.v2=[pages > 3, NOT pages > 3]", "chunks.rows=9").chunks
    #expect(chunks.rows == 9)
    #expect(chunks.by["Book.v2"]?.map(\.text) == ["pages > 3", "NOT pages > 3"])
  }

  @Test func `a path of an option is text, and relative to the current folder`() throws {
    let job = try manifest(BreakableJob.manifest, "models=[A.xcdatamodeld, /B.mom]", destination: "new: #1/it's.sqlite")
    #expect(job.destination.path?.resolved == "new: #1/it's.sqlite")
    #expect(job.models.map(\.resolved) == ["A.xcdatamodeld", "/B.mom"])
    #expect(job.source.resolved.hasSuffix("/library.sqlite") && job.source.resolved.hasPrefix("/"))
  }

  @Test func `in place and a path take each other's place`() throws {
    let inPlace = try manifest(BreakableJob.manifest, "destination.existing=in-place", "destination.keep-old=false")
    #expect(inPlace.destination == .init(path: nil, existing: .inPlace(keepsOld: false)))
    let text = BreakableJob.manifest.replacing(
      "destination: out/library.sqlite", with: "destination: {existing: in-place, keep-old: false}")
    let apart = try manifest(text, destination: "x.sqlite")
    #expect(apart.destination.path?.raw == "x.sqlite" && apart.destination.existing == .fail)
    let both = complaint("destination.existing=in-place", "destination=x.sqlite")
    #expect(both?.message.contains("found both") == true)
  }

  @Test func `what happens at the destination is set beside a path, in whatever form it is written`() throws {
    for form in ["out/library.sqlite", "{path: out/library.sqlite}", "{path: out/library.sqlite, existing: append}"] {
      let text = BreakableJob.manifest.replacing("out/library.sqlite", with: form)
      let job = try manifest(text, "destination.existing=replace", "destination.keep-old=true")
      #expect(job.destination.path?.raw == "out/library.sqlite" && job.destination.existing == .replace(keepsOld: true))
      let other = try manifest(text, "destination.existing=replace", destination: "x.sqlite")
      #expect(other.destination.path?.raw == "x.sqlite" && other.destination.existing == .replace(keepsOld: false))
    }
    let whole = try manifest(BreakableJob.manifest, "destination={path: x.sqlite, existing: append}")
    #expect(whole.destination.path?.raw == "x.sqlite" && whole.destination.existing == .append)
    let wrong = complaint("destination.existing=overwrite")
    #expect(wrong?.location?.file == "--set destination.existing", "\(wrong as Any)")
  }

  // MARK: Errors

  @Test func `an unknown key is named with its option`() {
    let error = complaint("memry=1")
    #expect(error?.code == .configuration)
    #expect(
      error?.description.hasPrefix(
        "--set memry: cannot read job manifest: unknown key 'memry' (did you mean 'memory'?)\n") == true,
      "\(error as Any)")
    #expect(complaint("chunks.rwos=1")?.description.hasPrefix("--set chunks.rwos: ") == true)
  }

  @Test func `a wrong value is named with its option, not with a line of the file`() {
    for (setting, told) in [
      ("memory=12 apples", "expected a size such as 64 MiB for 'memory', found '12 apples'"),
      ("chunks.rows=[1]", "expected a whole number from 1 to 10000000 for 'rows', found a list"),
      ("on-loss=[fail", "cannot read job manifest: "),
      ("memory.size=3", "found keys and values"),
      ("version-order=[A, B, A]", "the version 'A' is listed twice"),
    ] {
      let error = complaint(setting)
      let option = "--set " + setting.prefix { $0 != "=" }
      #expect(error?.code == .configuration)
      #expect(error?.location == .init(file: option, line: 0, column: 0), "\(error as Any)")
      #expect(error?.message.contains(told) == true, "\(error as Any)")
    }
    // Beside options that are right the file's own mistakes keep their place.
    #expect(complaint("on-loss=fail", "memory=maybe")?.location?.file == "--set memory")
  }

  @Test func `a list is set as a whole`() {
    let error = complaint("stages.step=Library 2")
    #expect(error?.message == "cannot set 'stages.step': 'stages' is a list, which is set as a whole")
    #expect(error?.remedy?.contains("--set 'stages=[…]'") == true)
  }

  @Test(arguments: ["memory", "=3", ".memory=3", "chunks.=3", ""])
  func `a setting without key or value is wrong usage`(text: String) {
    #expect(complaint(text)?.code == .usage)
  }

  // MARK: Through the command

  /// A job whose manifest lies in another folder than the command is started in.
  private func apart() throws -> BreakableJob {
    let job = try BreakableJob()
    try FileManager.default.createDirectory(atPath: job.file("jobs"), withIntermediateDirectories: true)
    let text = BreakableJob.manifest.replacing("source: library.sqlite", with: "source: missing.sqlite")
      .replacing("models: ", with: "models: ../").replacing("mappings: ", with: "mappings: ../")
    try Data(text.utf8).write(to: URL(filePath: job.file("jobs/job.yaml")))
    return job
  }

  @Test func `source and destination of options count from the current folder, in every verb`() throws {
    let job = try apart()
    let options = ["jobs/job.yaml", "--source", "library.sqlite", "--destination", "made/new.sqlite"]
    func run(_ verb: String, _ status: Int32, _ told: String) throws {
      let result = try BuiltCommand.run([verb] + options, in: job.path)
      #expect(result.status == status, "\(verb): \(result.diagnostics)")
      #expect((result.output + result.diagnostics).contains(told), "\(verb): \(result.output)")
    }
    try run("plan", 0, "destination  made/new.sqlite")
    try run("status", 0, "job jobs: not started")
    try run("run", 0, "finished job 'jobs': 'made/new.sqlite'")
    try run("verify", 0, "no difference found")
    try run("discard", 0, "nothing to discard: 'made/new.sqlite.godwit' does not exist")
    #expect(FileManager.default.fileExists(atPath: job.file("made/new.sqlite")))
    #expect(!FileManager.default.fileExists(atPath: job.file("jobs/out")))
  }

  @Test func `a missing file of an option is looked for in the current folder`() throws {
    let job = try BreakableJob()
    let result = try BuiltCommand.run("plan", "job.yaml", "--set", "layout.from=gone.sqlite", in: job.path)
    #expect(result.status == 66)
    #expect(result.diagnostics.hasPrefix("godwit: --set layout.from: "), "\(result.diagnostics)")
    #expect(result.diagnostics.contains("'from' is 'gone.sqlite', relative to the current folder"))
    #expect(result.diagnostics.contains("correct `--set layout.from`"))
  }

  @Test func `a manifest comes from standard input, with paths from the current folder`() throws {
    let job = try BreakableJob()
    let script = "cat job.yaml | $GODWIT"
    for (words, told) in [
      ("plan -", "job library\n"), ("run - --progress plain", "finished job 'library'"),
      ("verify -", "no difference found"), ("status -", "library"),
      ("discard -", "nothing to discard"),
    ] {
      let result = try ShellCommand.run("\(script) \(words)", in: job.path)
      #expect(result.status == 0, "\(words): \(result.diagnostics)")
      #expect(result.output.contains(told), "\(words): \(result.output)")
    }
    #expect(FileManager.default.fileExists(atPath: job.file("out/library.sqlite")))
  }

  @Test func `hooks of a manifest from standard input run in the current folder`() throws {
    let job = try BreakableJob()
    try job.append("job.yaml", "stages:\n  - step: Library 2\n    before: pwd > here\n")
    #expect(try ShellCommand.run("$GODWIT run - --quiet < job.yaml", in: job.path).status == 0)
    #expect(FileManager.default.fileExists(atPath: job.file("here")))
  }

  @Test func `messages name standard input, and what is missing from it`() throws {
    let job = try BreakableJob()
    let wrong = try ShellCommand.run("sed 's/^memory/memry/' job.yaml | $GODWIT run -", in: job.path)
    #expect(wrong.status == 78)
    #expect(wrong.diagnostics.hasPrefix("godwit: <stdin>:9:1: cannot read job manifest: unknown key 'memry'"))
    let empty = try ShellCommand.run("$GODWIT run - </dev/null", in: job.path)
    #expect(empty.status == 78)
    #expect(empty.diagnostics.contains("found nothing on standard input"), "\(empty.diagnostics)")
    let missing = try ShellCommand.run("sed 's/: Library.xc/: Gone.xc/' job.yaml | $GODWIT plan -", in: job.path)
    #expect(missing.status == 66)
    #expect(missing.diagnostics.contains("relative to the current folder"), "\(missing.diagnostics)")
    let torture = try ShellCommand.run("$GODWIT torture - < job.yaml", in: job.path)
    #expect(torture.status == 64)
  }

  // MARK: The same job

  @Test func `an unfinished run resumes with the same options only`() throws {
    let job = try BreakableJob()
    let hook = "stages=[{step: Library 2, after: test -e ready}]"
    func run(_ options: String...) throws -> BuiltCommand.Result {
      try BuiltCommand.run(["run", "job.yaml"] + options.flatMap { ["--set", $0] }, in: job.path)
    }
    #expect(try run(hook).status == 74)
    let other = try run()
    #expect(other.status == 73, "\(other.diagnostics)")
    #expect(other.diagnostics.contains("discard"))
    #expect(try run(hook, "destination-type=xml").status == 73)
    try Data().write(to: URL(filePath: job.file("ready")))
    // Keys that decide no content may change.
    let resumed = try run(hook, "memory=40 MiB", "chunks.rows=50")
    #expect(resumed.status == 0, "\(resumed.diagnostics)")
    #expect(resumed.output.contains("resumed"), "\(resumed.output)")
  }

  @Test func `a finished destination belongs to the job with its options`() throws {
    let job = try BreakableJob()
    func run(_ options: String...) throws -> BuiltCommand.Result {
      try BuiltCommand.run(["run", "job.yaml"] + options.flatMap { ["--set", $0] }, in: job.path)
    }
    #expect(try run("destination-type=xml").status == 0)
    let same = try run("destination-type=xml")
    #expect(same.status == 0)
    #expect(same.output.contains("already finished"))
    #expect(try run().status == 73)
  }
}
