import Foundation

/// The functions. A new one is a row here.
extension ExpressionFunction {
  private typealias Row = ExpressionFunction

  package static let all: [ExpressionFunction] =
    times + statistics + texts + formats + identifiers + archives + arithmetic
    + numbers + others

  private static let times = [
    Row("now", taking: 0, .always(.date), .now, sql: .now, isTotal: true),
    Row("random", taking: 0, .always(.integer64), .evaluatedByObject, sql: .none),
    Row("randomn:", taking: 1, .numbers(.integer64), .evaluatedByObject, sql: .none),
  ]

  private static let statistics = [
    Row("count:", taking: 1, .countOfCollection, .count, sql: .count),
    Row(statistic: .sum), Row(statistic: .minimum), Row(statistic: .maximum), Row(statistic: .average),
    Row(statistic: .median), Row(statistic: .mode), Row(statistic: .deviation),
  ]

  private static let texts = [
    Row("uppercase:", taking: 1, .texts(.string), .text { .string($0.uppercased) }, sql: .call(.string), isTotal: true),
    Row("lowercase:", taking: 1, .texts(.string), .text { .string($0.lowercased) }, sql: .call(.string), isTotal: true),
    Row(
      "titlecase:", taking: 1, .texts(.string), .text { .string(Text($0.string.capitalized)) }, sql: .call(.string),
      isTotal: true),
    Row(
      "canonical:", taking: 1, .texts(.string), .text { .string(StringComparison.canonical($0)) }, sql: .call(.string),
      isTotal: true),
    Row(
      "length:", taking: 1, .texts(.integer64), .text { .integer(Int64($0.utf16Count)) }, sql: .call(.integer64),
      isTotal: true),
  ]

  /// Dates as texts, by Unicode's patterns or `iso8601`.
  private static let formats = [
    Row(format: "text:format:", [.date, .string], .string),
    Row(format: "text:format:timeZone:", [.date, .string, .string], .string),
    Row(format: "date:format:", [.string, .string], .date),
    Row(format: "date:format:timeZone:", [.string, .string, .string], .date),
    Row(format: "date:format:else:", [.string, .string, .date], .date),
    Row(format: "date:format:timeZone:else:", [.string, .string, .string, .date], .date),
  ]

  private static let identifiers = [
    Row(
      "uuid:", taking: 1, .taking([.identifier], .uuid),
      .one { value, range in
        do throws(ExpressionError) { return try value.identifier } catch {
          throw ExpressionError(error.message, range: range)
        }
      }, sql: .call(.uuid),
      isTotal: true),
    Row(
      name: "newUUID", counts: 0...1, result: .identifier, body: .evaluatedByObject, sql: .none, isTotal: true),
    Row(
      name: "coalesce:", counts: 1...1000, result: .common, body: .evaluatedByObject, sql: .none, isTotal: true),
    Row("join:with:", taking: 2, .joined, .evaluatedByObject, sql: .none, isTotal: true),
  ]

  private static let archives = [
    Row(
      "archive:", taking: 1, .archive,
      .archive { value in try value.text.map { .data(try ArchivedValue(json: $0.utf8).archive) } }, sql: .call(.binary),
      isTotal: true),
    Row(
      "unarchive:", taking: 1, .archive,
      .archive { value in
        guard case .data(let bytes) = value else { return nil }
        return AttributeValue(try ArchivedValue(archive: bytes).json)
      }, sql: .call(.string), isTotal: true),
    Row(
      "archive:as:", taking: 2, .archive, .archiveAs { .data(try ArchivedValue($0, asClass: $1).archive) }, sql: .none,
      isTotal: true),
    Row(
      "unarchive:as:", taking: 2, .archive,
      .archiveAs { value, name in
        guard case .data(let bytes) = value else { return nil }
        return try ArchivedValue(archive: bytes).attributeValue(ofClass: name)
      }, sql: .none),
    Row(
      "decode:path:as:", taking: 3, .decoded,
      .many(mayBeNil: nil) { values, range in
        guard values.count == 3, let path = values[1].text?.string, let name = values[2].text?.string,
          let parts = ArchivedValue.parts(of: path)
        else { return nil }
        let bytes: [UInt8]
        switch values[0] {
        case .data(let data): bytes = data
        case .string(let text): bytes = Array(text.utf8)
        default: return nil
        }
        do throws(ArchivedValue.Malformed) {
          return try EncodedValue(reading: bytes).value.value(at: parts)?.decoded(asClass: name) ?? .null
        } catch { throw ExpressionError("'\(path)': \(error.problem)", range: range) }
      }, sql: .none),
    Row(name: "encode:", counts: 1...1000, result: .encoded, body: .evaluatedByObject, sql: .none, isTotal: true),
  ]

  private static let arithmetic = [
    Row(operator: .add, "add:to:"), Row(operator: .subtract, "from:subtract:"),
    Row(operator: .multiply, "multiply:by:"), Row(operator: .divide, "divide:by:"),
    Row(operator: .power, "raise:toPower:"),
    Row(
      "modulus:by:", taking: 2, .widerNumber,
      .two { a, b, _ in
        if let (x, y) = Calculation.decimals(a, b) { return .init(calculated: x.remainder(y)) }
        guard let x = a.number, let y = b.number else { return nil }
        return Number.remainder(x, y)?.value ?? .null
      }, sql: .callOfNumber),
  ]

  private static let numbers = [
    Row("sqrt:", taking: 1, .numbers(.double), .number { .double($0.double.squareRoot()) }, sql: .call(.double)),
    Row("log:", taking: 1, .numbers(.double), .number { .double(log10($0.double)) }, sql: .call(.double)),
    Row("ln:", taking: 1, .numbers(.double), .number { .double(log($0.double)) }, sql: .call(.double)),
    Row("exp:", taking: 1, .numbers(.double), .number { .double(exp($0.double)) }, sql: .call(.double)),
    Row("ceiling:", taking: 1, .widerNumber, .rounded(.up), sql: .callOfNumber, isTotal: true),
    Row("floor:", taking: 1, .widerNumber, .rounded(.down), sql: .callOfNumber, isTotal: true),
    Row("trunc:", taking: 1, .widerNumber, .rounded(.towardZero), sql: .callOfNumber, isTotal: true),
    Row(
      "abs:", taking: 1, .widerNumber,
      .one { a, _ in
        if case .decimal(let number) = a { return .init(calculated: number.magnitude) }
        return a.number.map { $0.order(to: .integer(0)) == -1 ? -$0 : $0 }?.value
      }, sql: .callOfNumber, isTotal: true),
    Row(
      "onesComplement:", taking: 1, .numbers(.integer64), .bits { ~$0 },
      sql: .call(.integer64), isTotal: true),
    Row("bitwiseAnd:with:", taking: 2, .numbers(.integer64), .bits(&), sql: .call(.integer64), isTotal: true),
    Row("bitwiseOr:with:", taking: 2, .numbers(.integer64), .bits(|), sql: .call(.integer64), isTotal: true),
    Row("bitwiseXor:with:", taking: 2, .numbers(.integer64), .bits(^), sql: .call(.integer64), isTotal: true),
    // Swift's shifts take any amount: beyond the width all bits leave, below 0 the direction turns.
    Row("leftshift:by:", taking: 2, .numbers(.integer64), .bits { $0 << $1 }, sql: .call(.integer64)),
    Row("rightshift:by:", taking: 2, .numbers(.integer64), .bits { $0 >> $1 }, sql: .call(.integer64)),
  ]

  private static let others: [ExpressionFunction] = [
    Row("noindex:", taking: 1, .argument, .one { a, _ in a }, sql: .argument, isTotal: true),
    Row(
      "castObject:toType:", taking: 2, .cast,
      .two { a, type, range in try type.text.map { try Calculation.cast(a, to: $0.string, range) } }, sql: .cast),
    // The parser makes an index of it.
    Row("objectFrom:withIndex:", taking: 2, .element, .evaluatedByObject, sql: .none),
    Row(
      "distanceToLocation:fromLocation:", taking: 2,
      .refused("needs locations, which no attribute of a store holds: compute the distance from coordinates"),
      .evaluatedByObject, sql: .none),
  ]
}

extension ExpressionFunction {
  private init(
    _ name: String, taking count: Int, _ result: ResultRule, _ body: Body, sql: SQLForm, isTotal: Bool = false
  ) {
    self.init(name: name, counts: count...count, result: result, body: body, sql: sql, isTotal: isTotal)
  }

  /// A function of dates and texts, whose name says what each argument is.
  private init(format name: String, _ parameters: [ExpressionMethod.Parameter], _ result: AttributeType) {
    let labels = name.split(separator: ":")
    let (zonePlace, elsePlace) = (labels.firstIndex(of: "timeZone"), labels.firstIndex(of: "else"))
    self.init(
      name: name, counts: labels.count...labels.count, result: .taking(parameters, result),
      body: .many(mayBeNil: elsePlace) { values, range in
        guard let pattern = values[1].text, let zone = zonePlace.map({ values[$0].text }) ?? "UTC" else { return nil }
        let format: DateFormat
        do throws(ExpressionError) { format = try DateFormat.known(pattern, zone: zone) } catch {
          throw ExpressionError("'\(name)': \(error.message)", range: range)
        }
        if case .date(let seconds) = values[0], result == .string {
          guard let text = format.text(seconds) else {
            throw ExpressionError("'\(name)' has no text for a date that far from any calendar", range: range)
          }
          return .string(text)
        }
        guard let text = values[0].text, result == .date else { return nil }
        if let seconds = format.seconds(text) { return .date(seconds) }
        guard let elsePlace else {
          throw ExpressionError(
            "'\(name)' finds no date of the form '\(pattern)' in the text: '\(name)else:' takes a value for that, or nil",
            range: range)
        }
        switch values[elsePlace] {
        case .null: return .null
        case .date(let seconds): return .date(seconds)
        default: return nil
        }
      }, sql: .none)
  }

  private init(statistic kind: Statistic.Kind) {
    self.init(name: kind.function, counts: 1...1000, result: .statistic, body: .statistic(kind), sql: .statistic)
  }

  private init(operator op: ValueExpression.ArithmeticOperator, _ name: String) {
    self.init(
      name: name, counts: 2...2, result: .arithmetic(op),
      body: .two { a, b, range in try Calculation.result(op, a, b, range) }, sql: .arithmetic(op))
  }
}

extension ExpressionFunction.Body {
  fileprivate static func text(_ apply: @escaping @Sendable (Text) -> AttributeValue) -> Self {
    .one { a, _ in a.text.map(apply) }
  }

  fileprivate static func number(_ apply: @escaping @Sendable (Number) -> Number?) -> Self {
    .one { a, _ in a.number.flatMap(apply)?.value }
  }

  /// An integer is unchanged.
  fileprivate static func rounded(_ rule: FloatingPointRoundingRule) -> Self {
    .one { a, _ in
      if case .decimal(let number) = a { return .init(calculated: number.rounded(rule)) }
      guard case .double(let value)? = a.number else { return a.number?.value }
      return Number.double(value.rounded(rule)).value
    }
  }

  fileprivate static func bits(_ apply: @escaping @Sendable (Int64) -> Int64) -> Self {
    .one { a, range in
      guard let number = a.number else { return nil }
      guard let whole = number.whole else { throw notWhole(range) }
      return .integer(apply(whole))
    }
  }

  fileprivate static func bits(_ apply: @escaping @Sendable (Int64, Int64) -> Int64) -> Self {
    .two { a, b, range in
      guard let x = a.number, let y = b.number else { return nil }
      guard let x = x.whole, let y = y.whole else { throw notWhole(range) }
      return .integer(apply(x, y))
    }
  }

  private static func notWhole(_ range: Range<Int>) -> ExpressionError {
    ExpressionError("an operation on bits needs whole numbers that 64 bits hold", range: range)
  }

  /// A function of archives, which says what is wrong with one.
  fileprivate static func archive(_ apply: @escaping @Sendable (AttributeValue) throws -> AttributeValue?) -> Self {
    .one { value, range in
      do { return try apply(value) } catch let error as ArchivedValue.Malformed {
        throw ExpressionError(error.problem, range: range)
      }
    }
  }

  /// The same with the name of a class.
  fileprivate static func archiveAs(
    _ apply: @escaping @Sendable (AttributeValue, String) throws -> AttributeValue?
  ) -> Self {
    .two { value, name, range in
      try name.text.flatMap { name in
        do { return try apply(value, name.string) } catch let error as ArchivedValue.Malformed {
          throw ExpressionError(error.problem, range: range)
        }
      }
    }
  }
}

extension AttributeValue {
  /// The UUID that a text spells or 16 bytes are; nil for another kind of value.
  ///
  /// - Throws: `ExpressionError` for a text or data of another form.
  fileprivate var identifier: AttributeValue? {
    get throws(ExpressionError) {
      switch self {
      case .uuid: return self
      case .string(let text):
        if let uuid = UUID(uuidString: text.string) { return .uuid(uuid) }
        throw ExpressionError(
          "'uuid:' finds no UUID in the text: FUNCTION(CAST(\"NSUUID\", \"Class\"), \"initWithUUIDString:\", coalesce:(…, \"\")) gives nil then",
          range: 0..<0)
      case .data(let bytes):
        if let uuid = UUID(bytes: bytes) { return .uuid(uuid) }
        throw ExpressionError("'uuid:' needs 16 bytes, found \(bytes.count)", range: 0..<0)
      default: return nil
      }
    }
  }
}

extension UUID {
  /// - Parameter bytes: Nil is given for any number of bytes but 16.
  package init?(bytes: some Collection<UInt8>) {
    guard bytes.count == 16 else { return nil }
    var uuid: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &uuid) { $0.copyBytes(from: bytes) }
    self.init(uuid: uuid)
  }
}
