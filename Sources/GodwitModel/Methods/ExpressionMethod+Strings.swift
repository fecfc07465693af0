import Foundation

/// The methods of strings. A new one is a row here. Texts are found by byte, and lengths count UTF-16 code units.
extension ExpressionMethod {
  private typealias Row = ExpressionMethod

  static let strings: [ExpressionMethod] = joining + parts + tests

  private static let joining: [ExpressionMethod] = [
    Row(.string, "stringByAppendingString:", [.string], .string) { a, b in
      .string(Text(utf8: a.characters.utf8 + b.text(0).utf8))
    },
    Row(.string, "stringByReplacingOccurrencesOfString:withString:", [.string, .string], .string) { a, b in
      .string(a.characters.replacing(b.text(0), with: b.text(1)))
    },
    Row(.string, "stringByPaddingToLength:withString:startingAtIndex:", [.whole, .string, .whole], .string) {
      a, b throws(ExpressionError) in
      .string(try padded(a.characters, to: b.whole(0), with: b.text(1), from: b.whole(2)))
    },
    Row(.string, "stringByTrimmingCharactersInSet:", [.characters], .string) { a, b in
      .string(b.characters.map(a.characters.trimming) ?? a.characters)
    },
    Row(.string, "dataUsingEncoding:", [.whole], .binary) { a, b throws(ExpressionError) in
      guard b.whole(0) == utf8Encoding else {
        throw ExpressionError("knows encoding 4, which is UTF-8, found \(b.whole(0))", range: 0..<0)
      }
      return .data(a.characters.utf8)
    },
  ]

  private static let parts: [ExpressionMethod] = [
    Row(.string, "substringToIndex:", [.whole], .string) { a, b throws(ExpressionError) in
      .string(try cut(a.characters, at: b.whole(0)).before)
    },
    Row(.string, "substringFromIndex:", [.whole], .string) { a, b throws(ExpressionError) in
      .string(try cut(a.characters, at: b.whole(0)).after)
    },
    Row(.string, "componentsSeparatedByString:", [.string], .values(.string)) { a, b in
      .values(a.characters.split(by: b.text(0)).map { .string($0) })
    },
    Row(.string, "componentsSeparatedByCharactersInSet:", [.characters], .values(.string)) { a, b in
      .values((b.characters.map { a.characters.split(by: $0) } ?? [a.characters]).map { .string($0) })
    },
  ]

  // Foundation finds the empty string nowhere.
  private static let tests: [ExpressionMethod] = [
    Row(.string, "hasPrefix:", [.string], .boolean) { a, b in
      .boolean(!b.text(0).utf8.isEmpty && a.characters.utf8.starts(with: b.text(0).utf8))
    },
    Row(.string, "hasSuffix:", [.string], .boolean) { a, b in
      .boolean(!b.text(0).utf8.isEmpty && StringComparison.endsWith(a.characters.utf8, b.text(0).utf8))
    },
    Row(.string, "containsString:", [.string], .boolean) { a, b in
      .boolean(!b.text(0).utf8.isEmpty && StringComparison.contains(a.characters.utf8, b.text(0).utf8))
    },
    Row(.string, "isEqualToString:", [.string], .boolean) { a, b in .boolean(a.characters == b.text(0)) },
    Row(.string, "compare:", [.string], .integer64) { a, b in
      .integer(a.characters == b.text(0) ? 0 : a.characters < b.text(0) ? -1 : 1)
    },
  ]

  /// `NSUTF8StringEncoding`.
  static let utf8Encoding: Int64 = 4
  /// The longest text that padding makes, in UTF-16 code units.
  private static let lengthMaximum: Int64 = 1 << 20

  private static func cut(_ text: Text, at index: Int64) throws(ExpressionError) -> (before: Text, after: Text) {
    switch text.cut(at: index) {
    case .parts(let before, let after): return (before, after)
    case .beyond(let length):
      throw ExpressionError("has index \(index), beyond a string of \(length) UTF-16 units", range: 0..<0)
    case .withinCharacter:
      throw ExpressionError(
        "has index \(index), which cuts a character in two: a store holds no half of a surrogate pair", range: 0..<0)
    }
  }

  private static func padded(
    _ text: Text, to length: Int64, with padding: Text, from start: Int64
  ) throws(ExpressionError) -> Text {
    guard length >= 0, length <= lengthMaximum else {
      throw ExpressionError("takes a length from 0 to \(lengthMaximum), found \(length)", range: 0..<0)
    }
    let missing = length - Int64(text.utf16Count)
    guard missing > 0 else { return try cut(text, at: length).before }
    let unit = Array(padding.string.utf16)
    guard start >= 0, start < Int64(unit.count) else {
      throw ExpressionError("has index \(start), beyond a padding of \(unit.count) UTF-16 units", range: 0..<0)
    }
    let units = (0..<Int(missing)).map { unit[(Int(start) + $0) % unit.count] }
    guard let added = String(validating: units, as: UTF16.self) else {
      throw ExpressionError("cuts a character of the padding in two", range: 0..<0)
    }
    return Text(utf8: text.utf8 + added.utf8)
  }
}

extension AttributeValue {
  /// The text of a string, which the receiver is.
  fileprivate var characters: Text { text ?? "" }
}
