import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

extension Verification {
  /// Attributes whose stored value differs from the mapping's, each with the fault.
  func differences(
    of object: StoredObject, in mapping: VerifiedMapping, row: StoredRow, layout: VerifiedLayout
  ) throws -> [(property: String, message: String)] {
    var found: [(String, String)] = []
    let winner = object
    for (attribute, place) in layout.attributes where row.values.indices.contains(place) {
      let held = row.content(place)
      do {
        let object = try origin(of: attribute, in: mapping, winner)
        if isExternal(attribute, in: mapping) {
          let message = try externalDifference(of: attribute, in: mapping, from: object, found: held)
          if let message { found.append((attribute.name, message)) }
          continue
        }
        guard let expected = try expectedContent(of: attribute, in: mapping, from: object) else { continue }
        guard try !agree(expected, held, attribute.type) else { continue }
        if attribute.type == .transformable, job.destinationType == .binary, try agreeAsArchives(expected, held) {
          continue
        }
        found.append(
          (
            attribute.name,
            expected.kind == held.kind
              ? "the value is not what mapping '\(mapping.name)' gives for p\(object.key) of the source"
              : "mapping '\(mapping.name)' gives \(expected.kind) for p\(object.key) of the source, the store holds \(held.kind)"
          ))
      } catch let error as ExpressionError {
        found.append(
          (attribute.name, "its value cannot be computed from p\(object.key) of the source: \(error.message)"))
      } catch let error as GodwitError where error.code == .dataWrong {
        found.append((attribute.name, error.message))
      }
    }
    return found
  }

  /// The object that gives an attribute its value: the first of those that become one, or where `fill-nil` is said the
  /// first of them that has a value.
  private func origin(
    of attribute: AttributeDescription, in mapping: VerifiedMapping, _ winner: StoredObject
  ) throws -> StoredObject {
    func has(_ object: StoredObject) throws -> Bool {
      switch mapping.values[attribute.name] {
      case .stored(let from):
        guard let column = sourceSchema.column(of: from.name, in: object.entityName) else { return false }
        return !object.content(column).isNull
      case .expression: return try mappedValue(of: attribute, in: mapping, from: object) != .null
      case nil, .standard, .unknown: return true
      }
    }
    guard mapping.fillsNil, !mapping.uniqueBy.contains(where: { $0.name == attribute.name }), try !has(winner) else {
      return winner
    }
    for key in try counterparts[mapping.index].others(of: winner.key) {
      if let object = try objects.object(entityName: mapping.sourceEntity, key: key), try has(object) { return object }
    }
    return winner
  }

  /// As `expectedValue`, but a copy of a large value stays in the source.
  func expectedContent(
    of attribute: AttributeDescription, in mapping: VerifiedMapping, from object: StoredObject
  ) throws -> StoredContent? {
    if !object.large.isEmpty, case .stored(let from)? = mapping.values[attribute.name],
      let column = sourceSchema.column(of: from.name, in: object.entityName),
      case .large(let large) = object.content(column)
    {
      return .large(large)
    }
    return try expectedValue(of: attribute, in: mapping, from: object).map { .value($0) }
  }

  /// Whether the destination's value agrees with the value of the source or the mapping.
  private func agree(_ expected: StoredContent, _ found: StoredContent, _ type: AttributeType) throws -> Bool {
    if case .value(let expected) = expected, case .value(let found) = found {
      // A step that changes only definitions leaves the row unchanged, and any number but 0 is true.
      return Self.agree(expected, original == nil ? found : Self.fitted(found, type))
    }
    guard expected.kind == found.kind, let a = Self.bytes(expected, source), let b = Self.bytes(found, destination)
    else { return false }
    return try a.isSame(as: b)
  }

  /// Whether two transformable values are archives of the same objects. A binary store has the objects themselves, and
  /// what they were numbered by before is not in it.
  private func agreeAsArchives(_ expected: StoredContent, _ found: StoredContent) throws -> Bool {
    func graph(of content: StoredContent, _ connection: StoreConnection) throws -> ArchivedGraph? {
      guard content.kind == SQLValue.blob([]).kind, let bytes = Self.bytes(content, connection) else { return nil }
      return try? ArchivedGraph(archive: try bytes.all())
    }
    guard let a = try graph(of: expected, source), let b = try graph(of: found, destination) else { return false }
    return Self.isSame(.array(a.objects), .array(b.objects))
  }

  /// Whether two values are the same to the byte and the bit, without the equality by which archives are written.
  private static func isSame(_ a: PropertyListValue, _ b: PropertyListValue) -> Bool {
    switch (a, b) {
    case (.string(let x), .string(let y)): Array(x.utf8) == Array(y.utf8)
    case (.real(let x), .real(let y)), (.date(let x), .date(let y)): x.bitPattern == y.bitPattern
    case (.integer(let x), .integer(let y)): x == y
    case (.boolean(let x), .boolean(let y)): x == y
    case (.data(let x), .data(let y)): x == y
    case (.uid(let x), .uid(let y)): x == y
    case (.array(let x), .array(let y)): x.count == y.count && zip(x, y).allSatisfy(isSame)
    case (.dictionary(let x), .dictionary(let y)):
      x.count == y.count && x.allSatisfy { field in y[field.key].map { isSame(field.value, $0) } ?? false }
    default: false
    }
  }

  /// The bytes of a text or blob; nil for another value.
  static func bytes(_ content: StoredContent, _ connection: StoreConnection) -> StoredBytes? {
    switch content {
    case .large(let large): .row(large, connection)
    case .value(.text(let bytes)), .value(.blob(let bytes)): .memory(bytes)
    case .value: nil
    }
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
    guard job.destinationType.isAtomic else { return value }
    switch (type, value) {
    case (.date, .integer(let number)): return .real(Double(number))
    case (.decimal, .real(let number)) where Decimal(stored: number) == nil: return .text("NaN")
    default: return value
    }
  }

  private func mappedValue(
    of attribute: AttributeDescription, in mapping: VerifiedMapping, from object: StoredObject
  ) throws -> SQLValue? {
    switch mapping.values[attribute.name] {
    case nil, .unknown: return nil
    case .standard: return Self.stored(attribute.defaultValue)
    case .stored(let from):
      guard let column = sourceSchema.column(of: from.name, in: object.entityName) else { return .null }
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
    let host = SourceHost(context: objects, now: now, fetches: fetches)
    let compiled = ExpressionEvaluator(now: now, role: .value, mapping: bindings, host: host, bindsSource: true)
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

  /// Whether a store holds a value. A column's affinity decides between an integer and a real number, so
  /// numbers compare by value, which is exact.
  static func agree(_ expected: SQLValue, _ found: SQLValue) -> Bool {
    switch (expected, found) {
    case (.integer(let a), .integer(let b)): return a == b
    case (.integer(let a), .real(let b)), (.real(let b), .integer(let a)): return Int64(exactly: b) == a
    case (let a, let b): return a == b
    }
  }
}
