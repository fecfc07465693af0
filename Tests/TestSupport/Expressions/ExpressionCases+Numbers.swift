import Foundation
import GodwitModel

/// Literals, arithmetic, bits, dates, and the order of numbers.
extension ExpressionCases {
  package static let literals = ExpressionCases(
    name: "literals",
    values: [
      ("0", .integer(0)), ("007", .integer(7)), ("0x1F", .integer(31)), ("0X1f", .integer(31)),
      ("0b101", .integer(5)), ("0o17", .integer(15)), ("-0x10", .integer(-16)), ("1.5", .double(1.5)),
      ("1e3", .double(1000)), ("2.5E-1", .double(0.25)), (".5", .double(0.5)), ("-7", .integer(-7)),
      ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)), ("YES", .boolean(true)),
      ("TRUE", .boolean(true)), ("no", .boolean(false)), ("FALSE", .boolean(false)), ("nil", .null), ("NULL", .null),
      ("'a'", .string("a")), ("\"a\"", .string("a")), (#"'it\'s'"#, .string("it's")), (#"'a\tb'"#, .string("a\tb")),
      (#"'\u00e9'"#, .string("é")), (#"'\x41'"#, .string("A")), (#"'\U0001F600'"#, .string("😀")),
      (#"'\ud83d\ude00'"#, .string("😀")), (#"'\\'"#, .string("\\")), ("''", .string("")), ("'日本'", .string("日本")),
    ])

  package static let arithmetic = ExpressionCases(
    name: "arithmetic",
    values: [
      ("1 + 2", .integer(3)), ("1 - 2", .integer(-1)), ("2 * 3", .integer(6)), ("7 / 2", .integer(3)),
      ("-7 / 2", .integer(-3)), ("7 / -2", .integer(-3)), ("7.0 / 2", .double(3.5)), ("7 / 2.0", .double(3.5)),
      ("1 / 0", .null), ("1.0 / 0", .null), ("0 / 0", .null), ("2 + 3 * 4", .integer(14)),
      ("(2 + 3) * 4", .integer(20)), ("10 - 4 - 3", .integer(3)), ("100 / 10 / 2", .integer(5)),
      ("2 ** 10", .double(1024)), ("2 ** 3 ** 2", .double(512)), ("-2 ** 2", .double(-4)), ("2 ** -1", .double(0.5)),
      ("2 * 3 ** 2", .double(18)), ("(-8) ** 0.5", .null), ("-(3)", .integer(-3)), ("--3", .integer(3)),
      ("$source.age + 1", .integer(41)), ("$source.age / 3", .integer(13)),
      ("$source.age / 3.0", .double(13.333333333333334)), ("$source.age * $source.height", .double(60)),
      ("$source.pay / 2", .decimal(2.5)), ("$source.pay * 2", .decimal(10)), ("$source.isMember + 1", .integer(2)),
      ("$source.rating + 1", .null), ("-$source.rating", .null), ("$source.big + 1", .double(0x1p63)),
      ("$source.big * $source.big", .double(0x1p126)), ("0 - $source.big - 2", .double(-0x1p63)),
      ("$source.big - $source.big", .integer(0)), ("$source.big + 1 - 1", .double(0x1p63)),
      ("1e308 * 10", .double(.infinity)), ("1e308 * 10 - 1e308 * 10", .null),
      ("-9223372036854775808 / -1", .double(0x1p63)), ("-(-9223372036854775808)", .double(0x1p63)),
    ])

  package static let bitwise = ExpressionCases(
    name: "bitwise operators",
    values: [
      ("6 & 3", .integer(2)), ("6 | 3", .integer(7)), ("6 ^ 3", .integer(5)), ("1 << 4", .integer(16)),
      ("-16 >> 2", .integer(-4)), ("1 << 63", .integer(.min)), ("~0", .integer(-1)), ("~5", .integer(-6)),
      ("1 | 2 ^ 3 & 4", .integer(3)), ("1 << 2 + 1", .integer(8)), ("1 + 2 & 3", .integer(3)),
      ("2 * ~1", .integer(-4)), ("bitwiseAnd:with:(12, 10)", .integer(8)), ("bitwiseOr:with:(12, 10)", .integer(14)),
      ("bitwiseXor:with:(12, 10)", .integer(6)), ("leftshift:by:(1, 62)", .integer(1 << 62)),
      ("leftshift:by:(1, 64)", .integer(0)), ("rightshift:by:(-1, 70)", .integer(-1)),
      ("leftshift:by:(4, -1)", .integer(2)), ("onesComplement:(0)", .integer(-1)), ("$source.age & 8", .integer(8)),
      ("$source.rating & 1", .null), ("4.0 & 5", .integer(4)),
      ("CAST('123456789012345678', 'NSDecimalNumber') & 255", .integer(78)),
      ("~CAST('123456789012345678', 'NSDecimalNumber')", .integer(-123_456_789_012_345_679)),
    ],
    filters: [("age & 1 == 0", true), ("(age & 8) != 0", true), ("age ^ age == 0", true), ("rating | 1 == 1", nil)])

  package static let dates = ExpressionCases(
    name: "dates",
    values: [
      ("$source.born + 5", .date(1005)), ("5 + $source.born", .date(1005)), ("$source.born - 5", .date(995)),
      ("$source.born - $source.born", .double(0)), ("$source.born + 0.5", .date(1000.5)), ("now()", .date(7)),
      ("now() - $source.born", .double(-993)), ("CAST(60, 'NSDate')", .date(60)), ("CAST(nil, 'NSDate')", .null),
      ("CAST($source.born, 'NSNumber')", .double(1000)), ("max($source.born, now())", .date(1000)),
      ("$source.born + $source.rating", .null),
    ],
    filters: [
      ("born > CAST(999, 'NSDate')", true), ("born == CAST(1000, 'NSDate')", true), ("born < now()", false),
      ("born BETWEEN {CAST(0, 'NSDate'), CAST(1000, 'NSDate')}", true), ("born - 1000 == CAST(0, 'NSDate')", true),
      ("born != now()", true),
    ])

  package static let comparison = ExpressionCases(
    name: "comparison",
    filters: [
      ("age == 40", true), ("age = 40", true), ("age == 40.0", true), ("age != 41", true), ("age <> 40", false),
      ("age < 40", false), ("age <= 40", true), ("age =< 40", true), ("age > 39.5", true), ("age >= 40", true),
      ("age => 41", false), ("big == 9223372036854775807", true), ("big == 9223372036854775808.0", false),
      ("big < 9223372036854775808.0", true), ("height == 1.5", true), ("height > 1", true), ("pay == 5", true),
      ("pay > 4.99", true), ("isMember == YES", true), ("isMember == TRUE", true), ("isMember == 1", true),
      ("isMember == 0", false), ("isMember != NO", true), ("isMember > NO", true),
      ("9007199254740993 == 9007199254740992.0", false), ("9007199254740993 > 9007199254740992.0", true),
      ("0.1 + 0.2 == 0.3", false), ("code == code", true), ("photo == photo", true), ("SELF == SELF", true),
      ("SELF != SELF", false), ("manager == SELF", nil), ("site == 'https://example.org/a'", true),
    ])
}
