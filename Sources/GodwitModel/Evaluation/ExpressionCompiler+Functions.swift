import Foundation

extension ExpressionCompiler {
  func function(_ name: String, _ arguments: [ValueExpression], _ range: Range<Int>) -> SingleRoutine {
    let function = ExpressionFunction.named(name)
    switch function?.name {
    case "random": return random(at: range.lowerBound)
    case "randomn:": return random(below: arguments.first, at: range.lowerBound)
    case "newUUID" where arguments.count <= 1: return newUUID(arguments.first)
    case "coalesce:": return coalesce(arguments)
    case "encode:" where arguments.count >= 2: return encode(arguments, range)
    case "join:with:" where arguments.count == 2: return join(arguments[0], with: arguments[1], range)
    default: break
    }
    if case .arithmetic(let op)? = function?.result, arguments.count == 2 {
      return arithmetic(op, arguments[0], arguments[1], range)
    }
    let values = arguments.map { value(of: $0) }
    guard let function, function.counts.contains(values.count) else {
      // The arguments are evaluated first, as for any call.
      return SingleRoutine { frame in
        for value in values { _ = try value.run(&frame) }
        throw ExpressionFunction.unknown(name, values.count, range)
      }
    }
    let now = evaluator.now
    switch function.body {
    case .one(let apply) where values.count == 1:
      let value = values[0]
      return SingleRoutine { frame in
        let a = try value.run(&frame).single(range)
        if a.isNull { return .null }
        guard let result = try apply(a, range) else { throw Calculation.misfit(function.name, [a], range) }
        return result
      }
    case .two(let apply) where values.count == 2:
      let operands = operands(arguments[0], arguments[1])
      return SingleRoutine { frame in
        let (a, b) = try operands.run(&frame)
        if a.isNull || b.isNull { return .null }
        guard let result = try apply(a, b, range) else { throw Calculation.misfit(function.name, [a, b], range) }
        return result
      }
    case .statistic(let kind): return statistic(kind, arguments, range)
    default:
      return SingleRoutine { frame in
        try function.call(try values.map { try $0.run(&frame) }, now: now, range)
      }
    }
  }

  /// A statistic of the members of collections and of single values.
  private func statistic(
    _ kind: Statistic.Kind, _ arguments: [ValueExpression], _ range: Range<Int>
  ) -> SingleRoutine {
    let members = arguments.flatMap { if case .aggregate(let members) = $0.node { members } else { [$0] } }
    let parts = members.map { (value: value(of: $0), written: written($0)) }
    return SingleRoutine { frame in
      var values: [AttributeValue] = []
      var literals: [Int: Decimal] = [:]
      for part in parts {
        let known = try part.value.run(&frame).known(range)
        if known.count == 1, let number = try part.written?.run(&frame) { literals[values.count] = number }
        values += known
      }
      if values.contains(where: \.isDecimal) { for (place, number) in literals { values[place] = .decimal(number) } }
      return try kind.result(of: values, range)
    }
  }

  // MARK: Random numbers

  /// `randomn:(n)`.
  private func random(below limit: ValueExpression?, at place: Int) -> SingleRoutine {
    guard let limit else { return SingleRoutine { _ in .null } }
    let (number, range, salt) = (single(limit), limit.range, salt)
    return SingleRoutine { frame in
      let value = try number.run(&frame)
      if value.isNull { return .null }
      guard let limit = value.number?.whole else {
        throw ExpressionError("'randomn:' needs a whole number", range: range)
      }
      return limit < 1 ? .null : .integer(Self.random(below: limit, for: frame.object, salt: salt, at: place))
    }
  }

  /// `random()`.
  private func random(at place: Int) -> SingleRoutine {
    let salt = salt
    return SingleRoutine { .integer(Self.random(below: 1 << 31, for: $0.object, salt: salt, at: place)) }
  }

  /// Separates the random numbers of one property from those of another.
  private var salt: String { evaluator.mapping.propertyName ?? "" }

  /// A number that looks random and is the same in every run: it depends on the object, on the property that is
  /// set and on the place in the text.
  private static func random(below limit: Int64, for object: any EvaluatedObject, salt: String, at place: Int) -> Int64
  {
    // FNV-1a over the inputs of the number, then the final step of SplitMix64, which spreads the bits.
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

  // MARK: Calls

  func call(
    _ receiver: ValueExpression, _ selector: String, _ arguments: [ValueExpression], _ range: Range<Int>
  ) -> ValueRoutine {
    let target: ExpressionCall.Receiver
    switch receiver.node {
    case .variable("manager"): target = .manager
    case .variable("entityPolicy"): target = .policy
    default: return send(selector, to: receiver, arguments, range)
    }
    guard let host = evaluator.host else {
      return ValueRoutine { _ in throw ExpressionError("FUNCTION '\(selector)' yields no value here", range: range) }
    }
    let values = arguments.map { argument in
      // A call may pass on a variable that only its receiver knows, such as $destination or $manager.
      if case .variable(let name) = argument.node, variable(name) == nil { return ValueRoutine { _ in .null } }
      return value(of: argument)
    }
    return ValueRoutine { frame in
      try host.call(ExpressionCall(target, selector, try values.map { try $0.run(&frame) }, range: range))
    }
  }

  func fetch(_ request: ValueExpression, countOnly: Bool, _ range: Range<Int>) -> ValueRoutine {
    guard let host = evaluator.host, let fetch = SourceFetch(request) else {
      return ValueRoutine { _ in throw ExpressionError("FETCH yields no value here", range: range) }
    }
    return ValueRoutine { _ in try host.fetch(fetch, countOnly: countOnly) }
  }
}
