/// Parts of texts, found by byte. Bytes of a text that is valid UTF-8 occur only where its characters begin.
extension Text {
  /// The places of `part`, from the start and without overlaps, in linear time. The empty text has no place.
  package func places(of part: Text) -> [Int] {
    let (text, part) = (utf8, part.utf8)
    guard !part.isEmpty, text.count >= part.count else { return [] }
    // Knuth, Morris, Pratt: the length of the longest proper border of each prefix.
    var borders = [Int](repeating: 0, count: part.count)
    var length = 0
    for place in part.indices.dropFirst() {
      while length > 0, part[length] != part[place] { length = borders[length - 1] }
      if part[length] == part[place] { length += 1 }
      borders[place] = length
    }
    var found: [Int] = []
    var matched = 0
    for place in text.indices {
      while matched > 0, part[matched] != text[place] { matched = borders[matched - 1] }
      if part[matched] == text[place] { matched += 1 }
      guard matched == part.count else { continue }
      found.append(place - part.count + 1)
      matched = 0
    }
    return found
  }

  /// The texts between the places of a separator; the whole text where it does not occur.
  package func split(by separator: Text) -> [Text] {
    var parts: [Text] = []
    var start = 0
    for place in places(of: separator) {
      parts.append(Text(utf8: Array(utf8[start..<place])))
      start = place + separator.utf8.count
    }
    return parts + [Text(utf8: Array(utf8[start...]))]
  }

  /// The text with another one at each place of `part`.
  package func replacing(_ part: Text, with other: Text) -> Text {
    let places = places(of: part)
    guard !places.isEmpty else { return self }
    var bytes: [UInt8] = []
    var start = 0
    for place in places {
      bytes += utf8[start..<place]
      bytes += other.utf8
      start = place + part.utf8.count
    }
    return Text(utf8: bytes + utf8[start...])
  }

  /// A cut of a text at a number of UTF-16 code units.
  package enum Cut: Sendable, Hashable {
    case parts(before: Text, after: Text)
    case beyond(length: Int)
    /// The two halves of a surrogate pair would part, and UTF-8 holds neither.
    case withinCharacter
  }

  /// The texts before and after a number of UTF-16 code units. Invalid UTF-8 becomes U+FFFD.
  package func cut(at index: Int64) -> Cut {
    if utf8.isASCII {
      guard index >= 0, index <= Int64(utf8.count) else { return .beyond(length: utf8.count) }
      return .parts(before: Text(utf8: Array(utf8[..<Int(index)])), after: Text(utf8: Array(utf8[Int(index)...])))
    }
    let string = string
    let units = string.utf16
    guard index >= 0, index <= Int64(units.count) else { return .beyond(length: units.count) }
    let place = units.index(units.startIndex, offsetBy: Int(index))
    guard let border = place.samePosition(in: string.unicodeScalars) else { return .withinCharacter }
    return .parts(before: Text(String(string[..<border])), after: Text(String(string[border...])))
  }

  /// The text without the characters of a set at its start and end.
  func trimming(_ set: CharacterClass) -> Text {
    let string = string
    let scalars = string.unicodeScalars
    guard let first = scalars.firstIndex(where: { !set.contains($0) }),
      let last = scalars.lastIndex(where: { !set.contains($0) })
    else { return Text(utf8: []) }
    guard first > scalars.startIndex || scalars.index(after: last) < scalars.endIndex else { return self }
    return Text(String(scalars[first...last]))
  }

  /// The texts between the characters of a set.
  func split(by set: CharacterClass) -> [Text] {
    string.unicodeScalars.split(omittingEmptySubsequences: false, whereSeparator: set.contains)
      .map { Text(String($0)) }
  }
}
