import Foundation
import GodwitModel
import GodwitStore

/// Evaluates expressions on objects of the source store in memory, one object at a time: the object lane.
final class SourceEvaluation {
  private let context: ObjectContext
  private let fetches = FetchedObjects()
  var now: Double
  /// Answers `FUNCTION($entityPolicy, …)` while a policy's mapping is evaluated.
  var policyCall: ((ExpressionCall) throws -> EvaluatedValue)?

  init(connection: StoreConnection, schema: StoreSchema, now: Double) {
    context = ObjectContext(connection: connection, schema: schema, database: StoreConnection.sourceSchema)
    self.now = now
  }

  func setSupportFolder(_ folder: SupportFolder) { context.support = folder }

  /// Drops the rows and statements kept since the last call.
  func forget() { context.reset() }

  /// An expression of a statement, ready for its rows.
  final class Prepared {
    let work: LoweredFunctions.Evaluation.Work
    let entityName, text: String
    let evaluator: ExpressionEvaluator
    let layout: ObjectLayout?
    /// The attributes that each call hands over, by name.
    let attributes: [(name: String, attribute: ObjectLayout.Attribute)]

    init(_ evaluation: LoweredFunctions.Evaluation, layout: ObjectLayout?, now: Double, host: SourceHost) {
      (work, entityName, text) = (evaluation.work, evaluation.entityName, evaluation.text)
      self.layout = layout
      attributes = evaluation.attributes.compactMap { name in layout?.attributes[name].map { (name, $0) } }
      evaluator =
        switch work {
        case .predicate: ExpressionEvaluator(now: now, role: .filter, host: host)
        case .expression:
          ExpressionEvaluator(now: now, role: .value, mapping: evaluation.bindings, host: host, bindsSource: true)
        }
    }
  }

  func prepare(_ evaluation: LoweredFunctions.Evaluation) -> Prepared {
    Prepared(
      evaluation, layout: context.layout(of: evaluation.entityName), now: now,
      host: SourceHost(context: context, now: now, fetches: fetches, policyCall: policyCall))
  }

  /// - Parameter arguments: The call's: from the third on what the row has in the expression's attributes.
  func value(of prepared: Prepared, key: Int64, attributes arguments: SQLFunctionArguments? = nil) throws -> SQLValue {
    if let arguments, arguments.kind(1) != .integer { return .null }
    let object: any EvaluatedObject
    if let arguments, let layout = prepared.layout, !prepared.attributes.isEmpty {
      var values: [SQLValue?] = []
      values.reserveCapacity(prepared.attributes.count)
      for position in 2..<prepared.attributes.count + 2 {
        // A large value is not copied until the expression asks for it.
        let isLarge =
          switch arguments.kind(position) {
          case .text, .blob: arguments.byteCount(position) > HandedObject.limitBytes
          default: false
          }
        values.append(isLarge ? nil : arguments.value(position))
      }
      object = HandedObject(context: context, layout: layout, key: key, attributes: prepared.attributes, values: values)
    } else {
      guard let stored = try context.object(entityName: prepared.entityName, key: key) else { return .null }
      object = stored
    }
    do {
      switch prepared.work {
      case .predicate(let predicate):
        return try prepared.evaluator.matches(predicate, with: object).map { .integer($0 ? 1 : 0) } ?? .null
      case .expression(let expression):
        guard case .value(let value) = try prepared.evaluator.evaluate(expression, with: object) else {
          throw GodwitError(
            .dataWrong,
            "cannot evaluate '\(prepared.text)' for \(prepared.entityName) p\(key): expected one value, found objects"
          )
        }
        return SQLValue(value)
      }
    } catch let error as ExpressionError {
      throw GodwitError(
        .dataWrong, "cannot evaluate '\(prepared.text)' for \(prepared.entityName) p\(key): \(error.message)")
    }
  }
}

/// An object of the source of which a statement has handed some attributes over; the rest is read when it is asked for.
struct HandedObject: EvaluatedObject {
  static let limitBytes = 4096

  let context: ObjectContext
  let layout: ObjectLayout
  let key: Int64
  let attributes: [(name: String, attribute: ObjectLayout.Attribute)]
  /// nil for a value that is too large to hand over.
  let values: [SQLValue?]

  var entityName: String { layout.entityName }

  func value(_ property: String) throws -> EvaluatedValue {
    for (position, (name, attribute)) in attributes.enumerated() where name == property {
      guard let value = values[position] else { break }
      return .value(
        try context.value(value, of: attribute.description, entityName: layout.entityName, key: key))
    }
    return try stored().value(property)
  }

  /// The whole object.
  func stored() throws -> StoredObject {
    if let stored = try context.object(entityName: layout.entityName, key: key) { return stored }
    throw GodwitError(.dataWrong, "cannot evaluate an expression: \(layout.entityName) p\(key) is not in the store")
  }
}

extension SQLValue {
  /// A computed value as SQLite holds it; `godwit_fit` turns it into what its column stores.
  init(_ value: AttributeValue) {
    switch value {
    case .null: self = .null
    case .boolean(let flag): self = .integer(flag ? 1 : 0)
    case .integer(let number): self = .integer(number)
    case .double(let number), .date(let number): self = number.isNaN ? .null : .real(number)
    case .decimal(let number): self = number.isNaN ? .null : .real(NSDecimalNumber(decimal: number).doubleValue)
    case .string(let text), .uri(let text): self = .text(text.utf8)
    case .data(let bytes): self = .blob(bytes)
    case .uuid(let uuid): self = withUnsafeBytes(of: uuid.uuid) { .blob(Array($0)) }
    }
  }
}
