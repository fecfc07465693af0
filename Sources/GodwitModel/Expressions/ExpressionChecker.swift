/// Finds the parts of an expression that can never work: unknown names, wrong types, wrong arguments.
///
/// Every complaint has the range of the part concerned. Whether a value is nil, or a number out of
/// range, shows only at run time.
package struct ExpressionChecker {
  let model: ManagedObjectModel
  let entityName: String
  let role: ExpressionRole
  let policy: ExpressionPolicy?

  /// - Parameters:
  ///   - entityName: the entity of the source objects.
  ///   - policy: the policy that answers `FUNCTION($entityPolicy, …)`; nil if it is unknown.
  package init(
    model: ManagedObjectModel, entityName: String, role: ExpressionRole, policy: ExpressionPolicy? = nil
  ) {
    self.model = model
    self.entityName = entityName
    self.role = role
    self.policy = policy
  }

  /// The type of the expression's result.
  package func type(of expression: ValueExpression) throws(ExpressionError) -> ExpressionType {
    try type(of: expression, Scope())
  }

  package func check(_ predicate: FilterPredicate) throws(ExpressionError) {
    try check(predicate, Scope())
  }

  /// Checks that the expression can yield a value of the attribute; nil passes.
  package func check(
    _ expression: ValueExpression, assignableTo attribute: AttributeDescription
  ) throws(ExpressionError) {
    let found = try type(of: expression)
    func misfit(_ what: String) -> ExpressionError {
      ExpressionError(
        "attribute '\(attribute.name)' is \(attribute.type.xcodeName), found \(what)", range: expression.range)
    }
    switch found {
    case .null: return
    case .value(let type):
      let (a, b) = (type.expressionClass, attribute.type.expressionClass)
      if a == b || a == .any || b == .any { break }
      if b == .transformable {
        if try makesArchive(expression) { break }
        // The bytes of a text are not an archive: an archive is made of the text itself.
        if case .cast(let operand, _) = expression.node, case .value(let inner) = try self.type(of: operand) {
          throw misfit("\(found.phrase): \(inner.way(to: attribute.type, of: operand.typed))")
        }
      }
      throw misfit("\(found.phrase): \(type.way(to: attribute.type, of: expression.typed))")
    case .composite(let path, let entity, _):
      let element = model.composite(path, of: entity)?.elements.first?.name ?? ""
      throw misfit("\(found.phrase): name one of its elements, such as '\(path).\(element)'")
    default: throw misfit(found.phrase)
    }
    guard case .constant(let value) = expression.node, let number = value.number else { return }
    if let range = attribute.type.integerRange {
      guard let whole = number.whole, range.contains(whole) else {
        throw misfit("a number that it cannot hold")
      }
    }
  }

  /// Whether the result is an archive or nil: that of `archive:`, or bytes that are named as such by a CAST.
  private func makesArchive(_ expression: ValueExpression) throws(ExpressionError) -> Bool {
    switch expression.node {
    case .constant(.null), .function("archive:", _), .function("archive:as:", _): return true
    case .cast(let operand, let name) where CastType.named(name) == .binary:
      if case .cast = operand.node { return try makesArchive(operand) }
      guard case .value(let type) = try type(of: operand) else { return false }
      return type.expressionClass == .data || type.expressionClass == .transformable
    case .ternary(_, let yes, let no):
      guard try makesArchive(yes) else { return false }
      return try makesArchive(no)
    case .function("noindex:", let arguments): return try arguments.first.map(makesArchive) ?? false
    default: return false
    }
  }

  /// SUBQUERY variables in scope, and how deep in the tree.
  struct Scope {
    var variables: [String: ExpressionType] = [:]
    var depth = 0

    func inner(_ range: Range<Int>) throws(ExpressionError) -> Scope {
      guard depth < ExpressionEvaluator.maximumDepth else {
        throw ExpressionError("the expression is nested too deeply", range: range)
      }
      var scope = self
      scope.depth += 1
      return scope
    }
  }

  func type(of expression: ValueExpression, _ outer: Scope) throws(ExpressionError) -> ExpressionType {
    let scope = try outer.inner(expression.range)
    let range = expression.range
    switch expression.node {
    case .constant(let value): return value.attributeType.map { .value($0) } ?? .null
    case .evaluatedObject:
      guard role == .filter else {
        throw ExpressionError("SELF has no meaning in a value expression: write $source", range: range)
      }
      return .object(entity: entityName)
    case .variable(let name): return try variable(name, scope, range)
    case .keyPath(let base, let segments):
      return try keyPath(base, segments, scope, KeyPathRanges(expression, count: segments.count))
    case .arithmetic(let op, let left, let right):
      do throws(ExpressionError) {
        return try arithmetic(op, left, try type(of: left, scope), right, try type(of: right, scope), range)
      } catch { throw op == .add ? concatenation(expression, scope, error) : error }
    case .negation(let operand):
      let found = try type(of: operand, scope)
      guard try isNumber(found, operand) else { return .null }
      return wider(found, found)
    case .aggregate(let elements):
      for element in elements { _ = try type(of: element, scope) }
      return .list
    case .function where expression.className != nil, .cast where expression.className != nil:
      return try classType(expression.className ?? "", range)
    case .function(let name, let arguments):
      return try function(name, arguments, scope, range)
    case .call(let operand, let selector, let arguments):
      return try call(operand, selector, arguments, scope, range)
    case .ternary(let condition, let then, let otherwise):
      if let value = condition.impliedOperand { try truth(of: value, scope) }
      try check(condition, scope)
      return try common(try type(of: then, scope), try type(of: otherwise, scope), range)
    case .subquery(let collection, let variable, let predicate):
      let found = try type(of: collection, scope)
      guard case .objects(let entity, _) = found else {
        throw ExpressionError(
          "SUBQUERY needs a collection of objects, found \(found.phrase)", range: collection.range)
      }
      var inner = scope
      inner.variables[variable] = .object(entity: entity)
      try check(predicate, inner)
      return found
    case .cast(let operand, type: "Class"):
      throw ExpressionError("CAST to 'Class' needs the name of a class in quotes", range: operand.range)
    case .cast(let operand, let name):
      return try cast(try type(of: operand, scope), name, operand.range, operand.typed, range)
    case .element(let collection, let position): return try element(of: collection, at: position, scope)
    case .set(let op, let left, let right): return try combine(op, left, right, scope, range)
    case .fetch(let request, let context, let countOnly):
      return try fetch(request, context, countOnly: countOnly, scope)
    }
  }

  /// Complains when a TERNARY cannot test a value without a comparison.
  private func truth(of value: ValueExpression, _ scope: Scope) throws(ExpressionError) {
    let found = try type(of: value, scope)
    guard found != .value(.boolean), found != .value(.undefined) else { return }
    var way = " != nil"
    if case .value(let type) = found, type.expressionClass == .number { way = " != 0" }
    throw ExpressionError(
      "TERNARY needs a condition or a Boolean, found \(found.phrase): compare it, as in '\(value.typed)\(way)'",
      range: value.range)
  }

  // MARK: Names

  static let variables = [
    "source", "manager", "entityPolicy", "destination", "entityMapping", "propertyMapping", "index",
    "element",
  ]

  private func variable(
    _ name: String, _ scope: Scope, _ range: Range<Int>
  ) throws(ExpressionError) -> ExpressionType {
    if let found = scope.variables[name] { return found }
    guard role == .value else {
      throw ExpressionError(
        Self.variables.contains(name)
          ? "a filter has no '$\(name)': its names start at the source object"
          : "unknown variable '$\(name)'" + Spelling.suggestion(for: name, among: scope.variables.keys),
        range: range)
    }
    switch name {
    case "source": return .object(entity: entityName)
    case "manager": return .manager
    case "entityPolicy": return .policy
    case "destination": return .other
    case "entityMapping", "propertyMapping": return .facts(of: name)
    case "index": return try index(nil, range)
    case "element":
      throw ExpressionError(
        "'$element' has a value only in a mapping with 'for-each': it is the object that a link leads to", range: range)
    default:
      let known = Self.variables + scope.variables.keys
      let hint = Spelling.nearest(to: name, among: known).map { " (did you mean '$\($0)'?)" } ?? ""
      throw ExpressionError("unknown variable '$\(name)'\(hint)", range: range)
    }
  }

  /// The error for a name at the beginning of a value expression, where an object or a text is meant.
  private func bareName(_ segments: [String], isWhole: Bool, _ range: Range<Int>) -> ExpressionError {
    let (path, first) = (segments.joined(separator: "."), segments[0])
    let known = model.propertyNames(of: entityName)
    if known.contains(first) {
      return ExpressionError("'\(path)' names no object: write '$source.\(path)'", range: range)
    }
    if let hint = ExpressionHints.variable(segments, variables: Self.variables) {
      return ExpressionError(hint, range: range)
    }
    let near = Spelling.nearest(to: first, among: known).map { " (did you mean '$source.\($0)'?)" } ?? ""
    let text = segments.count == 1 ? ExpressionHints.text(first, isWhole: isWhole) : ""
    return ExpressionError("'\(first)' is no property of '\(entityName)'\(near)\(text)", range: range)
  }

  /// `$index`: the place of the object among those of its owner, from 0.
  ///
  /// - Parameter name: The to-one that leads to the owner; nil for the only one whose inverse is ordered.
  private func index(_ name: String?, _ range: Range<Int>) throws(ExpressionError) -> ExpressionType {
    let known = model.indexable(of: entityName).map(\.name)
    guard let first = known.first else {
      throw ExpressionError(
        "'$index' needs a to-one of '\(entityName)' whose inverse is an ordered to-many, and there is none",
        range: range)
    }
    if let name {
      guard known.contains(name) else {
        throw ExpressionError(
          "'\(name)' is not a to-one of '\(entityName)' whose inverse is an ordered to-many: write '$index.\(first)'",
          range: range)
      }
    } else if known.count > 1 {
      let list = known.map { "'$index.\($0)'" }.joined(separator: " or ")
      throw ExpressionError("'$index' may be the place along several to-ones: write \(list)", range: range)
    }
    return .value(.integer64)
  }

  /// The places of a key path and its segments.
  struct KeyPathRanges {
    var whole: Range<Int>
    private var segments: [Range<Int>]

    init(_ expression: ValueExpression, count: Int) {
      whole = expression.range
      segments = expression.segmentRanges.count == count ? expression.segmentRanges : []
    }

    subscript(index: Int) -> Range<Int> { segments.indices.contains(index) ? segments[index] : whole }
  }

  private func keyPath(
    _ base: ValueExpression?, _ segments: [String], _ scope: Scope, _ ranges: KeyPathRanges
  ) throws(ExpressionError) -> ExpressionType {
    let path = segments.joined(separator: ".")
    if case .variable("index")? = base?.node, scope.variables["index"] == nil, role == .value {
      guard segments.count == 1 else {
        throw ExpressionError("'$index.\(segments[0])' is a number, which has no '\(segments[1])'", range: ranges.whole)
      }
      return try index(segments[0], ranges.whole)
    }
    if base == nil, role == .value {
      throw bareName(segments, isWhole: scope.depth == 1, ranges.whole)
    }
    if role == .filter, case .variable("source")? = base?.node, scope.variables["source"] == nil {
      throw ExpressionError("a filter has no '$source': write '\(path)'", range: ranges.whole)
    }
    var start = ExpressionType.object(entity: entityName)
    if let base { start = try type(of: base, scope) }
    return try follow(segments, from: start, ranges)
  }

  private func follow(
    _ segments: [String], from start: ExpressionType, _ ranges: KeyPathRanges
  ) throws(ExpressionError) -> ExpressionType {
    var current = start
    var index = 0
    while index < segments.count {
      let segment = segments[index]
      if segment.hasPrefix("@") {
        var end = index + 1
        var selected = current
        while end < segments.count, !segments[end].hasPrefix("@") {
          selected = try step(segments[end], from: selected, ranges[end])
          end += 1
        }
        current = try collect(segment, current, selected, hasArgument: end > index + 1, ranges[index])
        index = end
        continue
      }
      current = try step(segment, from: current, ranges[index])
      index += 1
    }
    return current
  }

  private func step(
    _ segment: String, from current: ExpressionType, _ range: Range<Int>
  ) throws(ExpressionError) -> ExpressionType {
    switch current {
    case .object(let entity): return try property(segment, of: entity, many: nil, range)
    case .objects(let entity, let ordered): return try property(segment, of: entity, many: ordered, range)
    case .composite(let path, let entity, let many):
      return try property("\(path).\(segment)", of: entity, many: many, range)
    case .value(let type): return .value(try valueKey(segment, of: type, range))
    case .values(let type): return .values(try valueKey(segment, of: type, range))
    case .manager, .facts: return try fact(segment, of: current, range)
    case .other:
      throw ExpressionError(
        "$destination has no values while they are computed: repeat the expression of '\(segment)'", range: range)
    case .destinationInstances, .sourceInstances:
      throw ExpressionError(
        "'\(segment)' is read from \(current.phrase), which attributes cannot read: all objects are made first",
        range: range)
    default: throw ExpressionError("'\(segment)' is read from \(current.phrase), which has no properties", range: range)
    }
  }

  /// The type of a property of a value.
  private func valueKey(
    _ name: String, of type: AttributeType, _ range: Range<Int>
  ) throws(ExpressionError) -> AttributeType {
    if let result = ValueKey(rawValue: name)?.result(on: type) { return result }
    let known = ValueKey.all(on: type).map(\.rawValue)
    guard !known.isEmpty else {
      throw ExpressionError(
        "'\(name)' is read from a value of type \(type.xcodeName), which has no properties", range: range)
    }
    let hint = Spelling.suggestion(for: name, among: known)
    throw ExpressionError(
      "a value of type \(type.xcodeName) has no '\(name)'\(hint): it has \(known.joined(separator: ", "))", range: range
    )
  }

  private func property(
    _ name: String, of entity: String, many: Bool?, _ range: Range<Int>
  ) throws(ExpressionError) -> ExpressionType {
    if let attribute = model.attribute(name, of: entity) {
      guard !attribute.isTransient else { throw transient(name, entity, range) }
      return many == nil ? .value(attribute.type) : .values(attribute.type)
    }
    if let relationship = model.relationship(name, of: entity) {
      guard !relationship.isTransient else { throw transient(name, entity, range) }
      let destination = relationship.destinationEntityName
      if relationship.isToMany {
        return .objects(entity: destination, ordered: relationship.isOrdered && many ?? true)
      }
      return many.map { .objects(entity: destination, ordered: $0) } ?? .object(entity: destination)
    }
    if model.composite(name, of: entity) != nil { return .composite(path: name, entity: entity, many: many) }
    let owner = model.family(of: entity).dropFirst().first { model.propertyNames(of: $0.name).contains(name) }
    if let owner {
      throw ExpressionError("'\(entity)' has no property '\(name)': its subentity '\(owner.name)' has", range: range)
    }
    let hint = Spelling.suggestion(for: name, among: model.propertyNames(of: entity))
    throw ExpressionError("'\(entity)' has no property '\(name)'\(hint)", range: range)
  }

  private func transient(_ name: String, _ entity: String, _ range: Range<Int>) -> ExpressionError {
    ExpressionError("'\(name)' of '\(entity)' is transient: no store holds its value", range: range)
  }

  private static let operators = [
    "@count", "@sum", "@avg", "@min", "@max", "@unionOfObjects", "@unionOfArrays", "@unionOfSets",
    "@distinctUnionOfObjects", "@distinctUnionOfArrays", "@distinctUnionOfSets",
  ]

  private func collect(
    _ name: String, _ collection: ExpressionType, _ selected: ExpressionType, hasArgument: Bool, _ range: Range<Int>
  ) throws(ExpressionError) -> ExpressionType {
    guard Self.operators.contains(name) else {
      let hint = Spelling.suggestion(for: name, among: Self.operators)
      throw ExpressionError("unknown collection operator '\(name)'\(hint)", range: range)
    }
    guard collection.isCollection else {
      throw ExpressionError("'\(name)' needs a collection, found \(collection.phrase)", range: range)
    }
    if name == "@count" { return .value(.integer64) }
    if name.contains("nion") { return selected }
    guard case .values(let type) = selected else {
      throw ExpressionError("'\(name)' needs an attribute, found \(selected.phrase)", range: range)
    }
    return try statistic(name, type, range)
  }

  /// The result of a sum, an average, a minimum or a maximum.
  func statistic(
    _ name: String, _ type: AttributeType, _ range: Range<Int>
  ) throws(ExpressionError) -> ExpressionType {
    let isOrder = name.hasPrefix("@m") || name == "min:" || name == "max:"
    let allowed: Set<AttributeType.ExpressionClass> = isOrder ? [.number, .date, .string, .any] : [.number, .any]
    guard allowed.contains(type.expressionClass) else {
      throw ExpressionError("'\(name)' needs numbers, found values of type \(type.xcodeName)", range: range)
    }
    if isOrder || name == "mode:" { return .value(type) }
    let isTotal = name == "@sum" || name == "sum:"
    if type == .decimal, isTotal || name == "@avg" || name == "average:" { return .value(.decimal) }
    return .value(isTotal && type.isWhole ? .integer64 : .double)
  }
}
