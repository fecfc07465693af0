import GodwitModel

/// Properties of values, as key-value coding reads them.
extension ExpressionCases {
  package static let valuePaths = ExpressionCases(
    name: "properties of values",
    values: [
      ("$source.site.absoluteString", .string("https://example.org/a")), ("$source.site.path", .string("/a")),
      ("$source.site.lastPathComponent", .string("a")), ("$source.site.description", .string("https://example.org/a")),
      ("$source.code.UUIDString", .string("01020304-0506-0708-090A-0B0C0D0E0F10")),
      ("$source.code.description", .string("01020304-0506-0708-090A-0B0C0D0E0F10")),
      ("$source.age.stringValue", .string("40")), ("$source.age.intValue", .integer(40)),
      ("$source.age.doubleValue", .double(40)), ("$source.age.boolValue", .boolean(true)),
      ("$source.age.description", .string("40")), ("$source.height.stringValue", .string("1.5")),
      ("$source.height.intValue", .integer(1)), ("$source.height.boolValue", .boolean(true)),
      ("$source.pay.stringValue", .string("5")), ("$source.pay.intValue", .integer(5)),
      ("$source.pay.doubleValue", .double(5)),
      ("$source.isMember.stringValue", .string("1")), ("$source.isMember.intValue", .integer(1)),
      ("$source.name.length", .integer(3)), ("$source.name.lowercaseString", .string("zoë")),
      ("$source.name.uppercaseString", .string("ZOË")), ("$source.name.description", .string("Zoë")),
      ("$source.name.intValue", .integer(0)), ("$source.name.boolValue", .boolean(false)),
      ("$source.name.lastPathComponent", .string("Zoë")), ("$source.photo.length", .integer(2)),
      ("$source.born.timeIntervalSinceReferenceDate", .double(1000)),
      ("$source.born.timeIntervalSince1970", .double(978_308_200)), ("$source.nick.length", .null),
      ("$source.rating.stringValue", .null), ("$source.manager.name.length", .null),
      ("$source.name.uppercaseString.length", .integer(3)),
    ],
    filters: [
      ("site.path == '/a'", true), ("site.lastPathComponent BEGINSWITH 'b'", false), ("name.length > 2", true),
      ("nick.length > 2", nil), ("code.UUIDString BEGINSWITH '0102'", true), ("age.stringValue == '40'", true),
      ("born.timeIntervalSince1970 > 0", true), ("ANY reports.name.length == 3", true),
    ])
}
