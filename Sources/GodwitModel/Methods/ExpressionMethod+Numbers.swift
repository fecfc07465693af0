import Foundation

/// The methods of numbers, decimals, dates and data. A new one is a row here.
extension ExpressionMethod {
  private typealias Row = ExpressionMethod

  static let numbers: [ExpressionMethod] = [
    Row(.number, "compare:", [.number], .integer64) { a, b in
      if let (x, y) = Calculation.decimals(a, b.values[0]) { return .integer(x < y ? -1 : x == y ? 0 : 1) }
      return a.order(to: b.values[0]).map { .integer(Int64($0)) } ?? .null
    },
    Row(.number, "isEqualToNumber:", [.number], .boolean) { a, b in .boolean(a.isEqual(to: b.values[0])) },
  ]

  /// The methods of decimals round to 38 digits, as a decimal number has no scale by default. Foundation raises an
  /// exception where the result is not a decimal.
  static let decimals: [ExpressionMethod] = [
    Row(.decimal, "decimalNumberByAdding:", [.number], .decimal) { a, b throws(ExpressionError) in
      try decimal(a, b) { $0.sum($1) }
    },
    Row(.decimal, "decimalNumberBySubtracting:", [.number], .decimal) { a, b throws(ExpressionError) in
      try decimal(a, b) { $0.sum(-$1) }
    },
    Row(.decimal, "decimalNumberByMultiplyingBy:", [.number], .decimal) { a, b throws(ExpressionError) in
      try decimal(a, b, product)
    },
    Row(.decimal, "decimalNumberByDividingBy:", [.number], .decimal) { a, b throws(ExpressionError) in
      try decimal(a, b) { $0.quotient($1) }
    },
    Row(.decimal, "decimalNumberByRaisingToPower:", [.whole], .decimal) { a, b throws(ExpressionError) in
      let exponent = b.whole(0)
      guard exponent >= 0 else { throw ExpressionError("takes no negative exponent, found \(exponent)", range: 0..<0) }
      return try decimal(a) { power($0, exponent) }
    },
    Row(.decimal, "decimalNumberByMultiplyingByPowerOf10:", [.whole], .decimal) { a, b throws(ExpressionError) in
      try decimal(a) { number in
        let exponent = Int(max(-1000, min(1000, b.whole(0))))
        let step = exponent < 0 ? -100 : 100
        let factor = Decimal(sign: .plus, exponent: step, significand: 1)
        let rest = Decimal(sign: .plus, exponent: exponent % 100, significand: 1)
        return product((0..<abs(exponent) / 100).reduce(number) { result, _ in product(result, factor) }, rest)
      }
    },
    Row(.decimal, "decimalNumberByRoundingAccordingToBehavior:", [.rounding], .decimal) {
      a, b throws(ExpressionError) in
      try decimal(a) { number in b.rounding?.round(number) ?? number }
    },
  ]

  static let dates: [ExpressionMethod] = [
    Row(.date, "dateByAddingTimeInterval:", [.number], .date) { a, b in date(a.seconds + b.double(0)) },
    Row(.date, "timeIntervalSinceDate:", [.date], .double) { a, b in
      Number.double(a.seconds - b.values[0].seconds).value
    },
    Row(.date, "earlierDate:", [.date], .date) { a, b in b.values[0].seconds < a.seconds ? b.values[0] : a },
    Row(.date, "laterDate:", [.date], .date) { a, b in b.values[0].seconds > a.seconds ? b.values[0] : a },
    Row(.date, "isEqualToDate:", [.date], .boolean) { a, b in .boolean(a.seconds == b.values[0].seconds) },
    Row(.date, "compare:", [.date], .integer64) { a, b in
      a.order(to: b.values[0]).map { .integer(Int64($0)) } ?? .null
    },
  ]

  static let bytes: [ExpressionMethod] = [
    Row(.data, "base64EncodedStringWithOptions:", [.whole], .string) { a, b throws(ExpressionError) in
      guard case .data(let bytes) = a else { return .null }
      return AttributeValue(try base64(bytes, options: b.whole(0)))
    },
    Row(.data, "isEqualToData:", [.data], .boolean) { a, b in .boolean(a == b.values[0]) },
  ]

  static func date(_ seconds: Double) -> AttributeValue { seconds.isNaN ? .null : .date(seconds) }

  // MARK: Decimals

  private static func decimal(
    _ a: AttributeValue, _ b: Arguments, _ apply: (Decimal, Decimal) -> Decimal
  ) throws(ExpressionError) -> AttributeValue {
    guard let other = b.values[0].anyDecimal else {
      throw ExpressionError("needs a number that a decimal can hold", range: 0..<0)
    }
    return try decimal(a) { apply($0, other) }
  }

  private static func decimal(
    _ a: AttributeValue, _ apply: (Decimal) -> Decimal
  ) throws(ExpressionError) -> AttributeValue {
    guard let number = a.anyDecimal else {
      throw ExpressionError("needs a number that a decimal can hold", range: 0..<0)
    }
    let result = apply(number)
    guard result.isFinite else {
      throw ExpressionError(
        "has no result: a division by zero, or a number too large or too small for a decimal", range: 0..<0)
    }
    return .decimal(result)
  }

  /// NaN for a product that is too large or too small.
  private static func product(_ a: Decimal, _ b: Decimal) -> Decimal {
    let result = a.product(b)
    return result.isZero && !a.isZero && !b.isZero ? .nan : result
  }

  /// By squaring; NaN for a result that is too large.
  private static func power(_ base: Decimal, _ exponent: Int64) -> Decimal {
    var (result, square, rest) = (Decimal(1), base, exponent)
    while rest > 0 {
      if rest & 1 == 1 { result = product(result, square) }
      rest >>= 1
      if rest > 0 { square = product(square, square) }
    }
    return result
  }

  // MARK: Data

  private static let base64Options: [Int64: (columns: Int, lineEnd: String)] = [
    0: (0, ""), 1: (64, "\r\n"), 2: (76, "\r\n"), 17: (64, "\r"), 18: (76, "\r"), 33: (64, "\n"), 34: (76, "\n"),
    49: (64, "\r\n"), 50: (76, "\r\n"), 16: (0, ""), 32: (0, ""), 48: (0, ""),
  ]

  private static func base64(_ bytes: [UInt8], options: Int64) throws(ExpressionError) -> String {
    guard let (columns, lineEnd) = base64Options[options] else {
      throw ExpressionError(
        "takes 0, or 1 or 2 for lines of 64 or 76 characters and 16 or 32 for CR or LF at their ends, found \(options)",
        range: 0..<0)
    }
    let text = Data(bytes).base64EncodedString()
    guard columns > 0 else { return text }
    let characters = Array(text.utf8)
    let lines = stride(from: 0, to: characters.count, by: columns).map {
      String(decoding: characters[$0..<min($0 + columns, characters.count)], as: UTF8.self)
    }
    return lines.joined(separator: lineEnd)
  }
}

/// The methods of classes. A new one is a row here.
extension ExpressionMethod {
  static let classes: [ExpressionMethod] = [
    // The compiler answers, as for `newUUID`.
    Row(.type("NSUUID"), "UUID", [], .uuid) { _, _ in .null },
    Row(.type("NSUUID"), "initWithUUIDString:", [.string], .uuid) { _, b in
      UUID(uuidString: b.text(0).string).map { .uuid($0) } ?? .null
    },
    Row(.type("NSURL"), "URLWithString:", [.string], .uri) { _, b in
      URL(string: b.text(0).string).map { AttributeValue($0) } ?? .null
    },
    Row(.type("NSDate"), "dateWithTimeIntervalSince1970:", [.number], .date) { _, b in
      date(b.double(0) - ValueKey.epoch)
    },
    Row(.type("NSDate"), "dateWithTimeIntervalSinceReferenceDate:", [.number], .date) { _, b in date(b.double(0)) },
    Row(.type("NSData"), "initWithBase64EncodedString:options:", [.string, .whole], .binary) { _, b in
      let options: Data.Base64DecodingOptions = b.whole(1) & 1 == 1 ? .ignoreUnknownCharacters : []
      return Data(base64Encoded: b.text(0).string, options: options).map { AttributeValue($0) } ?? .null
    },
    Row(.type("NSString"), "initWithData:encoding:", [.data, .whole], .string) { _, b throws(ExpressionError) in
      guard b.whole(1) == utf8Encoding else {
        throw ExpressionError("knows encoding 4, which is UTF-8, found \(b.whole(1))", range: 0..<0)
      }
      guard case .data(let bytes) = b.values[0], String(validating: bytes, as: UTF8.self) != nil else { return .null }
      return .string(Text(utf8: bytes))
    },
  ]
}

extension AttributeValue {
  /// The seconds of a date, which the receiver is.
  fileprivate var seconds: Double { if case .date(let seconds) = self { seconds } else { .nan } }

  /// A number as a decimal; nil for one that no decimal holds.
  fileprivate var anyDecimal: Decimal? {
    if case .double(let number) = self { return Decimal(stored: number) }
    return exactDecimal
  }
}
