import ArgumentParser
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore

struct PlanVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "plan",
    abstract: "Show the path, objects in, out and lost, time and disk space; write nothing but a plan that -o names.",
    discussion: """
      The text is about ten lines. --details adds every step, pass, chunk, lane with its reason, filter and loss. The time is \
      an estimate: a small sample of the source is made in memory. With --set on-loss=fail a loss ends with 65. --format dot and mermaid draw the mapping. -o writes the \
      plan as JSON with the digests of all that it depends on; `godwit run --plan FILE` does that plan, or says what changed \
      and ends with 73. Every row is counted, on all processors; --sample takes about a second for a store of any size and \
      says so in what it prints. Progress goes to standard error. The verdict is OK, LOSES, or SETS ASIDE or STOPS with \
      the exit status of the run, which is that of the plan too.
      """)

  @OptionGroup var job: JobOptions
  @OptionGroup var overrides: OverrideOptions

  @Option(
    help: ArgumentHelp(
      "Print text or JSON, or draw the mapping for Graphviz or Mermaid.", valueName: "text|json|dot|mermaid"))
  var format: Format = .text

  @Flag(help: "Print everything that the plan knows as text.")
  var details = false

  @Flag(
    inversion: .prefixedNo,
    help:
      "Estimate counts and losses from a sample of the source, not with -o and --diff; --no-sample counts each of many stores."
  )
  var sample: Bool?

  @Option(
    name: .customLong("diff"),
    help: ArgumentHelp(
      "Show what changed since an older plan in JSON: path, steps, mappings, losses, counts.", valueName: "OLD.json"),
    completion: .file(extensions: ["json"]))
  var older: String?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Write the plan as JSON for `godwit run --plan`; replaces an older plan. Reads all of the source once for its digest.",
      valueName: "FILE"), completion: .file())
  var output: String?

  @Flag(
    name: .customLong("detailed-exitcode"),
    help: "Exit with 2 if a migration is needed, otherwise with 0.")
  var detailedExitCode = false

  /// How a plan is printed.
  enum Format: String, ExpressibleByArgument, CaseIterable {
    case text, json, dot, mermaid
  }

  func validate() throws {
    if details, format != .text { throw ValidationError("--details is for text: JSON has everything") }
    if older != nil {
      if details { throw ValidationError("expected one of --details and --diff") }
      if ![.text, .json].contains(format) { throw ValidationError("--diff prints text or JSON") }
    }
    if sample == true {
      if output != nil { throw ValidationError("--sample estimates: a run cannot do the plan that -o would write") }
      if older != nil { throw ValidationError("--sample estimates: --diff compares counts") }
    }
    if output == "-" { throw ValidationError("-o writes a file: --format json prints the plan") }
  }

  static var outputs: [OutputKind] { [.plan, .planDifference, .stores] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    // Faults in these files are reported before anything is counted.
    let older = try self.older.map { (file: $0, plan: try PlanFile.read($0)) }
    if let output { try PlanFile.output(output).check() }
    let settings = try overrides.values()
    let loader = try job.loader(in: session, overrides: settings)
    if loader.isForManyStores { return try planMany(loader, in: session) }
    var migration = try loader.job()
    let printer = ProgressPrinter(
      mode: .auto, isQuiet: !session.diagnostics.isTerminal, stream: session.diagnostics)
    migration.hooks.samplesPlans = sample == true
    migration.hooks.whilePlanning = { printer.update($0) }
    let manager = MigrationManager(migration)
    if let output { try PlanFile.output(output).check(owner: manager.files.name) }
    let isFinished = try manager.isFinished()
    let plan: MigrationPlan?
    do {
      defer { printer.close() }
      try printer.begin()
      plan = isFinished ? nil : try manager.plan(estimatingTime: true)
    } catch {
      throw migration.tellingHints(error)
    }
    session.warnOfReplacedValues(in: migration)
    session.warnOfUnconfirmedHashRules(migration.destinationModel.unconfirmedHashRules.map(\.description))
    let isNeeded = plan != nil && !migration.fitsAlready
    var record = PlanRecord(migration, manager: manager, plan: plan, isNeeded: isNeeded)
    record.identity = PlanIdentity(manager.job, manifestPath: loader.manifest.file)
    if let older {
      record.identity?.source = try older.plan.identity?.source?.now(of: manager.job)
      let difference = PlanDifference(from: older.plan, to: record, file: older.file)
      if format == .json {
        try session.print(json: difference, as: .planDifference)
      } else {
        session.output.write("\(difference)\n")
      }
    } else {
      switch format {
      case .json: try session.print(json: record, as: .plan)
      case .text: session.output.write(text(plan, of: migration))
      case .dot: session.output.write(data: try picture(manager.job, plan).dot)
      case .mermaid: session.output.write(data: try picture(manager.job, plan).mermaid)
      }
    }
    let stop = plan.flatMap { migration.error(stopping: $0) }
    if let stop, let code = plan?.obstacles.first?.code, [.policyMissing, .losses].contains(code) { throw stop }
    if let output {
      if record.identity?.source == nil { record.identity?.source = try PlanIdentity.Source(of: manager.job) }
      record.manifest = PlanManifest(path: job.manifest, overrides: settings)
      try ExportFile.write(
        try JSONText.document(record) + "\n", to: PlanFile.output(output, like: migration.sourcePaths))
      session.diagnostics.write("wrote the plan to '\(output)'\n")
    }
    if let stop { throw stop }
    if try plan.map({ $0.setAside != nil }) ?? (manager.setAsideBefore() > 0) { return RunVerb.quarantinedStatus }
    return detailedExitCode && isNeeded ? 2 : 0
  }

  /// One table for all stores of a manifest whose source is a pattern.
  private func planMany(_ loader: JobLoader, in session: CommandSession) throws -> Int32 {
    let isForOne = older != nil || output != nil || details || sample == true || ![.text, .json].contains(format)
    // These show one plan.
    if isForOne { try loader.refuseManyStores() }
    return try StoreSurvey(session: session, loader: loader, verb: "plan", isJSON: format == .json)
      .plan(isDetailed: detailedExitCode, samples: sample != false) { $0.fitsAlready }
  }

  private func picture(_ job: MigrationJob, _ plan: MigrationPlan?) throws -> MappingPicture {
    guard let plan else {
      throw GodwitError(
        .cannotCreate, "cannot draw the job '\(job.name)': it is already finished",
        remedy: "name another destination with --destination to draw what the job would do again")
    }
    return MappingPicture(job, plan: plan)
  }
}

extension PlanVerb {
  private func text(_ plan: MigrationPlan?, of migration: MigrationJob) -> String {
    guard let plan else {
      return "job \(migration.name): already finished, nothing to do ('\(migration.destinationPath)')\n"
    }
    guard details else {
      return plan.overview + "\n" + (migration.fitsAlready ? "  " + Self.fits(migration) : "")
        + "  more         `godwit plan --details` shows every mapping, filter, lane, loss and note\n"
    }
    return "\(plan)\n" + (migration.fitsAlready ? Self.fits(migration) : "")
  }

  private static func fits(_ job: MigrationJob) -> String {
    "note         the source already has version '\(job.destinationModel.name)': no migration is needed, and `godwit run` \(!job.isInPlace ? "makes a copy" : "writes it again")\n"
  }
}

extension MigrationJob {
  /// The error of a plan whose run would stop, as the run has it; nil for a run that would not.
  func error(stopping plan: MigrationPlan) -> (any Error)? {
    switch plan.obstacles.first?.code {
    case .policyMissing: return missingPolicyError ?? plan.stopError
    case .losses: return error(for: plan.losses).map { tellingHints($0) } ?? plan.stopError
    default: return plan.stopError
    }
  }

  /// Whether the source already has the wanted version, and the job does nothing else with it.
  var fitsAlready: Bool {
    !appends && steps.allSatisfy { $0.isInferred && $0.willMigrate == nil && $0.didMigrate == nil }
      && sourceModel.isCompatible(with: destinationModel.versionHashes)
  }
}
