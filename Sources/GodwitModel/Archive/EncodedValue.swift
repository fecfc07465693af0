import Foundation

/// A value that bytes encode: the content of a property marked `.codable`, or of any other attribute whose bytes are JSON,
/// a property list or a keyed archive of property-list classes.
///
/// No file with a `.codable` property has been seen. The bytes of each value decide how it is read.
package struct EncodedValue: Sendable, Hashable {
  /// How the bytes encode the value.
  package enum Form: String, Sendable, Codable, Hashable, CaseIterable {
    case json
    case propertyList = "plist"
    case archive
  }

  package let form: Form
  package let value: ArchivedValue

  /// - Returns: nil for bytes that encode nothing of these forms, or too much: see `ArchivedValue`.
  package init?(_ bytes: [UInt8]) {
    do throws(ArchivedValue.Malformed) { try self.init(reading: bytes) } catch { return nil }
  }

  /// - Throws: For the same bytes, with the reason.
  init(reading whole: [UInt8]) throws(ArchivedValue.Malformed) {
    // A text may begin with a byte-order mark.
    let bytes = whole.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(whole.dropFirst(3)) : whole
    if ArchivedValue.isArchive(bytes) {
      do throws(ArchivedValue.Malformed) {
        (form, value) = (.archive, try ArchivedValue(archive: bytes))
      } catch {
        guard let list = Self.propertyList(bytes) else { throw error }
        (form, value) = (.propertyList, list)
      }
      return
    }
    if bytes.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }) == UInt8(ascii: "<") {
      guard let list = Self.propertyList(bytes) else {
        throw ArchivedValue.Malformed(problem: "it is neither JSON nor a property list")
      }
      (form, value) = (.propertyList, list)
      return
    }
    (form, value) = (.json, try ArchivedValue(json: bytes, decimals: true))
  }

  private static func propertyList(_ bytes: [UInt8]) -> ArchivedValue? {
    guard bytes.count <= ArchivedValue.bytesMaximum,
      let list = try? PropertyListFile.read(bytes, file: "a value", maximumValues: ArchivedValue.valuesMaximum)
    else { return nil }
    return ArchivedValue(propertyList: list, depth: 0)
  }

  /// The value as JSON, with its form: `{"@json":{"name":"Bern"}}`.
  package var markedJSON: String { "{\"@\(form.rawValue)\":\(value.json)}" }
  /// The same in one field: `json:{"name":"Bern"}`.
  package var markedText: String { "\(form.rawValue):\(value.json)" }
}

extension ArchivedValue {
  /// Keys and types without values: `{name: string, tags: [string]}`. Values of one shape have equal texts. A whole number
  /// and one with a fraction have one shape, since JSON writes 1.0 as 1.
  package func shape(depth: Int = 0) -> String {
    guard depth < 8 else { return "…" }
    switch self {
    case .null: return "null"
    case .boolean: return "boolean"
    case .integer, .real, .decimal: return "number"
    case .string: return "string"
    case .date: return "date"
    case .data: return "data"
    case .url: return "url"
    case .uuid: return "uuid"
    case .array(let members), .set(let members):
      return "[" + Set(members.map { $0.shape(depth: depth + 1) }).sorted().joined(separator: " | ") + "]"
    case .dictionary(let entries):
      let fields = entries.sorted { $0.key < $1.key }.map { key, value in
        let isWord = key.string.utf8.allSatisfy {
          $0 == UInt8(ascii: "_") || (0x30...0x39).contains($0) || (0x61...0x7A).contains($0 | 0x20)
        }
        return
          "\(isWord && !key.string.isEmpty ? key.string : JSONString.quoted(key.string)): \(value.shape(depth: depth + 1))"
      }
      return "{" + fields.joined(separator: ", ") + "}"
    }
  }
}
