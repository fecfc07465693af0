import Foundation
import GodwitModel

/// Functions, casts, conditions, and what the mapping says of itself.
extension ExpressionCases {
  package static let functions = ExpressionCases(
    name: "functions",
    values: [
      ("sqrt(9)", .double(3)), ("sqrt(-1)", .null), ("log(100)", .double(2)), ("ln(1)", .double(0)),
      ("exp(0)", .double(1)), ("raise:toPower:(2, 3)", .double(8)), ("ceiling(1.2)", .double(2)),
      ("ceiling(-1.2)", .double(-1)), ("ceiling(3)", .integer(3)), ("floor(-1.2)", .double(-2)),
      ("floor(1.8)", .double(1)), ("trunc(-1.8)", .double(-1)), ("trunc(1.8)", .double(1)), ("trunc(5)", .integer(5)),
      ("abs(-3)", .integer(3)), ("abs(-3.5)", .double(3.5)), ("abs(3)", .integer(3)), ("add:to:(2, 3)", .integer(5)),
      ("from:subtract:(5, 3)", .integer(2)), ("multiply:by:(4, 5)", .integer(20)), ("divide:by:(9, 2)", .integer(4)),
      ("divide:by:(9.0, 2)", .double(4.5)), ("divide:by:(1, 0)", .null), ("modulus:by:(7, 3)", .integer(1)),
      ("modulus:by:(-7, 3)", .integer(-1)), ("modulus:by:(7, -3)", .integer(1)), ("modulus:by:(7.5, 2)", .double(1.5)),
      ("modulus:by:(7, 0)", .null), ("uppercase('straße')", .string("STRASSE")),
      ("uppercase($source.name)", .string("ZOË")), ("lowercase('ÀB')", .string("àb")), ("lowercase(nil)", .null),
      ("titlecase(\"the ZOË o'neil\")", .string("The Zoë O'neil")), ("titlecase($source.name)", .string("Zoë")),
      ("titlecase(nil)", .null), ("titlecase('3rd ab-cd')", .string("3Rd Ab-Cd")), ("length('')", .integer(0)),
      ("length($source.name)", .integer(3)), ("length('😀')", .integer(2)),
      ("length($source.nick)", .null), ("canonical('Éa')", .string("ea")), ("canonical:($source.name)", .string("zoe")),
      ("noindex:($source.age)", .integer(40)), ("UPPERCASE('a')", .string("A")), ("abs:(-1)", .integer(1)),
      ("floor($source.pay)", .decimal(5)), ("abs($source.isMember)", .integer(1)), ("ceiling($source.rating)", .null),
      ("abs(-9223372036854775808)", .double(0x1p63)), ("sqrt($source.height * 6)", .double(3)),
    ],
    filters: [
      ("length(name) == 3", true), ("uppercase(name) == 'ZOË'", true), ("abs(0 - age) == 40", true),
      ("modulus:by:(age, 7) == 5", true), ("noindex:(name) == 'Zoë'", true), ("sqrt(rating) == 1", nil),
    ])

  package static let random = ExpressionCases(
    name: "random numbers",
    values: [
      ("randomn(1)", .integer(0)), ("random:(1)", .integer(0)), ("randomn(0)", .null), ("randomn(-5)", .null),
      ("randomn(nil)", .null), ("TERNARY(random() >= 0, 1, 0)", .integer(1)),
      ("TERNARY(randomn(10) < 10, 1, 0)", .integer(1)), ("TERNARY(random() < 2147483648, 1, 0)", .integer(1)),
    ])

  package static let casts = ExpressionCases(
    name: "casts",
    values: [
      ("CAST('12', 'NSNumber')", .integer(12)), ("CAST('1.5', 'NSNumber')", .double(1.5)),
      ("CAST('x', 'NSNumber')", .null), ("CAST('', 'NSNumber')", .null), ("CAST('1e2', 'NSNumber')", .double(100)),
      ("CAST('-3', 'NSDecimalNumber')", .decimal(-3)), ("CAST(3.0, 'NSString')", .string("3")),
      ("CAST(1.5, 'NSString')", .string("1.5")), ("CAST($source.age, 'NSString')", .string("40")),
      ("CAST($source.isMember, 'NSString')", .string("1")), ("CAST($source.pay, 'NSString')", .string("5")),
      ("CAST($source.height, 'NSString')", .string("1.5")), ("CAST(5, 'NSDate')", .date(5)),
      ("castObject:toType:('7', 'NSNumber')", .integer(7)), ("castObject:toType:(nil, 'NSString')", .null),
      ("CAST($source.name, 'NSString')", .string("Zoë")),
      ("CAST($source.site, 'NSString')", .string("https://example.org/a")),
      ("CAST($source.rating, 'NSString')", .null), ("CAST('2', 'NSNumber') + 1", .integer(3)),
    ])

  package static let archives = ExpressionCases(
    name: "archives",
    values: [
      ("unarchive:(archive:('[1, 2.5, \"a\", true, null]'))", .string("[1,2.5,\"a\",true,null]")),
      ("unarchive(archive('{\"b\": {}, \"a\": \"\u{e9}\"}'))", .string("{\"a\":\"é\",\"b\":{}}")),
      ("unarchive:(archive:('\"Zoë\"'))", .string("\"Zoë\"")), ("unarchive:(nil)", .null), ("archive:(nil)", .null),
      ("unarchive:(archive:($source.nick))", .null),
      ("TERNARY(archive:('[1]') == archive:(' [ 1 ] '), 1, 0)", .integer(1)),
      ("unarchive:as:(archive:as:($source.name, 'NSString'), 'NSString')", .string("Zoë")),
      ("unarchive:as:(archive:as:($source.age, 'NSNumber'), 'NSNumber') + 1", .integer(41)),
      ("unarchive:as:(archive:as:($source.site, 'NSURL'), 'NSURL')", .uri("https://example.org/a")),
      ("unarchive:as:(archive:as:(CAST(5, 'NSDate'), 'NSDate'), 'NSDate')", .date(5)),
      ("CAST(unarchive:as:(archive:as:(CAST('a', 'NSData'), 'NSData'), 'NSData'), 'NSString')", .string("a")),
      ("unarchive:(archive:as:($source.name, 'NSString'))", .string("\"Zoë\"")),
      ("archive:as:(nil, 'NSDate')", .null), ("unarchive:as:(archive:('null'), 'NSUUID')", .null),
      ("CAST(CAST('Zoë', 'NSData'), 'NSString')", .string("Zoë")), ("CAST('aé', 'NSData')", .data([0x61, 0xC3, 0xA9])),
      ("CAST($source.site, 'NSData')", .data(Array("https://example.org/a".utf8))), ("CAST(nil, 'NSData')", .null),
      ("length(CAST(CAST($source.name, 'NSData'), 'NSString'))", .integer(3)),
    ],
    filters: [("unarchive:(archive:('[7]')) CONTAINS '7'", true), ("unarchive:(archive:(nick)) == '1'", nil)])

  package static let encoded = ExpressionCases(
    name: "encoded values",
    values: [
      ("CAST(encode:('b.c', $source.age, 'a', $source.name), 'NSString')", .string("{\"a\":\"Zoë\",\"b\":{\"c\":40}}")),
      ("CAST(encode:('a', $source.nick, 'b', $source.isMember), 'NSString')", .string("{\"b\":true}")),
      ("encode:('a', $source.nick)", .null), ("encode:('a', nil, 'b', nil)", .null),
      (
        "CAST(encode:('x', $source.pay, 'y', $source.height, 'z', $source.born), 'NSString')",
        .string("{\"x\":5,\"y\":1.5,\"z\":1000.0}")
      ),
      ("decode:path:as:('{\"a\":{\"b\":[1,{\"c\":\"d\"}]}}', 'a.b.1.c', 'NSString')", .string("d")),
      ("decode:path:as:('{\"a\":{\"b\":[1,{\"c\":\"d\"}]}}', 'a.b.0', 'NSNumber') + 1", .integer(2)),
      ("decode:path:as:('{\"a\":[1]}', 'a.1', 'NSNumber')", .null),
      ("decode:path:as:('{\"a\":[1]}', 'b.c', 'NSString')", .null),
      ("decode:path:as:('{\"a\":null}', 'a', 'NSString')", .null), ("decode:path:as:(nil, 'a', 'NSString')", .null),
      ("decode:path:as:('\"red\"', '', 'NSString')", .string("red")),
      (
        "decode:path:as:('[12345678901234567890]', '0', 'NSNumber')",
        .decimal(Decimal(sign: .plus, exponent: 1, significand: 1_234_567_890_123_456_789))
      ),
      ("decode:path:as:('[1.50]', '0', 'NSNumber')", .double(1.5)),
      ("decode:path:as:('[false]', '0', 'NSNumber')", .boolean(false)),
      ("decode:path:as:('{\"t\":5}', 't', 'NSDate')", .date(5)),
      ("decode:path:as:('{\"u\":\"https://example.org/a\"}', 'u', 'NSURL')", .uri("https://example.org/a")),
      ("decode:path:as:(archive:('{\"k\":[true,\"v\"]}'), 'k.1', 'NSString')", .string("v")),
      (
        "decode:path:as:(encode:('a.b', $source.code), 'a.b', 'NSUUID')",
        .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)))
      ),
      ("CAST(decode:path:as:(encode:('a', $source.photo), 'a', 'NSData'), 'NSString')", .string("\u{1}\u{2}")),
    ], filters: [("decode:path:as:('{\"a\":1}', 'a', 'NSNumber') == 1", true)])

  package static let conditionals = ExpressionCases(
    name: "TERNARY",
    values: [
      ("TERNARY($source.age >= 18, 'adult', 'child')", .string("adult")),
      ("TERNARY($source.age > 100, 1, 2.5)", .double(2.5)), ("TERNARY(FALSEPREDICATE, 1, nil)", .null),
      ("TERNARY($source.rating > 1, 1, 0)", .integer(0)),
      ("TERNARY($source.isMember == YES, $source.pay, $source.age)", .decimal(5)),
      ("TERNARY($source.age < 18, 'child', TERNARY($source.age < 65, 'adult', 'elder'))", .string("adult")),
      ("TERNARY($source.name == 'Zoë', $source.born, nil)", .date(1000)),
      ("TERNARY(TRUEPREDICATE, 7, 2.0) / 2", .integer(3)),
      ("TERNARY(TRUEPREDICATE, $source.site, 'x')", .string("https://example.org/a")),
    ])

  package static let facts = ExpressionCases(
    name: "facts of the mapping",
    values: [
      ("$entityMapping.name", .string("PersonToAdult")), ("$entityMapping.sourceEntityName", .string("Person")),
      ("$entityMapping.destinationEntityName", .string("Adult")), ("$entityMapping.mappingType", .integer(5)),
      ("$entityMapping.entityMigrationPolicyClassName", .null), ("$entityMapping.userInfo.batch", .string("7")),
      ("$entityMapping.userInfo.none", .null), ("$propertyMapping.name", .string("target")),
      ("CAST($entityMapping.userInfo.batch, 'NSNumber') + 1", .integer(8)),
    ])
}
