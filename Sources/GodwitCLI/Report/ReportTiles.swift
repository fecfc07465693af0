import Godwit
import GodwitJob
import GodwitModel

/// The result, the losses and the proof, side by side at the top of the page.
struct ReportTiles {
  /// One figure, with its colour.
  struct Tile: Equatable {
    enum Colour: String {
      case good = "added"
      case bad = "removed"
      case open = "changed"
      case idle = "renamed"
    }

    let title, figure: String
    var remark = ""
    let colour: Colour
  }

  let tiles: [Tile]

  init(_ content: ReportContent) {
    tiles = [Self.result(content), Self.losses(content), Self.proof(content)]
  }

  private static func result(_ content: ReportContent) -> Tile {
    let status = content.record.status
    let stops = content.obstacles.isEmpty ? "" : "The next run stops."
    switch status.state {
    case .finished, .outdated:
      let objects = content.record.receipt?.entities.reduce(Int64(0)) { $0 &+ $1.objects }
      let made = objects.map { ReportText.number($0) + ($0 == 1 ? " object" : " objects") } ?? ""
      return Tile(
        title: "Result", figure: status.state.rawValue,
        remark: [made, stops].filter { !$0.isEmpty }.joined(separator: ". "),
        colour: status.state == .finished ? .good : .open)
    case .unfinished:
      return Tile(
        title: "Result", figure: "\(ProgressLine.percent(status.percent)) durable", remark: stops, colour: .open)
    case .notStarted:
      let verdict = content.plan?.verdict.split(separator: ":").first.map(String.init) ?? "no plan"
      return Tile(
        title: "Result", figure: "not started", remark: "Plan: \(verdict)",
        colour: content.plan == nil || verdict.hasPrefix("STOPS") ? .bad : .idle)
    case .foreign: return Tile(title: "Result", figure: "not of this job", remark: stops, colour: .bad)
    }
  }

  private static func losses(_ content: ReportContent) -> Tile {
    let isPast = content.record.receipt != nil
    guard isPast || content.plan != nil else { return Tile(title: "Losses", figure: "not known", colour: .open) }
    let lost = content.losses.filter(\.isLoss)
    let uncounted = content.losses.count { $0.count == nil && $0.kind != .policy }
    let later = uncounted > 0 ? uncounted.counted("possible loss is", "possible losses are") + " not counted yet" : ""
    guard !lost.isEmpty else {
      return Tile(
        title: "Losses", figure: uncounted > 0 ? "none so far" : "none", remark: later,
        colour: uncounted > 0 ? .open : .good)
    }
    let nouns: [(String, [LossReport.Kind])] = [
      ("object", [.objects]), ("value", [.values, .nils, .rounded]), ("row", [.rows]),
      ("link", [.links, .order, .ambiguousToOne]),
    ]
    var parts = nouns.compactMap { noun, kinds -> String? in
      let count = lost.reduce(Int64(0)) { kinds.contains($1.kind) ? $0 &+ ($1.count ?? 0) : $0 }
      return count == 0 ? nil : "\(ReportText.number(count)) \(noun)\(count == 1 ? "" : "s")"
    }
    let policies = lost.count { $0.kind == .policy }
    if policies > 0 { parts.append("the work of " + policies.counted("policy", "policies")) }
    let accepted = lost.count { $0.isAccepted == true }
    let remarks = [accepted == 0 ? "" : accepted == lost.count ? "accepted" : "\(accepted) accepted", later]
    return Tile(
      title: isPast ? "Lost" : "Will be lost", figure: parts.joined(separator: ", "),
      remark: remarks.filter { !$0.isEmpty }.joined(separator: "; "), colour: accepted == lost.count ? .open : .bad)
  }

  private static func proof(_ content: ReportContent) -> Tile {
    let files = content.found.filter { $0.type == OutputKind.verify.rawValue }
    let found = files.reduce(0) { $0 + $1.total }
    if found > 0 { return Tile(title: "Proof", figure: found.counted("difference"), colour: .bad) }
    if content.record.status.findings != nil {
      return Tile(title: "Proof", figure: "differences", remark: "found by the last verification", colour: .bad)
    }
    guard !files.isEmpty else { return Tile(title: "Proof", figure: "none", remark: "see Findings", colour: .open) }
    return Tile(title: "Proof", figure: "no difference", colour: .good)
  }

  var markup: Markup {
    let items = tiles.map { tile -> Markup in
      var parts: [Markup] = [
        .element("h2", [:], Markup(text: tile.title)), .element("p", ["class": "figure"], Markup(text: tile.figure)),
      ]
      if !tile.remark.isEmpty { parts.append(.element("p", [:], Markup(text: tile.remark))) }
      return .element("div", ["class": "tile \(tile.colour.rawValue)"], parts) + .line
    }
    return .element("div", ["class": "tiles"], [.line] + items) + .line
  }

  static let style = """
    .tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(12rem, 1fr)); gap: 0.75rem; margin: 1rem 0; }
    .tile { border-radius: 8px; padding: 0.75rem 1rem; }
    .tile h2 { font-size: 0.875rem; font-weight: normal; margin: 0; }
    .tile p { margin: 0; font-size: 0.875rem; }
    .tile .figure { font-size: 1.25rem; font-weight: 600; line-height: 1.3; }
    """
}
