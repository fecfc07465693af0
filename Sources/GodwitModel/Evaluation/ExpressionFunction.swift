/// A function that expressions can call, in NSExpression's spelling: a row of the table `all`.
package struct ExpressionFunction: Sendable {
  /// The rule for the type of a call's value.
  enum ResultRule: Sendable {
    /// Whatever the arguments are.
    case always(AttributeType)
    /// The arguments are strings.
    case texts(AttributeType)
    /// The arguments are numbers.
    case numbers(AttributeType)
    /// The arguments are numbers, and the value has the wider of their types.
    case widerNumber
    case arithmetic(ValueExpression.ArithmeticOperator)
    case statistic
    case countOfCollection
    /// The arguments are of these kinds.
    case taking([ExpressionMethod.Parameter], AttributeType)
    /// The type that all arguments have.
    case common
    /// A list and a separator.
    case joined
    /// A UUID; the argument is one value of any type.
    case identifier
    case archive
    /// A part of an encoded value.
    case decoded
    /// An object of named parts.
    case encoded
    case cast
    case element
    /// The type of the first argument.
    case argument
    /// No value can be passed to the function. The reason is without the name.
    case refused(String)
  }

  enum Body: Sendable {
    case now
    /// The number of members of a collection.
    case count
    case statistic(Statistic.Kind)
    /// A function of one value that is not nil; nil when the value does not fit.
    case one(@Sendable (AttributeValue, Range<Int>) throws -> AttributeValue?)
    case two(@Sendable (AttributeValue, AttributeValue, Range<Int>) throws -> AttributeValue?)
    /// A function of any number of values.
    ///
    /// - mayBeNil: The argument that may be nil without the value being nil.
    case many(mayBeNil: Int?, @Sendable ([AttributeValue], Range<Int>) throws -> AttributeValue?)
    /// The compiler answers in its place, by the object at work.
    case evaluatedByObject
  }

  /// The replacement of a call in a statement.
  package enum SQLForm: Sendable {
    /// The expression runs in Swift.
    case none
    /// A call of the function itself, whose value has a type.
    case call(AttributeType)
    /// The same, unless the argument is a decimal: the value would be one, and SQL has none.
    case callOfNumber
    case arithmetic(ValueExpression.ArithmeticOperator)
    case statistic
    case count
    case now
    case cast
    /// The first argument.
    case argument
  }

  /// The name, with a colon after each part that takes an argument.
  package let name: String
  /// How many arguments it takes.
  let counts: ClosedRange<Int>
  let result: ResultRule
  let body: Body
  package let sql: SQLForm
  /// Whether the value is nil only where an argument is.
  package var isTotal = false

  /// Whether it is Godwit's own: Core Data has no such function.
  package var isOwn: Bool { Self.own.contains(name) || name.hasPrefix("text:") || name.hasPrefix("date:") }

  private static let own: Set<String> = [
    "titlecase:", "uuid:", "newUUID", "coalesce:", "join:with:", "archive:", "unarchive:", "archive:as:",
    "unarchive:as:", "decode:path:as:", "encode:",
  ]

  /// The function that `written` names: any case, with or without the last colon; nil for none.
  package static func named(_ written: String) -> ExpressionFunction? {
    number(of: written).map { all[$0] }
  }

  /// The place of a function in `all`.
  package static func number(of written: String) -> Int? {
    // `random:` with an argument is Foundation's older name of `randomn:`.
    numbers[written.lowercased() == "random:" ? "randomn" : key(written)]
  }

  private static let numbers = Dictionary(uniqueKeysWithValues: all.indices.map { (key(all[$0].name), $0) })

  private static func key(_ name: String) -> String {
    let lower = name.lowercased()
    return lower.hasSuffix(":") ? String(lower.dropLast()) : lower
  }

  /// Names as a writer types them, for hints.
  static var spellings: [String] {
    all.map { $0.name.hasSuffix(":") ? String($0.name.dropLast()) : $0.name }
  }

  /// The fault of a number of arguments; nil for a valid one.
  func complaint(about count: Int) -> String? {
    guard !counts.contains(count) else { return nil }
    let wanted =
      counts.count == 1
      ? counts.lowerBound.counted("argument") : "at least one argument and at most \(counts.upperBound)"
    return "'\(name)' takes \(wanted), found \(count)"
  }

  /// The remedy for a wrong number of arguments; empty where there is no more to say.
  func advice(about arguments: [ValueExpression]) -> String {
    switch name {
    case "join:with:" where arguments.count > 2:
      var members = arguments
      var separator = ValueExpression(.constant(.string(" ")))
      if case .constant(.string)? = members.last?.node { separator = members.removeLast() }
      let call = ValueExpression(
        .function(name: name, arguments: [ValueExpression(.aggregate(members)), separator]))
      return ": put the texts in { }, as in '\(call.typed)'"
    case "join:with:": return ": a list, and the text between its members, such as \", \""
    case "uuid:" where arguments.isEmpty: return ": 'newUUID()' makes a new one"
    default: return ""
    }
  }

  /// Applies the function to single values, without a place in a text, for lowered expressions that call it from SQL.
  ///
  /// - Throws: `ExpressionError` when the values do not fit the function.
  package func call(_ arguments: [AttributeValue]) throws -> AttributeValue {
    guard counts.contains(arguments.count) else { throw Self.unknown(name, arguments.count, 0..<0) }
    switch body {
    case .one, .two, .many, .evaluatedByObject: return try apply(arguments.map(\.known), 0..<0)
    case .now, .count, .statistic: return try call(arguments.map { .value($0) }, now: 0, 0..<0)
    }
  }

  static func unknown(_ name: String, _ count: Int, _ range: Range<Int>) -> ExpressionError {
    ExpressionError("cannot call '\(name)' with \(count.counted("argument"))", range: range)
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
    case .one, .two, .many, .evaluatedByObject: return try apply(try arguments.map { try $0.single(range) }, range)
    }
  }

  /// A function of single values.
  private func apply(_ values: [AttributeValue], _ range: Range<Int>) throws -> AttributeValue {
    var place: Int?
    if case .many(let mayBeNil, _) = body { place = mayBeNil }
    if values.indices.contains(where: { $0 != place && values[$0].isNull }) { return .null }
    var result: AttributeValue?
    switch body {
    case .one(let apply): if values.count == 1 { result = try apply(values[0], range) }
    case .two(let apply): if values.count == 2 { result = try apply(values[0], values[1], range) }
    case .many(_, let apply): if counts.contains(values.count) { result = try apply(values, range) }
    case .now, .count, .statistic, .evaluatedByObject: break
    }
    guard let result else { throw Calculation.misfit(name, values, range) }
    return result
  }
}
