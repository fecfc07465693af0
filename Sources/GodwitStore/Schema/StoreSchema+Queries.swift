import GodwitModel

extension StoreSchema {
  /// `Z_ENT` of an entity; nil when the model has no such entity.
  package func number(of entity: String) -> Int? { entityNumbers[entity] }

  /// The column of an attribute, inherited or own; nil when it is unknown or not stored.
  package func column(of attribute: String, in entity: String) -> String? {
    attributeColumn(attribute, in: entity)?.name
  }

  /// The columns of an entity's table that its objects use, in the table's order: the three fixed
  /// ones, its own and its ancestors'. Empty when the model has no such entity.
  package func columns(of entity: String) -> [Column] {
    let lineage = Set(model.lineage(of: entity).map(\.name))
    return (table(of: entity)?.columns ?? []).filter { column in
      switch column.role {
      case .primaryKey, .entity, .optimisticLock: true
      case .attribute(let owner, _, _), .foreignKey(let owner, _), .foreignEntity(let owner, _),
        .orderKey(let owner, _):
        lineage.contains(owner)
      }
    }
  }

  /// The storage of a relationship, seen from the entity; `.none` when it is unknown or transient.
  package func storage(of relationship: String, in entity: String) -> RelationshipStorage {
    guard let described = model.relationship(relationship, of: entity), !described.isTransient else {
      return .none
    }
    if !described.isToMany { return foreignKey(relationship, in: entity) }
    guard let inverse = model.inverse(of: described), !inverse.isTransient else { return .none }
    if !inverse.isToMany {
      let owner =
        inverse.isUnnamedInverse.value
        ? described.destinationEntityName : described.inverseEntityName ?? described.destinationEntityName
      var storage = foreignKey(inverse.name, in: owner)
      if storage == .none { storage = foreignKey(inverse.name, in: described.destinationEntityName) }
      guard case .foreignKey(let table, let column, let entityColumn, let orderColumn) = storage else {
        return .none
      }
      return .inverse(table: table, column: column, entityColumn: entityColumn, orderColumn: orderColumn)
    }
    for ancestor in model.lineage(of: entity) {
      for join in joinTables {
        if join.ownerEntityName == ancestor.name, join.ownerRelationshipName == relationship {
          return .join(
            join, subjectColumn: join.ownerColumn, objectColumn: join.destinationColumn,
            orderColumn: join.ownerOrderColumn)
        }
        if join.destinationEntityName == ancestor.name, join.inverseRelationshipName == relationship {
          return .join(
            join, subjectColumn: join.destinationColumn, objectColumn: join.ownerColumn,
            orderColumn: join.destinationOrderColumn)
        }
      }
    }
    return .none
  }

  /// Whether a path of relationships is a many-to-many that is its own inverse.
  package func isOwnInverse(_ path: [String], of entity: String) -> Bool {
    guard path.count == 1, case .join(let join, _, _, _) = storage(of: path[0], in: entity) else { return false }
    return join.isReflexive
  }

  private func foreignKey(_ relationship: String, in entity: String) -> RelationshipStorage {
    guard let table = table(of: entity) else { return .none }
    for ancestor in model.lineage(of: entity).map(\.name) {
      var key: String?
      var entityColumn: String?
      var orderColumn: String?
      for column in table.columns {
        switch column.role {
        case .foreignKey(ancestor, relationship): key = column.name
        case .foreignEntity(ancestor, relationship): entityColumn = column.name
        case .orderKey(ancestor, relationship): orderColumn = column.name
        default: break
        }
      }
      if let key {
        return .foreignKey(
          table: table.name, column: key, entityColumn: entityColumn, orderColumn: orderColumn)
      }
    }
    return .none
  }
}
