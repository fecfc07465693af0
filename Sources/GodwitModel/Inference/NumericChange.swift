/// The conversion of an attribute's values to another numeric type in the later model.
///
/// Core Data infers changes among its numeric types, and from Boolean to an integer. A value that the new type cannot
/// hold stops a run. A value with a fraction stops a run too if the new type holds whole numbers, because Core Data's
/// rounding in that case is not known.
package struct NumericChange {
  let source, destination: AttributeType

  /// Nil for a change that is not inferred.
  package init?(from source: AttributeType, to destination: AttributeType) {
    guard source != destination else { return nil }
    guard source.isNumeric && destination.isNumeric || source == .boolean && destination.isInteger else { return nil }
    self.source = source
    self.destination = destination
  }

  /// The reason why inference refuses a change of types, where it is not obvious.
  static func doubt(from source: AttributeType, to destination: AttributeType) -> String? {
    let isKnown = !(source.isNumeric && destination == .boolean || source == .boolean && destination.isNumeric)
    return isKnown ? nil : "whether Core Data infers it is not known"
  }

  /// Whether the new type cannot hold some values of the old one. A value that does not fit an integer stops a run. A
  /// value too large for a decimal stays in the store, where it reads as not a number.
  package var mayNotFit: Bool {
    if let range = destination.integerRange {
      if source == .boolean { return false }
      guard let own = source.integerRange else { return true }
      return own.lowerBound < range.lowerBound || own.upperBound > range.upperBound
    }
    return destination == .decimal && !source.isInteger
  }

  /// Whether the new type holds only a neighbour of some values of the old one.
  package var mayRound: Bool {
    switch destination {
    case .double: source == .integer64 || source == .decimal
    case .float: source != .integer16
    default: false
    }
  }

  /// Whether a value expression that names the attribute converts every value as Core Data does.
  ///
  /// A whole number goes into a wider integer, and a Boolean becomes 0 or 1. Core Data too converts an integer to the
  /// nearest Double, which is exact for all but very large ones. A Float holds every integer of 16 bits. For other
  /// changes Core Data's rounding is not known, and for a decimal it accepts no other number.
  var matchesCoreData: Bool {
    switch destination {
    case .integer16, .integer32, .integer64: !mayNotFit
    case .double: source.isInteger
    case .float: source == .integer16
    default: false
    }
  }

  /// An SQL condition for a stored value that the new type cannot hold; nil if every value fits.
  package func misfit(_ column: String) -> String? {
    guard mayNotFit else { return nil }
    if source == .decimal, let range = destination.integerRange {
      return
        "\(Self.isDecimal(column)) AND NOT (\(column) BETWEEN \(range.lowerBound) AND \(range.upperBound) AND CAST(\(column) AS INTEGER) = \(column))"
    }
    if let range = destination.integerRange {
      return
        "\(column) NOT NULL AND NOT (\(column) BETWEEN \(range.lowerBound) AND \(range.upperBound) AND CAST(\(column) AS INTEGER) = \(column))"
    }
    return "\(column) NOT NULL AND NOT \(Self.isDecimal(column))"
  }

  /// True for a stored number that a decimal can hold. SQLite's `abs` fails for the lowest integer.
  private static func isDecimal(_ column: String) -> String {
    let (limit, floor) = (AttributeValue.decimalLimit, AttributeValue.decimalFloor)
    return
      "(typeof(\(column)) IN ('integer', 'real') AND \(column) > -\(limit) AND \(column) < \(limit) AND (\(column) >= \(floor) OR \(column) <= -\(floor) OR \(column) = 0))"
  }
}
