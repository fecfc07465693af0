import Foundation

/// A method with arguments that `FUNCTION` sends to a value or a class, with Foundation's name and result: a row of the
/// table `all`. A method without arguments is a `ValueKey`, one of a list a `ListMethod`.
package struct ExpressionMethod: Sendable {
  enum Receiver: Sendable, Hashable {
    case string, number, decimal, date, data
    /// `CAST("NSUUID", "Class")`.
    case type(String)
  }

  /// The kind of an argument.
  enum Parameter: Sendable {
    case string, whole, number, date, data
    /// A text, data or a UUID.
    case identifier
    /// A set that a class method of `NSCharacterSet` makes.
    case characters
    /// A way to round that a class method of `NSDecimalNumberHandler` makes.
    case rounding
  }

  enum Result: Sendable {
    case value(AttributeType)
    case values(AttributeType)
  }

  /// The evaluated arguments, which are of the kinds of the parameters.
  struct Arguments {
    var values: [AttributeValue]
    var characters: CharacterClass?
    var rounding: DecimalRounding?

    func text(_ place: Int) -> Text { place < values.count ? values[place].text ?? "" : "" }
    func whole(_ place: Int) -> Int64 { place < values.count ? values[place].number?.whole ?? 0 : 0 }
    func double(_ place: Int) -> Double { place < values.count ? values[place].number?.double ?? 0 : 0 }
  }

  /// Gets a receiver of its kind; nil is a value that does not fit.
  typealias Body = @Sendable (AttributeValue, Arguments) throws(ExpressionError) -> EvaluatedValue

  let receiver: Receiver
  package let selector: String
  let parameters: [Parameter]
  let result: Result
  let body: Body

  init(
    _ receiver: Receiver, _ selector: String, _ parameters: [Parameter], _ result: Result, _ body: @escaping Body
  ) {
    (self.receiver, self.selector, self.parameters, self.result, self.body) =
      (receiver, selector, parameters, result, body)
  }

  /// One value.
  init(
    _ receiver: Receiver, _ selector: String, _ parameters: [Parameter], _ type: AttributeType,
    _ body: @escaping @Sendable (AttributeValue, Arguments) throws(ExpressionError) -> AttributeValue
  ) {
    self.init(receiver, selector, parameters, .value(type)) { a, b throws(ExpressionError) in .value(try body(a, b)) }
  }

  package static let all: [ExpressionMethod] = strings + numbers + decimals + dates + bytes + classes

  private static let bySelector = Dictionary(grouping: all, by: \.selector)

  /// The methods of all receivers with a selector.
  static func named(_ selector: String) -> [ExpressionMethod] { bySelector[selector] ?? [] }

  /// The classes with methods.
  static let classNames =
    Set(all.compactMap { if case .type(let name) = $0.receiver { name } else { nil } })
    .union([CharacterClass.className, DecimalRounding.className]).sorted()

  /// Applies the method.
  ///
  /// - Throws: `ExpressionError` for an argument that the method refuses, as Foundation does with an exception.
  func call(
    _ receiver: AttributeValue, _ arguments: Arguments, _ range: Range<Int>
  ) throws(ExpressionError) -> EvaluatedValue {
    let evaluated = parameters.filter(\.isEvaluated)
    guard evaluated.count == arguments.values.count else {
      throw ExpressionFunction.unknown(selector, arguments.values.count, range)
    }
    for (parameter, value) in zip(evaluated, arguments.values) where !parameter.takes(value) {
      let found = EvaluatedValue.value(value).phrase
      let way = value.isNull ? ": 'coalesce:' gives a value in its place" : ""
      throw ExpressionError("'\(selector)' needs \(parameter.phrase), found \(found)\(way)", range: range)
    }
    do { return try body(receiver, arguments) } catch {
      throw ExpressionError("'\(selector)' \(error.message)", range: range)
    }
  }
}

extension ExpressionMethod.Receiver {
  /// Whether values of a type receive the method, before a value is known.
  func takes(_ type: AttributeType) -> Bool {
    switch self {
    case .string: type == .string
    case .number: type.expressionClass == .number
    case .decimal: type == .decimal
    case .date: type == .date
    case .data: type == .binary
    case .type: false
    }
  }

  /// Whether a value receives the method. A decimal may have been calculated as another number.
  func takes(_ value: AttributeValue) -> Bool {
    switch (self, value) {
    case (.string, .string), (.date, .date), (.data, .data): true
    case (.number, _), (.decimal, _): value.number != nil
    default: false
    }
  }
}

extension ExpressionMethod.Parameter {
  /// Whether the argument has a value; the others are objects that exist before the run.
  var isEvaluated: Bool {
    switch self {
    case .string, .whole, .number, .date, .data, .identifier: true
    case .characters, .rounding: false
    }
  }

  func takes(_ value: AttributeValue) -> Bool {
    switch self {
    case .string: value.text != nil
    case .whole: value.number?.whole != nil
    case .number: value.number != nil
    case .date: if case .date = value { true } else { false }
    case .data: if case .data = value { true } else { false }
    case .identifier, .characters, .rounding: true
    }
  }

  func takes(_ type: ExpressionType) -> Bool {
    switch (self, type) {
    case (.characters, .characterSet), (.rounding, .rounding): true
    case (.characters, _), (.rounding, _): false
    case (_, .value(.undefined)): true
    case (.string, .value(let type)): type.expressionClass == .string
    case (.whole, .value(let type)), (.number, .value(let type)): type.expressionClass == .number
    case (.date, .value(let type)): type == .date
    case (.data, .value(let type)): type == .binary
    case (.identifier, .value(let type)): [.string, .binary, .uuid].contains(type)
    default: false
    }
  }

  var phrase: String {
    switch self {
    case .string: "a string"
    case .whole: "a whole number"
    case .number: "a number"
    case .date: "a date"
    case .data: "data"
    case .identifier: "a string, data or a UUID"
    case .characters:
      "a character set, such as FUNCTION(CAST(\"NSCharacterSet\", \"Class\"), \"whitespaceCharacterSet\")"
    case .rounding:
      "a way to round, such as FUNCTION(CAST(\"NSDecimalNumberHandler\", \"Class\"), \"\(DecimalRounding.making)\", 0, 2, NO, NO, NO, NO)"
    }
  }
}

extension ExpressionMethod.Result {
  var type: ExpressionType {
    switch self {
    case .value(let type): .value(type)
    case .values(let type): .values(type)
    }
  }
}

/// A method of a list, which Foundation's `NSArray` has.
enum ListMethod: String, CaseIterable {
  case count, firstObject, lastObject
  case objectAtIndex = "objectAtIndex:"
  case componentsJoinedByString = "componentsJoinedByString:"

  var argumentCount: Int { rawValue.utf8.count { $0 == UInt8(ascii: ":") } }
}
