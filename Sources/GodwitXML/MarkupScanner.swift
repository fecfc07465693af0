import Foundation
package import GodwitModel

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Reads a UTF-8 XML file front to back, a tag or a run of text at a time.
///
/// Memory holds a buffer of 256 KiB, the names of the open elements, and the one tag or text that is read. It
/// checks that tags match and that names and references are well formed. A document type that declares anything
/// is refused, so that no file can expand, and no file that one names is opened. Not for small files of Xcode,
/// which are read into a tree.
package final class MarkupScanner {
  package enum Token {
    case start(MarkupTag)
    case end
    case text([UInt8])
    case endOfFile
  }

  static let depthMaximum = 64
  /// Of a tag's attributes or a run of text; SQLite takes no larger value.
  package static let valueBytesMaximum = 512 << 20

  let file: String
  private let descriptor: Int32
  private var buffer = [UInt8](repeating: 0, count: 256 << 10)
  private var position = 0
  private var end = 0
  /// Bytes of the file before `buffer[0]`.
  private var offset = 0
  private var line = 1
  private var lineStart = 0
  private var openNames: [[UInt8]] = []
  private var endsAtOnce = false
  private var isRootDone = false

  /// - Parameter name: What messages call the file.
  package init(path: String, name: String) throws {
    file = name
    descriptor = Self.openFile(path)
    guard descriptor >= 0 else { throw GodwitError.reading(storeAt: name, errno) }
    try prolog()
  }

  deinit { if descriptor >= 0 { Self.closeFile(descriptor) } }

  private static func openFile(_ path: String) -> Int32 { open(path, O_RDONLY | O_CLOEXEC) }
  private static func closeFile(_ descriptor: Int32) { close(descriptor) }

  /// How many elements are open.
  var depth: Int { openNames.count }

  var place: GodwitError.Location {
    .init(file: file, line: line, column: offset + position - lineStart + 1)
  }

  // MARK: Tokens

  /// The next tag or text. Comments and processing instructions are passed over.
  ///
  /// - Throws: `.dataWrong` (65) with line and column.
  package func next() throws -> Token {
    if endsAtOnce {
      endsAtOnce = false
      closeElement()
      return .end
    }
    while true {
      if openNames.isEmpty { try skipSpace() }
      guard let byte = try peek() else {
        if let name = openNames.last {
          throw problem("expected </\(String(decoding: name, as: UTF8.self))>, found the end of the file")
        }
        return .endOfFile
      }
      guard byte == UInt8(ascii: "<") else {
        guard !openNames.isEmpty else { throw problem("expected an XML element, found other text") }
        return .text(try text())
      }
      if try starts(with: "<!--") {
        try skip(through: "-->", what: "the comment")
      } else if try starts(with: "<?") {
        try skip(through: "?>", what: "the processing instruction")
      } else if try starts(with: "<![CDATA[") {
        guard !openNames.isEmpty else { throw problem("expected an XML element, found other text") }
        return .text(try characterData())
      } else if try starts(with: "</") {
        try endTag()
        return .end
      } else if try starts(with: "<!DOCTYPE"), openNames.isEmpty, !isRootDone {
        try documentType()
      } else {
        guard !isRootDone else { throw problem("expected the end of the file, found another element") }
        return .start(try startTag())
      }
    }
  }

  /// Passes over the rest of the element that was opened last.
  package func skipElement() throws {
    let outer = depth - 1
    while depth > outer { if case .endOfFile = try next() { return } }
  }

  private func closeElement() {
    openNames.removeLast()
    if openNames.isEmpty { isRootDone = true }
  }

  private func prolog() throws {
    if try starts(with: "\u{FEFF}") {
      try advance(3)
      lineStart = 3
    }
    guard try starts(with: "<?xml"), try byte(5).map(Self.isSpace) == true else { return }
    let start = place
    let text = String(decoding: try take(through: "?>", what: "the XML declaration"), as: UTF8.self)
    guard let range = text.firstRange(of: "encoding") else { return }
    let rest = text[range.upperBound...].drop { $0 == " " || $0 == "=" || $0 == "\"" || $0 == "'" }
    let encoding = rest.prefix { $0 != "\"" && $0 != "'" && $0 != "?" }
    guard ["utf-8", "us-ascii"].contains(encoding.lowercased()) else {
      throw problem("expected the encoding UTF-8, found '\(encoding)'", at: start)
    }
  }

  private func documentType() throws {
    let start = place
    var quote: UInt8?
    while let byte = try peek() {
      if byte == quote {
        quote = nil
      } else if quote == nil {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): quote = byte
        case UInt8(ascii: "["): throw problem("expected no declarations in the document type, found some")
        case UInt8(ascii: ">"): return try advance(1)
        default: break
        }
      }
      try advance(1)
    }
    throw problem("expected the end of the document type, found the end of the file", at: start)
  }

  private func startTag() throws -> MarkupTag {
    let start = place
    try advance(1)
    let name = try name("an element name")
    var tag = MarkupTag(name: String(decoding: name, as: UTF8.self), place: start)
    var size = 0
    while true {
      let hadSpace = try skipSpace()
      guard let byte = try peek() else {
        throw problem("expected the end of <\(tag.name)>, found the end of the file", at: start)
      }
      if byte == UInt8(ascii: ">") || byte == UInt8(ascii: "/") {
        if byte == UInt8(ascii: "/") {
          try advance(1)
          guard try peek() == UInt8(ascii: ">") else { throw problem("expected '>' after '/'") }
          endsAtOnce = true
        }
        try advance(1)
        guard openNames.count < Self.depthMaximum else {
          throw problem("expected at most \(Self.depthMaximum) nested elements, found more", at: start)
        }
        openNames.append(name)
        return tag
      }
      guard hadSpace else { throw problem("expected a space between the attributes of <\(tag.name)>") }
      let (attribute, value) = try attribute(room: Self.valueBytesMaximum - size)
      size += value.count + attribute.utf8.count
      guard tag[attribute] == nil else {
        throw problem("expected attribute '\(attribute)' once in <\(tag.name)>, found it twice", at: start)
      }
      guard tag.attributes.count < 100 else { throw problem("expected at most 100 attributes, found more", at: start) }
      tag.attributes.append((attribute, value))
    }
  }

  private func attribute(room: Int) throws -> (String, [UInt8]) {
    let name = String(decoding: try name("an attribute name"), as: UTF8.self)
    try skipSpace()
    guard try peek() == UInt8(ascii: "=") else { throw problem("expected '=' after attribute '\(name)'") }
    try advance(1)
    try skipSpace()
    guard let quote = try peek(), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
      throw problem("expected a quoted value of attribute '\(name)'")
    }
    try advance(1)
    var value: [UInt8] = []
    while let byte = try peek(), byte != quote {
      switch byte {
      case UInt8(ascii: "&"):
        value += try reference()
        continue
      case UInt8(ascii: "<"): throw problem("expected no '<' inside an attribute value")
      case 0x09, 0x0A, 0x0D: value.append(0x20)
      case 0..<0x20: throw problem("expected text, found a control character")
      default: value.append(byte)
      }
      guard value.count <= room else { throw tooLong() }
      try advance(1)
    }
    guard try peek() != nil else {
      throw problem("expected the end of the value of attribute '\(name)', found the end of the file")
    }
    try advance(1)
    return (name, value)
  }

  private func endTag() throws {
    let start = place
    try advance(2)
    let name = try name("an element name")
    try skipSpace()
    guard try peek() == UInt8(ascii: ">"), let expected = openNames.last, name == expected else {
      let expected = openNames.last.map { "</\(String(decoding: $0, as: UTF8.self))>" } ?? "an element"
      throw problem("expected \(expected), found </\(String(decoding: name, as: UTF8.self))", at: start)
    }
    try advance(1)
    closeElement()
  }

  private func name(_ what: String) throws -> [UInt8] {
    var name: [UInt8] = []
    while let byte = try peek(), Self.isNameByte(byte) {
      name.append(byte)
      guard name.count <= 1024 else { throw problem("expected a name of at most 1024 bytes, found a longer one") }
      try advance(1)
    }
    guard let first = name.first, !(0x2D...0x39).contains(first) else { throw problem("expected \(what)") }
    return name
  }

  // MARK: Text

  /// Character data up to the next tag, references resolved.
  private func text() throws -> [UInt8] {
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
      guard result.count <= Self.valueBytesMaximum else { throw tooLong() }
    }
    return result
  }

  /// Bytes of the buffer that stand for themselves.
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

  private func characterData() throws -> [UInt8] {
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
      result.append(byte)
      guard result.count <= Self.valueBytesMaximum else { throw tooLong() }
      try advance(1)
    }
    try advance(3)
    return result
  }

  private func reference() throws -> [UInt8] {
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
    else { throw problem("expected a character of XML, found an unknown reference", at: start) }
    return Array(String(Character(scalar)).utf8)
  }

  private func skip(through end: String, what: String) throws { _ = try take(through: end, what: what, keep: false) }

  /// The text up to and including `end`.
  private func take(through end: String, what: String, keep: Bool = true) throws -> [UInt8] {
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

  // MARK: Bytes

  /// The byte `ahead` of the present one; nil at the end of the file. Looks at most a few bytes ahead.
  private func byte(_ ahead: Int) throws -> UInt8? {
    while position + ahead >= end { if try !fill() { return nil } }
    return buffer[position + ahead]
  }

  private func peek() throws -> UInt8? {
    if position < end { return buffer[position] }
    return try byte(0)
  }

  private func starts(with text: String) throws -> Bool {
    for (index, expected) in text.utf8.enumerated() {
      guard try byte(index) == expected else { return false }
    }
    return true
  }

  /// Moves on by bytes that were looked at.
  private func advance(_ count: Int) throws {
    for index in position..<min(position + count, end) where buffer[index] == 0x0A {
      line += 1
      lineStart = offset + index + 1
    }
    position = min(position + count, end)
  }

  @discardableResult
  private func skipSpace() throws -> Bool {
    var found = false
    while let byte = try peek(), Self.isSpace(byte) {
      try advance(1)
      found = true
    }
    return found
  }

  /// Reads on; false at the end of the file.
  private func fill() throws -> Bool {
    if position > 0 {
      buffer.withUnsafeMutableBufferPointer { bytes in
        for index in position..<end { bytes[index - position] = bytes[index] }
      }
      offset += position
      end -= position
      position = 0
    }
    while true {
      let start = end
      let got = buffer.withUnsafeMutableBytes { bytes in
        read(descriptor, bytes.baseAddress.map { $0 + start }, bytes.count - start)
      }
      if got < 0, errno == EINTR { continue }
      guard got >= 0 else { throw GodwitError.reading(storeAt: file, errno) }
      end += got
      return got > 0
    }
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: ":"), 0x80...:
      true
    default: false
    }
  }

  private func tooLong() -> GodwitError {
    problem("expected a value of at most \(Self.valueBytesMaximum >> 20) MiB, found a longer one")
  }

  /// What is wrong with the file, at a place or here.
  package func problem(_ text: String, at place: GodwitError.Location? = nil) -> GodwitError {
    let start = lineStart - offset
    if start >= 0, start < end, buffer[start..<end].starts(with: Array("<<<<<<<".utf8)) {
      return GodwitError(
        .dataWrong, "cannot read the XML store: it holds the conflict markers of an unfinished merge ('<<<<<<<')",
        location: .init(file: file, line: line, column: 1), remedy: "resolve the conflict in version control")
    }
    return GodwitError(
      .dataWrong, "cannot read the XML store: \(text)", location: place ?? self.place,
      remedy: "copy the store again, or restore it from a backup")
  }
}

/// A start tag.
package struct MarkupTag {
  package var name: String
  package var place: GodwitError.Location
  /// In the order of the file; no name occurs twice.
  var attributes: [(name: String, value: [UInt8])] = []

  init(name: String, place: GodwitError.Location) {
    self.name = name
    self.place = place
  }

  package subscript(_ name: String) -> [UInt8]? { attributes.first { $0.name == name }?.value }
}
