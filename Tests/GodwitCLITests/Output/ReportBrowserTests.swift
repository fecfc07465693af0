import Foundation
import GodwitJob
import TestSupport
import Testing

@testable import GodwitCLI

/// The page of a report in a real browser: no message on its console, and nothing wider than the window.
///
/// `GODWIT_SHOTS=FOLDER` keeps pictures of the page for people to look at.
struct ReportBrowserTests {
  private static let browser = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  private static let flags =
    "--headless --no-sandbox --disable-gpu --hide-scrollbars --disable-dev-shm-usage "
    + "--no-first-run --disable-background-networking --disable-extensions --allow-file-access-from-files"

  private struct Look: CustomStringConvertible {
    let width: Int
    let isDark: Bool
    var description: String { "\(width)-\(isDark ? "dark" : "light")" }
  }

  /// All widths in both schemes in the long tier; a browser takes a second for each.
  private static var looks: [Look] {
    let all = [390, 360, 768, 1280].flatMap { width in [false, true].map { Look(width: width, isDark: $0) } }
    return TestTier.choose([all[0], all[1]], long: all)
  }

  /// A page with everything: some steps, losses, two runs, findings, long names.
  private static func page() throws -> String {
    let folder = try TemporaryFolder()
    func godwit(_ arguments: String...) -> (status: Int32, output: String) {
      let session = CommandSession(output: .memory(), diagnostics: .memory())
      return (GodwitCommand.run(arguments: arguments, in: session), session.output.text)
    }
    let job = PeoplizerStores.file("v1-to-v5.yaml")
    let destination = ["--destination", folder.file("out.sqlite")]
    #expect(godwit("run", "--quiet", job, destination[0], destination[1]).status == 0)
    let found = godwit("verify", job, destination[0], destination[1], "--format", "json")
    try found.output.write(toFile: folder.file("verify.json"), atomically: true, encoding: .utf8)
    let made = godwit(
      "report", job, destination[0], destination[1], "--findings", folder.file("verify.json"), "-o", "-")
    #expect(made.status == 0)
    return made.output
  }

  /// Asks the page in a frame how wide it is, and with its tables open.
  private static let frame = """
    <!DOCTYPE html><meta charset="utf-8"><meta name="color-scheme" content="light dark"><body style="margin:0">
    <iframe id="f" src="report.html" style="border:0;width:WIDTHpx;height:6000px"></iframe>
    <script>
    document.getElementById("f").onload = function () {
      var page = this.contentDocument, root = page.documentElement;
      page.querySelectorAll("details").forEach(function (d) { d.open = true; });
      var wide = [];
      page.querySelectorAll("body *").forEach(function (e) {
        if (e.closest(".wide, pre, svg")) return;
        var box = e.getBoundingClientRect();
        if (box.right > root.clientWidth + 1) wide.push(e.tagName + "." + e.className);
      });
      if (root.clientWidth < 480) page.querySelectorAll(".records").forEach(function (e) {
        if (e.scrollWidth > e.clientWidth + 1) wide.push(e.getAttribute("aria-label"));
      });
      var cut = [];
      page.querySelectorAll(".label, .lane, .count").forEach(function (e) {
        var box = e.parentElement.getBoundingClientRect(), own = e.getBoundingClientRect();
        if (e.clientWidth > 0 && (e.scrollWidth > e.clientWidth + 1 || e.scrollHeight > e.clientHeight + 1)
          || own.top < box.top - 1
          || own.bottom > box.bottom + 1) cut.push(e.textContent);
      });
      var style = this.contentWindow.getComputedStyle(page.body);
      document.title = "width " + root.scrollWidth + " of " + root.clientWidth + "; wide " + wide.join(" ")
        + "; cut " + cut.join(" ")
        + "; sections " + page.querySelectorAll("section").length + "; back " + style.backgroundColor;
    };
    </script></body>
    """

  @Test(.enabled(if: browser != nil, "Chromium is not installed: no browser shows the page"))
  func `a browser shows the page without a message, and nothing is wider than a telephone`() throws {
    let browser = try #require(Self.browser)
    let folder = try TemporaryFolder("godwit-browser")
    try Self.page().write(toFile: folder.file("report.html"), atomically: true, encoding: .utf8)
    for look in Self.looks {
      let frame = Self.frame.replacing("WIDTH", with: "\(look.width)")
      try frame.write(toFile: folder.file("frame.html"), atomically: true, encoding: .utf8)
      let scheme = "--blink-settings=preferredColorScheme=\(look.isDark ? 0 : 1)"
      let common = "'\(browser)' \(Self.flags) --user-data-dir=\"$PWD/profile\" \(scheme)"
      let said = try ShellCommand.run(
        "\(common) --enable-logging=stderr --virtual-time-budget=3000 --dump-dom \"file://$PWD/frame.html\"",
        in: folder.path)
      let console = said.diagnostics.split(separator: "\n").filter { $0.contains("CONSOLE") }
      #expect(said.status == 0 && console.isEmpty, "\(look): \(console)")
      let title = said.output.firstMatch(of: /<title>([^<]*)<\/title>/).map { String($0.1) } ?? ""
      #expect(title.contains("width \(look.width) of \(look.width); wide ; cut ; sections 7;"), "\(look): \(title)")
      let back = HTMLPalette.pairs.first { $0.name == "page" }
      let colour = try #require(look.isDark ? back?.dark : back?.light)
      let parts = stride(from: 1, to: 7, by: 2).map { place in
        UInt8(colour.dropFirst(place).prefix(2), radix: 16).map { "\($0)" } ?? ""
      }
      #expect(title.hasSuffix("back rgb(\(parts.joined(separator: ", ")))"), "\(look): \(title)")
      guard let shots = ProcessInfo.processInfo.environment["GODWIT_SHOTS"] else { continue }
      _ = try ShellCommand.run(
        "\(common) --window-size=\(look.width),2600 --screenshot='\(shots)/report-\(look).png' "
          + "\"file://$PWD/frame.html\"",
        in: folder.path)
    }
  }
}
