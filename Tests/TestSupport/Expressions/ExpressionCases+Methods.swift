import Foundation
import GodwitModel

/// Methods that `FUNCTION` sends, with Foundation's results.
extension ExpressionCases {
  private static let spaces = "FUNCTION(CAST('NSCharacterSet', 'Class'), 'whitespaceAndNewlineCharacterSet')"
  private static func characters(_ text: String) -> String {
    "FUNCTION(CAST('NSCharacterSet', 'Class'), 'characterSetWithCharactersInString:', '\(text)')"
  }
  private static func rounded(_ value: String, _ mode: Int, _ scale: Int) -> String {
    "FUNCTION(CAST('\(value)', 'NSDecimalNumber'), 'decimalNumberByRoundingAccordingToBehavior:', FUNCTION(CAST("
      + "'NSDecimalNumberHandler', 'Class'), 'decimalNumberHandlerWithRoundingMode:scale:raiseOnExactness:"
      + "raiseOnOverflow:raiseOnUnderflow:raiseOnDivideByZero:', \(mode), \(scale), NO, NO, NO, NO))"
  }

  package static let stringMethods = ExpressionCases(
    name: "methods of strings",
    values: [
      ("FUNCTION($source.name, 'stringByAppendingString:', ' Smith')", .string("Zoë Smith")),
      ("FUNCTION('', 'stringByAppendingString:', '')", .string("")),
      ("FUNCTION($source.nick, 'stringByAppendingString:', 'x')", .null),
      ("FUNCTION('a-b-c', 'stringByReplacingOccurrencesOfString:withString:', '-', '')", .string("abc")),
      ("FUNCTION('aaa', 'stringByReplacingOccurrencesOfString:withString:', 'aa', 'b')", .string("ba")),
      ("FUNCTION('abc', 'stringByReplacingOccurrencesOfString:withString:', '', 'x')", .string("abc")),
      ("FUNCTION('ab', 'stringByReplacingOccurrencesOfString:withString:', 'b', 'bb')", .string("abb")),
      ("FUNCTION('e\u{301}', 'stringByReplacingOccurrencesOfString:withString:', '\u{e9}', 'x')", .string("e\u{301}")),
      ("FUNCTION($source.name, 'substringToIndex:', 2)", .string("Zo")),
      ("FUNCTION($source.name, 'substringToIndex:', 0)", .string("")),
      ("FUNCTION($source.name, 'substringFromIndex:', 3)", .string("")),
      ("FUNCTION('😀x', 'substringFromIndex:', 2)", .string("x")),
      ("FUNCTION('e\u{301}', 'substringToIndex:', 1)", .string("e")),
      ("FUNCTION('abc', 'substringToIndex:', 2.0)", .string("ab")),
      ("FUNCTION(FUNCTION('a,b,,c', 'componentsSeparatedByString:', ','), 'count')", .integer(4)),
      ("FUNCTION('a,b,,c', 'componentsSeparatedByString:', ',')[2]", .string("")),
      ("FUNCTION('a,b,,c', 'componentsSeparatedByString:', ',')[LAST]", .string("c")),
      ("FUNCTION('a,b', 'componentsSeparatedByString:', '')[FIRST]", .string("a,b")),
      ("FUNCTION('', 'componentsSeparatedByString:', ',').@count", .integer(1)),
      ("FUNCTION('a, b;c', 'componentsSeparatedByCharactersInSet:', \(characters(",; ")))[SIZE]", .integer(4)),
      ("FUNCTION($source.nick, 'componentsSeparatedByString:', ',')[0]", .null),
      ("FUNCTION('\\t Zo\u{eb} \\n', 'stringByTrimmingCharactersInSet:', \(spaces))", .string("Zoë")),
      ("FUNCTION(' \\t', 'stringByTrimmingCharactersInSet:', \(spaces))", .string("")),
      ("FUNCTION('xyZyx', 'stringByTrimmingCharactersInSet:', \(characters("xy")))", .string("Z")),
      (
        "FUNCTION('12ab34', 'stringByTrimmingCharactersInSet:', FUNCTION(FUNCTION(CAST('NSCharacterSet', 'Class'), 'letterCharacterSet'), 'invertedSet'))",
        .string("ab")
      ),
      ("FUNCTION('7', 'stringByPaddingToLength:withString:startingAtIndex:', 4, 'abc', 1)", .string("7bca")),
      ("FUNCTION('abcdef', 'stringByPaddingToLength:withString:startingAtIndex:', 3, '.', 0)", .string("abc")),
      ("FUNCTION($source.name, 'hasPrefix:', 'Zo')", .boolean(true)),
      ("FUNCTION($source.name, 'hasPrefix:', '')", .boolean(false)),
      ("FUNCTION($source.name, 'hasSuffix:', '\u{eb}')", .boolean(true)),
      ("FUNCTION($source.name, 'hasSuffix:', 'e\u{308}')", .boolean(false)),
      ("FUNCTION($source.name, 'containsString:', 'o')", .boolean(true)),
      ("FUNCTION($source.name, 'containsString:', '')", .boolean(false)),
      ("FUNCTION($source.nick, 'containsString:', 'o')", .null),
      ("FUNCTION('a', 'isEqualToString:', 'a')", .boolean(true)),
      ("FUNCTION('a', 'compare:', 'b')", .integer(-1)), ("FUNCTION('a', 'compare:', 'a')", .integer(0)),
      ("FUNCTION('z', 'compare:', 'a')", .integer(1)),
      ("FUNCTION($source.name, 'dataUsingEncoding:', 4)", .data([0x5A, 0x6F, 0xC3, 0xAB])),
      ("FUNCTION($source.name, 'uppercaseString')", .string("ZOË")),
      ("FUNCTION('the end', 'capitalizedString')", .string("The End")),
      ("FUNCTION(' -12ab', 'integerValue')", .integer(-12)), ("FUNCTION($source.name, 'length')", .integer(3)),
      ("FUNCTION('99999999999999999999', 'integerValue')", .integer(.max)),
      ("FUNCTION('-99999999999999999999', 'longLongValue')", .integer(.min)),
      ("FUNCTION('0.1', 'floatValue')", .double(Double(Float(0.1)))),
      ("FUNCTION('a/b.c', 'pathExtension')", .string("c")), ("FUNCTION(nil, 'length')", .null),
      ("FUNCTION($source.nick, 'uppercaseString')", .null),
      ("FUNCTION('a%20b', 'stringByRemovingPercentEncoding')", .string("a b")),
      ("FUNCTION('a%', 'stringByRemovingPercentEncoding')", .null),
      ("FUNCTION('%4g', 'stringByRemovingPercentEncoding')", .null),
      ("FUNCTION('%FF', 'stringByRemovingPercentEncoding')", .null),
      ("FUNCTION('%EF%BB%BFx%c3%A9', 'stringByRemovingPercentEncoding')", .string("\u{FEFF}x\u{E9}")),
      ("FUNCTION('\u{FEFF}x', 'stringByRemovingPercentEncoding')", .string("\u{FEFF}x")),
      ("FUNCTION('e\u{301}', 'precomposedStringWithCanonicalMapping')", .string("\u{e9}")),
      ("FUNCTION('\u{e9}', 'decomposedStringWithCanonicalMapping')", .string("e\u{301}")),
      ("TERNARY(FUNCTION($source.name, 'hasPrefix:', 'Z') == YES, 1, 2)", .integer(1)),
    ],
    filters: [
      ("FUNCTION(name, 'hasPrefix:', 'Z') == YES", true), ("FUNCTION(nick, 'hasPrefix:', 'Z') == YES", nil),
      ("FUNCTION(name, 'length') == 3", true), ("'b' IN FUNCTION('a,b', 'componentsSeparatedByString:', ',')", true),
      ("FUNCTION(FUNCTION(name, 'substringToIndex:', 1), 'stringByAppendingString:', '!') == 'Z!'", true),
    ])

  package static let valueMethods = ExpressionCases(
    name: "methods of numbers, dates, data and lists",
    values: [
      ("FUNCTION($source.age, 'compare:', 40.0)", .integer(0)), ("FUNCTION($source.age, 'compare:', 41)", .integer(-1)),
      ("FUNCTION($source.big, 'compare:', 9223372036854775807.0)", .integer(-1)),
      ("FUNCTION($source.pay, 'compare:', CAST('4.99', 'NSDecimalNumber'))", .integer(1)),
      ("FUNCTION($source.rating, 'compare:', 1)", .null), ("FUNCTION($source.age, 'stringValue')", .string("40")),
      ("FUNCTION($source.height, 'integerValue')", .integer(1)),
      ("FUNCTION($source.big, 'longLongValue')", .integer(.max)),
      ("FUNCTION(CAST('123456789012345678.9', 'NSDecimalNumber'), 'longLongValue')", .integer(123_456_789_012_345_678)),
      ("FUNCTION($source.age, 'isEqualToNumber:', 40)", .boolean(true)),
      ("FUNCTION($source.pay, 'decimalNumberByAdding:', 0.1)", .decimal(Decimal(51) / 10)),
      ("FUNCTION($source.pay, 'decimalNumberBySubtracting:', $source.age)", .decimal(-35)),
      ("FUNCTION($source.pay, 'decimalNumberByMultiplyingBy:', 1.1)", .decimal(Decimal(55) / 10)),
      ("FUNCTION($source.pay, 'decimalNumberByDividingBy:', 8)", .decimal(Decimal(625) / 1000)),
      ("FUNCTION($source.pay, 'decimalNumberByRaisingToPower:', 3)", .decimal(125)),
      ("FUNCTION($source.pay, 'decimalNumberByRaisingToPower:', 0)", .decimal(1)),
      ("FUNCTION($source.pay, 'decimalNumberByMultiplyingByPowerOf10:', -2)", .decimal(Decimal(5) / 100)),
      ("FUNCTION($source.pay, 'decimalNumberByMultiplyingByPowerOf10:', 3)", .decimal(5000)),
      (rounded("2.345", 0, 2), .decimal(Decimal(235) / 100)), (rounded("-2.345", 0, 2), .decimal(Decimal(-235) / 100)),
      (rounded("2.345", 3, 2), .decimal(Decimal(234) / 100)), (rounded("2.341", 2, 2), .decimal(Decimal(235) / 100)),
      (rounded("-2.341", 2, 2), .decimal(Decimal(-234) / 100)),
      (rounded("-2.341", 1, 2), .decimal(Decimal(-235) / 100)),
      (rounded("1250", 0, -2), .decimal(1300)), (rounded("4", 0, -2), .decimal(0)),
      ("FUNCTION($source.born, 'dateByAddingTimeInterval:', 60)", .date(1060)),
      ("FUNCTION($source.born, 'timeIntervalSinceDate:', CAST(400, 'NSDate'))", .double(600)),
      ("FUNCTION($source.born, 'earlierDate:', CAST(400, 'NSDate'))", .date(400)),
      ("FUNCTION($source.born, 'laterDate:', CAST(400, 'NSDate'))", .date(1000)),
      ("FUNCTION($source.born, 'timeIntervalSince1970')", .double(978_308_200)),
      ("FUNCTION($source.born, 'compare:', CAST(1000, 'NSDate'))", .integer(0)),
      ("FUNCTION($source.photo, 'length')", .integer(2)),
      ("FUNCTION($source.photo, 'base64EncodedStringWithOptions:', 0)", .string("AQI=")),
      ("FUNCTION($source.photo, 'isEqualToData:', $source.photo)", .boolean(true)),
      (
        "FUNCTION({'a', nil, 'b', 3, 1.5, $source.code}, 'componentsJoinedByString:', '|')",
        .string("a|b|3|1.5|01020304-0506-0708-090A-0B0C0D0E0F10")
      ),
      ("FUNCTION($source.pets.name, 'componentsJoinedByString:', ', ')", .string("Rex, tom")),
      ("FUNCTION({}, 'componentsJoinedByString:', ', ')", .string("")),
      ("FUNCTION($source.pets, 'firstObject').name", .string("Rex")),
      ("FUNCTION($source.pets, 'lastObject').weight", .null), ("FUNCTION($source.pets, 'count')", .integer(3)),
      ("FUNCTION($source.clubs, 'count')", .integer(2)), ("FUNCTION($source.reports.pets, 'count')", .integer(0)),
      ("FUNCTION({7, 8}, 'objectAtIndex:', 1)", .integer(8)), ("FUNCTION({}, 'firstObject')", .null),
      ("FUNCTION($source.manager.pets.name, 'componentsJoinedByString:', ',')", .null),
    ],
    filters: [
      ("FUNCTION(age, 'compare:', 18) == 1", true), ("FUNCTION(pets.name, 'firstObject') == 'Rex'", true),
      ("FUNCTION(born, 'laterDate:', CAST(0, 'NSDate')) == born", true),
    ])

  package static let classMethods = ExpressionCases(
    name: "methods of classes",
    values: [
      ("FUNCTION(FUNCTION(CAST('NSUUID', 'Class'), 'alloc'), 'initWithUUIDString:', 'no UUID')", .null),
      (
        "FUNCTION(CAST('NSUUID', 'Class'), 'initWithUUIDString:', '01020304-0506-0708-090a-0b0c0d0e0f10').UUIDString",
        .string("01020304-0506-0708-090A-0B0C0D0E0F10")
      ),
      ("FUNCTION(CAST('NSURL', 'Class'), 'URLWithString:', 'https://example.org/a')", .uri("https://example.org/a")),
      ("FUNCTION(CAST('NSDate', 'Class'), 'dateWithTimeIntervalSince1970:', 978308200)", .date(1000)),
      ("FUNCTION(CAST('NSDate', 'Class'), 'dateWithTimeIntervalSinceReferenceDate:', $source.age)", .date(40)),
      ("FUNCTION(CAST('NSData', 'Class'), 'initWithBase64EncodedString:options:', 'AQI=', 0)", .data([1, 2])),
      ("FUNCTION(CAST('NSData', 'Class'), 'initWithBase64EncodedString:options:', '?', 0)", .null),
      ("FUNCTION(CAST('NSString', 'Class'), 'initWithData:encoding:', CAST('Zo\u{eb}', 'NSData'), 4)", .string("Zoë")),
      ("FUNCTION(castObject:toType:('NSDate', 'Class'), 'dateWithTimeIntervalSinceReferenceDate:', 5)", .date(5)),
    ],
    filters: [
      ("code == FUNCTION(CAST('NSUUID', 'Class'), 'initWithUUIDString:', '01020304-0506-0708-090A-0B0C0D0E0F10')", true)
    ])
}
