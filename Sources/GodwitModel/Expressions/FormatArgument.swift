/// A value that takes the place of `%@`, `%K` or `%d` in a predicate or expression format.
///
/// Literals of Swift convert: `try FilterPredicate("%K >= %@", "age", 18)`.
package enum FormatArgument: Sendable, Hashable {
  /// A value.
  case value(AttributeValue)
  /// Several values, for `IN` and `BETWEEN`.
  case list([FormatArgument])
  /// A part of an expression.
  case expression(ValueExpression)

  /// The argument as a tree at a place of the text.
  func expression(at range: ValueExpression.TextRange, depth: Int = 0) throws(ExpressionError) -> ValueExpression {
    switch self {
    case .value(let value): return ValueExpression(.constant(value), range: range)
    case .expression(let expression): return ValueExpression(expression.node, range: range)
    case .list(let items):
      guard depth < 8 else { throw ExpressionError("a format argument is nested too deeply", range: range) }
      var elements: [ValueExpression] = []
      for item in items { elements.append(try item.expression(at: range, depth: depth + 1)) }
      return ValueExpression(.aggregate(elements), range: range)
    }
  }
}

extension FormatArgument: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral
{
  /// A text, or the key path of a `%K`.
  package init(stringLiteral value: String) { self = .value(AttributeValue(value)) }
  /// An integer.
  package init(integerLiteral value: Int64) { self = .value(.integer(value)) }
  /// A floating point number.
  package init(floatLiteral value: Double) { self = .value(.double(value)) }
  /// `YES` or `NO`.
  package init(booleanLiteral value: Bool) { self = .value(.boolean(value)) }
  /// `nil`.
  package init(nilLiteral: ()) { self = .value(.null) }
  /// Several values.
  package init(arrayLiteral elements: FormatArgument...) { self = .list(elements) }
}

extension FilterPredicate {
  /// A predicate in NSPredicate's format, without arguments.
  ///
  /// - Throws: `ExpressionError` with what is wrong with the text.
  public init(_ text: String) throws(ExpressionError) { try self.init(text, arguments: []) }

  /// A predicate in NSPredicate's format, with arguments for `%@` (a value), `%K` (a key path) and `%d` and the
  /// like (a number).
  ///
  /// - Throws: `ExpressionError` with the UTF-8 range of the token that does not fit, or whose argument is missing or
  ///   of the wrong kind; or of the whole text if there are too many arguments.
  package init(_ format: String, _ arguments: FormatArgument...) throws(ExpressionError) {
    try self.init(format, arguments: arguments)
  }

  /// The same with the arguments in an array.
  package init(_ format: String, arguments: [FormatArgument]) throws(ExpressionError) {
    var parser = ExpressionParser(tokens: try ExpressionLexer.tokens(of: format), arguments: arguments)
    self = try parser.whole { (p: inout ExpressionParser) throws(ExpressionError) in try p.predicate(p.or()) }
    // A format without its arguments says too little, so the stored text includes them.
    source = SourceText(arguments.isEmpty ? format : description)
  }
}

extension ValueExpression {
  /// A value expression in NSExpression's format, without arguments.
  ///
  /// - Throws: As for predicates.
  public init(_ text: String) throws(ExpressionError) { try self.init(text, arguments: []) }

  /// A value expression in NSExpression's format, with arguments as in `FilterPredicate.init(_:_:)`.
  ///
  /// - Throws: as `FilterPredicate.init(_:_:)`.
  package init(_ format: String, _ arguments: FormatArgument...) throws(ExpressionError) {
    try self.init(format, arguments: arguments)
  }

  /// The same with the arguments in an array.
  package init(_ format: String, arguments: [FormatArgument]) throws(ExpressionError) {
    var parser = ExpressionParser(tokens: try ExpressionLexer.tokens(of: format), arguments: arguments)
    self = try parser.whole { (p: inout ExpressionParser) throws(ExpressionError) in try p.expression(p.or()) }
    // As for predicates.
    source = SourceText(arguments.isEmpty ? format : description)
  }
}
