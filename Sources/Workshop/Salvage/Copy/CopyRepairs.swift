import GodwitModel
import GodwitStore

/// Repairs links that lead nowhere, columns that were made, counters, and rows of no entity.
struct CopyRepairs {
  private let connection: StoreConnection
  private let schema: StoreSchema
  private let copy: CopyStore
  private(set) var links: [SalvageReport.Links] = []
  private(set) var strays: [SalvageReport.Strays] = []
  private(set) var notes: [String] = []

  /// How many keys of a finding are named.
  private static let samples = 10

  init(_ copy: CopyStore, _ schema: StoreSchema) {
    (self.copy, self.schema, connection) = (copy, schema, copy.connection)
  }

  // MARK: Rows of no entity

  /// Lists rows whose `Z_ENT` does not belong to an entity of their table.
  ///
  /// In the table of a hierarchy no reader accepts such a row, so the copy lacks it. In the table of a single entity Core
  /// Data does not look at the number.
  ///
  /// - Parameter areNumbersKnown: Whether the numbers come from the store.
  mutating func findStrays(areNumbersKnown: Bool) throws {
    for table in schema.tables {
      let numbers = schema.model.family(of: table.rootEntityName).compactMap { schema.number(of: $0.name) }
      let known = numbers.map(String.init).joined(separator: ", ")
      let condition = "Z_ENT IS NULL OR Z_ENT NOT IN (\(known))"
      let name = "main.\(quoted(table.name))"
      let isLeftOut = !schema.fillsTable(table.rootEntityName) && areNumbersKnown
      for row in try connection.rows(
        "SELECT Z_ENT, count(*), min(Z_PK), max(Z_PK) FROM \(name) WHERE \(condition) GROUP BY Z_ENT LIMIT 100")
      {
        guard case .integer(let count) = row[1], case .integer(let first) = row[2], case .integer(let last) = row[3]
        else { continue }
        var number: Int64?
        if case .integer(let found) = row[0] { number = found }
        strays.append(
          .init(
            table: table.name, number: number, rows: count, firstKey: first, lastKey: last, isLeftOut: isLeftOut))
      }
      guard isLeftOut else { continue }
      try connection.execute("DELETE FROM \(name) WHERE \(condition)")
      copy.states[table.name]?.rows -= connection.changes
    }
  }

  // MARK: Links

  /// Sets to-ones whose object is lost to nil, and leaves out pairs of which one end is lost.
  mutating func cutLinks() throws {
    for table in schema.tables {
      for column in table.columns {
        guard case .foreignKey(let entity, let relationship) = column.role,
          let target = schema.model.relationship(relationship, of: entity)?.destinationEntityName,
          let other = schema.table(of: target)
        else { continue }
        let beside = table.columns.filter {
          $0.role == .foreignEntity(entity: entity, relationship: relationship)
            || $0.role == .orderKey(entity: entity, relationship: relationship)
        }
        try cut(column.name, beside.map(\.name), in: table.name, to: other.name, "\(entity).\(relationship)")
      }
    }
    for join in schema.joinTables {
      guard let owner = schema.table(of: join.ownerEntityName),
        let destination = schema.table(of: join.destinationEntityName)
      else { continue }
      let ends = [(join.ownerColumn, owner.name), (join.destinationColumn, destination.name)]
      let conditions = ends.map { column, table in
        "NOT EXISTS (SELECT 1 FROM main.\(quoted(table)) AS o WHERE o.Z_PK = j.\(quoted(column)))"
      }
      let condition = conditions.joined(separator: " OR ")
      let name = "main.\(quoted(join.name)) AS j"
      let keys = try connection.rows(
        "SELECT j.\(quoted(join.ownerColumn)) FROM \(name) WHERE \(condition) LIMIT \(Self.samples)")
      guard !keys.isEmpty else { continue }
      try connection.execute("DELETE FROM \(name) WHERE \(condition)")
      let count = connection.changes
      copy.states[join.name]?.rows -= count
      links.append(
        .init(
          relationship: "\(join.ownerEntityName).\(join.ownerRelationshipName)", table: join.name, count: count,
          keys: Self.integers(keys), isPair: true))
    }
  }

  private mutating func cut(
    _ column: String, _ beside: [String], in table: String, to other: String, _ relationship: String
  ) throws {
    let name = "main.\(quoted(table)) AS t"
    let condition =
      "t.\(quoted(column)) IS NOT NULL AND NOT EXISTS (SELECT 1 FROM main.\(quoted(other)) AS o WHERE o.Z_PK = t.\(quoted(column)))"
    let keys = try connection.rows("SELECT t.Z_PK FROM \(name) WHERE \(condition) LIMIT \(Self.samples)")
    guard !keys.isEmpty else { return }
    let assignments = ([column] + beside).map { "\(quoted($0)) = NULL" }.joined(separator: ", ")
    try connection.execute("UPDATE \(name) SET \(assignments) WHERE \(condition)")
    links.append(
      .init(
        relationship: relationship, table: table, count: connection.changes, keys: Self.integers(keys), isPair: false))
  }

  private static func integers(_ rows: [[SQLValue]]) -> [Int64] {
    rows.compactMap { if case .integer(let key)? = $0.first { key } else { nil } }
  }

  // MARK: Columns that were made

  /// Fills columns that the source lacked: a to-one from its inverse, an attribute with the model's default.
  mutating func fillMadeColumns() throws {
    for table in schema.tables {
      guard let made = copy.states[table.name]?.madeColumns, !made.isEmpty else { continue }
      for column in table.columns where made.contains(column.name) {
        switch column.role {
        case .attribute(let owner, let name, _): try fill(column.name, in: table.name, owner, name)
        case .foreignKey(let entity, let relationship):
          try fillFromInverse(column.name, in: table.name, entity, relationship)
        default: break
        }
      }
    }
  }

  private func fill(_ column: String, in table: String, _ owner: String, _ name: String) throws {
    for entity in schema.model.family(of: owner) {
      guard let attribute = schema.model.attribute(name, of: entity.name), attribute.defaultValue != .null,
        let number = schema.number(of: entity.name)
      else { continue }
      try connection.execute(
        "UPDATE main.\(quoted(table)) SET \(quoted(column)) = ?1 WHERE Z_ENT = ?2",
        [SQLValue(encoding: attribute.defaultValue, as: attribute), .int(number)])
    }
  }

  private mutating func fillFromInverse(
    _ column: String, in table: String, _ entity: String, _ relationship: String
  ) throws {
    guard let described = schema.model.relationship(relationship, of: entity),
      let inverse = schema.model.inverse(of: described), !inverse.isToMany,
      case .foreignKey(let other, let key, _, _) = schema.storage(
        of: inverse.name, in: described.inverseEntityName ?? described.destinationEntityName),
      copy.states[other]?.madeColumns.contains(key) != true
    else { return }
    let index = "godwit_salvage_inverse"
    try connection.execute("CREATE INDEX main.\(index) ON \(quoted(other)) (\(quoted(key)))")
    try connection.execute(
      """
      UPDATE main.\(quoted(table)) AS t SET \(quoted(column)) = \
      (SELECT o.Z_PK FROM main.\(quoted(other)) AS o WHERE o.\(quoted(key)) = t.Z_PK LIMIT 1)
      """)
    try connection.execute("DROP INDEX main.\(index)")
    notes.append("'\(entity).\(relationship)' was rebuilt from its inverse")
  }

  // MARK: Counters

  /// Sets wrong rows of `Z_PRIMARYKEY` right: superentities, and counters below the highest key.
  mutating func correctEntities() throws {
    var corrected: [String] = []
    for entity in schema.model.entities {
      guard let number = schema.number(of: entity.name) else { continue }
      let parent = entity.superentityName.flatMap(schema.number) ?? 0
      try connection.execute(
        "UPDATE main.Z_PRIMARYKEY SET Z_SUPER = ?2 WHERE Z_ENT = ?1 AND Z_SUPER IS NOT ?2",
        [.int(number), .int(parent)])
      if connection.changes > 0 { corrected.append("the superentity of \(entity.name)") }
    }
    for table in schema.tables {
      guard let number = schema.number(of: table.rootEntityName) else { continue }
      let highest = try connection.integer("SELECT max(Z_PK) FROM main.\(quoted(table.name))") ?? 0
      try connection.execute(
        "UPDATE main.Z_PRIMARYKEY SET Z_MAX = ?2 WHERE Z_ENT = ?1 AND (Z_MAX IS NULL OR Z_MAX < ?2)",
        [.int(number), .integer(max(0, highest))])
      if connection.changes > 0 { corrected.append("the counter of \(table.rootEntityName)") }
    }
    if !corrected.isEmpty {
      notes.append("'Z_PRIMARYKEY' was corrected: " + corrected.joined(separator: ", "))
    }
  }
}
