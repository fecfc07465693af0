package import Foundation

#if canImport(FoundationXML)
  package import FoundationXML
#endif

/// The content of an XML store, read with Foundation, without the project's own reader.
package final class XMLStoreContent: NSObject, XMLParserDelegate {
  package struct Object {
    package var type: String
    package var id: String
    package var attributes: [String: String] = [:]
    /// The attributes as they stand in the file, with Core Data's escapes.
    package var written: [String: String] = [:]
    package var types: [String: String] = [:]
    package var relationships: [String: [String]] = [:]
  }

  package private(set) var objects: [Object] = []
  package private(set) var info: [String: String] = [:]
  private var text = ""
  private var attribute: String?

  package init(path: String) throws {
    super.init()
    let parser = XMLParser(data: try Data(contentsOf: URL(filePath: path)))
    parser.delegate = self
    _ = parser.parse()
    if let error = parser.parserError { throw error }
  }

  /// By identifier.
  package var byID: [String: Object] { Dictionary(objects.map { ($0.id, $0) }) { first, _ in first } }

  package func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    text = ""
    switch name {
    case "object": objects.append(Object(type: attributes["type"] ?? "", id: attributes["id"] ?? ""))
    case "attribute":
      attribute = attributes["name"]
      if let attribute, !objects.isEmpty { objects[objects.count - 1].types[attribute] = attributes["type"] }
    case "relationship":
      guard !objects.isEmpty else { return }
      objects[objects.count - 1].relationships[attributes["name"] ?? ""] =
        (attributes["idrefs"] ?? "").split(separator: " ").map(String.init)
    default: break
    }
  }

  package func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }

  package func parser(
    _ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?
  ) {
    if name == "attribute", let attribute, !objects.isEmpty {
      objects[objects.count - 1].attributes[attribute] = Self.plain(text)
      objects[objects.count - 1].written[attribute] = text
    } else if ["UUID", "nextObjectID", "version"].contains(name) {
      info[name] = text
    }
    text = ""
  }

  /// A text without Core Data's escapes.
  package static func plain(_ text: String) -> String {
    var units: [UInt16] = []
    var rest = Array(text.utf16)[...]
    while let unit = rest.popFirst() {
      units.append(unit)
      guard unit == 0x5C, let next = rest.first else { continue }
      let digits = String(decoding: rest.dropFirst().prefix(4), as: UTF16.self)
      if next == 0x5C {
        rest.removeFirst()
      } else if next == 0x75, digits.utf8.count == 4, digits.allSatisfy(\.isHexDigit),
        let number = UInt16(digits, radix: 16)
      {
        units[units.count - 1] = number.byteSwapped
        rest.removeFirst(5)
      }
    }
    return String(decoding: units, as: UTF16.self)
  }
}
