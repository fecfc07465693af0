package import GodwitModel

/// Writes a new store object by object, by the names of the model.
///
/// 1. `init` makes the file with its tables.
/// 2. `insert` any number of times. Objects may be named in relationships before they are inserted.
/// 3. `finish` completes relationships, makes the indexes, sets the key counters and closes the store.
///
/// Memory does not grow with the number of objects: data that must wait for `finish` is in a temporary table. Until
/// `finish` returns the file is not a valid store. Use it from one thread.
package final class StoreBuilder {
  package let schema: StoreSchema
  let connection: StoreConnection
  /// The database of the tables: `main`, or an attached database beside an empty main one.
  let database: String
  private var plans: [String: EntityPlan] = [:]
  private var lastKeys: [String: Int64] = [:]
  private(set) var links: [String: (number: Int64, storage: StoreSchema.RelationshipStorage)] = [:]
  private var link: SQLStatement?
  private var joins: [String: SQLStatement] = [:]
  private var insertsInTransaction = 0

  private struct EntityPlan {
    var number: Int
    var root: String
    var statement: SQLStatement
    /// The properties of the statement's parameters from the fourth on.
    var attributes: [AttributeDescription]
    var toOnes: [String]
    var others: [String: StoreSchema.RelationshipStorage]
  }

  /// - Parameter metadata: The store's metadata; nil for a new identifier and the model's hashes.
  /// - Throws: as `EmptyStore.create`.
  package init(
    path: String, model: ManagedObjectModel, metadata: StoreMetadata? = nil, cache: ByteCount = .mebibytes(8)
  )
    throws
  {
    schema = StoreSchema(model: model)
    connection = try EmptyStore.create(
      at: path, schema: schema,
      metadata: metadata ?? StoreMetadata(model: model), cache: cache)
    database = "main"
    try begin()
  }

  /// Makes the tables in an empty database that is attached to an empty main one.
  init(
    connection: StoreConnection, database: String, model: ManagedObjectModel, metadata: StoreMetadata
  ) throws {
    schema = StoreSchema(model: model)
    self.connection = connection
    self.database = database
    try EmptyStore.createTables(of: schema, on: connection, in: database)
    try metadata.write(to: connection, schema: database)
    try begin()
  }

  private func begin() throws {
    try connection.execute("CREATE TEMP TABLE links (link INTEGER, subject INTEGER, object INTEGER, place INTEGER)")
    try connection.execute("BEGIN IMMEDIATE")
  }

  /// Inserts an object.
  ///
  /// - Parameters:
  ///   - entity: A concrete entity of the model.
  ///   - key: Its primary key; nil for the next one.
  ///   - attributes: Values by name; an attribute that is not named takes the model's default.
  ///   - relationships: Primary keys of the destinations by name, in their order. Naming one side is enough.
  /// - Returns: The primary key.
  /// - Throws: `.dataWrong` when a name is unknown, the entity is abstract, a value does not fit, or the key is taken.
  @discardableResult package func insert(
    _ entity: String, key: Int64? = nil, attributes: [String: AttributeValue] = [:],
    relationships: [String: [Int64]] = [:]
  ) throws -> Int64 {
    let plan = try plan(for: entity)
    for name in attributes.keys where !plan.attributes.contains(where: { $0.name == name }) {
      throw Self.wrong(entity, "it stores no attribute '\(name)'")
    }
    let last = lastKeys[plan.root] ?? 0
    let key = try key ?? Self.next(last, entity)
    var values: [SQLValue] = [.integer(key), .int(plan.number), .integer(1)]
    for attribute in plan.attributes {
      values.append(try SQLValue(encoding: attributes[attribute.name] ?? attribute.defaultValue, as: attribute))
    }
    for name in plan.toOnes {
      let destinations = relationships[name] ?? []
      guard destinations.count <= 1 else {
        throw Self.wrong(entity, "to-one '\(name)' leads to \(destinations.count) objects")
      }
      values.append(destinations.first.map { .integer($0) } ?? .null)
    }
    try plan.statement.run(values)
    lastKeys[plan.root] = max(last, key)
    for (name, objects) in relationships.sorted(by: { $0.key < $1.key }) where !plan.toOnes.contains(name) {
      guard let storage = plan.others[name] else { throw Self.wrong(entity, "it stores no relationship '\(name)'") }
      try connect(key, entity, name, storage, objects)
    }
    insertsInTransaction += 1
    if insertsInTransaction >= 10_000 {
      try connection.execute("COMMIT")
      try connection.execute("BEGIN IMMEDIATE")
      insertsInTransaction = 0
    }
    return key
  }

  /// Completes the store and closes it. Call it once.
  ///
  /// - Throws: `.dataWrong` when rows break a uniqueness constraint; SQLite's errors as `StoreConnection` maps them.
  package func finish() throws {
    try complete()
    try EmptyStore.createIndexes(of: schema, on: connection, in: database)
    try connection.close()
  }

  /// All of `finish` but the indexes and the end of the connection.
  ///
  /// - Parameter check: Called with all rows written, before the keys that were named from the to-many side are set.
  func complete(check: () throws -> Void = {}) throws {
    for plan in plans.values { plan.statement.finalize() }
    for statement in joins.values { statement.finalize() }
    link?.finalize()
    try check()
    try applyLinks()
    try completeEntityColumns()
    try completeOrder()
    try EmptyStore.updatePrimaryKeyCounters(of: schema, on: connection)
    try connection.execute("COMMIT")
    try connection.execute("DROP TABLE temp.links")
  }

  private static func wrong(_ entity: String, _ problem: String) -> GodwitError {
    GodwitError(.dataWrong, "cannot insert an object of entity '\(entity)': \(problem)")
  }

  private static func next(_ last: Int64, _ entity: String) throws -> Int64 {
    let (next, overflow) = last.addingReportingOverflow(1)
    guard !overflow else { throw wrong(entity, "its primary keys are used up") }
    return next
  }

  private func plan(for entity: String) throws -> EntityPlan {
    if let plan = plans[entity] { return plan }
    guard let description = schema.model.entity(entity), let number = schema.number(of: entity),
      let table = schema.table(of: entity)
    else { throw Self.wrong(entity, "the model has no such entity") }
    guard !description.isAbstract else { throw Self.wrong(entity, "it is abstract") }
    var columns = ["Z_PK", "Z_ENT", "Z_OPT"]
    var attributes: [AttributeDescription] = []
    var toOnes: [String] = []
    var others: [String: StoreSchema.RelationshipStorage] = [:]
    for attribute in schema.model.attributes(of: entity) {
      guard let column = schema.column(of: attribute.name, in: entity) else { continue }
      columns.append(column)
      attributes.append(attribute)
    }
    for relationship in schema.model.relationships(of: entity) {
      switch schema.storage(of: relationship.name, in: entity) {
      case .foreignKey(_, let column, _, _):
        columns.append(column)
        toOnes.append(relationship.name)
      case .none: break
      case let storage: others[relationship.name] = storage
      }
    }
    let names = columns.map(StoreSchema.identifier).joined(separator: ", ")
    let places = columns.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
    let plan = EntityPlan(
      number: number, root: table.rootEntityName,
      statement: try connection.prepare(
        "INSERT INTO \(StoreSchema.identifier(table.name)) (\(names)) VALUES (\(places))"),
      attributes: attributes, toOnes: toOnes, others: others)
    plans[entity] = plan
    return plan
  }

  /// Order keys start at 2048 and grow by 1024, as current versions of Core Data write them.
  private static func orderKey(_ place: Int) -> SQLValue { .int(2048 + 1024 * place) }

  private func connect(
    _ subject: Int64, _ entity: String, _ name: String, _ storage: StoreSchema.RelationshipStorage,
    _ objects: [Int64]
  ) throws {
    switch storage {
    case .foreignKey, .none: return
    case .inverse:
      let key = entity + "." + name
      let number = links[key]?.number ?? Int64(links.count)
      links[key] = (number, storage)
      let statement = try link ?? connection.prepare("INSERT INTO temp.links VALUES (?1, ?2, ?3, ?4)")
      link = statement
      for (place, object) in objects.enumerated() {
        try statement.run([.integer(number), .integer(subject), .integer(object), .int(place)])
      }
    case .join(let join, let subjectColumn, let objectColumn, let orderColumn):
      let columns = [subjectColumn, objectColumn] + (orderColumn.map { [$0] } ?? [])
      let names = columns.map(StoreSchema.identifier).joined(separator: ", ")
      let sql =
        "INSERT INTO \(StoreSchema.identifier(join.name)) (\(names)) VALUES (?1, ?2\(orderColumn == nil ? "" : ", ?3")) "
        + "ON CONFLICT DO "
        + (orderColumn.map { "UPDATE SET \(StoreSchema.identifier($0)) = ?3" } ?? "NOTHING")
      let statement = try connection.prepare(sql, keptIn: &joins)
      for (place, object) in objects.enumerated() {
        let order = orderColumn == nil ? [] : [Self.orderKey(place)]
        try statement.run([.integer(subject), .integer(object)] + order)
        // A relationship that is its own inverse is stored in both directions.
        if join.isReflexive {
          let ends = [subjectColumn, objectColumn].map(StoreSchema.identifier).joined(separator: ", ")
          try connection.execute(
            "INSERT INTO \(StoreSchema.identifier(join.name)) (\(ends)) VALUES (?2, ?1) ON CONFLICT DO NOTHING",
            [.integer(subject), .integer(object)])
        }
      }
    }
  }

  /// Sets the keys that were named from the to-many side.
  private func applyLinks() throws {
    guard !links.isEmpty else { return }
    try connection.execute("CREATE INDEX temp.linksByObject ON links (link, object)")
    for (number, storage) in links.values.sorted(by: { $0.number < $1.number }) {
      guard case .inverse(let table, let column, _, let orderColumn) = storage else { continue }
      var assignments = "\(StoreSchema.identifier(column)) = l.subject"
      if let orderColumn { assignments += ", \(StoreSchema.identifier(orderColumn)) = 2048 + 1024 * l.place" }
      try connection.execute(
        "UPDATE \(StoreSchema.identifier(table)) SET \(assignments) FROM temp.links AS l "
          + "WHERE l.link = ?1 AND l.object = Z_PK", [.integer(number)])
    }
  }

  /// The columns of a to-one, quoted.
  struct KeyColumns {
    var column: String
    var entity, order: String?
  }

  /// Every to-one of every table, with the table of its destination.
  func forEachKey(
    _ body: (_ table: String, _ storage: KeyColumns, _ destination: String) throws -> Void
  ) throws {
    for table in schema.tables {
      for column in table.columns {
        guard case .foreignKey(let owner, let name) = column.role,
          case .foreignKey(_, let key, let entityColumn, let orderColumn) = schema.storage(of: name, in: owner),
          let destination = schema.model.relationship(name, of: owner)?.destinationEntityName,
          let destinationTable = schema.table(of: destination)
        else { continue }
        try body(
          StoreSchema.identifier(table.name),
          KeyColumns(
            column: StoreSchema.identifier(key), entity: entityColumn.map(StoreSchema.identifier),
            order: orderColumn.map(StoreSchema.identifier)), StoreSchema.identifier(destinationTable.name))
      }
    }
  }

  private func completeEntityColumns() throws {
    try forEachKey { table, storage, destination in
      guard let entity = storage.entity else { return }
      try connection.execute(
        "UPDATE \(table) SET \(entity) = (SELECT d.Z_ENT FROM \(destination) AS d "
          + "WHERE d.Z_PK = \(table).\(storage.column)) WHERE \(storage.column) IS NOT NULL")
    }
  }

  /// Gives places to ordered objects that were named from the other side only: after the others, by key.
  private func completeOrder() throws {
    func complete(_ table: String, row: String, group: String, order: String, by: String) throws {
      try connection.execute(
        """
        UPDATE \(table) SET \(order) = n.place FROM (
          SELECT \(row) AS row, \(order) AS known,
            1024 * row_number() OVER (PARTITION BY \(group), \(order) IS NULL ORDER BY \(by))
            + max(1024, coalesce(max(\(order)) OVER (PARTITION BY \(group)), 1024)) AS place
          FROM \(table) WHERE \(group) IS NOT NULL) AS n
        WHERE n.row = \(table).\(row) AND n.known IS NULL
        """)
    }
    try forEachKey { table, storage, _ in
      guard let order = storage.order else { return }
      try complete(table, row: "Z_PK", group: storage.column, order: order, by: "Z_PK")
    }
    for join in schema.joinTables {
      let (table, owner, destination) = (
        StoreSchema.identifier(join.name), StoreSchema.identifier(join.ownerColumn),
        StoreSchema.identifier(join.destinationColumn)
      )
      if let order = join.ownerOrderColumn.map(StoreSchema.identifier) {
        try complete(table, row: "rowid", group: owner, order: order, by: destination)
      }
      if let order = join.destinationOrderColumn.map(StoreSchema.identifier) {
        try complete(table, row: "rowid", group: destination, order: order, by: owner)
      }
    }
  }
}
