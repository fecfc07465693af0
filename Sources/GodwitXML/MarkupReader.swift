import GodwitModel

/// Reads a UTF-8 XML file into a tree of elements.
///
/// Foundation's `XMLParser` gives attributes as an unordered dictionary without places, reports
/// elements at the end of their tag and can return success for a file that is cut off; this
/// reader gives line and column of each element and attribute. It reads what Xcode writes:
/// elements, attributes, text, comments, CDATA, processing instructions and a document type
/// that names an external file, which is never opened. A document type that declares entities
/// is refused, so that no file can expand. Depth, size and time are bounded by the input.
package struct MarkupReader {
  static let depthMaximum = 100
  package static let fileBytesMaximum = 64 << 20
  /// What bounds the memory: a model of 12,000 entities has some 50,000 elements.
  static let elementsMaximum = 500_000
  static let attributesMaximum = 3_000_000

  private let file: String
  private let bytes: [UInt8]
  private var position = 0
  private var line = 1
  private var lineStart = 0
  private var elementCount = 0
  private var attributeCount = 0

  private init(_ bytes: [UInt8], file: String) {
    self.bytes = bytes
    self.file = file
  }

  /// - Throws: code `.missingInput` with file, line and column.
  package static func read(_ bytes: [UInt8], file: String) throws -> MarkupElement {
    var reader = MarkupReader(bytes, file: file)
    do { return try reader.document() } catch let error as GodwitError {
      throw reader.conflict() ?? error
    }
  }

  // MARK: Unfinished merges

  private static let conflictMarkers = ["<<<<<<<", "=======", ">>>>>>>"]

  package static func hasConflictMarker(_ text: String) -> Bool {
    text.split(separator: "\n").contains { line in conflictMarkers.contains { line.hasPrefix($0) } }
  }

  /// The error that the file holds both sides of a merge, when it does.
  private func conflict() -> GodwitError? {
    var line = 0
    for text in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      line += 1
      guard text.starts(with: Array("<<<<<<<".utf8)) else { continue }
      return GodwitError(
        .missingInput, "cannot read the file: it holds the conflict markers of an unfinished merge ('<<<<<<<')",
        location: .init(file: file, line: line, column: 1), remedy: "resolve the conflict in version control")
    }
    return nil
  }

  // MARK: Document

  private mutating func document() throws -> MarkupElement {
    if bytes.isEmpty { throw problem("expected XML, found an empty file") }
    guard String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0) else {
      throw problem("expected XML in UTF-8, found other bytes")
    }
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
      position = 3
      lineStart = 3
    }
    try declaration()
    try miscellany(allowingDocumentType: true)
    guard peek() == UInt8(ascii: "<") else { throw problem("expected an XML element, found other text") }
    let root = try element()
    try miscellany(allowingDocumentType: false)
    guard position == bytes.count else { throw problem("expected the end of the file after </\(root.name)>") }
    return root
  }

  private mutating func declaration() throws {
    guard starts(with: "<?xml"), byte(at: position + 5).map(Self.isSpace) == true else { return }
    let start = position
    let text = try through("?>", what: "the XML declaration")
    guard let range = text.firstRange(of: "encoding") else { return }
    let rest = text[range.upperBound...].drop { $0 == " " || $0 == "=" || $0 == "\"" || $0 == "'" }
    let encoding = rest.prefix { $0 != "\"" && $0 != "'" && $0 != "?" }
    guard ["utf-8", "us-ascii"].contains(encoding.lowercased()) else {
      position = start
      throw problem("expected the encoding UTF-8, found '\(encoding)'")
    }
  }

  private mutating func miscellany(allowingDocumentType: Bool) throws {
    while position < bytes.count {
      skipSpace()
      if starts(with: "<!--") {
        try comment()
      } else if starts(with: "<?") {
        _ = try through("?>", what: "a processing instruction")
      } else if allowingDocumentType, starts(with: "<!DOCTYPE") {
        try documentType()
      } else {
        return
      }
    }
  }

  private mutating func documentType() throws {
    let start = position
    var quote: UInt8?
    while let byte = peek() {
      if byte == quote {
        quote = nil
      } else if quote == nil {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): quote = byte
        case UInt8(ascii: "["): throw problem("expected no declarations in the document type, found some")
        case UInt8(ascii: ">"):
          advance()
          return
        default: break
        }
      }
      advance()
    }
    throw problem("expected the end of the document type that begins at byte \(start), found the end of the file")
  }

  private mutating func comment() throws {
    let place = (line, column)
    advance(by: 4)
    while position < bytes.count {
      if starts(with: "--") {
        guard starts(with: "-->") else { throw problem("expected no '--' inside a comment") }
        advance(by: 3)
        return
      }
      advance()
    }
    throw problem("expected the end of the comment, found the end of the file", at: place)
  }

  // MARK: Elements

  /// Without recursion: the depth of the file is not the depth of the stack.
  private mutating func element() throws -> MarkupElement {
    var open: [MarkupElement] = []
    while true {
      var isFinished = false
      var current = try startTag(isEmpty: &isFinished)
      if !isFinished {
        guard open.count < Self.depthMaximum else {
          throw problem(
            "expected at most \(Self.depthMaximum) nested elements, found more", at: (current.line, current.column))
        }
      }
      while true {
        if isFinished {
          guard var parent = open.popLast() else { return current }
          parent.children.append(current)
          current = parent
          isFinished = false
        } else if starts(with: "</") {
          try endTag(of: current)
          isFinished = true
        } else if starts(with: "<!--") {
          try comment()
        } else if starts(with: "<![CDATA[") {
          advance(by: 9)
          current.text += try through("]]>", what: "a CDATA section").dropLast(3)
        } else if starts(with: "<?") {
          _ = try through("?>", what: "a processing instruction")
        } else if peek() == UInt8(ascii: "<") {
          open.append(current)
          break
        } else if peek() == nil {
          throw problem("expected </\(current.name)>, found the end of the file")
        } else {
          current.text += try characters { $0 == UInt8(ascii: "<") }
        }
      }
    }
  }

  private mutating func startTag(isEmpty: inout Bool) throws -> MarkupElement {
    let place = (line: line, column: column)
    elementCount += 1
    guard elementCount <= Self.elementsMaximum else {
      throw problem("expected at most \(Self.elementsMaximum) elements, found more", at: place)
    }
    advance()
    var element = MarkupElement(name: try name("an element name"), line: place.line, column: place.column)
    var names: Set<String> = []
    while true {
      let hadSpace = skipSpace()
      if starts(with: "/>") {
        advance(by: 2)
        isEmpty = true
        return element
      }
      if starts(with: ">") {
        advance()
        return element
      }
      guard peek() != nil else { throw problem("expected the end of <\(element.name)>, found the end of the file") }
      guard hadSpace else { throw problem("expected a space between the attributes of <\(element.name)>") }
      let (line, column) = (line, column)
      let name = try name("an attribute name")
      skipSpace()
      guard peek() == UInt8(ascii: "=") else { throw problem("expected '=' after attribute '\(name)'") }
      advance()
      skipSpace()
      guard let quote = peek(), quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
        throw problem("expected a quoted value of attribute '\(name)'")
      }
      advance()
      let value = try characters(inAttribute: true) { $0 == quote }
      guard peek() == quote else {
        throw problem("expected the end of the value of attribute '\(name)', found the end of the file")
      }
      advance()
      attributeCount += 1
      guard attributeCount <= Self.attributesMaximum else {
        throw problem("expected at most \(Self.attributesMaximum) attributes, found more", at: (line, column))
      }
      guard names.insert(name).inserted else {
        throw problem("expected attribute '\(name)' once in <\(element.name)>, found it twice", at: (line, column))
      }
      element.attributes.append(.init(name: name, value: value, line: line, column: column))
    }
  }

  private mutating func endTag(of element: MarkupElement) throws {
    let place = (line, column)
    advance(by: 2)
    let name = try name("an element name")
    skipSpace()
    guard peek() == UInt8(ascii: ">"), name == element.name else {
      throw problem("expected </\(element.name)>, found </\(name)", at: place)
    }
    advance()
  }

  private mutating func name(_ what: String) throws -> String {
    let start = position
    while let byte = peek(), Self.isNameByte(byte) { advance() }
    guard position > start, let first = byte(at: start), !(0x2D...0x39).contains(first) else {
      throw problem("expected \(what)")
    }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  // MARK: Text

  /// Character data up to a byte that `ends` accepts or the end of the file, references resolved.
  private mutating func characters(
    inAttribute: Bool = false, until ends: (UInt8) -> Bool
  ) throws -> String {
    var result: [UInt8] = []
    while let byte = peek(), !ends(byte) {
      switch byte {
      case UInt8(ascii: "&"):
        result += try reference()
        continue
      case UInt8(ascii: "<"):
        throw problem("expected no '<' inside an attribute value")
      case UInt8(ascii: "\r"):
        // XML reads every line end as one line feed, and one in an attribute as a space.
        if self.byte(at: position + 1) != UInt8(ascii: "\n") { result.append(inAttribute ? 0x20 : 0x0A) }
      case UInt8(ascii: "\n"), UInt8(ascii: "\t"):
        result.append(inAttribute ? 0x20 : byte)
      case 0..<0x20:
        throw problem("expected text, found a control character")
      default:
        result.append(byte)
      }
      advance()
    }
    return String(decoding: result, as: UTF8.self)
  }

  private mutating func reference() throws -> [UInt8] {
    let place = (line, column)
    advance()
    let start = position
    while let byte = peek(), byte != UInt8(ascii: ";"), position - start < 12 { advance() }
    guard peek() == UInt8(ascii: ";") else { throw problem("expected '&amp;' for a lone '&'", at: place) }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    advance()
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
    else { throw problem("expected a character of XML, found the unknown reference '&\(text);'", at: place) }
    return Array(String(Character(scalar)).utf8)
  }

  /// The text up to and including `end`.
  private mutating func through(_ end: String, what: String) throws -> String {
    let place = (line, column)
    let start = position
    while position < bytes.count {
      if starts(with: end) {
        advance(by: end.utf8.count)
        return String(decoding: bytes[start..<position], as: UTF8.self)
      }
      advance()
    }
    throw problem("expected the end of \(what), found the end of the file", at: place)
  }

  // MARK: Bytes

  private var column: Int { position - lineStart + 1 }

  private func byte(at index: Int) -> UInt8? { index < bytes.count ? bytes[index] : nil }

  private func peek() -> UInt8? { byte(at: position) }

  private func starts(with text: String) -> Bool {
    var index = position
    for expected in text.utf8 {
      guard byte(at: index) == expected else { return false }
      index += 1
    }
    return true
  }

  private mutating func advance(by count: Int = 1) {
    for _ in 0..<count where position < bytes.count {
      if bytes[position] == UInt8(ascii: "\n") {
        line += 1
        lineStart = position + 1
      }
      position += 1
    }
  }

  @discardableResult
  private mutating func skipSpace() -> Bool {
    let start = position
    while let byte = peek(), Self.isSpace(byte) { advance() }
    return position > start
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: ":"), 0x80...:
      true
    default: false
    }
  }

  private func problem(_ text: String, at place: (line: Int, column: Int)? = nil) -> GodwitError {
    GodwitError(
      .missingInput, "cannot read the file as XML: \(text)",
      location: .init(file: file, line: place?.line ?? line, column: place?.column ?? column),
      cause: position >= bytes.count && !bytes.isEmpty ? "the file is cut off: it was not written to its end" : nil,
      remedy: "restore the file, or save it again with Xcode")
  }
}
