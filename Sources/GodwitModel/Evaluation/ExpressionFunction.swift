import Foundation

/// The operation of a built-in function on its arguments, looked up by name once.
package struct ExpressionFunction: Sendable {
  enum Body: Sendable {
    case now
    /// The number of members of a collection.
    case count
    case statistic(Statistic.Kind)
    /// A function of one value that is not nil; nil when the value does not fit.
    case one(@Sendable (AttributeValue, Range<Int>) throws -> AttributeValue?)
    case two(@Sendable (AttributeValue, AttributeValue, Range<Int>) throws -> AttributeValue?)
    /// No arguments are valid.
    case nothing
  }

  let name: String
  let counts: ClosedRange<Int>
  let body: Body

  /// - Parameter name: In any case, with or without the last colon; nil for a function that there is not.
  package init?(named name: String) {
    guard let function = BuiltInFunction.named(name) else { return nil }
    (self.name, counts) = (function.name, function.counts)
    body = Self.body(function.name)
  }

  /// Applies the function to single values, without a place in a text, for lowered expressions that call it from SQL.
  ///
  /// - Throws: `ExpressionError` when the values do not fit the function.
  package func call(_ arguments: [AttributeValue]) throws -> AttributeValue {
    guard counts.contains(arguments.count) else { throw Self.unknown(name, arguments.count, 0..<0) }
    switch body {
    case .one, .two, .nothing: return try apply(arguments.map(\.known), 0..<0)
    case .now, .count, .statistic: return try call(arguments.map { .value($0) }, now: 0, 0..<0)
    }
  }

  static func unknown(_ name: String, _ count: Int, _ range: Range<Int>) -> ExpressionError {
    ExpressionError("cannot call '\(name)' with \(count) argument(s)", range: range)
  }

  func call(_ arguments: [EvaluatedValue], now: Double, _ range: Range<Int>) throws -> AttributeValue {
    switch body {
    case .now: return .date(now)
    case .count:
      guard let argument = arguments.first, !argument.isNull else { return .null }
      guard let count = argument.memberCount else {
        throw ExpressionError("'count:' needs a collection, found \(argument.phrase)", range: range)
      }
      return .integer(Int64(count))
    case .statistic(let kind): return try kind.result(of: try arguments.flatMap { try $0.known(range) }, range)
    case .one, .two, .nothing: return try apply(try arguments.map { try $0.single(range) }, range)
    }
  }

  /// A function of single values.
  private func apply(_ values: [AttributeValue], _ range: Range<Int>) throws -> AttributeValue {
    if values.contains(where: \.isNull) { return .null }
    var result: AttributeValue?
    switch body {
    case .one(let apply): if values.count == 1 { result = try apply(values[0], range) }
    case .two(let apply): if values.count == 2 { result = try apply(values[0], values[1], range) }
    case .now, .count, .statistic, .nothing: break
    }
    guard let result else { throw Calculation.misfit(name, values, range) }
    return result
  }

  // MARK: Bodies

  private static func body(_ name: String) -> Body {
    if let kind = Statistic.Kind(named: name) { return .statistic(kind) }
    if let op = ValueExpression.ArithmeticOperator(function: name) {
      return .two { a, b, range in try Calculation.result(op, a, b, range) }
    }
    switch name {
    case "now": return .now
    case "count:": return .count
    case "uppercase:": return .one { a, _ in a.text.map { .string($0.uppercased) } }
    case "lowercase:": return .one { a, _ in a.text.map { .string($0.lowercased) } }
    case "length:": return .one { a, _ in a.text.map { .integer(Int64($0.utf16Count)) } }
    case "canonical:": return .one { a, _ in a.text.map { .string(StringComparison.canonical($0)) } }
    case "noindex:": return .one { a, _ in a }
    case "archive:":
      return archive { value in try value.text.map { .data(try ArchivedValue(json: $0.utf8).archive) } }
    case "archive:as:": return archive(as: { .data(try ArchivedValue($0, asClass: $1).archive) })
    case "unarchive:as:":
      return archive(as: { value, name in
        guard case .data(let bytes) = value else { return nil }
        return try ArchivedValue(archive: bytes).attributeValue(ofClass: name)
      })
    case "unarchive:":
      return archive { value in
        guard case .data(let bytes) = value else { return nil }
        return AttributeValue(try ArchivedValue(archive: bytes).json)
      }
    case "castObject:toType:":
      return .two { a, type, range in try type.text.map { try Calculation.cast(a, to: $0.string, range) } }
    case "sqrt:": return number { .double($0.double.squareRoot()) }
    case "log:": return number { .double(log10($0.double)) }
    case "ln:": return number { .double(log($0.double)) }
    case "exp:": return number { .double(exp($0.double)) }
    case "ceiling:": return whole(.up)
    case "floor:": return whole(.down)
    case "trunc:": return whole(.towardZero)
    case "abs:":
      return .one { a, _ in
        if case .decimal(let number) = a { return .init(calculated: number.magnitude) }
        return a.number.map { $0.order(to: .integer(0)) == -1 ? -$0 : $0 }?.value
      }
    case "onesComplement:": return number { $0.whole.map { .integer(~$0) } }
    case "modulus:by:":
      return .two { a, b, _ in
        if let (x, y) = Calculation.decimals(a, b) { return .init(calculated: x.remainder(y)) }
        guard let x = a.number, let y = b.number else { return nil }
        return Number.remainder(x, y)?.value ?? .null
      }
    case "bitwiseAnd:with:": return bits(&)
    case "bitwiseOr:with:": return bits(|)
    case "bitwiseXor:with:": return bits(^)
    // Swift's shifts take any amount: beyond the width all bits leave, below 0 the direction turns.
    case "leftshift:by:": return bits { $0 << $1 }
    case "rightshift:by:": return bits { $0 >> $1 }
    default: return .nothing
    }
  }

  /// The same with the name of a class.
  private static func archive(
    as apply: @escaping @Sendable (AttributeValue, String) throws -> AttributeValue?
  ) -> Body {
    .two { value, name, range in
      try name.text.flatMap { name in
        do { return try apply(value, name.string) } catch let error as ArchivedValue.Malformed {
          throw ExpressionError(error.problem, range: range)
        }
      }
    }
  }

  /// A function of archives, which says what is wrong with one.
  private static func archive(_ apply: @escaping @Sendable (AttributeValue) throws -> AttributeValue?) -> Body {
    .one { value, range in
      do { return try apply(value) } catch let error as ArchivedValue.Malformed {
        throw ExpressionError(error.problem, range: range)
      }
    }
  }

  private static func number(_ apply: @escaping @Sendable (Number) -> Number?) -> Body {
    .one { a, _ in a.number.flatMap(apply)?.value }
  }

  /// An integer is unchanged.
  private static func whole(_ rule: FloatingPointRoundingRule) -> Body {
    .one { a, _ in
      if case .decimal(let number) = a { return .init(calculated: number.rounded(rule)) }
      guard case .double(let value)? = a.number else { return a.number?.value }
      return Number.double(value.rounded(rule)).value
    }
  }

  private static func bits(_ apply: @escaping @Sendable (Int64, Int64) -> Int64) -> Body {
    .two { a, b, _ in
      guard let x = a.number?.whole, let y = b.number?.whole else { return nil }
      return .integer(apply(x, y))
    }
  }
}
