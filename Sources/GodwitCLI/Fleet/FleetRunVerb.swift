import ArgumentParser
import GodwitFleet
import GodwitManifest

struct FleetRunVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "run", abstract: "Migrate the stores of a shard, or of all shards.",
    discussion: """
      A process may be killed at any time: the same command goes on. Several may run at once, on machines that share the \
      fleet's folder, each with a shard of its own. A store that fails is recorded and passed by.
      """)

  @OptionGroup var options: FleetOptions

  @Option(
    help: ArgumentHelp("The shard to work off; all of them, one after the other, without it.", valueName: "N"))
  var shard: Int?

  @Option(
    help: ArgumentHelp(
      "How many stores to migrate at the same time, 1 to 64. They share the memory.", valueName: "N"))
  var jobs: Int?

  @Option(
    name: .customLong("max-duration"),
    help: ArgumentHelp(
      "Stop at a checkpoint, with status 75, after a time such as 3h, 90m, 45s or 1h30m.", valueName: "time"),
    transform: TimeBox.parse)
  var maximumDuration: TimeBox?

  @Flag(help: "For a worker of a scheduler: SIGINT and SIGTERM end the run with 75, after a checkpoint.")
  var worker = false

  @Flag(help: "Migrate again the stores that have failed; those in which a proof found something, only with --verify.")
  var retry = false

  @Flag(help: "Prove each store as `godwit verify` does when it is migrated; exit with 4 if something differs.")
  var verify = false

  @Option(help: ArgumentHelp("How to show progress.", valueName: "auto|bar|plain|json|none"))
  var progress: ProgressMode = .auto

  @Flag(name: .shortAndLong, help: "Print nothing unless something is wrong.")
  var quiet = false

  static var outputs: [OutputKind] { [.progress] }
  static var isForOutput: Bool { false }

  func validate() throws {
    let range = JobLoader.jobsAtOnce
    guard jobs.map(range.contains) ?? true else {
      throw ValidationError("--jobs takes a number from \(range.lowerBound) to \(range.upperBound)")
    }
  }

  mutating func run(in session: CommandSession) throws -> Int32 {
    // First of all: reading models over a network takes a moment, and a worker must not die by a signal meanwhile.
    let signals = StopSignals(isWorker: worker)
    let fleet = try options.fleet()
    let job = try options.job(of: fleet, in: session)
    var run = try FleetRun(session: session, fleet: fleet, job: job, jobs: jobs)
    run.mode = progress
    run.isQuiet = quiet
    run.isWorker = worker
    run.signals = signals
    run.retries = retry
    run.verifies = verify
    run.maximumSeconds = maximumDuration.map { Double($0.seconds) }
    return try run.run(shard: shard)
  }
}
