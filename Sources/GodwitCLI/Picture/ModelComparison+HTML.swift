import GodwitInference
import GodwitModel

extension ModelComparison {
  /// The changes as one page of HTML with its own style: no script, nothing to load, light and dark.
  var html: String {
    let counts = [Kind.added, .removed, .renamed, .changed].compactMap { kind -> String? in
      let count = entities.count { $0.kind == kind }
      return count == 0 ? nil : "\(count) \(kind.rawValue)"
    }
    let heading = "\(HTMLText.escaped(from)) <span class=\"to\">to</span> \(HTMLText.escaped(to))"
    let verdict =
      hashesDiffer
      ? "The version hashes differ: a store has to be migrated."
      : "The version hashes are equal: no migration is needed."
    let body =
      entities.isEmpty
      ? "<p>No entity or property changed.</p>"
      : "<p class=\"counts\">Entities: \(counts.joined(separator: ", "))</p>\n"
        + entities.map(Self.section).joined(separator: "\n")
    return """
      <!DOCTYPE html>
      <html lang="en">
      <head>
      <meta charset="utf-8">
      <meta name="viewport" content="width=device-width, initial-scale=1">
      <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
      <meta name="color-scheme" content="light dark">
      <title>\(HTMLText.escaped(from)) to \(HTMLText.escaped(to))</title>
      <style>
      \(Self.style)
      </style>
      </head>
      <body>
      <main>
      <h1>\(heading)</h1>
      <p class="verdict\(hashesDiffer ? " differs" : "")">\(verdict)</p>
      \(body)
      </main>
      <footer>Made by godwit \(GodwitCommand.version)</footer>
      </body>
      </html>

      """
  }

  private static func section(_ entity: Entity) -> String {
    let before = entity.oldName.map { " <span class=\"old\">was \(HTMLText.escaped($0))</span>" } ?? ""
    var lines = [
      "<section>",
      "<h2>\(HTMLText.escaped(entity.name))\(before) \(badge(entity.kind))</h2>",
    ]
    if entity.hashesDiffer == false {
      lines.append("<p class=\"note\">The version hash of the entity is the same in both versions.</p>")
    }
    if !entity.changes.isEmpty {
      lines.append("<ul>" + entity.changes.map { "<li>\(HTMLText.escaped($0))</li>" }.joined() + "</ul>")
    }
    if !entity.properties.isEmpty {
      lines.append("<table>")
      lines.append(
        "<thead><tr><th scope=\"col\">Property</th><th scope=\"col\">Change</th><th scope=\"col\">Details</th></tr></thead><tbody>"
      )
      lines += entity.properties.map { property in
        let was = property.oldName.map { " <span class=\"old\">was \(HTMLText.escaped($0))</span>" } ?? ""
        return
          "<tr><th scope=\"row\">\(HTMLText.escaped(property.name))\(was)</th><td>\(badge(property.kind))</td><td>\(property.changes.map(HTMLText.escaped).joined(separator: "<br>"))</td></tr>"
      }
      lines.append("</tbody></table>")
    }
    return (lines + ["</section>"]).joined(separator: "\n")
  }

  private static func badge(_ kind: Kind) -> String {
    let sign =
      switch kind {
      case .added: "+"
      case .removed: "\u{2212}"
      case .renamed: "\u{2192}"
      case .changed: "\u{2248}"
      }
    return "<span class=\"badge \(kind.rawValue)\">\(sign) \(kind.rawValue)</span>"
  }

  private static let style = """
    :root { --text: #1c1d1f; --soft: #5b5f66; --page: #ffffff; --card: #f6f7f9; --line: #d9dce1;
      --added: #14612f; --added-page: #d8f2e0; --removed: #8c1d1d; --removed-page: #fadcdc;
      --renamed: #174a8c; --renamed-page: #dbe8fb; --changed: #6b4a00; --changed-page: #fbeebf; }
    @media (prefers-color-scheme: dark) {
      :root { --text: #e8eaed; --soft: #a5abb5; --page: #16181c; --card: #1f2227; --line: #363b43;
        --added: #9be3b4; --added-page: #143d24; --removed: #f5b1b1; --removed-page: #4d1a1a;
        --renamed: #aecbfa; --renamed-page: #16335c; --changed: #f5d98a; --changed-page: #453509; } }
    * { box-sizing: border-box; }
    body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
    main { max-width: 60rem; margin: 0 auto; padding: 2rem 1rem; }
    h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 0.5rem; overflow-wrap: anywhere; }
    h2 { font-size: 1.15rem; margin: 0 0 0.5rem; overflow-wrap: anywhere; }
    .to, .old, .counts, .note, footer { color: var(--soft); font-weight: normal; }
    .old { font-size: 0.875rem; }
    .verdict { border-left: 4px solid var(--added); padding: 0.25rem 0.75rem; background: var(--card); }
    .verdict.differs { border-color: var(--changed); }
    section { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 1rem; margin: 1rem 0;
      overflow-x: auto; }
    ul { margin: 0 0 0.5rem; padding-left: 1.25rem; }
    table { border-collapse: collapse; width: 100%; }
    th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.6rem 0.4rem 0; border-top: 1px solid var(--line);
      font-weight: normal; overflow-wrap: anywhere; }
    thead th { color: var(--soft); font-size: 0.875rem; border-top: 0; }
    tbody th { font-family: ui-monospace, monospace; font-size: 0.9rem; }
    .badge { display: inline-block; border-radius: 999px; padding: 0 0.6rem; font: 0.8125rem/1.6 system-ui, sans-serif;
      white-space: nowrap; }
    .added { color: var(--added); background: var(--added-page); }
    .removed { color: var(--removed); background: var(--removed-page); }
    .renamed { color: var(--renamed); background: var(--renamed-page); }
    .changed { color: var(--changed); background: var(--changed-page); }
    footer { max-width: 60rem; margin: 0 auto; padding: 0 1rem 2rem; font-size: 0.875rem; }
    """
}

/// Text in HTML, between tags and in attributes.
enum HTMLText {
  /// Control characters and those that turn the direction of text are made visible first.
  ///
  /// It goes by Unicode scalars: `<` and a combining mark are one character that is not `<`, and a tag all the same.
  static func escaped(_ text: String) -> String {
    TextEscape.escaped(text.onOneLine).unicodeScalars.reduce(into: "") { result, scalar in
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      default: result.unicodeScalars.append(scalar)
      }
    }
  }
}
