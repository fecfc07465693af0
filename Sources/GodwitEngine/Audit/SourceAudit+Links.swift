import GodwitJob
import GodwitModel
import GodwitStore

extension SourceAudit {
  /// Links without a target, as the plan counts them, and one-to-one links whose two ends disagree.
  func auditLinks() throws {
    var walks: [(rows: Rows, checks: [Check])] = []
    var places: [String: Int] = [:]
    func add(_ check: Check?, _ rows: Rows) {
      guard let check else { return }
      let from = rows.from(nil, nil)
      guard let place = places[from] else {
        places[from] = walks.count
        walks.append((rows, [check]))
        return
      }
      walks[place].checks.append(check)
    }
    for entity in model.withoutPairs.entities {
      for relationship in entity.relationships where !relationship.isTransient {
        let name = relationship.name
        guard model.declaringEntity(of: name, in: entity.name)?.name == entity.name else { continue }
        switch schema.storage(of: name, in: entity.name) {
        case .foreignKey(let table, let column, _, _):
          let rows = Rows.all(of: table, where: schema.isKind(of: entity.name, row: "s").sql)
          add(danglingCheck(entity.name, name, column, to: relationship.destinationEntityName), rows)
          add(halfLinkCheck(entity.name, relationship, column), rows)
        case .inverse(let table, let column, _, _):
          // If there is an inverse, the to-one's entity has the key.
          guard model.inverse(of: relationship) == nil else { continue }
          let holder = relationship.destinationEntityName
          add(
            danglingCheck(holder, name, column, to: entity.name),
            .all(of: table, where: schema.isKind(of: holder, row: "s").sql))
        case .join(let join, _, _, _):
          guard join.ownerEntityName == entity.name, join.ownerRelationshipName == name else { continue }
          add(danglingCheck(join), .all(of: join.name, key: "s.rowid"))
        case .none: continue
        }
      }
    }
    for walk in walks { try run(walk.checks, on: walk.rows) }
  }

  private func danglingCheck(_ holder: String, _ name: String, _ column: String, to entity: String) -> Check? {
    let key = "s.\(quoted(column))"
    guard let isNowhere = planner.isNowhere(key, entity) else { return nil }
    return Check(
      kind: .danglingLink, model: model.name, entity: holder, property: name,
      message: "links that lead to no object of \(entity)", condition: "\(key) IS NOT NULL AND \(isNowhere)",
      value: key, ownEntity: entityName(inTableOf: holder, row: "s"))
  }

  private func danglingCheck(_ join: StoreSchema.JoinTable) -> Check? {
    let owner = "s.\(quoted(join.ownerColumn))"
    let ends = [
      planner.isNowhere(owner, join.ownerEntityName),
      planner.isNowhere("s.\(quoted(join.destinationColumn))", join.destinationEntityName),
    ].compactMap(\.self)
    guard !ends.isEmpty else { return nil }
    let ownEntity = schema.table(of: join.ownerEntityName).map { table in
      "(SELECT \(entityName(inTableOf: join.ownerEntityName, row: "n")) FROM source.\(quoted(table.name)) AS n WHERE n.Z_PK = \(owner))"
    }
    return Check(
      kind: .danglingLink, model: model.name, entity: join.ownerEntityName, property: join.ownerRelationshipName,
      message: "links that lead to no object", condition: ends.joined(separator: " OR "),
      value: "s.\(quoted(join.destinationColumn))", key: owner, ownEntity: ownEntity)
  }

  /// Both ends of a one-to-one have a key of the other. The links of a to-many have one key for both.
  private func halfLinkCheck(_ entity: String, _ relationship: RelationshipDescription, _ column: String) -> Check? {
    guard let inverse = model.inverse(of: relationship), !inverse.isToMany, !relationship.isToMany,
      case .foreignKey(let table, let other, _, _) = schema.storage(
        of: inverse.name, in: relationship.destinationEntityName),
      let isNowhere = planner.isNowhere("s.\(quoted(column))", relationship.destinationEntityName)
    else { return nil }
    let key = "s.\(quoted(column))"
    return Check(
      kind: .halfLink, model: model.name, entity: entity, property: relationship.name,
      message: "links whose other end, '\(inverse.name)', does not lead back",
      condition:
        "\(key) IS NOT NULL AND NOT \(isNowhere) AND NOT EXISTS (SELECT 1 FROM source.\(quoted(table)) AS o WHERE o.Z_PK = \(key) AND o.\(quoted(other)) = s.Z_PK)",
      value: key, ownEntity: entityName(inTableOf: entity, row: "s"))
  }

  /// The name of a row's entity as SQL; NULL for a row of no entity that the model has.
  func entityName(inTableOf entity: String, row: String) -> String {
    let root = model.root(of: entity)?.name ?? entity
    let cases = model.family(of: root).compactMap { described in
      schema.number(of: described.name).map { "WHEN \($0) THEN \(textLiteral(described.name))" }
    }
    guard !cases.isEmpty else { return textLiteral(entity) }
    return "CASE \(schema.entityNumber(inTableOf: entity, row: row)) \(cases.joined(separator: " ")) END"
  }
}
