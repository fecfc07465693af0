/// The parsed right side of `LIKE`: `*` is any characters, `?` one, and `\` escapes the next character.
struct LikePattern {
  private enum Part: Equatable {
    case any, one
    case scalar(UInt32)
  }

  private let parts: [Part]
  private let options: StringComparison.Options

  init(_ pattern: [UInt8], _ options: StringComparison.Options) {
    self.options = options
    var parts: [Part] = []
    var isEscaped = false
    for scalar in StringComparison.string(pattern, options).unicodeScalars {
      switch scalar {
      case _ where isEscaped:
        parts.append(.scalar(scalar.value))
        isEscaped = false
      case "\\": isEscaped = true
      case "*": if parts.last != .any { parts.append(.any) }
      case "?": parts.append(.one)
      default: parts.append(.scalar(scalar.value))
      }
    }
    if isEscaped { parts.append(.scalar(Unicode.Scalar("\\").value)) }
    self.parts = parts
  }

  /// Whether the whole text fits. Characters are Unicode scalars. Time is at most the product of the lengths.
  func fits(_ text: [UInt8]) -> Bool {
    if text.isASCII { return fits(scalars: StringComparison.folded(text, options)) }
    return fits(scalars: StringComparison.string(text, options).unicodeScalars.map(\.value))
  }

  private func fits(scalars text: [some FixedWidthInteger]) -> Bool {
    var (position, part) = (0, 0)
    var retry: (position: Int, part: Int)?
    while position < text.count {
      if part < parts.count {
        let current = parts[part]
        if current == .any {
          retry = (position, part)
          part += 1
          continue
        }
        if current == .one || current == .scalar(UInt32(truncatingIfNeeded: text[position])) {
          position += 1
          part += 1
          continue
        }
      }
      guard let last = retry else { return false }
      retry = (last.position + 1, last.part)
      (position, part) = (last.position + 1, last.part + 1)
    }
    return parts[part...].allSatisfy { $0 == .any }
  }
}
