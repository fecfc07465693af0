import Foundation
import TestSupport
import Testing

struct `Bad input` {
  static let all =
    BadInput.usage + BadInput.manifests + BadInput.destinations + BadInput.files + BadInput.metadata + BadInput.rows
    + BadInput.folders + BadInput.models + BadInput.mappings + BadInput.unfinished

  @Test func `the job that the cases break runs when nothing is broken`() throws {
    let job = try BreakableJob()
    let before = try job.content()
    let result = try Self.run(["run", "job.yaml"], in: job, as: .anybody)
    #expect(result.status == 0, "\(result.diagnostics)")
    #expect(result.diagnostics.isEmpty)
    let after = try job.content()
    #expect(
      Set(after.keys).subtracting(before.keys)
        == ["out", "out/library.sqlite", "out/library.sqlite.receipt.json"])
    #expect(before.allSatisfy { after[$0.key] == $0.value })
  }

  @Test func `the job that the cases break runs as another user too`() throws {
    guard Self.canBeNobody else { return }
    let job = try BreakableJob()
    try job.makeFolder("out")
    try job.setMode("out", 0o777)
    let result = try Self.run(["run", "job.yaml"], in: job, as: .nobody)
    #expect(result.status == 0, "\(result.diagnostics)")
  }

  @Test func `the names of bad-input cases are unique`() { #expect(Set(Self.all.map(\.name)).count == Self.all.count) }

  @Test(arguments: TestTier.sample(all, each: 2))
  func `bad input is reported with exit status and place, and leaves nothing behind`(_ input: BadInput) throws {
    if input.user == .nobody, !Self.canBeNobody { return }
    let job = try BreakableJob()
    try input.spoil(job)
    let before = try job.content()
    let result = try Self.run(input.arguments, in: job, as: input.user)
    // A trap ends the process by a signal, whose number is none of these statuses.
    #expect(result.status == input.status, "\(result.diagnostics)")
    #expect(result.diagnostics.hasPrefix("godwit: "), "\(result.diagnostics)")
    for fragment in input.fragments {
      #expect(result.diagnostics.contains(fragment), "expected '\(fragment)' in:\n\(result.diagnostics)")
    }
    #expect(result.diagnostics.utf8.count < 4096, "a message nobody reads")
    for trace in ["Fatal error", "Crash", "Stack dump", "Backtrace", "unexpected failure"] {
      #expect(!result.diagnostics.contains(trace))
    }
    #expect(!result.diagnostics.contains(BreakableJob.secret), "the message tells user data")
    #expect(!result.output.contains(BreakableJob.secret), "the output tells user data")
    if input.leavesWork {
      #expect(try job.content().keys.contains("out/library.sqlite.godwit"))
      #expect(try Self.run(["discard", "job.yaml"], in: job, as: input.user).status == 0)
    }
    var after = try job.content()
    if input.leavesWork { #expect(after.removeValue(forKey: "out") != nil) }
    let added = Set(after.keys).subtracting(before.keys)
    // The files that `discard` removed are not compared.
    let kept = before.filter { !input.leavesWork || $0.key != "out" && !$0.key.hasPrefix("out/library.sqlite.godwit") }
    let changed = kept.filter { after[$0.key] != $0.value }.keys
    #expect(added.isEmpty, "left behind")
    #expect(changed.isEmpty, "changed or removed")
  }

  // MARK: Running

  /// Whether the test may put the command under another user: permissions mean nothing to root.
  static let canBeNobody: Bool = {
    guard getuid() == 0 else { return true }
    return FileManager.default.isExecutableFile(atPath: setpriv)
  }()
  private static let setpriv = "/usr/bin/setpriv"

  static func run(
    _ arguments: [String], in job: BreakableJob, as user: BadInput.User
  ) throws -> BuiltCommand.Result {
    let command = try #require(BuiltCommand.path, "the executable is not beside the tests")
    let process = Process()
    if user == .nobody, getuid() == 0 {
      process.executableURL = URL(filePath: setpriv)
      process.arguments = ["--reuid=65534", "--regid=65534", "--clear-groups", command] + arguments
    } else {
      process.executableURL = URL(filePath: command)
      process.arguments = arguments
    }
    process.currentDirectoryURL = URL(filePath: job.path)
    let scratch = try TemporaryFolder("godwit-bad-input-streams")
    let (out, err) = (URL(filePath: scratch.file("out")), URL(filePath: scratch.file("err")))
    for file in [out, err] { _ = FileManager.default.createFile(atPath: file.path, contents: nil) }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try FileHandle(forWritingTo: out)
    process.standardError = try FileHandle(forWritingTo: err)
    try process.start()
    process.wait()
    #expect(process.terminationReason == .exit)
    return .init(
      status: process.terminationStatus, output: String(decoding: try Data(contentsOf: out), as: UTF8.self),
      diagnostics: String(decoding: try Data(contentsOf: err), as: UTF8.self))
  }
}
