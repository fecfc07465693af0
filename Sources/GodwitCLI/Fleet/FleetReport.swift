import Foundation
import GodwitFleet
import GodwitModel
import GodwitPlatform
import GodwitStore

/// The page of a fleet: totals, versions, failures by kind, the slowest stores, the shards over time.
struct FleetReport {
  let plan: FleetPlan
  let totals: FleetTotals
  let made: Date

  /// What the page says it is, so that an older one is recognised.
  static let kind: StaticString = "fleet"

  /// Shards that are drawn; of more, the table of versions is enough.
  private static let drawnMaximum = 200

  var html: String {
    let sections: [(String, [Markup])] = [
      ("Totals", whole), ("Versions", versions), ("Failures", failures), ("The slowest stores", slowest),
      ("Shards over time", shards),
    ]
    var body: [Markup] = head
    for (title, parts) in sections where !parts.isEmpty {
      body.append(.element("section", [:], [.line, .element("h2", [:], Markup(text: title)), .line] + parts) + .line)
    }
    return HTMLPage.document(
      title: "Fleet \(plan.fleet)", kind: Self.kind, style: ReportPage.style,
      [.element("main", [:], [.line] + body)])
  }

  // MARK: Sections

  private var head: [Markup] {
    let (mark, state): (String, String) =
      totals.waiting > 0
      ? ("changed", "not ended") : totals.allFailed > 0 ? ("removed", "with failures") : ("added", "migrated")
    return [
      .element(
        "h1", [:], "Fleet ", .name(plan.fleet), " ",
        .element("span", ["class": "badge \(mark)"], Markup(text: state))), .line,
      ReportText.paragraph(
        "\(ReportText.number(totals.finished + totals.alreadyFinished)) of \(ReportText.number(plan.stores)) stores are migrated."
      ), ReportText.paragraph("Written at \(made.ISO8601Format()).", soft: true),
    ]
  }

  private var whole: [Markup] {
    let rows: [(String, Int64)] = [
      ("Finished", totals.finished), ("Already finished", totals.alreadyFinished),
      ("With objects in quarantine", totals.quarantined), ("Failed", totals.failed),
      ("In no shard: unreadable, or no model fits", plan.unreadable), ("Not ended", totals.waiting),
      ("Current before the plan", plan.current), ("Objects", totals.objects),
    ]
    var cells = rows.map { [Markup(text: $0.0), Markup(text: ReportText.number($0.1))] }
    cells.append(["Size of the stores", Markup(text: "\(ByteCount(bytes: totals.bytes))")])
    cells.append(["Time of all stores together", Markup(text: ReportText.time(totals.seconds))])
    return [ReportText.table("Totals", ["What", "How many"], numbers: [1], cells)]
  }

  private var versions: [Markup] {
    guard !plan.pairs.isEmpty else { return [] }
    let rows = zip(plan.pairs, totals.pairs).map { pair, sum -> [Markup] in
      let path: Markup =
        switch pair.outcome {
        case .migrate: pair.path.map { Markup.name($0) }.joined(" \u{2192} ")
        case .current: "already current"
        case .noPath: "no path"
        }
      return [
        .name(pair.version), Markup(text: ReportText.number(pair.stores)),
        Markup(text: ReportText.number(sum.finished)),
        Markup(text: ReportText.number(sum.failed)), Markup(text: ReportText.number(sum.objects)), path,
        pair.losses.map { Markup(text: $0) }.joined(.element("br")),
      ]
    }
    return [
      ReportText.table(
        "Versions", ["Version", "Stores", "Finished", "Failed", "Objects", "Path", "Losses"], numbers: [1, 2, 3, 4],
        prose: 6, rows)
    ]
  }

  private var failures: [Markup] {
    var parts: [Markup] = []
    for group in totals.failures {
      parts.append(
        .element(
          "h3", [:], .element("span", ["class": "badge removed"], Markup(text: group.code)),
          Markup(text: " \(FleetPlanText.count(group.count, "store"))")) + .line)
      let rows = group.examples.map { result -> [Markup] in
        [
          .name(result.store), Markup(text: "\(result.status)"), Markup(text: result.message ?? ""),
          Markup(text: result.remedy ?? ""),
        ]
      }
      parts.append(
        ReportText.table(
          "Examples of \(group.code)", ["Store", "Status", "Message", "What to do"], numbers: [1], prose: 2, rows))
    }
    if !plan.firstUnreadable.isEmpty {
      parts.append(
        .element("h3", [:], Markup(text: "In no shard: \(FleetPlanText.count(plan.unreadable, "store"))")) + .line)
      let rows = plan.firstUnreadable.map { store -> [Markup] in
        [.name(store.store), Markup(text: "\(store.status)"), Markup(text: store.message)]
      }
      parts.append(ReportText.table("In no shard", ["Store", "Status", "Message"], numbers: [1], prose: 2, rows))
    }
    return parts.isEmpty ? [ReportText.paragraph("No store failed.")] : parts
  }

  private var slowest: [Markup] {
    guard !totals.slowest.isEmpty else { return [] }
    let rows = totals.slowest.map { result -> [Markup] in
      [
        .name(result.store), Markup(text: ReportText.time(result.seconds)),
        Markup(text: result.bytes.map { "\(ByteCount(bytes: $0))" } ?? ""),
        Markup(text: result.objects.map(ReportText.number) ?? ""),
      ]
    }
    return [ReportText.table("The slowest stores", ["Store", "Time", "Size", "Objects"], numbers: [1, 2, 3], rows)]
  }

  // MARK: The shards

  private var shards: [Markup] {
    let worked = totals.shards.enumerated().compactMap { number, shard -> (number: Int, begin: Double, end: Double)? in
      guard let begin = shard.begin, let end = shard.end else { return nil }
      return (number, begin, max(begin, end))
    }
    guard let first = worked.map(\.begin).min(), let last = worked.map(\.end).max() else {
      return [ReportText.paragraph("No store has ended.")]
    }
    let span = max(last - first, 0.001)
    var parts: [Markup] = [
      ReportText.paragraph(
        "From \(FleetTime.text(Date(timeIntervalSince1970: first))), \(ReportText.time(last - first)).", soft: true)
    ]
    if worked.count <= Self.drawnMaximum { parts.append(picture(worked, from: first, span: span)) }
    let rows = worked.prefix(ReportText.rowsMaximum).map { shard -> [Markup] in
      let state = totals.shards[shard.number]
      return [
        Markup(text: "\(shard.number)"), Markup(text: ReportText.number(state.stores)),
        Markup(text: ReportText.number(state.done)), Markup(text: ReportText.number(state.failed)),
        Markup(text: ReportText.time(shard.end - shard.begin)),
      ]
    }
    parts.append(
      ReportText.hidden(
        "Table of shards",
        ReportText.table("Shards", ["Shard", "Stores", "Done", "Failed", "Time"], numbers: [0, 1, 2, 3, 4], rows)))
    return parts
  }

  /// A bar for each shard, from its first store to its last one.
  private func picture(_ worked: [(number: Int, begin: Double, end: Double)], from first: Double, span: Double)
    -> Markup
  {
    let (width, left, height) = (720.0, 48.0, 14.0)
    let room = width - left
    var parts: [Markup] = []
    for (row, shard) in worked.enumerated() {
      let y = Double(row) * height
      let x = left + (shard.begin - first) / span * room
      let length = max(1, (shard.end - shard.begin) / span * room)
      parts.append(
        .element(
          "text", ["x": "0", "y": ReportText.place(y + 10), "font-size": "10", "fill": "var(--soft)"],
          Markup(text: "\(shard.number)")))
      let failed = totals.shards[shard.number].failed > 0
      parts.append(
        .element(
          "rect",
          [
            "x": ReportText.place(x), "y": ReportText.place(y + 2), "width": ReportText.place(min(length, width - x)),
            "height": "9", "fill": failed ? "var(--loss)" : "var(--series)",
          ]))
      parts.append(.line)
    }
    let box = "0 0 \(ReportText.place(width)) \(ReportText.place(Double(worked.count) * height + 4))"
    return .element(
      "svg",
      [
        "viewBox": box, "role": "img", "width": "100%",
        "aria-label": "When each of \(worked.count) shards was at work; the table has the figures",
      ], parts) + .line
  }

  /// Whether an older page is at the path.
  ///
  /// - Throws: 73 when something else is there.
  static func output(_ path: String) -> OutputFile { ReportVerb.page(path, kind: kind) }
}
