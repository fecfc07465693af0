/// A page with its own style: no script, nothing to load, light and dark, readable on a telephone.
enum HTMLPage {
  /// The content of `<meta name="generator">`, with the version after it.
  static let generator = "godwit"

  /// The document.
  ///
  /// - Parameters:
  ///   - kind: The kind of page, by which a verb recognises a page of its own.
  ///   - style: Rules beside those of every page.
  static func document(title: String, kind: StaticString, style: String, _ body: [Markup]) -> String {
    let policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    let metas: [KeyValuePairs<StaticString, String?>] = [
      ["charset": "utf-8"], ["name": "generator", "content": "\(generator) \(kind) \(GodwitCommand.version)"],
      ["name": "viewport", "content": "width=device-width, initial-scale=1"],
      ["http-equiv": "Content-Security-Policy", "content": policy],
      ["name": "color-scheme", "content": "light dark"],
    ]
    var head: [Markup] = [.line]
    for attributes in metas { head += [.element("meta", attributes), .line] }
    head += [.element("title", [:], Markup(text: title)), .line]
    head += [.style(HTMLPalette.style + "\n" + base + "\n" + style), .line]
    let footer = Markup.element("footer", [:], Markup(text: "Made by godwit \(GodwitCommand.version)"))
    let page: [Markup] = [
      .line, .element("head", [:], head), .line, .element("body", [:], [.line] + body + [.line, footer, .line]), .line,
    ]
    return Markup.document(.element("html", ["lang": "en"], page))
  }

  /// Whether the beginning of a file is that of a page of a kind.
  static func isPage(_ beginning: String, kind: StaticString) -> Bool {
    beginning.hasPrefix("<!DOCTYPE html>\n")
      && beginning.contains("<meta name=\"generator\" content=\"\(generator) \(kind) ")
  }

  private static let base = """
    * { box-sizing: border-box; }
    body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
    main { max-width: 60rem; margin: 0 auto; padding: 2rem 1rem; }
    h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 0.5rem; overflow-wrap: anywhere; }
    h2 { font-size: 1.15rem; margin: 0 0 0.5rem; overflow-wrap: anywhere; }
    section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 1rem; margin: 1rem 0;
      overflow-x: auto; }
    table { border-collapse: collapse; width: 100%; }
    th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.6rem 0.4rem 0; border-top: 1px solid var(--line);
      font-weight: normal; overflow-wrap: anywhere; }
    thead th { color: var(--soft); font-size: 0.875rem; border-top: 0; }
    footer { max-width: 60rem; margin: 0 auto; padding: 0 1rem 2rem; font-size: 0.875rem; color: var(--soft); }
    .badge { display: inline-block; border-radius: 999px; padding: 0 0.6rem; font: 0.8125rem/1.6 system-ui, sans-serif;
      white-space: nowrap; }
    .added { color: var(--added); background: var(--added-page); }
    .removed { color: var(--removed); background: var(--removed-page); }
    .renamed { color: var(--renamed); background: var(--renamed-page); }
    .changed { color: var(--changed); background: var(--changed-page); }
    """
}

/// The colours of pages. A test computes their contrast.
enum HTMLPalette {
  /// A colour for each scheme, as `#RRGGBB`.
  struct Pair {
    var name, light, dark: String

    init(_ name: String, _ light: String, _ dark: String) { (self.name, self.light, self.dark) = (name, light, dark) }
  }

  static let pairs: [Pair] = [
    .init("text", "#1c1d1f", "#e8eaed"), .init("soft", "#5b5f66", "#a5abb5"),
    .init("page", "#ffffff", "#16181c"), .init("card", "#f6f7f9", "#1f2227"), .init("line", "#d9dce1", "#363b43"),
    .init("added", "#14612f", "#9be3b4"), .init("added-page", "#d8f2e0", "#143d24"),
    .init("removed", "#8c1d1d", "#f5b1b1"), .init("removed-page", "#fadcdc", "#4d1a1a"),
    .init("renamed", "#174a8c", "#aecbfa"), .init("renamed-page", "#dbe8fb", "#16335c"),
    .init("changed", "#6b4a00", "#f5d98a"), .init("changed-page", "#fbeebf", "#453509"),
    // Colours of drawings.
    .init("flow", "#3d78c2", "#5b95df"), .init("loss", "#c23b3b", "#e56a6a"), .init("series", "#3d78c2", "#5b95df"),
    .init("limit", "#a05a00", "#e0a040"), .init("axis", "#73777f", "#8b919b"),
  ]

  /// Texts and what is behind them: at least 4.5 to 1.
  static let texts: [(front: String, back: String)] =
    ["text", "soft"].flatMap { front in ["page", "card"].map { (front, $0) } }
    + ["added", "removed", "renamed", "changed"].map { ($0, $0 + "-page") }
    + [("removed", "card"), ("changed", "card"), ("added", "card")]

  /// Lines and areas that mean something, and what is behind them: at least 3 to 1.
  static let graphics: [(front: String, back: String)] =
    ["flow", "loss", "series", "limit", "axis"].map { ($0, "card") }

  static var style: String {
    let light = pairs.map { "--\($0.name): \($0.light);" }.joined(separator: " ")
    let dark = pairs.map { "--\($0.name): \($0.dark);" }.joined(separator: " ")
    return """
      :root { \(light) }
      @media (prefers-color-scheme: dark) { :root { \(dark) } }
      """
  }
}
