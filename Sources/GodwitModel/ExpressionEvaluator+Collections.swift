extension ExpressionEvaluator {
  // MARK: Elements

  /// A member of a collection by its place from 0; nil where there is none.
  func element(
    of collection: EvaluatedValue, at position: Expression.ElementPosition, _ scope: Scope, _ range: Range<Int>
  ) throws -> EvaluatedValue {
    if collection.isNull { return .null }
    guard let elements = collection.elements else {
      throw ExpressionError("an index needs a collection, found \(collection.phrase)", range: range)
    }
    switch position {
    case .first: return elements.first ?? .null
    case .last: return elements.last ?? .null
    case .size: return .value(.integer(Int64(elements.count)))
    case .index(let expression):
      let value = try single(expression, scope)
      if value.isNull { return .null }
      guard let number = value.number?.whole else {
        throw ExpressionError("an index needs a whole number", range: expression.range)
      }
      guard let index = Int(exactly: number), elements.indices.contains(index) else { return .null }
      return elements[index]
    }
  }

  // MARK: Sets

  /// A set operation: each member once, the left side's first. Nil is an empty set.
  func combine(
    _ op: Expression.SetOperator, _ left: EvaluatedValue, _ right: EvaluatedValue, _ range: Range<Int>
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
      return .values(Self.distinct(result))
    // An empty list has no kind of its own.
    case (.values([]), .objects):
      return op == .union ? b.distinct : .objects([], ordered: false)
    case (.objects, .values([])):
      return op == .intersect ? .objects([], ordered: false) : a.distinct
    default:
      throw ExpressionError("\(op.rawValue) takes either objects or values on both sides", range: range)
    }
  }

  private func members(_ value: EvaluatedValue, _ range: Range<Int>) throws(ExpressionError) -> EvaluatedValue {
    if value.isNull { return .values([]) }
    guard value.elements != nil else {
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

  // MARK: Random numbers

  /// A number that looks random and is the same in every run: it depends on the object, on the property that is
  /// set and on the place in the text.
  func random(below limit: Int64, for object: any EvaluatedObject, at place: Int) -> Int64 {
    // FNV-1a over what the number depends on, then SplitMix64's finish, which spreads the bits.
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func mix(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    for byte in object.entityName.utf8 { mix(byte) }
    mix(0)
    withUnsafeBytes(of: object.key.littleEndian) { for byte in $0 { mix(byte) } }
    for byte in salt.utf8 { mix(byte) }
    mix(0)
    withUnsafeBytes(of: Int64(place).littleEndian) { for byte in $0 { mix(byte) } }
    var z = hash &+ 0x9E37_79B9_7F4A_7C15
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    z ^= z >> 31
    return Int64(truncatingIfNeeded: z.multipliedFullWidth(by: UInt64(max(1, limit))).high)
  }

  /// `random()` and `randomn:(n)`; nil for a function of another name.
  func random(
    _ name: String, _ arguments: [Expression], _ scope: Scope, _ range: Range<Int>
  ) throws -> EvaluatedValue? {
    guard let function = BuiltInFunction.named(name)?.name, function.hasPrefix("random") else { return nil }
    guard function == "randomn:" else {
      return .value(.integer(random(below: 1 << 31, for: scope.object, at: range.lowerBound)))
    }
    guard let argument = arguments.first else { return .null }
    let value = try single(argument, scope)
    if value.isNull { return .null }
    guard let limit = value.number?.whole else {
      throw ExpressionError("'randomn:' needs a whole number", range: argument.range)
    }
    return limit < 1 ? .null : .value(.integer(random(below: limit, for: scope.object, at: range.lowerBound)))
  }

  // MARK: Calls

  func answer(
    _ receiver: Expression, _ selector: String, _ arguments: [Expression], _ scope: Scope, _ range: Range<Int>
  ) throws -> EvaluatedValue {
    let target: ExpressionCall.Receiver
    switch receiver.node {
    case .variable("manager"): target = .manager
    case .variable("entityPolicy"): target = .policy
    default: throw ExpressionError("FUNCTION calls $manager or $entityPolicy", range: receiver.range)
    }
    guard let host else {
      throw ExpressionError("FUNCTION '\(selector)' yields no value here", range: range)
    }
    var values: [EvaluatedValue] = []
    for argument in arguments {
      // A call may hand on what only its receiver knows, such as $destination or $manager.
      if case .variable(let name) = argument.node, binding(name, scope) == nil {
        values.append(.null)
      } else {
        values.append(try value(of: argument, scope))
      }
    }
    return try host.call(ExpressionCall(target, selector, values, range: range))
  }

  func fetch(_ request: Expression, countOnly: Bool, _ range: Range<Int>) throws -> EvaluatedValue {
    guard let host, let fetch = SourceFetch(request) else {
      throw ExpressionError("FETCH yields no value here", range: range)
    }
    return try host.fetch(fetch, countOnly: countOnly)
  }
}
