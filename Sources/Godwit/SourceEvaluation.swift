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

  private var host: SourceHost { SourceHost(context: context, now: now, fetches: fetches, policyCall: policyCall) }

  func value(of evaluation: LoweredFunctions.Evaluation, key: Int64) throws -> SQLValue {
    guard let object = try context.object(entityName: evaluation.entityName, key: key) else { return .null }
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
