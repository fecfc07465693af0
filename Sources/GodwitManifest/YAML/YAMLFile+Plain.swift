import Foundation
import Yams

/// Values without quotes of which YAML makes something else than the writer means.
extension YAMLFile {
  /// The remedy for a value that YAML cuts or changes.
  struct Cut {
    var remedy: String
    /// Whether YAML took the value's beginning for something else. If not, its end is missing.
    var isAtStart: Bool
    /// The tag as which YAML read the beginning of the value; nil for none, or one that YAML itself defines (`!!str`).
    var tag: String?
  }

  /// How to write a value so that YAML leaves it alone.
  ///
  /// - Parameters:
  ///   - why: The effect of YAML, as a clause.
  ///   - key, value: The key and the value of the example.
  static func remedy(_ why: String, _ key: String, _ value: String) -> String {
    "\(why): put the whole value between quotes, as in `\(key): '\(value.replacing("'", with: "''"))'`"
  }

  /// The effect of YAML on a value without quotes; nil for a value that it left alone.
  func cut(of node: Node) -> Cut? {
    guard case .scalar(let scalar) = node, scalar.style == .plain || scalar.style == .any else { return nil }
    let place = location(of: node)
    guard place.line > 0, place.line <= lineCount else { return nil }
    let (key, value) = Self.parts(of: line(place.line))
    guard let first = value.first else { return nil }
    if first == "!" || first == "&" {
      let isOwnTag = first == "!" && !value.hasPrefix("!!")
      return Cut(
        remedy: Self.remedy("YAML reads a leading '\(first)' as its own", key, value), isAtStart: true,
        tag: isOwnTag ? String(value.prefix { $0 != " " }) : nil)
    }
    guard value.contains(" #"), value.hasPrefix(scalar.string.prefix { !$0.isNewline }) else { return nil }
    return Cut(remedy: Self.remedy("YAML cuts a value without quotes at ' #'", key, value), isAtStart: false, tag: nil)
  }

  /// The remedy for a line that YAML cannot read because a value has no quotes; nil for another fault.
  static func plainHint(_ problem: String, _ line: some Sequence<UInt8>, column: Int) -> String? {
    let (key, value) = parts(of: Array(line))
    guard let first = value.first, !"\"'[".contains(first), !key.isEmpty else { return nil }
    if problem.contains("mapping values are not allowed"), value.contains(": ") || value.hasSuffix(":") {
      return remedy("a value without quotes must not have ': ' in it", key, value)
    }
    if first == "{" {
      // The braces end, and the expression goes on.
      guard ["flow mapping", "did not find expected key"].contains(where: problem.contains) else { return nil }
      return isEntry(value)
        ? "YAML reads '{' as its own: put the expression between quotes, as in `\(key): {value: '{1, 2}[0]'}`"
        : remedy(leadingBrace, key, value)
    }
    guard "!*&@%`|>?".contains(first) else { return nil }
    let isOfStart = ["alias", "anchor", "tag", "cannot start", "block scalar", "%"].contains {
      problem.contains($0)
    }
    return isOfStart ? remedy("YAML reads a leading '\(first)' as its own", key, value) : nil
  }

  private static let leadingBrace = "YAML reads a leading '{' as its own"

  /// Whether a value is `{value: …}`.
  private static func isEntry(_ value: String) -> Bool { value.firstMatch(of: #/^\{\s*(value|if-nil)\s*:/#) != nil }

  /// The remedy for an expression that begins with a list, such as `{$source.a, $source.b}`: YAML reads keys without
  /// values. nil for keys with values.
  func listHint(_ node: Node) -> String? {
    guard case .mapping(let mapping) = node, mapping.contains(where: { $0.value.scalar?.string.isEmpty == true }) else {
      return nil
    }
    let place = location(of: node)
    guard place.line > 0, place.line <= lineCount else { return nil }
    let (key, value) = Self.parts(of: line(place.line))
    return value.hasPrefix("{") && !Self.isEntry(value) ? Self.remedy(Self.leadingBrace, key, value) : nil
  }

  /// The key and the value of a line.
  private static func parts(of line: [UInt8]) -> (key: String, value: String) {
    let text = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespaces)
    let start = text.hasPrefix("- ") ? text.dropFirst(2) : text[...]
    guard let colon = start.firstRange(of: ": ") else { return ("", "") }
    return (
      String(start[..<colon.lowerBound]),
      start[colon.upperBound...].trimmingCharacters(in: .whitespaces)
    )
  }
}
