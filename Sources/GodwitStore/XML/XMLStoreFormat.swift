import Foundation
import GodwitModel

/// Writes an XML store in the form Core Data writes.
///
/// For values see `AttributeValue+XML`. Binary data is inline, whatever the model allows beside the store.
final class XMLStoreFormat: AtomicStoreFormat {
  private let file: AtomicStoreFile
  private let model: ManagedObjectModel
  private let keys: AtomicStoreKeys
  /// The name of the new store in messages.
  private let name: String

  var writtenBytes: Int64 { file.writtenBytes }

  init(path: String, model: ManagedObjectModel, keys: AtomicStoreKeys, name: String) throws {
    (self.model, self.keys, self.name) = (model, keys, name)
    file = try AtomicStoreFile(path: path)
  }

  func begin(_ metadata: [Text: PropertyListValue], uuid: String) throws {
    try file.write(
      """
      <?xml version="1.0" standalone="yes"?>
      <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

      <database>
          <databaseInfo>
              <version>134481920</version>
              <UUID>\(try escaped(uuid))</UUID>
              <nextObjectID>\(keys.highest)</nextObjectID>
              <metadata>
                  <plist version="1.0">

      """)
    try write(.dictionary(metadata), depth: 4)
    try file.write("            </plist>\n        </metadata>\n    </databaseInfo>\n")
  }

  func finish() throws {
    try file.write("</database>")
    try file.finish()
  }

  // MARK: Objects

  private func identifier(_ reference: ObjectReader.Reference) -> String {
    "z\(keys.number(of: reference, in: model))"
  }

  func write(_ object: ObjectReader.Object) throws {
    let entity = object.reference.entity
    try file.write(
      "    <object type=\"\(try quoted(entity.uppercased()))\" id=\"\(identifier(object.reference))\">\n")
    var related: [String: [ObjectReader.Reference]] = [:]
    for (name, value) in object.properties {
      switch value {
      case .attribute(let value, let attribute): try write(value, attribute, of: object.reference)
      // `AtomicStoreWriter` refuses these.
      case .large, .missingFile: break
      case .toOne(let reference): related[name] = reference.map { [$0] } ?? []
      case .toMany(let references): related[name] = references
      }
    }
    for relationship in model.relationships(of: entity).sorted(by: { Text($0.name) < Text($1.name) })
    where !relationship.isTransient {
      // Core Data writes every relationship of an object, and no `idrefs` for an empty one.
      let identifiers = (related[relationship.name] ?? []).map(identifier).joined(separator: " ")
      let name = try quoted(relationship.name.lowercased())
      let destination = try quoted(relationship.destinationEntityName.uppercased())
      let range = "\(relationship.minCount)/\(relationship.maxCount)"
      let references = identifiers.isEmpty ? "" : " idrefs=\"\(identifiers)\""
      try file.write("        <relationship name=\"\(name)\" type=\"\(range)\" destination=\"\(destination)\"")
      try file.write("\(references)></relationship>\n")
    }
    try file.write("    </object>\n")
  }

  private func write(
    _ value: AttributeValue, _ attribute: AttributeDescription, of object: ObjectReader.Reference
  ) throws {
    guard let type = attribute.type.facts.xmlNames.first else { return }
    let text: [UInt8]?
    do throws(XMLText.Unwritable) { text = try value.xmlText(as: attribute) } catch {
      throw GodwitError(
        .dataWrong, "cannot write '\(name)': a text has \(error.found), which XML cannot hold",
        context: "attribute '\(attribute.name)' of \(object.entity) p\(object.key)",
        remedy: "correct the value, remove the character in the mapping, or use a SQLite store",
        safe: "the source is untouched")
    }
    guard let text else { return }
    try file.write("        <attribute name=\"\(try quoted(attribute.name.lowercased()))\" type=\"\(type)\">")
    try file.write(text)
    try file.write("</attribute>\n")
  }

  // MARK: Metadata

  private func write(_ value: PropertyListValue, depth: Int) throws {
    let indent = String(repeating: "    ", count: depth)
    func line(_ element: String, _ text: String) throws {
      try file.write("\(indent)<\(element)>\(text)</\(element)>\n")
    }
    switch value {
    case .string(let text): try line("string", escaped(text))
    case .integer(let number): try line("integer", String(number))
    case .unsigned(let number): try line("integer", String(number))
    case .real(let number): try line("real", number.description)
    case .boolean(let truth): try file.write("\(indent)<\(truth)/>\n")
    case .date(let seconds):
      try line("date", Date(timeIntervalSinceReferenceDate: seconds).formatted(.iso8601))
    case .data(let bytes):
      try file.write("\(indent)<data>\n\t\t\(Data(bytes).base64EncodedString())\n\t\t</data>\n")
    case .uid(let number):
      try write(.dictionary(["CF$UID": .integer(Int64(clamping: number))]), depth: depth)
    case .array(let items):
      try file.write("\(indent)<array>\n")
      for item in items { try write(item, depth: depth + 1) }
      try file.write("\(indent)</array>\n")
    case .dictionary(let items):
      try file.write("\(indent)<dict>\n")
      for (key, item) in items.sorted(by: { $0.key < $1.key }) {
        try file.write("\(indent)    <key>\(escaped(key.string))</key>\n")
        try write(item, depth: depth + 1)
      }
      try file.write("\(indent)</dict>\n")
    }
  }

  private func escaped(_ text: String) throws -> String {
    do throws(XMLText.Unwritable) {
      return String(decoding: try XMLText.escaped(Array(text.utf8)), as: UTF8.self)
    } catch { throw unwritable(error) }
  }

  private func quoted(_ text: String) throws -> String {
    do throws(XMLText.Unwritable) { return try XMLText.quoted(text) } catch { throw unwritable(error) }
  }

  private func unwritable(_ problem: XMLText.Unwritable) -> GodwitError {
    GodwitError(
      .dataWrong, "cannot write '\(name)': the metadata has \(problem.found), which XML cannot hold",
      remedy: "use a SQLite store")
  }
}
