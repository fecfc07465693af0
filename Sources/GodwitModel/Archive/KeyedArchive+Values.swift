package import Foundation

/// A finite number, as it was archived.
package struct ArchivedNumber {
  package var decimal: Decimal
  package var integer: Int64?
  package var double: Double?
}

extension KeyedArchive {
  /// The value as an attribute of the type holds it; nil when it does not fit.
  package mutating func attributeValue(_ value: Value, type: AttributeType) throws(Malformed) -> AttributeValue? {
    if case .null = value { return .null }
    switch type {
    case .string: return try text(value).map { .string(Text($0)) }
    case .uri:
      if let text = try text(value) { return .uri(Text(text)) }
      guard case .object(let object) = value, object.className == "NSURL",
        case .null = try self.value("NS.base", of: object)
      else { return nil }
      return try text(self.value("NS.relative", of: object)).map { .uri(Text($0)) }
    case .uuid:
      guard case .object(let object) = value, object.className == "NSUUID",
        case .plain(.data(let bytes)) = try self.value("NS.uuidbytes", of: object), bytes.count == 16
      else { return nil }
      return .uuid(bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) })
    case .binary: return try data(value).map { .data($0) }
    case .date:
      if case .plain(.date(let seconds)) = value { return seconds.isFinite ? .date(seconds) : nil }
      guard case .object(let object) = value, object.className == "NSDate" else { return nil }
      return try number(self.value("NS.time", of: object)).flatMap { $0.double }.map { .date($0) }
    case .boolean:
      guard let number = try number(value)?.integer, number == 0 || number == 1 else { return nil }
      return .boolean(number == 1)
    case .integer16, .integer32, .integer64:
      guard let number = try number(value)?.integer, type.integerRange?.contains(number) == true else { return nil }
      return .integer(number)
    case .decimal: return try number(value).map { .decimal($0.decimal) }
    case .double, .float: return try number(value)?.double.map { .double($0) }
    default: return nil
    }
  }

  private mutating func data(_ value: Value) throws(Malformed) -> [UInt8]? {
    switch value {
    case .plain(.data(let bytes)): return bytes
    case .object(let object) where object.className == "NSData" || object.className == "NSMutableData":
      guard case .plain(.data(let bytes)) = try self.value("NS.data", of: object) else { return nil }
      return bytes
    default: return nil
    }
  }

  package mutating func number(_ value: Value) throws(Malformed) -> ArchivedNumber? {
    switch value {
    case .plain(.boolean(let flag)): return ArchivedNumber(decimal: flag ? 1 : 0, integer: flag ? 1 : 0, double: nil)
    case .plain(.integer(let number)):
      return ArchivedNumber(decimal: Decimal(number), integer: number, double: Double(number))
    case .plain(.unsigned(let number)):
      return ArchivedNumber(decimal: Decimal(number), integer: nil, double: Double(number))
    case .plain(.real(let number)):
      guard number.isFinite, let decimal = Decimal(string: "\(number)") else { return nil }
      return ArchivedNumber(decimal: decimal, integer: Int64(exactly: number), double: number)
    case .object(let object) where object.className == "NSDecimalNumber":
      guard let decimal = try decimal(object), decimal.isFinite else { return nil }
      return ArchivedNumber(decimal: decimal, integer: Int64("\(decimal)"), double: Double("\(decimal)"))
    case .object(let object) where object.className == "NSDecimalNumberPlaceholder":
      // Apple's compiler archives this for a zero.
      return ArchivedNumber(decimal: 0, integer: 0, double: 0)
    default: return nil
    }
  }

  // MARK: Decimal numbers

  /// The value of an `NSDecimalNumber`, which may be no number; nil for what is damaged.
  ///
  /// It holds eight 16-bit words of a whole number, low word first, times a power of ten.
  package mutating func decimal(_ object: Object) throws(Malformed) -> Decimal? {
    guard case .plain(.integer(let exponent)) = try value("NS.exponent", of: object), (-128...127).contains(exponent),
      case .plain(.integer(let length)) = try value("NS.length", of: object), (0...8).contains(length),
      case .plain(.data(let bytes)) = try value("NS.mantissa", of: object), bytes.count == 16
    else { return nil }
    let isNegative =
      switch try value("NS.negative", of: object) {
      case .plain(.boolean(let flag)): flag
      case .plain(.integer(let number)): number != 0
      default: false
      }
    var isBigEndian = false
    if case .plain(.integer(2)) = try value("NS.mantissa.bo", of: object) { isBigEndian = true }
    // No words and a sign is how "not a number" is stored.
    guard !(length == 0 && isNegative) else { return .nan }
    var whole = Decimal(0)
    for word in (0..<Int(length)).reversed() {
      let (first, second) = (bytes[2 * word], bytes[2 * word + 1])
      whole = whole * 65536 + Decimal(isBigEndian ? Int(first) << 8 | Int(second) : Int(second) << 8 | Int(first))
    }
    guard whole.isFinite, whole != 0 else { return whole.isFinite ? 0 : nil }
    let decimal = Decimal(sign: isNegative ? .minus : .plus, exponent: Int(exponent), significand: whole)
    return decimal.isFinite ? decimal : nil
  }

  /// The fields of an `NSDecimalNumber` but its class.
  package static func fields(of number: Decimal) -> [String: PropertyListValue] {
    var fields: [String: PropertyListValue] = [
      "NS.compact": .boolean(true), "NS.mantissa.bo": .integer(1), "NS.negative": .boolean(true),
      "NS.exponent": .integer(0), "NS.length": .integer(0), "NS.mantissa": .data([UInt8](repeating: 0, count: 16)),
    ]
    guard !number.isNaN, let whole = UInt128(number.significand.magnitude.description) else { return fields }
    let bytes = withUnsafeBytes(of: whole.littleEndian) { Array($0) }
    fields["NS.mantissa"] = .data(bytes)
    fields["NS.length"] = .integer(Int64((16 - whole.leadingZeroBitCount / 8 + 1) / 2))
    fields["NS.exponent"] = .integer(whole == 0 ? 0 : Int64(number.exponent))
    fields["NS.negative"] = .boolean(number.isSignMinus && whole != 0)
    return fields
  }
}
