/// A function that expressions can call, in NSExpression's spelling.
enum BuiltInFunction {
  /// Canonical name and number of arguments; nil is any number of at least one.
  static let all: [(name: String, count: Int?)] = [
    ("sum:", nil), ("count:", 1), ("min:", nil), ("max:", nil), ("average:", nil), ("median:", nil),
    ("mode:", nil), ("stddev:", nil), ("add:to:", 2), ("from:subtract:", 2), ("multiply:by:", 2),
    ("divide:by:", 2), ("modulus:by:", 2), ("sqrt:", 1), ("log:", 1), ("ln:", 1), ("raise:toPower:", 2),
    ("exp:", 1), ("ceiling:", 1), ("floor:", 1), ("trunc:", 1), ("abs:", 1), ("now", 0), ("uppercase:", 1),
    ("lowercase:", 1), ("length:", 1), ("castObject:toType:", 2), ("bitwiseAnd:with:", 2),
    ("bitwiseOr:with:", 2), ("bitwiseXor:with:", 2), ("leftshift:by:", 2), ("rightshift:by:", 2),
    ("onesComplement:", 1),
  ]

  /// Known to NSExpression, refused here.
  static let unsupported: Set<String> = [
    "random", "random:", "randomn:", "canonical:", "distancetolocation:fromlocation:", "distancetolocation:",
    "noindex:", "objectfrom:withindex:",
  ]

  /// The function that `written` names: any case, with or without the last colon.
  static func named(_ written: String) -> (name: String, count: Int?)? {
    let key = normalized(written)
    return all.first { normalized($0.name) == key }
  }

  static func isUnsupported(_ written: String) -> Bool {
    let key = normalized(written)
    return unsupported.contains { normalized($0) == key }
  }

  private static func normalized(_ name: String) -> String {
    let lower = name.lowercased()
    return lower.hasSuffix(":") ? String(lower.dropLast()) : lower
  }
}
