/// A path with placeholders for the parts of a store's path, such as `out/{name}.sqlite`.
///
/// `{{name}}` stands for the text `{name}`. Other braces are text.
struct StorePlaceholders: Sendable, Hashable {
  /// The words that may stand in braces.
  enum Word: String, Sendable, CaseIterable {
    /// The file's name without its last extension. A name of dots before it is none: `..sqlite` has no extension.
    case name
    /// The last extension with its dot; empty without one.
    case ext
    /// The file's name.
    case file
    /// The folder below the fixed part of the pattern.
    case folder
  }

  private enum Piece: Sendable, Hashable {
    case text(String)
    case word(Word)
  }

  private var pieces: [Piece] = []
  /// Words in braces that are none of those.
  private(set) var unknown: [String] = []
  private var hasNameOfExtension = false

  init(_ text: String) {
    var plain = ""
    var rest = text[...]
    while let first = rest.first {
      if let (word, after) = Self.word(rest.dropFirst(), opening: "{{", in: rest) {
        plain += "{\(word)}"
        rest = after
      } else if let (word, after) = Self.word(rest, opening: "{", in: rest) {
        rest = after
        guard let known = Word(rawValue: word) else {
          unknown.append(word)
          plain += "{\(word)}"
          continue
        }
        pieces += [.text(plain), .word(known)]
        plain = ""
      } else {
        plain.append(first)
        rest.removeFirst()
      }
    }
    pieces.append(.text(plain))
    hasNameOfExtension = makeHasNameOfExtension()
  }

  /// A path as it is written where placeholders may stand, without any.
  static func plainText(_ path: String) -> String { path.replacing(#/\{([A-Za-z]+)\}/#) { "{{\($0.1)}}" } }

  /// A word of letters in braces, and what follows it.
  private static func word(
    _ text: Substring, opening: String, in whole: Substring
  ) -> (word: String, after: Substring)? {
    guard whole.hasPrefix(opening), text.first == "{" else { return nil }
    let word = text.dropFirst().prefix { $0.isASCII && $0.isLetter }
    let after = text.dropFirst(1 + word.count)
    let closing = opening == "{{" ? "}}" : "}"
    guard !word.isEmpty, after.hasPrefix(closing) else { return nil }
    return (String(word), after.dropFirst(closing.count))
  }

  /// Whether any word is in it.
  var hasWords: Bool { !pieces.allSatisfy { if case .text = $0 { true } else { false } } }

  /// Whether it differs from file to file of a folder.
  var hasName: Bool { pieces.contains(.word(.name)) || pieces.contains(.word(.file)) }

  /// Whether a name between slashes has the extension of a store in it, and neither its name nor its file.
  private func makeHasNameOfExtension() -> Bool {
    // A slash cannot be in a word.
    let marked = path { $0 == .folder ? "" : $0 == .ext ? "\u{1}" : "\u{0}" }
    return marked.utf8.split(separator: UInt8(ascii: "/")).contains { $0.contains(1) && !$0.contains(0) }
  }

  /// The folder before the first word, with a slash at its end; empty where the word is in the first name.
  var fixedFolder: String {
    guard case .text(let text)? = pieces.first, let end = text.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
    return String(decoding: text.utf8[...end], as: UTF8.self)
  }

  /// The path without words.
  var plain: String { path { _ in "" } }

  /// The path for a store. An empty folder leaves no empty name in it.
  func path(for match: StorePattern.Match) -> String {
    let path = path { Self.value(of: $0, match) }
    // Most of a million paths have no such name.
    guard Self.hasIdleName(path) else { return path }
    let names = path.split(separator: "/").filter { $0 != "." }
    return (path.hasPrefix("/") ? "/" : "") + names.joined(separator: "/")
  }

  /// Whether a name of a path is empty or a dot.
  private static func hasIdleName(_ path: String) -> Bool {
    var length = 0
    var isDot = false
    var isFirst = true
    for byte in path.utf8 {
      guard byte == UInt8(ascii: "/") else {
        length += 1
        isDot = length == 1 && byte == UInt8(ascii: ".")
        continue
      }
      if length == 0 && !isFirst || isDot { return true }
      (length, isDot, isFirst) = (0, false, false)
    }
    return length == 0 || isDot
  }

  /// Why a store has no path: its placeholders would lead to another folder. nil for nearly every store.
  func obstacle(for match: StorePattern.Match) -> String? {
    let dot = UInt8(ascii: ".")
    let mayLeadUp = zip(match.folder.utf8, match.folder.utf8.dropFirst()).contains { $0 == dot && $1 == dot }
    guard mayLeadUp || hasNameOfExtension || match.name.utf8.allSatisfy({ $0 == dot }) else { return nil }
    return thoroughObstacle(for: match)
  }

  private func thoroughObstacle(for match: StorePattern.Match) -> String? {
    if match.folder.split(separator: "/").contains("..") { return "'..' in {folder}" }
    // The words of a name, one after the other, with a mark where the text of the path is.
    let marked = path { $0 == .folder ? "folder" : "\u{0}" + Self.value(of: $0, match) }
    for name in marked.split(separator: "/") where name.contains("\u{0}") {
      let name = name.replacing("\u{0}", with: "")
      if ["", ".", ".."].contains(name) { return "the name '\(name)'" }
    }
    return nil
  }

  private static func value(of word: Word, _ match: StorePattern.Match) -> String {
    let bytes = match.name.utf8
    let dot =
      bytes.lastIndex(of: UInt8(ascii: ".")).flatMap { end in
        bytes[..<end].contains { $0 != UInt8(ascii: ".") } ? end : nil
      } ?? bytes.endIndex
    return switch word {
    case .name: String(decoding: bytes[..<dot], as: UTF8.self)
    case .ext: String(decoding: bytes[dot...], as: UTF8.self)
    case .file: match.name
    case .folder: match.folder.isEmpty ? "." : match.folder
    }
  }

  private func path(_ value: (Word) -> String) -> String {
    pieces.map {
      switch $0 {
      case .text(let text): text
      case .word(let word): value(word)
      }
    }.joined()
  }
}
