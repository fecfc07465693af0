import GodwitModel

/// Writes expressions as the archives that Xcode's mapping models hold, with the classes and keys of real ones.
///
/// No archive of this writer has been opened on a Mac. An expression whose archive was never seen is refused: `TERNARY`,
/// `SUBQUERY`, sets, `FETCH`, `[FIRST]` and its like, and the sign of anything but a constant.
struct ExpressionArchive {
  /// An expression that has no form in an archive.
  struct Inexpressible: Error {
    var text: String
  }

  private var objects: [PropertyListValue] = [.string("$null")]
  private var classes: [String: PropertyListValue] = [:]

  /// The archive of an expression.
  static func bytes(of expression: ValueExpression) throws(Inexpressible) -> [UInt8] {
    var archive = ExpressionArchive()
    let root = try archive.add(expression)
    return archive.finished(root)
  }

  /// The archive of texts by name.
  static func bytes(ofUserInfo info: [String: String]) -> [UInt8] {
    var archive = ExpressionArchive()
    let sorted = info.sorted { Text($0.key) < Text($1.key) }
    let fields = [
      "NS.keys": PropertyListValue.array(sorted.map { archive.add(text: $0.key) }),
      "NS.objects": .array(sorted.map { archive.add(text: $0.value) }),
    ]
    let root = archive.object(["NSMutableDictionary", "NSDictionary"], fields)
    return archive.finished(root)
  }

  private func finished(_ root: PropertyListValue) -> [UInt8] {
    KeyedArchive.list(objects, top: ["root": root]).binaryPropertyList
  }

  // MARK: Objects

  private mutating func add(plain value: PropertyListValue) -> PropertyListValue {
    objects.append(value)
    return .uid(UInt64(objects.count - 1))
  }

  private mutating func add(text: String) -> PropertyListValue {
    // This text alone means nil.
    text == "$null"
      ? object(["NSMutableString", "NSString"], ["NS.string": .string(text)]) : add(plain: .string(text))
  }

  /// - Parameter names: The class and its ancestors without `NSObject`.
  private mutating func object(_ names: [String], _ fields: [String: PropertyListValue]) -> PropertyListValue {
    let name = names.first ?? ""
    if classes[name] == nil {
      classes[name] = add(
        plain: .dictionary([
          "$classname": .string(name), "$classes": .array((names + ["NSObject"]).map { .string($0) }),
        ]))
    }
    var fields = fields
    fields["$class"] = classes[name]
    return add(plain: .dictionary(fields))
  }

  private mutating func expression(
    _ name: String, _ type: Int64, _ fields: [String: PropertyListValue]
  ) -> PropertyListValue {
    let ancestors = name == "NSKeyPathExpression" ? ["NSFunctionExpression", "NSExpression"] : ["NSExpression"]
    return object([name] + ancestors, fields.merging(["NSExpressionType": .integer(type)]) { own, _ in own })
  }

  private mutating func list(_ members: [PropertyListValue], isMutable: Bool = false) -> PropertyListValue {
    object(isMutable ? ["NSMutableArray", "NSArray"] : ["NSArray"], ["NS.objects": .array(members)])
  }

  private mutating func function(
    of operand: PropertyListValue, _ selector: String, _ arguments: PropertyListValue,
    className: String = "NSFunctionExpression"
  ) -> PropertyListValue {
    let fields = ["NSOperand": operand, "NSSelectorName": add(text: selector), "NSArguments": arguments]
    return expression(className, 4, fields)
  }

  private mutating func className(_ name: String) -> PropertyListValue {
    expression("NSConstantValueExpression", 0, ["NSConstantValueClassName": add(text: name)])
  }

  // MARK: Expressions

  private static let variables: Set<String> = [
    "source", "destination", "manager", "entityMapping", "propertyMapping", "entityPolicy",
  ]

  private mutating func add(_ value: ValueExpression) throws(Inexpressible) -> PropertyListValue {
    switch value.node {
    case .constant(let constant):
      return expression("NSConstantValueExpression", 0, ["NSConstantValue": try add(constant)])
    case .evaluatedObject: return expression("NSSelfExpression", 1, [:])
    case .variable(let name):
      guard Self.variables.contains(name) else { throw Inexpressible(text: "'$\(name)', which Core Data lacks") }
      return expression("NSVariableExpression", 2, ["NSVariable": add(text: name)])
    case .keyPath(let base, let segments):
      let operand = try add(base ?? ValueExpression(.evaluatedObject))
      let path = expression(
        "NSKeyPathSpecifierExpression", 10, ["NSKeyPath": add(text: segments.joined(separator: "."))])
      let arguments = list([path], isMutable: true)
      return function(of: operand, "valueForKeyPath:", arguments, className: "NSKeyPathExpression")
    case .aggregate(let members): return expression("NSAggregateExpression", 14, ["NSCollection": try add(members)])
    case .call(let operand, let selector, let arguments):
      return function(of: try add(operand), selector, try add(arguments))
    case .arithmetic, .function, .cast, .element: return try utility(value)
    case .negation(let inner):
      guard let number = Self.negative(inner) else {
        throw Inexpressible(text: "the sign of '\(inner)': write '0 - …'")
      }
      return try add(number)
    case .ternary: throw Inexpressible(text: "TERNARY, whose archive is not known")
    case .subquery: throw Inexpressible(text: "SUBQUERY, whose archive is not known")
    case .set(let op, _, _): throw Inexpressible(text: "\(op.rawValue), whose archive is not known")
    case .fetch: throw Inexpressible(text: "FETCH, whose archive is not known")
    }
  }

  /// The constant with the other sign; nil for anything else.
  private static func negative(_ value: ValueExpression) -> ValueExpression? {
    switch value.node {
    case .constant(.integer(let number)) where number != .min: ValueExpression(.constant(.integer(-number)))
    case .constant(.double(let number)): ValueExpression(.constant(.double(-number)))
    default: nil
    }
  }

  private mutating func add(_ values: [ValueExpression]) throws(Inexpressible) -> PropertyListValue {
    var members: [PropertyListValue] = []
    for value in values { members.append(try add(value)) }
    return list(members)
  }

  /// A call of `_NSPredicateUtilities`, as Foundation's parser makes of operators, functions and casts.
  private mutating func utility(_ value: ValueExpression) throws(Inexpressible) -> PropertyListValue {
    let (selector, arguments): (String, [ValueExpression])
    switch value.node {
    case .cast(let inner, type: "Class"):
      guard case .constant(.string(let name)) = inner.node else {
        throw Inexpressible(text: "a class whose name is not a constant")
      }
      return className(name.string)
    case .cast(let inner, let type):
      (selector, arguments) = ("castObject:toType:", [inner, ValueExpression(.constant(AttributeValue(type)))])
    case .arithmetic(let op, let a, let b): (selector, arguments) = (Self.selectors[op] ?? op.rawValue, [a, b])
    case .element(let collection, .index(let index)):
      (selector, arguments) = ("objectFrom:withIndex:", [collection, index])
    case .function(let name, let given):
      let known = ExpressionFunction.named(name)
      guard known?.isOwn != true else { throw Inexpressible(text: "'\(name)', which Core Data lacks") }
      (selector, arguments) = (known?.name ?? name, given)
    default: throw Inexpressible(text: "[FIRST], [LAST] or [SIZE], whose archive is not known: write an index")
    }
    return function(of: className("_NSPredicateUtilities"), selector, try add(arguments))
  }

  private static let selectors: [ValueExpression.ArithmeticOperator: String] = [
    .add: "add:to:", .subtract: "from:subtract:", .multiply: "multiply:by:", .divide: "divide:by:",
    .power: "raise:toPower:",
  ]

  private mutating func add(_ constant: AttributeValue) throws(Inexpressible) -> PropertyListValue {
    switch constant {
    case .null: return .uid(0)
    case .boolean(let truth): return add(plain: .boolean(truth))
    case .integer(let number): return add(plain: .integer(number))
    case .double(let number) where number.isFinite: return add(plain: .real(number))
    case .string(let text):
      guard let string = String(validating: text.utf8, as: UTF8.self) else { break }
      return add(text: string)
    default: break
    }
    throw Inexpressible(text: "the constant '\(ValueExpression(.constant(constant)))', whose archive is not known")
  }
}

// MARK: Other spellings

extension ExpressionArchive {
  /// The expression with one spelling of each call: `add:to:(a, b)` as `a + b`, `castObject:toType:` as `CAST`.
  static func plain(_ value: ValueExpression) -> ValueExpression {
    switch value.node {
    case .keyPath(let base?, let segments): return ValueExpression(.keyPath(base: plain(base), segments: segments))
    case .aggregate(let members): return ValueExpression(.aggregate(members.map(plain)))
    case .arithmetic(let op, let a, let b): return ValueExpression(.arithmetic(op, plain(a), plain(b)))
    case .negation(let inner): return negative(inner) ?? ValueExpression(.negation(plain(inner)))
    case .cast(let inner, let type): return ValueExpression(.cast(plain(inner), type: type))
    case .element(let collection, .index(let index)):
      return ValueExpression(.element(of: plain(collection), at: .index(plain(index))))
    case .call(let operand, let selector, let arguments):
      return ArchivedExpression.plain(
        ValueExpression(.call(operand: plain(operand), selector: selector, arguments: arguments.map(plain))))
    case .function(let name, let arguments):
      let arguments = arguments.map(plain)
      if arguments.count == 2 {
        if let op = ValueExpression.ArithmeticOperator(function: name) {
          return ValueExpression(.arithmetic(op, arguments[0], arguments[1]))
        }
        if ExpressionFunction.named(name)?.name == "castObject:toType:",
          case .constant(.string(let type)) = arguments[1].node
        {
          return ValueExpression(.cast(arguments[0], type: type.string))
        }
      }
      return ValueExpression(.function(name: ExpressionFunction.named(name)?.name ?? name, arguments: arguments))
    default: return value
    }
  }
}

// MARK: Predicates

extension ExpressionArchive {
  /// The first part of a predicate that Core Data lacks: predicates are written as text.
  static func problem(in predicate: FilterPredicate) -> String? {
    var own: String?
    var (bound, used): (Set<String>, [String]) = ([], [])
    for operand in predicate.operands {
      _ = operand.contains { value in
        switch value.node {
        case .function(let name, _) where ExpressionFunction.named(name)?.isOwn == true: own = own ?? name
        case .subquery(_, let variable, _): bound.insert(variable)
        case .variable(let name): used.append(name)
        default: break
        }
        return false
      }
    }
    if let own { return "'\(own)', which Core Data lacks" }
    return used.first { !bound.contains($0) }.map { "'$\($0)', which no filter has" }
  }
}
