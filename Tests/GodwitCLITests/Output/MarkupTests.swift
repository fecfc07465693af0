import Foundation
import GodwitModel
import Testing

@testable import GodwitCLI

/// The writer of pages: what goes in as text comes out as text, and colours can be told apart.
struct MarkupTests {
  static let hostile = [
    "<script>alert(1)</script>", "a\"b'c&d", "</style><b>", "]]>", "&lt;&amp;#0;", "\u{1B}[2J\u{0}\u{7}",
    "\u{202E}olleh\u{2066}", "\u{5E9}\u{5DC}\u{5D5}\u{5DD} <i>", "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467} &",
    "<\u{338}script>", "a\nb\r\nc\td", "\u{FFFE}\u{FFFF}\u{10FFFF}", "", "--><!--",
    String(repeating: "sehr<lang&", count: 300),
  ]

  /// The characters that an escape of ours stands for are those of the text, but for line ends and what has no picture.
  @Test(arguments: hostile)
  func `text and attributes are read back as they were`(text: String) throws {
    let page = Markup.document(
      .element("html", ["title": text], .element("p", [:], Markup(text: text)), .name(text)))
    let root = try MarkupReader.read(Array(page.utf8), file: "page")
    let shown = TextEscape.escaped(text.onOneLine)
      .replacing("\u{FFFE}", with: "\\uFFFE").replacing("\u{FFFF}", with: "\\uFFFF")
    // A parser of XML reads a tab in an attribute as a space.
    #expect(root["title"] == shown.replacing("\t", with: " "))
    #expect(root.children.map(\.name) == ["p", "bdi"])
    #expect(root.children.map(\.text) == [shown, shown])
    #expect(root.children.allSatisfy { $0.children.isEmpty })
    #expect(!page.unicodeScalars.contains { $0.value < 0x09 || $0.value == 0x202E || $0.value == 0x1B })
  }

  @Test func `a literal is text, an attribute without a value is left out, and empty elements end at once`() throws {
    let part: Markup = "1 < 2 & \(3)"
    #expect(part.source == "1 &lt; 2 &amp; 3")
    #expect(Markup.element("td", ["class": nil, "id": "a"], "x").source == "<td id=\"a\">x</td>")
    #expect(Markup.element("br").source == "<br/>")
    #expect([Markup(text: "a"), "b", "c"].joined(", ").source == "a, b, c")
  }

  @Test func `a page is well formed and recognised by its kind`() throws {
    let page = HTMLPage.document(title: "<T>", kind: "report", style: "p { color: red; }", [.element("p", [:], "x")])
    let root = try MarkupReader.read(Array(page.utf8), file: "page")
    let title = root.children(named: "head").first?.children(named: "title").first
    #expect(title?.text == "<T>")
    #expect(HTMLPage.isPage(page, kind: "report") && !HTMLPage.isPage(page, kind: "model-diff"))
    #expect(!HTMLPage.isPage("", kind: "report") && !HTMLPage.isPage("<!DOCTYPE html>\n<p>report</p>", kind: "report"))
    // The verb looks at the beginning only.
    #expect(HTMLPage.isPage(String(page.prefix(600)), kind: "report"))
  }

  // MARK: Colours

  /// The relative luminance of WCAG 2.
  private static func luminance(_ colour: String) throws -> Double {
    let digits = Array(colour.utf8.dropFirst())
    try #require(colour.hasPrefix("#") && digits.count == 6)
    let parts = try stride(from: 0, to: 6, by: 2).map { place -> Double in
      let value = try #require(UInt8(String(decoding: digits[place..<place + 2], as: UTF8.self), radix: 16))
      let part = Double(value) / 255
      return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4)
    }
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
  }

  private static func contrast(_ a: String, _ b: String) throws -> Double {
    let (one, other) = (try luminance(a), try luminance(b))
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)
  }

  @Test func `the contrast is computed as WCAG says`() throws {
    #expect(abs(try Self.contrast("#000000", "#ffffff") - 21) < 0.001)
    #expect(abs(try Self.contrast("#777777", "#ffffff") - 4.478) < 0.01)
  }

  @Test func `texts have a contrast of 4,5 and graphics one of 3 in both schemes`() throws {
    let colours = Dictionary(uniqueKeysWithValues: HTMLPalette.pairs.map { ($0.name, $0) })
    for (pairs, least) in [(HTMLPalette.texts, 4.5), (HTMLPalette.graphics, 3)] {
      for (front, back) in pairs {
        let (text, ground) = (try #require(colours[front]), try #require(colours[back]))
        #expect(try Self.contrast(text.light, ground.light) >= least, "\(front) on \(back), light")
        #expect(try Self.contrast(text.dark, ground.dark) >= least, "\(front) on \(back), dark")
      }
    }
  }

  /// Every colour of the style sheets is one of the palette, and those that show something are in the lists above.
  @Test func `style sheets use colours of the palette only`() throws {
    let page = HTMLPage.document(
      title: "", kind: "report", style: FlowPicture.style + RunPicture.style + ReportPage.style, [])
    let known = Set(HTMLPalette.pairs.map(\.name))
    let rules = page.components(separatedBy: HTMLPalette.style)
    try #require(rules.count == 2)
    let used = Set(rules[1].matches(of: /var\(--([a-z-]+)\)/).map { String($0.1) })
    #expect(used.isSubset(of: known), "\(used.subtracting(known))")
    let judged = Set((HTMLPalette.texts + HTMLPalette.graphics).flatMap { [$0.front, $0.back] })
    // A thin line between rows says nothing.
    #expect(used.subtracting(judged).subtracting(["line"]) == [])
    #expect(rules[1].firstMatch(of: /#[0-9a-fA-F]{3,8}\b/) == nil)
  }
}
