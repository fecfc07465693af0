import Foundation
import GodwitModel
import GodwitStore

/// The result of a conversion, by Foundation and by hand: the oracle does not know the expressions.
enum ConversionOracle {
  enum Outcome: Equatable {
    case null
    /// Validation or the conversion stops the run.
    case fails
    case integer(Int64)
    case real(Double)
    /// A number of which a Float column is read as the nearest Float.
    case float(Float)
    case text(String)
    case bytes([UInt8])
    /// A keyed archive whose property list has an object.
    case archive(of: String)

    func isStored(as value: SQLValue) -> Bool {
      switch (self, value) {
      case (.null, .null): true
      case (.integer(let number), .integer(let found)): number == found
      // A whole number in a column of real numbers may be stored as an integer.
      case (.real(let number), .integer(let found)): number == Double(found)
      case (.real(let number), .real(let found)): number == found
      case (.float(let number), .integer(let found)): number == Float(found)
      case (.float(let number), .real(let found)): number == Float(found)
      case (.text(let text), .text(let found)): Array(text.utf8) == Array(found)
      case (.bytes(let bytes), .blob(let found)): bytes == Array(found)
      case (.archive(let object), .blob(let found)): ConversionOracle.objects(inArchive: Array(found)).contains(object)
      default: false
      }
    }
  }

  static let identifier = "5B5E7A0C-0000-4000-8000-00000000002A"
  private static var identifierBytes: [UInt8] {
    UUID(uuidString: identifier).map { withUnsafeBytes(of: $0.uuid) { Array($0) } } ?? []
  }
  /// Dates with their texts.
  private static let dates: [(seconds: Double, text: String)] = [
    (0, "2001-01-01T00:00:00Z"), (0.5, "2001-01-01T00:00:00.5Z"), (86_399, "2001-01-01T23:59:59Z"),
    (4_000_000_000, "2127-10-04T07:06:40Z"), (-31_622_400, "2000-01-01T00:00:00Z"),
    (789_000_000.25, "2026-01-01T22:40:00.25Z"),
  ]
  private static let texts = [
    "42", "-1.5", "x", "", "yes", "No", " 7", "2001-01-01T00:00:00.5Z", identifier, "70000", "1e3", "0x1F", "Zo\u{eb}",
    "-9223372036854775808", "-9.223372036854775808e18", "-32768", "-2147483648.0",
  ]

  static func samples(of type: AttributeType) throws -> [AttributeValue] {
    func integers(_ numbers: [Int64]) -> [AttributeValue] { numbers.map { .integer($0) } }
    switch type {
    case .integer16: return integers([0, 1, -7, 32_767])
    case .integer32: return integers([0, 1, 100_000, -2_147_483_648])
    case .integer64: return integers([0, -1, 5_000_000_000, 9_007_199_254_740_993, .min])
    case .decimal:
      return [
        .decimal(12), .decimal(Decimal(string: "0.1") ?? 0), .decimal(-3), .decimal(4_000_000_000), .decimal(-32_768),
        .decimal(Decimal(Int64.min)),
      ]
    case .double:
      return [
        .double(0), .double(2.5), .double(-1e10), .double(32_768), .double(-32_768), .double(-0x1p31), .double(-0x1p63),
      ]
    case .float: return [.double(0.5), .double(16_777_216), .double(-3), .double(-0x1p31), .double(-0x1p63)]
    case .boolean: return [.boolean(true), .boolean(false)]
    case .string: return texts.map { AttributeValue($0) }
    case .uri: return (["https://example.org/a?b=1"] + texts.filter { !$0.isEmpty }).map { .uri(Text($0)) }
    case .date: return dates.map { .date($0.seconds) }
    case .binary: return (texts.map { Array($0.utf8) } + [[0xFF, 1], identifierBytes]).map { .data($0) }
    case .uuid: return [.uuid(UUID(uuidString: identifier) ?? UUID())]
    case .transformable: return archived.map { .data($0.object.archive) }
    default: return []
    }
  }

  /// The objects of the archives of a transformable.
  private static let archived: [(value: AttributeValue, name: String, object: ArchivedValue)] = [
    (AttributeValue("Zo\u{eb}"), "NSString", .string("Zo\u{eb}")), (.integer(42), "NSNumber", .integer(42)),
    (.double(2.5), "NSNumber", .real(2.5)), (.boolean(true), "NSNumber", .boolean(true)),
    (.date(0.5), "NSDate", .date(0.5)), (.data([1, 2]), "NSData", .data([1, 2])),
    (.uri("https://example.org"), "NSURL", .url("https://example.org")),
    (.uuid(UUID(uuidString: identifier) ?? UUID()), "NSUUID", .uuid(UUID(uuidString: identifier) ?? UUID())),
  ]

  // MARK: What is made

  static func made(_ value: AttributeValue, _ source: AttributeType, to type: AttributeType) -> Outcome {
    if source == .transformable {
      guard type != .transformable, type != .binary, case .data(let bytes) = value else {
        if case .data(let bytes) = value { return .bytes(bytes) }
        return .null
      }
      return madeOfArchive(bytes, to: type)
    }
    switch value {
    case .null: return .null
    case .boolean(let truth): return number(Double(truth ? 1 : 0), exactly: truth ? 1 : 0, value, to: type)
    case .integer(let whole): return number(Double(whole), exactly: whole, value, to: type)
    case .double(let real): return number(real, exactly: Int64(exactly: real), value, to: type)
    case .decimal(let decimal):
      let real = NSDecimalNumber(decimal: decimal).doubleValue
      return number(real, exactly: Int64(exactly: real), value, to: type)
    case .string(let text), .uri(let text): return made(ofText: text.string, isURI: source == .uri, to: type)
    case .date(let seconds): return made(ofDate: seconds, to: type)
    case .data(let bytes): return made(ofBytes: bytes, to: type)
    case .uuid(let uuid):
      switch type {
      case .string: return .text(uuid.uuidString)
      case .transformable: return .archive(of: identifierBytes.description)
      default: return .bytes(identifierBytes)
      }
    }
  }

  private static func range(of type: AttributeType) -> ClosedRange<Int64>? {
    switch type {
    case .integer16: -32_768...32_767
    case .integer32: -2_147_483_648...2_147_483_647
    case .integer64: .min ... .max
    default: nil
    }
  }

  private static func number(
    _ real: Double, exactly whole: Int64?, _ value: AttributeValue, to type: AttributeType
  ) -> Outcome {
    if let range = range(of: type) {
      guard let whole, range.contains(whole) else { return .fails }
      return .integer(whole)
    }
    var text = whole.map { "\($0)" } ?? "\(real)"
    if case .decimal(let decimal) = value { text = "\(decimal)" }
    switch type {
    case .float: return .float(Float(real))
    case .double, .date, .decimal: return .real(real)
    case .boolean: return .integer(real == 0 ? 0 : 1)
    case .string: return .text(text)
    case .binary: return .bytes(Array(text.utf8))
    default: return .archive(of: whole.map { "\($0)" } ?? "\(real)")
    }
  }

  /// A number in decimal digits, as people write it; nil for any other text.
  private static func spelled(_ text: String) -> Double? {
    guard text.wholeMatch(of: /[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?/) != nil else { return nil }
    return Double(text)
  }

  private static func made(ofText text: String, isURI: Bool, to type: AttributeType) -> Outcome {
    switch type {
    case .string, .uri: return .text(text)
    case .binary: return .bytes(Array(text.utf8))
    case .boolean: return .integer(truth(of: text))
    case .date: return dates.first { $0.text == text }.map { .real($0.seconds) } ?? .fails
    case .uuid: return text == identifier ? .bytes(identifierBytes) : .fails
    case .transformable: return .archive(of: text)
    default:
      guard let real = spelled(text) else { return .null }
      return number(real, exactly: Int64(exactly: real), .double(real), to: type)
    }
  }

  /// As `NSString.boolValue` documents it: spaces, a sign and zeros are passed over, then Y, y, T, t or a digit from 1 to
  /// 9 is true.
  private static func truth(of text: String) -> Int64 {
    var rest = text.drop { $0 == " " }
    if let sign = rest.first, "+-".contains(sign) { rest = rest.dropFirst() }
    rest = rest.drop { $0 == "0" }
    return rest.first.map { "YyTt123456789".contains($0) } == true ? 1 : 0
  }

  private static func made(ofDate seconds: Double, to type: AttributeType) -> Outcome {
    let text = dates.first { $0.seconds == seconds }?.text ?? ""
    if let range = range(of: type) {
      let whole = Int64(seconds.rounded(.towardZero))
      return range.contains(whole) ? .integer(whole) : .fails
    }
    switch type {
    case .float: return .float(Float(seconds))
    case .string: return .text(text)
    case .binary: return .bytes(Array(text.utf8))
    case .transformable: return .archive(of: Int64(exactly: seconds).map { "\($0)" } ?? "\(seconds)")
    default: return .real(seconds)
    }
  }

  private static func made(ofBytes bytes: [UInt8], to type: AttributeType) -> Outcome {
    switch type {
    case .binary, .transformable: return .bytes(bytes)
    case .uuid: return bytes.count == 16 ? .bytes(bytes) : .fails
    default:
      guard let text = String(validating: bytes, as: UTF8.self) else { return .fails }
      return made(ofText: text, isURI: false, to: type)
    }
  }

  private static func madeOfArchive(_ bytes: [UInt8], to type: AttributeType) -> Outcome {
    guard
      let found = archived.first(where: { one in one.object.archive == bytes })
    else { return .fails }
    switch (found.name, type) {
    case ("NSString", .string), ("NSURL", .uri): return made(found.value, .string, to: .string)
    case ("NSNumber", .boolean), ("NSNumber", .decimal), ("NSNumber", .double), ("NSNumber", .float),
      ("NSNumber", .integer16), ("NSNumber", .integer32), ("NSNumber", .integer64):
      return made(found.value, .double, to: type)
    case ("NSDate", .date): return made(found.value, .date, to: .date)
    case ("NSUUID", .uuid): return .bytes(identifierBytes)
    default: return .fails
    }
  }

  /// The numbers, texts and bytes of an archive, as Foundation reads the property list.
  private static func objects(inArchive bytes: [UInt8]) -> [String] {
    guard let list = try? PropertyListSerialization.propertyList(from: Data(bytes), format: nil) as? [String: Any],
      let objects = list["$objects"] as? [Any]
    else { return [] }
    func text(_ value: Any) -> [String] {
      switch value {
      case let data as Data: [Array(data).description]
      case let text as String: [text]
      case let number as NSNumber:
        [Int64(exactly: number.doubleValue).map { "\($0)" } ?? "\(number.doubleValue)", "\(number.int64Value)"]
      case let map as [String: Any]: map.values.flatMap(text)
      default: []
      }
    }
    return objects.flatMap(text)
  }
}
