import GodwitJob
import GodwitModel

/// When the chunks of a job ran, how fast, and in how much memory: three pictures over one axis of time.
///
/// The axis has the time that runs took, one after the other. The time between two runs is left out.
struct RunPicture {
  private let history: RunHistory
  /// Where each run begins on the axis, in seconds.
  private let offsets: [Double]
  private let total: Double

  init(_ history: RunHistory) {
    self.history = history
    var offsets: [Double] = []
    var sum = 0.0
    for run in history.runs {
      offsets.append(sum)
      sum += run.seconds
    }
    self.offsets = offsets
    total = max(sum, 0.001)
  }

  private func begin(_ entry: RunHistory.Entry) -> Double { offsets[entry.run] + entry.start }
  private func end(_ entry: RunHistory.Entry) -> Double { offsets[entry.run] + entry.end }
  /// The place of a moment in a drawing that is 1000 wide.
  private func x(_ seconds: Double) -> Double { seconds / total * 1000 }

  // MARK: Lanes

  /// The work at one place of the order.
  struct Lane: Hashable {
    let step, pass: Int
    let stage: String

    func name(ofSteps steps: Int) -> String {
      stage + (steps > 1 && step > 0 ? ", step \(step)" : "") + (pass > 0 ? ", pass \(pass)" : "")
    }
  }

  /// More lanes are drawn as one for each stage.
  static let lanesMaximum = 24

  private var steps: Int { history.entries.reduce(1) { max($0, $1.step) } }

  /// The lanes in the order of time, with their entries.
  private var allLanes: [(key: Lane, elements: [RunHistory.Entry])] {
    history.entries.grouped { Lane(step: $0.step, pass: $0.pass, stage: $0.stage) }
  }

  /// Two lines of a label.
  private static let lanePixels = 28.0

  /// One bar for each entry, in the lane of its stage.
  var timeline: Markup {
    let all = allLanes
    let shown =
      all.count > Self.lanesMaximum ? history.entries.grouped { Lane(step: 0, pass: 0, stage: $0.stage) } : all
    let height = Double(shown.count) * Self.lanePixels
    var parts: [Markup] = []
    for (row, lane) in shown.enumerated() {
      for entry in lane.elements {
        parts.append(
          .element(
            "rect",
            [
              "class": "bar", "x": ReportText.place(x(begin(entry))),
              "y": ReportText.place(Double(row) * Self.lanePixels + 4),
              "width": ReportText.place(max(1.5, x(entry.seconds))), "height": ReportText.place(Self.lanePixels - 8),
            ]))
      }
    }
    let names = shown.map { lane in
      Markup.element("div", ["class": "lane"], Markup(text: lane.key.name(ofSteps: steps)))
    }
    let label = "Timeline: \(shown.count) stages over \(ReportText.time(total)); the table has the figures"
    return figure(label, names: .element("div", [:], names), drawing(parts, height: height))
  }

  // MARK: Curves

  /// Rows are spread over so many parts of the time.
  static let parts = 100

  /// Rows per second in each part of the time.
  var rates: [Double] {
    let width = total / Double(Self.parts)
    var rows = [Double](repeating: 0, count: Self.parts)
    for entry in history.entries where entry.rows > 0 {
      let (begin, end) = (begin(entry), max(end(entry), begin(entry) + total / 100_000))
      let first = min(Self.parts - 1, max(0, Int(begin / width)))
      let last = min(Self.parts - 1, max(first, Int(end / width)))
      for part in first...last {
        let low = part == first ? begin : Double(part) * width
        let high = part == last ? end : Double(part + 1) * width
        rows[part] += Double(entry.rows) * max(0, high - low) / (end - begin)
      }
    }
    return rows.map { $0 / width }
  }

  /// The highest rate that is drawn: the 95th percentile of those above 0. A short peak would flatten all others.
  var drawnRate: Double {
    let sorted = rates.filter { $0 > 0 }.sorted()
    guard let last = sorted.indices.last else { return 1 }
    return max(sorted[min(last, Int((Double(sorted.count) * 0.95).rounded(.up)) - 1)], 1)
  }

  /// The sentence that says how the picture of the throughput is cut; nil if it is not.
  var cutText: String? {
    let highest = rates.max() ?? 0
    let text = ReportText.short(highest)
    guard highest > drawnRate, text != ReportText.short(drawnRate) else { return nil }
    return "The picture is cut at the 95th percentile. The highest rate is \(text) rows/s."
  }

  /// Rows per second over time.
  var throughput: Markup {
    let rates = rates
    let most = drawnRate
    var points = ["0,100"]
    for (part, rate) in rates.enumerated() {
      let y = ReportText.place(100 - min(rate / most, 1) * 96)
      points.append("\(ReportText.place(Double(part) * 1000 / Double(Self.parts))),\(y)")
      points.append("\(ReportText.place(Double(part + 1) * 1000 / Double(Self.parts))),\(y)")
    }
    points.append("1000,100")
    let area = Markup.element("path", ["class": "area", "d": "M" + points.joined(separator: "L") + "Z"])
    let rate = "\(ReportText.short(most)) rows/s"
    return figure(
      "Throughput: up to \(rate); the table has the figures",
      names: Self.axis([rate, "0"]), drawing([area], height: 100, pixels: 120))
  }

  /// Resident memory over time: the program below, and the budget above it.
  var memory: Markup {
    let peak = history.entries.map(\.residentBytes).max() ?? 0
    let limits = history.runs.map { run in run.budgetBytes &+ (run.programBytes ?? 0) }
    let top = Double(max(peak, limits.max() ?? 0, 1)) * 1.08
    func y(_ bytes: Int64) -> String { ReportText.place(100 - Double(bytes) / top * 100) }
    var parts: [Markup] = []
    for run in history.runs.indices {
      let entries = history.entries.filter { $0.run == run }
      guard let first = entries.first else { continue }
      let points =
        ["\(ReportText.place(x(begin(first)))),\(y(first.residentBytes))"]
        + entries.map { "\(ReportText.place(x(end($0)))),\(y($0.residentBytes))" }
      parts.append(.element("polyline", ["class": "curve", "points": points.joined(separator: " ")]))
      let (from, to) = (x(offsets[run]), x(offsets[run] + history.runs[run].seconds))
      if let program = history.runs[run].programBytes {
        let height = Double(program) / top * 100
        let band = Markup.element(
          "rect",
          [
            "class": "program", "x": ReportText.place(from), "y": ReportText.place(100 - height),
            "width": ReportText.place(to - from), "height": ReportText.place(height),
          ])
        parts.insert(band, at: 0)
      }
      parts.append(
        .element(
          "line",
          [
            "class": "limit", "x1": ReportText.place(from), "x2": ReportText.place(to), "y1": y(limits[run]),
            "y2": y(limits[run]),
          ]))
    }
    let text = memoryText
    return figure(
      "Resident memory: \(text); the table has the figures",
      names: Self.axis(["\(ByteCount(bytes: Int64(min(top, 9e18))))", "0"]), drawing(parts, height: 100, pixels: 120))
  }

  /// The peak, the last budget, and the program's part.
  var memoryText: String {
    let peak = history.entries.map(\.residentBytes).max() ?? 0
    return RunSummary.memory(
      peak: peak, budget: ByteCount(bytes: history.runs.last?.budgetBytes ?? 0),
      programBytes: history.runs.last?.programBytes)
  }

  var memoryLegend: String {
    history.runs.contains { $0.programBytes != nil }
      ? "The band is the program before the run began. The dashed line is the budget above it."
      : "The dashed line is the budget. The program itself comes on top."
  }

  // MARK: Frames

  private func drawing(_ parts: [Markup], height: Double, pixels: Double? = nil) -> Markup {
    let size = ReportText.place(height)
    // A line where a run ended and the next one began.
    let cuts = offsets.dropFirst().map { offset -> Markup in
      let place = ReportText.place(x(offset))
      return .element("line", ["class": "cut", "x1": place, "x2": place, "y1": "0", "y2": size])
    }
    return .element(
      "svg",
      [
        "viewBox": "0 0 1000 \(size)", "preserveAspectRatio": "none",
        "style": "height:\(ReportText.place(pixels ?? height))px", "aria-hidden": "true",
      ], parts + cuts)
  }

  private static func axis(_ texts: [String]) -> Markup {
    .element("div", ["class": "axis"], texts.map { .element("div", [:], Markup(text: $0)) })
  }

  private func figure(_ label: String, names: Markup, _ drawing: Markup) -> Markup {
    let times = [0, total / 2, total].map { Markup.element("span", [:], Markup(text: ReportText.time($0))) }
    let parts: [Markup] = [
      .element("div", ["class": "names"], names), drawing, .element("div", [:]),
      .element("div", ["class": "times"], times),
    ]
    return .element("div", ["class": "plot", "role": "img", "aria-label": label], parts) + .line
  }

  // MARK: Tables

  /// The time and memory of each stage.
  var stages: Markup {
    let steps = steps
    let rows = allLanes.map { lane, entries -> [Markup] in
      let seconds = entries.reduce(0) { $0 + $1.seconds }
      let rows = entries.reduce(Int64(0)) { $0 + $1.rows }
      let memory = entries.map(\.residentBytes).max() ?? 0
      let names = Set(entries.map(\.name)).subtracting([""]).sorted()
      var what = names.prefix(4).map { Markup.name($0) }.joined(", ")
      if names.count > 4 { what += Markup(text: " and \(names.count - 4) more") }
      return [
        Markup(text: lane.name(ofSteps: steps)), what,
        Markup(text: ReportText.number(Int64(entries.reduce(0) { $0 + $1.chunks }))),
        Markup(text: ReportText.number(rows)),
        Markup(text: ReportText.time(seconds)),
        Markup(text: rows > 0 && seconds > 0 ? ReportText.short(Double(rows) / seconds) : ""),
        Markup(text: "\(ByteCount(bytes: memory))"),
      ]
    }
    return ReportText.table(
      "Stages, with chunks, rows, time and memory",
      ["Stage", "What", "Chunks", "Rows", "Time", "Rows/s", "Memory"], numbers: [2, 3, 4, 5, 6], rows)
  }

  /// Every entry.
  var entries: Markup {
    let rows = history.entries.map { entry -> [Markup] in
      [
        Markup(text: ReportText.time(begin(entry))), Markup(text: "\(entry.run + 1 + history.earlierRuns)"),
        Markup(text: Lane(step: entry.step, pass: entry.pass, stage: entry.stage).name(ofSteps: steps)),
        .name(entry.name), Markup(text: ReportText.number(Int64(entry.chunks))),
        Markup(text: ReportText.number(entry.rows)), Markup(text: ReportText.time(entry.seconds)),
        Markup(text: "\(ByteCount(bytes: entry.residentBytes))"),
      ]
    }
    return ReportText.table(
      "Neighbouring chunks over time", ["At", "Run", "Stage", "What", "Chunks", "Rows", "Time", "Memory"],
      numbers: [0, 1, 4, 5, 6, 7], rows)
  }

  /// The runs of the job.
  var runs: Markup {
    let rows = history.runs.enumerated().map { index, run -> [Markup] in
      let isLast = index == history.runs.count - 1
      let end = run.outcome?.rawValue ?? (isLast ? "under way, or killed" : "killed")
      return [
        Markup(text: "\(index + 1 + history.earlierRuns)"), Markup(text: run.began),
        Markup(text: ReportText.time(run.seconds)), Markup(text: "\(ByteCount(bytes: run.budgetBytes))"),
        Markup(text: end),
      ]
    }
    return ReportText.table("Runs", ["Run", "Began (UTC)", "Took", "Budget", "End"], rows)
  }

  static let style = """
    .plot { display: grid; grid-template-columns: 10rem minmax(0, 1fr); column-gap: 0.5rem;
      margin: 0.25rem 0 1rem; font-size: 0.8125rem; }
    .plot svg { display: block; width: 100%; border-bottom: 1px solid var(--axis); }
    .names { color: var(--soft); }
    .lane { height: 28px; line-height: 14px; display: flex; align-items: center; overflow-wrap: anywhere; }
    .axis { height: 100%; display: flex; flex-direction: column; justify-content: space-between; text-align: right;
      line-height: 1.2; }
    .times { display: flex; justify-content: space-between; color: var(--soft); }
    .bar, .area { fill: var(--series); }
    .curve { fill: none; stroke: var(--series); stroke-width: 2px; vector-effect: non-scaling-stroke; }
    .program { fill: var(--axis); opacity: 0.35; }
    .limit { stroke: var(--limit); stroke-width: 2px; stroke-dasharray: 6 4; vector-effect: non-scaling-stroke; }
    @media (max-width: 30rem) { .plot { grid-template-columns: 8rem minmax(0, 1fr); font-size: 0.75rem; } }
    .cut { stroke: var(--axis); stroke-width: 1px; stroke-dasharray: 2 3; vector-effect: non-scaling-stroke; }
    """
}
