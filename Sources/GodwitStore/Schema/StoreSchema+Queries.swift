import GodwitModel

extension StoreSchema {
  /// `Z_ENT` of an entity; nil when the model has no such entity.
  public func number(of entity: String) -> Int? { entityNumbers[entity] }

  /// The column of an attribute, inherited or own; nil when it is unknown or not stored.
  public func column(of attribute: String, in entity: String) -> String? {
    attributeColumn(attribute, in: entity)?.name
  }

  /// The columns of an entity's table that its objects use, in the table's order: the three fixed
  /// ones, its own and its ancestors'. Empty when the model has no such entity.
  public func columns(of entity: String) -> [Column] {
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
  public func storage(of relationship: String, in entity: String) -> RelationshipStorage {
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
            // How the order of a relationship that is its own inverse is stored is not known.
            orderColumn: join.isReflexive ? nil : join.ownerOrderColumn)
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

  private func foreignKey(_ relationship: String, in entity: String) -> RelationshipStorage {
    guard let table = table(of: entity) else { return .none }
    for ancestor in model.lineage(of: entity).map(\.name) {
      var (key, entityColumn, orderColumn): (String?, String?, String?) = (nil, nil, nil)
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
