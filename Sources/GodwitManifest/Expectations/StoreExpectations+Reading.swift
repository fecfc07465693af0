import GodwitModel
package import GodwitStore

/// Expectations as a YAML file.
///
/// ```yaml
/// expect: 1
/// objects:
///   Person:
///     count: 12
///     all: age >= 0
///     some: ["name == 'Ann'", "ANY friends.name == 'Bo'"]
///   Note:
///     at-least: 1
///     none: text == nil
/// ```
extension StoreExpectations {
  private static let keys = ["count", "at-least", "at-most"] + Quantifier.allCases.map(\.rawValue)

  /// Reads a file of expectations.
  ///
  /// - Throws: `.missingInput` (66) without the file, `.configuration` (78) with line and column when it is wrong.
  package init(contentsOf path: String) throws {
    let reader = YAMLReader(file: try YAMLFile(contentsOf: path, what: "expectations"))
    let root = reader.file.root
    try reader.checkVersion(try reader.entries(root, key: "").first { $0.key == "expect" }, key: "expect")
    let top = try reader.entries(root, key: "", known: ["expect", "objects"])
    guard let objects = top["objects"] else {
      throw reader.error(
        "expected the key 'objects', found none", at: reader.file.location(of: root),
        remedy: "add `objects:` with entity names under it")
    }
    self.init(
      try reader.entries(objects.value, key: "objects", expected: "entity names").map { try Self.entity($0, reader) })
  }

  private static func entity(_ entry: YAMLReader.Entry, _ reader: YAMLReader) throws -> Entity {
    let found = try reader.entries(entry.value, key: entry.key, known: keys)
    func number(_ key: String) throws -> Int64? {
      try found[key].map { Int64(try reader.integer($0.value, key: key, in: 0...Int.max)) }
    }
    let (exact, low, high) = (try number("count"), try number("at-least"), try number("at-most"))
    if exact != nil, let other = found["at-least"] ?? found["at-most"] {
      throw reader.error(
        "expected either 'count' or a limit for '\(entry.key)', found both", at: other.location,
        remedy: "remove one of the two")
    }
    if let low, let high, low > high, let other = found["at-most"] {
      throw reader.error(
        "expected 'at-most' to be at least \(low) for '\(entry.key)', found \(high)", at: other.location,
        remedy: "correct one of the two")
    }
    var entity = Entity(name: entry.key, location: entry.location)
    if exact != nil || low != nil || high != nil { entity.count = (exact ?? low ?? 0)...(exact ?? high ?? .max) }
    for quantifier in Quantifier.allCases {
      guard let listed = found[quantifier.rawValue] else { continue }
      entity.conditions += try reader.items(listed.value, key: listed.key, expected: "a predicate").map { node in
        let source = try reader.source(node, key: listed.key, expected: "a predicate")
        do throws(ExpressionError) {
          return Condition(quantifier, try FilterPredicate(parsing: source))
        } catch { throw GodwitError(error, in: source, what: "'\(listed.key)' of '\(entry.key)'") }
      }
    }
    return entity
  }
}
