import GodwitModel

extension StoreSchema {
  /// A trigger with which Core Data keeps a derived attribute up to date.
  package struct Trigger: Sendable, Hashable {
    package var name: String
    package var table: String
    /// The whole `CREATE TRIGGER` statement.
    package var sql: String
  }

  /// A derived attribute, seen from the entity that declares it.
  package struct DerivedAttribute: Sendable, Hashable {
    package var entityName: String
    package var attributeName: String
  }

  /// Every stored derived attribute of the model, by entity number, then name.
  package var derivedAttributes: [DerivedAttribute] {
    model.rootEntities.flatMap { model.family(of: $0.name) }.flatMap { entity in
      entity.attributes.filter { $0.isDerived && !$0.isTransient }.sorted { Text($0.name) < Text($1.name) }
        .map { DerivedAttribute(entityName: entity.name, attributeName: $0.name) }
    }
  }

  /// The triggers of the derived attributes whose text is known, in Core Data's order.
  package var triggers: [Trigger] { derivedAttributes.flatMap { triggers(of: $0) ?? [] } }

  /// The triggers of a derived attribute; nil when no store showed how Core Data spells them.
  ///
  /// Word for word those of two stores of framework version 1344, for the count of a to-many whose inverse is a to-one,
  /// between root entities. They call functions that exist inside Core Data alone: rows go in first.
  package func triggers(of derived: DerivedAttribute) -> [Trigger]? {
    let entity = derived.entityName
    guard let attribute = model.attribute(derived.attributeName, of: entity),
      let derivation = try? Derivation(of: attribute, in: entity, model: model), case .count = derivation.kind,
      derivation.path.count == 1, let relationship = derivation.path.first,
      let owner = table(of: entity), owner.rootEntityName == entity,
      model.root(of: relationship.destinationEntityName)?.name == relationship.destinationEntityName,
      let column = column(of: attribute.name, in: entity),
      case .inverse(let table, let key, _, _) = storage(of: relationship.name, in: entity)
    else { return nil }
    let (source, c, t, k) = (
      Self.identifier(owner.name), Self.identifier(column), Self.identifier(table), Self.identifier(key)
    )
    func tell(_ function: String, _ row: String) -> String {
      "SELECT \(function)(\(textLiteral(owner.name)), Z_ENT, Z_PK, \(textLiteral(attribute.name)), \(c)) FROM \(source) WHERE Z_PK = \(row);"
    }
    func parameter(_ event: String, _ when: String, _ row: String, set value: String) -> Trigger {
      let name = "Z_DA_\(table)_\(entity)_\(attribute.name)_PARAMETER_\(event)"
      return Trigger(
        name: name, table: table,
        sql:
          "CREATE TRIGGER \(Self.identifier(name)) AFTER \(when) ON \(t) FOR EACH ROW WHEN (\(row).\(k) NOT NULL) BEGIN "
          + "UPDATE \(source) SET \(c) = \(value) WHERE Z_PK = \(row).\(k); "
          + tell("NSCoreDataDATriggerUpdatedAffectedObjectValue", "\(row).\(k)") + " END")
    }
    let name = "Z_DA_\(owner.name)_\(entity)_\(attribute.name)_SOURCE_INSERT"
    return [
      parameter("INSERT", "INSERT", "NEW", set: "IFNULL(\(c), 0) + 1"),
      parameter("UPDATE_INCREMENT", "UPDATE OF \(k)", "NEW", set: "\(c) + 1"),
      parameter("UPDATE_DECREMENT", "UPDATE OF \(k)", "OLD", set: "\(c) - 1"),
      parameter("DELETE", "DELETE", "OLD", set: "\(c) - 1"),
      Trigger(
        name: name, table: owner.name,
        sql: "CREATE TRIGGER \(Self.identifier(name)) AFTER INSERT ON \(source) FOR EACH ROW BEGIN "
          + "UPDATE \(source) SET \(c) = (SELECT IFNULL(COUNT(\(k)), 0) FROM \(t) WHERE \(k) = NEW.Z_PK) WHERE Z_PK = NEW.Z_PK; "
          + tell("NSCoreDataDATriggerInsertUpdatedAffectedObjectValue", "NEW.Z_PK") + " END"),
    ]
  }
}
