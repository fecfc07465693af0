/// Splits expression text into tokens with their UTF-8 ranges.
struct ExpressionLexer {
  enum Kind: Hashable {
    case word(escaped: Bool)
    case number
    case string
    case variable
    case symbol
    /// `%@`, `%K`, `%d`, …: the text after the `%`.
    case argument
    case end
  }

  struct Token {
    var kind: Kind
    /// The word without `#`, the variable without `$`, the unescaped string, or the text as written.
    var text: String
    var range: Range<Int>
  }

  static let maximumLength = 1 << 20

  private let bytes: [UInt8]
  private var position = 0

  static func tokens(of text: String) throws(ExpressionError) -> [Token] {
    var lexer = ExpressionLexer(bytes: Array(text.utf8))
    guard lexer.bytes.count <= maximumLength else {
      throw ExpressionError("the text is longer than 1 MiB", range: 0..<0)
    }
    var result: [Token] = []
    while let token = try lexer.next() { result.append(token) }
    result.append(Token(kind: .end, text: "", range: lexer.bytes.count..<lexer.bytes.count))
    return result
  }

  private init(bytes: [UInt8]) { self.bytes = bytes }

  private func byte(_ offset: Int = 0) -> UInt8? {
    let index = position + offset
    return index < bytes.count ? bytes[index] : nil
  }

  private func slice(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  private static func startsWord(_ c: UInt8) -> Bool {
    (c | 0x20 >= 0x61 && c | 0x20 <= 0x7A) || c == 0x5F || c >= 0x80
  }

  private static func isDigit(_ c: UInt8) -> Bool { c >= 0x30 && c <= 0x39 }

  private static func continuesWord(_ c: UInt8) -> Bool { startsWord(c) || isDigit(c) }

  private mutating func skipWord() {
    while let c = byte(), Self.continuesWord(c) { position += 1 }
  }

  private mutating func next() throws(ExpressionError) -> Token? {
    while let c = byte(), c == 0x20 || (c >= 0x09 && c <= 0x0D) { position += 1 }
    guard let c = byte() else { return nil }
    let start = position
    if Self.startsWord(c) || c == UInt8(ascii: "@") {
      position += 1
      skipWord()
      // `add:to:` is one name; `:=` is not part of it.
      while byte() == UInt8(ascii: ":"), byte(1) != UInt8(ascii: "=") {
        position += 1
        skipWord()
      }
      if position == start + 1, c == UInt8(ascii: "@") {
        throw ExpressionError("expected a name after '@'", range: start..<position)
      }
      return Token(kind: .word(escaped: false), text: slice(start..<position), range: start..<position)
    }
    if c == UInt8(ascii: "#") || c == UInt8(ascii: "$") {
      position += 1
      let nameStart = position
      guard let first = byte(), Self.startsWord(first) else {
        throw ExpressionError("expected a name after '\(slice(start..<position))'", range: start..<position)
      }
      skipWord()
      let kind: Kind = c == UInt8(ascii: "#") ? .word(escaped: true) : .variable
      return Token(kind: kind, text: slice(nameStart..<position), range: start..<position)
    }
    if Self.isDigit(c) || (c == UInt8(ascii: ".") && byte(1).map(Self.isDigit) == true) { return number() }
    if c == UInt8(ascii: "\"") || c == UInt8(ascii: "'") { return try string(quote: c) }
    if c == UInt8(ascii: "%") { return try argument() }
    for symbol in ["**", "==", "!=", "<>", "<=", "=<", ">=", "=>", "&&", "||", ":=", "<<", ">>"] {
      if bytes[start...].starts(with: symbol.utf8) {
        position += 2
        return Token(kind: .symbol, text: symbol, range: start..<position)
      }
    }
    position += 1
    let text = slice(start..<position)
    guard "+-*/=<>!(){}[],.&|^~".utf8.contains(c) else {
      let hint = c == UInt8(ascii: "?") ? Self.choice(isDouble: byte() == c) : ""
      throw ExpressionError("unexpected character '\(text)'\(hint)", range: start..<position)
    }
    return Token(kind: .symbol, text: text, range: start..<position)
  }

  /// The remedy for `? :` and `??`.
  private static func choice(isDouble: Bool) -> String {
    isDouble ? ": write 'coalesce:(a, b)'" : ": write 'TERNARY(condition, a, b)'"
  }

  /// `%@` and `%K`, and C's conversions of numbers.
  private mutating func argument() throws(ExpressionError) -> Token {
    let start = position
    for form in ["@", "K", "lld", "llu", "lli", "ld", "lu", "li", "lf", "d", "i", "u", "f", "g"]
    where bytes[(start + 1)...].starts(with: form.utf8) {
      position += 1 + form.utf8.count
      return Token(kind: .argument, text: form, range: start..<position)
    }
    throw ExpressionError(
      "expected '%@', '%K' or a number such as '%d' after '%'", range: start..<min(start + 2, bytes.count))
  }

  private mutating func number() -> Token {
    let start = position
    if byte() == 0x30, let marker = byte(1), "xXoObB".utf8.contains(marker) {
      position += 2
      skipWord()
      return Token(kind: .number, text: slice(start..<position), range: start..<position)
    }
    while let c = byte(), Self.isDigit(c) { position += 1 }
    if byte() == UInt8(ascii: "."), byte(1).map(Self.isDigit) == true {
      position += 1
      while let c = byte(), Self.isDigit(c) { position += 1 }
    }
    if let c = byte(), c | 0x20 == 0x65 {
      let sign = byte(1) == UInt8(ascii: "+") || byte(1) == UInt8(ascii: "-") ? 2 : 1
      if byte(sign).map(Self.isDigit) == true {
        position += sign
        while let c = byte(), Self.isDigit(c) { position += 1 }
      }
    }
    // A letter that touches the number makes the whole an invalid number, not two tokens.
    skipWord()
    return Token(kind: .number, text: slice(start..<position), range: start..<position)
  }

  private mutating func string(quote: UInt8) throws(ExpressionError) -> Token {
    let start = position
    position += 1
    var content: [UInt8] = []
    while let c = byte() {
      position += 1
      if c == quote {
        return Token(kind: .string, text: String(decoding: content, as: UTF8.self), range: start..<position)
      }
      guard c == UInt8(ascii: "\\") else {
        content.append(c)
        continue
      }
      let escape = position - 1
      guard let e = byte() else { break }
      position += 1
      switch e {
      case UInt8(ascii: "n"): content.append(0x0A)
      case UInt8(ascii: "r"): content.append(0x0D)
      case UInt8(ascii: "t"): content.append(0x09)
      case UInt8(ascii: "a"): content.append(0x07)
      case UInt8(ascii: "b"): content.append(0x08)
      case UInt8(ascii: "v"): content.append(0x0B)
      case UInt8(ascii: "f"): content.append(0x0C)
      case UInt8(ascii: "0"): content.append(0x00)
      case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "'"): content.append(e)
      case UInt8(ascii: "x"), UInt8(ascii: "U"), UInt8(ascii: "u"):
        let isShort = e == UInt8(ascii: "u")
        var value = try hexDigits(isShort ? 4 : e == UInt8(ascii: "x") ? 2 : 8, escape)
        if isShort, value & 0xFC00 == 0xD800, byte() == UInt8(ascii: "\\"), byte(1) == UInt8(ascii: "u") {
          position += 2
          let low = try hexDigits(4, escape)
          value = low & 0xFC00 == 0xDC00 ? 0x10000 + (value & 0x3FF) << 10 + (low & 0x3FF) : 0xD800
        }
        guard let scalar = Unicode.Scalar(value) else {
          throw ExpressionError("the escape names no Unicode character", range: escape..<position)
        }
        content.append(contentsOf: String(Character(scalar)).utf8)
      default:
        throw ExpressionError(
          "unknown escape in a string (a backslash itself is written '\\\\')", range: escape..<position)
      }
    }
    throw ExpressionError("the string has no closing quote", range: start..<bytes.count)
  }

  private mutating func hexDigits(_ count: Int, _ escape: Int) throws(ExpressionError) -> UInt32 {
    let end = min(position + count, bytes.count)
    let digits = slice(position..<end)
    guard digits.utf8.count == count, !digits.hasPrefix("+"), !digits.hasPrefix("-"),
      let value = UInt32(digits, radix: 16)
    else {
      let words = count == 2 ? "two" : count == 4 ? "four" : "eight"
      throw ExpressionError(
        "expected \(words) hexadecimal digits after '\(slice(escape..<min(escape + 2, bytes.count)))'",
        range: escape..<end)
    }
    position = end
    return value
  }
}
