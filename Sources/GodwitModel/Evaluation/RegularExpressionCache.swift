package import Foundation

/// The regular expressions compiled last. Compiling one costs more than most matches.
package final class RegularExpressionCache: @unchecked Sendable {
  package static let shared = RegularExpressionCache()
  /// The most expressions kept.
  package static let limit = 64

  private struct Key: Hashable {
    var pattern: Text
    var ignoresCase: Bool
  }

  package init() {}

  private let lock = NSLock()
  private var known: [Key: NSRegularExpression?] = [:]
  /// How often a pattern was compiled.
  package private(set) var compilations = 0

  /// How many are kept now.
  package var count: Int { lock.withLock { known.count } }

  package func compiled(_ pattern: String, ignoresCase: Bool) -> NSRegularExpression? {
    let key = Key(pattern: Text(pattern), ignoresCase: ignoresCase)
    lock.lock()
    defer { lock.unlock() }
    if let found = known[key] { return found }
    if known.count >= Self.limit { known.removeAll() }
    compilations += 1
    let options: NSRegularExpression.Options = ignoresCase ? [.caseInsensitive] : []
    // Foundation refuses the empty pattern, which fits the empty text.
    var result = try? NSRegularExpression(pattern: pattern.isEmpty ? "(?:)" : pattern, options: options)
    // The end is part of the pattern, so that `a|ab` fits `ab`. A pattern whose last construct runs to its end (`\Q`, a
    // comment) cannot be wrapped and is unchanged.
    if result != nil,
      let whole = try? NSRegularExpression(pattern: "\\A(?:\(pattern))\\z", options: options)
    {
      result = whole
    }
    known[key] = .some(result)
    return result
  }
}
