import Foundation

/// A property of a value, as key-value coding reads it: the properties of `NSURL`, `NSUUID`, `NSNumber`, `NSString`,
/// `NSData` and `NSDate` that have one meaning on every system.
package enum ValueKey: String, CaseIterable, Sendable {
  case absoluteString, path, lastPathComponent
  case uuidString = "UUIDString"
  case pathExtension, stringByDeletingPathExtension, stringByDeletingLastPathComponent
  case stringValue, intValue, integerValue, longLongValue, doubleValue, floatValue, boolValue
  case length, lowercaseString, uppercaseString, capitalizedString
  case precomposedStringWithCanonicalMapping, decomposedStringWithCanonicalMapping, stringByRemovingPercentEncoding
  case timeIntervalSinceReferenceDate, timeIntervalSince1970
  case description

  /// Seconds between 1970 and 2001.
  static let epoch = 978_307_200.0

  /// The type of the key's value on an attribute of a type; nil when such attributes lack the key.
  package func result(on type: AttributeType) -> AttributeType? {
    switch (self, type) {
    case (.absoluteString, .uri), (.path, .uri), (.lastPathComponent, .uri), (.lastPathComponent, .string): .string
    case (.uuidString, .uuid): .string
    case (.stringValue, _) where type.expressionClass == .number: .string
    case (.intValue, _) where type.expressionClass == .number || type == .string: .integer32
    case (.integerValue, _) where type.expressionClass == .number || type == .string: .integer64
    case (.longLongValue, _) where type.expressionClass == .number || type == .string: .integer64
    case (.doubleValue, _) where type.expressionClass == .number || type == .string: .double
    case (.floatValue, _) where type.expressionClass == .number || type == .string: .float
    case (.boolValue, _) where type.expressionClass == .number || type == .string: .boolean
    case (.length, .string), (.length, .binary): .integer64
    case (.lowercaseString, .string), (.uppercaseString, .string), (.capitalizedString, .string): .string
    case (.pathExtension, .string), (.pathExtension, .uri), (.stringByDeletingPathExtension, .string): .string
    case (.stringByDeletingLastPathComponent, .string), (.stringByRemovingPercentEncoding, .string): .string
    case (.precomposedStringWithCanonicalMapping, .string), (.decomposedStringWithCanonicalMapping, .string): .string
    case (.timeIntervalSinceReferenceDate, .date), (.timeIntervalSince1970, .date): .double
    case (.description, .string), (.description, .uri), (.description, .uuid): .string
    case (.description, _) where type.expressionClass == .number: .string
    default: nil
    }
  }

  /// Whether a value may have no such property, although its type has.
  package var mayBeNil: Bool {
    switch self {
    case .path, .lastPathComponent, .pathExtension, .stringByRemovingPercentEncoding: true
    default: false
    }
  }

  /// The properties that values of a type have.
  package static func all(on type: AttributeType) -> [ValueKey] { allCases.filter { $0.result(on: type) != nil } }

  /// - Throws: `ExpressionError` without a place for a value that has no such property, or whose number does not fit.
  func value(of value: AttributeValue) throws(ExpressionError) -> AttributeValue {
    switch (self, value) {
    case (_, .null): return .null
    case (.absoluteString, .uri(let text)), (.description, .uri(let text)): return .string(text)
    case (.path, .uri(let text)):
      guard let url = URL(string: text.string), url.path != "" || url.host != nil else { return .null }
      return AttributeValue(url.path)
    case (.lastPathComponent, .uri(let text)):
      guard let url = URL(string: text.string) else { return .null }
      return AttributeValue(url.lastPathComponent)
    case (.pathExtension, .uri(let text)):
      guard let url = URL(string: text.string) else { return .null }
      return AttributeValue(url.pathExtension)
    case (.uuidString, .uuid(let uuid)), (.description, .uuid(let uuid)): return .string(Text(uuid))
    case (_, .string(let text)): if let found = self.value(ofText: text) { return found }
    case (.length, .data(let bytes)): return .integer(Int64(bytes.count))
    case (.timeIntervalSinceReferenceDate, .date(let seconds)): return .double(seconds)
    case (.timeIntervalSince1970, .date(let seconds)): return .double(seconds + Self.epoch)
    default: break
    }
    guard value.isNumberLike else {
      throw ExpressionError("'\(rawValue)' is read from \(EvaluatedValue.value(value).phrase)", range: 0..<0)
    }
    switch self {
    case .stringValue, .description:
      if case .boolean(let truth) = value { return AttributeValue(truth ? "1" : "0") }
      return try Calculation.cast(value, to: .string, named: "NSString", 0..<0)
    case .intValue:
      guard let whole = Self.whole(value), let number = Int32(exactly: whole) else {
        throw ExpressionError("'intValue' of a number that 32 bits do not hold", range: 0..<0)
      }
      return .integer(Int64(number))
    case .integerValue, .longLongValue:
      guard let whole = Self.whole(value) else {
        throw ExpressionError("'\(rawValue)' of a number that 64 bits do not hold", range: 0..<0)
      }
      return .integer(whole)
    case .doubleValue: return value.number.map { .double($0.double) } ?? .null
    case .floatValue: return value.number.map { .double(Double(Float($0.double))) } ?? .null
    case .boolValue: return value.number.map { .boolean($0.double != 0) } ?? .null
    default: throw ExpressionError("'\(rawValue)' is read from a number", range: 0..<0)
    }
  }

  /// A property of a string; nil when strings lack it.
  private func value(ofText text: Text) -> AttributeValue? {
    switch self {
    case .description: .string(text)
    case .length: .integer(Int64(text.utf16Count))
    case .lowercaseString: .string(text.lowercased)
    case .uppercaseString: .string(text.uppercased)
    case .capitalizedString: .string(Text(text.string.capitalized))
    case .precomposedStringWithCanonicalMapping: AttributeValue(text.string.precomposedStringWithCanonicalMapping)
    case .decomposedStringWithCanonicalMapping: AttributeValue(text.string.decomposedStringWithCanonicalMapping)
    case .stringByRemovingPercentEncoding: Self.withoutPercentEncoding(text).map { .string($0) } ?? .null
    case .lastPathComponent: .string(text.lastPathComponent)
    case .pathExtension: .string(text.pathExtension)
    case .stringByDeletingPathExtension: .string(text.deletingPathExtension)
    case .stringByDeletingLastPathComponent: .string(text.deletingLastPathComponent)
    case .intValue: .integer(Int64(Int32(clamping: Self.integer(in: text.string))))
    case .integerValue, .longLongValue: .integer(Self.integer(in: text.string))
    case .doubleValue: .double(Self.double(in: text.string))
    case .floatValue: .double(Double(Float(Self.double(in: text.string))))
    case .boolValue: .boolean(Self.truth(in: text.string))
    default: nil
    }
  }

  /// The text with its escapes (`%41`) decoded; nil for a broken escape, or where the bytes are no UTF-8.
  ///
  /// Foundation on Linux (Swift 6.3) takes a U+FEFF at the start of the result for a byte-order mark and drops it.
  private static func withoutPercentEncoding(_ text: Text) -> Text? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(hexValue), let low = rest.popFirst().flatMap(hexValue) else {
        return nil
      }
      bytes.append(high << 4 | low)
    }
    // Bytes that are no UTF-8 are decoded as others.
    return String(decoding: bytes, as: UTF8.self).utf8.elementsEqual(bytes) ? Text(utf8: bytes) : nil
  }

  private static func hexValue(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  /// A number without its fraction; nil for any other value, or a number that is too large.
  private static func whole(_ value: AttributeValue) -> Int64? {
    switch value {
    case .boolean(let truth): truth ? 1 : 0
    case .integer(let number): number
    case .decimal(let number): number.isNaN ? nil : number.rounded(.towardZero).wholeNumber
    default: value.number.flatMap { Int64(exactly: $0.double.rounded(.towardZero)) }
    }
  }

  // MARK: Numbers in texts, as NSString reads them

  private static func skipped(_ text: String) -> Substring.UnicodeScalarView {
    text.unicodeScalars.drop { $0.properties.isWhitespace }
  }

  /// The digits at the start, no further than 64 bits reach; 0 without any.
  private static func integer(in text: String) -> Int64 {
    var rest = skipped(text)
    let isNegative = rest.first == "-"
    if let sign = rest.first, sign == "-" || sign == "+" { rest.removeFirst() }
    var number: Int64 = 0
    while let digit = rest.first, ("0"..."9").contains(digit) {
      let value = Int64(digit.value - 48)
      let (tens, isLarge) = number.multipliedReportingOverflow(by: 10)
      let (sum, isLarger) = isNegative ? tens.subtractingReportingOverflow(value) : tens.addingReportingOverflow(value)
      if isLarge || isLarger { return isNegative ? .min : .max }
      number = sum
      rest.removeFirst()
    }
    return number
  }

  /// The longest decimal number at the start; 0 without any.
  private static func double(in text: String) -> Double {
    let scalars = skipped(text)
    var end = scalars.startIndex
    var (best, hasDigit) = (end, false)
    var (hasPoint, hasExponent) = (false, false)
    scan: while end < scalars.endIndex {
      let scalar = scalars[end]
      let previous = end > scalars.startIndex ? scalars[scalars.index(before: end)] : nil
      let next = scalars.index(after: end)
      switch scalar {
      case "0"..."9":
        hasDigit = true
        best = next
      case "+", "-":
        guard previous == nil || previous == "e" || previous == "E" else { break scan }
      case ".":
        guard !hasPoint, !hasExponent else { break scan }
        hasPoint = true
        if hasDigit { best = next }
      case "e", "E":
        guard hasDigit, !hasExponent else { break scan }
        hasExponent = true
      default: break scan
      }
      end = next
    }
    var digits = String(scalars[scalars.startIndex..<best])
    if digits.hasSuffix(".") { digits.removeLast() }
    if digits.hasPrefix("+") { digits.removeFirst() }
    if digits.hasPrefix(".") { digits = "0" + digits }
    if digits.hasPrefix("-.") { digits = "-0" + digits.dropFirst() }
    return Double(digits) ?? 0
  }

  /// Whether it begins with `Y`, `T` or a digit that is not 0, after signs and zeros.
  private static func truth(in text: String) -> Bool {
    var rest = skipped(text)
    if let sign = rest.first, sign == "-" || sign == "+" { rest.removeFirst() }
    rest = rest.drop { $0 == "0" }
    guard let first = rest.first else { return false }
    return "YyTt123456789".unicodeScalars.contains(first)
  }
}

extension AttributeValue {
  fileprivate var isNumberLike: Bool {
    switch self {
    case .boolean, .integer, .double, .decimal: true
    default: false
    }
  }
}
