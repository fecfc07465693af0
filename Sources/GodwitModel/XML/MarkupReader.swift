/// Reads a UTF-8 XML file into a tree of elements.
///
/// Foundation's `XMLParser` gives attributes as an unordered dictionary without places, reports elements at the end of
/// their tag and can return success for a file that is cut off; this reader gives line and column of each element and
/// attribute. It reads what Xcode writes. Depth, size and time are bounded by the input.
package enum MarkupReader {
  package static let fileBytesMaximum = 64 << 20
  /// The limit of memory: a model of 12,000 entities has some 50,000 elements.
  package static let elementsMaximum = 500_000

  /// - Throws: code `.missingInput` with file, line and column.
  package static func read(_ bytes: [UInt8], file: String) throws -> MarkupElement {
    do { return try tree(bytes, file: file) } catch let error as GodwitError {
      throw conflict(in: bytes, file: file) ?? error
    }
  }

  // MARK: Unfinished merges

  private static let conflictMarkers = ["<<<<<<<", "=======", ">>>>>>>"]

  package static func hasConflictMarker(_ text: String) -> Bool {
    text.split(separator: "\n").contains { line in conflictMarkers.contains { line.hasPrefix($0) } }
  }

  /// The error that the file holds both sides of a merge, when it does.
  private static func conflict(in bytes: [UInt8], file: String) -> GodwitError? {
    var line = 0
    for text in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      line += 1
      if text.starts(with: Array("<<<<<<<".utf8)) { return MarkupRules.xcode.conflict(in: file, line: line) }
    }
    return nil
  }

  // MARK: Elements

  /// Without recursion: the depth of the file is not the depth of the stack.
  private static func tree(_ bytes: [UInt8], file: String) throws -> MarkupElement {
    let scanner = try MarkupScanner(bytes, name: file, rules: .xcode)
    if bytes.isEmpty { throw scanner.problem("expected XML, found an empty file") }
    guard String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0) else {
      throw scanner.problem("expected XML in UTF-8, found other bytes")
    }
    var open: [MarkupElement] = []
    var root: MarkupElement?
    var count = 0
    while true {
      switch try scanner.next() {
      case .start(let tag):
        count += 1
        guard count <= elementsMaximum else {
          throw scanner.problem("expected at most \(elementsMaximum) elements, found more", at: tag.place)
        }
        open.append(MarkupElement(tag))
      case .text(let text): open[open.count - 1].text += String(decoding: text, as: UTF8.self)
      case .end:
        let element = open.removeLast()
        if open.isEmpty { root = element } else { open[open.count - 1].children.append(element) }
      case .endOfFile:
        guard let root else { throw scanner.problem("expected an XML element, found none") }
        return root
      }
    }
  }
}

extension MarkupElement {
  fileprivate init(_ tag: MarkupTag) {
    self.init(
      name: tag.name,
      attributes: tag.attributes.map {
        .init(name: $0.name, value: String(decoding: $0.value, as: UTF8.self), line: $0.line, column: $0.column)
      }, line: tag.place.line, column: tag.place.column)
  }
}
