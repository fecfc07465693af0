/// Values: constants, key paths, operators and calls.
extension ExpressionParser {
  /// A value with its infix operators. They bind as in C, tighter than any comparison; set operators bind least.
  mutating func operand(_ minimum: Int = 0) throws(ExpressionError) -> Item {
    var left = try unary()
    while let precedence = infixPrecedence(), precedence >= minimum {
      let symbol = token
      advance()
      let right = try operand(precedence + 1)
      left = try combine(left, symbol.text, right)
    }
    return left
  }

  private func infixPrecedence() -> Int? {
    if let keyword { return Self.setWords.contains(keyword) ? 0 : nil }
    guard token.kind == .symbol else { return nil }
    switch token.text {
    case "|": return 1
    case "^": return 2
    case "&": return 3
    case "<<", ">>": return 4
    case "+", "-": return 5
    case "*", "/": return 6
    default: return nil
    }
  }

  private func combine(_ left: Item, _ symbol: String, _ right: Item) throws(ExpressionError) -> Item {
    let (a, b) = (try expression(left), try expression(right))
    let bitwise = [
      "|": "bitwiseOr:with:", "^": "bitwiseXor:with:", "&": "bitwiseAnd:with:", "<<": "leftshift:by:",
      ">>": "rightshift:by:",
    ]
    let node: ValueExpression.Node
    if let op = ValueExpression.ArithmeticOperator(rawValue: symbol) {
      node = .arithmetic(op, a, b)
    } else if let name = bitwise[symbol] {
      node = .function(name: name, arguments: [a, b])
    } else if let op = ValueExpression.SetOperator(rawValue: symbol.uppercased()) {
      node = .set(op, a, b)
    } else {
      throw ExpressionError("unknown operator '\(symbol)'", range: left.range.upperBound..<right.range.lowerBound)
    }
    return try value(node, max(left.height, right.height) + 1, left.range.lowerBound..<right.range.upperBound)
  }

  private mutating func unary() throws(ExpressionError) -> Item {
    depth += 1
    defer { depth -= 1 }
    _ = try checked(depth, token.range)
    let start = token.range.lowerBound
    if isSymbol("~") {
      advance()
      let inner = try unary()
      return try value(
        .function(name: "onesComplement:", arguments: [try expression(inner)]), inner.height + 1,
        start..<inner.range.upperBound)
    }
    guard isSymbol("-") else {
      let base = try postfix()
      guard isSymbol("**") else { return base }
      advance()
      return try combine(base, "**", try unary())
    }
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
    var item = try primary()
    while true {
      if isSymbol(".") {
        item = try path(from: item)
      } else if isSymbol("["), case .value(let collection) = item.kind {
        item = try index(into: collection, item)
      } else {
        return item
      }
    }
  }

  private mutating func path(from base: Item) throws(ExpressionError) -> Item {
    let baseExpression = try expression(base)
    var root: ValueExpression? = baseExpression
    var segments: [String] = []
    var ranges: [Range<Int>] = []
    var height = base.height + 1
    if case .keyPath(let inner, let names) = baseExpression.node {
      // `a.b` is one key path; a key path in parentheses reads the same.
      (root, segments, height) = (inner, names, base.height)
      ranges = baseExpression.segmentRanges
    }
    var end = base.range.upperBound
    while isSymbol(".") {
      advance()
      guard case .word = token.kind, !token.text.contains(":") else { throw unexpected("a property name after '.'") }
      segments.append(token.text)
      ranges.append(token.range)
      end = token.range.upperBound
      advance()
    }
    if isSymbol("("), let last = segments.last { throw call(of: last, after: root, segments) }
    return try keyPath(root, segments, ranges, height, base.range.lowerBound..<end)
  }

  /// The error for a member with parentheses.
  private func call(of member: String, after root: ValueExpression?, _ segments: [String]) -> ExpressionError {
    let path = ValueExpression(.keyPath(base: root, segments: segments)).typed
    let isEmpty = peek().kind == .symbol && peek().text == ")"
    if isEmpty, ValueKey(rawValue: member) != nil {
      return ExpressionError("'\(member)' has no parentheses: write '\(path)'", range: token.range)
    }
    let way = ExpressionHints.way(of: member).map { "write '\($0)'" }
    return ExpressionError(
      "'\(member)' cannot be called: "
        + (way ?? "a member has no parentheses, and a method is called as FUNCTION(a, \"\(member):\", b)"),
      range: token.range)
  }

  private func keyPath(
    _ base: ValueExpression?, _ segments: [String], _ ranges: [Range<Int>], _ height: Int, _ range: Range<Int>
  ) throws(ExpressionError) -> Item {
    var expression = ValueExpression(.keyPath(base: base, segments: segments), range: range)
    expression.segmentRanges = ranges
    return Item(kind: .value(expression), height: try checked(height, range), range: range)
  }

  private mutating func index(into collection: ValueExpression, _ item: Item) throws(ExpressionError) -> Item {
    advance()
    let position: ValueExpression.ElementPosition
    var height = item.height
    let closes = peek().kind == .symbol && peek().text == "]"
    switch keyword {
    case "FIRST" where closes:
      position = .first
      advance()
    case "LAST" where closes:
      position = .last
      advance()
    case "SIZE" where closes:
      position = .size
      advance()
    default:
      let index = try or()
      position = .index(try expression(index))
      height = max(height, index.height)
    }
    try expect("]")
    return try value(.element(of: collection, at: position), height + 1, item.range.lowerBound..<previousEnd)
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
      return try keyPath(nil, [start.text], [start.range], 1, start.range)
    case .word(escaped: false):
      return try word()
    case .argument:
      throw unsupportedArgument()
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
  private mutating func arguments(close: String) throws(ExpressionError) -> ([ValueExpression], Int) {
    var items: [ValueExpression] = []
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
      return try keyPath(nil, [start.text], [start.range], 1, start.range)
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
    case "FETCH": return try fetch(from: lower)
    case "TERNARY": return try ternary(from: lower)
    case "SUBQUERY": return try subquery(from: lower)
    case "CAST": return try cast(from: lower)
    case "FUNCTION": return try selectorCall(from: lower)
    default: break
    }
    if Self.reserved.contains(name) { throw unexpected("a value") }
    guard let function = ExpressionFunction.named(start.text) else {
      let known = ExpressionFunction.spellings + ["TERNARY", "SUBQUERY", "CAST", "FUNCTION", "FETCH"]
      let hint = ExpressionHints.function(start.text, among: known)
      throw ExpressionError("unknown function '\(start.text.prefix(60))'\(hint)", range: start.range)
    }
    openCall()
    let (items, height) = try arguments(close: ")")
    let range = lower..<previousEnd
    if let complaint = function.complaint(about: items.count) {
      throw ExpressionError(complaint + function.advice(about: items), range: range)
    }
    if function.name == "objectFrom:withIndex:" {
      return try value(.element(of: items[0], at: .index(items[1])), height + 1, range)
    }
    return try value(.function(name: function.name, arguments: items), height + 1, range)
  }

  private mutating func fetch(from lower: Int) throws(ExpressionError) -> Item {
    openCall()
    let request = try or()
    try expect(",")
    let context = try or()
    try expect(",")
    guard let flag = keyword, ["YES", "NO", "TRUE", "FALSE"].contains(flag) else {
      throw unexpected("YES or NO for counting only")
    }
    advance()
    try expect(")")
    return try value(
      .fetch(
        request: try expression(request), context: try expression(context),
        countOnly: flag == "YES" || flag == "TRUE"),
      max(request.height, context.height) + 1, lower..<previousEnd)
  }

  private mutating func ternary(from lower: Int) throws(ExpressionError) -> Item {
    openCall()
    let test = try or()
    let condition = try condition(of: test)
    try expect(",")
    let yes = try or()
    try expect(",")
    let no = try or()
    try expect(")")
    return try value(
      .ternary(condition, try expression(yes), try expression(no)),
      max(test.height + 1, yes.height, no.height) + 1, lower..<previousEnd)
  }

  /// The condition of a TERNARY: a Boolean is one too, and means that it is `YES`.
  private func condition(of test: Item) throws(ExpressionError) -> FilterPredicate {
    guard case .value(let value) = test.kind else { return try predicate(test) }
    return FilterPredicate(
      .comparison(.init(value, .equal, ValueExpression(.constant(.boolean(true)), range: value.range))),
      range: test.range)
  }

  private mutating func subquery(from lower: Int) throws(ExpressionError) -> Item {
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
  }

  private mutating func cast(from lower: Int) throws(ExpressionError) -> Item {
    openCall()
    let operand = try or()
    try expect(",")
    let type = try stringLiteral("a type name in quotes")
    try expect(")")
    return try value(.cast(try expression(operand), type: type), operand.height + 1, lower..<previousEnd)
  }

  /// `FUNCTION(operand, 'selector', arguments…)`.
  private mutating func selectorCall(from lower: Int) throws(ExpressionError) -> Item {
    openCall()
    let operand = try or()
    try expect(",")
    let selector = try stringLiteral("a selector in quotes")
    var (items, height): ([ValueExpression], Int) = ([], 0)
    if isSymbol(",") {
      advance()
      (items, height) = try arguments(close: ")")
    } else {
      try expect(")")
    }
    return try value(
      .call(operand: try expression(operand), selector: selector, arguments: items),
      max(operand.height, height) + 1, lower..<previousEnd)
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
