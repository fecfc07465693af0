import GodwitModel

/// The objects of an XML store in the words of the model.
///
/// The number of an object's identifier (`z102`) is its number; where an identifier is of another form, all objects are
/// numbered in the order of the file, and their identifiers wait in a temporary table.
final class XMLStoreObjects: AtomicStoreReader {
  let metadata: StoreMetadata
  private let names: XMLStoreNames
  private let model: ManagedObjectModel
  private let path: String
  private let reader: XMLStoreReader
  private let connection: StoreConnection
  /// Whether numbers are those of identifiers.
  private let keepsNumbers: Bool
  private var lookUp: SQLStatement?

  var highestNumber: Int64? { keepsNumbers ? reader.nextObjectID : nil }

  init(_ files: StoreFiles, model: ManagedObjectModel, connection: StoreConnection) throws {
    (self.model, self.connection, path) = (model, connection, files.givenPath)
    names = try XMLStoreNames(model: model)
    reader = try XMLStoreReader(path: files.path, name: files.givenPath)
    metadata = try StoreMetadata(reader, path: files.givenPath)
    keepsNumbers = try Self.number(connection, path: files.path, name: files.givenPath)
    if !keepsNumbers { lookUp = try connection.prepare("SELECT key FROM temp.spellings WHERE name = ?1") }
  }

  deinit { lookUp?.finalize() }

  /// Reads all identifiers when one is not of the form `z102`: they are numbered by their place.
  ///
  /// - Returns: Whether all are of that form.
  private static func number(_ connection: StoreConnection, path: String, name: String) throws -> Bool {
    let reader = try XMLStoreReader(path: path, name: name)
    var isPlain = true
    while isPlain, let object = try reader.next() { isPlain = XMLStoreNames.number(of: object.identifier) != nil }
    guard !isPlain else { return true }
    try connection.execute("CREATE TEMP TABLE spellings (name TEXT PRIMARY KEY, key INTEGER) WITHOUT ROWID")
    let insert = try connection.prepare("INSERT OR IGNORE INTO temp.spellings VALUES (?1, ?2)")
    defer { insert.finalize() }
    let again = try XMLStoreReader(path: path, name: name)
    var key: Int64 = 0
    try connection.transaction {
      while let object = try again.next() {
        key += 1
        try insert.run([.text(object.identifier), .integer(key)])
      }
    }
    return false
  }

  func name(of number: Int64) throws -> String {
    guard !keepsNumbers else { return "'z\(number)'" }
    let spelling = try connection.value("SELECT name FROM temp.spellings WHERE key = ?1", [.integer(number)])
    if case .text(let bytes)? = spelling { return "'\(String(decoding: bytes, as: UTF8.self))'" }
    return "an object"
  }

  func finish() throws {
    lookUp?.finalize()
    lookUp = nil
    if !keepsNumbers { try connection.execute("DROP TABLE temp.spellings") }
  }

  // MARK: Objects

  private func wrong(_ problem: String, at place: GodwitError.Location, object: XMLStoreReader.Object) -> GodwitError {
    .damagedStore(.xml, path: path, problem, at: place, object: Self.name(of: object))
  }

  private static func name(of object: XMLStoreReader.Object) -> String {
    "object '\(object.identifier)' of type \(object.type)"
  }

  /// The number of an identifier; nil if it cannot be that of an object.
  private func number(of identifier: String) throws -> Int64? {
    guard let lookUp else { return XMLStoreNames.number(of: identifier) }
    try lookUp.bind([.text(identifier)])
    defer { try? lookUp.bind([]) }
    guard try lookUp.step() else { return nil }
    return lookUp.row.int64(0)
  }

  func next() throws -> AtomicObject? {
    guard let object = try reader.next() else { return nil }
    guard let entity = names.entities[object.type] else {
      throw wrong(
        "type '\(object.type)' is not an entity of model '\(model.name)'"
          + Spelling.suggestion(for: object.type, among: names.entities.keys.sorted()), at: object.place, object: object
      )
    }
    guard let number = try number(of: object.identifier) else {
      throw wrong(
        "expected an identifier such as 'z102', found '\(object.identifier)'", at: object.place, object: object)
    }
    return AtomicObject(
      entity: entity.name, number: number, name: Self.name(of: object), place: object.place,
      attributes: try attributes(of: object, entity),
      relationships: try object.relationships.map { try references($0, of: entity, object) })
  }

  private func attributes(
    of object: XMLStoreReader.Object, _ entity: XMLStoreNames.Entity
  ) throws -> [String: AttributeValue] {
    var values: [String: AttributeValue] = [:]
    // A property that is left out is nil, whatever the model's default.
    for attribute in entity.attributes.values { values[attribute.name] = .null }
    for found in object.attributes {
      guard let attribute = entity.attributes[found.name.lowercased()] else {
        throw wrong("entity '\(entity.name)' has no attribute '\(found.name)'", at: found.place, object: object)
      }
      let types = attribute.type.facts.xmlNames
      guard types.contains(found.type.lowercased()) else {
        throw wrong(
          "expected type '\(types.first ?? "")' of attribute '\(attribute.name)', found '\(found.type)'",
          at: found.place, object: object)
      }
      guard String(validating: found.text, as: UTF8.self) != nil,
        let value = AttributeValue(xmlText: found.text, as: attribute)
      else {
        throw wrong(
          "expected \(attribute.type.xcodeName) as attribute '\(attribute.name)', found another text", at: found.place,
          object: object)
      }
      values[attribute.name] = value
    }
    return values
  }

  private func references(
    _ found: XMLStoreReader.Relationship, of entity: XMLStoreNames.Entity, _ object: XMLStoreReader.Object
  ) throws -> AtomicRelationship {
    guard let relationship = entity.relationships[found.name.lowercased()] else {
      throw wrong("entity '\(entity.name)' has no relationship '\(found.name)'", at: found.place, object: object)
    }
    let numbers = try found.identifiers.map { identifier in
      guard let number = try number(of: identifier) else {
        throw wrong(
          "relationship '\(relationship.name)' names '\(identifier)', which no object has", at: found.place,
          object: object)
      }
      return number
    }
    return AtomicRelationship(description: relationship, numbers: numbers, place: found.place)
  }
}
