import Foundation
import TestSupport
import Testing

/// The picture of a terminal in the README and in Getting started: what `plan` and `run` print.
///
/// `GODWIT_REGENERATE=1 swift test --filter TerminalPicture` draws it again from a run.
struct TerminalPictureTests {
  private static let picture = Checkout.url("Sources/Godwit/Godwit.docc/terminal.svg")
  private static let commands = ["godwit plan v3-to-v4.yaml", "godwit run v3-to-v4.yaml"]

  /// The lines of a person's session in a copy of `jobs/peoplizer`.
  private static func session() throws -> [String] {
    let folder = try GettingStartedTests.folder()
    try FileManager.default.copyItem(
      atPath: Checkout.url("jobs/peoplizer/v3-to-v4.yaml").path,
      toPath: folder.file("v3-to-v4.yaml"))
    var lines: [String] = []
    for command in commands {
      let result = try GettingStartedTests.run(command, in: folder)
      #expect(result.status == 0, "\(result.diagnostics)")
      var progress = 0
      // How many lines of progress there are depends on the machine.
      let output = result.output.split(separator: "\n").map(String.init).filter { line in
        guard line.contains("% step ") else { return true }
        progress += 1
        return progress == 1
      }
      lines += ["$ " + command] + output
    }
    return lines
  }

  /// A line without what differs from run to run: times, rates, memory, and free space.
  private static func masked(_ line: String) -> String {
    line.replacing(#/[0-9]+ rows/s eta [0-9:-]+ rss [0-9]+ MiB [0-9T:-]+Z/#, with: "RATE")
      .replacing(#/[0-9.]+ [GMKT]iB free/#, with: "FREE")
      .replacing(#/(time|memory) {2,}.*/#) { "\($0.1)" }
  }

  private static let escapes = [("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")]

  private static func drawing(of lines: [String]) -> String {
    let (left, top, height) = (24, 70, 19)
    let width = 48 + Int((Double(lines.map(\.count).max() ?? 0) * 7.23).rounded(.up))
    let bottom = top + height * lines.count + 8
    let texts = lines.enumerated().map { index, line in
      let escaped = escapes.reduce(line) { $0.replacing($1.0, with: $1.1) }
      let kind = line.hasPrefix("$ ") ? "typed" : line.hasPrefix("100.0%") ? "last" : "line"
      return
        "  <text class=\"\(kind)\" x=\"\(left)\" y=\"\(top + height * index)\" xml:space=\"preserve\">\(escaped)</text>"
    }
    return """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(bottom)" viewBox="0 0 \(width) \(bottom)"
        role="img" aria-labelledby="title desc"
        font-family="ui-monospace, &quot;SF Mono&quot;, Menlo, &quot;DejaVu Sans Mono&quot;, monospace" font-size="12">
        <title id="title">godwit plan and godwit run in a terminal</title>
        <desc id="desc">The plan says what goes in, comes out and is lost, and what the run needs. The run shows its progress,
          and ends with its summary.</desc>
        <style>
          .paper { fill: #ffffff; stroke: #c6c6cc; }
          .bar { fill: #ececf0; }
          .dot { fill: #b9b9c1; }
          text { fill: #1d1d1f; }
          .typed { fill: #14539a; font-weight: 600; }
          .last { fill: #1f6b37; font-weight: 600; }
          @media (prefers-color-scheme: dark) {
            .paper { fill: #17171a; stroke: #47474e; }
            .bar { fill: #26262b; }
            .dot { fill: #5b5b63; }
            text { fill: #e6e6ea; }
            .typed { fill: #7fb8f5; }
            .last { fill: #6fcf8d; }
          }
        </style>
        <rect class="paper" x="0.5" y="0.5" width="\(width - 1)" height="\(bottom - 1)" rx="8"/>
        <path class="bar" d="M1 34 V8.5 A7.5 7.5 0 0 1 8.5 1 H\(width - 9) A7.5 7.5 0 0 1 \(width - 1) 8.5 V34 z"/>
        <circle class="dot" cx="22" cy="18" r="5"/>
        <circle class="dot" cx="40" cy="18" r="5"/>
        <circle class="dot" cx="58" cy="18" r="5"/>
      \(texts.joined(separator: "\n"))
      </svg>

      """
  }

  /// The lines of text in the picture.
  private static func lines(of drawing: String) -> [String] {
    drawing.matches(of: #/<text class="[a-z]+"[^>]*>(.*)</text>/#).map { match in
      escapes.reversed().reduce(String(match.1)) { $0.replacing($1.1, with: $1.0) }
    }
  }

  @Test func `the picture of a terminal shows what the commands print`() throws {
    let session = try Self.session()
    if ProcessInfo.processInfo.environment["GODWIT_REGENERATE"] != nil {
      try Self.drawing(of: session).write(to: Self.picture, atomically: true, encoding: .utf8)
    }
    let drawn = try String(contentsOf: Self.picture, encoding: .utf8)
    let shown = Self.lines(of: drawn)
    #expect(shown.map(Self.masked) == session.map(Self.masked))
    #expect(shown.contains { $0.hasPrefix("100.0%") })
    // The picture is never edited by hand: the code above draws the same from its lines.
    #expect(Self.drawing(of: shown) == drawn)
  }
}
