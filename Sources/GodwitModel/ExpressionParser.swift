extension Expression {
  /// Parses a value expression in NSExpression's format.
  ///
  /// - Throws: `ExpressionError` with the UTF-8 range of the token that does not fit.
  public init(parsing text: String) throws(ExpressionError) {
    var parser = ExpressionParser(tokens: try ExpressionLexer.tokens(of: text))
    self = try parser.whole { (p: inout ExpressionParser) throws(ExpressionError) in
      try p.expression(p.or())
    }
  }
}

extension Predicate {
  /// Parses a predicate in NSPredicate's format.
  ///
  /// - Throws: `ExpressionError` with the UTF-8 range of the token that does not fit.
  public init(parsing text: String) throws(ExpressionError) {
    var parser = ExpressionParser(tokens: try ExpressionLexer.tokens(of: text))
    self = try parser.whole { (p: inout ExpressionParser) throws(ExpressionError) in
      try p.predicate(p.or())
    }
  }
}

/// Recursive descent that reads predicates and values by one grammar.
///
/// `( … )` may hold either; the kind is known once it has been read, so nothing is read twice.
struct ExpressionParser {
  typealias Token = ExpressionLexer.Token

  enum Kind {
    case value(Expression)
    case condition(Predicate)
  }

  /// A subtree and its height; heights are bounded so that no walk of a tree can exhaust the stack.
  struct Item {
    var kind: Kind
    var height: Int
    var range: Range<Int>
  }

  static let maximumHeight = 200
  static let reserved: Set<String> = [
    "AND", "OR", "IN", "NOT", "ALL", "ANY", "SOME", "NONE", "LIKE", "MATCHES", "CONTAINS", "BEGINSWITH",
    "ENDSWITH", "BETWEEN", "NULL", "NIL", "SELF", "TRUE", "YES", "FALSE", "NO", "SUBQUERY", "FETCH", "CAST",
    "TRUEPREDICATE", "FALSEPREDICATE", "TERNARY", "FUNCTION", "UNION", "INTERSECT", "MINUS", "ANYKEY",
    "FIRST", "LAST", "SIZE",
  ]

  private let tokens: [Token]
  private var position = 0
  private var depth = 0

  init(tokens: [Token]) { self.tokens = tokens }

  private var token: Token { tokens[min(position, tokens.count - 1)] }

  private mutating func advance() { position = min(position + 1, tokens.count - 1) }

  private func peek() -> Token { tokens[min(position + 1, tokens.count - 1)] }

  private func isSymbol(_ symbols: String...) -> Bool { token.kind == .symbol && symbols.contains(token.text) }

  private var keyword: String? {
    token.kind == .word(escaped: false) ? token.text.uppercased() : nil
  }

  private func found(_ token: Token) -> String {
    token.kind == .end ? "found the end of the text" : "found '\(token.text.prefix(60))'"
  }

  private func unexpected(_ wanted: String) -> ExpressionError {
    ExpressionError("expected \(wanted), \(found(token))", range: token.range)
  }

  private mutating func expect(_ symbol: String) throws(ExpressionError) {
    guard isSymbol(symbol) else { throw unexpected("'\(symbol)'") }
    advance()
  }

  mutating func whole<T>(_ body: (inout ExpressionParser) throws(ExpressionError) -> T) throws(ExpressionError) -> T {
    if token.kind == .end { throw ExpressionError("the text is empty", range: 0..<0) }
    let result = try body(&self)
    guard token.kind == .end else { throw unexpected("the end of the text") }
    return result
  }

  func expression(_ item: Item) throws(ExpressionError) -> Expression {
    guard case .value(let value) = item.kind else {
      throw ExpressionError("expected a value, found a condition", range: item.range)
    }
    return value
  }

  func predicate(_ item: Item) throws(ExpressionError) -> Predicate {
    guard case .condition(let condition) = item.kind else {
      throw ExpressionError("expected a condition, found a value", range: item.range)
    }
    return condition
  }

  private func checked(_ height: Int, _ range: Range<Int>) throws(ExpressionError) -> Int {
    guard height <= Self.maximumHeight else {
      throw ExpressionError("the expression is nested deeper than \(Self.maximumHeight) levels", range: range)
    }
    return height
  }

  private func value(_ node: Expression.Node, _ height: Int, _ range: Range<Int>) throws(ExpressionError) -> Item {
    Item(kind: .value(Expression(node, range: range)), height: try checked(height, range), range: range)
  }

  private func condition(_ node: Predicate.Node, _ height: Int, _ range: Range<Int>) throws(ExpressionError) -> Item {
    Item(kind: .condition(Predicate(node, range: range)), height: try checked(height, range), range: range)
  }

  // MARK: Conditions

  mutating func or() throws(ExpressionError) -> Item {
    try list(or: true)
  }

  private mutating func list(or isOr: Bool) throws(ExpressionError) -> Item {
    let first = isOr ? try list(or: false) : try not()
    var parts: [Predicate] = []
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
    var modifier = Predicate.Comparison.Modifier.direct
    var isNone = false
    switch keyword {
    case "ANY", "SOME": modifier = .any
    case "ALL": modifier = .all
    case "NONE": (modifier, isNone) = (.any, true)
    default: break
    }
    if modifier != .direct { advance() }
    let left = try sum()
    guard let found = comparisonOperator() else {
      if modifier != .direct { throw unexpected("a comparison operator") }
      return left
    }
    advance()
    let options = try options()
    let right = try sum()
    let range = start..<right.range.upperBound
    let node = Predicate.Node.comparison(
      .init(try expression(left), found, try expression(right), modifier: modifier, options: options))
    let height = max(left.height, right.height) + 1
    guard isNone else { return try condition(node, height, range) }
    return try condition(.not(Predicate(node, range: range)), height + 1, range)
  }

  private func comparisonOperator() -> Predicate.Comparison.Operator? {
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
    return keyword.flatMap { $0.first?.isLetter == true ? Predicate.Comparison.Operator(rawValue: $0) : nil }
  }

  private mutating func options() throws(ExpressionError) -> Predicate.Comparison.Options {
    guard isSymbol("[") else { return [] }
    advance()
    guard let letters = keyword else { throw unexpected("comparison options such as 'cd'") }
    var options: Predicate.Comparison.Options = []
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

  // MARK: Values

  private mutating func sum() throws(ExpressionError) -> Item {
    var left = try product()
    while isSymbol("+", "-") { left = try binary(left) { (p: inout Self) throws(ExpressionError) in try p.product() } }
    return left
  }

  private mutating func product() throws(ExpressionError) -> Item {
    var left = try unary()
    while isSymbol("*", "/") { left = try binary(left) { (p: inout Self) throws(ExpressionError) in try p.unary() } }
    return left
  }

  private mutating func binary(
    _ left: Item, _ operand: (inout Self) throws(ExpressionError) -> Item
  ) throws(ExpressionError) -> Item {
    guard let op = Expression.ArithmeticOperator(rawValue: token.text) else { return left }
    advance()
    let right = try operand(&self)
    return try value(
      .arithmetic(op, try expression(left), try expression(right)), max(left.height, right.height) + 1,
      left.range.lowerBound..<right.range.upperBound)
  }

  private mutating func unary() throws(ExpressionError) -> Item {
    depth += 1
    defer { depth -= 1 }
    _ = try checked(depth, token.range)
    guard isSymbol("-") else {
      let base = try postfix()
      guard isSymbol("**") else { return base }
      return try binary(base) { (p: inout Self) throws(ExpressionError) in try p.unary() }
    }
    let start = token.range.lowerBound
    let literal = peek()
    advance()
    if literal.kind == .number {
      let after = peek()
      if !(after.kind == .symbol && after.text == "**") {
        advance()
        let range = start..<literal.range.upperBound
        return try value(.constant(try number(literal, isNegative: true)), 1, range)
      }
    }
    let inner = try unary()
    return try value(.negation(try expression(inner)), inner.height + 1, start..<inner.range.upperBound)
  }

  private mutating func postfix() throws(ExpressionError) -> Item {
    let base = try primary()
    if isSymbol("[") {
      throw ExpressionError("indexes into collections, such as [0] and [FIRST], are not supported", range: token.range)
    }
    guard isSymbol(".") else { return base }
    let baseExpression = try expression(base)
    var root: Expression? = baseExpression
    var segments: [String] = []
    var height = base.height + 1
    if case .keyPath(let inner, let names) = baseExpression.node {
      // `a.b` is one key path; a key path in parentheses reads the same.
      (root, segments, height) = (inner, names, base.height)
    }
    var end = base.range.upperBound
    while isSymbol(".") {
      advance()
      guard case .word = token.kind, !token.text.contains(":") else { throw unexpected("a property name after '.'") }
      segments.append(token.text)
      end = token.range.upperBound
      advance()
    }
    if isSymbol("[") {
      throw ExpressionError("indexes into collections, such as [0] and [FIRST], are not supported", range: token.range)
    }
    return try value(.keyPath(base: root, segments: segments), height, base.range.lowerBound..<end)
  }

  private mutating func primary() throws(ExpressionError) -> Item {
    let start = token
    switch start.kind {
    case .number:
      advance()
      return try value(.constant(try number(start, isNegative: false)), 1, start.range)
    case .string:
      advance()
      return try value(.constant(AttributeValue(start.text)), 1, start.range)
    case .variable:
      advance()
      if isSymbol(":=") {
        throw ExpressionError("variable assignment (':=') is not supported", range: token.range)
      }
      return try value(.variable(start.text), 1, start.range)
    case .word(escaped: true):
      advance()
      return try value(.keyPath(base: nil, segments: [start.text]), 1, start.range)
    case .word(escaped: false):
      return try word()
    case .symbol where start.text == "(":
      advance()
      var inner = try or()
      let end = token.range.upperBound
      try expect(")")
      inner.range = start.range.lowerBound..<end
      return inner
    case .symbol where start.text == "{":
      advance()
      let (items, height) = try arguments(close: "}")
      return try value(.aggregate(items), height + 1, start.range.lowerBound..<previousEnd)
    default:
      throw unexpected("a value")
    }
  }

  private var previousEnd: Int { position > 0 ? tokens[position - 1].range.upperBound : 0 }

  /// Values up to `close`, which is consumed; the opening symbol has been.
  private mutating func arguments(close: String) throws(ExpressionError) -> ([Expression], Int) {
    var items: [Expression] = []
    var height = 0
    if !isSymbol(close) {
      while true {
        let item = try or()
        items.append(try expression(item))
        height = max(height, item.height)
        guard isSymbol(",") else { break }
        advance()
      }
    }
    guard isSymbol(close) else { throw unexpected("',' or '\(close)'") }
    advance()
    return (items, height)
  }

  private mutating func word() throws(ExpressionError) -> Item {
    let start = token
    let name = start.text.uppercased()
    let isCall = peek().kind == .symbol && peek().text == "("
    if isCall { return try call(start, name) }
    switch name {
    case "TRUEPREDICATE", "FALSEPREDICATE":
      advance()
      return try condition(.constant(name == "TRUEPREDICATE"), 1, start.range)
    case "NIL", "NULL": return try constant(.null)
    case "YES", "TRUE": return try constant(.boolean(true))
    case "NO", "FALSE": return try constant(.boolean(false))
    case "SELF":
      advance()
      return try value(.evaluatedObject, 1, start.range)
    case _ where start.text.contains(":"):
      throw ExpressionError("expected '(' after the function name '\(start.text.prefix(60))'", range: start.range)
    case _ where Self.reserved.contains(name):
      throw ExpressionError(
        "expected a value, found the reserved word '\(start.text)' (a property of this name is written '#\(start.text)')",
        range: start.range)
    default:
      advance()
      return try value(.keyPath(base: nil, segments: [start.text]), 1, start.range)
    }
  }

  private mutating func constant(_ constant: AttributeValue) throws(ExpressionError) -> Item {
    let range = token.range
    advance()
    return try value(.constant(constant), 1, range)
  }

  private mutating func call(_ start: Token, _ name: String) throws(ExpressionError) -> Item {
    let lower = start.range.lowerBound
    switch name {
    case "FETCH", "UNION", "INTERSECT", "MINUS":
      throw ExpressionError("\(name) expressions are not supported", range: start.range)
    case "TERNARY":
      openCall()
      let test = try or()
      let condition = try predicate(test)
      try expect(",")
      let yes = try or()
      try expect(",")
      let no = try or()
      try expect(")")
      return try value(
        .ternary(condition, try expression(yes), try expression(no)),
        max(test.height, yes.height, no.height) + 1, lower..<previousEnd)
    case "SUBQUERY":
      openCall()
      let collection = try or()
      try expect(",")
      guard token.kind == .variable else { throw unexpected("a variable such as $x") }
      let variable = token.text
      advance()
      try expect(",")
      let test = try or()
      try expect(")")
      return try value(
        .subquery(collection: try expression(collection), variable: variable, predicate: try predicate(test)),
        max(collection.height, test.height) + 1, lower..<previousEnd)
    case "CAST":
      openCall()
      let operand = try or()
      try expect(",")
      let type = try stringLiteral("a type name in quotes")
      try expect(")")
      return try value(.cast(try expression(operand), type: type), operand.height + 1, lower..<previousEnd)
    case "FUNCTION":
      openCall()
      let operand = try or()
      try expect(",")
      let selector = try stringLiteral("a selector in quotes")
      var (items, height): ([Expression], Int) = ([], 0)
      if isSymbol(",") {
        advance()
        (items, height) = try arguments(close: ")")
      } else {
        try expect(")")
      }
      return try value(
        .call(operand: try expression(operand), selector: selector, arguments: items),
        max(operand.height, height) + 1, lower..<previousEnd)
    default:
      break
    }
    if Self.reserved.contains(name) { throw unexpected("a value") }
    if BuiltInFunction.isUnsupported(start.text) {
      throw ExpressionError("the function '\(start.text)' is not supported", range: start.range)
    }
    guard let function = BuiltInFunction.named(start.text) else {
      let names = BuiltInFunction.all.map { $0.name.hasSuffix(":") ? String($0.name.dropLast()) : $0.name }
      let hint = Spelling.suggestion(for: start.text, among: names + ["TERNARY", "SUBQUERY", "CAST", "FUNCTION"])
      throw ExpressionError("unknown function '\(start.text.prefix(60))'\(hint)", range: start.range)
    }
    openCall()
    let (items, height) = try arguments(close: ")")
    let range = lower..<previousEnd
    if let count = function.count, items.count != count {
      throw ExpressionError("'\(function.name)' takes \(count) argument(s), found \(items.count)", range: range)
    } else if items.isEmpty, function.count == nil {
      throw ExpressionError("'\(function.name)' takes at least one argument, found 0", range: range)
    }
    return try value(.function(name: function.name, arguments: items), height + 1, range)
  }

  private mutating func openCall() {
    advance()
    advance()
  }

  private mutating func stringLiteral(_ wanted: String) throws(ExpressionError) -> String {
    guard token.kind == .string else { throw unexpected(wanted) }
    let text = token.text
    advance()
    return text
  }

  private func number(_ token: Token, isNegative: Bool) throws(ExpressionError) -> AttributeValue {
    let text = token.text
    let sign = isNegative ? "-" : ""
    let invalid = ExpressionError("'\(text.prefix(60))' is not a number", range: token.range)
    for (marker, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] where text.lowercased().hasPrefix(marker) {
      let digits = text.dropFirst(2)
      guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.hexDigitValue.map { $0 < radix } == true }) else {
        throw invalid
      }
      guard let value = Int64(sign + digits, radix: radix) else { throw outOfRange(token) }
      return .integer(value)
    }
    if text.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) {
      guard let value = Int64(sign + text) else { throw outOfRange(token) }
      return .integer(value)
    }
    guard let value = Double(sign + text) else { throw invalid }
    guard value.isFinite else { throw outOfRange(token) }
    return .double(value)
  }

  private func outOfRange(_ token: Token) -> ExpressionError {
    ExpressionError("the number '\(token.text.prefix(60))' is out of range", range: token.range)
  }
}
