public enum ExpressionRole: Sendable { case filter, value }
public struct ExpressionChecker { public init(model: ManagedObjectModel, entityName: String, role: ExpressionRole) {}
  public func type(of: Expression) throws(ExpressionError) -> Int { 0 }
  public func check(_ p: Predicate) throws(ExpressionError) {}
  public func check(_ e: Expression, assignableTo: AttributeDescription) throws(ExpressionError) {} }
public protocol EvaluatedObject { var entityName: String {get}; var key: Int64 {get}; func value(_ property: String) throws -> EvaluatedValue }
public enum EvaluatedValue { case value(AttributeValue), object((any EvaluatedObject)?), objects([any EvaluatedObject], ordered: Bool), values([AttributeValue]) }
public struct ExpressionEvaluator { public init(bindings: [String: EvaluatedValue], now: Double, role: ExpressionRole) {}
 public func evaluate(_: Expression, with: any EvaluatedObject) throws -> EvaluatedValue { .value(.null) }
 public func matches(_: Predicate, with: any EvaluatedObject) throws -> Bool? { nil } }
