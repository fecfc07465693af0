import GodwitModel

/// HTML and SVG as text that is also well-formed XML.
///
/// Text gets in through `init(text:)` and attributes through `element`, and both are escaped. A string literal is text
/// too. So no name can become a tag.
struct Markup: ExpressibleByStringInterpolation {
  private(set) var source: String

  private init(source: String) { self.source = source }

  /// Nothing.
  init() { source = "" }

  /// The end of a line, between elements.
  static let line = Markup(source: "\n")

  init(text: String) { source = Self.escaped(text) }

  init(stringLiteral text: String) { self.init(text: text) }

  /// Elements without content, which HTML knows.
  private static let empty: Set<String> = ["meta", "br", "path", "rect", "line", "polyline"]

  /// An element. An attribute whose value is nil is left out.
  static func element(
    _ name: StaticString, _ attributes: KeyValuePairs<StaticString, String?> = [:], _ content: Markup...
  ) -> Markup {
    element(name, attributes, content)
  }

  static func element(
    _ name: StaticString, _ attributes: KeyValuePairs<StaticString, String?> = [:], _ content: [Markup]
  ) -> Markup {
    var text = "<\(name)"
    for (key, value) in attributes {
      if let value { text += " \(key)=\"\(escaped(value))\"" }
    }
    guard !empty.contains("\(name)") else { return Markup(source: text + "/>") }
    text += ">"
    for part in content { text += part.source }
    return Markup(source: text + "</\(name)>")
  }

  /// A name from a store, a model or a manifest. Letters that run from right to left do not move what is beside it.
  static func name(_ text: String) -> Markup { element("bdi", [:], Markup(text: text)) }

  /// A style sheet of our own. It has no character that XML or HTML would read as markup.
  static func style(_ text: String) -> Markup {
    precondition(!text.contains("<") && !text.contains("&"), "a style sheet is no markup")
    return Markup(source: "<style>\n\(text)\n</style>")
  }

  /// A whole page, with the line of the document type.
  static func document(_ root: Markup) -> String { "<!DOCTYPE html>\n\(root.source)\n" }

  static func + (a: Markup, b: Markup) -> Markup { Markup(source: a.source + b.source) }
  static func += (a: inout Markup, b: Markup) { a.source += b.source }

  /// Control characters, characters that turn the direction of text, and the two that XML forbids are made visible
  /// first.
  ///
  /// Attributes stand in double quotes, so that an apostrophe ends none. It goes by Unicode scalars: `<` and a combining
  /// mark are one character that is not `<`, and a tag all the same.
  static func escaped(_ text: String) -> String {
    TextEscape.escaped(text.onOneLine).unicodeScalars.reduce(into: "") { result, scalar in
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "\u{FFFE}", "\u{FFFF}": result += "\\u" + String(scalar.value, radix: 16, uppercase: true)
      default: result.unicodeScalars.append(scalar)
      }
    }
  }
}

extension [Markup] {
  /// One after the other, with something in between.
  func joined(_ separator: Markup = Markup()) -> Markup {
    var result = Markup()
    for (index, part) in enumerated() { result += index == 0 ? part : separator + part }
    return result
  }
}
