import ArgumentParser
import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore

struct TortureVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "torture",
    abstract: "Kill runs of the job at random in a scratch folder, resume them, and compare the results.",
    discussion: """
      Runs the job once without interruption. Each round then kills runs (SIGKILL) at random moments and progress \
      lines, resumes them, and compares the result with the first one: schema, rows, metadata, external files. Never \
      touches the job's own destination and never writes to its source. A job in place gets a copy of its store. The \
      folder is made in TMPDIR, and needs space for two destinations. Exit status: 4 a result differs, or a run cannot resume.
      """)

  @OptionGroup var job: JobOptions

  @Option(help: ArgumentHelp("Number of rounds.", valueName: "N")) var rounds = 20
  @Option(help: ArgumentHelp("Seed of the random kills; by default random, and printed.", valueName: "S"))
  var seed: UInt64?

  /// In a process that a round starts: the folder of its run, and the value of `now()`.
  @Argument(help: .private) var ownRun: [String] = []

  func validate() throws {
    guard ownRun.isEmpty || ownRun.count == 2 && Double(ownRun[1]) != nil else {
      throw ValidationError("expected one job, found '\(ownRun[0])' behind it")
    }
    guard (1...1_000_000).contains(rounds) else {
      throw ValidationError("cannot torture in \(rounds) rounds: expected 1 to 1000000")
    }
  }

  mutating func run(in session: CommandSession) throws -> Int32 {
    guard job.manifest != "-" else {
      // Each round reads it again.
      throw GodwitError(
        .usage, "cannot torture a job from standard input", remedy: "write the manifest to a file, and give its path")
    }
    let migration = try job.loader(in: session).job()
    if !ownRun.isEmpty { return try runOnce(migration, in: ownRun[0], session: session) }
    let seed = seed ?? UInt64.random(in: 1...999_999)
    // Kept until the result is known, so that a failure can be inspected.
    let scratch = try ScratchFolder(name: "godwit-torture", isKept: true)
    let signals = StopSignals()
    let current = TortureRun.Current()
    signals.watch(stop: { _ in current.stop() }, interrupt: {}, report: {})
    let torture = Torture(
      manifest: job.manifest, job: migration, seed: seed, rounds: rounds, folder: scratch.path, current: current)
    let result = Result { try torture.run { session.output.write($0 + "\n") } }
    signals.finish()
    if case .success(let different) = result, !different.isEmpty {
      session.output.write("kept for inspection: '\(scratch.path.onOneLine)'\n")
    } else {
      scratch.remove()
    }
    signals.dieIfStopped()
    return try result.get().isEmpty ? 0 : GodwitError.Code.findings.rawValue
  }

  /// One run, which a round may kill.
  private func runOnce(_ migration: MigrationJob, in folder: String, session: CommandSession) throws -> Int32 {
    var migration = Torture.redirected(migration, to: folder)
    migration.now = Double(ownRun[1]).map { Date(timeIntervalSinceReferenceDate: $0) }
    // Times differ from round to round.
    migration.receipt = nil
    let printer = ProgressPrinter(mode: .json, stream: session.output)
    try printer.begin()
    let summary = try MigrationManager(migration).run { printer.update($0) }
    try printer.end(summary, job: migration)
    return summary.outcome == .stopped ? GodwitError.Code.stopped.rawValue : 0
  }
}
