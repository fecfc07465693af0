import Foundation
import GodwitModel

/// Dates as texts, UUIDs, and values in place of nil.
extension ExpressionCases {
  package static let formats = ExpressionCases(
    name: "formats of dates",
    values: [
      ("text:format:($source.born, 'yyyy-MM-dd HH:mm:ss')", .string("2001-01-01 00:16:40")),
      ("text:format:($source.born, 'iso8601')", .string("2001-01-01T00:16:40Z")),
      ("text:format:(CAST(-0.25, 'NSDate'), 'iso8601')", .string("2000-12-31T23:59:59.75Z")),
      ("text:format:timeZone:($source.born, 'iso8601', 'Europe/Berlin')", .string("2001-01-01T01:16:40+01:00")),
      (
        "text:format:timeZone:($source.born, \"EEEE d MMMM yyyy 'at' H\", 'America/New_York')",
        .string("Sunday 31 December 2000 at 19")
      ),
      ("text:format:($source.manager.born, 'yyyy')", .null), ("text:format:(nil, 'yyyy')", .null),
      ("date:format:('2001-01-01T00:16:40Z', 'iso8601')", .date(1000)),
      ("date:format:('2001-01-01T00:16:40.25+02:00', 'iso8601')", .date(-6199.75)),
      ("date:format:('2001-01-01T00:16', 'iso8601')", .date(960)),
      ("date:format:('2001-01-02', 'iso8601')", .date(86400)),
      ("date:format:timeZone:('2001-01-01 00:00', 'iso8601', 'Europe/Berlin')", .date(-3600)),
      ("date:format:timeZone:('2001-07-01T00:00:00', 'iso8601', 'Europe/Berlin')", .date(15_631_200)),
      ("date:format:else:('2001-02-29', 'iso8601', nil)", .null),
      ("date:format:else:('2000-02-29', 'iso8601', nil)", .date(-26_524_800)),
      ("date:format:('01.02.2001', 'dd.MM.yyyy')", .date(2_678_400)),
      ("date:format:timeZone:('2001-07-01 00:00', 'yyyy-MM-dd HH:mm', 'Europe/Berlin')", .date(15_631_200)),
      ("date:format:('12:30', 'HH:mm')", .date(-31_577_400)),
      ("date:format:('50-06-01', 'yy-MM-dd')", .date(-1_596_412_800)),
      ("date:format:('49-06-01', 'yy-MM-dd')", .date(1_527_811_200)), ("date:format:($source.nick, 'yyyy')", .null),
      ("date:format:else:('x', 'yyyy', nil)", .null), ("date:format:else:('x', 'iso8601', $source.born)", .date(1000)),
      ("date:format:else:('2001-01-01 x', 'yyyy-MM-dd', nil)", .null),
      ("date:format:else:('2001-02-30', 'yyyy-MM-dd', nil)", .null),
      ("date:format:else:('', 'yyyy-MM-dd', nil)", .null),
      ("date:format:else:($source.nick, 'yyyy', $source.born)", .null),
      ("date:format:timeZone:else:('2001-01-01', 'yyyy-MM-dd', 'UTC', nil)", .date(0)),
      ("text:format:(date:format:('1.2.2003', 'd.M.y'), 'yyyy-MM-dd')", .string("2003-02-01")),
      ("date:format:('Mon, 01 Jan 2001 00:16:40 +0000', 'EEE, dd MMM yyyy HH:mm:ss Z')", .date(1000)),
    ], filters: [("text:format:(born, 'yyyy') == '2001'", true), ("date:format:(nick, 'iso8601') == nil", true)])

  package static let identifiers = ExpressionCases(
    name: "UUIDs, coalesce: and join:with:",
    values: [
      ("uuid:('01020304-0506-0708-090a-0b0c0d0e0f10').UUIDString", .string("01020304-0506-0708-090A-0B0C0D0E0F10")),
      ("TERNARY(uuid:(CAST($source.code, 'NSData')) == $source.code, 1, 0)", .integer(1)),
      ("TERNARY(uuid:(CAST($source.code, 'NSString')) == uuid:($source.code), 1, 0)", .integer(1)),
      ("CAST($source.code, 'NSString')", .string("01020304-0506-0708-090A-0B0C0D0E0F10")),
      ("uuid:($source.nick)", .null),
      ("CAST($source.code, 'NSData')", .data([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16])),
      ("TERNARY(newUUID() == newUUID(), 1, 0)", .integer(1)), ("TERNARY(newUUID() == newUUID(1), 1, 0)", .integer(0)),
      ("TERNARY(newUUID(40) == newUUID($source.age), 1, 0)", .integer(1)),
      ("TERNARY(newUUID() == FUNCTION(CAST('NSUUID', 'Class'), 'UUID'), 1, 0)", .integer(1)),
      ("TERNARY(newUUID().UUIDString MATCHES '.{14}4.{4}[89AB].*', 1, 0)", .integer(1)),
      ("coalesce:($source.nick, $source.name)", .string("Zoë")), ("coalesce:(nil, $source.rating)", .null),
      ("coalesce:($source.rating, 1, 2)", .integer(1)), ("coalesce:($source.pay, 1)", .decimal(5)),
      ("coalesce:($source.name, FUNCTION('a', 'substringToIndex:', 9))", .string("Zoë")),
      ("coalesce($source.manager.born, $source.born)", .date(1000)),
      ("join:with:({$source.name, $source.nick, 'Smith'}, ' ')", .string("Zoë Smith")),
      ("join:with:($source.pets.name, ', ')", .string("Rex, tom")),
      ("join:with:($source.clubs.name, '')", .string("Chesschoir")),
      ("join:with:($source.reports.pets.name, ',')", .string("")),
      ("join:with:($source.manager.pets.name, ',')", .null),
      ("join:with:({1, 2.5, YES, $source.pay}, ' ')", .string("1 2.5 1 5")), ("join:with:({'a'}, $source.nick)", .null),
      ("TERNARY($source.isMember, 'yes', 'no')", .string("yes")),
      ("TERNARY($source.manager.isMember, 'yes', 'no')", .string("no")),
      ("TERNARY(FUNCTION($source.name, 'hasPrefix:', 'A'), 'yes', 'no')", .string("no")),
    ],
    filters: [
      ("coalesce:(nick, name) == 'Zoë'", true), ("join:with:({name, nick}, '-') == 'Zoë'", true),
      ("uuid:('01020304-0506-0708-090a-0b0c0d0e0f10') == code", true), ("TERNARY(isMember, 1, 2) == 1", true),
    ])
}
