import GodwitLowering
import GodwitModel
import GodwitStore

/// A rule of the destination model, as SQL that is true for a row `t` that breaks it.
package struct ValidationRule {
  var condition: String
  /// What is wrong, for the message: `'name' is required and is nil`.
  var message: String
  /// Whether it asks only whether a value of the row is there.
  var readsHeaderOnly = false
}

/// An ordered relationship whose places are numbered.
package struct OrderRule {
  package var entityName: String
  package var relationshipName: String
  /// The entity whose keys the chunks range over.
  package var ownerEntityName: String
  var sql: String
}

extension StepProgram {
  /// Every ordered relationship that some mapping sets, with the statement that numbers its objects.
  ///
  /// Places count 2048, 3072, … as current writers space them; only their order has meaning.
  package func orderRules() -> [OrderRule] {
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

  /// The rules that rows of a destination entity must keep. Patterns go by number to `godwit_matches`.
  package func validationRules(of entity: String, patterns: inout [String]) -> [ValidationRule] {
    let model = resolved.destinationModel
    var rules: [ValidationRule] = []
    for attribute in model.attributes(of: entity) where !attribute.isTransient && !attribute.isDerived {
      guard let column = destinationSchema.column(of: attribute.name, in: entity).map({ "t.\(quoted($0))" }) else {
        continue
      }
      if !attribute.isOptional {
        rules.append(
          .init(
            condition: "\(column) IS NULL", message: "attribute '\(attribute.name)' is required and is nil",
            readsHeaderOnly: true))
      }
      let builder = StatementBuilder()
      func literal(_ value: AttributeValue) -> String? {
        switch try? SQLValue(encoding: value, as: attribute) {
        case .integer(let number): return builder.bind(.integer(number))
        case .real(let number): return number.isFinite ? "\(number)" : nil
        default: return nil
        }
      }
      if let low = attribute.minimumValue.flatMap(literal) {
        rules.append(
          .init(condition: "\(column) < \(low)", message: "attribute '\(attribute.name)' is below its minimum \(low)"))
      }
      if let high = attribute.maximumValue.flatMap(literal) {
        rules.append(
          .init(condition: "\(column) > \(high)", message: "attribute '\(attribute.name)' is above its maximum \(high)")
        )
      }
      if let low = attribute.minimumLength {
        rules.append(
          .init(
            condition: "godwit_length(\(column)) < \(low)",
            message: "attribute '\(attribute.name)' is shorter than \(low)"))
      }
      if let high = attribute.maximumLength {
        rules.append(
          .init(
            condition: "godwit_length(\(column)) > \(high)",
            message: "attribute '\(attribute.name)' is longer than \(high)"))
      }
      if let pattern = attribute.regularExpression {
        patterns.append(pattern)
        rules.append(
          .init(
            condition: "NOT godwit_matches(\(patterns.count - 1), \(column))",
            message: "attribute '\(attribute.name)' does not match its regular expression"))
      }
    }
    for relationship in model.relationships(of: entity) where !relationship.isTransient {
      if let rule = countRule(relationship, of: entity) { rules.append(rule) }
    }
    return rules
  }

  private func countRule(_ relationship: RelationshipDescription, of entity: String) -> ValidationRule? {
    let name = relationship.name
    let count: String
    switch destinationSchema.storage(of: name, in: entity) {
    case .foreignKey(_, let column, _, _):
      guard !relationship.isOptional else { return nil }
      return .init(
        condition: "t.\(quoted(column)) IS NULL", message: "relationship '\(name)' is required and is nil",
        readsHeaderOnly: true)
    case .inverse(let table, let column, _, _):
      count = "(SELECT COUNT(*) FROM main.\(quoted(table)) AS c WHERE c.\(quoted(column)) = t.Z_PK)"
    case .join(let join, let subject, _, _):
      count = "(SELECT COUNT(*) FROM main.\(quoted(join.name)) AS c WHERE c.\(quoted(subject)) = t.Z_PK)"
    case .none: return nil
    }
    let low = relationship.isToMany ? max(0, relationship.minCount) : relationship.isOptional ? 0 : 1
    let high = relationship.maxCount > 0 ? relationship.maxCount : nil
    let mayBeEmpty = relationship.isOptional || low == 0
    guard low > (mayBeEmpty ? 1 : 0) || high != nil else { return nil }
    let limits = high.map { low > 0 ? "\(low) to \($0)" : "at most \($0)" } ?? "at least \(low)"
    let outside = high.map { "NOT BETWEEN \(low) AND \($0)" } ?? "< \(low)"
    let condition = mayBeEmpty ? "\(count) > 0 AND \(count) \(outside)" : "\(count) \(outside)"
    return .init(
      condition: "(\(condition))", message: "relationship '\(name)' must lead to \(limits) objects")
  }

  /// The first rows of a destination entity that break a rule: key, number of the rule.
  func validate(entity: String, rules: [ValidationRule], database: String = "main") throws -> String {
    let table = try destinationTable(of: entity).name
    let cases = rules.enumerated().map { "WHEN \($1.condition) THEN \($0)" }.joined(separator: " ")
    let condition = destinationSchema.isObject(of: [entity], row: "t").further
    return
      "SELECT Z_PK, broken FROM (SELECT t.Z_PK, CASE \(cases) END AS broken FROM \(database).\(quoted(table)) AS t WHERE t.Z_PK BETWEEN ?1 AND ?2\(condition)) WHERE broken IS NOT NULL"
  }
}
