import Foundation
import GodwitModel

/// The objects of an `xcmapping.xml`, which is a Core Data XML store of Xcode's own.
///
/// Only its form is read here: types, attributes as text, links by number. The document type is never fetched.
struct MappingDocument {
  struct Attribute {
    var type: String
    /// Without Core Data's escapes. Nil for an element without text: a value that was taken away.
    var text: String?
    var location: GodwitError.Location
  }

  struct Object {
    var type: String
    var id: String
    var attributes: [String: Attribute]
    /// The objects linked to, by relationship.
    var links: [String: [String]]
    var location: GodwitError.Location
  }

  /// More than any mapping model has. The limits bound the work for a damaged file.
  static let objectsMaximum = 200_000

  let file: String
  let objects: [Object]
  private let places: [String: Int]

  /// - Throws: code `.missingInput` with file, line and column.
  init(_ bytes: [UInt8], file: String) throws {
    self.file = file
    let root = try MarkupReader.read(bytes, file: file)
    guard root.name == "database" else {
      throw Self.problem("expected the element <database>, found <\(root.name)>", at: root, file: file)
    }
    guard root.children.count <= Self.objectsMaximum else {
      throw Self.problem("expected at most \(Self.objectsMaximum) objects, found more", at: root, file: file)
    }
    var objects: [Object] = []
    var places: [String: Int] = [:]
    for element in root.children {
      switch element.name {
      case "databaseInfo": continue
      case "object":
        let object = try Self.object(element, file: file)
        guard places.updateValue(objects.count, forKey: object.id) == nil else {
          throw Self.problem("two objects have the id '\(object.id)'", at: element, file: file)
        }
        objects.append(object)
      default: throw Self.problem("unknown element <\(element.name)>", at: element, file: file)
      }
    }
    self.objects = objects
    self.places = places
  }

  private static func object(_ element: MarkupElement, file: String) throws -> Object {
    guard let type = element["type"], let id = element["id"], !type.isEmpty, !id.isEmpty else {
      throw problem("expected the attributes 'type' and 'id' in <object>, found one or none", at: element, file: file)
    }
    var object = Object(
      type: type, id: id, attributes: [:], links: [:],
      location: .init(file: file, line: element.line, column: element.column))
    for child in element.children {
      guard let name = child["name"], !name.isEmpty else {
        throw problem("expected the attribute 'name' in <\(child.name)>, found none", at: child, file: file)
      }
      switch child.name {
      case "attribute":
        let attribute = Attribute(
          type: child["type"] ?? "", text: child.text.isEmpty ? nil : try decodedText(of: child, file: file),
          location: .init(file: file, line: child.line, column: child.column))
        guard object.attributes.updateValue(attribute, forKey: name) == nil else {
          throw problem("the attribute '\(name)' is listed twice", at: child, file: file)
        }
      case "relationship":
        let ids = (child["idrefs"] ?? "").split { $0 == " " || $0 == "\n" || $0 == "\t" }.map(String.init)
        guard object.links.updateValue(ids, forKey: name) == nil else {
          throw problem("the relationship '\(name)' is listed twice", at: child, file: file)
        }
      default: throw problem("unknown element <\(child.name)> in <object>", at: child, file: file)
      }
    }
    return object
  }

  private static func decodedText(of element: MarkupElement, file: String) throws -> String {
    do throws(AttributeText.HalfCharacter) {
      return String(decoding: try AttributeText.decoded(Array(element.text.utf8)), as: UTF8.self)
    } catch { throw problem("expected a character, \(error.found)", at: element, file: file) }
  }

  /// The objects that a relationship leads to, which must be there and of the type.
  func objects(_ relationship: String, of object: Object, type: String) throws -> [Object] {
    var seen: Set<String> = []
    return try (object.links[relationship] ?? []).compactMap { id in
      guard seen.insert(id).inserted else { return nil }
      guard let place = places[id], objects.indices.contains(place), objects[place].type == type else {
        throw Self.problem(
          "the relationship '\(relationship)' of object '\(object.id)' leads to '\(id)', which is not a \(type)",
          at: object.location)
      }
      return objects[place]
    }
  }

  // MARK: Values

  /// - Throws: when the object has an unknown attribute, because its content would be lost.
  func check(_ object: Object, attributes known: [String]) throws {
    let unknown = object.attributes.filter { !known.contains($0.key) }
      .min { ($0.value.location.line, $0.key) < ($1.value.location.line, $1.key) }
    guard let (name, attribute) = unknown else { return }
    throw GodwitError(
      .configuration,
      "cannot read mapping model: unknown attribute '\(name)' of \(object.type)"
        + Spelling.suggestion(for: name, among: known), location: attribute.location,
      remedy: "remove this setting in Xcode, or write the mapping model as a .mapping.yaml file")
  }

  func text(_ name: String, of object: Object) -> String? { object.attributes[name]?.text }

  func integer(_ name: String, of object: Object) throws -> Int? {
    guard let attribute = object.attributes[name], let text = attribute.text else { return nil }
    guard let number = Int(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
      throw Self.problem("expected a whole number for '\(name)'", at: attribute.location)
    }
    return number
  }

  /// Bytes in base64, with line breaks; nil if the attribute is missing.
  func bytes(_ name: String, of object: Object) throws -> [UInt8]? {
    guard let attribute = object.attributes[name], let text = attribute.text else { return nil }
    let digits = text.utf8.filter { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 }
    guard !digits.isEmpty else { return nil }
    guard let data = Data(base64Encoded: Data(digits)) else {
      throw Self.problem("expected base64 for '\(name)'", at: attribute.location)
    }
    return Array(data)
  }

  // MARK: Complaints

  private static func problem(_ text: String, at element: MarkupElement, file: String) -> GodwitError {
    problem(text, at: .init(file: file, line: element.line, column: element.column))
  }

  static func problem(_ text: String, at location: GodwitError.Location) -> GodwitError {
    GodwitError(
      .missingInput, "cannot read mapping model: \(text)", location: location,
      remedy: "restore the file, or save it again with Xcode")
  }
}
