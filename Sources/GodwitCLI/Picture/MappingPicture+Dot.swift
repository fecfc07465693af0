import GodwitModel

extension MappingPicture {
  /// The picture in the language of Graphviz: `godwit plan job.yaml --format dot | dot -Tsvg`.
  var dot: String {
    var lines = [
      "digraph \(Self.dotText([title])) {",
      "  graph [rankdir=LR, nodesep=0.25, ranksep=0.8, fontname=\"Helvetica\", bgcolor=white]",
      "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fontsize=11, color=\"#8a8a8a\"]",
      "  edge [fontname=\"Helvetica\", fontsize=10, color=\"#5a5a5a\"]",
    ]
    for column in columns {
      lines.append("  subgraph cluster_\(column.id) {")
      lines.append("    label=\(Self.dotText([column.title])); color=\"#c8c8c8\"; style=rounded")
      lines += column.boxes.map { "    " + Self.dot($0, attributes: "") }
      lines.append("  }")
    }
    lines += mappings.map { "  " + Self.dot($0, attributes: ", style=filled") }
    for arrow in arrows {
      let label = arrow.text.isEmpty ? "" : " [label=\(Self.dotText([arrow.text]))]"
      lines.append("  \(arrow.from) -> \(arrow.to)\(label)")
    }
    return (lines + ["}"]).joined(separator: "\n") + "\n"
  }

  private static func dot(_ box: Box, attributes: String) -> String {
    "\(box.id) [label=\(dotText(box.lines)), fillcolor=\"\(box.mark.fill)\"\(attributes)]"
  }

  /// A quoted string. Graphviz takes a backslash as the start of an escape such as `\N`, and `&lt;` as an entity of HTML.
  static func dotText(_ lines: [String]) -> String {
    let texts = lines.map { line in
      TextEscape.escaped(line.onOneLine).unicodeScalars.reduce(into: "") { text, scalar in
        switch scalar {
        case "\\": text += "\\\\"
        case "\"": text += "\\\""
        case "&": text += "&amp;"
        default: text.unicodeScalars.append(scalar)
        }
      }
    }
    return "\"" + (texts.count == 1 ? texts[0] : texts.map { $0 + "\\l" }.joined()) + "\""
  }
}

extension MappingPicture.Mark {
  /// The colour of the box, light enough for black text.
  var fill: String {
    switch self {
    case .kept: "#f4f4f4"
    case .added: "#d3f0da"
    case .dropped: "#f9d4d4"
    case .renamed: "#d6e4fb"
    case .policy: "#fbeebf"
    }
  }
}
