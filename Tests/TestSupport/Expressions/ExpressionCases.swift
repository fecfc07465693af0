package import GodwitModel

/// Expressions with the results they must have, written by hand: one table per group of operators.
package struct ExpressionCases: Sendable, CustomStringConvertible {
  package var name: String
  /// The person who is `$source` and SELF.
  package var key: Int64 = 1
  package var values: [(String, AttributeValue)] = []
  /// Conditions in a filter; nil is unknown.
  package var filters: [(String, Bool?)] = []

  package var description: String { name }
  package var count: Int { values.count + filters.count }

  package static let all: [ExpressionCases] = [
    literals, arithmetic, dates, bitwise, comparison, strings, like, matches, nils, logic, membership, quantifiers,
    collections, indexes, sets, subqueries, functions, random, casts, archives, encoded, conditionals, facts, paths,
    valuePaths,
    stringMethods, valueMethods, classMethods, formats, identifiers,
  ]
}
