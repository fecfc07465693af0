import Foundation
import GodwitModel
import TestSupport
import Testing

/// `encode:` and `decode:path:as:`, against Foundation's coders of a struct.
@Suite struct EncodedFunctionTests {
  struct Spot: Codable, Equatable {
    var lat: Double?
    var label: String?
  }

  /// The property of an application that is marked `.codable`.
  struct Place: Codable, Equatable {
    var name: String?
    var count: Int64?
    var size: Double?
    var isOpen: Bool?
    var when: Date?
    var id: UUID?
    var bytes: Data?
    var site: URL?
    var price: Decimal?
    var at: Spot?

    /// The parts with their classes, and the attributes that hold them.
    static let parts: [(path: String, className: String, type: AttributeType)] = [
      ("name", "NSString", .string), ("count", "NSNumber", .integer64), ("size", "NSNumber", .double),
      ("isOpen", "NSNumber", .boolean), ("when", "NSDate", .date), ("id", "NSUUID", .uuid),
      ("bytes", "NSData", .binary), ("site", "NSURL", .uri), ("price", "NSNumber", .decimal),
      ("at.lat", "NSNumber", .double), ("at.label", "NSString", .string),
    ]

    var values: [AttributeValue] {
      [
        name.map { AttributeValue($0) }, count.map { .integer($0) }, size.map { .double($0) },
        isOpen.map { .boolean($0) }, when.map { .date($0.timeIntervalSinceReferenceDate) }, id.map { .uuid($0) },
        bytes.map { .data([UInt8]($0)) }, site.map { .uri(Text($0.absoluteString)) }, price.map { .decimal($0) },
        at?.lat.map { .double($0) }, at?.label.map { AttributeValue($0) },
      ].map { $0 ?? .null }
    }

    init(_ random: inout SeededGenerator) {
      func some<Value>(_ value: Value) -> Value? { Int.random(in: 0..<4, using: &random) == 0 ? nil : value }
      func number() -> Double {
        switch Int.random(in: 0..<4, using: &random) {
        case 0: Double(Int.random(in: -1000...1000, using: &random)) / 8
        case 1: Double.random(in: -1e9...1e9, using: &random)
        case 2: Double(sign: .plus, exponent: Int.random(in: -1000...1000, using: &random), significand: 1.7)
        default: Double.random(in: 0...1, using: &random)
        }
      }
      func text() -> String { EscapedText.random(&random) }
      name = some(text())
      count = some(
        [.max, .min, 0, 1 << 53 + 1, .random(in: -9...9, using: &random)].randomElement(using: &random) ?? 0)
      size = some(number())
      isOpen = some(Bool.random(using: &random))
      when = some(Date(timeIntervalSinceReferenceDate: Double.random(in: -1e9...1e9, using: &random)))
      let high = UInt64.random(in: 0 ... .max, using: &random)
      let digits = String(high, radix: 16)
      let padded = String(repeating: "0", count: 16 - digits.count) + digits
      id = some(UUID(uuidString: "00112233-4455-6677-\(padded.prefix(4))-\(padded.suffix(12))"))?.flatMap { $0 }
      bytes = some(Data((0..<Int.random(in: 0..<9, using: &random)).map { _ in .random(in: 0...255, using: &random) }))
      site = some(URL(string: "https://example.org/\(high)?q=%20#a"))?.flatMap { $0 }
      // More digits than a floating point number has.
      price = some(Decimal(string: "\(Int.random(in: -9...9, using: &random))\(high).\(high)1"))?.flatMap { $0 }
      at = some(Spot(lat: some(number()), label: some(text())))
    }
  }

  private static let model = Result {
    let attributes = Place.parts.enumerated().map { AttributeDescription(name: "a\($0)", type: $1.type) }
    let more = [
      AttributeDescription(name: "details", type: .binary), AttributeDescription(name: "shape", type: .transformable),
    ]
    return try ManagedObjectModel(
      name: "M", entities: [EntityDescription(name: "Place", attributes: attributes + more)])
  }

  private func value(_ text: String, _ values: [AttributeValue] = [], details: [UInt8] = []) throws -> AttributeValue {
    var all = Dictionary(uniqueKeysWithValues: values.enumerated().map { ("a\($0)", EvaluatedValue.value($1)) })
    all["details"] = .value(.data(details))
    let object = ExpressionFixture.Object("Place", 1, all)
    let expression = try ValueExpression(parsing: text)
    _ = try ExpressionChecker(model: Self.model.get(), entityName: "Place", role: .value).type(of: expression)
    let evaluator = ExpressionEvaluator(bindings: ["source": .object(object)], now: 0, role: .value)
    guard case .value(let value) = try evaluator.compile(expression).evaluate(with: object) else { return .null }
    return value
  }

  private func decoded(_ data: Data) throws -> [AttributeValue] {
    try Place.parts.map { part in
      try value("decode:path:as:($source.details, '\(part.path)', '\(part.className)')", details: [UInt8](data))
    }
  }

  /// As an attribute of the part's type keeps it.
  private func stored(_ values: [AttributeValue]) -> [AttributeValue] {
    zip(values, Place.parts).map { value, part in
      switch (value, part.type) {
      case (.integer(let number), .double): .double(Double(number))
      case (.integer(let number), .decimal): .decimal(Decimal(number))
      case (.double(let number), .decimal): .decimal(Decimal(string: "\(number)") ?? .nan)
      default: value
      }
    }
  }

  @Test func `a number that is not finite is an error, and a place in a list has one spelling`() throws {
    let list: [String: Any] = ["n": Double.nan, "i": Double.infinity, "tags": ["a", "b"]]
    let bytes = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
    func part(_ path: String, _ name: String) throws -> AttributeValue {
      try value("decode:path:as:($source.details, '\(path)', '\(name)')", details: [UInt8](bytes))
    }
    for path in ["n", "i"] {
      for name in ["NSNumber", "NSDate"] { #expect(throws: ExpressionError.self) { try part(path, name) } }
    }
    #expect(try part("tags.1", "NSString") == .init("b"))
    for path in ["tags.01", "tags.+1", "tags.-0"] { #expect(try part(path, "NSString") == .null) }
  }

  @Test(arguments: [PropertyListSerialization.PropertyListFormat.binary, .xml])
  func `a whole number above 64 signed bits is exact, and the values beside it are read`(
    format: PropertyListSerialization.PropertyListFormat
  ) throws {
    let list: [String: Any] = ["big": UInt64.max, "half": UInt64(1) << 63, "low": Int64.min, "name": "x"]
    let data = try PropertyListSerialization.data(fromPropertyList: list, format: format, options: 0)
    let bytes = [UInt8](data)
    func part(_ path: String, _ name: String = "NSNumber") throws -> AttributeValue {
      try value("decode:path:as:($source.details, '\(path)', '\(name)')", details: bytes)
    }
    #expect(try part("name", "NSString") == .init("x"))
    #expect(try part("big") == .decimal(Decimal(UInt64.max)) && part("half") == .decimal(Decimal(UInt64(1) << 63)))
    #expect(try part("low") == .integer(.min))
    let json =
      #"{"@plist":{"big":18446744073709551615,"half":9223372036854775808,"low":-9223372036854775808,"name":"x"}}"#
    #expect(EncodedValue(bytes)?.markedJSON == json)
    let read = try PropertyListFile.read(bytes, file: "x")
    let again =
      try PropertyListSerialization.propertyList(
        from: Data(read.binaryPropertyList), format: nil) as? [String: Any]
    func text(_ key: String) -> String { again?[key].map { "\($0)" } ?? "none" }
    #expect(text("big") == "18446744073709551615" && text("low") == "-9223372036854775808")
    #expect(try PropertyListFile.read(read.binaryPropertyList, file: "x") == read)
  }

  @Test func `a byte-order mark before JSON or a property list is passed over`() throws {
    let list = try PropertyListSerialization.data(fromPropertyList: ["a": "x"], format: .xml, options: 0)
    for bytes in [Array("{\"a\":\"x\"}".utf8), [UInt8](list)] {
      let found = try value("decode:path:as:($source.details, 'a', 'NSString')", details: [0xEF, 0xBB, 0xBF] + bytes)
      #expect(found == .init("x"))
    }
  }

  @Test(arguments: testSeeds(60)) func `Foundation's decoder reads what leaves become`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let place = Place(&random)
    let arguments = Place.parts.enumerated().map { "'\($1.path)', $source.a\($0)" }.joined(separator: ", ")
    let made = try value("encode:(\(arguments))", place.values)
    guard case .data(let bytes) = made else {
      #expect(made == .null && place.values.allSatisfy(\.isNull), "seed \(seed)")
      return
    }
    _ = try JSONSerialization.jsonObject(with: Data(bytes))
    var expected = place
    if place.at == Spot() { expected.at = nil }
    #expect(try JSONDecoder().decode(Place.self, from: Data(bytes)) == expected, "seed \(seed)")
    #expect(try stored(decoded(Data(bytes))) == place.values, "seed \(seed)")
  }

  @Test(arguments: testSeeds(60)) func `what Foundation's encoders write becomes leaves`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var place = Place(&random)
    #expect(try stored(decoded(JSONEncoder().encode(place))) == place.values, "seed \(seed)")
    // Property lists hold a decimal and a URL as dictionaries.
    (place.price, place.site) = (nil, nil)
    for format in [PropertyListSerialization.PropertyListFormat.binary, .xml] {
      // XML has no control characters, and whole seconds.
      if format == .xml {
        place.name = place.name.map { _ in "Zoë & <co>" }
        place.at?.label = nil
        place.when = place.when.map {
          Date(timeIntervalSinceReferenceDate: $0.timeIntervalSinceReferenceDate.rounded())
        }
      }
      let encoder = PropertyListEncoder()
      encoder.outputFormat = format
      #expect(try stored(decoded(encoder.encode(place))) == place.values, "seed \(seed)")
    }
  }

  @Test(arguments: [
    ("{\"a\":1", "", "it is not JSON"), ("{\"a\":1}", "NSString", "'a': expected a part of 'NSString', found a number"),
    ("{\"a\":\"x\"}", "NSUUID", "'a': expected a part of 'NSUUID', found a string of another form"),
    ("{\"a\":\"?\"}", "NSData", "found a string of another form"), ("{\"a\":[]}", "NSNumber", "found an array"),
    ("{\"a\":true}", "NSDate", "found a number"), ("{\"a\":1e999}", "NSNumber", "the number '1e999' is too large"),
    ("{\"a\":NaN}", "NSNumber", "it is not JSON"), ("<plist><dict/>", "", "neither JSON nor a property list"),
    ("bplist00x", "", "it is not a binary property list"), ("", "", "found its end"),
  ]) func `bytes and parts of another form are errors`(text: String, name: String, message: String) throws {
    let error = #expect(throws: ExpressionError.self) {
      try value(
        "decode:path:as:($source.details, 'a', '\(name.isEmpty ? "NSString" : name)')", details: Array(text.utf8))
    }
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "none")")
  }

  @Test func `numbers that are not finite are no JSON`() throws {
    for number in [Double.infinity, -.infinity] {
      let error = #expect(throws: ExpressionError.self) {
        try value("encode:('n', $source.a2)", [.null, .null, .double(number)])
      }
      #expect(error?.message == "'n': JSON has no number that is not finite")
    }
  }

  @Test(arguments: [
    ("encode:('a', 1, 'a', 2)", "'encode:': the name 'a' comes twice"),
    ("encode:('a.b', 1, 'a', 2)", "'encode:': the name 'a' is also the beginning of another"),
    ("encode:('a', 1, 'b')", "a name and a value for each part"), ("encode:('a..b', 1)", "needs the name of a part"),
    ("encode:('', 1)", "needs the name of a part"), ("encode:($source.a0, 1)", "needs the name of a part"),
    ("encode:('a', $source)", "takes single values"),
    ("encode:('a', $source.shape)", "write 'unarchive:($source.shape)' for its JSON as a text"),
    ("decode:path:as:($source.details, 'a.', 'NSString')", "cannot read the path 'a.'"),
    ("decode:path:as:($source.details, 'a', 'NSArray')", "knows no class 'NSArray'"),
    ("decode:path:as:($source.details, $source.a0, 'NSString')", "both in quotes"),
    ("decode:path:as:($source.a1, 'a', 'NSString')", "needs data or a string, found a number"),
  ]) func `what can never work is found before a run`(text: String, message: String) throws {
    let error = #expect(throws: ExpressionError.self) { try value(text) }
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "none")")
  }
}
