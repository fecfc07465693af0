import Foundation
import GodwitModel
import TestSupport
import Testing

/// Methods of values against implementations written apart, and the errors of methods.
@Suite struct ExpressionMethodTests {
  private func value(_ text: String) throws -> AttributeValue {
    let model = try ExpressionWorld.model()
    let person = try #require(ExpressionWorld.object("Person", 1, in: model))
    let expression = try ValueExpression(parsing: text)
    _ = try ExpressionChecker(model: model, entityName: "Person", role: .value).type(of: expression)
    let evaluator = ExpressionEvaluator(
      now: ExpressionWorld.now, role: .value, mapping: ExpressionWorld.bindings, bindsSource: true)
    guard case .value(let value) = try evaluator.compile(expression).evaluate(with: person) else { return .null }
    return value
  }

  private func quoted(_ text: String) -> String {
    "'"
      + text.unicodeScalars.map {
        "\\U" + String(repeating: "0", count: 8 - String($0.value, radix: 16).count)
          + String($0.value, radix: 16)
      }.joined() + "'"
  }

  // MARK: Strings

  private static let pieces = ["a", "b", "ab", "ba", "\u{e9}", "e\u{301}", "😀", "\u{0}", " ", "\n", ","]

  private func text(_ random: inout SeededGenerator, upTo count: Int) -> String {
    (0..<random.below(count + 1)).map { _ in Self.pieces[random.below(Self.pieces.count)] }.joined()
  }

  /// The parts between the places of a separator, over UTF-16 units and without the search under test.
  private func parts(_ text: String, _ separator: String) -> [String] {
    let (units, mark) = (Array(text.utf16), Array(separator.utf16))
    var parts: [[UInt16]] = [[]]
    var place = 0
    while place < units.count {
      if !mark.isEmpty, place + mark.count <= units.count, Array(units[place..<place + mark.count]) == mark {
        parts.append([])
        place += mark.count
      } else {
        parts[parts.count - 1].append(units[place])
        place += 1
      }
    }
    return parts.map { String(decoding: $0, as: UTF16.self) }
  }

  @Test func `texts split, replace and cut as a search over UTF-16 units does`() {
    for seed in testSeeds(3000) {
      var random = SeededGenerator(seed: seed)
      let (text, part, other) = (text(&random, upTo: 8), text(&random, upTo: 2), text(&random, upTo: 2))
      let expected = parts(text, part)
      #expect(Text(text).split(by: Text(part)) == expected.map { Text($0) }, "seed \(seed)")
      #expect(
        Text(text).replacing(Text(part), with: Text(other)) == Text(expected.joined(separator: other)), "seed \(seed)")
      let (units, index) = (Array(text.utf16), random.below(20) - 2)
      switch Text(text).cut(at: Int64(index)) {
      case .beyond(let length):
        #expect(length == units.count && !(0...units.count).contains(index), "seed \(seed)")
      case .withinCharacter:
        #expect((0xDC00...0xDFFF).contains(units[index]), "seed \(seed)")
      case .parts(let before, let after):
        #expect(before == Text(String(decoding: units[..<index], as: UTF16.self)), "seed \(seed)")
        #expect(after == Text(String(decoding: units[index...], as: UTF16.self)), "seed \(seed)")
      }
    }
  }

  @Test func `a long text is searched in linear time`() {
    let text = Text(utf8: Array(repeating: 0x61, count: 2_000_000))
    let part = Text(utf8: Array(repeating: 0x61, count: 100_000) + [0x62])
    #expect(text.places(of: part).isEmpty)
    #expect(text.split(by: "aa").count == 1_000_001)
  }

  @Test(arguments: [
    // The tables of Apple's documentation.
    ("/tmp/scratch.tiff", "scratch.tiff", "tiff", "/tmp/scratch", "/tmp"),
    ("/tmp/scratch", "scratch", "", "/tmp/scratch", "/tmp"), ("/tmp/", "tmp", "", "/tmp", "/"),
    ("scratch.bundle/", "scratch.bundle", "bundle", "scratch", ""),
    ("scratch..tiff", "scratch..tiff", "tiff", "scratch.", ""),
    (".tiff", ".tiff", "", ".tiff", ""), ("/", "/", "", "/", "/"),
    (".scratch.tiff", ".scratch.tiff", "tiff", ".scratch", ""),
    ("/tmp/lock/", "lock", "", "/tmp/lock", "/tmp"), ("scratch///", "scratch", "", "scratch", ""), ("", "", "", "", ""),
    // Not in the tables.
    ("//", "/", "", "/", "/"), ("a/..", "..", "", "a/..", "a"), ("a.", "a.", "", "a", ""),
    ("/tmp//a.b", "a.b", "b", "/tmp//a", "/tmp"),
  ]) func `parts of a path are those of Apple's tables`(
    path: String, last: String, suffix: String, stem: String, folder: String
  )
    throws
  {
    let path = quoted(path)
    #expect(try value("FUNCTION(\(path), 'lastPathComponent')") == AttributeValue(last))
    #expect(try value("FUNCTION(\(path), 'pathExtension')") == AttributeValue(suffix))
    #expect(try value("FUNCTION(\(path), 'stringByDeletingPathExtension')") == AttributeValue(stem))
    #expect(try value("FUNCTION(\(path), 'stringByDeletingLastPathComponent')") == AttributeValue(folder))
  }

  @Test func `a method without an argument is the same property of a key path`() throws {
    for name in ["name", "age", "height", "isMember", "born", "photo", "code", "pay", "site", "nick", "rating"] {
      let type = try #require(try ExpressionWorld.model().attribute(name, of: "Person")?.type)
      for key in ValueKey.all(on: type).map(\.rawValue) {
        #expect(try value("FUNCTION($source.\(name), '\(key)')") == value("$source.\(name).\(key)"), "\(name).\(key)")
      }
    }
  }

  // MARK: Numbers and data

  @Test func `decimals round as whole numbers of the smallest unit do`() throws {
    for seed in testSeeds(2000) {
      var random = SeededGenerator(seed: seed)
      let places = random.below(5)
      let units = (random.below(2_000_001) - 1_000_000)
      let scale = random.below(8) - 3
      let mode = try #require(DecimalRounding.Mode(rawValue: Int64(random.below(4))))
      // In ten-thousandths, with a unit to round to.
      let number = units * Int(pow(10.0, Double(4 - places)))
      let unit = Int(pow(10.0, Double(4 - min(scale, 4))))
      let (low, rest) = { $0.1 < 0 ? ($0.0 - 1, $0.1 + unit) : $0 }(number.quotientAndRemainder(dividingBy: unit))
      let isUp: Bool =
        switch mode {
        case .down: false
        case .up: rest > 0
        case .plain: 2 * rest > unit || 2 * rest == unit && number > 0
        case .bankers: 2 * rest > unit || 2 * rest == unit && low % 2 != 0
        }
      let expected = Decimal((low + (isUp ? 1 : 0)) * unit) / 10000
      let decimal = Decimal(sign: units < 0 ? .minus : .plus, exponent: -places, significand: Decimal(abs(units)))
      let found = DecimalRounding(mode, scale: scale).round(decimal)
      #expect(found == expected, "seed \(seed): \(decimal) to \(scale) by \(mode)")
    }
  }

  @Test(
    arguments: [
      (0, []), (1, [.lineLength64Characters]), (2, [.lineLength76Characters]),
      (17, [.lineLength64Characters, .endLineWithCarriageReturn]),
      (34, [.lineLength76Characters, .endLineWithLineFeed]),
      (49, [.lineLength64Characters, .endLineWithCarriageReturn, .endLineWithLineFeed]),
    ] as [(Int, Data.Base64EncodingOptions)]) func `base64 has the lines of its options`(
      number: Int, options: Data.Base64EncodingOptions
    ) throws
  {
    for count in [0, 1, 47, 48, 49, 57, 58, 200] {
      let bytes = (0..<count).map { UInt8($0 & 0x7F) }
      let data = "FUNCTION(\(quoted(String(decoding: bytes, as: UTF8.self))), 'dataUsingEncoding:', 4)"
      #expect(
        try value("FUNCTION(\(data), 'base64EncodedStringWithOptions:', \(number))")
          == AttributeValue(Data(bytes).base64EncodedString(options: options)))
    }
  }

  // MARK: Errors

  @Test(arguments: [
    ("FUNCTION('abc', 'substringToIndex:', 4)", "'substringToIndex:' has index 4, beyond a string of 3 UTF-16 units"),
    (
      "FUNCTION('abc', 'substringFromIndex:', -1)",
      "'substringFromIndex:' has index -1, beyond a string of 3 UTF-16 units"
    ),
    (
      "FUNCTION('é', 'substringFromIndex:', 9223372036854775807)",
      "'substringFromIndex:' has index 9223372036854775807, beyond a string of 1 UTF-16 units"
    ),
    (
      "FUNCTION('😀', 'substringToIndex:', 1)",
      "'substringToIndex:' has index 1, which cuts a character in two: a store holds no half of a surrogate pair"
    ),
    ("FUNCTION('abc', 'substringToIndex:', 0.5)", "'substringToIndex:' needs a whole number, found a number"),
    (
      "FUNCTION('abc', 'substringToIndex:', $source.rating)",
      "'substringToIndex:' needs a whole number, found nil: 'coalesce:' gives a value in its place"
    ),
    (
      "FUNCTION('abc', 'stringByAppendingString:', $source.nick)",
      "'stringByAppendingString:' needs a string, found nil: 'coalesce:' gives a value in its place"
    ),
    (
      "FUNCTION('a', 'dataUsingEncoding:', $source.age)",
      "'dataUsingEncoding:' knows encoding 4, which is UTF-8, found 40"
    ),
    (
      "FUNCTION('a', 'stringByPaddingToLength:withString:startingAtIndex:', 1e15, ' ', 0)",
      "'stringByPaddingToLength:withString:startingAtIndex:' takes a length from 0 to 1048576, found 1000000000000000"
    ),
    (
      "FUNCTION('a', 'stringByPaddingToLength:withString:startingAtIndex:', 3, '', 0)",
      "'stringByPaddingToLength:withString:startingAtIndex:' has index 0, beyond a padding of 0 UTF-16 units"
    ),
    (
      "FUNCTION('a', 'stringByPaddingToLength:withString:startingAtIndex:', 2, '😀', 0)",
      "'stringByPaddingToLength:withString:startingAtIndex:' cuts a character of the padding in two"
    ),
    ("FUNCTION({1}, 'objectAtIndex:', 1)", "'objectAtIndex:' has index 1, beyond a list of 1"),
    ("FUNCTION({}, 'objectAtIndex:', -1)", "'objectAtIndex:' has index -1, beyond a list of 0"),
    (
      "FUNCTION($source.pay, 'decimalNumberByDividingBy:', 0)",
      "'decimalNumberByDividingBy:' has no result: a division by zero, or a number too large or too small for a decimal"
    ),
    (
      "FUNCTION($source.pay, 'decimalNumberByRaisingToPower:', 9000000000000000000)",
      "'decimalNumberByRaisingToPower:' has no result: a division by zero, or a number too large or too small for a decimal"
    ),
    (
      "FUNCTION($source.pay, 'decimalNumberByMultiplyingByPowerOf10:', -400)",
      "'decimalNumberByMultiplyingByPowerOf10:' has no result: a division by zero, or a number too large or too small for a decimal"
    ),
    (
      "FUNCTION($source.pay, 'decimalNumberByRaisingToPower:', -1)",
      "'decimalNumberByRaisingToPower:' takes no negative exponent, found -1"
    ),
    (
      "FUNCTION($source.photo, 'base64EncodedStringWithOptions:', 3)",
      "'base64EncodedStringWithOptions:' takes 0, or 1 or 2 for lines of 64 or 76 characters and 16 or 32 for CR or LF at their ends, found 3"
    ),
    ("FUNCTION(1e300, 'integerValue')", "'integerValue' of a number that 64 bits do not hold"),
  ]) func `an argument that Foundation refuses is an error and never a trap`(text: String, message: String) throws {
    let error = #expect(throws: ExpressionError.self) { try value(text) }
    #expect(error?.message == message)
    #expect(error?.range == 0..<text.utf8.count)
  }

  @Test(arguments: [
    (
      "FUNCTION($source.name, 'substringToIndx:', 1)",
      "a string does not answer 'substringToIndx:' (did you mean 'substringToIndex:'?): for other methods, register a policy"
    ),
    (
      "FUNCTION($source.born, 'frobnicate')",
      "a date does not answer 'frobnicate' (it answers timeIntervalSinceReferenceDate, timeIntervalSince1970, dateByAddingTimeInterval:, timeIntervalSinceDate:, earlierDate:, laterDate:, isEqualToDate:, compare:): for other methods, register a policy"
    ),
    (
      "FUNCTION($source.age, 'decimalNumberByAdding:', 1)",
      "a number does not answer 'decimalNumberByAdding:' (it answers stringValue, intValue, integerValue, longLongValue, doubleValue, floatValue, boolValue, description, compare:, isEqualToNumber:): for other methods, register a policy"
    ),
    (
      "FUNCTION($source.pets, 'frist')",
      "a collection of 'Pet' objects does not answer 'frist' (it answers count, firstObject, lastObject, objectAtIndex:, componentsJoinedByString:): for other methods, register a policy"
    ),
    (
      "FUNCTION($source.clubs, 'firstObject')",
      "a collection of 'Club' objects has no order: only its [SIZE] can be read"
    ),
    (
      "FUNCTION($source.clubs.name, 'componentsJoinedByString:', ',')",
      "a collection of values has no order in which it could be joined"
    ),
    (
      "FUNCTION($source.pets, 'componentsJoinedByString:', ',')",
      "only values can be joined, found a collection of 'Pet' objects: name an attribute of the objects"
    ),
    (
      "FUNCTION($source.manager, 'name')",
      "FUNCTION does not call methods of an object of 'Person': read its properties as in $source.manager.name, or register a policy and call $entityPolicy"
    ),
    (
      "FUNCTION(CAST('NSUID', 'Class'), 'UUID')",
      "no class 'NSUID' (did you mean 'NSUUID'?): expressions know NSCharacterSet, NSData, NSDate, NSDecimalNumberHandler, NSString, NSURL, NSUUID, a policy does the rest"
    ),
    (
      "FUNCTION(CAST('NSURL', 'Class'), 'URLWithSring:', 'a')",
      "class 'NSURL' does not answer 'URLWithSring:' (did you mean 'URLWithString:'?): for other methods, register a policy"
    ),
    ("CAST('NSURL', 'Class')", ""),
    ("FUNCTION($source.name, 'hasPrefix:')", "'hasPrefix:' takes 1 argument, found 0"),
    ("FUNCTION($source.name, 'hasPrefix:', 1)", "'hasPrefix:' needs a string, found a number"),
    ("FUNCTION($source.name, 'hasPrefix:', nil)", "'hasPrefix:' needs a string, found nil"),
    (
      "FUNCTION($source.name, 'stringByTrimmingCharactersInSet:', ' ')",
      "'stringByTrimmingCharactersInSet:' needs a character set, such as FUNCTION(CAST(\"NSCharacterSet\", \"Class\"), \"whitespaceCharacterSet\"), found a string"
    ),
    (
      "FUNCTION(CAST('NSCharacterSet', 'Class'), 'characterSetWithCharactersInString:', $source.name)",
      "'characterSetWithCharactersInString:' needs its characters in quotes"
    ),
    ("CAST($source.name, 'Class')", "CAST to 'Class' needs the name of a class in quotes"),
  ]) func `a method that cannot work is refused before the run`(text: String, message: String) throws {
    guard !message.isEmpty else {
      let attribute = AttributeDescription(name: "target", type: .string)
      let checker = ExpressionChecker(model: try ExpressionWorld.model(), entityName: "Person", role: .value)
      let error = #expect(throws: ExpressionError.self) {
        try checker.check(ValueExpression(parsing: text), assignableTo: attribute)
      }
      #expect(error?.message == "attribute 'target' is String, found class 'NSURL'")
      return
    }
    let error = #expect(throws: ExpressionError.self) { try value(text) }
    #expect(error?.message == message)
  }

  @Test func `methods are sent without a trap, whatever the arguments are`() throws {
    let values = [
      "nil", "-1", "9223372036854775807", "-9223372036854775808", "1.5", "1e300", "''", "'a'", "'😀'", "$source.rating",
      "$source.pay", "$source.born", "$source.photo", "$source.site", "$source.code", "{}", "{1, nil}", "$source.pets",
      "YES",
    ].map { try? ValueExpression(parsing: $0) }.compactMap(\.self)
    let person = try #require(ExpressionWorld.object("Person", 1, in: try ExpressionWorld.model()))
    let evaluator = ExpressionEvaluator(now: 0, role: .value, bindsSource: true)
    let selectors = Set(
      ExpressionMethod.all.map(\.selector) + ["objectAtIndex:", "componentsJoinedByString:", "length"])
    var answered = 0
    for selector in selectors.sorted() {
      let count = selector.utf8.count { $0 == UInt8(ascii: ":") }
      for receiver in values {
        for argument in values.prefix(count == 0 ? 1 : values.count) {
          let call = ValueExpression(
            .call(operand: receiver, selector: selector, arguments: Array(repeating: argument, count: count)))
          // No checker has looked at it.
          if (try? evaluator.compile(call).evaluate(with: person)) != nil { answered += 1 }
        }
      }
    }
    #expect(answered > 500)
  }
}
