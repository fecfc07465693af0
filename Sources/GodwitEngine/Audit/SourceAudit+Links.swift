import GodwitJob
import GodwitModel
import GodwitStore

extension SourceAudit {
  /// Links that lead nowhere, as the plan counts them, and one-to-one links whose two ends disagree.
  func auditLinks() throws {
    for entity in model.entities {
      for relationship in entity.relationships where !relationship.isTransient {
        let name = relationship.name
        guard model.declaringEntity(of: name, in: entity.name)?.name == entity.name else { continue }
        switch schema.storage(of: name, in: entity.name) {
        case .foreignKey(let table, let column, _, _):
          var checks = [danglingCheck(entity.name, name, column, to: relationship.destinationEntityName)]
          checks.append(halfLinkCheck(entity.name, relationship, column))
          let kind = schema.isKind(of: entity.name, row: "s").clause
          try run(
            checks.compactMap(\.self), from: "FROM source.\(quoted(table)) AS s\(kind)", hasCondition: !kind.isEmpty)
        case .inverse(let table, let column, _, _):
          // With an inverse the to-one's entity has the key.
          guard model.inverse(of: relationship) == nil else { continue }
          let holder = relationship.destinationEntityName
          let kind = schema.isKind(of: holder, row: "s").clause
          let check = danglingCheck(holder, name, column, to: entity.name)
          try run(
            [check].compactMap(\.self), from: "FROM source.\(quoted(table)) AS s\(kind)", hasCondition: !kind.isEmpty)
        case .join(let join, _, _, _):
          guard join.ownerEntityName == entity.name, join.ownerRelationshipName == name else { continue }
          let ends = [
            planner.isNowhere("s.\(quoted(join.ownerColumn))", join.ownerEntityName),
            planner.isNowhere("s.\(quoted(join.destinationColumn))", join.destinationEntityName),
          ].compactMap(\.self)
          let check = Check(
            kind: .danglingLink, model: model.name, entity: entity.name, property: name,
            message: "links that lead to no object", condition: ends.joined(separator: " OR "),
            value: "s.\(quoted(join.destinationColumn))", key: "s.\(quoted(join.ownerColumn))")
          try run([check], from: "FROM source.\(quoted(join.name)) AS s", hasCondition: false)
        case .none: continue
        }
      }
    }
  }

  private func danglingCheck(_ holder: String, _ name: String, _ column: String, to entity: String) -> Check? {
    let key = "s.\(quoted(column))"
    guard let isNowhere = planner.isNowhere(key, entity) else { return nil }
    return Check(
      kind: .danglingLink, model: model.name, entity: holder, property: name,
      message: "links that lead to no object of \(entity)", condition: "\(key) IS NOT NULL AND \(isNowhere)",
      value: key)
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
      value: key)
  }

  // MARK: Uniqueness

  /// The constraints of the source version.
  func auditUniqueness() throws {
    for entity in model.entities {
      for properties in entity.uniquenessConstraints {
        guard let table = schema.table(of: entity.name), let columns = columns(properties, of: entity.name, schema)
        else {
          skip("uniqueness of \(entity.name).\(properties.joined(separator: ", ")), version '\(model.name)'")
          continue
        }
        let values = columns.map { "s.\(quoted($0))" }
        let filled = values.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
        let rows =
          "SELECT s.Z_PK AS k, \(entityName(inTableOf: entity.name)) AS e, \(Self.named(values)) FROM source.\(quoted(table.name)) AS s WHERE \(filled)\(schema.isKind(of: entity.name, row: "s").further)"
        try findDuplicates(in: rows, columns: values.count, model: model.name, entity.name, properties)
      }
    }
  }

  /// The name of a row's entity as SQL.
  private func entityName(inTableOf entity: String) -> String {
    let cases = model.family(of: entity).compactMap { described in
      schema.number(of: described.name).map { "WHEN \($0) THEN \(Self.literal(described.name))" }
    }
    return "CASE \(schema.entityNumber(inTableOf: entity, row: "s")) \(cases.joined(separator: " ")) END"
  }

  static func literal(_ text: String) -> String { "'\(text.replacing("'", with: "''"))'" }

  static func named(_ values: [String]) -> String {
    values.enumerated().map { "\($1) AS v\($0)" }.joined(separator: ", ")
  }

  func columns(_ properties: [String], of entity: String, _ schema: StoreSchema) -> [String]? {
    let columns = properties.compactMap { property -> String? in
      if let column = schema.column(of: property, in: entity) { return column }
      guard case .foreignKey(_, let column, _, _) = schema.storage(of: property, in: entity) else { return nil }
      return column
    }
    return columns.count == properties.count && !columns.isEmpty ? columns : nil
  }
}
