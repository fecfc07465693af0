import GodwitModel
import GodwitStore

/// To-many relationships: operators, SUBQUERY, and comparisons with members.
extension ExpressionLowering {
  /// The expression as a collection.
  func collected(_ expression: ValueExpression?) throws -> LoweredCollection {
    guard let expression, case .collection(let collection) = try lower(expression) else {
      throw NotLowerable(reason: "a computed collection runs in Swift")
    }
    return collection
  }

  func subquery(_ expression: ValueExpression, _ variable: String, _ test: FilterPredicate) throws -> LoweredCollection
  {
    var collection = try collected(expression)
    guard collection.attribute == nil else { throw NotLowerable(reason: "a SUBQUERY of values runs in Swift") }
    var inner = self
    inner.variables[variable] = collection.row
    collection.filter(try inner.predicate(test))
    return collection
  }

  /// The value or collection at the end of a path from the members of a collection.
  func follow(_ segments: ArraySlice<String>, from start: LoweredCollection) throws -> Lowered {
    var collection = start
    var rest = schema.model.joiningComposites(segments, from: start.row.entityName)[...]
    while let segment = rest.popFirst() {
      if segment.hasPrefix("@") {
        let argument = rest.prefix { !$0.hasPrefix("@") }
        rest = rest.dropFirst(argument.count)
        for name in argument { try step(name, in: &collection) }
        if segment.hasPrefix("@union") { continue }
        guard rest.isEmpty else { throw NotLowerable(reason: "a path beyond '\(segment)' runs in Swift") }
        return try aggregate(segment, over: collection)
      }
      try step(segment, in: &collection)
    }
    return .collection(collection)
  }

  private func step(_ name: String, in collection: inout LoweredCollection) throws {
    guard collection.attribute == nil else { throw NotLowerable(reason: "'\(name)' is read from a value") }
    if let attribute = schema.model.attribute(name, of: collection.row.entityName) {
      return collection.select(attribute)
    }
    guard schema.model.relationship(name, of: collection.row.entityName) != nil else {
      throw NotLowerable(reason: "'\(name)' is a property of a subentity")
    }
    try collection.follow(name)
  }

  /// A member as the operand of a comparison or a statistic.
  private func member(of collection: LoweredCollection) throws -> Lowered {
    guard let attribute = collection.attribute else {
      return .object(key: "\(collection.row.alias).Z_PK", entityName: collection.row.entityName)
    }
    return .value(sql: try read(attribute, of: collection.row), type: attribute.type)
  }

  /// - Parameter orNothing: Whether a path that ends in nil before the collection has no value.
  func aggregate(_ name: String, over collection: LoweredCollection, orNothing: Bool = true) throws -> Lowered {
    if name == "@count" {
      return .value(sql: collection.guarded("(\(collection.unsorted("COUNT(*)")))"), type: .integer64)
    }
    guard let kind = Statistic.Kind(named: name) else { throw NotLowerable(reason: "'\(name)' runs in Swift") }
    guard case .value(let sql, let type?) = try member(of: collection) else {
      throw NotLowerable(reason: "'\(name)' of objects runs in Swift")
    }
    var members = collection
    if !orNothing { members.filter("1") }
    var value = type.isReal ? "CAST(\(sql) AS REAL)" : sql
    // Key-value coding takes nil for 0 here, which `average:` leaves out.
    if name == "@avg" { value = "COALESCE(\(value), 0)" }
    let call = "godwit_statistic(\(kind.rawValue), \(type == .decimal ? 1 : 0), v)"
    let function =
      switch kind {
      case .minimum: "MIN(v)"
      case .maximum: "MAX(v)"
      // The sum of nothing is 0; one that is not a number is nil.
      case .sum: "CASE WHEN COUNT(v) = 0 THEN 0 ELSE \(call) END"
      default: call
      }
    return .value(
      sql: members.guarded("(SELECT \(function) FROM (\(members.sorted("\(value) AS v"))))"),
      type: type.asResult(of: name))
  }

  // MARK: Comparisons with members

  /// `ANY` or `ALL` over the members: true, false or, in filters, NULL as three-valued logic has it.
  func quantified(
    _ modifier: FilterPredicate.Comparison.Modifier, over collection: LoweredCollection,
    _ test: (Lowered) throws -> String
  ) throws -> String {
    var collection = collection
    // No members where the path ends in nil, rather than no value.
    collection.filter("1")
    let each = try test(try member(of: collection))
    let isAny = modifier == .any
    guard role == .filter else {
      return isAny
        ? "EXISTS (\(collection.unsorted("1")) AND \(each))"
        : "(NOT EXISTS (\(collection.unsorted("1")) AND NOT \(each)))"
    }
    let decided = isAny ? "MAX(v) = 1 THEN 1" : "MIN(v) = 0 THEN 0"
    return
      "(SELECT CASE WHEN \(decided) WHEN COUNT(v) < COUNT(*) THEN NULL ELSE \(isAny ? 0 : 1) END FROM (\(collection.unsorted("\(each) AS v"))))"
  }

  /// Whether a value or an object is a member. Where the path to the collection ends in nil, it is unknown.
  func isMember(
    _ element: Lowered, of collection: LoweredCollection, _ options: FilterPredicate.Comparison.Options,
    _ text: ValueExpression
  ) throws -> String {
    let origin = collection.origin
    let found = try quantified(.any, over: collection) { member in
      let (a, b) = (try operand(element, text, options), try operand(member, nil, options))
      return "(\(a) \(role == .filter ? "=" : "IS") \(b))"
    }
    guard let origin else { return found }
    return role == .filter
      ? "(CASE WHEN \(origin) IS NOT NULL THEN \(found) END)" : "(\(origin) IS NOT NULL AND \(found))"
  }
}
