/// A function that expressions can call, in NSExpression's spelling.
struct BuiltInFunction: Sendable {
  /// The name, with a colon after each part that takes an argument.
  var name: String
  /// How many arguments it takes.
  var counts: ClosedRange<Int>

  private static func taking(_ counts: ClosedRange<Int>, _ names: String...) -> [BuiltInFunction] {
    names.map { BuiltInFunction(name: $0, counts: counts) }
  }

  static let all: [BuiltInFunction] =
    taking(0...0, "now", "random")
    + taking(
      1...1, "count:", "sqrt:", "log:", "ln:", "exp:", "ceiling:", "floor:", "trunc:", "abs:", "uppercase:",
      "lowercase:", "length:", "canonical:", "onesComplement:", "randomn:", "noindex:", "archive:", "unarchive:")
    + taking(
      2...2, "add:to:", "from:subtract:", "multiply:by:", "divide:by:", "modulus:by:", "raise:toPower:",
      "castObject:toType:", "bitwiseAnd:with:", "bitwiseOr:with:", "bitwiseXor:with:", "leftshift:by:",
      "rightshift:by:", "distanceToLocation:fromLocation:", "objectFrom:withIndex:", "archive:as:", "unarchive:as:")
    + taking(1...1000, "sum:", "min:", "max:", "average:", "median:", "mode:", "stddev:")

  private static let byKey = Dictionary(all.map { (key($0.name), $0) }, uniquingKeysWith: { first, _ in first })

  /// The function that `written` names: any case, with or without the last colon.
  static func named(_ written: String) -> BuiltInFunction? {
    // `random:` with an argument is Foundation's older name of `randomn:`.
    written.lowercased() == "random:" ? byKey["randomn"] : byKey[key(written)]
  }

  private static func key(_ name: String) -> String {
    let lower = name.lowercased()
    return lower.hasSuffix(":") ? String(lower.dropLast()) : lower
  }

  /// The fault of a number of arguments; nil for a valid one.
  func complaint(about count: Int) -> String? {
    guard !counts.contains(count) else { return nil }
    let wanted =
      counts.count == 1 ? "\(counts.lowerBound) argument(s)" : "at least one argument and at most \(counts.upperBound)"
    return "'\(name)' takes \(wanted), found \(count)"
  }

  /// Names as a writer types them, for hints.
  static var spellings: [String] {
    all.map { $0.name.hasSuffix(":") ? String($0.name.dropLast()) : $0.name }
  }

  /// The type names of a CAST, for hints.
  static let castTypes = ["NSNumber", "NSDecimalNumber", "NSString", "NSDate", "NSData"]

  /// The kind of value that the type name of a CAST asks for: `.double` for any number.
  static func castType(_ name: String) -> AttributeType? {
    switch name {
    case "NSNumber", "Number": .double
    case "NSDecimalNumber": .decimal
    case "NSString", "String": .string
    case "NSDate", "Date": .date
    case "NSData", "Data": .binary
    default: nil
    }
  }
}
