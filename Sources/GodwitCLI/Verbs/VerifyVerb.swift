import ArgumentParser
import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitVerifier

struct VerifyVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Prove the destination against the source; exit with 4 if something differs.",
    discussion: """
      SIGINT, SIGTERM or the end of --max-duration stops the verification. What was compared is kept beside the \
      destination, and the same command goes on. SIGUSR1 prints one progress line. Progress goes to standard error, the \
      report to standard output: the findings and three lines.
      """)

  @Argument(
    help: ArgumentHelp(
      "The job manifest; - for standard input. Not with --receipt.", valueName: "JOB.yaml"), completion: .manifest)
  var manifest: String?

  @OptionGroup var log: LogOptions

  @Option(
    help: ArgumentHelp(
      "Compare a destination with the receipt that `run` wrote beside it. Needs no job, source or model. The store has the name of FILE without .receipt.json, or else the one that the receipt names; --destination names another.",
      valueName: "FILE"), completion: .file())
  var receipt: String?

  @OptionGroup var overrides: OverrideOptions
  @OptionGroup var format: FormatOptions

  @Flag(help: "Print every check as text, not three lines.")
  var details = false

  @OptionGroup var long: LongOptions

  @Option(
    help: ArgumentHelp(
      "Look only at so many of each hundred objects, by ranges of keys; the report says what was not looked at.",
      valueName: "percent"))
  var sample: Double?

  private var quiet: Bool { long.quiet }

  func validate() throws {
    guard (manifest == nil) == (receipt != nil) else {
      throw ValidationError(
        manifest == nil ? "Missing expected argument '<JOB.yaml>'" : "expected either JOB.yaml or --receipt, found both"
      )
    }
    if receipt != nil, overrides.source != nil || !overrides.set.isEmpty {
      throw ValidationError("--receipt reads no manifest: --source and --set do not go with it")
    }
    if receipt != nil, sample != nil {
      throw ValidationError("--receipt compares every object: --sample does not go with it")
    }
    if details, format.format != .text { throw ValidationError("--details is for text: JSON has everything") }
    if let sample, !(sample > 0 && sample <= 100) {
      throw ValidationError("--sample is a number above 0 and at most 100, found '\(sample)'")
    }
  }

  static var outputs: [OutputKind] { [.verify, .stores] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let signals = StopSignals()
    let control = MigrationControl()
    // On a terminal a bar, elsewhere nothing.
    let isShown = long.progress != .auto || session.diagnostics.isTerminal
    let printer = ProgressPrinter(mode: long.progress, isQuiet: quiet || !isShown, stream: session.diagnostics)
    signals.watch(stop: { control.stop(reason: $0) }, interrupt: {}, report: { printer.printNow() })
    try printer.begin()
    let report: VerificationReport
    do {
      if let receipt {
        report = try ReceiptCheck(
          receipt: URL(filePath: receipt), destination: overrides.destination.map { URL(filePath: $0) }
        ).run(control: control, maximumSeconds: long.maximumSeconds)
      } else {
        let loader = try session.loader(
          ofManifest: manifest ?? "-", overrides: overrides.values(), log, isQuiet: quiet)
        if loader.isForManyStores {
          return try verifyMany(loader, printer, control, signals, in: session)
        }
        let migration = try loader.job(for: .verification)
        if !quiet { try session.warnOfLogs(besideSourceOf: migration) }
        report = try Verifying(printer: printer, control: control)
          .report(of: migration, maximumSeconds: long.maximumSeconds, samplePercent: sample)
      }
      signals.finish()
      printer.close()
    } catch var error as GodwitError {
      signals.finish()
      printer.close()
      // The process ends by the signal, and its status with it.
      guard signals.tell(in: &error) else { throw error }
      if !quiet { _ = GodwitCommand.report(error, in: session) }
      signals.dieIfStopped()
      throw error
    }
    if !quiet || !report.isClean {
      switch format.format {
      case .json: try session.print(json: VerificationRecord(report: report), as: .verify)
      case .text: session.output.write((details ? "\(report)" : report.overview) + "\n")
      }
    }
    return report.isClean ? 0 : GodwitError.Code.findings.rawValue
  }

  /// One table for all stores of a manifest whose source is a pattern.
  private func verifyMany(
    _ loader: JobLoader, _ printer: ProgressPrinter, _ control: MigrationControl, _ signals: StopSignals,
    in session: CommandSession
  ) throws -> Int32 {
    var survey = StoreSurvey(session: session, loader: loader, verb: "verify", isJSON: format.format == .json)
    survey.isQuiet = quiet
    survey.close = { printer.close() }
    let status = try survey.verify(
      samplePercent: sample, maximumSeconds: long.maximumSeconds, printer, control)
    signals.finish()
    printer.close()
    signals.dieIfStopped()
    return status
  }
}
