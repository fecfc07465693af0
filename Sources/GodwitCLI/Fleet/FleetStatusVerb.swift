import ArgumentParser
import GodwitFleet
import GodwitManifest
import GodwitModel

struct FleetStatusVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Show how far a fleet is: shards, stores, speed, the last failures.",
    discussion: "Writes nothing, and works beside running shards.")

  @OptionGroup var options: FleetOptions
  @OptionGroup var format: FormatOptions

  static var outputs: [OutputKind] { [.fleetStatus] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let fleet = try options.fleet()
    let folder = fleet.place
    let plan = try folder.plan()
    // Asked first: a shard that ends meanwhile is done, and not waiting.
    let running = Set((0..<plan.shards).filter(folder.isLocked))
    let totals = try FleetTotals(folder, plan: plan)
    let record = FleetStatusRecord(fleet, plan, totals, running: running)
    switch format.format {
    case .json: try session.print(json: record, as: .fleetStatus)
    case .text: session.output.write(Self.text(record, foreign: totals.foreign))
    }
    return 0
  }

  private static func text(_ record: FleetStatusRecord, foreign: Int) -> String {
    let shards = record.shards
    var text = "\(ReportText.percent(record.percent)) of fleet '\(record.fleet)'"
    if let limit = record.limit { text += ", stopped: \(limit)" }
    text += "\n  shards     \(shards.done) done, \(shards.running) running, \(shards.waiting) waiting\n"
    let outcomes: [(Int64, String)] = [
      (record.finished, "finished"), (record.alreadyFinished, "already finished"), (record.failed, "failed"),
      (record.waiting, "waiting"),
    ]
    let told = outcomes.filter { $0.0 > 0 }.map { "\(ReportText.number($0.0)) \($0.1)" }.joined(separator: ", ")
    text += "  stores     \(told.isEmpty ? "none" : told)\n"
    if record.canaryEnded == false { text += "  canary     not ended: the other shards wait for it\n" }
    if record.quarantined > 0 { text += "  quarantine \(FleetPlanText.count(record.quarantined, "store"))\n" }
    if record.unreadable > 0 {
      text += "  unreadable \(FleetPlanText.count(record.unreadable, "store")) in no shard\n"
    }
    if let rate = record.storesPerSecond {
      let tenths = Int64(min(rate, 1e12) * 10)
      text += "  speed      \(tenths / 10).\(tenths % 10) stores/s"
      if let left = record.secondsLeft { text += ", \(ReportText.time(left)) left" }
      text += "\n"
    }
    if foreign > 0 { text += "  note       \(foreign) lines of results are of another plan\n" }
    if !record.lastFailures.isEmpty { text += "last failures:\n" }
    for failure in record.lastFailures {
      text += "  \(failure.store.onOneLine): \((failure.message ?? failure.code ?? "").onOneLine) (\(failure.status))\n"
    }
    return text
  }
}
