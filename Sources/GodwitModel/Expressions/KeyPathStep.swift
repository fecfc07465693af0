/// A segment of a key path: a property, or a collection operator with the path that it is applied to.
struct KeyPathStep {
  enum Kind {
    case property
    case count
    case members
    case distinctMembers
    case statistic(Statistic.Kind)
    /// An operator that there is not.
    case unknown
  }

  let name: String
  let kind: Kind
  /// The steps after an operator, up to the next one.
  let argument: [KeyPathStep]
  /// The property of values with this name.
  private let key: ValueKey?

  private init(name: String, kind: Kind, argument: [KeyPathStep]) {
    (self.name, self.kind, self.argument, key) = (name, kind, argument, ValueKey(rawValue: name))
  }

  init(property name: String) { self.init(name: name, kind: .property, argument: []) }

  static func steps(_ segments: ArraySlice<String>) -> [KeyPathStep] {
    var steps: [KeyPathStep] = []
    var rest = segments
    while let name = rest.popFirst() {
      guard name.hasPrefix("@") else {
        steps.append(KeyPathStep(property: name))
        continue
      }
      let argument = rest.prefix { !$0.hasPrefix("@") }
      rest = rest.dropFirst(argument.count)
      steps.append(KeyPathStep(name: name, kind: kind(name), argument: self.steps(argument)))
    }
    return steps
  }

  private static func kind(_ name: String) -> Kind {
    switch name {
    case "@count": .count
    case "@unionOfObjects", "@unionOfArrays", "@unionOfSets": .members
    case "@distinctUnionOfObjects", "@distinctUnionOfArrays", "@distinctUnionOfSets": .distinctMembers
    default: Statistic.Kind(named: name).map { .statistic($0) } ?? .unknown
    }
  }

  /// The value at the end of the steps.
  static func follow(
    _ steps: [KeyPathStep], from start: EvaluatedValue, _ range: Range<Int>
  ) throws -> EvaluatedValue {
    var current = start
    for step in steps {
      if current.isNull { return .null }
      guard case .property = step.kind else {
        current = try step.collect(current, range)
        continue
      }
      switch current {
      case .object(let object?): current = try object.value(step.name)
      case .objects(let objects, let ordered): current = try step.property(objects, ordered: ordered)
      // The kind of an empty list is unknown, and no step reads from it.
      case .values(let values) where values.isEmpty: continue
      case .value(let value): current = .value(try step.read(value, range))
      case .values(let values): current = .values(try values.map { try step.read($0, range) })
      default: throw ExpressionError("'\(step.name)' is read from \(current.phrase)", range: range)
      }
    }
    return current
  }

  /// A property of a value.
  private func read(_ value: AttributeValue, _ range: Range<Int>) throws -> AttributeValue {
    guard let key else {
      throw ExpressionError("'\(name)' is read from \(EvaluatedValue.value(value).phrase)", range: range)
    }
    do throws(ExpressionError) { return try key.value(of: value.known) } catch {
      throw ExpressionError(error.message, range: range)
    }
  }

  /// A property of each object: values with their nils, or objects without.
  private func property(_ objects: [any EvaluatedObject], ordered: Bool) throws -> EvaluatedValue {
    var values: [AttributeValue] = []
    var found: [any EvaluatedObject] = []
    var isObjects = false
    for object in objects {
      switch try object.value(name) {
      case .value(let value): values.append(value)
      case .values(let more): values += more
      case .object(let other):
        isObjects = true
        if let other { found.append(other) }
      case .objects(let others, _):
        isObjects = true
        found += others
      }
    }
    return isObjects ? .objects(found, ordered: ordered) : .values(values)
  }

  private func collect(_ collection: EvaluatedValue, _ range: Range<Int>) throws -> EvaluatedValue {
    guard collection.memberCount != nil else {
      throw ExpressionError("'\(name)' needs a collection, found \(collection.phrase)", range: range)
    }
    let selected = try Self.follow(argument, from: collection, range)
    switch kind {
    case .count: return .value(.integer(Int64(selected.memberCount ?? 0)))
    case .members: return selected
    case .distinctMembers: return selected.distinct
    case .statistic(let statistic):
      var values = try selected.known(range)
      // Key-value coding takes nil for 0 here, which `average:` leaves out.
      if statistic == .average {
        values += Array(repeating: .integer(0), count: max(0, (selected.memberCount ?? 0) - values.count))
      }
      return .value(try statistic.result(of: values, range))
    case .property, .unknown: throw ExpressionError("unknown collection operator '\(name)'", range: range)
    }
  }
}

extension EvaluatedValue {
  /// The values that are not nil, of a collection or of one value.
  func known(_ range: Range<Int>) throws(ExpressionError) -> [AttributeValue] {
    var found: [AttributeValue] = []
    for member in elements ?? [self] {
      let value = try member.single(range)
      if !value.isNull { found.append(value) }
    }
    return found
  }

  /// The collection with each member once, at its first place, without nils.
  var distinct: EvaluatedValue {
    switch self {
    case .value, .object: return self
    case .values(let values):
      var seen: Set<AttributeValue> = []
      return .values(values.filter { !$0.isNull && seen.insert($0).inserted })
    case .objects(let objects, let ordered):
      var seen: [Int64: [any EvaluatedObject]] = [:]
      let kept = objects.filter { object in
        if seen[object.key, default: []].contains(where: { $0.isSame(as: object) }) { return false }
        seen[object.key, default: []].append(object)
        return true
      }
      return .objects(kept, ordered: ordered)
    }
  }
}

extension Statistic.Kind {
  func result(
    of values: [AttributeValue], _ range: Range<Int>
  ) throws(ExpressionError) -> AttributeValue {
    var statistic = Statistic(self)
    do throws(ExpressionError) {
      for value in values { try statistic.add(value) }
    } catch { throw ExpressionError(error.message, range: range) }
    return statistic.result
  }
}
