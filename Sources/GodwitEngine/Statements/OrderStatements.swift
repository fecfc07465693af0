package import GodwitJob
import GodwitModel
import GodwitStore

/// An ordered relationship whose places are numbered.
package struct OrderRule: Numbered {
  package typealias NumberKind = NumberedOrder

  /// The entity that declares the relationship. The chunks range over its keys.
  package var entityName: String
  package var relationshipName: String
  /// The assignments with an order of their own (`order-by`): the mapping, and the index of its relationship.
  var sorted: [(mapping: MappingID, part: Int)]
  var sql: String
}

/// The statements that number the places of ordered relationships.
///
/// With `order-by`, two tables are filled before the first chunk: which objects have their related objects sorted, and
/// the rank of each object that may be related, by the descriptors alone. Equal ranks leave the order as it was.
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
        let sorted = link.assignments.filter {
          $0.end == end && !mappings[$0.mapping].relationships[$0.part].order.isEmpty
        }
        let sorter = sorted.isEmpty ? nil : OrderID(rules.count)
        let sql: String
        switch destinationSchema.storage(of: side.relationship.name, in: side.entityName) {
        case .inverse(let table, let column, _, let order?):
          sql = numbering(
            table, key: "Z_PK", owner: quoted(column), order: quoted(order), object: "Z_PK", sortedBy: sorter)
        case .join(let join, let subject, let object, let order?):
          sql = numbering(
            join.name, key: "rowid", owner: quoted(subject), order: quoted(order), object: quoted(object),
            sortedBy: sorter)
        default: continue
        }
        rules.append(
          OrderRule(
            entityName: side.entityName, relationshipName: side.relationship.name,
            sorted: sorted.map { ($0.mapping, $0.part) }, sql: sql))
      }
    }
    return rules
  }

  /// Numbers the rows of each owner in a table, by their order and then by the object's key.
  ///
  /// - Parameters:
  ///   - key: The column that names a row.
  ///   - owner: The column with the owner's key.
  ///   - rule: The rule whose ranks come first; nil without ranks.
  private func numbering(
    _ table: String, key: String, owner: String, order: String, object: String, sortedBy rule: OrderID?
  ) -> String {
    var (rows, first) = ("main.\(quoted(table))", "")
    if let rule {
      let grade =
        "(SELECT p.place FROM main.\(StepProgram.sortedTable(rule)) AS w CROSS JOIN main.\(StepProgram.rankTable(rule)) AS p "
        + "ON p.part = w.part AND p.key = \(object) WHERE w.key = \(owner))"
      let columns = [key, owner, order] + (object == key ? [] : [object])
      rows =
        "(SELECT \(columns.joined(separator: ", ")), \(grade) AS grade FROM \(rows) WHERE \(owner) BETWEEN ?1 AND ?2)"
      first = "grade IS NULL, grade, "
    }
    return """
      UPDATE main.\(quoted(table)) AS t SET \(order) = r.place FROM (SELECT \(key) AS id, \
      1024 * (1 + row_number() OVER (PARTITION BY \(owner) \
      ORDER BY \(first)\(order) IS NULL, \(order), \(object))) AS place FROM \(rows) \
      WHERE \(owner) BETWEEN ?1 AND ?2) AS r WHERE t.\(key) = r.id AND t.\(order) IS NOT r.place
      """
  }

  // MARK: Ranks

  /// The statements that fill the tables of a rule.
  func ranking(_ number: OrderID) throws -> [ChunkStatement] {
    try rules[number].sorted.flatMap { [try owners($0, of: number), try ranks($0, of: number)] }
  }

  /// The destination key of a row of `assigningRows`.
  private func key(_ mapping: MappingID, _ association: AssociationLowering) -> String {
    isUnique(mapping) ? "u.destination" : association.counterpart(mapping, ofRow: "s")
  }

  private func owners(_ sorted: (mapping: MappingID, part: Int), of number: OrderID) throws -> ChunkStatement {
    let builder = StatementBuilder()
    let association = associations(builder)
    let rows = try assigningRows(of: sorted.mapping, association)
    return ChunkStatement(
      sql: """
        INSERT INTO main.\(StepProgram.sortedTable(number)) (key, part) \
        SELECT \(key(sorted.mapping, association)), \(sorted.mapping) FROM \(rows)
        """, builder: builder)
  }

  private func ranks(_ sorted: (mapping: MappingID, part: Int), of number: OrderID) throws -> ChunkStatement {
    let builder = StatementBuilder()
    // A value that does not fit its column is nil here.
    builder.tolerateMisfits()
    let association = associations(builder)
    let source = mappings[sorted.mapping].relationships[sorted.part]
    let queries = try source.lookups.map { lookup in
      let values = source.order.enumerated().map { place, descriptor in
        "\(step.associationStage.orderValue(descriptor, of: mappings[lookup], builder)) AS o\(place)"
      }
      let columns = (["\(key(lookup, association)) AS k"] + values).joined(separator: ", ")
      return "SELECT \(columns) FROM \(try assigningRows(of: lookup, association))"
    }
    let order = source.order.enumerated().map { "o\($0)\($1.isAscending ? "" : " DESC")" }.joined(separator: ", ")
    let rows = queries.isEmpty ? "SELECT NULL AS k, NULL AS o0 WHERE 0" : queries.joined(separator: " UNION ALL ")
    return ChunkStatement(
      sql: """
        INSERT INTO main.\(StepProgram.rankTable(number)) (part, key, place) \
        SELECT \(sorted.mapping), k, RANK() OVER (ORDER BY \(queries.isEmpty ? "o0" : order)) FROM (\(rows))
        """, builder: builder)
  }
}
