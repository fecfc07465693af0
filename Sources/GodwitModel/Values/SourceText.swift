/// A piece of text that the user wrote, and its place, so that an error can point at it.
package struct SourceText: Sendable, Hashable {
  /// The text.
  package var text: String
  /// The place of the first character of `text`; nil for text without a file.
  package var location: GodwitError.Location?

  package init(_ text: String, location: GodwitError.Location? = nil) {
    self.text = text
    self.location = location
  }
}

/// An error in a part of an expression's or predicate's text.
public struct ExpressionError: Error, Sendable, Hashable {
  /// One sentence without a final full stop, for example `unknown property 'nmae' of 'Person' (did you mean 'name'?)`.
  public var message: String
  /// UTF-8 offsets into the text.
  package var range: Range<Int>

  package init(_ message: String, range: Range<Int>) {
    self.message = message
    self.range = range
  }
}

extension GodwitError {
  /// The most characters shown of a token, and on either side of it.
  private static var excerptMax: Int { 100 }

  /// The complaint as a configuration error (78) with file, line, column and a caret under the token.
  package init(_ error: ExpressionError, in source: SourceText, what: String) {
    let bytes = Array(source.text.utf8)
    let start = min(max(error.range.lowerBound, 0), bytes.count)
    let end = min(max(error.range.upperBound, start), bytes.count)
    let lineStart = bytes[..<start].lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
    let lineEnd = bytes[start...].firstIndex(of: 0x0A) ?? bytes.count
    // A very long line is cut to the part near the token.
    let before = String(decoding: bytes[lineStart..<start], as: UTF8.self)
    let token = String(decoding: bytes[start..<max(start, min(end, lineEnd))], as: UTF8.self)
    let after = String(decoding: bytes[max(start, min(end, lineEnd))..<max(start, lineEnd)], as: UTF8.self)
    let head = before.count > Self.excerptMax ? "…" + before.suffix(Self.excerptMax) : before
    let shown = token.count > Self.excerptMax ? token.prefix(Self.excerptMax) + "…" : token
    let tail = after.count > Self.excerptMax ? after.prefix(Self.excerptMax) + "…" : after
    let line = head + shown + tail
    let caret = String(repeating: " ", count: head.count) + String(repeating: "^", count: max(1, shown.count))
    var location = source.location
    if let base = location {
      let lines = bytes[..<start].count { $0 == 0x0A }
      location?.line = base.line + lines
      location?.column = lines == 0 ? base.column + start : start - lineStart + 1
    }
    self.init(
      .configuration, "\(what): \(error.message)", location: location, cause: "\(line)\n\(caret)",
      remedy: "correct the expression and run the same command")
  }
}
