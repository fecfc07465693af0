import GodwitModel

/// One conversion under way.
///
/// 1. `init` reads the head and makes the tables.
/// 2. Objects are inserted in the order of the file; their numbers go to a temporary table.
/// 3. References are checked; keys, order and counters are completed; indexes are made.
final class AtomicStoreImport {
  private let conversion: AtomicStoreConversion
  private let connection: StoreConnection
  private let reader: any AtomicStoreReader
  private let builder: StoreBuilder
  /// The offset that is subtracted from an object's number for the primary key, by root entity.
  private let offsets: [String: Int64]
  private var numbers: SQLStatement?
  /// How many objects each relationship names, to compare with its inverse.
  private var named: [String: Int64] = [:]
  private var rounded = RoundedDecimals()

  private var path: String { conversion.files.givenPath }
  private var type: StoreType { conversion.files.type }

  init(_ conversion: AtomicStoreConversion, connection: StoreConnection) throws {
    self.conversion = conversion
    self.connection = connection
    reader =
      switch conversion.files.type {
      case .binary: try BinaryStoreObjects(conversion.files, model: conversion.model)
      default: try XMLStoreObjects(conversion.files, model: conversion.model, connection: connection)
      }
    var metadata = reader.metadata
    offsets = conversion.purpose == .comparison ? AtomicStoreKeys.offsets(in: metadata) : [:]
    // It says something of the file, not of its content.
    metadata.values[AtomicStoreKeys.metadataKey] = nil
    try connection.execute("CREATE TEMP TABLE identifiers (key INTEGER PRIMARY KEY, entity INTEGER, line INTEGER)")
    builder = try StoreBuilder(
      connection: connection, database: StoreConnection.sourceSchema, model: conversion.model, metadata: metadata)
  }

  func run(checkpoint: () throws -> Void) throws {
    numbers = try connection.prepare("INSERT OR IGNORE INTO temp.identifiers VALUES (?1, ?2, ?3)")
    defer { numbers?.finalize() }
    var count = 0
    while let object = try reader.next() {
      try insert(object)
      count += 1
      if count.isMultiple(of: 1024) { try checkpoint() }
    }
    numbers?.finalize()
    numbers = nil
    try checkpoint()
    try builder.complete { try checkReferences() }
    try raiseCounters()
    if conversion.purpose == .source { try rounded.write(to: connection) }
    let isUniqueWanted = conversion.purpose == .comparison
    try EmptyStore.createIndexes(of: builder.schema, on: connection, in: StoreConnection.sourceSchema) {
      isUniqueWanted || !$0.isUnique
    }
    try connection.execute("DROP TABLE temp.identifiers")
    try reader.finish()
  }

  // MARK: Objects

  private func wrong(_ problem: String, at place: GodwitError.Location?, object: AtomicObject) -> GodwitError {
    .damagedStore(type, path: path, problem, at: place ?? object.place, object: object.name)
  }

  private func key(_ number: Int64, root: String) -> Int64? {
    let (key, overflow) = number.subtractingReportingOverflow(offsets[root] ?? 0)
    return overflow ? nil : key
  }

  private func insert(_ object: AtomicObject) throws {
    let root = conversion.model.root(of: object.entity)?.name ?? object.entity
    guard let key = key(object.number, root: root), let entityNumber = builder.schema.number(of: object.entity) else {
      throw wrong("expected the number of an object, found \(object.number)", at: nil, object: object)
    }
    try numbers?.run([
      .integer(object.number), .int(entityNumber), object.place.map { .int($0.line) } ?? .null,
    ])
    guard connection.changes == 1 else {
      throw wrong("identifier \(try reader.name(of: object.number)) is used twice", at: nil, object: object)
    }
    var relationships: [String: [Int64]] = [:]
    for related in object.relationships {
      let keys = try keys(related.numbers, of: related.description, root: root, object, at: related.place)
      if !keys.isEmpty { relationships[related.description.name] = keys }
    }
    rounded.count(object.attributes, of: object.entity)
    do {
      try builder.insert(object.entity, key: key, attributes: object.attributes, relationships: relationships)
    } catch var error as GodwitError where error.location == nil {
      error.location = object.place
      error.context = error.context ?? object.name
      throw error
    }
  }

  private func keys(
    _ numbers: [Int64], of relationship: RelationshipDescription, root: String, _ object: AtomicObject,
    at place: GodwitError.Location?
  ) throws -> [Int64] {
    let destination =
      conversion.model.root(of: relationship.destinationEntityName)?.name ?? relationship.destinationEntityName
    var keys: [Int64] = []
    var seen: Set<Int64> = []
    for number in numbers {
      guard let key = key(number, root: destination) else {
        throw wrong(
          "relationship '\(relationship.name)' names \(try reader.name(of: number)), which no object has", at: place,
          object: object)
      }
      guard seen.insert(key).inserted else {
        throw wrong(
          "relationship '\(relationship.name)' names \(try reader.name(of: number)) twice", at: place, object: object)
      }
      keys.append(key)
    }
    guard keys.count <= 1 || relationship.isToMany else {
      throw wrong("to-one relationship '\(relationship.name)' names \(keys.count) objects", at: place, object: object)
    }
    guard keys.isEmpty || builder.schema.storage(of: relationship.name, in: object.entity) != .none else {
      throw wrong(
        "relationship '\(relationship.name)' has objects, but is transient: a store could not hold it", at: place,
        object: object)
    }
    named[Self.side(root, relationship.name, relationship.inverseName), default: 0] += Int64(keys.count)
    return keys
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

  /// A store that Godwit wrote names every link twice.
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
      "cannot read the \(type.noun): relationship '\(relationship.name)' of entity '\(entity)' and its inverse '\(inverse)' do not name the same objects",
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
      "relationship '\(relationship.name)' of entity '\(entity)' names \(try reader.name(of: other)), \(problem)", key,
      subject)
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

  private func broken(_ problem: String, _ key: Int64, _ root: String) throws -> GodwitError {
    let number = key.addingReportingOverflow(offsets[root] ?? 0).partialValue
    let line = try connection.integer("SELECT line FROM temp.identifiers WHERE key = ?1", [.integer(number)])
    return .damagedStore(
      type, path: path, problem, at: line.map { .init(file: path, line: Int($0), column: 1) },
      object: "object \(try reader.name(of: number))")
  }

  /// No number up to the file's counter is ever given to a new object.
  private func raiseCounters() throws {
    guard let highest = reader.highestNumber else { return }
    for table in builder.schema.tables {
      guard let number = builder.schema.number(of: table.rootEntityName),
        let counter = key(highest, root: table.rootEntityName)
      else { continue }
      try connection.execute(
        "UPDATE \(StoreConnection.sourceSchema).Z_PRIMARYKEY SET Z_MAX = max(Z_MAX, ?2) WHERE Z_ENT = ?1",
        [.int(number), .integer(counter)])
    }
  }
}
