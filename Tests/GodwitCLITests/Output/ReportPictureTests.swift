import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import GodwitCLI
@testable import GodwitJob

/// The pictures of a report, by their numbers.
struct ReportPictureTests {
  private static func flows(
    _ mappings: [(String, String, Int64, Int64)], lost: [(String, Int64)] = []
  ) -> ObjectFlows {
    let made = mappings.map { source, destination, taken, made in
      Receipt.Mapping(
        name: "\(source)To\(destination)", source: source, destination: destination, objectsIn: taken, taken: taken,
        leftOut: 0, made: made)
    }
    let dropped = lost.map { Receipt.Dropped(entity: $0.0, objects: $0.1, reason: .noMapping) }
    return ObjectFlows(
      Receipt.Step(sourceModel: "1", destinationModel: "2", plan: "", mappings: made, dropped: dropped), step: .first)
  }

  @Test func `bands are as wide as there are objects, and losses end in a place of their own`() throws {
    let picture = FlowPicture(
      Self.flows(
        [("Person", "Adult", 600, 600), ("Person", "Child", 200, 200)], lost: [("Person", 100), ("Old", 100)]))
    #expect(picture.left.map(\.name) == ["Person", "Old"])
    #expect(picture.right.map(\.name) == ["Adult", "Child", "lost: no mapping"])
    #expect(picture.left.map(\.count) == [900, 100] && picture.right.map(\.count) == [600, 200, 200])
    let heights = picture.bands.map(\.leftHeight)
    #expect(picture.bands.count == 4 && picture.bands.map(\.isLoss) == [false, false, true, true])
    #expect(abs(heights[0] / heights[1] - 3) < 0.001 && abs(heights[1] / heights[2] - 2) < 0.001)
    // Bands of a node do not overlap, and stay inside it.
    for (nodes, side) in [(picture.left, true), (picture.right, false)] {
      for (index, node) in nodes.enumerated() {
        let bands = picture.bands.filter { (side ? $0.left : $0.right) == index }
        var top = node.top
        for band in bands {
          let (begin, height) = side ? (band.leftTop, band.leftHeight) : (band.rightTop, band.rightHeight)
          #expect(begin >= top - 0.001)
          top = begin + height
        }
        #expect(top <= node.top + node.height + 0.001)
      }
      for (one, next) in zip(nodes, nodes.dropFirst()) { #expect(one.top + one.height < next.top) }
    }
  }

  /// 1000 people: 600 adults, 500 of whom, with others, stand for companies too, and 100 that no mapping takes.
  private static var overlapping: ObjectFlows {
    let mappings = [("Adult", Int64(600), Int64(600)), ("Company", 500, 50)].map { name, taken, made in
      Receipt.Mapping(
        name: name, source: "Person", destination: name, objectsIn: 1000, taken: taken, leftOut: 1000 - taken,
        made: made)
    }
    return ObjectFlows(
      Receipt.Step(
        sourceModel: "1", destinationModel: "2", plan: "", mappings: mappings,
        dropped: [.init(entity: "Person", objects: 100, reason: .filteredOut)]), step: .first)
  }

  @Test func `an object that two mappings take is counted once`() {
    let picture = FlowPicture(Self.overlapping)
    #expect(Self.overlapping.repeats == ["Person": 200])
    #expect(picture.left.map { $0.count?.rounded() } == [1000])
    #expect(picture.right.map(\.count) == [600, 50, 100])
    let heights = picture.bands.map(\.leftHeight)
    #expect(abs(heights[0] / heights[1] - 1.2) < 0.001)
    // The objects that are lost are lost once, whatever the others do.
    #expect(abs(heights[2] / heights.reduce(0, +) - 0.1) < 0.001)
    // Where the number of objects is not known, nothing is guessed.
    #expect(Self.flows([("Person", "Adult", 600, 600), ("Person", "Child", 200, 200)]).repeats.isEmpty)
  }

  @Test func `a step is unchanged only if every entity comes over under its name and whole`() {
    #expect(Self.flows([("A", "A", 5, 5), ("B", "B", 0, 0)]).isUnchanged)
    for changed in [
      Self.flows([("A", "B", 5, 5)]), Self.flows([("A", "A", 5, 4)]), Self.flows([("A", "A", 5, 5), ("A", "B", 1, 1)]),
      Self.flows([("A", "A", 5, 5)], lost: [("B", 1)]), Self.flows([]),
    ] { #expect(!changed.isUnchanged, "\(changed)") }
  }

  @Test func `a label gets the lines that it needs on a telephone`() throws {
    let long = String(repeating: "LongName", count: 8)
    let picture = FlowPicture(Self.flows([(long, "B", 1_234_567, 1_234_567), ("C", "D", 1, 1)]))
    #expect(picture.left[0].height >= 6 * 16 && picture.left[1].height < 32)
  }

  @Test func `a band gets narrower where several objects become one`() {
    let picture = FlowPicture(Self.flows([("Person", "Company", 1000, 10)]))
    #expect(picture.bands[0].leftHeight > 50 * picture.bands[0].rightHeight)
  }

  @Test(arguments: [21, 500, 3000])
  func `many entities are drawn as the largest and the rest, and no object is left out`(count: Int) throws {
    var generator = SeededGenerator(seed: UInt64(count))
    let mappings = (0..<count).map { number -> (String, String, Int64, Int64) in
      let rows = Int64.random(in: 0...100_000, using: &generator)
      return ("Source\(number)", "Target\(number)", rows, rows)
    }
    let picture = FlowPicture(Self.flows(mappings, lost: [("Source3", 5)]))
    #expect(picture.left.count == FlowPicture.nodesMaximum)
    #expect(picture.right.count == FlowPicture.nodesMaximum + 1)
    #expect(picture.left.last?.name == "\(count - FlowPicture.nodesMaximum + 1) smaller ones")
    let total = mappings.reduce(0.0) { $0 + Double($1.2) }
    #expect(abs(picture.left.reduce(0) { $0 + ($1.count ?? 0) } - total - 5) < 0.5)
    #expect(abs(picture.right.reduce(0) { $0 + ($1.count ?? 0) } - total - 5) < 0.5)
    #expect(picture.height < 1000)
    let drawn = Markup.document(picture.markup(label: "x"))
    #expect(try MarkupReader.read(Array(drawn.utf8), file: "flow").children.count == 3)
  }

  @Test func `numbers that nobody can count do not end the verb`() throws {
    let picture = FlowPicture(Self.flows([("A", "B", .max, .max), ("A", "C", .max, 0), ("", "B", 0, -5)]))
    #expect(picture.height.isFinite)
    _ = picture.markup(label: "")
    #expect(ReportText.number(.min) == "\u{2212}9,223,372,036,854,775,808")
    for value in [Double.nan, .infinity, -1, 1e300] {
      _ = (ReportText.short(value), ReportText.time(value), ReportText.place(value), ProgressLine.percent(value))
    }
  }

  // MARK: Over time

  private static func history(_ spans: [(run: Int, start: Double, seconds: Double, rows: Int64)]) -> RunHistory {
    var history = RunHistory()
    var run = -1
    for span in spans {
      if span.run != run {
        history.begin(at: Date(timeIntervalSinceReferenceDate: 0), budget: .mebibytes(64))
        run = span.run
      }
      history.add(
        .init(
          start: span.start, seconds: span.seconds, step: 1, pass: 1, stage: "create", name: "\(span.start)", chunks: 1,
          rows: span.rows, residentBytes: 50 << 20))
    }
    return history
  }

  @Test func `rates over the time give the rows`() {
    let history = Self.history([
      (0, 0, 3, 900), (0, 3, 0.5, 5000), (0, 3.5, 6.5, 0), (1, 0, 10, 1000),
    ])
    let rates = RunPicture(history).rates
    #expect(rates.count == RunPicture.parts)
    // 20 seconds in 100 parts.
    let rows: Double = rates.reduce(0, +) * 0.2
    #expect(abs(rows - 6900) < 0.5)
    #expect(abs(rates[0] - 300) < 0.01 && abs(rates[99] - 100) < 0.01 && rates[30] == 0)
    #expect(abs((rates.max() ?? 0) - 10000) < 1)
  }

  @Test func `the throughput is cut at the 95th percentile, and the highest rate is told`() {
    let picture = RunPicture(
      Self.history([(0, 0, 3, 900), (0, 3, 0.5, 5000), (0, 3.5, 6.5, 0), (1, 0, 10, 1000)]))
    // Three of 68 parts are a peak.
    #expect(abs(picture.drawnRate - 300) < 0.01)
    #expect(picture.cutText?.hasSuffix("The highest rate is 10 k rows/s.") == true, "\(picture.cutText ?? "")")
    let even = RunPicture(Self.history([(0, 0, 10, 1000)]))
    #expect(abs(even.drawnRate - 100) < 0.01 && even.cutText == nil)
  }

  @Test func `the picture of the memory has the budget above the program`() {
    var history = RunHistory()
    history.begin(at: Date(timeIntervalSinceReferenceDate: 0), budget: .mebibytes(64), programBytes: 20 << 20)
    history.add(
      .init(
        start: 0, seconds: 1, step: 1, pass: 1, stage: "create", name: "", chunks: 1, rows: 1,
        residentBytes: 84 << 20))
    let picture = RunPicture(history)
    #expect(picture.memoryText == "84 MiB (budget 64 MiB + 20 MiB for the program)")
    let drawn = picture.memory.source
    // 84 of 90.72 MiB, and the line at the peak.
    #expect(drawn.contains("class=\"program\" x=\"0\" y=\"77.95\""), "\(drawn)")
    #expect(drawn.contains("y1=\"7.41\" y2=\"7.41\""), "\(drawn)")
    let old = RunPicture(Self.history([(0, 0, 1, 1)]))
    #expect(old.memoryText == "50 MiB (budget 64 MiB)" && !old.memory.source.contains("program"))
  }

  @Test func `an empty history and one without time are drawn`() throws {
    for history in [Self.history([(0, 0, 0, 5)]), Self.history([(0, 0, 0, 0), (1, 0, 0, 0)])] {
      let picture = RunPicture(history)
      let parts: [Markup] = [
        picture.timeline, picture.throughput, picture.memory, picture.stages, picture.entries, picture.runs,
      ]
      let page = Markup.document(.element("html", [:], parts))
      #expect(!page.contains("nan") && !page.contains("inf"))
      _ = try MarkupReader.read(Array(page.utf8), file: "page")
    }
  }

  @Test(arguments: [
    (0.0, "0 s"), (0.04, "40 ms"), (0.9994, "999 ms"), (0.9996, "1.0 s"), (9.94, "9.9 s"), (9.96, "10 s"),
    (119.4, "119 s"), (120, "2 min 0 s"),
    (7199, "119 min 59 s"), (7200, "2 h 0 min"), (100_000, "27 h 46 min"), (-1, "0 s"),
  ])
  func `times are short`(seconds: Double, text: String) { #expect(ReportText.time(seconds) == text) }

  @Test(arguments: [
    (0.0, "0"), (999, "999"), (1000, "1.0 k"), (12_345, "12 k"), (999_400, "999 k"), (999_600, "1.0 M"),
    (1.25e9, "1.3 G"),
  ])
  func `numbers without room are short`(value: Double, text: String) { #expect(ReportText.short(value) == text) }
}
