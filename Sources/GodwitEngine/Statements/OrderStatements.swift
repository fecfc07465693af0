import GodwitModel
import GodwitStore

/// An ordered relationship whose places are numbered.
package struct OrderRule {
  /// The entity that declares the relationship. The chunks range over its keys.
  package var entityName: String
  package var relationshipName: String
  var sql: String
}

/// The statements that number the places of ordered relationships.
package struct OrderStatements: StageStatements {
  package let step: StepProgram

  /// Every ordered relationship that some mapping sets, with the statement that numbers its objects.
  ///
  /// Places count 2048, 3072, … as current writers space them; only their order has meaning.
  package var rules: [OrderRule] { step.kept.orderRules(Once()) { list() } }

  private func list() -> [OrderRule] {
    var rules: [OrderRule] = []
    for link in links {
      for end in [InversePair.End.first, .second] {
        guard let side = link.side(end), side.relationship.isToMany, side.relationship.isOrdered else { continue }
        let sql: String
        switch destinationSchema.storage(of: side.relationship.name, in: side.entityName) {
        case .inverse(let table, let column, _, let order?):
          sql = numbering(table, key: "Z_PK", owner: quoted(column), order: quoted(order), object: "Z_PK")
        case .join(let join, let subject, let object, let order?):
          sql = numbering(
            join.name, key: "rowid", owner: quoted(subject), order: quoted(order), object: quoted(object))
        default: continue
        }
        rules.append(OrderRule(entityName: side.entityName, relationshipName: side.relationship.name, sql: sql))
      }
    }
    return rules
  }

  /// Numbers the rows of each owner in a table, by their order and then by the object's key.
  ///
  /// - Parameters:
  ///   - key: The column that names a row.
  ///   - owner: The column with the owner's key.
  private func numbering(_ table: String, key: String, owner: String, order: String, object: String) -> String {
    """
    UPDATE main.\(quoted(table)) AS t SET \(order) = r.place FROM (SELECT \(key) AS id, \
    1024 * (1 + row_number() OVER (PARTITION BY \(owner) \
    ORDER BY \(order) IS NULL, \(order), \(object))) AS place FROM main.\(quoted(table)) \
    WHERE \(owner) BETWEEN ?1 AND ?2) AS r WHERE t.\(key) = r.id AND t.\(order) IS NOT r.place
    """
  }
}
