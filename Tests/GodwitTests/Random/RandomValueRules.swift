import Foundation
import GodwitModel
import GodwitStore
import TestSupport

/// The values of a source object from before they were stored.
struct RandomRow: Sendable {
  var key: Int64
  var i: Int64?
  var m: Decimal?
  var d: Double?
  var s: String?
  var t: Double?
  var b: Bool?
  var u: UUID?
  /// The parts of the JSON in `x`; without `x` if both are nil.
  var part: (number: Int64?, name: String?) = (nil, nil)
  /// The content of the column for a true boolean.
  var truth: Int64 = 1
  /// A whole number in a column of floating point.
  var w = 0.0

  var x: [UInt8]? {
    guard part.number != nil || part.name != nil else { return nil }
    let place = part.name.map { "\"at\": {\"name\": \"\($0)\"}" }
    return Array("{\([part.number.map { "\"n\": \($0)" }, place].compactMap(\.self).joined(separator: ", "))}".utf8)
  }
}

/// An expression of a mapping, with its value by a reference that shares no code with Godwit.
struct RandomRule: Sendable {
  var text: String
  var value: @Sendable (RandomRow) -> SQLValue

  init(_ text: String, _ value: @escaping @Sendable (RandomRow) -> SQLValue) { (self.text, self.value) = (text, value) }

  /// The value of `now()` in the run. A proof must find it by itself.
  static let moment = 712_345_678.123456

  static let types: [String: AttributeType] = [
    "i": .integer64, "m": .decimal, "d": .double, "s": .string, "t": .date, "b": .boolean, "u": .uuid, "x": .binary,
  ]

  // MARK: Values of columns

  private static func number(_ value: Decimal?) -> SQLValue {
    guard let value else { return .null }
    return Int64(value.description).map { .integer($0) } ?? .real(Double(value.description) ?? .nan)
  }
  private static func text(_ value: String?) -> SQLValue { value.map { .text(Array($0.utf8)) } ?? .null }
  private static func text(bytes: [UInt8]?) -> SQLValue { bytes.map { .text($0) } ?? .null }
  private static func integer(_ value: Int64?) -> SQLValue { value.map { .integer($0) } ?? .null }
  private static func real(_ value: Double?) -> SQLValue { value.map { .real($0) } ?? .null }
  private static func truth(_ value: Bool?) -> SQLValue { value.map { .integer($0 ? 1 : 0) } ?? .null }
  private static func data(_ value: [UInt8]?) -> SQLValue { value.map { .blob($0) } ?? .null }
  private static func uuid(_ value: UUID?) -> SQLValue {
    value.map { id in .blob(withUnsafeBytes(of: id.uuid) { Array($0) }) } ?? .null
  }

  private static let tenth = Decimal(1) / 10

  /// The bytes between each `a`.
  private static func pieces(_ text: String) -> [[UInt8]] {
    var pieces: [[UInt8]] = [[]]
    for byte in text.utf8 {
      if byte == 0x61 { pieces.append([]) } else { pieces[pieces.count - 1].append(byte) }
    }
    return pieces
  }

  /// The day and time of seconds since 2001, by counting days.
  private static func clock(_ seconds: Double, _ hours: Double = 0) -> (day: String, time: String) {
    let whole = Int((seconds + hours * 3600).rounded(.down))
    var (days, rest) = (whole / 86400, whole % 86400)
    if rest < 0 { (days, rest) = (days - 1, rest + 86400) }
    var year = 2001
    func isLeap(_ year: Int) -> Bool {
      year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
    }
    while days >= (isLeap(year) ? 366 : 365) {
      days -= isLeap(year) ? 366 : 365
      year += 1
    }
    var month = 0
    let lengths = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    while days >= lengths[month] {
      days -= lengths[month]
      month += 1
    }
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return (
      "\(year)-\(two(month + 1))-\(two(days + 1))", "\(two(rest / 3600)):\(two(rest / 60 % 60)):\(two(rest % 60))"
    )
  }

  // MARK: Rules

  /// By attribute of the destination. The first rule of each copies it.
  static let all: [String: [RandomRule]] = [
    "i": integers, "m": decimals, "d": doubles, "s": plainTexts + madeTexts, "t": dates, "b": truths, "u": identifiers,
    "x": bytes,
  ]

  private static let integers = [
    RandomRule("$source.i") { integer($0.i) },
    RandomRule("$source.b") { row in integer(row.b.map { $0 ? 1 : 0 }) },
    RandomRule("$source.w") { .integer(Int64($0.w)) },
    RandomRule("TERNARY($source.i > 0, $source.i - 1, 7)") { row in
      row.i.map { $0 > 0 ? .integer($0 - 1) : .integer(7) } ?? .integer(7)
    },
    RandomRule("TERNARY($source.i > 0, $source.i / 3, nil)") { row in integer(row.i.flatMap { $0 > 0 ? $0 / 3 : nil })
    },
    RandomRule("FUNCTION($source.s, 'length')") { row in integer(row.s.map { Int64($0.utf16.count) }) },
    RandomRule("FUNCTION($source.i, 'compare:', 4)") { row in integer(row.i.map { $0 < 4 ? -1 : $0 == 4 ? 0 : 1 }) },
    RandomRule("coalesce:($source.i, $source.x.length, 7)") { row in
      .integer(row.i ?? row.x.map { Int64($0.count) } ?? 7)
    },
    RandomRule("decode:path:as:($source.x, 'n', 'NSNumber')") { integer($0.part.number) },
    RandomRule("decode:path:as:(encode:('a.i', $source.i, 's', $source.s), 'a.i', 'NSNumber')") { integer($0.i) },
    RandomRule("FUNCTION({$source.i, 3, 5}, 'objectAtIndex:', 1)") { _ in .integer(3) },
    RandomRule("FUNCTION(FUNCTION($source.s, 'componentsSeparatedByString:', 'a'), 'count')") { row in
      integer(row.s.map { Int64(pieces($0).count) })
    },
  ]

  private static let decimals = [
    RandomRule("$source.m") { number($0.m) },
    RandomRule("$source.m + 0.1") { row in number(row.m.map { $0 + tenth }) },
    RandomRule("$source.m * $source.m - 1") { row in number(row.m.map { $0 * $0 - 1 }) },
    RandomRule("TERNARY($source.m > 57.13, $source.m, nil)") { row in
      number(row.m.flatMap { $0 > Decimal(5713) / 100 ? $0 : nil })
    },
    RandomRule("-$source.m / 4") { row in number(row.m.map { -$0 / 4 }) },
    RandomRule("FUNCTION($source.m, 'decimalNumberByAdding:', coalesce:($source.m, 1))") { row in
      number(row.m.map { $0 + $0 })
    },
    RandomRule("FUNCTION($source.m, 'decimalNumberByMultiplyingByPowerOf10:', -1)") { row in
      number(row.m.map { $0 * tenth })
    },
    RandomRule("FUNCTION(coalesce:($source.m, $source.i), 'decimalNumberBySubtracting:', 2)") { row in
      number((row.m ?? row.i.map { Decimal($0) }).map { $0 - 2 })
    },
  ]

  private static let doubles = [
    RandomRule("$source.d") { real($0.d) },
    RandomRule("$source.b") { row in real(row.b.map { $0 ? 1 : 0 }) },
    RandomRule("$source.d / 3") { row in real(row.d.map { $0 / 3 }) },
    RandomRule("$source.d + $source.i") { row in
      guard let d = row.d, let i = row.i else { return .null }
      return .real(d + Double(i))
    },
    RandomRule("FUNCTION($source.t, 'timeIntervalSinceDate:', now())") { row in real(row.t.map { $0 - moment }) },
    RandomRule("$source.t.timeIntervalSince1970") { row in real(row.t.map { $0 + 978_307_200 }) },
    RandomRule("coalesce:($source.d, $source.t.timeIntervalSinceReferenceDate)") { real($0.d ?? $0.t) },
  ]

  private static let plainTexts = [
    RandomRule("$source.s") { text($0.s) },
    RandomRule("TERNARY($source.s BEGINSWITH 'a', 'A', $source.s)") { row in
      text(row.s.map { $0.utf8.first == UInt8(ascii: "a") ? "A" : $0 })
    },
    RandomRule("FUNCTION($source.s, 'stringByAppendingString:', '!')") { row in text(row.s.map { $0 + "!" }) },
    RandomRule("FUNCTION(join:with:({'ab', $source.s}, ''), 'substringFromIndex:', 1)") { row in
      text(bytes: [0x62] + Array((row.s ?? "").utf8))
    },
    RandomRule("FUNCTION(join:with:({'ab', $source.s}, ''), 'substringToIndex:', 2)") { _ in text("ab") },
    RandomRule("FUNCTION(FUNCTION($source.s, 'componentsSeparatedByString:', 'a'), 'lastObject')") { row in
      text(bytes: row.s.map { pieces($0).last ?? [] })
    },
    RandomRule(
      "FUNCTION(FUNCTION($source.s, 'componentsSeparatedByString:', 'a'), 'componentsJoinedByString:', '+')"
    ) { row in
      text(bytes: row.s.map { Array(pieces($0).joined(separator: [0x2B])) })
    },
    RandomRule("FUNCTION($source.s, 'stringByReplacingOccurrencesOfString:withString:', 'a', 'bb')") { row in
      text(bytes: row.s.map { Array(pieces($0).joined(separator: [0x62, 0x62])) })
    },
  ]

  private static let madeTexts = [
    RandomRule("coalesce:($source.s, CAST($source.i, 'NSString'), 'none')") { row in
      text(row.s ?? row.i.map { "\($0)" } ?? "none")
    },
    RandomRule("join:with:({$source.u.UUIDString, $source.i, $source.s}, '-')") { row in
      text([row.u?.uuidString, row.i.map { "\($0)" }, row.s].compactMap(\.self).joined(separator: "-"))
    },
    RandomRule("text:format:($source.t, 'yyyy-MM-dd HH:mm:ss')") { row in
      text(row.t.map { clock($0) }.map { "\($0.day) \($0.time)" })
    },
    RandomRule("text:format:timeZone:($source.t, 'iso8601', 'Asia/Tokyo')") { row in
      text(row.t.map { clock($0, 9).day + "T" + clock($0, 9).time + ($0 == 0.5 ? ".5" : "") + "+09:00" })
    },
    RandomRule("decode:path:as:($source.x, 'at.name', 'NSString')") { text($0.part.name) },
    RandomRule("CAST(encode:('k', $source.i, 'a.t', $source.b), 'NSString')") { row in
      let parts = [row.b.map { "\"a\":{\"t\":\($0)}" }, row.i.map { "\"k\":\($0)" }].compactMap(\.self)
      return text(parts.isEmpty ? nil : "{\(parts.joined(separator: ","))}")
    },
    RandomRule("FUNCTION($source.x, 'base64EncodedStringWithOptions:', 0)") { row in
      text(row.x.map { Data($0).base64EncodedString() })
    },
    RandomRule(
      "FUNCTION(CAST('NSURL', 'Class'), 'URLWithString:', join:with:({'https://a.b', $source.i}, '/p')).path"
    ) { row in
      text(row.i.map { "/p\($0)" } ?? "")
    },
    RandomRule("CAST($source.x, 'NSString')") { text(bytes: $0.x) },
  ]

  private static let dates = [
    RandomRule("$source.t") { real($0.t) },
    RandomRule("$source.t + 86400") { row in real(row.t.map { $0 + 86400 }) },
    RandomRule("now() + 1") { _ in .real(moment + 1) },
    RandomRule("FUNCTION($source.t, 'dateByAddingTimeInterval:', 60)") { row in real(row.t.map { $0 + 60 }) },
    RandomRule("FUNCTION($source.t, 'laterDate:', CAST(50, 'NSDate'))") { row in real(row.t.map { max($0, 50) }) },
    RandomRule("FUNCTION(now(), 'earlierDate:', coalesce:($source.t, now()))") { row in
      .real(min(moment, row.t ?? moment))
    },
    RandomRule(
      "date:format:(text:format:($source.t, 'dd.MM.yyyy HH:mm:ss'), 'dd.MM.yyyy HH:mm:ss')"
    ) { row in
      real(row.t.map { $0.rounded(.down) })
    },
    RandomRule("date:format:else:($source.s, 'yyyy-MM-dd', $source.t)") { row in row.s == nil ? .null : real(row.t) },
    RandomRule("FUNCTION(CAST('NSDate', 'Class'), 'dateWithTimeIntervalSinceReferenceDate:', $source.w)") { row in
      real(row.w)
    },
    RandomRule("FUNCTION(CAST('NSDate', 'Class'), 'dateWithTimeIntervalSince1970:', coalesce:($source.i, 0))") { row in
      real(Double(row.i ?? 0) - 978_307_200)
    },
  ]

  private static let truths = [
    RandomRule("$source.b") { truth($0.b) },
    RandomRule("TERNARY($source.b == YES, NO, YES)") { row in .integer(row.b == true ? 0 : 1) },
    RandomRule("TERNARY($source.b, NO, YES)") { row in .integer(row.b == true ? 0 : 1) },
    RandomRule("FUNCTION($source.s, 'hasPrefix:', 'a')") { row in
      truth(row.s.map { $0.utf8.first == UInt8(ascii: "a") })
    },
    RandomRule("FUNCTION($source.s, 'containsString:', 'a')") { row in truth(row.s.map { $0.utf8.contains(0x61) }) },
    RandomRule("FUNCTION($source.t, 'isEqualToDate:', CAST(99, 'NSDate'))") { row in truth(row.t.map { $0 == 99 }) },
  ]

  private static let identifiers = [
    RandomRule("$source.u") { uuid($0.u) },
    RandomRule("uuid:($source.u.UUIDString)") { uuid($0.u) },
    RandomRule("uuid:(CAST($source.u, 'NSData'))") { uuid($0.u) },
    RandomRule(
      "FUNCTION(CAST('NSUUID', 'Class'), 'initWithUUIDString:', coalesce:(CAST($source.u, 'NSString'), $source.s, ''))"
    ) { uuid($0.u) },
    RandomRule("coalesce:($source.u, uuid:('00000000-0000-0000-0000-000000000007'))") { row in
      uuid(row.u ?? UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7)))
    },
  ]

  private static let bytes = [
    RandomRule("$source.x") { data($0.x) },
    RandomRule("FUNCTION($source.s, 'dataUsingEncoding:', 4)") { row in data(row.s.map { Array($0.utf8) }) },
    RandomRule("encode:('i', $source.i)") { row in data(row.i.map { Array("{\"i\":\($0)}".utf8) }) },
    RandomRule(
      "FUNCTION(CAST('NSData', 'Class'), 'initWithBase64EncodedString:options:', coalesce:(FUNCTION($source.x, 'base64EncodedStringWithOptions:', 0), ''), 0)"
    ) { .blob($0.x ?? []) },
    RandomRule("coalesce:($source.x, CAST($source.u, 'NSData'))") { row in
      row.x.map { .blob($0) } ?? uuid(row.u)
    },
  ]

  static let filters: [(text: String?, takes: @Sendable (RandomRow) -> Bool)] = [
    (nil, { _ in true }),
    ("m == 57.13 OR i < 5", { $0.m == Decimal(5713) / 100 || $0.i.map { $0 < 5 } ?? false }),
    ("NOT b == YES", { $0.b == false }),
    ("s != nil AND d >= 0", { $0.s != nil && $0.d.map { $0 >= 0 } ?? false }),
    ("m + 0.2 > 10.3", { row in row.m.map { $0 + tenth * 2 > Decimal(103) / 10 } ?? false }),
    ("b == 1 AND d < 100", { $0.b == true && $0.d.map { $0 < 100 } ?? false }),
    ("t < now() - 1", { $0.t.map { $0 < moment - 1 } ?? false }),
    ("i BETWEEN {2, 6}", { $0.i.map { $0 >= 2 && $0 <= 6 } ?? false }),
    ("coalesce:(i, 4) >= 4", { $0.i ?? 4 >= 4 }),
    ("FUNCTION(s, 'hasPrefix:', 'a') == NO", { row in row.s.map { $0.utf8.first != UInt8(ascii: "a") } ?? false }),
    ("text:format:(t, 'yyyy') == '2001'", { $0.t.map { $0 < 31_536_000 } ?? false }),
    ("decode:path:as:(x, 'n', 'NSNumber') > 3", { $0.part.number.map { $0 > 3 } ?? false }),
  ]

  // MARK: Objects

  static func rows(_ random: inout SeededGenerator) -> [RandomRow] {
    let base: Int64 = [0, 0, 0, -40, (1 << 62), .max - 400][random.below(6)]
    var rows: [RandomRow] = []
    var key = base
    let count = 1 + random.below(60)
    // Neighbours whose keys agree with a dense numbering, and one far away.
    let neighbours = random.chance(30) ? count - 1 : 0
    for place in 0..<count {
      key += place < neighbours ? 1 : Int64(1 + random.below(4))
      if neighbours > 8, place == neighbours { key = max(key, .max - 2) }
      func maybe<T>(_ value: T) -> T? { random.chance(15) ? nil : value }
      let cents =
        random.chance(20) ? 5713 : random.below(random.chance(50) ? 10_000 : 1_000_000_000)
      var row = RandomRow(
        key: key, i: maybe(Int64(random.below(9))), m: maybe(Decimal(cents) / 100),
        d: maybe([0.1, -2.5, 1e10, 3][random.below(4)]),
        s: maybe(random.chance(50) ? EscapedText.random(&random) : ["a", "ab", "B", "", "é"][random.below(5)]),
        t: maybe([0.5, 99, 1e9][random.below(3)]), b: maybe(random.chance(50)))
      row.u = maybe(
        UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, UInt8(random.below(255)))))
      if row.b == true { row.truth = [1, 1, 2, -1, .max][random.below(5)] }
      row.w = Double(random.below(5))
      row.part = (maybe(Int64(random.below(9))), maybe(["x", "Zo\u{eb}", ""][random.below(3)]))
      rows.append(row)
    }
    return rows
  }
}
