import Foundation
package import GodwitModel

/// Writes a SQLite store out as an XML store, in the form Core Data writes.
///
/// Equal stores give equal bytes: entities go in the order of their numbers, objects by key, properties by name. Memory
/// holds one object and a piece of 64 KiB. Binary data is inline, whatever the model allows beside the store. For the
/// numbers of objects see `XMLStoreKeys`, for values `AttributeValue+XML`.
package struct XMLStoreWriter {
  private let model: ManagedObjectModel
  private let storePath: String
  private let reader: ObjectReader
  private let metadata: StoreMetadata
  private let keys: XMLStoreKeys
  /// The name of the new store in messages.
  private let name: String

  /// - Throws: `.configuration` (78) when an XML store cannot hold objects of the model: see `XMLStoreNames.init`.
  package static func check(_ model: ManagedObjectModel) throws { _ = try XMLStoreNames(model: model) }

  /// Opens a finished store for reading.
  ///
  /// - Parameters:
  ///   - model: The model of the store.
  ///   - name: The name of the XML store in messages.
  /// - Throws: as `check`; `.dataWrong` (65) when primary keys
  ///   cannot be made unique; as `ObjectReader.init`.
  package init(readingStoreAt path: String, model: ManagedObjectModel, name: String) throws {
    try Self.check(model)
    self.model = model
    self.name = name
    storePath = path
    let connection = try StoreConnection.openStore(readingAt: path, cache: .mebibytes(8))
    try connection.execute("PRAGMA temp_store = FILE")
    metadata = try StoreMetadata(reading: connection, path: path)
    reader = try ObjectReader(path: path, model: model)
    keys = try XMLStoreKeys(connection, schema: reader.schema, path: name)
  }

  /// Writes a file; one that is there is replaced.
  ///
  /// - Parameter progress: Called at the beginning and after a thousand objects or a mebibyte, with the number of
  ///   objects written and of all objects; an error that it throws ends the writing.
  /// - Throws: `.dataWrong` (65) naming the object and attribute when a text is not UTF-8, or an external file is
  ///   missing; the same when the metadata has a character that XML lacks; `.inputOutput` (74) when the disk is full.
  package func write(to path: String, progress: (_ objects: Int64, _ total: Int64) throws -> Void = { _, _ in }) throws
  {
    try progress(0, keys.objects)
    let file = try XMLOutput(path: path)
    try file.write(
      """
      <?xml version="1.0" standalone="yes"?>
      <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

      <database>
          <databaseInfo>
              <version>134481920</version>
              <UUID>\(try escaped(metadata.uuid))</UUID>
              <nextObjectID>\(keys.highest)</nextObjectID>
              <metadata>
                  <plist version="1.0">

      """)
    var values = metadata.xmlValues
    values[XMLStoreKeys.metadataKey] =
      keys.offsets.isEmpty ? nil : .dictionary(keys.offsets.mapValues { .integer($0) })
    try write(.dictionary(values), depth: 4, to: file)
    try file.write("            </plist>\n        </metadata>\n    </databaseInfo>\n")
    var count: Int64 = 0
    var told: (objects: Int64, bytes: Int64) = (0, 0)
    for table in reader.schema.tables {
      let family = model.family(of: table.rootEntityName).map(\.name)
      try reader.forEachObject(of: family) { object in
        try write(object, to: file)
        count += 1
        if count - told.objects >= 1024 || file.writtenBytes - told.bytes >= 1 << 20 {
          told = (count, file.writtenBytes)
          try progress(count, keys.objects)
        }
        return true
      }
    }
    try file.write("</database>")
    try file.finish()
  }

  // MARK: Objects

  private func identifier(_ reference: ObjectReader.Reference) -> String {
    "z\(keys.number(reference.key, root: model.root(of: reference.entity)?.name ?? reference.entity))"
  }

  private func write(_ object: ObjectReader.Object, to file: XMLOutput) throws {
    let entity = object.reference.entity
    try file.write(
      "    <object type=\"\(try quoted(entity.uppercased()))\" id=\"\(identifier(object.reference))\">\n")
    var related: [String: [ObjectReader.Reference]] = [:]
    for (name, value) in object.properties {
      switch value {
      case .attribute(let value, let attribute): try write(value, attribute, of: object.reference, to: file)
      case .large: throw GodwitError(.internalBug, "cannot write '\(self.name)': a large value was not read")
      case .missingFile(let external):
        throw GodwitError(
          .dataWrong, "cannot write '\(self.name)': the external file '\(external)' is missing",
          context: "attribute '\(name)' of \(entity) p\(object.reference.key)", remedy: "restore the file")
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
    _ value: AttributeValue, _ attribute: AttributeDescription, of object: ObjectReader.Reference, to file: XMLOutput
  ) throws {
    guard let type = attribute.type.xmlNames.first else { return }
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

  private func write(_ value: PropertyListValue, depth: Int, to file: XMLOutput) throws {
    let indent = String(repeating: "    ", count: depth)
    func line(_ element: String, _ text: String) throws {
      try file.write("\(indent)<\(element)>\(text)</\(element)>\n")
    }
    switch value {
    case .string(let text): try line("string", escaped(text))
    case .integer(let number): try line("integer", String(number))
    case .real(let number): try line("real", number.description)
    case .boolean(let truth): try file.write("\(indent)<\(truth)/>\n")
    case .date(let seconds):
      try line("date", Date(timeIntervalSinceReferenceDate: seconds).formatted(.iso8601))
    case .data(let bytes):
      try file.write("\(indent)<data>\n\t\t\(Data(bytes).base64EncodedString())\n\t\t</data>\n")
    case .uid(let number):
      try write(.dictionary(["CF$UID": .integer(Int64(clamping: number))]), depth: depth, to: file)
    case .array(let items):
      try file.write("\(indent)<array>\n")
      for item in items { try write(item, depth: depth + 1, to: file) }
      try file.write("\(indent)</array>\n")
    case .dictionary(let items):
      try file.write("\(indent)<dict>\n")
      for (key, item) in items.sorted(by: { Text($0.key) < Text($1.key) }) {
        try file.write("\(indent)    <key>\(escaped(key))</key>\n")
        try write(item, depth: depth + 1, to: file)
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
