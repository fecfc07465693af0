import GodwitJob
import GodwitModel
import GodwitStore

/// Rules that concern several rows: how many objects a relationship leads to, and uniqueness.
struct RuleProof {
  private let stores: ComparedStores
  private let keys: KeyAssignment
  private let findings: Findings

  init(_ stores: ComparedStores, _ keys: KeyAssignment, _ findings: Findings) {
    (self.stores, self.keys, self.findings) = (stores, keys, findings)
  }

  /// Rules that concern several rows: how many objects a relationship leads to, and uniqueness.
  func checkRules() throws {
    for entity in stores.job.destinationModel.entities {
      if !entity.isAbstract {
        for relationship in stores.job.destinationModel.relationships(of: entity.name) where !relationship.isTransient {
          try checkCount(relationship, of: entity.name)
        }
      }
      for properties in entity.uniquenessConstraints { try checkUnique(properties, of: entity.name) }
    }
  }

  private func checkCount(_ relationship: RelationshipDescription, of entity: String) throws {
    let counts: String
    switch stores.destinationSchema.storage(of: relationship.name, in: entity) {
    case .foreignKey(let table, let column, _, _):
      guard !relationship.isOptional else { return }
      counts =
        "SELECT Z_PK AS owner, 1 AS number FROM \(stores.table(table)) WHERE \(StoreSchema.identifier(column)) IS NOT NULL"
    case .inverse(let table, let column, _, _): counts = grouped(table, column)
    case .join(let join, let subject, _, _): counts = grouped(join.name, subject)
    case .none: return
    }
    // Required says nothing of how many objects a to-many leads to; its minimum does.
    let low = relationship.isToMany ? relationship.minCount : relationship.isOptional ? 0 : 1
    let high = relationship.isToMany && relationship.maxCount > 0 ? relationship.maxCount : Int.max
    guard low > 0 || high < .max else { return }
    var rows: Int64 = 0
    try stores.destination.query(
      """
      SELECT o.Z_PK, COALESCE(c.number, 0) FROM \(stores.table(try stores.destinationTable(entity).name)) AS o \
      LEFT JOIN (\(counts)) AS c ON c.owner = o.Z_PK WHERE \(stores.destinationSchema.isObject(of: [entity], row: "o").term)\(stores.own("o.Z_PK", entity)) ORDER BY o.Z_PK
      """
    ) { row in
      rows += 1
      let count = row.int(1)
      if count == 0, relationship.isOptional { return true }
      if count < low || count > high {
        if stores.job.keepsInvalid,
          try stores.job.keepsAllInvalid || wasInvalid(relationship, of: entity, key: row.int64(0))
        {
          findings.count("objects that break the rule of a relationship (on-invalid: keep)", 1)
          return true
        }
        let limits = high < .max ? "\(low) to \(high)" : "at least \(low)"
        findings.find(
          .invalid, entity, key: row.int64(0), property: relationship.name,
          "it leads to \(count) objects, the model requires \(limits)")
      }
      return true
    }
    findings.count("counts of \(entity).\(relationship.name)", rows)
  }

  /// Whether the source object of a destination object broke the rule of the relationship that this one was made of.
  private func wasInvalid(_ relationship: RelationshipDescription, of entity: String, key: Int64) throws -> Bool {
    guard let root = stores.job.destinationModel.root(of: entity)?.name else { return false }
    for index in keys.claimed[root] ?? [] where stores.mappings[index].destinationEntity == entity {
      let mapping = stores.mappings[index]
      guard try keys.counterparts[index].makes(key), let source = try keys.counterparts[index].source(of: key),
        let assignment = mapping.assignments.first(where: { $0.relationship.name == relationship.name }),
        let (owner, name) = VerifiedMapping.property(
          along: assignment.path, of: mapping.sourceEntity, in: stores.job.sourceModel),
        let from = stores.job.sourceModel.relationship(name, of: owner),
        let object = try end(of: source, along: assignment.path, in: mapping.sourceEntity)
      else { continue }
      let count: String
      switch stores.sourceSchema.storage(of: from.name, in: owner) {
      case .foreignKey(let table, let column, _, _):
        guard !from.isOptional, let target = stores.sourceSchema.table(of: from.destinationEntityName)?.name else {
          continue
        }
        count =
          "SELECT COUNT(*) FROM \(stores.table(table)) AS s JOIN \(stores.table(target)) AS d ON d.Z_PK = s.\(StoreSchema.identifier(column)) WHERE s.Z_PK = ?1"
      case .inverse(let table, let column, _, _):
        count = "SELECT COUNT(*) FROM \(stores.table(table)) WHERE \(StoreSchema.identifier(column)) = ?1"
      case .join(let join, let subject, _, _):
        count = "SELECT COUNT(*) FROM \(stores.table(join.name)) WHERE \(StoreSchema.identifier(subject)) = ?1"
      case .none: continue
      }
      let found = try stores.source.integer(count, [.integer(object)]) ?? 0
      if found == 0, from.isOptional { continue }
      let low = from.isToMany ? Int64(from.minCount) : from.isOptional ? 0 : 1
      let high = from.isToMany && from.maxCount > 0 ? Int64(from.maxCount) : .max
      if found < low || found > high { return true }
    }
    return false
  }

  /// The key of the object that a path of relationships begins its last step at: the source object, or an end of a link.
  private func end(of source: Int64, along path: [String], in entity: String) throws -> Int64? {
    guard path.count > 1 else { return source }
    guard case .foreignKey(let table, let column, _, _) = stores.sourceSchema.storage(of: path[0], in: entity) else {
      return nil
    }
    return try stores.source.integer(
      "SELECT \(StoreSchema.identifier(column)) FROM \(stores.table(table)) WHERE Z_PK = ?1", [.integer(source)])
  }

  private func grouped(_ table: String, _ column: String) -> String {
    let key = StoreSchema.identifier(column)
    return "SELECT \(key) AS owner, COUNT(*) AS number FROM \(stores.table(table)) WHERE \(key) IS NOT NULL GROUP BY 1"
  }

  /// Rows of equal values stand side by side when sorted. A NULL equals nothing.
  private func checkUnique(_ properties: [String], of entity: String) throws {
    var columns: [String] = []
    for property in properties {
      if let column = stores.destinationSchema.column(of: property, in: entity) {
        columns.append(StoreSchema.identifier(column))
      } else if case .foreignKey(_, let column, _, _) = stores.destinationSchema.storage(of: property, in: entity) {
        columns.append(StoreSchema.identifier(column))
      } else {
        return findings.count("not proved: uniqueness of \(entity).\(properties.joined(separator: ", "))", 1)
      }
    }
    guard !columns.isEmpty else { return }
    let list = columns.joined(separator: ", ")
    let filled = columns.map { " AND \($0) IS NOT NULL" }.joined()
    var last: [SQLValue] = []
    var rows: Int64 = 0
    try stores.destination.query(
      "SELECT Z_PK, \(list) FROM \(stores.table(try stores.destinationTable(entity).name)) WHERE \(stores.isKind(entity, "Z_ENT", in: stores.destinationSchema))\(filled) ORDER BY \(list), Z_PK"
    ) { row in
      rows += 1
      let values = (1..<row.count).map { row.value($0) }
      if values == last {
        findings.find(
          .invalid, entity, key: row.int64(0), property: properties.joined(separator: ", "),
          "another object has the same values, which must be unique")
      }
      last = values
      return true
    }
    findings.count("objects of \(entity) under a uniqueness constraint", rows)
  }
}
