/// A pattern for one name: `*` is any text, `?` one character, `[a-z]` one of a set, `[!a-z]` one outside of it.
///
/// A `[` without its `]` is the character itself. To match one of these characters, put it in brackets: `[*]`. As in a
/// shell, a name that begins with a dot is matched only by a pattern that begins with one.
struct NamePattern: Sendable, Hashable {
  private enum Token: Sendable, Hashable {
    case character(Character)
    case one
    case many
    case set([ClosedRange<Character>], isNegated: Bool)
  }

  private let tokens: [Token]
  /// The byte of each token, where all of them are `*` or characters of ASCII.
  private let bytes: [UInt8]?
  /// Whether anything but characters that stand for themselves is in it.
  let hasWildcards: Bool
  /// Whether `*` or `?` is in it.
  var isOpen: Bool { tokens.contains { $0 == .many || $0 == .one } }

  init(_ text: some StringProtocol) {
    var tokens: [Token] = []
    var rest = Substring(text)
    while let character = rest.popFirst() {
      switch character {
      case "*":
        if tokens.last != .many { tokens.append(.many) }
      case "?": tokens.append(.one)
      case "[":
        if let (set, after) = Self.set(rest) {
          tokens.append(set)
          rest = after
        } else {
          tokens.append(.character(character))
        }
      default: tokens.append(.character(character))
      }
    }
    self.tokens = tokens
    let own = tokens.compactMap { token -> UInt8? in
      switch token {
      case .many: 0
      case .character(let character) where character != "\r\n": character.asciiValue
      default: nil
      }
    }
    bytes = own.count == tokens.count ? own : nil
    hasWildcards = tokens.contains { if case .character = $0 { false } else { true } }
  }

  /// The set after a `[`, and what follows its `]`; nil when there is none.
  private static func set(_ text: Substring) -> (Token, Substring)? {
    var rest = text
    var isNegated = false
    if let first = rest.first, first == "!" || first == "^" {
      isNegated = true
      rest.removeFirst()
    }
    var ranges: [ClosedRange<Character>] = []
    while let character = rest.popFirst() {
      // The first may be a bracket itself.
      if character == "]", !ranges.isEmpty { return (.set(ranges, isNegated: isNegated), rest) }
      if rest.first == "-", let last = rest.dropFirst().first, last != "]" {
        rest = rest.dropFirst(2)
        if character <= last { ranges.append(character...last) } else { ranges.append(last...character) }
      } else {
        ranges.append(character...character)
      }
    }
    return nil
  }

  /// Whether the whole name matches.
  func matches(_ name: String) -> Bool {
    if name.utf8.first == UInt8(ascii: "."), name.hasPrefix("."), tokens.first != .character(".") { return false }
    // In a name of ASCII each byte is a character, but for a carriage return before a line feed.
    if let bytes, name.utf8.allSatisfy({ $0 < 0x80 && $0 != 0x0D }) {
      return matches(Array(name.utf8)) { bytes[$0] == $1 }
    }
    return matches(Array(name)) { Self.matches(tokens[$0], $1) }
  }

  /// - Parameter isMatch: Whether the token of a number stands for a character.
  private func matches<Element>(_ characters: [Element], _ isMatch: (Int, Element) -> Bool) -> Bool {
    var (token, character) = (0, 0)
    // Where the last `*` is, and up to where it reaches.
    var star: (token: Int, character: Int)?
    while character < characters.count {
      if token < tokens.count, tokens[token] == .many {
        star = (token, character)
        token += 1
      } else if token < tokens.count, isMatch(token, characters[character]) {
        token += 1
        character += 1
      } else if let last = star {
        star = (last.token, last.character + 1)
        (token, character) = (last.token + 1, last.character + 1)
      } else {
        return false
      }
    }
    return tokens[token...].allSatisfy { $0 == .many }
  }

  private static func matches(_ token: Token, _ character: Character) -> Bool {
    switch token {
    case .character(let own): own == character
    case .one, .many: true
    case .set(let ranges, let isNegated): ranges.contains { $0.contains(character) } != isNegated
    }
  }
}
