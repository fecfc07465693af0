extension ValueExpression {
  /// A value expression in NSExpression's format, without arguments.
  ///
  /// - Throws: As for predicates.
  public init(_ text: String) throws(ExpressionError) { try self.init(text, isFormat: true) }

  /// Parses a value expression in NSExpression's format.
  ///
  /// - Throws: `ExpressionError` with the UTF-8 range of the token that does not fit.
  package init(parsing text: String) throws(ExpressionError) { try self.init(text, isFormat: false) }

  private init(_ text: String, isFormat: Bool) throws(ExpressionError) {
    var parser = ExpressionParser(tokens: try ExpressionLexer.tokens(of: text), isFormat: isFormat)
    self = try parser.whole { (p: inout ExpressionParser) throws(ExpressionError) in
      try p.expression(p.or())
    }
    source = SourceText(text)
  }
}

extension FilterPredicate {
  /// A predicate in NSPredicate's format, without arguments.
  ///
  /// - Throws: `ExpressionError` with what is wrong with the text.
  public init(_ text: String) throws(ExpressionError) { try self.init(text, isFormat: true) }

  /// Parses a predicate in NSPredicate's format.
  ///
  /// - Throws: `ExpressionError` with the UTF-8 range of the token that does not fit.
  package init(parsing text: String) throws(ExpressionError) { try self.init(text, isFormat: false) }

  private init(_ text: String, isFormat: Bool) throws(ExpressionError) {
    var parser = ExpressionParser(tokens: try ExpressionLexer.tokens(of: text), isFormat: isFormat)
    self = try parser.whole { (p: inout ExpressionParser) throws(ExpressionError) in
      try p.predicate(p.or())
    }
    source = SourceText(text)
  }
}

/// Recursive descent that reads predicates and values by one grammar.
///
/// `( … )` may hold either; the kind is known once it has been read, so nothing is read twice.
struct ExpressionParser {
  typealias Token = ExpressionLexer.Token

  enum Kind {
    case value(ValueExpression)
    case condition(FilterPredicate)
  }

  /// A subtree and its height; heights are bounded so that no walk of a tree can exhaust the stack.
  struct Item {
    var kind: Kind
    var height: Int
    var range: Range<Int>
  }

  static let maximumHeight = 200
  /// Words that name no property unless written with `#`.
  static let reserved: Set<String> = [
    "AND", "OR", "IN", "NOT", "ALL", "ANY", "SOME", "NONE", "LIKE", "MATCHES", "CONTAINS", "BEGINSWITH",
    "ENDSWITH", "BETWEEN", "NULL", "NIL", "SELF", "TRUE", "YES", "FALSE", "NO", "SUBQUERY", "FETCH", "CAST",
    "TRUEPREDICATE", "FALSEPREDICATE", "TERNARY", "FUNCTION", "UNION", "INTERSECT", "MINUS", "ANYKEY",
  ]
  /// Words that are reserved only between brackets, but printed with `#` as NSPredicate requires.
  static let positions: Set<String> = ["FIRST", "LAST", "SIZE"]

  let tokens: [Token]
  var position = 0
  var depth = 0
  /// Whether the text was given in Swift, where Foundation's formats have arguments. The error for `%@` depends on it.
  private let isFormat: Bool

  init(tokens: [Token], isFormat: Bool) {
    self.tokens = tokens
    self.isFormat = isFormat
  }

  var token: Token { tokens[min(position, tokens.count - 1)] }

  mutating func advance() { position = min(position + 1, tokens.count - 1) }

  func peek() -> Token { tokens[min(position + 1, tokens.count - 1)] }

  func isSymbol(_ symbols: String...) -> Bool { token.kind == .symbol && symbols.contains(token.text) }

  var keyword: String? {
    token.kind == .word(escaped: false) ? token.text.uppercased() : nil
  }

  private func found(_ token: Token) -> String {
    token.kind == .end ? "found the end of the text" : "found '\(token.text.prefix(60))'"
  }

  /// The error for a `%@`, `%K` or `%d`.
  func unsupportedArgument() -> ExpressionError {
    ExpressionError(
      isFormat
        ? "'%\(token.text)' has no argument"
        : "format arguments such as %@ and %K are not supported in text: write the value itself",
      range: token.range)
  }

  func unexpected(_ wanted: String) -> ExpressionError {
    ExpressionError("expected \(wanted), \(found(token))", range: token.range)
  }

  mutating func expect(_ symbol: String) throws(ExpressionError) {
    guard isSymbol(symbol) else { throw unexpected("'\(symbol)'") }
    advance()
  }

  mutating func whole<T>(_ body: (inout ExpressionParser) throws(ExpressionError) -> T) throws(ExpressionError) -> T {
    if token.kind == .end { throw ExpressionError("the text is empty", range: 0..<0) }
    let result = try body(&self)
    guard token.kind == .end else { throw unexpected("the end of the text") }
    return result
  }

  func expression(_ item: Item) throws(ExpressionError) -> ValueExpression {
    guard case .value(let value) = item.kind else {
      var hint = ""
      if case .condition(let condition) = item.kind { hint = ": write 'TERNARY(\(condition.typed), YES, NO)'" }
      throw ExpressionError("expected a value, found a condition\(hint)", range: item.range)
    }
    return value
  }

  func predicate(_ item: Item) throws(ExpressionError) -> FilterPredicate {
    guard case .condition(let condition) = item.kind else {
      var hint = ""
      if case .value(let value) = item.kind, case .constant(.boolean(let flag)) = value.node {
        hint = ": write '\(flag ? "TRUEPREDICATE" : "FALSEPREDICATE")'"
      } else if case .value(let value) = item.kind {
        hint = ": compare it, as in '\(value.typed) == YES' or '\(value.typed) != nil'"
      }
      throw ExpressionError("expected a condition, found a value\(hint)", range: item.range)
    }
    return condition
  }

  func checked(_ height: Int, _ range: Range<Int>) throws(ExpressionError) -> Int {
    guard height <= Self.maximumHeight else {
      throw ExpressionError("the expression is nested deeper than \(Self.maximumHeight) levels", range: range)
    }
    return height
  }

  func value(_ node: ValueExpression.Node, _ height: Int, _ range: Range<Int>) throws(ExpressionError) -> Item {
    Item(kind: .value(ValueExpression(node, range: range)), height: try checked(height, range), range: range)
  }

  func condition(_ node: FilterPredicate.Node, _ height: Int, _ range: Range<Int>) throws(ExpressionError) -> Item {
    Item(kind: .condition(FilterPredicate(node, range: range)), height: try checked(height, range), range: range)
  }

  // MARK: Conditions

  mutating func or() throws(ExpressionError) -> Item {
    try list(or: true)
  }

  private mutating func list(or isOr: Bool) throws(ExpressionError) -> Item {
    let first = isOr ? try list(or: false) : try not()
    var parts: [FilterPredicate] = []
    var height = first.height
    var end = first.range.upperBound
    while keyword == (isOr ? "OR" : "AND") || isSymbol(isOr ? "||" : "&&") {
      if parts.isEmpty { parts.append(try predicate(first)) }
      advance()
      let part = isOr ? try list(or: false) : try not()
      parts.append(try predicate(part))
      height = max(height, part.height)
      end = part.range.upperBound
    }
    guard !parts.isEmpty else { return first }
    return try condition(isOr ? .or(parts) : .and(parts), height + 1, first.range.lowerBound..<end)
  }

  private mutating func not() throws(ExpressionError) -> Item {
    depth += 1
    defer { depth -= 1 }
    _ = try checked(depth, token.range)
    guard keyword == "NOT" || isSymbol("!") else { return try comparison() }
    let start = token.range.lowerBound
    advance()
    let inner = try not()
    return try condition(.not(try predicate(inner)), inner.height + 1, start..<inner.range.upperBound)
  }

  private mutating func comparison() throws(ExpressionError) -> Item {
    let start = token.range.lowerBound
    var modifier = FilterPredicate.Comparison.Modifier.direct
    var isNone = false
    switch keyword {
    case "ANY", "SOME": modifier = .any
    case "ALL": modifier = .all
    case "NONE": (modifier, isNone) = (.any, true)
    default: break
    }
    if modifier != .direct { advance() }
    let left = try operand()
    guard let found = comparisonOperator() else {
      if keyword == "NOT", case .value = left.kind {
        throw ExpressionError("NOT comes before a comparison, as in 'NOT a IN b'", range: token.range)
      }
      if let word = keyword, !Self.reserved.contains(word), case .value = left.kind { throw unknownOperator() }
      if modifier != .direct { throw unexpected("a comparison operator") }
      return left
    }
    advance()
    let options = try options()
    let right = try operand()
    let range = start..<right.range.upperBound
    let node = FilterPredicate.Node.comparison(
      .init(try expression(left), found, try expression(right), modifier: modifier, options: options))
    let height = max(left.height, right.height) + 1
    guard isNone else { return try condition(node, height, range) }
    return try condition(.not(FilterPredicate(node, range: range)), height + 1, range)
  }

  private func comparisonOperator() -> FilterPredicate.Comparison.Operator? {
    if token.kind == .symbol {
      switch token.text {
      case "=", "==": return .equal
      case "!=", "<>": return .notEqual
      case "<=", "=<": return .lessOrEqual
      case ">=", "=>": return .greaterOrEqual
      case "<": return .less
      case ">": return .greater
      default: return nil
      }
    }
    return keyword.flatMap { $0.first?.isLetter == true ? FilterPredicate.Comparison.Operator(rawValue: $0) : nil }
  }

  private func unknownOperator() -> ExpressionError {
    if token.text.uppercased() == "UTI" {
      return ExpressionError(
        "UTI-CONFORMS-TO and UTI-EQUALS need a registry of types, which no store has", range: token.range)
    }
    let following = tokens[min(position + 1, tokens.count - 1)...].prefix(2).map { $0.text.uppercased() }
    if let way = ExpressionHints.comparison(token.text.uppercased(), before: following) {
      return ExpressionError("unknown operator '\(token.text)': write '\(way)'", range: token.range)
    }
    let words = FilterPredicate.Comparison.Operator.allCases.map(\.rawValue).filter { $0.first?.isLetter == true }
    let hint = Spelling.suggestion(for: token.text.uppercased(), among: words + ["AND", "OR"] + Self.setWords)
    return ExpressionError("unknown operator '\(token.text.prefix(60))'\(hint)", range: token.range)
  }

  static let setWords = ValueExpression.SetOperator.allCases.map(\.rawValue)

  private mutating func options() throws(ExpressionError) -> FilterPredicate.Comparison.Options {
    guard isSymbol("[") else { return [] }
    advance()
    guard let letters = keyword else { throw unexpected("comparison options such as 'cd'") }
    var options: FilterPredicate.Comparison.Options = []
    for letter in letters {
      switch letter {
      case "C": options.insert(.caseInsensitive)
      case "D": options.insert(.diacriticInsensitive)
      case "N": options.insert(.normalized)
      case "L": options.insert(.localeSensitive)
      default: throw unexpected("comparison options out of c, d, n and l")
      }
    }
    advance()
    try expect("]")
    return options
  }
}
