import Foundation
import GodwitModel

/// A finite number of an archive.
struct ArchivedNumber {
  var decimal: Decimal
  var integer: Int64?
  var double: Double?
}

extension ArchiveReader {
  /// The value as an attribute of the type holds it; nil when it does not fit.
  mutating func attributeValue(_ value: KeyedArchive.Value, type: AttributeType) throws -> AttributeValue? {
    if case .null = value { return .null }
    switch type {
    case .string: return try archive.text(value).map { .string(Text($0)) }
    case .uri:
      if let text = try archive.text(value) { return .uri(Text(text)) }
      guard case .object(let object) = value, object.className == "NSURL", try text("NS.base", of: object) == nil
      else { return nil }
      return try text("NS.relative", of: object).map { .uri(Text($0)) }
    case .uuid:
      guard case .object(let object) = value, object.className == "NSUUID",
        case .plain(.data(let bytes)) = try archive.value("NS.uuidbytes", of: object), bytes.count == 16
      else { return nil }
      return .uuid(bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) })
    case .binary: return try data(value).map { .data($0) }
    case .date:
      if case .plain(.date(let seconds)) = value { return seconds.isFinite ? .date(seconds) : nil }
      guard case .object(let object) = value, object.className == "NSDate" else { return nil }
      return try number(archive.value("NS.time", of: object)).flatMap { $0.double }.map { .date($0) }
    case .boolean:
      guard let number = try number(value)?.integer, number == 0 || number == 1 else { return nil }
      return .boolean(number == 1)
    case .integer16, .integer32, .integer64:
      guard let number = try number(value)?.integer, type.integerRange?.contains(number) == true else { return nil }
      return .integer(number)
    case .decimal: return try number(value).map { .decimal($0.decimal) }
    case .double, .float: return try number(value)?.double.map { .double($0) }
    case .undefined, .transformable, .objectID, .composite: return nil
    }
  }

  private mutating func data(_ value: KeyedArchive.Value) throws -> [UInt8]? {
    switch value {
    case .plain(.data(let bytes)): return bytes
    case .object(let object) where object.className == "NSData" || object.className == "NSMutableData":
      guard case .plain(.data(let bytes)) = try archive.value("NS.data", of: object) else { return nil }
      return bytes
    default: return nil
    }
  }

  mutating func number(_ value: KeyedArchive.Value) throws -> ArchivedNumber? {
    switch value {
    case .plain(.boolean(let flag)): return ArchivedNumber(decimal: flag ? 1 : 0, integer: flag ? 1 : 0, double: nil)
    case .plain(.integer(let number)):
      return ArchivedNumber(decimal: Decimal(number), integer: number, double: Double(number))
    case .plain(.real(let number)):
      guard number.isFinite, let decimal = Decimal(string: "\(number)") else { return nil }
      return ArchivedNumber(decimal: decimal, integer: Int64(exactly: number), double: number)
    case .object(let object) where object.className == "NSDecimalNumber":
      guard let decimal = try decimal(object) else { return nil }
      return ArchivedNumber(decimal: decimal, integer: Int64("\(decimal)"), double: Double("\(decimal)"))
    case .object(let object) where object.className == "NSDecimalNumberPlaceholder":
      // Apple's compiler archives this for a zero.
      return ArchivedNumber(decimal: 0, integer: 0, double: 0)
    default: return nil
    }
  }

  /// `NSDecimalNumber` holds eight 16-bit words of a whole number, low word first, times a power of ten.
  private mutating func decimal(_ object: KeyedArchive.Object) throws -> Decimal? {
    guard let exponent = try integer("NS.exponent", of: object), (-128...127).contains(exponent),
      let length = try integer("NS.length", of: object), (0...8).contains(length),
      case .plain(.data(let bytes)) = try archive.value("NS.mantissa", of: object), bytes.count == 16
    else { return nil }
    let isNegative = try flag("NS.negative", of: object)
    let isBigEndian = try integer("NS.mantissa.bo", of: object) == 2
    // No words and a sign is how "not a number" is stored.
    guard !(length == 0 && isNegative) else { return nil }
    var whole = Decimal(0)
    for word in (0..<length).reversed() {
      let (first, second) = (bytes[2 * word], bytes[2 * word + 1])
      whole = whole * 65536 + Decimal(isBigEndian ? Int(first) << 8 | Int(second) : Int(second) << 8 | Int(first))
    }
    guard whole.isFinite, whole != 0 else { return whole.isFinite ? 0 : nil }
    let decimal = Decimal(sign: isNegative ? .minus : .plus, exponent: exponent, significand: whole)
    return decimal.isFinite ? decimal : nil
  }
}
