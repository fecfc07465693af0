/// The types of key paths from the six keys: calls of the manager and the policy, fetches, facts of the mapping.
extension ExpressionChecker {
  private static let lookUps = [
    "destinationInstancesForEntityMappingNamed:sourceInstances:",
    "destinationInstancesForSourceRelationshipNamed:sourceInstances:",
    "sourceInstancesForEntityMappingNamed:destinationInstances:",
  ]

  func call(
    _ operand: ValueExpression, _ selector: String, _ arguments: [ValueExpression], _ scope: Scope, _ range: Range<Int>
  ) throws(ExpressionError) -> ExpressionType {
    switch try type(of: operand, scope) {
    case .policy: return try policyCall(selector, arguments, scope, range)
    case .manager: return try managerCall(selector, arguments, scope, range)
    case .object(let entity):
      throw ExpressionError(
        "FUNCTION does not call methods of an object of '\(entity)': read its properties as in "
          + "\(operand).name, or register a policy and call $entityPolicy", range: operand.range)
    case let found where found.hasMethods:
      return try method(selector, of: operand, found, arguments, scope, range)
    case let found:
      throw ExpressionError(
        "FUNCTION calls a value, a list, a class, $manager or $entityPolicy, found \(found.phrase)",
        range: operand.range)
    }
  }

  private func policyCall(
    _ selector: String, _ arguments: [ValueExpression], _ scope: Scope, _ range: Range<Int>
  ) throws(ExpressionError) -> ExpressionType {
    guard let policy, let name = policy.name else {
      throw ExpressionError("no policy is registered that could answer '\(selector)'", range: range)
    }
    guard policy.isRegistered else {
      throw ExpressionError("no policy '\(name)' is registered that could answer '\(selector)'", range: range)
    }
    try checkCount(selector, arguments, range)
    for argument in arguments { _ = try type(of: argument, scope) }
    return .value(.undefined)
  }

  private func managerCall(
    _ selector: String, _ arguments: [ValueExpression], _ scope: Scope, _ range: Range<Int>
  ) throws(ExpressionError) -> ExpressionType {
    if SourceFetch.selectors.contains(selector) { return try fetchRequest(selector, arguments, scope, range) }
    guard Self.lookUps.contains(selector) else {
      let hint = Spelling.suggestion(for: selector, among: Self.lookUps + SourceFetch.selectors)
      throw ExpressionError("$manager does not answer '\(selector)'\(hint)", range: range)
    }
    try checkCount(selector, arguments, range)
    _ = try name(in: arguments[0], selector)
    let instances = try type(of: arguments[1], scope)
    if selector.hasPrefix("sourceInstances") {
      switch instances {
      case .null, .destinationInstances, .other, .list: return .sourceInstances
      default:
        throw ExpressionError(
          "'\(selector)' needs destination objects, found \(instances.phrase)", range: arguments[1].range)
      }
    }
    switch instances {
    case .null, .object, .objects, .list, .sourceInstances: return .destinationInstances
    default:
      throw ExpressionError(
        "'\(selector)' needs source objects, found \(instances.phrase)", range: arguments[1].range)
    }
  }

  func checkCount(
    _ selector: String, _ arguments: [ValueExpression], _ range: Range<Int>
  ) throws(ExpressionError) {
    let count = selector.utf8.count { $0 == UInt8(ascii: ":") }
    guard arguments.count == count else {
      throw ExpressionError("'\(selector)' takes \(count.counted("argument")), found \(arguments.count)", range: range)
    }
  }

  private func name(in argument: ValueExpression, _ selector: String) throws(ExpressionError) -> String {
    guard case .constant(.string(let name)) = argument.node else {
      throw ExpressionError("'\(selector)' needs a name in quotes", range: argument.range)
    }
    return name.string
  }

  // MARK: Fetches

  private func fetchRequest(
    _ selector: String, _ arguments: [ValueExpression], _ scope: Scope, _ range: Range<Int>
  ) throws(ExpressionError) -> ExpressionType {
    try checkCount(selector, arguments, range)
    let entity = try name(in: arguments[0], selector)
    guard model.entity(entity) != nil else {
      let hint = Spelling.suggestion(for: entity, among: model.entityNames)
      throw ExpressionError("the source model has no entity '\(entity)'\(hint)", range: arguments[0].range)
    }
    let text = try name(in: arguments[1], selector)
    if arguments.count > 2 { _ = try isNumber(try type(of: arguments[2], scope), arguments[2]) }
    let place = arguments[1].range
    do throws(ExpressionError) {
      let predicate = try SourceFetch(entityName: entity, predicateText: Text(text)).predicate()
      try ExpressionChecker(model: model, entityName: entity, role: .filter).check(predicate)
    } catch {
      // The caret can point into the text if the expression contains it without escapes.
      let isPlain = place.count == text.utf8.count + 2
      throw ExpressionError(
        error.message,
        range: isPlain
          ? place.lowerBound + 1 + error.range.lowerBound..<place.lowerBound + 1 + error.range.upperBound : place)
    }
    return .fetchRequest(entity: entity)
  }

  func fetch(
    _ request: ValueExpression, _ context: ValueExpression, countOnly: Bool, _ scope: Scope
  ) throws(ExpressionError) -> ExpressionType {
    let found = try type(of: request, scope)
    guard case .fetchRequest(let entity) = found else {
      throw ExpressionError(
        "FETCH needs FUNCTION($manager, \"fetchRequestForSourceEntityNamed:predicateString:\", …), "
          + "found \(found.phrase)", range: request.range)
    }
    let place = try type(of: context, scope)
    guard place == .sourceContext else {
      throw ExpressionError("FETCH reads $manager.sourceContext, found \(place.phrase)", range: context.range)
    }
    return countOnly ? .value(.integer64) : .objects(entity: entity, ordered: false)
  }

  // MARK: Facts

  /// The type of a fact that the manager or a mapping has under a name.
  func fact(
    _ name: String, of owner: ExpressionType, _ range: Range<Int>
  ) throws(ExpressionError) -> ExpressionType {
    let known: [String]
    switch (owner, name) {
    case (.manager, "sourceContext"): return .sourceContext
    case (.manager, _): known = ["sourceContext"]
    case (.facts("entityMapping"), "userInfo"): return .facts(of: "userInfo")
    case (.facts("entityMapping"), _):
      if let type = MappingBindings.properties[name] { return .value(type) }
      known = MappingBindings.properties.keys.sorted() + ["userInfo"]
    case (.facts("propertyMapping"), "name"), (.facts("userInfo"), _): return .value(.string)
    default: known = ["name"]
    }
    let hint = Spelling.nearest(to: name, among: known).map { " (did you mean '\($0)'?)" }
    throw ExpressionError(
      "\(owner.phrase) has no '\(name)' here\(hint ?? ": it has \(known.joined(separator: ", "))")", range: range)
  }

  // MARK: Collections

  func element(
    of collection: ValueExpression, at position: ValueExpression.ElementPosition, _ scope: Scope
  ) throws(ExpressionError) -> ExpressionType {
    let found = try type(of: collection, scope)
    guard found.isCollection else {
      if found == .null { return .null }
      throw ExpressionError("an index needs a collection, found \(found.phrase)", range: collection.range)
    }
    switch position {
    case .size: return .value(.integer64)
    case .first, .last: break
    case .index(let index):
      let type = try type(of: index, scope)
      guard try isNumber(type, index) else { return .null }
    }
    guard try isOrdered(collection, found, scope) else {
      throw ExpressionError(
        "\(found.phrase) has no order: only its [SIZE] can be read", range: collection.range)
    }
    switch found {
    case .objects(let entity, _): return .object(entity: entity)
    case .values(let type): return .value(type)
    default:
      guard case .aggregate(let items) = collection.node else { return .value(.undefined) }
      var result = ExpressionType.null
      for item in items {
        result = try common(result, try type(of: item, scope), item.range, in: "the members of a list")
      }
      return result
    }
  }

  /// Whether the members of a collection have a place of their own.
  func isOrdered(
    _ collection: ValueExpression, _ type: ExpressionType, _ scope: Scope
  ) throws(ExpressionError) -> Bool {
    switch type {
    case .list: return true
    case .objects(_, let ordered): return ordered
    default: break
    }
    // A method that gives a list gives it in an order.
    if case .call = collection.node { return true }
    // Values are in the order of the objects that they are read from.
    guard case .keyPath(let base, let segments) = collection.node, segments.count > 1 else { return false }
    let owner = ValueExpression(.keyPath(base: base, segments: segments.dropLast()), range: collection.range)
    return try isOrdered(owner, try self.type(of: owner, scope), scope)
  }

  func combine(
    _ op: ValueExpression.SetOperator, _ left: ValueExpression, _ right: ValueExpression, _ scope: Scope,
    _ range: Range<Int>
  ) throws(ExpressionError) -> ExpressionType {
    let (a, b) = (try type(of: left, scope), try type(of: right, scope))
    for (type, side) in [(a, left), (b, right)] where !type.isCollection {
      throw ExpressionError("\(op.rawValue) needs collections, found \(type.phrase)", range: side.range)
    }
    switch (a, b) {
    case (.objects(let x, _), .objects(let y, _)):
      guard let shared = ancestor(x, y) else { break }
      return .objects(entity: op == .union ? shared : x, ordered: false)
    case (.values(let x), .values(let y)) where x.expressionClass == y.expressionClass: return .values(x)
    case (.values(let x), .list), (.list, .values(let x)): return .values(x)
    case (.list, .list): return .list
    default: break
    }
    throw ExpressionError("\(op.rawValue) cannot join \(a.phrase) and \(b.phrase)", range: range)
  }
}
