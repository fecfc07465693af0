import GodwitModel

/// The ends of the whole numbers that an expression can give, computed from the ends of those that it reads.
///
/// It tells without a look at any row that no result leaves the range of a type. Only sums, differences and products of
/// whole numbers have bounds, and only where 64 bits hold every intermediate result.
struct WholeNumberBounds: Equatable {
  /// nil where every value is nil.
  var range: ClosedRange<Int64>?

  init(_ range: ClosedRange<Int64>?) { self.range = range }

  /// - Parameter attribute: The bounds of the attribute at the end of a path from `$source`; nil for one without.
  /// - Returns: nil for an expression without bounds.
  static func of(
    _ expression: ValueExpression, reading attribute: ([String]) throws -> WholeNumberBounds?
  ) rethrows -> WholeNumberBounds? {
    switch expression.node {
    case .constant(.integer(let number)): return WholeNumberBounds(number...number)
    case .keyPath(let base?, let segments):
      guard case .variable("source") = base.node else { return nil }
      return try attribute(segments)
    case .negation(let operand):
      let zero = WholeNumberBounds(0...0)
      return try of(operand, reading: attribute).flatMap { combine(zero, $0, Int64.subtractingReportingOverflow) }
    case .arithmetic(let op, let left, let right):
      guard let a = try of(left, reading: attribute), let b = try of(right, reading: attribute) else { return nil }
      switch op {
      case .add: return combine(a, b, Int64.addingReportingOverflow)
      case .subtract: return combine(a, b, Int64.subtractingReportingOverflow)
      case .multiply: return combine(a, b, Int64.multipliedReportingOverflow)
      case .divide, .power: return nil
      }
    default: return nil
    }
  }

  /// The results of an operation whose least and greatest are among those of the ends; nil if 64 bits do not hold one.
  private static func combine(
    _ a: WholeNumberBounds, _ b: WholeNumberBounds,
    _ operation: (Int64) -> (Int64) -> (partialValue: Int64, overflow: Bool)
  ) -> WholeNumberBounds? {
    guard let a = a.range, let b = b.range else { return WholeNumberBounds(nil) }
    var results: [Int64] = []
    for left in [a.lowerBound, a.upperBound] {
      for right in [b.lowerBound, b.upperBound] {
        let (result, overflow) = operation(left)(right)
        if overflow { return nil }
        results.append(result)
      }
    }
    return results.min().flatMap { low in results.max().map { WholeNumberBounds(low...$0) } }
  }

  /// Whether an attribute holds each of the numbers as it is.
  func areHeld(by type: AttributeType) -> Bool {
    guard let range else { return true }
    let limits: ClosedRange<Int64>
    switch type {
    case .integer16, .integer32, .integer64: limits = type.integerRange ?? 0...0
    case .double: limits = -(1 << 53)...(1 << 53)
    case .float: limits = -(1 << 24)...(1 << 24)
    default: return false
    }
    return limits.lowerBound <= range.lowerBound && range.upperBound <= limits.upperBound
  }
}
