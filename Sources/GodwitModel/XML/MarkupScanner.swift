import Foundation

/// Reads UTF-8 XML front to back, a tag or a run of text at a time: the one tokenizer of XML stores and of Xcode's
/// files.
///
/// Memory holds a buffer of 256 KiB, the names of the open elements, and the current tag or text.
/// It checks that tags match and that names and references are well formed. A document type that declares anything
/// is refused, so that no file can expand, and no file that one names is opened.
package final class MarkupScanner {
  package enum Token {
    case start(MarkupTag)
    case end
    case text([UInt8])
    case endOfFile
  }

  let file: String
  let rules: MarkupRules
  private let descriptor: Int32
  private(set) var buffer: [UInt8]
  private(set) var position = 0
  private(set) var end: Int
  /// Bytes of the file before `buffer[0]`.
  private var offset = 0
  private var line = 1
  private var lineStart = 0
  private var openNames: [[UInt8]] = []
  private var endsAtOnce = false
  /// The name of the document's element, once that is closed.
  private var closedRoot: [UInt8]?
  private var attributeCount = 0

  /// - Parameter name: The name of the file in messages.
  package init(path: String, name: String, rules: MarkupRules = .store) throws {
    (file, self.rules) = (name, rules)
    buffer = [UInt8](repeating: 0, count: 256 << 10)
    end = 0
    descriptor = CLibrary.open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw GodwitError.reading(storeAt: name, errno) }
    try prolog()
  }

  /// Reads bytes in memory.
  package init(_ bytes: [UInt8], name: String, rules: MarkupRules) throws {
    (file, self.rules) = (name, rules)
    (buffer, end, descriptor) = (bytes, bytes.count, -1)
    try prolog()
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// How many elements are open.
  var depth: Int { openNames.count }

  /// In UTF-8 bytes, from 1.
  private var column: Int { offset + position - lineStart + 1 }

  var place: GodwitError.Location { .init(file: file, line: line, column: column) }

  /// Whether the file was read to its end.
  private var isAtEnd: Bool { position >= end }

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
        if let closedRoot { throw afterRoot(closedRoot) }
        guard !openNames.isEmpty else { throw problem("expected an XML element, found other text") }
        return .text(try text())
      }
      if let letter = try self.byte(1), Self.isNameByte(letter) {
        if let closedRoot { throw afterRoot(closedRoot) }
        return .start(try startTag())
      } else if try starts(with: "<!--") {
        try comment()
      } else if try starts(with: "<?") {
        try skip(through: "?>", what: "the processing instruction")
      } else if try starts(with: "<![CDATA[") {
        guard !openNames.isEmpty else { throw problem("expected an XML element, found other text") }
        return .text(try characterData())
      } else if try starts(with: "</") {
        try endTag()
        return .end
      } else if try starts(with: "<!DOCTYPE"), openNames.isEmpty, closedRoot == nil {
        try documentType()
      } else {
        if let closedRoot { throw afterRoot(closedRoot) }
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
    let name = openNames.removeLast()
    if openNames.isEmpty { closedRoot = name }
  }

  private func afterRoot(_ name: [UInt8]) -> GodwitError {
    problem("expected the end of the file after </\(String(decoding: name, as: UTF8.self))>")
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

  private func comment() throws {
    let start = place
    try advance(4)
    while try peek() != nil {
      if try starts(with: "--") {
        guard try starts(with: "-->") else { throw problem("expected no '--' inside a comment") }
        return try advance(3)
      }
      try advance(1)
    }
    throw problem("expected the end of the comment, found the end of the file", at: start)
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
    var names: Set<String> = []
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
        guard openNames.count < rules.depthMaximum else {
          throw problem("expected at most \(rules.depthMaximum) nested elements, found more", at: start)
        }
        openNames.append(name)
        return tag
      }
      guard hadSpace else { throw problem("expected a space between the attributes of <\(tag.name)>") }
      let here = (line: line, column: column)
      let (attribute, value) = try attribute(room: rules.valueBytesMaximum - size)
      size += value.count + attribute.utf8.count
      attributeCount += 1
      guard names.insert(attribute).inserted else {
        throw problem(
          "expected attribute '\(attribute)' once in <\(tag.name)>, found it twice",
          at: .init(file: file, line: here.line, column: here.column))
      }
      guard names.count <= rules.attributesOfElementMaximum, attributeCount <= rules.attributesMaximum else {
        let limit = min(rules.attributesOfElementMaximum, rules.attributesMaximum)
        throw problem("expected at most \(limit) attributes, found more", at: start)
      }
      tag.attributes.append(.init(name: attribute, value: value, line: here.line, column: here.column))
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
      case 0x0D where try self.byte(1) == 0x0A: break  // A line end is one line feed, and that is a space here.
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

  // MARK: Bytes

  /// The byte `ahead` of the present one; nil at the end of the file. Looks at most a few bytes ahead.
  func byte(_ ahead: Int) throws -> UInt8? {
    while position + ahead >= end { if try !fill() { return nil } }
    return buffer[position + ahead]
  }

  func peek() throws -> UInt8? {
    if position < end { return buffer[position] }
    return try byte(0)
  }

  func starts(with text: String) throws -> Bool {
    for (index, expected) in text.utf8.enumerated() {
      guard try byte(index) == expected else { return false }
    }
    return true
  }

  /// Moves on by bytes that were looked at.
  func advance(_ count: Int) throws {
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
    guard descriptor >= 0 else { return false }
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

  static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: ":"), 0x80...:
      true
    default: false
    }
  }

  func tooLong() -> GodwitError {
    problem("expected a value of at most \(rules.valueBytesMaximum >> 20) MiB, found a longer one")
  }

  /// An error about the file, at a place or at the current position.
  package func problem(_ text: String, at place: GodwitError.Location? = nil) -> GodwitError {
    let start = lineStart - offset
    if start >= 0, start < end, buffer[start..<end].starts(with: Array("<<<<<<<".utf8)) {
      return rules.conflict(in: file, line: line)
    }
    return GodwitError(
      rules.code, "cannot read \(rules.subject): \(text)", location: place ?? self.place,
      cause: descriptor < 0 && end > 0 && isAtEnd ? "the file is cut off: it was not written to its end" : nil,
      remedy: rules.remedy)
  }
}
