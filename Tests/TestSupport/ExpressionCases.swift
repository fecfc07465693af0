public import GodwitModel

/// Expressions with the results they must have, written by hand: one table per group of operators.
public struct ExpressionCases: Sendable, CustomStringConvertible {
  public var name: String
  /// The person who is `$source` and SELF.
  public var key: Int64 = 1
  public var values: [(String, AttributeValue)] = []
  /// Conditions in a filter; nil is unknown.
  public var filters: [(String, Bool?)] = []

  public var description: String { name }
  public var count: Int { values.count + filters.count }

  public static let all: [ExpressionCases] = [
    literals, arithmetic, dates, bitwise, comparison, strings, like, matches, nils, logic, membership, quantifiers,
    collections, indexes, sets, subqueries, functions, random, casts, conditionals, facts, paths,
  ]
}
