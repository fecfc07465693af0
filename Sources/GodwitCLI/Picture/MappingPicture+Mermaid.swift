import GodwitModel

extension MappingPicture {
  /// The picture as a flowchart of Mermaid, which code hosts draw in Markdown.
  var mermaid: String {
    var lines = ["flowchart LR"]
    for column in columns {
      lines.append("  subgraph \(column.id)[\(MermaidText.quoted([column.title]))]")
      lines += column.boxes.map { "    " + Self.mermaid($0, shape: ("(", ")")) }
      lines.append("  end")
    }
    lines += mappings.map { "  " + Self.mermaid($0, shape: ("[", "]")) }
    for arrow in arrows {
      let label = arrow.text.isEmpty ? "" : "|\(MermaidText.quoted([arrow.text]))|"
      lines.append("  \(arrow.from) -->\(label) \(arrow.to)")
    }
    return (lines + MermaidText.classes).joined(separator: "\n") + "\n"
  }

  private static func mermaid(_ box: Box, shape: (String, String)) -> String {
    "\(box.id)\(shape.0)\(MermaidText.quoted(box.lines))\(shape.1):::\(box.mark.rawValue)"
  }
}

/// Text in Mermaid's diagrams.
enum MermaidText {
  /// Lines in one quoted text. All but letters, digits and plain punctuation become character entities, since some
  /// characters mean something even in quotes: `"`, `#`, `;` and `%%` to Mermaid, and what Markdown makes lists, emphasis and
  /// links of.
  static func quoted(_ lines: [String]) -> String {
    "\"" + lines.map { escaped(TextEscape.escaped($0.onOneLine)) }.joined(separator: "<br/>") + "\""
  }

  private static func escaped(_ text: String) -> String {
    let scalars = Array(text.unicodeScalars)
    return scalars.indices.reduce(into: "") { result, index in
      let scalar = scalars[index]
      let isPlain =
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", ",", ":", "(", ")": true
        // At the start of a line they begin an item of a list, a heading or code.
        case " ", "-", "=": index > 0
        case ".": index + 1 < scalars.count && scalars[index + 1] != " "
        default: !scalar.isASCII
        }
      result += isPlain ? String(scalar) : "#\(scalar.value);"
    }
  }

  /// The colours of the marks, with black text on them for light and dark pages.
  static let classes = MappingPicture.Mark.allCases.map {
    "  classDef \($0.rawValue) fill:\($0.fill),stroke:#8a8a8a,color:#000"
  }
}
