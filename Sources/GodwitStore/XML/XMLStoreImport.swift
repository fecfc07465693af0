import GodwitModel

/// One conversion under way.
///
/// 1. `init` reads the head and makes the tables.
/// 2. Objects are inserted in the order of the file; identifiers go to a temporary table.
/// 3. References are checked; keys, order and counters are completed; indexes are made.
final class XMLStoreImport {
  private let conversion: XMLStoreConversion
  private let names: XMLStoreNames
  private let connection: StoreConnection
  private let reader: XMLStoreReader
  private let builder: StoreBuilder
  /// The offset that is subtracted from an identifier's number for the primary key, by root entity.
  private let offsets: [String: Int64]
  /// Whether primary keys are the numbers of identifiers.
  private let keepsNumbers: Bool
  private var identifiers: SQLStatement?
  private var lookUp: SQLStatement?
  /// How many objects each relationship names, to compare with its inverse.
  private var named: [String: Int64] = [:]

  private var path: String { conversion.files.givenPath }

  init(_ conversion: XMLStoreConversion, names: XMLStoreNames, connection: StoreConnection) throws {
    self.conversion = conversion
    self.names = names
    self.connection = connection
    let path = conversion.files.path
    reader = try XMLStoreReader(path: path, name: conversion.files.givenPath)
    var metadata = try StoreMetadata(reader, path: conversion.files.givenPath)
    offsets = conversion.purpose == .comparison ? XMLStoreKeys.offsets(in: metadata) : [:]
    // It says something of the file, not of its content.
    metadata.values[XMLStoreKeys.metadataKey] = nil
    try connection.execute("CREATE TEMP TABLE identifiers (key INTEGER PRIMARY KEY, entity INTEGER, line INTEGER)")
    keepsNumbers = try Self.number(connection, path: path, name: conversion.files.givenPath)
    builder = try StoreBuilder(
      connection: connection, database: StoreConnection.sourceSchema, model: conversion.model, metadata: metadata)
  }

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

  func run(checkpoint: () throws -> Void) throws {
    identifiers = try connection.prepare("INSERT OR IGNORE INTO temp.identifiers VALUES (?1, ?2, ?3)")
    if !keepsNumbers { lookUp = try connection.prepare("SELECT key FROM temp.spellings WHERE name = ?1") }
    defer {
      identifiers?.finalize()
      lookUp?.finalize()
    }
    var count = 0
    while let object = try reader.next() {
      try insert(object)
      count += 1
      if count.isMultiple(of: 1024) { try checkpoint() }
    }
    identifiers?.finalize()
    lookUp?.finalize()
    (identifiers, lookUp) = (nil, nil)
    try checkpoint()
    try builder.complete { try checkReferences() }
    try raiseCounters()
    let isUniqueWanted = conversion.purpose == .comparison
    try EmptyStore.createIndexes(of: builder.schema, on: connection, in: StoreConnection.sourceSchema) {
      isUniqueWanted || !$0.isUnique
    }
    try connection.execute("DROP TABLE temp.identifiers")
    if !keepsNumbers { try connection.execute("DROP TABLE temp.spellings") }
  }

  // MARK: Objects

  private func wrong(_ problem: String, at place: GodwitError.Location, object: XMLStoreReader.Object) -> GodwitError {
    GodwitError(
      .dataWrong, "cannot read the XML store: \(problem)", location: place,
      context: "object '\(object.identifier)' of type \(object.type)",
      remedy: "copy the store again, or restore it from a backup")
  }

  /// The number of an identifier; nil if it cannot be that of an object.
  private func number(of identifier: String) throws -> Int64? {
    guard let lookUp else { return XMLStoreNames.number(of: identifier) }
    try lookUp.bind([.text(identifier)])
    defer { try? lookUp.bind([]) }
    guard try lookUp.step() else { return nil }
    return lookUp.row.int64(0)
  }

  private func key(_ number: Int64, root: String) -> Int64? {
    let (key, overflow) = number.subtractingReportingOverflow(offsets[root] ?? 0)
    return overflow ? nil : key
  }

  private func insert(_ object: XMLStoreReader.Object) throws {
    guard let entity = names.entities[object.type] else {
      throw wrong(
        "type '\(object.type)' is not an entity of model '\(conversion.model.name)'"
          + Spelling.suggestion(for: object.type, among: names.entities.keys.sorted()), at: object.place, object: object
      )
    }
    guard let number = try number(of: object.identifier), let key = key(number, root: entity.root),
      let entityNumber = builder.schema.number(of: entity.name)
    else {
      throw wrong(
        "expected an identifier such as 'z102', found '\(object.identifier)'", at: object.place, object: object)
    }
    try identifiers?.run([.integer(number), .int(entityNumber), .int(object.place.line)])
    guard connection.changes == 1 else {
      throw wrong("identifier '\(object.identifier)' is used twice", at: object.place, object: object)
    }
    var relationships: [String: [Int64]] = [:]
    for relationship in object.relationships {
      let (name, keys) = try references(relationship, of: entity, object)
      if !keys.isEmpty { relationships[name] = keys }
    }
    do {
      try builder.insert(
        entity.name, key: key, attributes: try attributes(of: object, entity), relationships: relationships)
    } catch var error as GodwitError where error.location == nil {
      error.location = object.place
      error.context = error.context ?? "object '\(object.identifier)' of type \(object.type)"
      throw error
    }
  }

  private func attributes(of object: XMLStoreReader.Object, _ entity: XMLStoreNames.Entity) throws
    -> [String: AttributeValue]
  {
    var values: [String: AttributeValue] = [:]
    // A missing attribute is nil, whatever the model's default.
    for attribute in entity.attributes.values { values[attribute.name] = .null }
    for found in object.attributes {
      guard let attribute = entity.attributes[found.name.lowercased()] else {
        throw wrong("entity '\(entity.name)' has no attribute '\(found.name)'", at: found.place, object: object)
      }
      let types = attribute.type.xmlNames
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
  ) throws -> (String, [Int64]) {
    guard let relationship = entity.relationships[found.name.lowercased()],
      let destination = names.entities[relationship.destinationEntityName.uppercased()]
    else {
      throw wrong("entity '\(entity.name)' has no relationship '\(found.name)'", at: found.place, object: object)
    }
    var keys: [Int64] = []
    var seen: Set<Int64> = []
    for identifier in found.identifiers {
      guard let number = try number(of: identifier), let key = key(number, root: destination.root) else {
        throw wrong(
          "relationship '\(relationship.name)' names '\(identifier)', which no object has", at: found.place,
          object: object)
      }
      guard seen.insert(key).inserted else {
        throw wrong("relationship '\(relationship.name)' names '\(identifier)' twice", at: found.place, object: object)
      }
      keys.append(key)
    }
    guard keys.count <= 1 || relationship.isToMany else {
      throw wrong(
        "to-one relationship '\(relationship.name)' names \(keys.count) objects", at: found.place, object: object)
    }
    guard keys.isEmpty || builder.schema.storage(of: relationship.name, in: entity.name) != .none else {
      throw wrong(
        "relationship '\(relationship.name)' has objects, but is transient: a store could not hold it",
        at: found.place, object: object)
    }
    named[Self.side(entity.root, relationship.name, relationship.inverseName), default: 0] += Int64(keys.count)
    return (relationship.name, keys)
  }

  private static func side(_ root: String, _ name: String, _ inverse: String?) -> String {
    "\(root).\(name).\(inverse ?? "")"
  }

  // MARK: References

  private func checkReferences() throws {
    let schema = builder.schema
    for entity in schema.model.entities where !entity.isAbstract {
      for relationship in schema.model.relationships(of: entity.name) {
        try check(relationship, of: entity.name)
        if conversion.purpose == .comparison { try compareSides(relationship, of: entity.name) }
      }
    }
  }

  /// A store that Godwit writes names every link at both ends.
  private func compareSides(_ relationship: RelationshipDescription, of entity: String) throws {
    let schema = builder.schema
    guard let inverse = relationship.inverseName, let root = schema.model.root(of: entity)?.name,
      let target = schema.model.root(of: relationship.destinationEntityName)?.name
    else { return }
    let count = named[Self.side(root, relationship.name, inverse)] ?? 0
    var others = named[Self.side(target, inverse, relationship.name)] ?? 0
    if count == others, case .join(let join, _, _, _) = schema.storage(of: relationship.name, in: entity) {
      let table = StoreConnection.sourceSchema + "." + StoreSchema.identifier(join.name)
      others = try connection.integer("SELECT count(*) FROM \(table)") ?? 0
    }
    guard count != others else { return }
    throw GodwitError(
      .dataWrong,
      "cannot read the XML store: relationship '\(relationship.name)' of entity '\(entity)' and its inverse '\(inverse)' do not name the same objects",
      context: "'\(path)'", remedy: "the file was changed since it was written: run the job again")
  }

  /// Every key is that of an object, of the destination entity or a subentity; no object has two owners.
  private func check(_ relationship: RelationshipDescription, of entity: String) throws {
    let schema = builder.schema
    guard let number = schema.number(of: entity), let own = schema.table(of: entity),
      let table = schema.table(of: relationship.destinationEntityName)
    else { return }
    let (subject, target) = (own.rootEntityName, table.rootEntityName)
    let family = schema.model.family(of: relationship.destinationEntityName).compactMap { schema.number(of: $0.name) }
    let members = family.map(String.init).joined(separator: ", ")
    let offset = offsets[target] ?? 0
    let source = StoreConnection.sourceSchema + "." + StoreSchema.identifier(own.name)
    let select: String
    switch schema.storage(of: relationship.name, in: entity) {
    case .none: return
    case .foreignKey(_, let column, _, _):
      select = "SELECT Z_PK AS s, \(StoreSchema.identifier(column)) AS o FROM \(source) WHERE Z_ENT = \(number)"
    case .inverse(let table, let column, _, _):
      guard let link = builder.links[entity + "." + relationship.name]?.number else { return }
      select = "SELECT subject AS s, object AS o FROM temp.links WHERE link = \(link)"
      try checkOwners(relationship.name, entity, link, table, StoreSchema.identifier(column), subject)
    case .join(let join, let subject, let object, _):
      let (s, o) = (StoreSchema.identifier(subject), StoreSchema.identifier(object))
      select =
        "SELECT j.\(s) AS s, j.\(o) AS o FROM \(StoreConnection.sourceSchema).\(StoreSchema.identifier(join.name)) AS j "
        + "JOIN \(source) AS e ON e.Z_PK = j.\(s) WHERE e.Z_ENT = \(number)"
    }
    let rows = try connection.rows(
      """
      SELECT r.s, r.o + \(offset), i.key IS NULL FROM (\(select)) AS r LEFT JOIN temp.identifiers AS i \
      ON i.key = r.o + \(offset) WHERE r.o IS NOT NULL AND (i.key IS NULL OR i.entity NOT IN (\(members))) LIMIT 1
      """)
    guard let row = rows.first, case .integer(let key) = row[0], case .integer(let other) = row[1] else { return }
    let problem =
      row[2] == .integer(1)
      ? "which no object has" : "which is not an object of entity '\(relationship.destinationEntityName)'"
    throw try broken(
      "relationship '\(relationship.name)' of entity '\(entity)' names \(try name(other)), \(problem)", key, subject)
  }

  private func checkOwners(
    _ name: String, _ entity: String, _ link: Int64, _ table: String, _ column: String, _ root: String
  ) throws {
    let table = StoreConnection.sourceSchema + "." + StoreSchema.identifier(table)
    let rows = try connection.rows(
      """
      SELECT l.subject FROM temp.links AS l JOIN \(table) AS t ON t.Z_PK = l.object \
      WHERE l.link = \(link) AND t.\(column) <> l.subject UNION ALL \
      SELECT max(subject) FROM temp.links WHERE link = \(link) GROUP BY object HAVING count(*) > 1 LIMIT 1
      """)
    guard case .integer(let key)? = rows.first?.first else { return }
    throw try broken(
      "relationship '\(name)' of entity '\(entity)' names an object that belongs to another one", key, root)
  }

  /// How messages call the object with a number.
  private func name(_ number: Int64) throws -> String {
    guard !keepsNumbers else { return "'z\(number)'" }
    let spelling = try connection.value("SELECT name FROM temp.spellings WHERE key = ?1", [.integer(number)])
    if case .text(let bytes)? = spelling { return "'\(String(decoding: bytes, as: UTF8.self))'" }
    return "an object"
  }

  private func broken(_ problem: String, _ key: Int64, _ root: String) throws -> GodwitError {
    let number = key.addingReportingOverflow(offsets[root] ?? 0).partialValue
    let line = try connection.integer("SELECT line FROM temp.identifiers WHERE key = ?1", [.integer(number)])
    return GodwitError(
      .dataWrong, "cannot read the XML store: \(problem)",
      location: line.map { .init(file: path, line: Int($0), column: 1) }, context: "object \(try name(number))",
      remedy: "copy the store again, or restore it from a backup")
  }

  /// No number up to the file's counter is ever given to a new object.
  private func raiseCounters() throws {
    guard keepsNumbers else { return }
    for table in builder.schema.tables {
      guard let number = builder.schema.number(of: table.rootEntityName),
        let counter = key(reader.nextObjectID, root: table.rootEntityName)
      else { continue }
      try connection.execute(
        "UPDATE \(StoreConnection.sourceSchema).Z_PRIMARYKEY SET Z_MAX = max(Z_MAX, ?2) WHERE Z_ENT = ?1",
        [.int(number), .integer(counter)])
    }
  }
}
