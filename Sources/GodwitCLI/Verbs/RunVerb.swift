import ArgumentParser
import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitVerifier

struct RunVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Start a job, or resume it from its ledger.",
    discussion: """
      SIGINT or SIGTERM stops the run at a checkpoint; a second one stops it at once. SIGUSR1 prints one progress line. \
      A run may be killed at any time: the same command resumes.
      """)

  @Argument(
    help: ArgumentHelp(
      "The job manifest; - for standard input. --plan alone takes that of the plan.", valueName: "JOB.yaml"),
    completion: .manifest)
  var manifest: String?

  @Flag(name: .shortAndLong, help: "Log each action to standard error.")
  var verbose = false

  @OptionGroup var overrides: OverrideOptions

  @Option(
    name: .customLong("plan"),
    help: ArgumentHelp(
      "Do exactly what a plan of `godwit plan -o FILE` says; if anything changed since, say what and exit with 73.",
      valueName: "FILE"), completion: .file())
  var planFile: String?

  @Option(help: ArgumentHelp("How to show progress.", valueName: "auto|bar|plain|json|none"))
  var progress: ProgressMode = .auto

  @Flag(name: .shortAndLong, help: "Print nothing unless something is wrong.")
  var quiet = false

  @Option(
    name: .customLong("max-duration"),
    help: ArgumentHelp(
      "Stop at a checkpoint, with status 75, after a time such as 3h, 90m or 1h30m.", valueName: "time"))
  var maximumDuration: TimeBox?

  static var isForOutput: Bool { false }

  @Flag(
    name: .customLong("fail-on-loss"),
    help: "If the migration loses data, stop with 65 before the destination is put in place.")
  var failOnLoss = false

  @Flag(help: "Then prove the destination as `godwit verify` does; exit with 4 if something differs.")
  var verify = false

  func validate() throws {
    if manifest == nil, planFile == nil { throw ValidationError("Missing expected argument '<JOB.yaml>'") }
  }

  /// The manifest and what is set in it: those of the command line, or those that the plan was made from.
  private func loader(_ check: PlanCheck?, in session: CommandSession) throws -> JobLoader {
    var (path, settings) = (manifest, try overrides.values())
    if path == nil, let check, let again = try check.plan.manifest?.reopened(for: check.path) {
      (path, settings) = (again.path, again.overrides + settings)
    }
    return try session.loader(ofManifest: path ?? "-", overrides: settings, isVerbose: verbose)
  }

  static var outputs: [OutputKind] { [.progress] }

  /// Done, and objects are in quarantine.
  static let quarantinedStatus: Int32 = 3

  mutating func run(in session: CommandSession) throws -> Int32 {
    let signals = StopSignals()
    let control = MigrationControl()
    let printer = ProgressPrinter(mode: progress, isQuiet: quiet, stream: session.output)
    signals.watch(
      stop: { control.stop(reason: $0) }, interrupt: { control.interrupt() }, report: { printer.printNow() })
    try printer.begin()
    let start = Date()
    do {
      let check = try planFile.map(PlanCheck.init(path:))
      let loader = try loader(check, in: session)
      var migration = try loader.job()
      if failOnLoss { migration.failsOnLoss = true }
      if !quiet {
        session.warnOfReplacedValues(in: migration)
        session.warnOfUnconfirmedHashRules(migration.destinationModel.unconfirmedHashRules.map(\.description))
      }
      if verify, migration.inPlace?.keepsOld == false {
        throw GodwitError(
          .usage, "cannot verify job '\(migration.name)' after it has run: it migrates in place and keeps no old store",
          remedy: "write `keep-old: true`, or leave out --verify", safe: "nothing was written")
      }
      let left = maximumDuration.map { max(0, Double($0.seconds) - Date().timeIntervalSince(start)) }
      let summary: MigrationSummary
      do {
        let manager = MigrationManager(migration)
        try check?.refuseOther(migration, manager: manager, manifestPath: loader.manifest.file)
        summary = try manager.run(control: control, maximumSeconds: left) { printer.update($0) }
      } catch { throw migration.tellingHints(error) }
      var report: VerificationReport?
      if verify, summary.outcome != .stopped {
        let left = maximumDuration.map { max(0, Double($0.seconds) - Date().timeIntervalSince(start)) }
        let second = ProgressPrinter(mode: progress == .json ? .none : progress, isQuiet: quiet, stream: session.output)
        defer { second.close() }
        report = try Verifying(printer: second, control: control)
          .report(of: try loader.job(for: .verification), maximumSeconds: left)
      }
      signals.finish()
      let done = summary.quarantinedObjects > 0 ? Self.quarantinedStatus : 0
      let status = report?.isClean == false ? GodwitError.Code.findings.rawValue : done
      if let report {
        try printer.tell(report)
        // Before the summary, whose last line says 100.0%.
        if progress != .json || quiet, !quiet || !report.isClean { session.output.write("\(report)\n") }
      }
      try printer.end(summary, job: migration, status: status)
      guard summary.outcome == .stopped else { return status }
      signals.dieIfStopped()
      return GodwitError.Code.stopped.rawValue
    } catch var error as GodwitError {
      signals.finish()
      let isSignal = error.code == .stopped && signals.stopSignal != nil
      // The process ends by the signal, and its status with it.
      if isSignal {
        (error.code, error.stopReason) = (signals.stopSignal == SIGINT ? .interrupted : .terminated, .signal)
      }
      try printer.end(failedWith: error)
      if isSignal {
        if !quiet { _ = GodwitCommand.report(error, in: session) }
        signals.dieIfStopped()
      }
      throw error
    }
  }
}
