import Foundation
import GodwitModel
import GodwitStore

/// Evaluates expressions on objects of the source store in memory, one object at a time: the object lane.
final class SourceEvaluation {
  private let context: ObjectContext
  private let fetches = FetchedObjects()
  var now: Double { didSet { host = nil } }
  /// Answers `FUNCTION($entityPolicy, …)` while a policy's mapping is evaluated.
  var policyCall: ((ExpressionCall) throws -> EvaluatedValue)? { didSet { host = nil } }
  private var host: (any ExpressionHost)?

  init(connection: StoreConnection, schema: StoreSchema, now: Double) {
    context = ObjectContext(connection: connection, schema: schema, database: StoreConnection.sourceSchema)
    self.now = now
  }

  func setSupportFolder(_ folder: SupportFolder) { context.support = folder }

  /// Drops the rows and statements kept since the last call.
  func forget() { context.reset() }

  private func readyHost() -> any ExpressionHost {
    if let host { return host }
    let made = SourceHost(context: context, now: now, fetches: fetches, policyCall: policyCall)
    host = made
    return made
  }

  /// - Parameter arguments: The call's: from the third on what the row has in the evaluation's attributes.
  func value(
    of evaluation: LoweredFunctions.Evaluation, key: Int64, attributes arguments: SQLFunctionArguments? = nil
  ) throws -> SQLValue {
    if let arguments, arguments.kind(1) != .integer { return .null }
    let object: any EvaluatedObject
    if let arguments, !evaluation.attributes.isEmpty, let layout = context.layout(of: evaluation.entityName) {
      object = HandedObject(
        context: context, layout: layout, key: key, names: evaluation.attributes,
        values: evaluation.attributes.indices.map { position in
          // A large value is not copied until the expression asks for it.
          let isLarge =
            switch arguments.kind(position + 2) {
            case .text, .blob: arguments.byteCount(position + 2) > HandedObject.limitBytes
            default: false
            }
          return isLarge ? nil : arguments.value(position + 2)
        })
    } else {
      guard let stored = try context.object(entityName: evaluation.entityName, key: key) else { return .null }
      object = stored
    }
    let host = readyHost()
    do {
      switch evaluation.work {
      case .predicate(let predicate):
        let evaluator = ExpressionEvaluator(bindings: [:], now: now, role: .filter, host: host)
        return try evaluator.matches(predicate, with: object).map { .integer($0 ? 1 : 0) } ?? .null
      case .expression(let expression):
        let evaluator = ExpressionEvaluator(
          bindings: ["source": .object(object)], now: now, role: .value, mapping: evaluation.bindings, host: host)
        guard case .value(let value) = try evaluator.evaluate(expression, with: object) else {
          throw GodwitError(
            .dataWrong,
            "cannot evaluate '\(evaluation.text)' for \(evaluation.entityName) p\(key): expected one value, found objects"
          )
        }
        return SQLValue(value)
      }
    } catch let error as ExpressionError {
      throw GodwitError(
        .dataWrong, "cannot evaluate '\(evaluation.text)' for \(evaluation.entityName) p\(key): \(error.message)")
    }
  }
}

/// An object of the source of which a statement has handed some attributes over; the rest is read when it is asked for.
private struct HandedObject: EvaluatedObject {
  static let limitBytes = 4096

  let context: ObjectContext
  let layout: ObjectLayout
  let key: Int64
  let names: [String]
  /// nil for a value that is too large to hand over.
  let values: [SQLValue?]

  var entityName: String { layout.entityName }

  func value(_ property: String) throws -> EvaluatedValue {
    if let position = names.firstIndex(of: property), let value = values[position],
      let attribute = layout.attributes[property]
    {
      return .value(
        try context.value(value, of: attribute.description, entityName: layout.entityName, key: key))
    }
    guard let stored = try context.object(entityName: layout.entityName, key: key) else {
      throw GodwitError(.dataWrong, "cannot evaluate '\(property)': \(layout.entityName) p\(key) is not in the store")
    }
    return try stored.value(property)
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
