import Foundation
import GodwitModel
import TestSupport
import Testing

/// Keyed archives of property-list classes, compared with those of Foundation's own archiver.
struct ArchivedValueTests {
  private static func list(_ objects: [PropertyListValue], root: UInt64 = 1) -> [UInt8] {
    PropertyListValue.dictionary([
      "$archiver": .string("NSKeyedArchiver"), "$version": .integer(100_000), "$objects": .array(objects),
      "$top": .dictionary(["root": .uid(root)]),
    ]).binaryPropertyList
  }

  private static func object(_ place: UInt64, _ fields: [String: PropertyListValue]) -> PropertyListValue {
    .dictionary(fields.merging(["$class": .uid(place)]) { a, _ in a })
  }

  private static func type(_ name: String) -> PropertyListValue {
    .dictionary(["$classname": .string(name), "$classes": .array([.string(name), .string("NSObject")])])
  }

  private static func problem(_ body: () throws -> Void) -> String? {
    do {
      try body()
      return nil
    } catch { return (error as? ArchivedValue.Malformed)?.problem ?? "\(error)" }
  }

  @Test func `what Foundation archives is read`() throws {
    let uuid = try #require(UUID(uuidString: "00112233-4455-6677-8899-AABBCCDDEEFF"))
    let object: NSDictionary = [
      "list": ["a", 1, 2.5] as NSArray, "date": Date(timeIntervalSinceReferenceDate: 0.5) as NSDate,
      "data": Data([1, 2, 255]) as NSData, "url": try #require(NSURL(string: "https://example.org/a?b=c")),
      "uuid": NSUUID(uuidString: uuid.uuidString) ?? NSUUID(), "set": NSSet(array: ["y", "x"]), "nothing": NSNull(),
      "inner": ["k": "v"] as NSDictionary,
    ]
    let bytes = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false)
    let value = try ArchivedValue(archive: [UInt8](bytes))
    #expect(
      value.json == """
        {"data":"AQL/","date":"2001-01-01T00:00:00.500000Z","inner":{"k":"v"},"list":["a",1,2.5],"nothing":null,\
        "set":["x","y"],"url":"https://example.org/a?b=c","uuid":"00112233-4455-6677-8899-AABBCCDDEEFF"}
        """)
    let text = try NSKeyedArchiver.archivedData(withRootObject: "Zoë" as NSString, requiringSecureCoding: false)
    #expect(try ArchivedValue(archive: [UInt8](text)) == .string("Zoë"))
  }

  @Test func `Foundation reads what is written`() throws {
    let json = #"{"list": [1, -2.5, "a", "$null", false, [], {}], "text": "Zoë 🦆", "number": 9007199254740993}"#
    let bytes = try ArchivedValue(json: json.utf8).archive
    let object = try NSKeyedUnarchiver.unarchivedObject(
      ofClasses: [NSDictionary.self, NSArray.self, NSString.self, NSNumber.self], from: Data(bytes))
    let found = try #require(object as? NSDictionary)
    // Whether a member is bridged depends on the system.
    func text(_ value: Any?) -> String { value.map { "\($0)" } ?? "none" }
    #expect(found.count == 3 && text(found["text"]) == "Zoë 🦆" && text(found["number"]) == "9007199254740993")
    let list = (found["list"] as? NSArray).map { $0.map { $0 } } ?? found["list"] as? [Any] ?? []
    #expect(list.count == 7)
    #expect(list.dropFirst().prefix(3).map(text) == ["-2.5", "a", "$null"])
  }

  @Test(arguments: 0..<200) func `random values come back from archive and JSON`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let value = Self.random(depth: 4, &random)
    #expect(try ArchivedValue(archive: value.archive) == value, "\(seed)")
    let json = value.json
    #expect(try ArchivedValue(json: json.utf8).json == json, "\(seed)")
    let parsed = try JSONSerialization.jsonObject(with: Data(json.utf8), options: [.fragmentsAllowed])
    #expect(JSONSerialization.isValidJSONObject([parsed]), "\(seed)")
    #expect(value.archive == value.archive)
  }

  private static func random(depth: Int, _ random: inout SeededGenerator) -> ArchivedValue {
    let texts = ["", "a", "$null", "é\n\"\\", "🦆", "\u{1}", "long text of some length"]
    switch Int.random(in: 0..<(depth > 0 ? 13 : 10), using: &random) {
    case 0: return .null
    case 1: return .boolean(.random(using: &random))
    case 2: return .integer(.random(in: .min ... .max, using: &random))
    case 3: return .integer(.random(in: -300...300, using: &random))
    case 4: return .real(Double.random(in: -1e9...1e9, using: &random) + 0.5)
    case 5: return .date(.random(in: -1e9...1e9, using: &random))
    case 6: return .data((0..<Int.random(in: 0...20, using: &random)).map { _ in .random(in: 0...255, using: &random) })
    case 7: return .url("https://example.org/\(Int.random(in: 0...9, using: &random))")
    case 8, 9: return .string(texts.randomElement(using: &random) ?? "")
    case 10:
      return .array((0..<Int.random(in: 0...4, using: &random)).map { _ in Self.random(depth: depth - 1, &random) })
    case 11: return .set((0..<Int.random(in: 0...4, using: &random)).map { .integer(Int64($0)) })
    default:
      var entries: [Text: ArchivedValue] = [:]
      for place in 0..<Int.random(in: 0...4, using: &random) {
        entries["k\(place)\(texts.randomElement(using: &random) ?? "")"] = Self.random(depth: depth - 1, &random)
      }
      return .dictionary(entries)
    }
  }

  // MARK: Bounds

  @Test func `cycles, repetition and depth end soon`() throws {
    let cycle = Self.list([.string("$null"), Self.object(2, ["NS.objects": .array([.uid(1)])]), Self.type("NSArray")])
    #expect(Self.problem { _ = try ArchivedValue(archive: cycle) } == "it is nested more than 64 deep")
    // Each array holds the next one ten times: ten to the power of 20 values.
    var objects: [PropertyListValue] = [.string("$null"), Self.type("NSArray")]
    for place in 2..<22 {
      objects.append(Self.object(1, ["NS.objects": .array(Array(repeating: .uid(UInt64(place + 1)), count: 10))]))
    }
    objects.append(.string("x"))
    let bomb = Self.list(objects, root: 2)
    #expect(Self.problem { _ = try ArchivedValue(archive: bomb) } == "it has more than 200000 values")
    // One long text, many times.
    let long = PropertyListValue.string(String(repeating: "x", count: 1 << 20))
    let repeated = Self.list([
      .string("$null"), Self.object(2, ["NS.objects": .array(Array(repeating: .uid(3), count: 100))]),
      Self.type("NSArray"), long,
    ])
    #expect(Self.problem { _ = try ArchivedValue(archive: repeated) } == "it has more than 16 MiB")
    for (text, problem) in [
      (String(repeating: "[", count: 65) + String(repeating: "]", count: 65), "it is nested more than 64 deep"),
      ("[" + String(repeating: "0,", count: 200_000) + "0]", "it has more than 200000 values"),
      ("\"" + String(repeating: "x", count: 16 << 20) + "\"", "it has more than 16 MiB"),
    ] { #expect(Self.problem { _ = try ArchivedValue(json: text.utf8) } == problem) }
    #expect(Self.problem { _ = try ArchivedValue(json: (String(repeating: "[", count: 100_000)).utf8) } != nil)
  }

  @Test func `other classes and other bytes are refused by name`() throws {
    let colour = Self.list([.string("$null"), Self.object(2, ["red": .real(1)]), Self.type("NSColor")])
    #expect(
      Self.problem { _ = try ArchivedValue(archive: colour) } == "the class 'NSColor' is none of a property list")
    #expect(Self.problem { _ = try ArchivedValue(archive: [1, 2, 255]) } != nil)
    #expect(
      Self.problem { _ = try ArchivedValue(archive: PropertyListValue.array([]).binaryPropertyList) }
        == "it is not a keyed archive")
    let numbered = Self.list([
      .string("$null"), Self.object(2, ["NS.keys": .array([.uid(3)]), "NS.objects": .array([.uid(3)])]),
      Self.type("NSDictionary"), .integer(1),
    ])
    #expect(
      Self.problem { _ = try ArchivedValue(archive: numbered) } == "a key of a dictionary is not a string")
  }

  @Test func `damaged archives never trap`() throws {
    let whole = try ArchivedValue(json: #"{"a": [1, "b", {"c": null}], "d": "long enough to need its length"}"#.utf8)
      .archive
    for count in 0..<whole.count { _ = try? ArchivedValue(archive: Array(whole.prefix(count))) }
    var random = SeededGenerator(seed: 7)
    for _ in 0..<3000 {
      var bytes = whole
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
      }
      _ = try? ArchivedValue(archive: bytes)
    }
  }

  @Test(arguments: [
    "", " ", "{", "[1", "[1,]", "{\"a\"}", "{\"a\":}", "{a: 1}", "01", "1.", "1e", "-", "+1", ".5", "nul", "tru", "'a'",
    "\"a", "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\u{1}\"", "[1] 2", "{\"a\":1,\"a\":2}",
    "1e999", "\u{FEFF}1",
  ]) func `what is not JSON is refused`(text: String) {
    #expect(Self.problem { _ = try ArchivedValue(json: text.utf8) } != nil)
  }

  @Test func `escapes and numbers of JSON are read`() throws {
    let text = #" [ "\" \\ \/ \b \f \n \r \t \u00e9 \ud83e\udd86" , -0, 12, 1e2, 9223372036854775808 ] "#
    #expect(
      try ArchivedValue(json: text.utf8)
        == .array([
          .string("\" \\ / \u{8} \u{C} \n \r \t é 🦆"), .integer(0), .integer(12), .real(100),
          .real(9_223_372_036_854_775_808),
        ]))
  }

  @Test func `texts that look alike, zeros of both signs and NaNs are values of their own`() throws {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    let numbers = [0, -0.0, .nan, Double(bitPattern: 0x7FF8_0000_0000_0001)]
    let value = ArchivedValue.dictionary([
      Text(composed): .array([.string(composed), .string(decomposed), .string(composed)]),
      Text(decomposed): .array(numbers.map { .real($0) }),
    ])
    guard case .dictionary(let read) = try ArchivedValue(archive: value.archive), read.count == 2,
      case .array(let texts)? = read[composed], case .array(let reals)? = read[decomposed]
    else { throw KeyedArchive.Malformed(problem: "no dictionary of two arrays") }
    let found = texts.map { if case .string(let text) = $0 { Text(text) } else { Text("") } }
    #expect(found == [composed, decomposed, composed].map { Text($0) })
    let bits: [UInt64] = reals.map { if case .real(let number) = $0 { number.bitPattern } else { 0 } }
    #expect(bits == numbers.map(\.bitPattern))
    let json = "{\"\(decomposed)\":1,\"\(composed)\":2}"
    #expect(Text(try ArchivedValue(archive: ArchivedValue(json: json.utf8).archive).json) == Text(json))
  }

  @Test func `property lists are compared by byte and bit, and keep keys that look alike`() throws {
    #expect(PropertyListValue.string("\u{E9}") != .string("e\u{301}") && PropertyListValue.real(0) != .real(-0.0))
    #expect(PropertyListValue.real(.nan) == .real(.nan) && PropertyListValue.date(0) != .date(-0.0))
    let list = PropertyListValue.dictionary([Text("\u{E9}"): .integer(1), Text("e\u{301}"): .integer(2)])
    #expect(try PropertyListValue(binary: list.binaryPropertyList) == list && list.dictionary?.count == 2)
    #expect(
      Set([
        SourceFetch(entityName: "P", predicateText: "s == '\u{E9}'"),
        SourceFetch(entityName: "P", predicateText: "s == 'e\u{301}'"),
      ]).count == 2)
  }

  @Test func `references of an archive are as short as Apple's`() {
    let expected: [(UInt64, [UInt8])] = [
      (0, [0x80, 0]), (255, [0x80, 255]), (256, [0x81, 1, 0]), (65_535, [0x81, 255, 255]),
      (65_536, [0x83, 0, 1, 0, 0]),
      (1 << 32, [0x87, 0, 0, 0, 1, 0, 0, 0, 0]),
    ]
    for (number, bytes) in expected { #expect(PropertyListValue.uid(number).leafBytes == bytes) }
  }
}
