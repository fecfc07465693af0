extension FilterPredicate: CustomStringConvertible {
  /// The predicate in NSPredicate's format; a parsed predicate reparses to an equal tree.
  public var description: String {
    switch node {
    case .constant(let flag): flag ? "TRUEPREDICATE" : "FALSEPREDICATE"
    case .comparison(let comparison): comparison.description
    case .and(let parts): Self.join(parts, " AND ", empty: "TRUEPREDICATE")
    case .or(let parts): Self.join(parts, " OR ", empty: "FALSEPREDICATE")
    case .not(let part): "NOT (\(part))"
    case .untaken: Self.restWord
    }
  }

  private static func join(_ parts: [FilterPredicate], _ separator: String, empty: String) -> String {
    guard !parts.isEmpty else { return empty }
    return parts.map { part in
      switch part.node {
      case .and, .or: "(\(part))"
      default: part.description
      }
    }.joined(separator: separator)
  }
}

extension FilterPredicate.Comparison: CustomStringConvertible {
  package var description: String {
    let lead = modifier == .direct ? "" : modifier.rawValue + " "
    return "\(lead)\(left) \(self.operator.rawValue)\(options.text) \(right)"
  }
}

extension FilterPredicate.Comparison.Options {
  /// `[cd]`, or nothing.
  var text: String {
    let letters: [(Self, String)] = [
      (.caseInsensitive, "c"), (.diacriticInsensitive, "d"), (.normalized, "n"), (.localeSensitive, "l"),
    ]
    let present = letters.filter { contains($0.0) }.map(\.1).joined()
    return present.isEmpty ? "" : "[\(present)]"
  }
}
