import Foundation
import GodwitModel
import GodwitStore

/// Where an entity's properties stand in the rows of its table.
struct VerifiedLayout {
  var entity: String
  /// All columns of the table, and the SQL that selects them in that order.
  var rows: String
  var rowByKey: String
  var entityPlace = 1
  var lockPlace = 2
  var attributes: [(attribute: AttributeDescription, place: Int)]
  /// Columns of other entities in the same table, which must be NULL.
  var others: [(name: String, place: Int)]
}

extension Verification {
  func layout(of entity: String) throws -> VerifiedLayout {
    if let known = layouts[entity] { return known }
    let table = try destinationTable(entity)
    let names = table.columns.map(\.name)
    let list = names.map(StoreSchema.identifier).joined(separator: ", ")
    let own = Set(destinationSchema.columns(of: entity).map(\.name))
    var layout = VerifiedLayout(
      entity: entity, rows: "SELECT \(list) FROM \(self.table(table.name)) ORDER BY Z_PK",
      rowByKey: "SELECT \(list) FROM \(self.table(table.name)) WHERE Z_PK = ?1", attributes: [], others: [])
    layout.attributes = job.destinationModel.attributes(of: entity).compactMap { attribute in
      destinationSchema.column(of: attribute.name, in: entity).flatMap { names.firstIndex(of: $0) }
        .map { (attribute, $0) }
    }
    layout.others = names.enumerated().filter { !own.contains($0.element) }.map { ($0.element, $0.offset) }
    layouts[entity] = layout
    return layout
  }

  /// Attributes whose stored value is not what the mapping says, each with what is wrong.
  func differences(
    of object: StoredObject, in mapping: VerifiedMapping, row: [SQLValue], layout: VerifiedLayout
  ) throws -> [(property: String, message: String)] {
    var found: [(String, String)] = []
    for (attribute, place) in layout.attributes where row.indices.contains(place) {
      do {
        if isExternal(attribute, in: mapping) {
          let message = try externalDifference(of: attribute, in: mapping, from: object, found: row[place])
          if let message { found.append((attribute.name, message)) }
          continue
        }
        guard let expected = try expectedValue(of: attribute, in: mapping, from: object) else { continue }
        guard !Self.agree(expected, row[place], attribute.type) else { continue }
        found.append(
          (
            attribute.name,
            expected.kind == row[place].kind
              ? "the value is not what mapping '\(mapping.name)' gives for p\(object.key) of the source"
              : "mapping '\(mapping.name)' gives \(expected.kind) for p\(object.key) of the source, the store holds \(row[place].kind)"
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

  /// What the mapping stores in an attribute for a source object; nil when only the run could know.
  func expectedValue(
    of attribute: AttributeDescription, in mapping: VerifiedMapping, from object: StoredObject
  ) throws -> SQLValue? {
    let value = try mappedValue(of: attribute, in: mapping, from: object)
    guard value == .null, mapping.nilIsDefault.contains(attribute.name) else { return value }
    return Self.stored(attribute.defaultValue)
  }

  private func mappedValue(
    of attribute: AttributeDescription, in mapping: VerifiedMapping, from object: StoredObject
  ) throws -> SQLValue? {
    switch mapping.values[attribute.name] {
    case nil, .unknown: return nil
    case .standard: return Self.stored(attribute.defaultValue)
    case .stored(let from):
      guard let column = sourceSchema.column(of: from.name, in: object.entityName) else { return .null }
      return Self.fitted(object.stored(column), attribute.type)
    case .expression(let expression):
      let compiled = compiled(expression, for: attribute.name, in: mapping)
      guard case .value(let value) = try compiled.evaluate(with: object) else {
        throw GodwitError(
          .dataWrong,
          "cannot verify '\(attribute.name)' for \(object.entityName) p\(object.key): expected one value, found objects"
        )
      }
      return Self.fitted(Self.stored(value), attribute.type)
    }
  }

  private func compiled(
    _ expression: GodwitModel.Expression, for property: String, in mapping: VerifiedMapping
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
  private static func stored(_ value: AttributeValue) -> SQLValue {
    switch value {
    case .null: .null
    case .boolean(let truth): .integer(truth ? 1 : 0)
    case .integer(let number): .integer(number)
    case .double(let number), .date(let number): number.isNaN ? .null : .real(number)
    // Not a number has no value in an expression.
    case .decimal(let number): number.isNaN ? .null : .real(Double(number.description) ?? .nan)
    case .string(let text), .uri(let text): .text(text.utf8)
    case .data(let bytes): .blob(bytes)
    case .uuid(let uuid): .blob(withUnsafeBytes(of: uuid.uuid) { Array($0) })
    }
  }

  private static func fitted(_ value: SQLValue, _ type: AttributeType) -> SQLValue {
    switch (type, value) {
    case (.boolean, .integer(let number)): .integer(number == 0 ? 0 : 1)
    case (.boolean, .real(let number)): .integer(number == 0 ? 0 : 1)
    default: value
    }
  }

  /// Whether a store holds a value. A column's affinity decides between an integer and a real number, so
  /// numbers compare by value; a boolean by truth.
  static func agree(_ expected: SQLValue, _ found: SQLValue, _ type: AttributeType) -> Bool {
    switch (expected, fitted(found, type)) {
    case (.integer(let a), .integer(let b)): return a == b
    case (.integer(let a), .real(let b)): return Double(a) == b
    case (.real(let a), .integer(let b)): return a == Double(b)
    case (.real(let a), .real(let b)):
      // A decimal goes through text in one place and through a double in the other: the last digit may differ.
      return a == b || (type == .decimal && abs(a - b) <= a.ulp)
    case (let a, let b): return a == b
    }
  }
}
