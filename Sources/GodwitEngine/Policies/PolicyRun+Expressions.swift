import GodwitJob
import GodwitModel
import GodwitStore

/// Expressions that call policies, and those that name the objects of a relationship.
extension PolicyRun {
  /// The policy's answer to an expression of its mapping.
  func answer(_ call: ExpressionCall, mapping: EntityMapping) throws -> EvaluatedValue {
    let policies = program.resolved.policies
    let policy = policies.firstIndex { $0.mapping.name == mapping.name && $0.index != nil } ?? step.current
    var call = call
    call.arguments = try call.arguments.map { argument in
      switch argument {
      case .object(let object?): .object(try managed(object))
      case .objects(let objects, let ordered): .objects(try objects.map(managed), ordered: ordered)
      default: argument
      }
    }
    var context = PolicyContext(self)
    do { return try instances[policy].value(of: call, in: mapping, manager: &context) } catch {
      if error is GodwitError { throw error }
      throw GodwitError(.dataWrong, "policy '\(policies[policy].name)' failed in '\(call.selector)': \(error)")
    }
  }

  /// An object of an expression as policies see it.
  private func managed(_ object: any EvaluatedObject) throws -> any EvaluatedObject {
    let stored = try (object as? HandedObject)?.stored() ?? object as? StoredObject
    guard let stored else { return object }
    // Evaluation has a context of its own.
    return ManagedObject(ObjectKind(stored.layout, sourceContext, run: self), key: stored.key, values: stored.values)
  }

  /// The objects that an expression which calls a policy gives for a source object.
  func evaluated(
    _ call: ValueExpression, for source: ManagedObject, mapping: EntityMapping, property: String
  ) throws -> [ManagedObject] {
    let result = try compiled(call, mapping: mapping, property: property).evaluate(with: source)
    switch result {
    case .object(let object): return (object as? ManagedObject).map { [$0] } ?? []
    case .objects(let objects, _): return objects.compactMap { $0 as? ManagedObject }
    case .value(.null), .values([]): return []
    case .value, .values:
      throw step.failure(
        "cannot set '\(property)' for \(source): expected objects of '\(call.source.text)', found values")
    }
  }

  private func compiled(_ expression: ValueExpression, mapping: EntityMapping, property: String)
    -> CompiledExpression
  {
    if let known = compiledExpressions[mapping.name]?[property] { return known }
    let host = SourceHost(
      context: sourceContext, now: step.now, fetches: FetchedObjects(),
      policyCall: { [unowned self] in try answer($0, mapping: mapping) })
    let evaluator = ExpressionEvaluator(
      now: step.now, role: .value, mapping: .init(mapping, property: property), host: host, bindsSource: true)
    let compiled = evaluator.compile(expression)
    compiledExpressions[mapping.name, default: [:]][property] = compiled
    return compiled
  }
}
