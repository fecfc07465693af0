import ArgumentParser
import Foundation
import GodwitFleet
import GodwitManifest
import GodwitModel
import GodwitStore

struct FleetMergeVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "merge", abstract: "Put the results of all shards together: totals, a page, a list of what failed.",
    discussion: """
      Exits with 0 when every store is migrated, 3 with objects in quarantine, 4 when a proof found something, 65 when a \
      store failed, 75 when some have not ended. Failures beyond the limits are 65 even then: nothing goes on.
      """)

  @OptionGroup var options: FleetOptions
  @OptionGroup var format: FormatOptions

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("Write a page of HTML; replaces an older one.", valueName: "FILE"), completion: .file())
  var output: String?

  @Option(
    help: ArgumentHelp("Write the last result of each store to one file of JSON lines.", valueName: "FILE"),
    completion: .file())
  var results: String?

  @Option(
    name: .customLong("retry-list"),
    help: ArgumentHelp("Write the paths of the stores that failed, one on each line.", valueName: "FILE"),
    completion: .file())
  var retryList: String?

  static var outputs: [OutputKind] { [.fleetMerge] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let fleet = try options.fleet()
    let folder = fleet.place
    let plan = try folder.plan()
    let page = output.map(FleetReport.output)
    try page?.check()
    let outputs = MergeOutputs(fleet, page: output, results: results, retryList: retryList)
    try outputs.refuseSameFiles()
    let all = try results.map { try ExportFile(outputs.results($0)) }
    let failed = try retryList.map { try ExportFile(outputs.list($0)) }
    // An older list has stores of the fleet and nothing else.
    var older = try retryList.map(outputs.lines) ?? []
    var unlisted = 0
    func wholePath(_ store: String) -> String {
      FleetPaths.absolute(store.isWholePath ? store : fleet.base + store)
    }
    func list(_ store: String) throws {
      guard let failed else { return }
      let path = wholePath(store)
      // A list has no way to say it.
      guard !path.contains(where: \.isNewline) else {
        unlisted += 1
        return
      }
      try failed.write(path + "\n")
    }
    let totals: FleetTotals
    do {
      totals = try FleetTotals(folder, plan: plan) { result, line in
        try all?.write(String(decoding: line, as: UTF8.self) + "\n")
        if !older.isEmpty { older.remove(Array(wholePath(result.store).utf8)) }
        if result.outcome == .failed { try list(result.store) }
      }
      if plan.unreadable > 0 {
        let lines = try LineFile(path: folder.unreadablePath)
        while let line = try lines.next() {
          guard let result = FleetResult(line: line.bytes) else { continue }
          try all?.write(String(decoding: line.bytes, as: UTF8.self) + "\n")
          older.remove(Array(wholePath(result.store).utf8))
          try list(result.store)
        }
      }
      if let line = older.first, let retryList { throw outputs.foreign(line, in: retryList) }
      try all?.finish()
      try failed?.finish()
    } catch {
      all?.discard()
      failed?.discard()
      throw error
    }
    if unlisted > 0 { session.warn("\(unlisted) paths with a line break are not in '\(retryList ?? "")'") }
    let record = FleetMergeRecord(plan, totals, limits: .init(fleet.failures))
    if let page { try ExportFile.write(FleetReport(plan: plan, totals: totals, made: Date()).html, to: page) }
    switch format.format {
    case .json: try session.print(json: record, as: .fleetMerge)
    case .text: session.output.write(Self.text(record))
    }
    return record.status
  }

  private static func text(_ record: FleetMergeRecord) -> String {
    let parts: [(Int64, String)] = [
      (record.finished, "finished"), (record.alreadyFinished, "already finished"),
      (record.quarantined, "with objects in quarantine"), (record.failed, "failed"),
      (record.unreadable, "not migrated because they cannot be read or no model fits"), (record.waiting, "not ended"),
      (record.current, "current before"),
    ]
    var text = "fleet '\(record.fleet)': \(FleetPlanText.count(record.stores, "store"))\n"
    for (number, what) in parts where number > 0 { text += "  \(ReportText.number(number)) \(what)\n" }
    text += "  \(ReportText.number(record.objects)) objects, \(ByteCount(bytes: record.bytes)) of stores\n"
    let header = ["VERSION", "STORES", "FINISHED", "FAILED", "OBJECTS", "SECONDS"]
    let rows = record.pairs.map { pair in
      [
        pair.version.onOneLine, ReportText.number(pair.stores), ReportText.number(pair.finished),
        ReportText.number(pair.failed), ReportText.number(pair.objects), Clock.text(pair.seconds),
      ]
    }
    text += TextColumns.text([header] + rows, numbers: [1, 2, 3, 4, 5])
    for group in record.failures {
      text += "\(group.code): \(FleetPlanText.count(group.count, "store"))\n"
      for example in group.examples {
        text += "  \(example.store.onOneLine): \((example.message ?? "").onOneLine) (\(example.status))\n"
      }
    }
    if record.foreignLines > 0 { text += "\(record.foreignLines) lines of results are of another plan\n" }
    return text
  }
}
