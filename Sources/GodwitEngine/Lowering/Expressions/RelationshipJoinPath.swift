import GodwitModel
package import GodwitStore

/// The objects reached from a row along relationships, as the parts of a correlated SELECT.
package struct RelationshipJoinPath {
  let schema: StoreSchema
  let database: String
  let builder: StatementBuilder
  private(set) var entityName: String
  /// The SQL of the primary key of the object reached.
  private(set) package var key: String
  /// The order key among the objects of the last to-many, when it is ordered.
  private(set) package var order: String?
  private(set) package var isToMany = false
  /// The key of the object that the first to-many starts at, if a to-one leads there. It is NULL for a missing object.
  private(set) var origin: String?
  /// The sort keys of the objects if their order matters. They give the order of a fetch of each relationship in turn.
  private(set) var sorting: [String] = []
  private var hops = 0
  private var alias: String?
  private var tables: [String] = []
  private var conditions: [String] = []

  package init(row: ExpressionLowering.Row, schema: StoreSchema, database: String, builder: StatementBuilder) {
    self.schema = schema
    self.database = database
    self.builder = builder
    entityName = row.entityName
    alias = row.alias
    key = "\(row.alias).Z_PK"
  }

  package mutating func follow(_ name: String) throws {
    guard let relationship = schema.model.relationship(name, of: entityName) else {
      throw NotLowerable(reason: "'\(entityName)' has no relationship '\(name)'")
    }
    switch schema.storage(of: name, in: entityName) {
    case .foreignKey where hops == 0 && alias == "s" && builder.joinedEnds[name] != nil:
      let end = builder.joinedEnds[name] ?? ""
      (alias, key) = (end, "\(end).Z_PK")
    case .foreignKey(_, let column, _, _):
      key = "\(try loadedRow().alias).\(quoted(column))"
      alias = nil
    case .inverse(let table, let column, _, let orderColumn):
      try startToMany()
      // Two objects may hold the key of one that is gone: only a row has members.
      _ = try loadedRow()
      let next = builder.alias()
      tables.append("\(database).\(quoted(table)) AS \(next)")
      conditions.append("\(next).\(quoted(column)) = \(key)")
      requireKind(of: relationship.destinationEntityName, row: next)
      (alias, key) = (next, "\(next).Z_PK")
      order = orderColumn.map { "\(next).\(quoted($0))" }
      sorting += (order.map { [$0] } ?? []) + [key]
      isToMany = true
    case .join(let join, let subject, let object, let orderColumn):
      try startToMany()
      _ = try loadedRow()
      let next = builder.alias("j")
      tables.append("\(join.rows(in: database)) AS \(next)")
      conditions.append("\(next).\(quoted(subject)) = \(key)")
      (alias, key) = (nil, "\(next).\(quoted(object))")
      order = orderColumn.map { "\(next).\(quoted($0))" }
      sorting += (order.map { [$0] } ?? []) + [key]
      isToMany = true
    case .none: throw NotLowerable(reason: "relationship '\(name)' is not stored")
    }
    entityName = relationship.destinationEntityName
    hops += 1
  }

  /// Records the start of the first to-many. The chain is unchanged: only expressions use the origin.
  private mutating func startToMany() throws {
    guard !isToMany, hops > 0 else { return }
    var copy = self
    let row = try copy.loadedRow()
    origin = copy.scalar("\(row.alias).Z_PK")
  }

  /// Adds a condition on the objects.
  mutating func require(_ condition: String) { conditions.append(condition) }

  /// Leaves out rows that are not objects of an entity or of its subentities.
  private mutating func requireKind(of entity: String, row: String) {
    guard let kind = schema.isKind(of: entity, row: row).sql else { return }
    conditions.append(kind)
  }

  /// The row of the object reached, joined in when it is not there yet.
  package mutating func loadedRow() throws -> ExpressionLowering.Row {
    if let alias { return .init(alias: alias, entityName: entityName) }
    guard let table = schema.table(of: entityName) else {
      throw NotLowerable(reason: "'\(entityName)' has no table")
    }
    let next = builder.alias()
    tables.append("\(database).\(quoted(table.name)) AS \(next)")
    conditions.append("\(next).Z_PK = \(key)")
    requireKind(of: entityName, row: next)
    (alias, key) = (next, "\(next).Z_PK")
    return .init(alias: next, entityName: entityName)
  }

  /// `sql` evaluated at the end of the chain: directly, or in a scalar subquery.
  package func scalar(_ sql: String) -> String { tables.isEmpty ? sql : "(SELECT \(sql)\(from))" }

  /// ` FROM … WHERE …`, empty when no table is joined in.
  package var from: String {
    tables.isEmpty
      ? "" : " FROM \(tables.joined(separator: " CROSS JOIN ")) WHERE \(conditions.joined(separator: " AND "))"
  }

  /// The tables that are joined in and the conditions on them, for a statement that joins them to the first row.
  package var parts: (tables: [String], conditions: [String]) { (tables, conditions) }

  var isEmpty: Bool { tables.isEmpty }
}
