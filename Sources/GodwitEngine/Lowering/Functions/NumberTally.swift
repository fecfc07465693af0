import Foundation
import GodwitModel
import GodwitStore

/// What becomes of the values of an attribute in a column of another type: the one counter of rounded numbers, of values
/// that do not fit, and of values that become nil.
///
/// SQL calls it as `godwit_numbers(value, source type, destination type, what, whether there was a value)`.
package struct NumberTally: Sendable, Equatable {
  /// The value that is counted.
  package enum What: Int64, Sendable {
    /// A stored value, as it is.
    case stored
    /// The result of an expression. A fraction that a calculation in floating point gives is as exact in a Float as the
    /// calculation: only digits of the whole number count as lost.
    case computed
    /// A stored value that an expression reads and perhaps converts. Its last digits are the store's. A real of −2⁶³ is
    /// the lowest integer: see `ReadingSite.takesLowest`.
    case read
    /// The same, or a constant of the expression in its place: the last digits of a constant do not count.
    case readOrConstant
  }

  package static let function = "godwit_numbers"

  /// Values that become a neighbour.
  package var rounded: Int64 = 0
  /// Values that the type cannot hold.
  package var misfits: Int64 = 0
  /// Decimals without a value, which become nil.
  package var valueless: Int64 = 0
  /// Other values that become nil.
  package var nils: Int64 = 0
  /// Values that cannot be read or computed.
  package var failed: Int64 = 0

  package init() {}

  /// - Parameter text: The result of the SQL function.
  package init(_ text: String) {
    let numbers = text.split(separator: " ").compactMap { Int64($0) }
    guard numbers.count == 5 else { return }
    (rounded, misfits, valueless, nils, failed) = (numbers[0], numbers[1], numbers[2], numbers[3], numbers[4])
  }

  var text: String { "\(rounded) \(misfits) \(valueless) \(nils) \(failed)" }

  package static func + (a: NumberTally, b: NumberTally) -> NumberTally {
    var sum = a
    sum.rounded += b.rounded
    sum.misfits += b.misfits
    sum.valueless += b.valueless
    sum.nils += b.nils
    sum.failed += b.failed
    return sum
  }

  /// The counts of values that do not stop a run.
  var withoutMisfits: NumberTally { NumberTally("\(rounded) 0 \(valueless) \(nils) 0") }
  /// The counts of values that stop a run.
  var onlyMisfits: NumberTally { NumberTally("0 \(misfits) 0 0 \(failed)") }

  /// The counts that those of a sample stand for.
  package func scaled(by scale: (Int64) -> Int64) -> NumberTally {
    var tally = self
    (tally.rounded, tally.misfits, tally.valueless) = (scale(rounded), scale(misfits), scale(valueless))
    (tally.nils, tally.failed) = (scale(nils), scale(failed))
    return tally
  }

  /// - Parameter lost: The digits that the column does not hold of a decimal that an expression gave.
  mutating func add(_ arguments: SQLFunctionArguments, lost: LostDigits) {
    let source = AttributeType(rawValue: Int(arguments.int64(1)))
    let destination = AttributeType(rawValue: Int(arguments.int64(2))) ?? .undefined
    let what = What(rawValue: arguments.int64(3)) ?? .stored
    switch arguments.kind(0) {
    case .null: nils += arguments.int64(4)
    case .integer: add(arguments.int64(0), to: destination)
    case .real where destination.takesReal && (lost == .whole || lost == .fraction && what == .read): rounded += 1
    case .real: add(arguments.double(0), from: source, to: destination, what)
    case .text, .blob:
      guard destination.isNumeric else { return }
      if source == .decimal {
        valueless += 1
      } else if destination.isInteger || destination == .decimal {
        misfits += 1
      }
    }
  }

  private mutating func add(_ number: Int64, to type: AttributeType) {
    switch type {
    case .double: if Int64(exactly: Double(number)) != number { rounded += 1 }
    case .float: if Int64(exactly: Float(number)) != number { rounded += 1 }
    default: if let range = type.integerRange, !range.contains(number) { misfits += 1 }
    }
  }

  private mutating func add(
    _ number: Double, from source: AttributeType?, to type: AttributeType, _ what: What
  ) {
    if source == .decimal, type.isNumeric, !Self.isDecimal(number) {
      valueless += 1
      return
    }
    switch type {
    case .float:
      let nearest = Float(number)
      guard Double(nearest) != number else { return }
      if what == .stored || what == .read || nearest.isInfinite || Self.losesWhole(number, nearest) { rounded += 1 }
    case .decimal: if !Self.isDecimal(number) { misfits += 1 }
    case .integer16, .integer32, .integer64:
      if type.fitted(.real(number), takingLowest: what != .computed) == nil { misfits += 1 }
    default: break
    }
  }

  /// Whether a Float next to a number that it does not hold is of another whole number. Up to 2²⁴ it holds them all.
  private static func losesWhole(_ number: Double, _ nearest: Float) -> Bool {
    abs(number) > 0x1p24 && Double(nearest) != number.rounded(.toNearestOrEven)
  }

  private static func isDecimal(_ number: Double) -> Bool {
    abs(number) < AttributeValue.decimalLimit && (number == 0 || abs(number) >= AttributeValue.decimalFloor)
  }
}

/// The digits of a decimal that the nearest floating point number, as a store holds it, does not have.
enum LostDigits: Comparable {
  case none
  /// Digits behind the point. Digits of a calculation, such as a third, do not count.
  case fraction
  /// Digits of the whole number.
  case whole

  init(_ number: Decimal) {
    let nearest = number.nearestDouble
    guard number.isFinite, number.wholeNumber == nil, let stored = Decimal(stored: nearest), stored != number else {
      self = .none
      return
    }
    self = stored.rounded(.towardZero) == number.rounded(.towardZero) ? .fraction : .whole
  }
}

extension AttributeType {
  /// Whether a column of the type holds a number with a fraction.
  fileprivate var takesReal: Bool { self == .double || self == .float || self == .decimal }
}
