import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// The values that the mappings give, computed in Swift from objects of the source.
final class ExpectedValues {
  /// The expressions by mapping and attribute.
  private var compiledExpressions: [MappingID: [String: CompiledExpression]] = [:]
  private let stores: ComparedStores

  init(_ stores: ComparedStores) { self.stores = stores }

  /// As `expectedValue`, but a copy of a large value stays in the source.
  func expectedContent(
    of attribute: AttributeDescription, in mapping: VerifiedMapping, from object: StoredObject
  ) throws -> StoredContent? {
    if !object.large.isEmpty, case .stored(let from)? = mapping.values[attribute.name],
      let column = stores.sourceSchema.column(of: from.name, in: object.entityName),
      case .large(let large) = object.content(column)
    {
      return .large(large)
    }
    return try expectedValue(of: attribute, in: mapping, from: object).map { .value($0) }
  }

  /// The value that the mapping stores in an attribute for a source object; nil when only the run could know.
  func expectedValue(
    of attribute: AttributeDescription, in mapping: VerifiedMapping, from object: StoredObject
  ) throws -> SQLValue? {
    let value = try mappedValue(of: attribute, in: mapping, from: object)
    guard value == .null, mapping.nilIsDefault.contains(attribute.name) else {
      return value.map { held($0, attribute.type) }
    }
    return Self.stored(attribute.defaultValue)
  }

  /// A value as the destination holds it. An atomic store has a double for each date, and NaN for a number that no
  /// decimal is near, as Core Data reads it.
  private func held(_ value: SQLValue, _ type: AttributeType) -> SQLValue {
    guard stores.job.destinationType.isAtomic else { return value }
    switch (type, value) {
    case (.date, .integer(let number)): return .real(Double(number))
    case (.decimal, .real(let number)) where Decimal(stored: number) == nil: return .text("NaN")
    default: return value
    }
  }

  func mappedValue(
    of attribute: AttributeDescription, in mapping: VerifiedMapping, from object: StoredObject
  ) throws -> SQLValue? {
    switch mapping.values[attribute.name] {
    case nil, .unknown: return nil
    case .standard: return Self.stored(attribute.defaultValue)
    case .stored(let from):
      guard let column = stores.sourceSchema.column(of: from.name, in: object.entityName) else { return .null }
      return Self.fitted(try object.stored(column), attribute.type)
    case .expression(let expression):
      let compiled = compiled(expression, for: attribute.name, in: mapping)
      guard case .value(let value) = try compiled.evaluate(with: object) else {
        throw GodwitError(
          .dataWrong,
          "cannot verify '\(attribute.name)' for \(object.entityName) p\(object.key): expected one value, found objects"
        ).about(.rejectedRow)
      }
      return Self.fitted(Self.stored(value), attribute.type)
    }
  }

  func compiled(
    _ expression: ValueExpression, for property: String, in mapping: VerifiedMapping
  ) -> CompiledExpression {
    if let known = compiledExpressions[mapping.index]?[property] { return known }
    var bindings = mapping.bindings
    bindings.propertyName = property
    let host = SourceHost(context: stores.objects, now: stores.now, fetches: stores.fetches)
    let compiled = ExpressionEvaluator(now: stores.now, role: .value, mapping: bindings, host: host, bindsSource: true)
      .compile(expression)
    compiledExpressions[mapping.index, default: [:]][property] = compiled
    return compiled
  }

  /// A value as SQLite holds it.
  static func stored(_ value: AttributeValue) -> SQLValue {
    switch value {
    case .null: .null
    case .boolean(let truth): .integer(truth ? 1 : 0)
    case .integer(let number): .integer(number)
    case .double(let number), .date(let number): number.isNaN ? .null : .real(number)
    // Not a number has no value in an expression.
    case .decimal(let number):
      number.isNaN ? .null : number.wholeNumber.map { .integer($0) } ?? .real(number.nearestDouble)
    case .string(let text), .uri(let text): .text(text.utf8)
    case .data(let bytes): .blob(bytes)
    case .uuid(let uuid): .blob(withUnsafeBytes(of: uuid.uuid) { Array($0) })
    }
  }

  static func fitted(_ value: SQLValue, _ type: AttributeType) -> SQLValue {
    switch (type, value) {
    case (.boolean, .integer(let number)): .integer(number == 0 ? 0 : 1)
    case (.boolean, .real(let number)): .integer(number == 0 ? 0 : 1)
    // A whole number that is too large for one becomes the nearest.
    case (.double, .integer(let number)), (.float, .integer(let number)): .real(Double(number))
    default: value
    }
  }
}
