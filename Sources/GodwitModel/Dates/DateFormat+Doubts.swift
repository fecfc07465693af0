extension DateFormat {
  /// Why a pattern that is valid probably gives other dates than its writer means; nil for a usual one.
  static func doubt(_ pattern: Text) -> String? {
    guard pattern != iso8601 else { return nil }
    var isQuoted = false
    let letters = pattern.string.filter { character in
      if character == "'" { isQuoted.toggle() }
      return !isQuoted && character.isASCII && character.isLetter
    }
    func has(_ any: String) -> Bool { letters.contains { any.contains($0) } }
    func run(_ letter: Character) -> String { String(letters.filter { $0 == letter }) }
    if has("Y"), has("MLdD"), !has("w") {
      return "'\(run("Y"))' is the year of the week: write '\(run("Y").lowercased())'"
    }
    if has("D"), has("ML") { return "'\(run("D"))' is the day of the year: write '\(run("D").lowercased())'" }
    if has("m"), has("dD"), has("yY"), !has("MLHhkK") {
      return "'\(run("m"))' are minutes: write '\(run("m").uppercased())' for the month"
    }
    return nil
  }
}

extension ValueExpression {
  /// Doubts about the patterns of dates in the expression, in no order: each with the pattern.
  package var patternDoubts: [String] {
    var found: [String] = []
    _ = contains { part in
      guard case .function(let name, let arguments) = part.node, name.hasPrefix("date:") || name.hasPrefix("text:"),
        let place = name.split(separator: ":").firstIndex(of: "format"), place < arguments.count,
        case .constant(.string(let pattern)) = arguments[place].node, let doubt = DateFormat.doubt(pattern)
      else { return false }
      found.append("in the pattern '\(pattern)' \(doubt)")
      return false
    }
    return found
  }
}
