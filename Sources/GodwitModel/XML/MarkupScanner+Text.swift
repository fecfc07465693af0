/// Character data, references, and ignored parts.
extension MarkupScanner {
  /// Character data up to the next tag, references resolved.
  func text() throws -> [UInt8] {
    var result: [UInt8] = []
    while let byte = try peek(), byte != UInt8(ascii: "<") {
      switch byte {
      case UInt8(ascii: "&"): result += try reference()
      case 0x0D:
        // XML reads every line end as one line feed.
        try advance(1)
        if try peek() != 0x0A { result.append(0x0A) }
      case 0x09, 0x0A, 0x20...: try plainRun(into: &result)
      default: throw problem("expected text, found a control character")
      }
      guard result.count <= rules.valueBytesMaximum else { throw tooLong() }
    }
    return result
  }

  /// Bytes of the buffer that need no decoding.
  private func plainRun(into result: inout [UInt8]) throws {
    var run = position
    buffer.withUnsafeBufferPointer { bytes in
      while run < end {
        let byte = bytes[run]
        guard byte >= 0x20 || byte == 0x09 || byte == 0x0A else { break }
        guard byte != UInt8(ascii: "<"), byte != UInt8(ascii: "&") else { break }
        run += 1
      }
    }
    result += buffer[position..<run]
    try advance(run - position)
  }

  func characterData() throws -> [UInt8] {
    let start = place
    try advance(9)
    var result: [UInt8] = []
    while try !starts(with: "]]>") {
      guard let byte = try peek() else {
        throw problem("expected the end of the CDATA section, found the end of the file", at: start)
      }
      guard byte >= 0x20 || [0x09, 0x0A, 0x0D].contains(byte) else {
        throw problem("expected text, found a control character")
      }
      // XML reads every line end as one line feed.
      if byte != 0x0D {
        result.append(byte)
      } else if try self.byte(1) != 0x0A {
        result.append(0x0A)
      }
      guard result.count <= rules.valueBytesMaximum else { throw tooLong() }
      try advance(1)
    }
    try advance(3)
    return result
  }

  func reference() throws -> [UInt8] {
    let start = place
    try advance(1)
    var name: [UInt8] = []
    while let byte = try peek(), byte != UInt8(ascii: ";"), name.count < 12 {
      name.append(byte)
      try advance(1)
    }
    guard try peek() == UInt8(ascii: ";") else { throw problem("expected '&amp;' for a lone '&'", at: start) }
    try advance(1)
    let text = String(decoding: name, as: UTF8.self)
    switch text {
    case "amp": return [UInt8(ascii: "&")]
    case "lt": return [UInt8(ascii: "<")]
    case "gt": return [UInt8(ascii: ">")]
    case "quot": return [UInt8(ascii: "\"")]
    case "apos": return [UInt8(ascii: "'")]
    default: break
    }
    let number: UInt32? =
      if text.hasPrefix("#x") {
        UInt32(text.dropFirst(2), radix: 16)
      } else if text.hasPrefix("#") {
        UInt32(text.dropFirst())
      } else {
        nil
      }
    guard let scalar = number.flatMap(Unicode.Scalar.init),
      scalar.value >= 0x20 || [0x09, 0x0A, 0x0D].contains(scalar.value)
    else { throw problem("expected a character of XML, found the unknown reference '&\(text);'", at: start) }
    return Array(String(Character(scalar)).utf8)
  }

  func skip(through end: String, what: String) throws { _ = try take(through: end, what: what, keep: false) }

  /// The text up to and including `end`.
  func take(through end: String, what: String, keep: Bool = true) throws -> [UInt8] {
    let start = place
    var result: [UInt8] = []
    while let byte = try peek() {
      if try starts(with: end) {
        try advance(end.utf8.count)
        return result
      }
      if keep, result.count < 4096 { result.append(byte) }
      try advance(1)
    }
    throw problem("expected the end of \(what), found the end of the file", at: start)
  }
}
