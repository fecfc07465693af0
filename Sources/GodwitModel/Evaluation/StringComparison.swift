import Foundation

/// Comparisons of strings as predicates make them, by byte unless options say otherwise.
///
/// `[c]` compares lower case forms, `[d]` drops combining marks after canonical decomposition; the
/// locale never counts, so `[l]` and `[n]` change nothing. Invalid UTF-8 reads as U+FFFD where an
/// option, `LIKE` or `MATCHES` needs characters.
package enum StringComparison {
  package typealias Options = FilterPredicate.Comparison.Options

  /// No character before it is a combining mark.
  package static let firstMark: UInt32 = 0x300

  /// How often ICU may report on one match; it does so after every 10,000 steps.
  private static let maximumReports = 2000

  package static func equal(_ a: [UInt8], _ b: [UInt8], _ options: Options = []) -> Bool {
    folded(a, options) == folded(b, options)
  }

  package static func less(_ a: [UInt8], _ b: [UInt8], _ options: Options = []) -> Bool {
    folded(a, options).lexicographicallyPrecedes(folded(b, options))
  }

  package static func beginsWith(_ text: [UInt8], _ part: [UInt8], _ options: Options = []) -> Bool {
    folded(text, options).starts(with: folded(part, options))
  }

  package static func endsWith(_ text: [UInt8], _ part: [UInt8], _ options: Options = []) -> Bool {
    let (text, part) = (folded(text, options), folded(part, options))
    return text.count >= part.count && text.suffix(part.count).elementsEqual(part)
  }

  /// Whether `text` contains `part`, in linear time.
  package static func contains(_ text: [UInt8], _ part: [UInt8], _ options: Options = []) -> Bool {
    let (text, part) = (folded(text, options), folded(part, options))
    return text.withUnsafeBytes { text in part.withUnsafeBytes { contains(text, $0) } }
  }

  /// The same by byte, without a copy of either.
  package static func contains(_ text: UnsafeRawBufferPointer, _ part: UnsafeRawBufferPointer) -> Bool {
    guard let first = part.first else { return true }
    guard text.count >= part.count else { return false }
    guard part.count > 1 else { return text.contains(first) }
    // Knuth, Morris, Pratt: the length of the longest proper border of each prefix.
    var borders = [Int](repeating: 0, count: part.count)
    var length = 0
    for place in 1..<part.count {
      while length > 0, part[length] != part[place] { length = borders[length - 1] }
      if part[length] == part[place] { length += 1 }
      borders[place] = length
    }
    var matched = 0
    for byte in text {
      while matched > 0, part[matched] != byte { matched = borders[matched - 1] }
      if part[matched] == byte { matched += 1 }
      if matched == part.count { return true }
    }
    return false
  }

  /// Whether the whole of `text` fits a pattern of `*` (any characters), `?` (one) and `\` (escapes the next).
  ///
  /// Characters are Unicode scalars. Time is at most the product of the lengths.
  package static func like(_ text: [UInt8], _ pattern: [UInt8], _ options: Options = []) -> Bool {
    LikePattern(pattern, options).fits(text)
  }

  /// The result of matching a text with a regular expression.
  package enum PatternResult: Sendable {
    case fits, differs
    /// The pattern is not an ICU regular expression.
    case noPattern
    /// Trying took more steps, or more room, than any sensible pattern needs.
    case tooLong
  }

  /// Whether an ICU regular expression fits the whole of `text`.
  ///
  /// The work is bounded by steps, not by time, so that every machine has the same result: at most 20 million of ICU's
  /// steps, about half a second.
  package static func match(_ text: [UInt8], _ pattern: [UInt8], _ options: Options = []) -> PatternResult {
    let marks = options.intersection(.diacriticInsensitive)
    guard
      let compiled = RegularExpressionCache.shared.compiled(
        string(pattern, marks), ignoresCase: options.contains(.caseInsensitive))
    else { return .noPattern }
    let text = string(text, marks)
    let all = NSRange(text.startIndex..., in: text)
    var result = PatternResult.differs
    var reports = 0
    compiled.enumerateMatches(in: text, options: [.anchored, .reportProgress, .reportCompletion], range: all) {
      match, flags, stop in
      if let match {
        result = match.range == all ? .fits : .differs
        stop.pointee = true
      } else if flags.contains(.internalError) {
        // ICU ran out of the room it allows itself to go back in.
        result = .tooLong
      } else if flags.contains(.progress) {
        reports += 1
        guard reports > maximumReports else { return }
        result = .tooLong
        stop.pointee = true
      }
    }
    return result
  }

  /// Whether the pattern is an ICU regular expression.
  package static func isPattern(_ pattern: [UInt8]) -> Bool {
    RegularExpressionCache.shared.compiled(String(decoding: pattern, as: UTF8.self), ignoresCase: false) != nil
  }

  /// The form that `canonical:` gives: lower case, without combining marks.
  package static func canonical(_ text: Text) -> Text {
    Text(utf8: folded(text.utf8, [.caseInsensitive, .diacriticInsensitive]))
  }

  /// The form of a text that is compared under the options; the text itself without `[c]` and `[d]`.
  package static func folded(_ bytes: [UInt8], _ options: Options) -> [UInt8] {
    guard !options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive]) else { return bytes }
    // ASCII has no marks.
    if bytes.isASCII { return options.contains(.caseInsensitive) ? bytes.map(\.lowercasedASCII) : bytes }
    return Array(string(bytes, options).utf8)
  }

  static func string(_ bytes: [UInt8], _ options: Options) -> String {
    var text = String(decoding: bytes, as: UTF8.self)
    if options.contains(.caseInsensitive) { text = text.lowercased() }
    if options.contains(.diacriticInsensitive) {
      var kept = String.UnicodeScalarView()
      for scalar in text.decomposedStringWithCanonicalMapping.unicodeScalars
      where scalar.value < firstMark || scalar.properties.generalCategory != .nonspacingMark {
        kept.append(scalar)
      }
      text = String(kept)
    }
    return text
  }
}
