import Foundation

/// A sum, an average or the like, fed value by value. Nils do not count.
///
/// If one of the numbers is a decimal and the others are whole, a sum and an average are decimals.
package struct Statistic {
  package enum Kind: Int, Sendable, CaseIterable {
    case sum, average, minimum, maximum, median, mode, deviation

    /// The name of the function.
    var function: String {
      switch self {
      case .sum: "sum:"
      case .average: "average:"
      case .minimum: "min:"
      case .maximum: "max:"
      case .median: "median:"
      case .mode: "mode:"
      case .deviation: "stddev:"
      }
    }

    /// The collection operator of the same meaning; nil for none.
    private var collectionOperator: String? {
      switch self {
      case .sum: "@sum"
      case .average: "@avg"
      case .minimum: "@min"
      case .maximum: "@max"
      case .median, .mode, .deviation: nil
      }
    }

    /// The statistic of a function (`sum:`) or collection operator (`@sum`).
    package init?(named name: String) {
      guard let kind = Self.allCases.first(where: { $0.function == name || $0.collectionOperator == name }) else {
        return nil
      }
      self = kind
    }
  }

  private let kind: Kind
  private var count = 0
  /// The sum of the numbers that are not decimals, as a sum has it and as floating point.
  private var total = Number.integer(0)
  private var sum = 0.0
  /// The decimals added up; nil before the first.
  private var decimals: Decimal?
  private var best = AttributeValue.null
  /// Kept where the result needs all of them.
  private var values: [AttributeValue] = []

  package init(_ kind: Kind) { self.kind = kind }

  /// - Throws: `ExpressionError` for a value that the statistic cannot use.
  package mutating func add(_ value: AttributeValue) throws(ExpressionError) {
    if EvaluatedValue.value(value).isNull { return }
    if kind == .minimum || kind == .maximum {
      let wanted = kind == .minimum ? -1 : 1
      if best.isNull || value.order(to: best) == wanted { best = value }
      return
    }
    guard let number = value.number else {
      throw ExpressionError(
        "cannot calculate a statistic with \(EvaluatedValue.value(value).phrase)", range: 0..<0)
    }
    count += 1
    switch kind {
    case .sum, .average:
      if case .decimal(let number) = value {
        decimals = decimals?.sum(number) ?? number
      } else {
        sum += number.double
        total = Number.calculate(.add, total, number) ?? total
      }
    default: values.append(value)
    }
  }

  /// Nil without values, but 0 for their sum. Nil also for a result that is not a number, such as infinity less
  /// infinity.
  package var result: AttributeValue {
    switch kind {
    case .sum: sumOfAll
    case .average: average
    case .minimum, .maximum: best
    case .median: median
    case .mode: mode
    case .deviation: deviation
    }
  }

  /// The sum of decimals and whole numbers; nil without a decimal, or with a floating point number.
  private var decimalTotal: Decimal? {
    guard let decimals, case .integer(let whole) = total else { return nil }
    return decimals.sum(Decimal(whole))
  }

  private var sumOfAll: AttributeValue {
    if let decimalTotal { return AttributeValue(calculated: decimalTotal) }
    guard let decimals else { return total.value }
    return Number.double(total.double + decimals.nearestDouble).value
  }

  private var average: AttributeValue {
    if count == 0 { return .null }
    if let decimalTotal { return AttributeValue(calculated: decimalTotal.quotient(Decimal(count))) }
    return Number.double((sum + (decimals?.nearestDouble ?? 0)) / Double(count)).value
  }

  private var doubles: [Double] { values.compactMap { $0.number?.double } }

  private var median: AttributeValue {
    let sorted = doubles.sorted()
    guard !sorted.isEmpty else { return .null }
    let middle = sorted.count / 2
    if sorted.count % 2 == 1 { return Number.double(sorted[middle]).value }
    return Number.double((sorted[middle - 1] + sorted[middle]) / 2).value
  }

  /// The value that occurs most often, the smallest of several.
  private var mode: AttributeValue {
    let sorted = values.sorted { $0.order(to: $1) == -1 }
    var (best, bestCount, count) = (AttributeValue.null, 0, 0)
    for (index, value) in sorted.enumerated() {
      count = index > 0 && value.order(to: sorted[index - 1]) == 0 ? count + 1 : 1
      if count > bestCount { (best, bestCount) = (value, count) }
    }
    return best
  }

  /// The standard deviation of the values as a whole population.
  private var deviation: AttributeValue {
    let numbers = doubles
    guard !numbers.isEmpty else { return .null }
    let mean = numbers.reduce(0, +) / Double(numbers.count)
    let variance = numbers.reduce(0) { $0 + ($1 - mean) * ($1 - mean) } / Double(numbers.count)
    return Number.double(variance.squareRoot()).value
  }
}
