import Foundation
import GodwitManifest
import GodwitModel

/// How the stores of a manifest stand, by the results of all shards.
struct StoresRecord: Encodable {
  struct Failure: Encodable {
    let store: String
    let status: Int32
    let time: String
    let message, remedy: String?
  }

  struct Failures: Encodable {
    let code: String
    var count: Int
    var examples: [Failure]

    /// `and 3 more`, beside the examples; nil where these are all.
    var more: String? {
      count > examples.count ? "and \(ReportText.number(Int64(count - examples.count))) more" : nil
    }
  }

  struct Slow: Encodable {
    let store: String
    let seconds: Double
    let objects: Int64?
  }

  let job: String
  /// The stores that the manifest names now, with places that cannot be looked at.
  private(set) var stores = 0
  private(set) var finished = 0
  private(set) var failed = 0
  /// Stores without a result that still holds.
  private(set) var left = 0
  private(set) var quarantined = 0
  private(set) var differing = 0
  /// Stores of which something was lost.
  private(set) var losing = 0
  private(set) var objects: Int64 = 0
  /// The sum of all stores.
  private(set) var seconds = 0.0
  /// The share of stores that are finished or failed.
  private(set) var percent = 100.0
  /// The shards on which a process works, such as `3/10`.
  let running: [String]
  /// When the last store ended; left out while none has.
  private(set) var lastEnd: String?
  /// The most first.
  private(set) var failures: [Failures] = []
  private(set) var slowest: [Slow] = []

  static let examplesMaximum = 5
  static let slowestMaximum = 20

  /// Reads the results of all shards, and looks which stores there are.
  init(_ loader: JobLoader, _ folder: ResultsFolder) throws {
    job = loader.manifest.job
    // Asked first: a shard that ends meanwhile is done, and not left.
    running = folder.exists ? try folder.running().map(\.description) : []
    let known = try KnownStores(loader, folder)
    var unreadable: [String] = []
    let found = try loader.selection(.whole, checksPlaces: false, unreadable: { path, _ in unreadable.append(path) })
    var groups: [String: Failures] = [:]
    for match in found.matches { add(known.result(of: found.store(match)), &groups) }
    for path in unreadable {
      let result = known.known[Text(loader.storeKey(path))]
      add(result?.isFailed == true ? result : nil, &groups)
    }
    failures = groups.values.sorted { ($1.count, $0.code) < ($0.count, $1.code) }
    if stores > 0 { percent = Double(stores - left) / Double(stores) * 100 }
  }

  private mutating func add(_ result: KnownResult?, _ groups: inout [String: Failures]) {
    stores += 1
    guard let result else {
      left += 1
      return
    }
    seconds += result.seconds
    lastEnd = max(lastEnd ?? "", result.time)
    slowest.append(Slow(store: result.store, seconds: result.seconds, objects: result.objects))
    if slowest.count >= 2 * Self.slowestMaximum { trim() }
    if result.status == GodwitError.Code.findings.rawValue { differing += 1 }
    guard result.isFailed else {
      finished += 1
      objects &+= result.objects ?? 0
      if result.status == RunVerb.quarantinedStatus { quarantined += 1 }
      if result.losses ?? 0 > 0 { losing += 1 }
      return
    }
    failed += 1
    let code = result.code ?? "findings"
    var group = groups[code] ?? Failures(code: code, count: 0, examples: [])
    group.count += 1
    if group.examples.count < Self.examplesMaximum {
      group.examples.append(
        Failure(
          store: result.store, status: result.status, time: result.time, message: result.message,
          remedy: result.remedy))
    }
    groups[code] = group
  }

  private mutating func trim() {
    slowest = Array(slowest.sorted { $0.seconds > $1.seconds }.prefix(Self.slowestMaximum))
  }

  var text: String {
    var text = "\(ProgressLine.percent(percent)) of job '\(job)'\n"
    let outcomes = [(finished, "finished"), (failed, "failed"), (left, "left")]
    let told = outcomes.filter { $0.0 > 0 }.map { "\(ReportText.number(Int64($0.0))) \($0.1)" }
    text += "  stores     \(told.isEmpty ? "none" : told.joined(separator: ", "))\n"
    if !running.isEmpty { text += "  shards     \(running.joined(separator: ", ")) running\n" }
    if quarantined > 0 { text += "  quarantine \(quarantined) with objects set aside\n" }
    if differing > 0 { text += "  proof      \(differing) differ from their sources\n" }
    if losing > 0 { text += "  losses     \(losing) lost something\n" }
    text += "  objects    \(ReportText.number(objects)), \(ReportText.time(seconds)) of all stores together\n"
    for group in failures {
      text += "\(group.code), \(ReportText.number(Int64(group.count))) failed:\n"
      for one in group.examples {
        text += "  \(one.store.onOneLine): \((one.message ?? "").onOneLine) (\(one.status))\n"
      }
      if let more = group.more { text += "  \(more)\n" }
    }
    return text
  }

  /// The page of `report`.
  func html(at date: Date) -> String {
    func number(_ value: Int) -> Markup { Markup(text: ReportText.number(Int64(value))) }
    let totals: [(String, Markup)] = [
      ("Finished", number(finished)), ("Failed", number(failed)), ("Left", number(left)),
      ("With objects in quarantine", number(quarantined)), ("That differ from their sources", number(differing)),
      ("That lost something", number(losing)), ("Objects", Markup(text: ReportText.number(objects))),
      ("Time of all stores together", Markup(text: ReportText.time(seconds))),
    ]
    let (mark, state) =
      left > 0 ? ("changed", "not ended") : failed > 0 ? ("removed", "with failures") : ("added", "migrated")
    var body: [Markup] = [
      .element(
        "h1", [:], "Stores of ", .name(job), " ", .element("span", ["class": "badge \(mark)"], Markup(text: state))),
      .line, ReportText.paragraph("Written at \(date.ISO8601Format()).", soft: true),
      ReportText.table("Totals", ["What", "How many"], numbers: [1], totals.map { [Markup(text: $0.0), $0.1] }),
    ]
    for group in failures {
      let rows = group.examples.map { one -> [Markup] in
        [
          .name(one.store), Markup(text: "\(one.status)"), Markup(text: one.message ?? ""),
          Markup(text: one.remedy ?? ""),
        ]
      }
      body += [
        .element("h2", [:], Markup(text: "Failed: \(group.code), \(ReportText.number(Int64(group.count)))")), .line,
        ReportText.table(
          "Examples of \(group.code)", ["Store", "Status", "Message", "What to do"], numbers: [1], prose: 2, rows),
      ]
      if let more = group.more { body.append(ReportText.paragraph("\(more).", soft: true)) }
    }
    let slow = slowest.sorted { $0.seconds > $1.seconds }.prefix(Self.slowestMaximum).map { one -> [Markup] in
      [
        .name(one.store), Markup(text: ReportText.time(one.seconds)),
        Markup(text: one.objects.map(ReportText.number) ?? ""),
      ]
    }
    if !slow.isEmpty {
      body += [
        .element("h2", [:], "The slowest stores"), .line,
        ReportText.table("The slowest stores", ["Store", "Time", "Objects"], numbers: [1, 2], slow),
      ]
    }
    return HTMLPage.document(
      title: "Stores of \(job)", kind: ReportVerb.kind, style: ReportPage.style,
      [.element("main", [:], [.line] + body)])
  }
}
