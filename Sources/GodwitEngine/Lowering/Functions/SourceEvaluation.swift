import Foundation
package import GodwitModel
package import GodwitStore

/// Evaluates expressions on objects of the source store in memory, one object at a time: the object lane.
package final class SourceEvaluation {
  private let context: ObjectContext
  private let fetches = FetchedObjects()
  var now: Double
  /// How often an expression was made ready, which costs more than evaluating it.
  private(set) var preparations = 0
  /// Answers `FUNCTION($entityPolicy, …)` while a policy's mapping is evaluated: see `StatementInputs`.
  var policyCall: ((ExpressionCall) throws -> EvaluatedValue)?
  /// Whether decimals are compared with what a store holds of them.
  var watchesDigits = false
  /// The digits that the last decimal loses in a store.
  var lostDigits = LostDigits.none

  init(connection: StoreConnection, schema: StoreSchema, now: Double) {
    context = ObjectContext(connection: connection, schema: schema, database: StoreConnection.sourceSchema)
    self.now = now
  }

  func setSupportFolder(_ folder: SupportFolder, missingFilesAreNil: Bool) {
    (context.support, context.missingFilesAreNil) = (folder, missingFilesAreNil)
  }

  var support: SupportFolder? { context.support }
  var schema: StoreSchema { context.schema }

  /// Drops the rows and statements kept since the last call.
  func forget() { context.reset() }

  /// An expression of a statement, ready for its rows.
  final class Prepared {
    enum Work {
      case expression(CompiledExpression)
      case predicate(CompiledPredicate)
    }
    /// An attribute that each call hands over.
    struct Handed {
      let name: String
      let attribute: ObjectLayout.Attribute
      /// Which argument of the call it is.
      let position: Int
    }

    let work: Work
    let entityName, text: String
    let context: ObjectContext
    let handed: [Handed]
    /// Whether the row need not be read again: its attributes are handed over, or it is asked for its key alone, as by
    /// `newUUID()`.
    let isHanded: Bool

    init(_ evaluation: LoweredFunctions.Evaluation, context: ObjectContext, now: Double, host: SourceHost) {
      (entityName, text, self.context) = (evaluation.entityName, evaluation.text, context)
      let layout = context.layout(of: evaluation.entityName)
      handed = evaluation.attributes.enumerated().compactMap { offset, name in
        layout?.attributes[name].map { Handed(name: name, attribute: $0, position: offset + 2) }
      }
      isHanded = !handed.isEmpty || evaluation.readsNothing
      work =
        switch evaluation.work {
        case .predicate(let predicate):
          .predicate(ExpressionEvaluator(now: now, role: .filter, host: host).compile(predicate))
        case .expression(let expression):
          .expression(
            ExpressionEvaluator(now: now, role: .value, mapping: evaluation.bindings, host: host, bindsSource: true)
              .compile(expression))
        }
    }
  }

  func prepare(_ evaluation: LoweredFunctions.Evaluation) -> Prepared {
    preparations += 1
    // The policy is known only when a call asks for it.
    let host = SourceHost(context: context, now: now, fetches: fetches) { [unowned self] call in
      try policyCall.map { try $0(call) }
    }
    return Prepared(evaluation, context: context, now: now, host: host)
  }

  /// - Parameter arguments: The arguments of the call. From the third on they are the row's values of the expression's
  ///   attributes.
  func value(of prepared: Prepared, key: Int64, attributes arguments: SQLFunctionArguments? = nil) throws -> SQLValue {
    if let arguments, arguments.kind(1) != .integer { return .null }
    let object: any EvaluatedObject
    if let arguments, prepared.isHanded {
      object = HandedObject(evaluation: prepared, arguments: arguments)
    } else {
      guard let stored = try context.object(entityName: prepared.entityName, key: key) else { return .null }
      object = stored
    }
    do {
      switch prepared.work {
      case .predicate(let predicate): return try predicate.matches(object).map { .integer($0 ? 1 : 0) } ?? .null
      case .expression(let expression):
        guard case .value(let value) = try expression.evaluate(with: object) else {
          throw GodwitError(
            .dataWrong,
            "cannot evaluate '\(prepared.text)' for \(prepared.entityName) p\(key): expected one value, found objects"
          )
        }
        if watchesDigits, case .decimal(let number) = value { lostDigits = LostDigits(number) }
        return SQLValue(value)
      }
    } catch let error as ExpressionError {
      throw GodwitError(
        .dataWrong, "cannot evaluate '\(prepared.text)' for \(prepared.entityName) p\(key): \(error.message)")
    }
  }
}

extension LoweredFunctions.Evaluation {
  /// Whether it names no property of its object, and no variable.
  fileprivate var readsNothing: Bool {
    guard case .expression(let expression) = work else { return false }
    return !expression.contains { part in
      switch part.node {
      case .keyPath(let base?, _): if case .function = base.node { false } else { true }
      case .keyPath, .variable, .evaluatedObject, .subquery, .fetch: true
      default: false
      }
    }
  }
}

/// An object of the source whose statement passes some attributes. The others are read on demand.
///
/// It reads the arguments of the call during the call and must not outlive it. It is small enough for an existential
/// without a box.
package struct HandedObject: EvaluatedObject {
  let evaluation: SourceEvaluation.Prepared
  let arguments: SQLFunctionArguments

  package var entityName: String { evaluation.entityName }
  package var key: Int64 { arguments.int64(1) }

  package func value(_ property: String) throws -> EvaluatedValue {
    for handed in evaluation.handed where handed.name == property {
      return .value(
        try evaluation.context.value(
          arguments.value(handed.position), of: handed.attribute, entityName: entityName, key: key))
    }
    return try stored().value(property)
  }

  /// The whole object.
  package func stored() throws -> StoredObject {
    if let stored = try evaluation.context.object(entityName: entityName, key: key) { return stored }
    throw GodwitError(.dataWrong, "cannot evaluate an expression: \(entityName) p\(key) is not in the store")
  }
}

extension SQLValue {
  /// A computed value in SQLite's form. `godwit_fit` converts it to the form of its column.
  package init(_ value: AttributeValue) {
    switch value {
    case .null: self = .null
    case .boolean(let flag): self = .integer(flag ? 1 : 0)
    case .integer(let number): self = .integer(number)
    case .double(let number), .date(let number): self = number.isNaN ? .null : .real(number)
    case .decimal(let number):
      self = number.isNaN ? .null : number.wholeNumber.map { .integer($0) } ?? .real(number.nearestDouble)
    case .string(let text), .uri(let text): self = .text(text.utf8)
    case .data(let bytes): self = .blob(bytes)
    case .uuid(let uuid): self = withUnsafeBytes(of: uuid.uuid) { .blob(Array($0)) }
    }
  }
}
