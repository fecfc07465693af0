import GodwitModel
import GodwitStore

/// Predicates.
extension ExpressionLowering {
  typealias Options = FilterPredicate.Comparison.Options

  /// SQL that is true, false or (in filters only) NULL.
  func predicate(_ predicate: FilterPredicate) throws -> String {
    switch predicate.node {
    case .constant(let flag): return flag ? "1" : "0"
    case .and(let parts): return parts.isEmpty ? "1" : "(" + (try each(parts).joinedEvenly(by: " AND ")) + ")"
    case .or(let parts): return parts.isEmpty ? "0" : "(" + (try each(parts).joinedEvenly(by: " OR ")) + ")"
    case .untaken(let parts):
      guard !parts.isEmpty else { return "1" }
      return "(" + (try each(parts).map { "(\($0)) IS NOT TRUE" }.joinedEvenly(by: " AND ")) + ")"
    case .not(let part): return "(NOT \(try self.predicate(part)))"
    case .comparison(let comparison):
      let left = try lower(comparison.left)
      guard comparison.modifier != .direct else { return try compare(left, comparison) }
      guard case .collection(let collection) = left else {
        throw NotLowerable(reason: "\(comparison.modifier.rawValue) of a list runs in Swift")
      }
      return try quantified(comparison.modifier, over: collection) { try compare($0, comparison) }
    }
  }

  /// The first part is evaluated for every row, the others perhaps not.
  private func each(_ parts: [FilterPredicate]) throws -> [String] {
    var rest = self
    if rest.checks == .byRow { rest.checks = .inline }
    return try parts.enumerated().map { try ($0 == 0 ? self : rest).predicate($1) }
  }

  private func compare(_ left: Lowered, _ c: FilterPredicate.Comparison) throws -> String {
    let right = try lower(c.right)
    let isEquality = c.operator == .equal || c.operator == .notEqual
    // Only the written nil tests for nil; a value that turns out nil compares as one.
    if isEquality, c.right.node == .constant(.null) { return try isNull(left, c) }
    if isEquality, c.modifier == .direct, c.left.node == .constant(.null) { return try isNull(right, c) }
    func sides() throws -> (String, String) {
      (try operand(left, c.left, c.options), try operand(right, c.right, c.options))
    }
    switch c.operator {
    case .equal:
      let (a, b) = try sides()
      return "(\(a) \(role == .filter ? "=" : "IS") \(b))"
    case .notEqual:
      let (a, b) = try sides()
      return "(\(a) \(role == .filter ? "<>" : "IS NOT") \(b))"
    case .less, .lessOrEqual, .greater, .greaterOrEqual:
      let (a, b) = try sides()
      return known("\(a) \(c.operator.rawValue) \(b)")
    case .between:
      guard case .list(let bounds) = right, bounds.count == 2, case .aggregate(let texts) = c.right.node,
        texts.count == 2
      else { throw NotLowerable(reason: "BETWEEN without two bounds runs in Swift") }
      let a = try operand(left, c.left, c.options)
      let (low, high) = (try operand(bounds[0], texts[0], c.options), try operand(bounds[1], texts[1], c.options))
      return known("\(a) BETWEEN \(low) AND \(high)")
    case .in: return try isIn(left, right, c)
    case .contains:
      if case .collection(let collection) = left { return try isMember(right, of: collection, c.options, c.right) }
      return try text("godwit_contains", left, right, c)
    case .beginsWith: return try text("godwit_begins_with", left, right, c)
    case .endsWith: return try text("godwit_ends_with", left, right, c)
    case .like:
      try needText(left, right, c)
      return known("godwit_like(\(try sql(left)), \(try sql(right)), \(c.options.rawValue))")
    case .matches:
      try needText(left, right, c)
      guard case .constant(.string(let pattern)) = c.right.node, StringComparison.isPattern(pattern.utf8) else {
        throw NotLowerable(reason: "MATCHES with a computed pattern runs in Swift")
      }
      return known(
        "godwit_regex(\(try sql(left)), \(try sql(right)), \(c.options.rawValue), \(ownSite), \(row.alias).Z_PK)")
    }
  }

  private func isNull(_ lowered: Lowered, _ c: FilterPredicate.Comparison) throws -> String {
    "(\(try sql(lowered)) IS \(c.operator == .equal ? "" : "NOT ")NULL)"
  }

  private func isIn(_ left: Lowered, _ right: Lowered, _ c: FilterPredicate.Comparison) throws -> String {
    switch right {
    case .collection(let collection): return try isMember(left, of: collection, c.options, c.left)
    case .value(_, let type) where type?.expressionKind == .text:
      // `x IN 'text'` tests whether the text contains x.
      try needText(left, right, c)
      let (whole, part) = (try operand(right, c.right, c.options), try operand(left, c.left, c.options))
      return known("godwit_contains(\(whole), \(part))")
    case .list(let elements):
      guard case .aggregate(let texts) = c.right.node, texts.count == elements.count else {
        throw NotLowerable(reason: "IN a computed list runs in Swift")
      }
      let value = try operand(left, c.left, c.options)
      let members = try zip(elements, texts).map { try operand($0, $1, c.options) }
      if role == .filter { return "(\(value) IN (\(members.joined(separator: ", "))))" }
      // SQLite's IN does not take NULL for equal to NULL, memory does.
      let tests = members.map { "\(value) IS \($0)" }
      return tests.isEmpty ? "0" : "(" + tests.joinedEvenly(by: " OR ") + ")"
    default: throw NotLowerable(reason: "IN without a list runs in Swift")
    }
  }

  private func text(
    _ function: String, _ left: Lowered, _ right: Lowered, _ c: FilterPredicate.Comparison
  ) throws -> String {
    try needText(left, right, c)
    let (a, b) = (try operand(left, c.left, c.options), try operand(right, c.right, c.options))
    return known("\(function)(\(a), \(b))")
  }

  /// In memory a comparison with nil is false; in the SQLite store it is unknown.
  private func known(_ sql: String) -> String { role == .filter ? "(\(sql))" : "COALESCE(\(sql), 0)" }

  private func needText(_ left: Lowered, _ right: Lowered, _ c: FilterPredicate.Comparison) throws {
    for side in [left, right] {
      switch side {
      case .value(_, let type) where type?.expressionKind == .text: continue
      case .null: continue
      default: throw NotLowerable(reason: "\(c.operator.rawValue) on what is not text runs in Swift")
      }
    }
  }

  /// One side of a comparison. A text is folded by the options.
  ///
  /// - Parameter text: The expression, when it is known; a constant is folded here and not row by row.
  func operand(_ lowered: Lowered, _ text: ValueExpression?, _ options: Options) throws -> String {
    let sql = try self.sql(lowered)
    let folding = options.intersection([.caseInsensitive, .diacriticInsensitive])
    guard !folding.isEmpty, case .value(_, let type) = lowered, type?.expressionKind == .text else { return sql }
    if case .constant(.string(let constant))? = text?.node {
      return builder.bind(.text(StringComparison.folded(constant.utf8, folding)))
    }
    return "godwit_fold(\(sql), \(folding.rawValue))"
  }

  func sql(_ lowered: Lowered) throws -> String {
    switch lowered {
    case .value(let sql, _): return sql
    case .object(let key, _): return key
    case .null: return "NULL"
    case .collection, .list: throw NotLowerable(reason: "a collection in a comparison runs in Swift")
    }
  }
}
