import Foundation
import GodwitModel
import GodwitStore

/// Prints objects as JSON lines or CSV records. Equal objects give equal text.
///
/// | value | JSON | CSV |
/// |---|---|---|
/// | nil | `null` | empty |
/// | an empty String or Data | `""` | `""` |
/// | Boolean | `true` | `true` |
/// | Integer, Double, Float | a number; `"inf"` and `"-inf"` as strings | the same |
/// | Decimal | a string | the same |
/// | Date | `"2001-01-01T00:00:00.000000Z"` | the same |
/// | UUID, URI | a string | the same |
/// | Binary, Transformable | base64 | base64 |
/// | String that is not UTF-8 | `{"@base64": "…"}` | `base64:…` |
/// | external file that is missing | `{"@missing-file": "…"}` | `missing-file:…` |
/// | to-one | an object URI | the same |
/// | to-many | an array of object URIs | separated by spaces |
/// | composite | an object of its elements; `null` when all are nil | a column for each, such as `author.name` |
///
/// `@entity` and `@uri` come first: no property's name begins so.
struct ObjectWriter {
  let format: ExportFormat
  private let reader: ObjectReader
  /// The columns of CSV: all properties that some entity has.
  private let columns: [String]

  init(format: ExportFormat, entities: [String], reader: ObjectReader) {
    self.format = format
    self.reader = reader
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
      text = "{\"@entity\":\(Self.quoted(object.reference.entity)),\"@uri\":\(Self.quoted(uri))"
      // The leaves of a composite attribute stand together, since both lists are sorted by name.
      func addMembers(_ properties: ArraySlice<(name: String, value: ObjectReader.Value)>, within path: String) throws {
        var rest = properties
        while let next = rest.first {
          let name = next.name.dropFirst(path.count)
          if !text.hasSuffix("{") { text += "," }
          guard let dot = name.firstIndex(of: ".") else {
            text += "\(Self.quoted(String(name))):"
            if try !addLarge(next.value) { text += json(next.value) }
            rest.removeFirst()
            continue
          }
          let inner = path + name[...dot]
          let elements = rest.prefix { $0.name.hasPrefix(inner) }
          rest = rest.dropFirst(elements.count)
          text += "\(Self.quoted(String(name[..<dot]))):"
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
        guard let next = rest.first, next.name == column else { continue }
        if try !addLarge(next.value) { text += field(next.value) }
        rest = rest.dropFirst()
      }
      text += "\r\n"
    }
    try add(text)
  }

  /// A CSV field; quotes tell an empty value from nil.
  private func field(_ value: ObjectReader.Value) -> String {
    let text = plain(value)
    if text.isEmpty, case .attribute(let value, _) = value, !value.isNull { return "\"\"" }
    return Self.field(text)
  }

  // MARK: JSON

  private func json(_ value: ObjectReader.Value) -> String {
    switch value {
    // These are written a piece at a time.
    case .large: return "null"
    case .missingFile(let name): return "{\"@missing-file\":\(Self.quoted(name))}"
    case .toOne(let reference): return reference.map { Self.quoted(reader.uri(of: $0)) } ?? "null"
    case .toMany(let references):
      return "[" + references.map { Self.quoted(reader.uri(of: $0)) }.joined(separator: ",") + "]"
    case .attribute(let value, _):
      switch value {
      case .null: return "null"
      case .boolean, .integer: return plain(value)
      case .double(let number): return number.isFinite ? plain(value) : Self.quoted(plain(value))
      case .string(let text), .uri(let text):
        guard let string = String(validating: text.utf8, as: UTF8.self) else {
          return "{\"@base64\":\"\(Data(text.utf8).base64EncodedString())\"}"
        }
        return Self.quoted(string)
      case .decimal, .date, .data, .uuid: return Self.quoted(plain(value))
      }
    }
  }

  /// A JSON string: only what must be escaped is.
  static func quoted(_ text: String) -> String { "\"\(escaped(text))\"" }

  /// The text between the quotes of a JSON string.
  static func escaped(_ text: String) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case UInt8(ascii: "\n"): bytes += Array("\\n".utf8)
      case UInt8(ascii: "\r"): bytes += Array("\\r".utf8)
      case UInt8(ascii: "\t"): bytes += Array("\\t".utf8)
      case 0..<0x20: bytes += Array((byte < 16 ? "\\u000" : "\\u00").utf8) + Array(String(byte, radix: 16).utf8)
      default: bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  // MARK: CSV

  private func plain(_ value: ObjectReader.Value) -> String {
    switch value {
    case .large: ""
    case .missingFile(let name): "missing-file:" + name
    case .toOne(let reference): reference.map(reader.uri) ?? ""
    case .toMany(let references): references.map(reader.uri).joined(separator: " ")
    case .attribute(let value, _): plain(value)
    }
  }

  private func plain(_ value: AttributeValue) -> String {
    switch value {
    case .null: ""
    case .boolean(let truth): truth ? "true" : "false"
    case .integer(let number): String(number)
    case .decimal(let number): number.description
    case .double(let number): number.description
    case .string(let text), .uri(let text):
      String(validating: text.utf8, as: UTF8.self) ?? "base64:" + Data(text.utf8).base64EncodedString()
    case .date(let seconds): Self.date(seconds)
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

  // MARK: Dates

  /// ISO 8601 in UTC with microseconds, by the Gregorian calendar at all times; years beyond four digits carry a sign.
  ///
  /// A date beyond the range of the calendar is given as seconds since 2001, as stored.
  static func date(_ seconds: Double) -> String {
    guard seconds.isFinite, abs(seconds) < 1e14 else { return seconds.description }
    var whole = Int64(seconds.rounded(.down))
    var microseconds = Int64(((seconds - seconds.rounded(.down)) * 1_000_000).rounded())
    if microseconds == 1_000_000 { (whole, microseconds) = (whole + 1, 0) }
    // Days since 0000-03-01, where a leap day ends the year: 2001-01-01 is day 730 791.
    let dayOfReference = whole >= 0 ? whole / 86_400 : -((-whole + 86_399) / 86_400)
    let secondOfDay = whole - dayOfReference * 86_400
    let day = dayOfReference + 730_791
    let era = (day >= 0 ? day : day - 146_096) / 146_097
    let dayOfEra = day - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    let dayOfMonth = dayOfYear - (153 * month + 2) / 5 + 1
    let year = yearOfEra + era * 400 + (month >= 10 ? 1 : 0)
    func digits(_ number: Int64, _ count: Int) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    let yearText = (0...9999).contains(year) ? digits(year, 4) : (year < 0 ? "-" : "+") + digits(abs(year), 6)
    return yearText + "-" + digits(month < 10 ? month + 3 : month - 9, 2) + "-" + digits(dayOfMonth, 2) + "T"
      + digits(secondOfDay / 3600, 2) + ":" + digits(secondOfDay / 60 % 60, 2) + ":" + digits(secondOfDay % 60, 2) + "."
      + digits(microseconds, 6) + "Z"
  }
}
