import Foundation
import GodwitModel

extension CompiledModelReader {
  /// Validation predicates as Xcode writes them: bounds on the value or the length, and a regular expression.
  mutating func readLimits(
    of object: KeyedArchive.Object, into attribute: inout AttributeDescription, at place: String
  ) throws {
    for found in try objects("NSValidationPredicates", of: object) {
      let origin = "key 'NSValidationPredicates' at \(place)"
      do {
        let predicate = try predicate(found)
        for condition in Self.conditions(of: predicate) {
          guard try readLimit(condition, into: &attribute) else {
            try omit("the condition of class '\(found.className)' in \(origin) is not a limit that Xcode writes")
            continue
          }
        }
      } catch let error as UnknownExpression {
        try omit("\(error.text) in \(origin)")
      }
    }
  }

  private static func conditions(of predicate: FilterPredicate) -> [FilterPredicate] {
    guard case .and(let parts) = predicate.node else { return [predicate] }
    return parts.flatMap(conditions)
  }

  /// False for a condition of another shape.
  private func readLimit(_ predicate: FilterPredicate, into attribute: inout AttributeDescription) throws -> Bool {
    guard case .comparison(let comparison) = predicate.node, comparison.modifier == .direct, comparison.options.isEmpty,
      case .constant(let limit) = comparison.right.node
    else { return false }
    switch comparison.left.node {
    case .keyPath(base: nil, segments: ["length"]):
      guard attribute.type == .string, case .integer(let number) = limit, let length = Int(exactly: number), length >= 0
      else { return false }
      switch comparison.operator {
      case .greaterOrEqual: attribute.minimumLength = max(length, attribute.minimumLength ?? 0)
      case .lessOrEqual: attribute.maximumLength = min(length, attribute.maximumLength ?? length)
      default: return false
      }
    case .keyPath(base: nil, segments: ["timeIntervalSinceReferenceDate"]):
      guard attribute.type == .date, let seconds = Self.bound(limit, type: .double),
        case .double(let seconds) = seconds
      else { return false }
      return Self.setLimit(.date(seconds), comparison.operator, of: &attribute)
    case .evaluatedObject:
      if comparison.operator == .matches, attribute.type == .string, attribute.regularExpression == nil,
        case .string(let pattern) = limit
      {
        attribute.regularExpression = pattern.string
        return true
      }
      guard let bound = Self.bound(limit, type: attribute.type) else { return false }
      return Self.setLimit(bound, comparison.operator, of: &attribute)
    default: return false
    }
    return true
  }

  private static func setLimit(
    _ bound: AttributeValue, _ kind: FilterPredicate.Comparison.Operator, of attribute: inout AttributeDescription
  ) -> Bool {
    switch kind {
    case .greaterOrEqual where attribute.minimumValue == nil: attribute.minimumValue = bound
    case .lessOrEqual where attribute.maximumValue == nil: attribute.maximumValue = bound
    default: return false
    }
    return true
  }

  /// The constant of a predicate as a value of the attribute's type.
  private static func bound(_ value: AttributeValue, type: AttributeType) -> AttributeValue? {
    switch (value, type) {
    case (.date, .date): value
    case (.integer, _) where type.isInteger: value
    case (.double(let number), _) where type.isInteger: Int64(exactly: number).map { .integer($0) }
    case (.decimal(let number), _) where type.isInteger: Int64("\(number)").map { .integer($0) }
    case (.integer(let number), .double), (.integer(let number), .float): .double(Double(number))
    case (.double, .double), (.double, .float): value
    case (.decimal(let number), .double), (.decimal(let number), .float): Double("\(number)").map { .double($0) }
    case (.integer(let number), .decimal): .decimal(Decimal(number))
    case (.double(let number), .decimal): Decimal(string: "\(number)").map { .decimal($0) }
    case (.decimal, .decimal): value
    default: nil
    }
  }
}
