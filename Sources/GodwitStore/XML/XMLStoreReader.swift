import Foundation
import GodwitModel

/// Reads an XML store front to back: its header, then object by object.
///
/// It needs no model, so names are as the file spells them: entities in upper case, properties in lower case.
/// Memory holds one object. For the meaning of an object see `XMLStoreNames`.
final class XMLStoreReader {
  struct Attribute {
    var name: String
    var type: String
    /// Without Core Data's escapes.
    var text: [UInt8]
    var place: GodwitError.Location
  }

  struct Relationship {
    var name: String
    var destination: String
    var identifiers: [String]
    var place: GodwitError.Location
  }

  struct Object {
    var type: String
    var identifier: String
    var place: GodwitError.Location
    var attributes: [Attribute] = []
    var relationships: [Relationship] = []
  }

  /// More properties than an object of any model has. A file with more is not a store.
  static let propertiesMaximum = 10_000
  /// The most values of the property list in the header.
  static let valuesMaximum = 200_000

  private(set) var uuid = ""
  /// No object has a higher number.
  private(set) var nextObjectID: Int64 = 0
  private(set) var metadata: [Text: PropertyListValue] = [:]
  private let scanner: MarkupScanner

  /// Reads the header.
  ///
  /// - Throws: `.dataWrong` (65) with line and column when the file is not an XML store, or is damaged.
  init(path: String, name: String) throws {
    scanner = try MarkupScanner(path: path, name: name)
    guard case .start(let root) = try scanner.next() else { throw scanner.problem("expected <database>, found none") }
    guard root.name == "database" else {
      throw scanner.problem("expected <database>, found <\(root.name)>", at: root.place)
    }
    guard let info = try nextTag(), info.name == "databaseInfo" else {
      throw scanner.problem("expected <databaseInfo> at the head of <database>, found none", at: root.place)
    }
    try readInfo()
    guard !uuid.isEmpty else {
      throw scanner.problem("expected a <UUID> in <databaseInfo>, found none", at: info.place)
    }
  }

  /// The next object; nil after the last.
  func next() throws -> Object? {
    guard let tag = try nextTag() else {
      guard case .endOfFile = try scanner.next() else { throw scanner.problem("expected the end of the file") }
      return nil
    }
    guard tag.name == "object" else { throw scanner.problem("expected <object>, found <\(tag.name)>", at: tag.place) }
    var object = Object(type: try value("type", of: tag), identifier: try value("id", of: tag), place: tag.place)
    var names: Set<Text> = []
    while let property = try nextTag() {
      guard ["attribute", "relationship"].contains(property.name) else {
        throw scanner.problem(
          "expected <attribute> or <relationship>, found <\(property.name)>", at: property.place)
      }
      let name = try value("name", of: property)
      guard names.insert(Text(property.name + " " + name)).inserted else {
        throw scanner.problem("expected \(property.name) '\(name)' once, found it twice", at: property.place)
      }
      guard names.count <= Self.propertiesMaximum else {
        throw scanner.problem(
          "expected at most \(Self.propertiesMaximum) properties of an object, found more", at: tag.place)
      }
      if property.name == "attribute" {
        let type = try value("type", of: property)
        object.attributes.append(
          Attribute(name: name, type: type, text: try decodedText(of: property), place: property.place))
      } else {
        let identifiers = try property["idrefs"].map { bytes in
          try string(bytes, property).split { $0 == " " }.map(String.init)
        }
        object.relationships.append(
          Relationship(
            name: name, destination: try value("destination", of: property), identifiers: identifiers ?? [],
            place: property.place))
        guard try text(of: property).allSatisfy({ [0x20, 0x09, 0x0A].contains($0) }) else {
          throw scanner.problem("expected no text in relationship '\(name)'", at: property.place)
        }
      }
    }
    return object
  }

  // MARK: Header

  private func readInfo() throws {
    var seen: Set<String> = []
    while let tag = try nextTag() {
      guard seen.insert(tag.name).inserted else {
        throw scanner.problem("expected <\(tag.name)> once, found it twice", at: tag.place)
      }
      switch tag.name {
      case "version":
        // 134481920 in every store seen, from 2006 on.
        guard Int64(try word(of: tag)) != nil else {
          throw scanner.problem("expected a number in <version>, found something else", at: tag.place)
        }
      case "UUID": uuid = try word(of: tag)
      case "nextObjectID":
        guard let number = Int64(try word(of: tag)), number >= 0 else {
          throw scanner.problem("expected a number in <nextObjectID>, found something else", at: tag.place)
        }
        nextObjectID = number
      case "metadata":
        while let list = try nextTag() {
          guard list.name == "plist", metadata.isEmpty else {
            throw scanner.problem("expected one <plist> in <metadata>, found <\(list.name)>", at: list.place)
          }
          var values = 0
          let found = try nextTag().map { try propertyList($0, values: &values) }
          guard let dictionary = found?.dictionary, try nextTag() == nil else {
            throw scanner.problem("expected one <dict> in <plist>, found something else", at: list.place)
          }
          metadata = dictionary
        }
      default: try scanner.skipElement()
      }
    }
  }

  private func propertyList(_ tag: MarkupTag, values: inout Int) throws -> PropertyListValue {
    values += 1
    guard values <= Self.valuesMaximum else {
      throw scanner.problem("expected at most \(Self.valuesMaximum) values in the metadata, found more", at: tag.place)
    }
    func wrong(_ what: String) -> GodwitError {
      scanner.problem("expected \(what) in <\(tag.name)> of the metadata, found something else", at: tag.place)
    }
    switch tag.name {
    case "string": return .string(try string(try text(of: tag), tag))
    case "true", "false":
      _ = try text(of: tag)
      return .boolean(tag.name == "true")
    case "integer":
      guard let number = Int64(try word(of: tag)) else { throw wrong("a whole number") }
      return .integer(number)
    case "real":
      guard let number = Double(try word(of: tag)) else { throw wrong("a number") }
      return .real(number)
    case "date":
      guard let date = try? Date(try word(of: tag), strategy: .iso8601) else { throw wrong("a date") }
      return .date(date.timeIntervalSinceReferenceDate)
    case "data":
      guard let data = Base64.bytes(of: try text(of: tag)) else { throw wrong("base64") }
      return .data(data)
    case "array":
      var items: [PropertyListValue] = []
      while let item = try nextTag() { items.append(try propertyList(item, values: &values)) }
      return .array(items)
    case "dict":
      var dictionary: [Text: PropertyListValue] = [:]
      while let key = try nextTag() {
        guard key.name == "key" else { throw wrong("<key>") }
        let name = try string(try text(of: key), key)
        guard let item = try nextTag() else { throw wrong("a value after each <key>") }
        guard dictionary.updateValue(try propertyList(item, values: &values), forKey: Text(name)) == nil else {
          throw scanner.problem("expected key '\(name)' once in the metadata, found it twice", at: key.place)
        }
      }
      return .dictionary(dictionary)
    default: throw scanner.problem("expected a value of a property list, found <\(tag.name)>", at: tag.place)
    }
  }

  // MARK: Elements

  /// The next element inside the present one; nil at its end. Between elements only white space may stand.
  private func nextTag() throws -> MarkupTag? {
    while true {
      switch try scanner.next() {
      case .start(let tag): return tag
      case .end, .endOfFile: return nil
      case .text(let bytes):
        guard bytes.allSatisfy({ [0x20, 0x09, 0x0A].contains($0) }) else {
          throw scanner.problem("expected an element, found text")
        }
      }
    }
  }

  /// The text of an element that has no elements inside, whose tag was just read.
  private func text(of tag: MarkupTag) throws -> [UInt8] {
    var text: [UInt8] = []
    while true {
      switch try scanner.next() {
      case .text(let bytes):
        if text.isEmpty { text = bytes } else { text += bytes }
        guard text.count <= MarkupRules.store.valueBytesMaximum else {
          throw scanner.problem("expected a shorter text in <\(tag.name)>", at: tag.place)
        }
      case .end, .endOfFile: return text
      case .start(let inner):
        throw scanner.problem("expected text in <\(tag.name)>, found <\(inner.name)>", at: inner.place)
      }
    }
  }

  /// The text of an attribute, which has Core Data's escapes.
  private func decodedText(of tag: MarkupTag) throws -> [UInt8] {
    let text = try text(of: tag)
    do throws(AttributeText.HalfCharacter) { return try AttributeText.decoded(text) } catch {
      throw scanner.problem("expected a character, \(error.found)", at: tag.place)
    }
  }

  private func word(of tag: MarkupTag) throws -> String {
    try string(try text(of: tag), tag).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private func value(_ attribute: String, of tag: MarkupTag) throws -> String {
    guard let bytes = tag[attribute], !bytes.isEmpty else {
      throw scanner.problem("expected attribute '\(attribute)' in <\(tag.name)>, found none", at: tag.place)
    }
    return try string(bytes, tag)
  }

  private func string(_ bytes: [UInt8], _ tag: MarkupTag) throws -> String {
    guard let string = String(validating: bytes, as: UTF8.self) else {
      throw scanner.problem("expected text in UTF-8 in <\(tag.name)>, found other bytes", at: tag.place)
    }
    return string
  }
}
