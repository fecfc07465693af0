import Foundation
import GodwitModel
import GodwitStore

/// Prints objects as JSON lines or CSV records. Equal objects give equal text.
///
/// | value | JSON | CSV |
/// |---|---|---|
/// | nil | `null` | empty, or the text of `--null` |
/// | an empty String or Data | `""` | `""` |
/// | Boolean | `true` | `true` |
/// | Integer, Double, Float | a number; `"inf"` and `"-inf"` as strings | the same |
/// | Decimal | a string | the same |
/// | Date | `"2001-01-01T00:00:00.000000Z"`, or a number | the same |
/// | UUID, URI | a string | the same |
/// | Binary | base64; with `--binaries decoded` also `{"@json": …}`, `{"@plist": …}`, `{"@archive": …}` | base64; also `json:…`, `plist:…`, `archive:…` |
/// | Transformable: an archive of property-list classes | a string with its JSON; with `--transformables json` the JSON itself, `{"@archive": …}` around a string and nil | its JSON |
/// | Transformable: other bytes | base64 | base64 |
/// | String that is not UTF-8 | `{"@base64": "…"}` | `base64:…` |
/// | external file that is missing | `{"@missing-file": "…"}` | `missing-file:…` |
/// | to-one | an object URI, or a key | the same |
/// | to-many | an array of object URIs or keys, or their number | separated by spaces |
/// | composite | an object of its elements; `null` when all are nil | a column for each, such as `author.name` |
///
/// `@entity` and `@uri` come first: no property's name begins so.
struct ObjectWriter {
  let format: ExportFormat
  private let style: ExportStyle
  private let reader: ObjectReader
  /// The columns of CSV: all properties that some entity has.
  private let columns: [String]

  init(format: ExportFormat, style: ExportStyle = ExportStyle(), entities: [String], reader: ObjectReader) {
    (self.format, self.style, self.reader) = (format, style, reader)
    columns = Set(entities.flatMap(reader.propertyNames)).sorted { Text($0) < Text($1) }
  }

  var head: String {
    format == .csv ? (["@entity", "@uri"] + columns).map(Self.field).joined(separator: ",") + "\r\n" : ""
  }

  /// Hands the record of an object to `add`, in one piece but for large values.
  func write(_ object: ObjectReader.Object, to add: (String) throws -> Void) throws {
    let uri = reader.uri(of: object.reference)
    var text: String
    func addLarge(_ value: ObjectReader.Value) throws -> Bool {
      guard case .large(let large, _) = value else { return false }
      try add(text)
      text = ""
      let isJSON = format == .jsonl
      try LargeText(bytes: reader.bytes(of: large), isText: large.isText).write(
        as: format, data: isJSON ? ("\"", "\"") : ("", ""),
        invalid: isJSON ? ("{\"@base64\":\"", "\"}") : ("base64:", ""), to: add)
      return true
    }
    switch format {
    case .jsonl:
      text = "{\"@entity\":\(JSONString.quoted(object.reference.entity)),\"@uri\":\(JSONString.quoted(uri))"
      // The leaves of a composite attribute stand together, since both lists are sorted by name.
      func addMembers(_ properties: ArraySlice<(name: String, value: ObjectReader.Value)>, within path: String) throws {
        var rest = properties
        while let next = rest.first {
          let name = next.name.dropFirst(path.count)
          if !text.hasSuffix("{") { text += "," }
          guard let dot = name.firstIndex(of: ".") else {
            text += "\(JSONString.quoted(String(name))):"
            if try !addLarge(next.value) { text += json(next.value) }
            rest.removeFirst()
            continue
          }
          let inner = path + name[...dot]
          let elements = rest.prefix { $0.name.hasPrefix(inner) }
          rest = rest.dropFirst(elements.count)
          text += "\(JSONString.quoted(String(name[..<dot]))):"
          guard elements.contains(where: { !$0.value.isNil }) else {
            text += "null"
            continue
          }
          text += "{"
          try addMembers(elements, within: inner)
          text += "}"
        }
      }
      try addMembers(object.properties[...], within: "")
      text += "}\n"
    case .csv, .sqlite:
      text = [object.reference.entity, uri].map(Self.field).joined(separator: ",")
      var rest = object.properties[...]
      // Both lists are sorted by name.
      for column in columns {
        text += ","
        guard let next = rest.first, next.name == column else {
          text += style.null
          continue
        }
        if try !addLarge(next.value) { text += field(next.value) }
        rest = rest.dropFirst()
      }
      text += "\r\n"
    }
    try add(text)
  }

  /// A CSV field; quotes tell an empty value from nil.
  private func field(_ value: ObjectReader.Value) -> String {
    switch value {
    case .toOne(nil), .attribute(.null, _): style.null
    case .toMany(let references) where references.isEmpty && style.links != .count: ""
    default: style.field(plain(value))
    }
  }

  // MARK: JSON

  private func json(_ value: ObjectReader.Value) -> String {
    switch value {
    // These are written a piece at a time.
    case .large: return "null"
    case .missingFile(let name): return "{\"@missing-file\":\(JSONString.quoted(name))}"
    case .toOne(let reference): return reference.map(jsonLink) ?? "null"
    case .toMany(let references):
      if style.links == .count { return String(references.count) }
      return "[" + references.map(jsonLink).joined(separator: ",") + "]"
    case .attribute(let value, let attribute):
      if let archived = Self.archived(value, attribute) {
        return style.transformables == .json ? archived : JSONString.quoted(archived)
      }
      if let encoded = encoded(value) { return encoded.markedJSON }
      if case .date(let seconds) = value, let number = style.dates.number(seconds) { return number.description }
      switch value {
      case .null: return "null"
      case .boolean, .integer: return Self.plain(value)
      case .double(let number): return number.isFinite ? Self.plain(value) : JSONString.quoted(Self.plain(value))
      case .string(let text), .uri(let text):
        guard let string = String(validating: text.utf8, as: UTF8.self) else {
          return "{\"@base64\":\"\(Data(text.utf8).base64EncodedString())\"}"
        }
        return JSONString.quoted(string)
      case .decimal, .date, .data, .uuid: return JSONString.quoted(Self.plain(value))
      }
    }
  }

  private func jsonLink(_ reference: ObjectReader.Reference) -> String {
    style.links == .keys ? String(reference.key) : JSONString.quoted(reader.uri(of: reference))
  }

  /// The value of a transformable attribute as JSON; nil for bytes that are not an archive of property-list classes.
  ///
  /// A string by itself is base64, and `null` is nil, so an archive of one of them has a mark.
  static func archived(_ value: AttributeValue, _ attribute: AttributeDescription) -> String? {
    guard attribute.type == .transformable, case .data(let bytes) = value, ArchivedValue.isArchive(bytes),
      let archived = try? ArchivedValue(archive: bytes)
    else { return nil }
    return archived.isString || archived == .null ? "{\"@archive\":\(archived.json)}" : archived.json
  }

  /// The value that binary data encodes, if it is to be decoded; nil for other bytes.
  private func encoded(_ value: AttributeValue) -> EncodedValue? {
    guard style.binaries == .decoded, case .data(let bytes) = value else { return nil }
    return EncodedValue(bytes)
  }

  // MARK: CSV

  private func plain(_ value: ObjectReader.Value) -> String {
    switch value {
    case .large: ""
    case .missingFile(let name): "missing-file:" + name
    case .toOne(let reference): reference.map(link) ?? ""
    case .toMany(let references):
      style.links == .count ? String(references.count) : references.map(link).joined(separator: " ")
    case .attribute(.date(let seconds), _):
      style.dates.number(seconds)?.description ?? Self.plain(AttributeValue.date(seconds))
    case .attribute(let value, let attribute):
      Self.archived(value, attribute) ?? encoded(value)?.markedText ?? Self.plain(value)
    }
  }

  private func link(_ reference: ObjectReader.Reference) -> String {
    style.links == .keys ? String(reference.key) : reader.uri(of: reference)
  }

  /// The text of a value in either format, before it is quoted.
  static func plain(_ value: AttributeValue) -> String {
    switch value {
    case .null: ""
    case .boolean(let truth): truth ? "true" : "false"
    case .integer(let number): String(number)
    case .decimal(let number): number.description
    case .double(let number): number.description
    case .string(let text), .uri(let text):
      String(validating: text.utf8, as: UTF8.self) ?? "base64:" + Data(text.utf8).base64EncodedString()
    case .date(let seconds): DateText.text(seconds)
    case .data(let bytes): Data(bytes).base64EncodedString()
    case .uuid(let uuid): uuid.uuidString
    }
  }

  /// Quoted when it holds a comma, a quote, a line break, or a space at an end.
  static func field(_ text: String) -> String {
    guard needsQuotes(text) || text.utf8.first == UInt8(ascii: " ") || text.utf8.last == UInt8(ascii: " ") else {
      return text
    }
    return "\"" + text.replacing(scalar: "\"", with: "\"\"") + "\""
  }

  static func needsQuotes(_ text: String) -> Bool {
    text.utf8.contains {
      $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r")
    }
  }
}
