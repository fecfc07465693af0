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

  @OptionGroup var log: LogOptions
  @OptionGroup var overrides: OverrideOptions

  @Option(
    name: .customLong("plan"),
    help: ArgumentHelp(
      "Do exactly what a plan of `godwit plan -o FILE` says; if anything changed since, say what and exit with 73.",
      valueName: "FILE"), completion: .file())
  var planFile: String?

  @OptionGroup var long: LongOptions

  @Option(
    help: ArgumentHelp(
      "Write the state of the run to a file, in Prometheus' text format, every few seconds and at the end.",
      valueName: "FILE"), completion: .file())
  var metrics: String?

  @Option(
    name: .customLong("log-format"),
    help: ArgumentHelp("Write errors, warnings and log messages as text or as JSON lines.", valueName: "text|json"))
  var logFormat: OutputFormat = .text

  static var isForOutput: Bool { false }

  @Flag(help: "Then prove the destination as `godwit verify` does; exit with 4 if something differs.")
  var verify = false

  @Flag(help: "For a worker of a scheduler: SIGINT and SIGTERM end the run with 75, after a checkpoint.")
  var worker = false

  @OptionGroup var batch: BatchOptions

  var quiet: Bool { long.quiet }

  func validate() throws {
    if manifest == nil, planFile == nil { throw ValidationError("Missing expected argument '<JOB.yaml>'") }
  }

  /// The manifest and what is set in it: those of the command line, or those that the plan was made from.
  private func loader(_ check: PlanCheck?, in session: CommandSession) throws -> JobLoader {
    var (path, settings) = (manifest, try overrides.values())
    if path == nil, let check, let again = try check.plan.manifest?.reopened(for: check.path) {
      (path, settings) = (again.path, again.overrides + settings)
    }
    return try session.loader(ofManifest: path ?? "-", overrides: settings, log, isQuiet: quiet)
  }

  static var outputs: [OutputKind] { [.progress, .log] }

  /// Done, and objects are in quarantine.
  static let quarantinedStatus: Int32 = 3

  mutating func run(in session: CommandSession) throws -> Int32 {
    // Failures are reported below, where progress and commands know of them.
    let check = Result { try planFile.map(PlanCheck.init(path:)) }
    let loader = Result { try self.loader(check.get(), in: session) }
    if case .success(let read) = loader {
      if read.isForManyStores {
        return try runMany(read, in: session)
      }
      try batch.refuseForOneStore()
    }
    let signals = StopSignals(isWorker: worker)
    let control = MigrationControl()
    let printer = ProgressPrinter(mode: long.progress, isQuiet: quiet, stream: session.output)
    signals.watch(
      stop: { control.stop(reason: $0) }, interrupt: { control.interrupt() }, report: { printer.printNow() })
    var observer = try RunObserver(session, metricsPath: metrics, manifest: manifest)
    try printer.begin()
    do {
      let outcome = try migrate(loader.get(), check.get(), in: session, control, printer, &observer)
      signals.finish()
      let (summary, job) = (outcome.summary, outcome.job)
      switch outcome.proof {
      case .report(let report): return try end(summary, job, report, in: session, printer, observer, signals)
      case .stopped(let error): return try end(summary, job, error, in: session, printer, observer, signals)
      case .broken(let error): return try end(summary, job, broken: error, in: session, printer, observer)
      }
    } catch var error as GodwitError {
      signals.finish()
      let isSignal = signals.tell(in: &error)
      printer.close()
      // Commands may take long, and what they say belongs below the error.
      let isReported = observer.callsCommands(after: error)
      if isReported { _ = GodwitCommand.report(error, in: session) }
      observer.failed(error)
      try printer.end(failedWith: error, job: observer.jobName)
      if isSignal {
        if !quiet { _ = GodwitCommand.report(error, in: session) }
        signals.dieIfStopped()
        return error.code.rawValue
      }
      guard !isReported else { return error.code.rawValue }
      throw error
    } catch {
      observer.failed(GodwitCommand.unexpected(error))
      throw error
    }
  }

  /// The outcome of a verification after the migration.
  private enum Proof {
    /// nil if none was asked for.
    case report(VerificationReport?)
    case stopped(GodwitError)
    /// It could not be done. The destination is finished all the same.
    case broken(GodwitError)
  }

  private struct Outcome {
    var summary: MigrationSummary
    var job: MigrationJob
    var proof: Proof
  }

  /// Migrates, and verifies where that was asked for.
  private func migrate(
    _ loader: JobLoader, _ check: PlanCheck?, in session: CommandSession, _ control: MigrationControl,
    _ printer: ProgressPrinter, _ observer: inout RunObserver
  ) throws -> Outcome {
    let start = Date()
    func secondsLeft() -> Double? {
      long.maximumSeconds.map { max(0, $0 - Date().timeIntervalSince(start)) }
    }
    observer.manifestRead(loader)
    let migration = try loader.job()
    try observer.jobLoaded(migration)
    printer.setProgramBytes(ProcessMemory.residentBytes)
    if !quiet {
      session.warnOfReplacedValues(in: migration)
      session.warnOfUnconfirmedHashRules(migration.destinationModel.unconfirmedHashRules.map(\.description))
    }
    if verify, migration.existingDestination == .inPlace(keepsOld: false) {
      throw GodwitError(
        .usage, "cannot verify job '\(migration.name)' after it has run: it migrates in place and keeps no old store",
        remedy: "write `keep-old: true`, or leave out --verify", safe: "nothing was written")
    }
    if verify { printer.begin(part: 0...0.5) }
    var summary: MigrationSummary
    var manager = MigrationManager(migration)
    manager.isProvedAfter = verify
    do {
      try check?.refuseOther(migration, manager: manager, manifestPath: loader.manifest.file)
      func tell(_ part: MigrationProgress) {
        observer.update(part)
        printer.update(part)
      }
      summary = try manager.run(control: control, maximumSeconds: secondsLeft(), progress: tell)
    } catch { throw migration.tellingHints(error) }
    if quiet { session.warnOfMissingReceipt(summary.codedNotes) }
    guard verify, summary.outcome != .stopped else {
      return .init(summary: summary, job: migration, proof: .report(nil))
    }
    if let note = migration.noteOfNoProof(after: summary) {
      summary.codedNotes.append(note)
      return .init(summary: summary, job: migration, proof: .report(nil))
    }
    printer.begin(part: 0.5...1)
    do {
      let report = try Verifying(printer: printer, control: control)
        .report(of: try loader.job(for: .verification), maximumSeconds: secondsLeft())
      if report.isClean, summary.outcome == .alreadyFinished { try manager.noteSuccess() }
      return .init(summary: summary, job: migration, proof: .report(report))
    } catch let error as GodwitError {
      return .init(summary: summary, job: migration, proof: error.code == .stopped ? .stopped(error) : .broken(error))
    }
  }

  /// Prints the summary of a migration whose verification was stopped, and why it was.
  private func end(
    _ summary: MigrationSummary, _ job: MigrationJob, _ stop: GodwitError, in session: CommandSession,
    _ printer: ProgressPrinter, _ observer: RunObserver, _ signals: StopSignals
  ) throws -> Int32 {
    var stop = stop
    let isSignal = signals.tell(in: &stop)
    var summary = summary
    summary.reason =
      signals.stopSignal.flatMap(StopSignals.name)
      ?? (stop.stopReason == .timeLimit ? StopCondition.timeLimit : "the verification was stopped")
    observer.stopped(summary, job: job, status: stop.code.rawValue)
    try printer.end(summary, job: job, status: stop.code.rawValue)
    if !quiet || !isSignal { _ = GodwitCommand.report(stop, in: session) }
    signals.dieIfStopped()
    return stop.code.rawValue
  }

  /// Prints the summary of a migration whose verification could not be done, and why.
  private func end(
    _ summary: MigrationSummary, _ job: MigrationJob, broken error: GodwitError, in session: CommandSession,
    _ printer: ProgressPrinter, _ observer: RunObserver
  ) throws -> Int32 {
    printer.close()
    _ = GodwitCommand.report(error, in: session)
    let status = error.code.rawValue
    _ = observer.ended(summary, job: job, report: nil, broken: error, status: status)
    try printer.end(summary, job: job, status: status, broken: error)
    return status
  }

  /// Calls the commands for the end of a run, and prints the summary.
  private func end(
    _ summary: MigrationSummary, _ job: MigrationJob, _ report: VerificationReport?, in session: CommandSession,
    _ printer: ProgressPrinter, _ observer: RunObserver, _ signals: StopSignals
  ) throws -> Int32 {
    guard summary.outcome != .stopped else {
      let status = signals.status ?? 0
      observer.stopped(summary, job: job, status: status)
      try printer.end(summary, job: job, status: status)
      signals.dieIfStopped()
      return GodwitError.Code.stopped.rawValue
    }
    let done = summary.quarantinedObjects > 0 ? Self.quarantinedStatus : 0
    var status = report?.isClean == false ? GodwitError.Code.findings.rawValue : done
    printer.close()
    if let report {
      try printer.tell(report)
      if long.progress != .json || quiet, !quiet || !report.isClean { session.output.write(report.overview + "\n") }
    }
    let failure = observer.ended(summary, job: job, report: report, status: status)
    status = failure?.code.rawValue ?? status
    try printer.end(summary, job: job, status: status)
    if let failure { _ = GodwitCommand.report(failure, in: session) }
    return status
  }
}
