/// The source of answers that neither the expression nor the object holds.
package protocol ExpressionHost {
  /// Answers `FUNCTION($manager, "selector:", …)` or `FUNCTION($entityPolicy, "selector:", …)`.
  func call(_ call: ExpressionCall) throws -> EvaluatedValue
  /// The objects of exactly the entity that fulfil the predicate, in key order; or only their number.
  func fetch(_ request: SourceFetch, countOnly: Bool) throws -> EvaluatedValue
  /// The identifier of the source store, the seed of new UUIDs.
  func storeIdentifier() throws -> Text
  /// The place of an object of the source, from 0, among the objects of the ordered to-many that leads to it; nil
  /// without an owner.
  ///
  /// - Parameter name: The inverse of that to-many; nil for the only one.
  func index(of object: any EvaluatedObject, along name: String?) throws -> Int64?
}

extension ExpressionHost {
  package func storeIdentifier() throws -> Text { "" }
  package func index(of object: any EvaluatedObject, along name: String?) throws -> Int64? { nil }
}

/// One `FUNCTION` with its arguments evaluated.
public struct ExpressionCall {
  /// The receiver of the call.
  package enum Receiver: Sendable, Hashable {
    /// `$manager`.
    case manager
    /// `$entityPolicy`.
    case policy
  }

  /// The receiver: `$manager` or `$entityPolicy`.
  package var receiver: Receiver
  /// The selector with its colons, as Objective-C spells it.
  public var selector: String
  /// The arguments after the selector, evaluated.
  public var arguments: [EvaluatedValue]
  /// The part of the text that makes the call, for errors.
  package var range: Range<Int>

  package init(_ receiver: Receiver, _ selector: String, _ arguments: [EvaluatedValue], range: Range<Int> = 0..<0) {
    self.receiver = receiver
    self.selector = selector
    self.arguments = arguments
    self.range = range
  }
}

/// A fetch request that an expression makes with
/// `FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "Entity", "predicate")`.
///
/// The source expression of an `NSEntityMapping` has this form too. The request takes objects of exactly the
/// entity, as the format pages of mapping files record; with a third argument `includesSubentities:` it may not.
package struct SourceFetch: Sendable, Hashable {
  package static let selectors = [
    "fetchRequestForSourceEntityNamed:predicateString:",
    "fetchRequestForSourceEntityNamed:predicateString:includesSubentities:",
  ]

  package var entityName: String
  package var predicateText: Text
  package var includesSubentities = false

  package init(entityName: String, predicateText: Text) {
    self.entityName = entityName
    self.predicateText = predicateText
  }

  /// The request that `expression` makes; nil when it makes none, or one that only a run could know.
  package init?(_ expression: ValueExpression) {
    guard case .call(let receiver, let selector, let arguments) = expression.node,
      case .variable("manager") = receiver.node, Self.selectors.contains(selector), arguments.count >= 2,
      case .constant(.string(let entity)) = arguments[0].node,
      case .constant(.string(let predicate)) = arguments[1].node
    else { return nil }
    self.init(entityName: entity.string, predicateText: predicate)
    guard arguments.count > 2 else { return }
    guard case .constant(let flag) = arguments[2].node, let number = flag.number else { return nil }
    includesSubentities = number.order(to: .integer(0)) != 0
  }

  /// The condition; an empty text takes every object.
  ///
  /// - Throws: `ExpressionError` with ranges within the predicate's own text.
  package func predicate() throws(ExpressionError) -> FilterPredicate {
    let isEmpty = predicateText.utf8.allSatisfy { $0 == 0x20 || (0x09...0x0D).contains($0) }
    return isEmpty ? FilterPredicate(.constant(true)) : try FilterPredicate(parsing: predicateText.string)
  }
}

/// The mapping's entity migration policy, as far as checking an expression needs it.
package struct ExpressionPolicy: Sendable, Hashable {
  /// The policy that the mapping names.
  package var name: String?
  /// Whether a policy of that name is registered.
  package var isRegistered: Bool

  package init(name: String? = nil, isRegistered: Bool = false) {
    self.name = name
    self.isRegistered = isRegistered
  }
}
