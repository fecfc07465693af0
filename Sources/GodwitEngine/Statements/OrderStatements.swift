import GodwitLowering
import GodwitModel
import GodwitStore

/// An ordered relationship whose places are numbered.
package struct OrderRule {
  package var entityName: String
  package var relationshipName: String
  /// The entity whose keys the chunks range over.
  package var ownerEntityName: String
  var sql: String
}

/// The statements that number the places of ordered relationships.
package struct OrderStatements: StageStatements {
  package let step: StepProgram

  /// Every ordered relationship that some mapping sets, with the statement that numbers its objects.
  ///
  /// Places count 2048, 3072, … as current writers space them; only their order has meaning.
  package var rules: [OrderRule] { step.kept.orderRules { list() } }

  private func list() -> [OrderRule] {
    var rules: [OrderRule] = []
    for link in links {
      for end in [InversePair.End.first, .second] {
        guard let side = link.side(end), side.relationship.isToMany, side.relationship.isOrdered else { continue }
        let sql: String
        switch destinationSchema.storage(of: side.relationship.name, in: side.entityName) {
        case .inverse(let table, let column, _, let order?):
          sql = """
            UPDATE main.\(quoted(table)) AS t SET \(quoted(order)) = r.place FROM (SELECT Z_PK AS id, \
            1024 * (1 + row_number() OVER (PARTITION BY \(quoted(column)) \
            ORDER BY \(quoted(order)) IS NULL, \(quoted(order)), Z_PK)) AS place FROM main.\(quoted(table)) \
            WHERE \(quoted(column)) BETWEEN ?1 AND ?2) AS r WHERE t.Z_PK = r.id AND t.\(quoted(order)) IS NOT r.place
            """
        case .join(let join, let subject, let object, let order?):
          sql = """
            UPDATE main.\(quoted(join.name)) AS t SET \(quoted(order)) = r.place FROM (SELECT rowid AS id, \
            1024 * (1 + row_number() OVER (PARTITION BY \(quoted(subject)) \
            ORDER BY \(quoted(order)) IS NULL, \(quoted(order)), \(quoted(object)))) AS place FROM main.\(quoted(join.name)) \
            WHERE \(quoted(subject)) BETWEEN ?1 AND ?2) AS r WHERE t.rowid = r.id AND t.\(quoted(order)) IS NOT r.place
            """
        default: continue
        }
        rules.append(
          OrderRule(
            entityName: side.entityName, relationshipName: side.relationship.name, ownerEntityName: side.entityName,
            sql: sql))
      }
    }
    return rules
  }
}
