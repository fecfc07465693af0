extension ExpressionCompiler {
  // MARK: Elements

  /// A member of a collection by its place from 0; nil if the place does not exist.
  func element(
    of collection: ValueExpression, at position: ValueExpression.ElementPosition, _ range: Range<Int>
  ) -> ValueRoutine {
    let collection = value(of: collection)
    func routine(
      _ pick: @escaping (EvaluatedValue, _ count: Int, inout EvaluationFrame) throws -> EvaluatedValue
    ) -> ValueRoutine {
      ValueRoutine { frame in
        let collection = try collection.run(&frame)
        if collection.isNull { return .null }
        guard let count = collection.memberCount else {
          throw ExpressionError("an index needs a collection, found \(collection.phrase)", range: range)
        }
        return try pick(collection, count, &frame)
      }
    }
    switch position {
    case .first: return routine { collection, _, _ in collection.member(0) }
    case .last: return routine { collection, count, _ in collection.member(count - 1) }
    case .size: return routine { _, count, _ in .value(.integer(Int64(count))) }
    case .index(let expression):
      let (index, range) = (single(expression), expression.range)
      return routine { collection, _, frame in
        let value = try index.run(&frame)
        if value.isNull { return .null }
        guard let number = value.number?.whole else {
          throw ExpressionError("an index needs a whole number", range: range)
        }
        return Int(exactly: number).map { collection.member($0) } ?? .null
      }
    }
  }

  // MARK: Sets

  /// A set operation: each member once, the left side's first. Nil is an empty set.
  static func combine(
    _ op: ValueExpression.SetOperator, _ left: EvaluatedValue, _ right: EvaluatedValue, _ range: Range<Int>
  ) throws -> EvaluatedValue {
    let (a, b) = (try members(left, range), try members(right, range))
    switch (a, b) {
    case (.objects(let x, _), .objects(let y, _)):
      let result: [any EvaluatedObject]
      switch op {
      case .union: result = x + y
      case .intersect: result = x.filter(ObjectSet(y).contains)
      case .minus:
        let other = ObjectSet(y)
        result = x.filter { !other.contains($0) }
      }
      return EvaluatedValue.objects(result, ordered: false).distinct
    case (.values(let x), .values(let y)):
      let result: [AttributeValue]
      switch op {
      case .union: result = x + y
      case .intersect: result = x.filter { value in y.contains { $0.isEqual(to: value) } }
      case .minus: result = x.filter { value in !y.contains { $0.isEqual(to: value) } }
      }
      return .values(distinct(result))
    // An empty list has no kind of its own.
    case (.values([]), .objects):
      return op == .union ? b.distinct : .objects([], ordered: false)
    case (.objects, .values([])):
      return op == .intersect ? .objects([], ordered: false) : a.distinct
    default:
      throw ExpressionError("\(op.rawValue) takes either objects or values on both sides", range: range)
    }
  }

  private static func members(
    _ value: EvaluatedValue, _ range: Range<Int>
  ) throws(ExpressionError) -> EvaluatedValue {
    if value.isNull { return .values([]) }
    guard value.memberCount != nil else {
      throw ExpressionError("a set operator needs collections, found \(value.phrase)", range: range)
    }
    return value
  }

  /// Values once each, equal as `==` has it: 1 and 1.0 are one member.
  private static func distinct(_ values: [AttributeValue]) -> [AttributeValue] {
    var kept: [AttributeValue] = []
    for value in values where !value.isNull && !kept.contains(where: { $0.isEqual(to: value) }) { kept.append(value) }
    return kept
  }

  private struct ObjectSet {
    private var byKey: [Int64: [any EvaluatedObject]] = [:]

    init(_ objects: [any EvaluatedObject]) {
      for object in objects { byKey[object.key, default: []].append(object) }
    }

    func contains(_ object: any EvaluatedObject) -> Bool {
      byKey[object.key]?.contains { $0.isSame(as: object) } == true
    }
  }
}
