import GodwitModel
import GodwitStore

/// Arithmetic, functions and casts.
extension ExpressionLowering {
  /// A value for a floating point calculation. Decimals and dates may be stored as integers, whose division would
  /// truncate and whose sums are more exact than floating point, so they become floating point.
  func number(_ expression: ValueExpression) throws -> (sql: String, type: AttributeType?) {
    try number(try lower(expression), expression)
  }

  private func number(_ lowered: Lowered, _ expression: ValueExpression) throws -> (sql: String, type: AttributeType?) {
    switch lowered {
    case .value(let sql, .decimal): return ("CAST(\(sql) AS REAL)", .double)
    case .value(let sql, .date): return ("CAST(\(sql) AS REAL)", .date)
    case .value(let sql, let type): return (sql, type)
    case .null: return ("NULL", nil)
    case .object, .collection, .list: throw NotLowerable(reason: "'\(expression)' is not a single value")
    }
  }

  /// The same for a Swift function, to which 2 and 2.0 are different numbers.
  ///
  /// - Parameter name: A function that needs all digits of a decimal, which SQL cannot distinguish from floating point;
  ///   nil for one that treats any number as floating point.
  private func argument(_ expression: ValueExpression, ofExact name: String? = nil) throws -> (
    sql: String, type: AttributeType?
  ) {
    let lowered = try lower(expression)
    if let name, lowered.isDecimal { throw NotLowerable(reason: "'\(name)' of a decimal runs in Swift") }
    let (sql, type) = try number(lowered, expression)
    return type == .double || type == .float ? ("CAST(\(sql) AS REAL)", type) : (sql, type)
  }

  func arithmetic(
    _ op: ValueExpression.ArithmeticOperator, _ left: ValueExpression, _ right: ValueExpression
  ) throws -> Lowered {
    if op == .power { return try call("raise:toPower:", [left, right], type: .double) }
    let (lowered, other) = (try lower(left), try lower(right))
    try needBinary(lowered, left, other, right)
    let ((x, xType), (y, yType)) = (try number(lowered, left), try number(other, right))
    let isReal = xType?.isReal == true || yType?.isReal == true
    if op == .divide, isReal { return .value(sql: "(CAST(\(x) AS REAL) / \(y))", type: .double) }
    let isDate =
      op == .add && (xType == .date) != (yType == .date) || op == .subtract && xType == .date && yType != .date
    return .value(sql: "(\(x) \(op.rawValue) \(y))", type: isDate ? .date : isReal ? .double : nil)
  }

  /// SQL has no decimals to calculate with; beside floating point a decimal is that too.
  private func needBinary(_ a: Lowered, _ left: ValueExpression, _ b: Lowered, _ right: ValueExpression) throws {
    func isFloating(_ lowered: Lowered, _ expression: ValueExpression) -> Bool {
      guard case .value(_, let type?) = lowered, type.isReal else { return false }
      // A written number takes after the decimal beside it.
      return type == .date || !expression.isWrittenNumber
    }
    if a.isDecimal && !isFloating(b, right) || b.isDecimal && !isFloating(a, left) {
      throw NotLowerable(reason: "a calculation with decimals runs in Swift")
    }
  }

  func ternary(_ condition: FilterPredicate, _ then: ValueExpression, _ otherwise: ValueExpression) throws -> Lowered {
    let (yes, no) = (try lower(then), try lower(otherwise))
    if case .null = yes, case .null = no { return .null }
    if yes.isDecimal || no.isDecimal {
      func keeps(_ lowered: Lowered) -> Bool { if case .null = lowered { true } else { lowered.isDecimal } }
      guard keeps(yes), keeps(no) else {
        throw NotLowerable(reason: "a TERNARY of a decimal and another number runs in Swift")
      }
      return .value(
        sql: "(CASE WHEN \(try predicate(condition)) THEN \(try sql(yes)) ELSE \(try sql(no)) END)", type: .decimal)
    }
    let ((a, aType), (b, bType)) = (try number(yes, then), try number(no, otherwise))
    let type: AttributeType?
    switch (yes, no) {
    case (.null, _): type = bType
    case (_, .null): type = aType
    default:
      let (aKind, bKind) = (aType?.expressionKind ?? .number, bType?.expressionKind ?? .number)
      guard aKind == bKind else { throw NotLowerable(reason: "a TERNARY of different types runs in Swift") }
      type = aType == bType ? aType : aKind == .text ? .string : nil
    }
    return .value(sql: "(CASE WHEN \(try predicate(condition)) THEN \(a) ELSE \(b) END)", type: type)
  }

  // MARK: Functions

  func function(_ name: String, _ arguments: [ValueExpression]) throws -> Lowered {
    switch ExpressionFunction.named(name)?.sql {
    case .arithmetic(let op) where arguments.count == 2: return try arithmetic(op, arguments[0], arguments[1])
    case .now: return .value(sql: "godwit_now()", type: .date)
    case .argument where arguments.count == 1: return try lower(arguments[0])
    case .count where arguments.count == 1: return try aggregate("@count", over: try collected(arguments[0]))
    case .cast:
      guard arguments.count == 2, case .constant(.string(let type)) = arguments[1].node else { break }
      return try cast(arguments[0], type.string)
    // A whole decimal may have more digits than floating point.
    case .call(let type): return try call(name, arguments, type: type, isExact: type == .integer64)
    case .callOfNumber: return try call(name, arguments, type: nil, isExact: true)
    case .statistic: return try statistic(name, arguments)
    default: break
    }
    throw NotLowerable(reason: "'\(name)' runs in Swift")
  }

  /// A function of single values that Swift answers, called from SQL.
  private func call(
    _ name: String, _ arguments: [ValueExpression], type: AttributeType?, isExact: Bool = false
  ) throws -> Lowered {
    let sql = try arguments.map { try argument($0, ofExact: isExact ? name : nil).sql }
    return .value(sql: try call(name, sql), type: type)
  }

  private func call(_ name: String, _ arguments: [String]) throws -> String {
    guard let code = ExpressionFunction.number(of: name) else {
      throw NotLowerable(reason: "'\(name)' runs in Swift")
    }
    return "godwit_call(\((["\(code)", "\(ownSite)", "\(row.alias).Z_PK"] + arguments).joined(separator: ", ")))"
  }

  /// A statistic of one collection, or of single values.
  private func statistic(_ name: String, _ arguments: [ValueExpression]) throws -> Lowered {
    if arguments.count == 1, case .collection(let collection) = try lower(arguments[0]) {
      // Without any object the function still answers, where the operator in a path has no value.
      return try aggregate(name, over: collection, orNothing: false)
    }
    let parts = try arguments.map { try argument($0, ofExact: name) }
    let types = Set(parts.map(\.type))
    return .value(
      sql: try call(name, parts.map(\.sql)), type: types.count == 1 ? parts[0].type?.asResult(of: name) : nil)
  }

  // MARK: Casts

  func cast(_ operand: ValueExpression, _ type: String) throws -> Lowered {
    let lowered = try lower(operand)
    if case .null = lowered { return .null }
    // The prefix `NS` may be left out, except that of `NSDecimalNumber`.
    let name = type.hasPrefix("NS") ? String(type.dropFirst(2)) : type
    let toDecimal = type == "NSDecimalNumber"
    if lowered.isDecimal, toDecimal || name == "Number" { return lowered }
    if toDecimal || lowered.isDecimal && name == "String" {
      throw NotLowerable(reason: "a CAST to \(type) runs in Swift")
    }
    let (sql, from) = try number(lowered, operand)
    func called(_ sql: String) throws -> String {
      try call("castObject:toType:", [sql, builder.bind(.text("NS" + name))])
    }
    switch (name, from?.expressionKind) {
    case ("Number", .text): return .value(sql: try called(sql), type: nil)
    case ("Number", .date): return .value(sql: sql, type: .double)
    case ("Number", .number?), ("Number", nil): return .value(sql: sql, type: from)
    case ("String", .text): return .value(sql: sql, type: .string)
    case ("String", .number?), ("String", nil):
      let exact = from == .double || from == .float ? "CAST(\(sql) AS REAL)" : sql
      return .value(sql: try called(exact), type: .string)
    case ("String", .bytes) where from == .binary: return .value(sql: try called(sql), type: .string)
    case ("Date", .date), ("Date", .number?), ("Date", nil):
      return .value(sql: "CAST(\(sql) AS REAL)", type: .date)
    case ("Data", .bytes) where from == .binary || from == .transformable: return .value(sql: sql, type: .binary)
    case ("Data", .text): return .value(sql: try called(sql), type: .binary)
    default: throw NotLowerable(reason: "a CAST to \(type) runs in Swift")
    }
  }
}

extension ExpressionLowering.Lowered {
  var isDecimal: Bool { if case .value(_, .decimal) = self { true } else { false } }
}

extension ValueExpression {
  fileprivate var isWrittenNumber: Bool {
    switch node {
    case .constant: true
    case .negation(let operand): operand.isWrittenNumber
    case .ternary(_, let then, let otherwise): then.isWrittenNumber || otherwise.isWrittenNumber
    default: false
    }
  }
}

extension AttributeType {
  enum ExpressionKind { case number, text, date, bytes, other }

  /// Values of one kind can replace each other in SQL.
  var expressionKind: ExpressionKind {
    switch expressionClass {
    case .number: .number
    case .string: .text
    case .date: .date
    case .data, .uuid, .transformable: .bytes
    case .any, .objectID, .composite: .other
    }
  }

  /// Whether arithmetic on it is floating point.
  var isReal: Bool {
    switch self {
    case .double, .float, .date: true
    default: false
    }
  }

  /// The type of a statistic of values of this type.
  func asResult(of name: String) -> AttributeType? {
    switch Statistic.Kind(named: name) {
    case .minimum, .maximum: self
    case .sum where self == .decimal, .average where self == .decimal, .mode where self == .decimal: .decimal
    case .average, .median, .deviation: .double
    default: nil
    }
  }
}
