import Foundation
import GodwitModel
import TestSupport
import Testing

/// Dates as texts, new UUIDs and texts that are joined, against values made apart.
@Suite struct ExpressionFormatTests {
  private struct Host: ExpressionHost {
    func call(_ call: ExpressionCall) throws -> EvaluatedValue { .value(.null) }
    func fetch(_ request: SourceFetch, countOnly: Bool) throws -> EvaluatedValue { .value(.null) }
    func storeIdentifier() throws -> Text { "STORE" }
  }

  private func value(_ text: String, key: Int64 = 1, property: String = "target", host: Bool = false) throws
    -> AttributeValue
  {
    let model = try ExpressionWorld.model()
    let person = try #require(ExpressionWorld.object("Person", key, in: model))
    let expression = try ValueExpression(parsing: text)
    _ = try ExpressionChecker(model: model, entityName: "Person", role: .value).type(of: expression)
    var bindings = ExpressionWorld.bindings
    bindings.propertyName = property
    let evaluator = ExpressionEvaluator(
      now: 0, role: .value, mapping: bindings, host: host ? Host() : nil, bindsSource: true)
    guard case .value(let value) = try evaluator.compile(expression).evaluate(with: person) else { return .null }
    return value
  }

  private func complaint(_ text: String) -> String? {
    let error = #expect(throws: ExpressionError.self) { try value(text) }
    return error?.message
  }

  // MARK: UUIDs

  @Test func `a new UUID is the digest of store, object, mapping, property and salt`() throws {
    func text(_ text: String, _ key: Int64 = 1, host: Bool = false) throws -> AttributeValue {
      try value(text + ".UUIDString", key: key, host: host)
    }
    // Calculated with another implementation of SHA-256.
    #expect(try text("newUUID()") == .string("153A5ACC-16F0-4114-BA3D-E120A585E48C"))
    #expect(try text("newUUID($source.name)") == .string("0E40E947-8F73-4201-AC47-BCF4E74FAC39"))
    #expect(try text("newUUID(40.0)") == .string("45A83F54-8975-4E10-9B68-5CAC02E6EC2D"))
    #expect(try text("newUUID()", host: true) == .string("B68B3F88-65B3-4B95-B231-1F9E9E78739C"))
    #expect(try text("newUUID($source.nick)") == .string("153A5ACC-16F0-4114-BA3D-E120A585E48C"))
  }

  @Test func `one expression gives object after object what a new one gives`() throws {
    let model = try ExpressionWorld.model()
    for text in ["newUUID()", "newUUID('salt')"] {
      func compiled() throws -> CompiledExpression {
        ExpressionEvaluator(now: 0, role: .value, mapping: ExpressionWorld.bindings, host: Host(), bindsSource: true)
          .compile(try ValueExpression(parsing: text))
      }
      let one = try compiled()
      var seen: [String] = []
      for (entity, key) in [("Person", Int64(1)), ("Person", 2), ("Pet", 1), ("Person", 1), ("Pet", 2)] {
        let object = try #require(ExpressionWorld.object(entity, key, in: model))
        guard case .value(.uuid(let made)) = try one.evaluate(with: object),
          case .value(.uuid(let wanted)) = try compiled().evaluate(with: object)
        else { continue }
        #expect(made == wanted, "\(text) of \(entity) p\(key)")
        seen.append(made.uuidString)
      }
      #expect(seen.count == 5 && Set(seen).count == 4)
    }
  }

  @Test func `new UUIDs differ for each object, property and salt`() throws {
    var seen: Set<AttributeValue> = []
    for key in Int64(1)...3 {
      for property in ["a", "b"] {
        for text in ["newUUID()", "newUUID('')", "newUUID(0)", "newUUID(CAST(0, 'NSDate'))"] {
          #expect(seen.insert(try value(text, key: key, property: property)).inserted, "\(text) \(key) \(property)")
        }
      }
    }
  }

  // MARK: Dates

  /// Days before a year and a month, counted one by one.
  private static func days(to year: Int, _ month: Int) -> Int {
    func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }
    func length(_ years: Range<Int>) -> Int { years.reduce(0) { $0 + (isLeap($1) ? 366 : 365) } }
    let years = year >= 2001 ? length(2001..<year) : 0 - length(year..<2001)
    let lengths = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    return years + lengths.prefix(month - 1).reduce(0, +)
  }

  @Test func `texts and dates of patterns and of ISO 8601 are those of a calendar counted by hand`() throws {
    for seed in testSeeds(300) {
      var random = SeededGenerator(seed: seed)
      let (year, month, day) = (1583 + random.below(8000), 1 + random.below(12), 1 + random.below(28))
      let (hour, minute, second) = (random.below(24), random.below(60), random.below(60))
      let seconds = Double(
        (Self.days(to: year, month) + day - 1) * 86400 + hour * 3600 + minute * 60 + second)
      func padded(_ number: Int, _ width: Int) -> String {
        String(repeating: "0", count: width - String(number).count) + String(number)
      }
      let dayText = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
      let timeText = "\(padded(hour, 2)):\(padded(minute, 2)):\(padded(second, 2))"
      for (format, text) in [("yyyy-MM-dd HH:mm:ss", "\(dayText) \(timeText)"), ("iso8601", "\(dayText)T\(timeText)Z")]
      {
        #expect(
          try value("text:format:(CAST(\(seconds), 'NSDate'), '\(format)')") == .string(Text(text)), "seed \(seed)")
        #expect(try value("date:format:('\(text)', '\(format)')") == .date(seconds), "seed \(seed)")
      }
      let (hours, quarter) = (random.below(14), random.below(4) * 15)
      let east = Double(hours * 3600 + quarter * 60)
      let shifted = "\(dayText)T\(timeText).5+\(padded(hours, 2)):\(padded(quarter, 2))"
      #expect(try value("date:format:('\(shifted)', 'iso8601')") == .date(seconds + 0.5 - east), "seed \(seed)")
    }
  }

  @Test(arguments: [("Asia/Kolkata", -3e9), ("Europe/Berlin", -3.5e9), ("America/New_York", -4e9)])
  func `ISO 8601 with an offset of hours, minutes and seconds is read as it was written`(zone: String, date: Double)
    throws
  {
    let text = "text:format:timeZone:(CAST(\(date), 'NSDate'), 'iso8601', '\(zone)')"
    guard case .string(let written) = try value(text) else { return #expect(Bool(false), "no text") }
    #expect(written.description.split(separator: ":").count == 5, "\(written)")
    #expect(try value("date:format:(\(text), 'iso8601')") == .date(date))
  }

  @Test(arguments: [
    "2001-1-01", "2001-13-01", "2001-00-10", "2001-04-31", "1900-02-29", "2001-01-01T", "2001-01-01T24:00",
    "2001-01-01T10:60", "2001-01-01T10:00:60", "2001-01-01T10:00:00.", "2001-01-01T10:00:00Zx", "2001-01-01T10:00+1",
    "2001-01-01T10:00+25:00", " 2001-01-01", "2001-01-01 ", "", "-2001-01-01", "\u{662}001-01-01",
  ]) func `a text that is not ISO 8601 has no date`(text: String) throws {
    #expect(try value("date:format:else:('\(text)', 'iso8601', nil)") == .null)
    #expect(
      complaint("date:format:('\(text)', 'iso8601')")
        == "'date:format:' finds no date of the form 'iso8601' in the text: 'date:format:else:' takes a value for that, or nil"
    )
  }

  @Test func `an hour that is twice is the earlier one, and one that is not there follows`() throws {
    let zone = "'Europe/Berlin'"
    #expect(try value("date:format:timeZone:('2001-10-28T02:30', 'iso8601', \(zone))") == .date(25_921_800))
    #expect(
      try value(
        "text:format:timeZone:(date:format:timeZone:('2001-03-25T02:30', 'iso8601', \(zone)), 'HH:mm', \(zone))")
        == .string("03:30"))
  }

  @Test(arguments: [
    (
      "text:format:($source.born, 'nope')",
      "'text:format:': 'n' means nothing in a pattern of dates: put text between single quotes"
    ),
    ("text:format:($source.born, \"yyyy 'at\")", "'text:format:': a quoted text of the pattern has no end"),
    ("text:format:($source.born, '')", "'text:format:': a pattern has from 1 to 256 bytes"),
    (
      "text:format:timeZone:($source.born, 'yyyy', 'Europe/Berln')",
      "'text:format:timeZone:': no time zone 'Europe/Berln' (did you mean 'Europe/Berlin'?)"
    ),
    ("text:format:($source.name, 'yyyy')", "'text:format:' needs a date, found a string"),
    ("date:format:($source.born, 'yyyy')", "'date:format:' needs a string, found a date"),
    (
      "text:format:($source.born, $source.name)",
      "'text:format:': 'o' means nothing in a pattern of dates: put text between single quotes"
    ),
    ("text:format:(CAST(1e300, 'NSDate'), 'yyyy')", "'text:format:' has no text for a date that far from any calendar"),
    (
      "uuid:('x')",
      "'uuid:' finds no UUID in the text: FUNCTION(CAST(\"NSUUID\", \"Class\"), \"initWithUUIDString:\", coalesce:(…, \"\")) gives nil then"
    ),
    ("uuid:($source.photo)", "'uuid:' needs 16 bytes, found 2"),
    ("uuid:($source.age)", "'uuid:' needs a string, data or a UUID, found a number"),
    ("coalesce:($source.name, $source.age)", "the arguments of 'coalesce:' differ: a string and a number"),
    ("coalesce:($source.pets)", "'coalesce:' takes single values, found a collection of 'Pet' objects"),
    ("join:with:($source.name, ',')", "'join:with:' needs a list such as {$source.a, $source.b}, found a string"),
    (
      "join:with:($source.pets, ',')",
      "only values can be joined, found a collection of 'Pet' objects: name an attribute of the objects"
    ),
    ("join:with:({$source.born}, ',')", "only strings, numbers, UUIDs and URIs can be joined, found a date"),
    (
      "TERNARY($source.age, 1, 2)",
      "TERNARY needs a condition or a Boolean, found a number: compare it, as in '$source.age != 0'"
    ),
    (
      "TERNARY($source.name, 1, 2)",
      "TERNARY needs a condition or a Boolean, found a string: compare it, as in '$source.name != nil'"
    ),
  ]) func `what cannot work says what does`(text: String, message: String) { #expect(complaint(text) == message) }

  @Test(arguments: [
    ("$source.name + ' ' + $source.nick", "join:with:({$source.name, $source.nick}, \" \")", "Zoë"),
    ("$source.name + '-' + 'x' + '-' + 'y'", "join:with:({$source.name, \"x\", \"y\"}, \"-\")", "Zoë-x-y"),
    ("'ID-' + $source.age", "join:with:({\"ID-\", $source.age}, \"\")", "ID-40"),
    ("$source.name + ($source.name + 'x')", "join:with:({$source.name, $source.name, \"x\"}, \"\")", "ZoëZoëx"),
  ]) func `a sum of texts shows the expression that works`(text: String, other: String, result: String) throws {
    #expect(complaint(text) == "'+' adds numbers, and these are texts: write '\(other)'")
    #expect(try value(other) == AttributeValue(result))
  }

  @Test func `formats work on several threads at once`() async throws {
    let expected = try value("text:format:($source.born, 'EEE yyyy')")
    try await withThrowingTaskGroup(of: AttributeValue.self) { group in
      for number in 0..<64 {
        group.addTask {
          try value("text:format:($source.born, 'EEE yyyy\(String(repeating: " ", count: number % 70))')")
        }
      }
      for try await found in group {
        let text = found.string?.split(separator: " ").joined(separator: " ")
        #expect(text == expected.string)
      }
    }
  }
}
