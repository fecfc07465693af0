import Foundation
import GodwitModel
import GodwitStore

/// Strings: comparisons that SQLite has no equal of, and validation patterns.
extension SQLFunctions {
  func registerText() throws {
    typealias Test = (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool
    func test(_ name: String, _ body: @escaping Test) throws {
      try register(name, arguments: 2) { _, arguments in
        guard arguments.kind(0) != .null, arguments.kind(1) != .null else { return .value(.null) }
        let result = arguments.withBytes(0) { text in arguments.withBytes(1) { body(text, $0) } }
        return .value(.integer(result ? 1 : 0))
      }
    }
    try test("godwit_begins_with") { text, part in text.starts(with: part) }
    try test("godwit_ends_with") { text, part in text.count >= part.count && text.suffix(part.count).elementsEqual(part)
    }
    try test("godwit_contains") { text, part in StringComparison.contains(text, part) }
    // godwit_fold(text, options): the form of the text that is compared.
    try register("godwit_fold", arguments: 2) { _, arguments in
      guard arguments.kind(0) == .text else { return .argument(0) }
      return .value(.text(StringComparison.folded(arguments.bytes(0), Self.options(arguments.int64(1)))))
    }
    try register("godwit_like", arguments: 3) { _, arguments in
      guard arguments.kind(0) != .null, arguments.kind(1) != .null else { return .value(.null) }
      let fits = StringComparison.like(arguments.bytes(0), arguments.bytes(1), Self.options(arguments.int64(2)))
      return .value(.integer(fits ? 1 : 0))
    }
    // godwit_regex(text, pattern, options, site, key)
    try register("godwit_regex", arguments: 5) { functions, arguments in
      guard arguments.kind(0) != .null, arguments.kind(1) != .null else { return .value(.null) }
      switch StringComparison.match(arguments.bytes(0), arguments.bytes(1), Self.options(arguments.int64(2))) {
      case .fits: return .value(.integer(1))
      case .differs: return .value(.integer(0))
      case .noPattern:
        throw functions.failure("the right side of MATCHES is not a regular expression", arguments, site: 3, key: 4)
      case .tooLong:
        throw functions.failure(
          "the regular expression of MATCHES takes too long on this text", arguments, site: 3, key: 4)
      }
    }
    try register("godwit_length", arguments: 1) { _, arguments in
      guard arguments.kind(0) == .text else { return .value(.null) }
      return .value(.integer(Int64(arguments.withBytes(0) { Self.utf16Count($0) })))
    }
    // godwit_utf8(text): 1 for UTF-8, 0 for other bytes.
    try register("godwit_utf8", arguments: 1) { _, arguments in
      .value(.integer(arguments.withBytes(0) { Text.isUTF8($0) } ? 1 : 0))
    }
    // godwit_archive(data): 1 for a keyed archive of one object, 0 for other bytes.
    try register("godwit_archive", arguments: 1) { _, arguments in
      .value(.integer((try? ArchivedGraph(archive: arguments.bytes(0))) == nil ? 0 : 1))
    }
    // godwit_derive(function, text): canonical, uppercase, lowercase.
    try register("godwit_derive", arguments: 2) { _, arguments in
      let functions = Derivation.Function.allCases
      let number = Int(arguments.int64(0))
      guard arguments.kind(1) == .text, functions.indices.contains(number) else { return .value(.null) }
      return .value(.text(Array(functions[number](String(decoding: arguments.bytes(1), as: UTF8.self)).utf8)))
    }
    try register("godwit_matches", arguments: 2) { functions, arguments in
      let number = Int(arguments.int64(0))
      let patterns = functions.statement.inputs.patterns
      guard arguments.kind(1) == .text, patterns.indices.contains(number) else { return .value(.null) }
      let text = String(decoding: arguments.bytes(1), as: UTF8.self)
      let all = NSRange(text.startIndex..., in: text)
      return .value(.integer(patterns[number].firstMatch(in: text, range: all) == nil ? 0 : 1))
    }
  }

  package static let pieceBytes = 1 << 16

  /// The length in UTF-16 of the string that the bytes are as UTF-8, counted a piece at a time.
  package static func utf16Count(_ bytes: UnsafeRawBufferPointer, pieceBytes: Int = pieceBytes) -> Int {
    func isWithin(_ place: Int) -> Bool { bytes[place] & 0xc0 == 0x80 }
    var count = 0
    var start = 0
    while start < bytes.count {
      var end = min(start + max(4, pieceBytes), bytes.count)
      // Pieces end between characters. After three continuation bytes, a fourth belongs to no character.
      if end < bytes.count, let begin = (0..<4).first(where: { !isWithin(end - $0) }) { end -= begin }
      count += String(decoding: bytes[start..<end], as: UTF8.self).utf16.count
      start = end
    }
    return count
  }

  private static func options(_ raw: Int64) -> StringComparison.Options {
    StringComparison.Options(rawValue: Int(truncatingIfNeeded: raw))
  }
}
