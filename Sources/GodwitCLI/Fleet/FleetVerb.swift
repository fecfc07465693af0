import ArgumentParser
import Foundation
import GodwitFleet
import GodwitManifest
import GodwitModel

struct FleetVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fleet", abstract: "Migrate very many stores: plan shards, run them anywhere, merge what they found.",
    subcommands: [
      FleetPlanVerb.self, FleetRunVerb.self, FleetStatusVerb.self, FleetMergeVerb.self, FleetSubmitVerb.self,
    ])
}

/// The fleet's file, and whether reading it is logged.
struct FleetOptions: ParsableArguments {
  @Argument(help: ArgumentHelp("The fleet's file.", valueName: "FLEET.yaml"), completion: .manifest)
  var file: String

  @Flag(name: .shortAndLong, help: "Log each action to standard error.")
  var verbose = false

  func fleet() throws -> FleetManifest { try FleetManifest(contentsOf: file) }

  /// The loader of the job, as its manifest has it.
  func job(of fleet: FleetManifest, in session: CommandSession) throws -> JobLoader {
    let path = fleet.job.resolved
    return try session.loader(ofManifest: path == "-" ? "./-" : path, overrides: [], isVerbose: verbose)
  }
}

extension FleetManifest {
  /// The folder that all machines share.
  var place: FleetFolder { FleetFolder(path: folder.resolved) }
}

struct FleetPlanVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "plan", abstract: "Find the stores of a fleet, and cut what is to be done into shards.",
    discussion: """
      Reads the metadata and the size of each store, and no row. Writes the fleet's folder. A plan that has results is \
      replaced with --force only.
      """)

  @OptionGroup var options: FleetOptions
  @OptionGroup var format: FormatOptions

  @Flag(help: "Replace a plan that has results, and its results. Stores that are finished are passed by.")
  var force = false

  static var outputs: [OutputKind] { [.fleetPlan] }
  static var isForOutput: Bool { false }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let fleet = try options.fleet()
    let planner = try FleetPlanner(fleet, job: options.job(of: fleet, in: session))
    let (plan, isKept) = try planner.plan(isForced: force)
    switch format.format {
    case .json: session.output.write(try JSONText.document(plan) + "\n")
    case .text:
      session.output.write(FleetPlanText.text(plan, folder: fleet.place.path))
      if isKept { session.output.write("the earlier plan stands: nothing differs from it\n") }
    }
    return 0
  }
}

/// A plan of a fleet as text.
enum FleetPlanText {
  static func text(_ plan: FleetPlan, folder: String) -> String {
    var text = "fleet '\(plan.fleet)': \(count(plan.stores, "store")) to migrate, \(ByteCount(bytes: plan.bytes))\n"
    let others: [(Int64, String)] = [
      (plan.current, "already current"), (plan.duplicates, "named twice"),
      (plan.oldStores ?? 0, "left out as old stores of others"), (plan.unreadable, "cannot be migrated"),
    ]
    for (number, what) in others where number > 0 { text += "  \(ReportText.number(number)) \(what)\n" }
    if plan.shards > 0 {
      text += "  \(count(Int64(plan.shards), "shard")) in \(folder.onOneLine)"
      if plan.canary { text += ", the first a canary of \(count(plan.canaryStores, "store"))" }
      text += ", \(plan.jobs) stores at a time in a process of \(ByteCount(bytes: plan.memoryBytes))\n"
      text +=
        "  about \(ReportText.time(plan.estimatedSeconds)) of one process, the longest shard "
        + "\(ReportText.time(plan.largestShardSeconds))\n"
    }
    text += table(plan)
    for pair in plan.pairs {
      for loss in pair.losses { text += "loss of \(pair.version.onOneLine): \(loss.onOneLine)\n" }
      if let message = pair.message { text += "\(pair.version.onOneLine): \(message.onOneLine)\n" }
    }
    for store in plan.firstUnreadable {
      text += "\(store.store.onOneLine): \(store.message.onOneLine) (\(store.status))\n"
    }
    if plan.unreadable > Int64(plan.firstUnreadable.count) { text += "all of them: \(folder)/unreadable.jsonl\n" }
    return text
  }

  static func count(_ number: Int64, _ what: String) -> String {
    "\(ReportText.number(number)) \(what)\(number == 1 ? "" : "s")"
  }

  private static func table(_ plan: FleetPlan) -> String {
    let header = ["VERSION", "STORES", "SIZE", "PATH", "LOSSES"]
    let rows = plan.pairs.map { pair -> [String] in
      let path =
        switch pair.outcome {
        case .migrate: pair.path.joined(separator: " -> ")
        case .current: "already current"
        case .noPath: "no path"
        }
      return [
        pair.version.onOneLine, ReportText.number(pair.stores), "\(ByteCount(bytes: pair.bytes))", path.onOneLine,
        pair.losses.isEmpty ? "" : "\(pair.losses.count)",
      ]
    }
    return TextColumns.text([header] + rows, numbers: [1, 2, 4])
  }
}

/// Rows of text in columns.
enum TextColumns {
  /// - Parameter numbers: The columns whose cells end at the same place.
  static func text(_ lines: [[String]], numbers: Set<Int>) -> String {
    guard let first = lines.first else { return "" }
    let widths = first.indices.map { column in lines.reduce(0) { max($0, $1[column].count) } }
    return lines.map { line in
      var text = ""
      for (column, cell) in line.enumerated() {
        let padding = String(repeating: " ", count: widths[column] - cell.count)
        text += (numbers.contains(column) ? padding + cell : cell + padding) + "  "
      }
      while text.hasSuffix(" ") { text.removeLast() }
      return text + "\n"
    }.joined()
  }
}
