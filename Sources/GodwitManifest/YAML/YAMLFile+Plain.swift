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
    guard "!*{&@%`|>?".contains(first) else { return nil }
    let isOfStart = ["alias", "anchor", "tag", "cannot start", "flow mapping", "block scalar", "%"].contains {
      problem.contains($0)
    }
    return isOfStart ? remedy("YAML reads a leading '\(first)' as its own", key, value) : nil
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
