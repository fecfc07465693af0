import Foundation
package import GodwitModel

/// Reads the objects of an entity one by one, decoded with the model, for export.
///
/// Memory holds one object at a time, and large values may stay in the store (`leavesLargeValues`). The objects of a
/// to-many are looked up per object through an index. If an old store has none, one is made in a temporary file first.
package final class ObjectReader {
  /// An object of the store by name and key.
  package struct Reference: Sendable, Hashable {
    package var entity: String
    package var key: Int64

    package init(entity: String, key: Int64) {
      self.entity = entity
      self.key = key
    }
  }

  /// The value of a property of an object.
  package enum Value: Sendable, Hashable {
    case attribute(AttributeValue, AttributeDescription)
    /// A text or bytes that were left where they are.
    case large(Large, AttributeDescription)
    /// The name of an external file that is missing.
    case missingFile(String)
    case toOne(Reference?)
    case toMany([Reference])

    /// Whether it is an attribute without a value.
    package var isNil: Bool { if case .attribute(.null, _) = self { true } else { false } }
  }

  /// A text or bytes above `LargeValue.limit`, to be read a piece at a time through `bytes(of:)`.
  package struct Large: Sendable, Hashable {
    fileprivate enum Place: Hashable {
      case row(LargeValue, from: Int)
      case file(String)
    }

    fileprivate let place: Place
    package let byteCount: Int
    /// false for bytes.
    package let isText: Bool
  }

  package struct Object: Sendable {
    package var reference: Reference
    /// The properties by name, without those that are not stored (transient properties).
    package var properties: [(name: String, value: Value)]
  }

  package let schema: StoreSchema
  /// The store's identifier.
  package let storeUUID: String
  /// Whether a value that does not fit its attribute is left out without an error.
  package var leavesOutUnreadable = false
  /// Whether objects come without their large values, each with its place in place of it.
  package var leavesLargeValues = false
  private let path: String
  /// The value of `now()`, in seconds since 2001.
  private let now: Double
  /// The folder of the external files.
  package var support: SupportFolder
  let connection: StoreConnection
  /// The difference between an atomic store's numbers and the keys, by root entity; see `AtomicStoreKeys`.
  private let offsets: [String: Int64]
  private var entityNames: [Int64: String] = [:]
  private var entityLookups: [String: SQLStatement] = [:]
  private var lookups: [String: SQLStatement] = [:]

  /// The most bytes of an external file that are read as a value: as many as SQLite takes in a row.
  private static let externalLimit = ByteCount(bytes: 1_000_000_000)

  private var prefix: String { StoreConnection.sourceSchema + "." }

  /// - Throws: as `StoreConnection.openStore`, `StoreMetadata.init(readingStoreAt:)`, and
  ///   `StoreSchema.init(model:probing:)` when the model is not the store's.
  ///
  /// - Parameter purpose: `.comparison` for references with the keys that a migration gave the objects before it wrote
  ///   an atomic store. Their URIs have the numbers of the file.
  package init(
    path: String, model: ManagedObjectModel, purpose: AtomicStoreConversion.Purpose = .source
  ) throws {
    self.path = path
    let isRenumbered = try purpose == .comparison && StoreFiles(path: path).type.isAtomic
    offsets = isRenumbered ? AtomicStoreKeys.offsets(in: try StoreMetadata(readingStoreAt: path)) : [:]
    now = Date().timeIntervalSinceReferenceDate
    support = SupportFolder(ofStoreAt: path)
    try support.refuseLinks()
    connection = try StoreConnection.openStore(
      readingAt: path, cache: .mebibytes(8), model: model, purpose: purpose)
    storeUUID = try StoreMetadata(reading: connection, path: path).uuid
    schema = try StoreSchema(model: model, probing: connection)
    try schema.checkKeys(connection)
    for (name, number) in schema.entityNumbers { entityNames[Int64(number)] = name }
  }

  /// A reader of the same store with another connection.
  init(_ other: ObjectReader, _ connection: StoreConnection) {
    (path, offsets, now, support) = (other.path, other.offsets, other.now, other.support)
    (storeUUID, schema, entityNames) = (other.storeUUID, other.schema, other.entityNames)
    (leavesOutUnreadable, leavesLargeValues) = (other.leavesOutUnreadable, other.leavesLargeValues)
    self.connection = connection
  }

  /// Refuses rows of no entity among those of the entities: see `StoreSchema.checkEntities`.
  package func checkEntities(_ entities: [String]) throws {
    for root in Set(entities.compactMap { schema.model.root(of: $0)?.name }).sorted() {
      try schema.checkEntities(inTableOf: root, connection)
    }
  }

  /// The stored properties of an entity, sorted by name.
  package func propertyNames(of entity: String) -> [String] {
    let attributes = schema.model.attributes(of: entity).map(\.name).filter { schema.column(of: $0, in: entity) != nil }
    let relationships = schema.model.relationships(of: entity).map(\.name).filter {
      schema.storage(of: $0, in: entity) != .none
    }
    return (attributes + relationships).sorted { Text($0) < Text($1) }
  }

  /// The object's URI, as `NSManagedObjectID.uriRepresentation` gives it.
  package func uri(of reference: Reference) -> String {
    "x-coredata://\(storeUUID)/\(reference.entity)/p\(number(of: reference))"
  }

  /// The number of an object in its URI.
  package func number(of reference: Reference) -> Int64 { reference.key &+ offset(of: reference.entity) }

  private func offset(of entity: String) -> Int64 { offsets[schema.model.root(of: entity)?.name ?? entity] ?? 0 }

  /// The object with a number among an entity and its subentities; nil without one.
  package func reference(entity: String, number: Int64) throws -> Reference? {
    let (key, overflow) = number.subtractingReportingOverflow(offset(of: entity))
    guard let table = schema.table(of: entity), !overflow else { return nil }
    let kind = schema.entityNumber(inTableOf: entity)
    let found = try connection.integer(
      "SELECT \(kind) FROM \(prefix)\(StoreSchema.identifier(table.name)) WHERE Z_PK = ?1", [.integer(key)])
    guard let name = found.flatMap({ entityNames[$0] }), schema.model.isKind(name, of: entity) else { return nil }
    return Reference(entity: name, key: key)
  }

  /// An object; nil if the entity has no object with the key.
  ///
  /// - Throws: `.dataWrong` when a value does not fit its attribute.
  package func object(_ reference: Reference) throws -> Object? {
    var found: Object?
    try forEachObject(of: [reference.entity], keys: reference.key...reference.key) { object in
      found = object
      return false
    }
    return found
  }

  /// Hands every object of the entities to `body`, in the order of keys, until it returns false.
  ///
  /// - Parameters:
  ///   - entities: Entities of one inheritance tree.
  ///   - condition: Leaves out the objects that do not fulfil it, and those for which it is unknown. It has to be one
  ///     that `ExpressionChecker` has passed.
  ///   - keys: The keys that are looked at.
  /// - Throws: `.dataWrong` when a value does not fit its attribute; the errors of `body`.
  package func forEachObject(
    of entities: [String], where condition: FilterPredicate? = nil, keys: ClosedRange<Int64> = .min...(.max),
    _ body: (Object) throws -> Bool
  ) throws {
    let test = condition.map(test)
    defer {
      for statement in Array(lookups.values) + Array(entityLookups.values) { statement.finalize() }
      lookups = [:]
      entityLookups = [:]
    }
    guard let first = entities.first, let table = schema.table(of: first) else { return }
    let plans = try plans(of: entities, in: table)
    let columns = table.columns.map { column in
      RowReader.Column(
        name: column.name, sql: column.role == .entity ? schema.entityNumber(inTableOf: first) : nil)
    }
    guard let entityPlace = table.columns.firstIndex(where: { $0.role == .entity }) else { return }
    let reader = try RowReader(
      connection, database: StoreConnection.sourceSchema, table: table.name, columns: columns,
      where: .init(
        sql: "\(schema.isObject(of: entities).term) AND Z_PK BETWEEN \(keys.lowerBound) AND \(keys.upperBound)"))
    while let row = try reader.next() {
      if case .integer(let number) = row.values[entityPlace], let plan = plans[number],
        case .integer(let key) = row.values[0]
      {
        let isTaken = try test.map { try $0(Reference(entity: plan.entity, key: key)) } ?? true
        if isTaken, try !body(try object(plan, key: key, row)) { return }
      }
    }
  }

  /// Whether an object fulfils a predicate.
  private func test(_ condition: FilterPredicate) -> (Reference) throws -> Bool {
    let context = ObjectContext(connection: connection, schema: schema, database: StoreConnection.sourceSchema)
    context.support = support
    let evaluator = ExpressionEvaluator(
      now: now, role: .filter, host: SourceHost(context: context, now: now, fetches: FetchedObjects()))
    let compiled = evaluator.compile(condition)
    return { [path] reference in
      do {
        guard let object = try context.object(entityName: reference.entity, key: reference.key) else { return false }
        return try compiled.matches(object) == true
      } catch let error as ExpressionError {
        var error = GodwitError(error, in: condition.source, what: "cannot evaluate the predicate")
        error.code = .dataWrong
        error.context = "\(reference.entity) p\(reference.key) of '\(path)'"
        throw error
      } catch var error as GodwitError {
        error.context = error.context ?? "\(reference.entity) p\(reference.key) of '\(path)'"
        throw error
      }
    }
  }

  // MARK: One object

  private enum Source {
    case attribute(AttributeDescription, column: Int)
    case toOne(destination: String, column: Int, entityColumn: Int?, hasSubentities: Bool)
    case toMany(SQLStatement, destination: String)
  }

  private struct Plan {
    var entity: String
    var sources: [(name: String, source: Source)] = []
  }

  private func plans(of entities: [String], in table: StoreSchema.EntityTable) throws -> [Int64: Plan] {
    var plans: [Int64: Plan] = [:]
    for entity in entities {
      guard let number = schema.number(of: entity), schema.table(of: entity)?.name == table.name else { continue }
      plans[Int64(number)] = try plan(for: entity, in: table)
    }
    return plans
  }

  /// Whether the store has an index for each to-many of the entities.
  func isIndexed(_ entities: [String], in table: StoreSchema.EntityTable) throws -> Bool {
    _ = try plans(of: entities, in: table)
    return try connection.integer("SELECT COUNT(*) FROM temp.sqlite_master WHERE name LIKE 'godwit.%'") == 0
  }

  private func plan(for entity: String, in table: StoreSchema.EntityTable) throws -> Plan {
    var places: [String: Int] = [:]
    for (place, column) in table.columns.enumerated() { places[column.name] = place }
    var plan = Plan(entity: entity)
    for name in propertyNames(of: entity) {
      if let attribute = schema.model.attribute(name, of: entity) {
        guard let column = schema.column(of: name, in: entity).flatMap({ places[$0] }) else { continue }
        plan.sources.append((name, .attribute(attribute, column: column)))
        continue
      }
      guard let relationship = schema.model.relationship(name, of: entity) else { continue }
      let destination = relationship.destinationEntityName
      switch schema.storage(of: name, in: entity) {
      case .none: continue
      case .foreignKey(_, let column, let entityColumn, _):
        guard let place = places[column] else { continue }
        plan.sources.append(
          (
            name,
            .toOne(
              destination: destination, column: place, entityColumn: entityColumn.flatMap { places[$0] },
              hasSubentities: schema.model.hasSubentities(destination))
          ))
      case .inverse(let table, let column, _, let orderColumn):
        plan.sources.append(
          (name, .toMany(try inverse(table, column, orderColumn), destination: destination)))
      case .join(let join, let subject, let object, let orderColumn):
        plan.sources.append(
          (name, .toMany(try self.join(join, subject, object, orderColumn, to: destination), destination: destination)))
      }
    }
    return plan
  }

  private func object(_ plan: Plan, key: Int64, _ row: StoredRow) throws -> Object {
    // Converts as SQLite does, except that a text is not a number.
    func number(_ place: Int) -> Int64? {
      switch row.values[place] {
      case .null: nil
      case .integer(let number): number
      case .real(let number): Int64(exactly: number.rounded(.towardZero)) ?? 0
      case .text, .blob: 0
      }
    }
    var properties: [(name: String, value: Value)] = []
    properties.reserveCapacity(plan.sources.count)
    for (name, source) in plan.sources {
      switch source {
      case .attribute(let attribute, let column):
        do { properties.append((name, try attributeValue(row.content(column), attribute))) } catch var error
          as GodwitError
        {
          if leavesOutUnreadable, error.code == .dataWrong { continue }
          error.context = error.context ?? "\(plan.entity) p\(key) of '\(path)'"
          throw error
        }
      case .toOne(let destination, let column, let entityColumn, let hasSubentities):
        guard let object = number(column) else {
          properties.append((name, .toOne(nil)))
          continue
        }
        var entity = entityColumn.flatMap(number).flatMap { entityNames[$0] }
        // A number of another hierarchy does not identify the object's entity.
        if let named = entity, !schema.model.isKind(named, of: destination) { entity = nil }
        if entity == nil, hasSubentities { entity = try self.entity(of: object, in: destination) }
        properties.append((name, .toOne(Reference(entity: entity ?? destination, key: object))))
      case .toMany(let statement, let destination):
        try statement.bind([.integer(key)])
        var references: [Reference] = []
        while try statement.step() {
          let entity = statement.row.isNull(1) ? nil : entityNames[statement.row.int64(1)]
          references.append(Reference(entity: entity ?? destination, key: statement.row.int64(0)))
        }
        properties.append((name, .toMany(references)))
      }
    }
    return Object(reference: Reference(entity: plan.entity, key: key), properties: properties)
  }

  /// The place of a large value's bytes.
  ///
  /// - Throws: SQLite's errors as they map.
  package func bytes(of large: Large) -> StoredBytes {
    switch large.place {
    case .row(let value, let start): .row(value, from: start, connection)
    case .file(let name): .file(name, support)
    }
  }

  /// A large value to be stored elsewhere.
  ///
  /// - Parameter isBlob: Whether a text becomes a blob.
  package func open(_ large: Large, asBlob isBlob: Bool = false) throws -> any LargeBytes {
    switch large.place {
    case .row(let value, let start):
      ShiftedBytes(try OpenValue(value, connection), leavingOut: start, asBlob: isBlob)
    case .file(let name): try OpenFile(name, in: support)
    }
  }

  private func attributeValue(_ content: StoredContent, _ attribute: AttributeDescription) throws -> Value {
    let value: SQLValue
    switch content {
    case .value(let known): value = known
    case .large(let large) where leavesLargeValues: return try largeValue(large, attribute)
    case .large(let large): value = try connection.whole(large)
    }
    if attribute.type == .binary, attribute.allowsExternalBinaryDataStorage, case .blob(let bytes) = value,
      case .external(let name)? = StoredBinary(bytes)
    {
      guard let size = try support.size(of: name) else { return .missingFile(name) }
      if leavesLargeValues, (LargeValue.limit.bytes + 1...Self.externalLimit.bytes).contains(size) {
        return .large(Large(place: .file(name), byteCount: Int(size), isText: false), attribute)
      }
      guard size <= Self.externalLimit.bytes, let data = try support.bytes(of: name, limit: Self.externalLimit) else {
        throw GodwitError(
          .dataWrong,
          "cannot export the external file '\(support.path(of: name))': expected at most \(Self.externalLimit), found \(ByteCount(bytes: size))",
          remedy: "copy the file itself")
      }
      return .attribute(.data(data), attribute)
    }
    return .attribute(try AttributeValue(decoding: value, as: attribute), attribute)
  }

  private func largeValue(_ large: LargeValue, _ attribute: AttributeDescription) throws -> Value {
    let isPrefixed = attribute.type == .binary && attribute.allowsExternalBinaryDataStorage
    let stored = StoredBytes.row(large, connection)
    let first = try isPrefixed && !large.isText ? stored.prefix(1) : []
    // The kind decides whether the value is one of the attribute's, and with external storage the first byte.
    _ = try AttributeValue(decoding: large.isText ? .text([]) : .blob(first), as: attribute)
    let start = isPrefixed ? 1 : 0
    let byteCount = try OpenValue(large, connection).byteCount - start
    return .large(
      Large(place: .row(large, from: start), byteCount: byteCount, isText: large.isText), attribute)
  }

  private func entity(of key: Int64, in destination: String) throws -> String? {
    guard let table = schema.table(of: destination)?.name else { return nil }
    let statement =
      try entityLookups[table]
      ?? connection.prepare("SELECT Z_ENT FROM \(prefix)\(StoreSchema.identifier(table)) WHERE Z_PK = ?1")
    entityLookups[table] = statement
    try statement.bind([.integer(key)])
    guard try statement.step() else { return nil }
    return entityNames[statement.row.int64(0)]
  }

  // MARK: Looking up to-many relationships

  /// The to-many side of a key in the other object's row: key and entity number, in order.
  private func inverse(_ table: String, _ column: String, _ orderColumn: String?) throws -> SQLStatement {
    let columns = ["Z_PK", "Z_ENT", column] + (orderColumn.map { [$0] } ?? [])
    let rows = try indexed(table, column, columns)
    let order = (orderColumn.map { "\(StoreSchema.identifier($0)) IS NULL, \(StoreSchema.identifier($0)), " } ?? "")
    let owner = schema.tables.first { $0.name == table }?.rootEntityName ?? ""
    let number = schema.entityNumber(inTableOf: owner)
    let sql = "SELECT Z_PK, \(number) FROM \(rows) WHERE \(StoreSchema.identifier(column)) = ?1 ORDER BY \(order)Z_PK"
    return try connection.prepare(sql, keptIn: &lookups)
  }

  private func join(
    _ join: StoreSchema.JoinTable, _ subject: String, _ object: String, _ orderColumn: String?, to destination: String
  ) throws -> SQLStatement {
    let columns = [subject, object] + (orderColumn.map { [$0] } ?? [])
    let rows =
      join.isReflexive
      ? join.rows(in: StoreConnection.sourceSchema) : try indexed(join.name, subject, columns)
    let (subject, object) = (StoreSchema.identifier(subject), StoreSchema.identifier(object))
    let order = (orderColumn.map { "j.\(StoreSchema.identifier($0)) IS NULL, j.\(StoreSchema.identifier($0)), " } ?? "")
    let table = StoreSchema.identifier(schema.table(of: destination)?.name ?? "")
    return try connection.prepare(
      "SELECT j.\(object), \(schema.entityNumber(inTableOf: destination, row: "d")) FROM \(rows) AS j LEFT JOIN \(prefix)\(table) AS d ON d.Z_PK = j.\(object) "
        + "WHERE j.\(subject) = ?1 ORDER BY \(order)j.\(object)", keptIn: &lookups)
  }

  /// The table if an index begins with the column; otherwise a temporary copy of the columns with such an index.
  private func indexed(_ table: String, _ column: String, _ columns: [String]) throws -> String {
    let name = prefix + StoreSchema.identifier(table)
    let quoted = StoreSchema.identifier(column)
    let isIndexed = try connection.integer(
      """
      SELECT count(*) FROM pragma_index_list(?1, 'source') AS l, pragma_index_info(l.name, 'source') AS i \
      WHERE i.seqno = 0 AND i.name = ?2 AND NOT l.partial
      """, [.text(table), .text(column)])
    if isIndexed ?? 0 > 0 { return name }
    let copy = StoreSchema.identifier("godwit.\(table).\(column)")
    let list = columns.map(StoreSchema.identifier).joined(separator: ", ")
    let exists = try connection.integer(
      "SELECT count(*) FROM temp.sqlite_master WHERE name = ?1", [.text("godwit.\(table).\(column)")])
    guard exists == 0 else { return "temp." + copy }
    try connection.execute("CREATE TEMP TABLE \(copy) AS SELECT \(list) FROM \(name) WHERE \(quoted) IS NOT NULL")
    try connection.execute(
      "CREATE INDEX temp.\(StoreSchema.identifier("godwit.\(table).\(column).index")) ON \(copy) (\(quoted))")
    return "temp." + copy
  }
}
