import GodwitModel
import GodwitStore

/// A rule of the destination model, as SQL that is true for a row `t` that breaks it.
package struct ValidationRule {
  /// The thing that a rule limits. A property has one rule of each kind; a regular expression is a kind of its own.
  enum Kind: Hashable {
    case required, minimum, maximum, shortest, longest, count
    case pattern(String)
  }

  var kind: Kind
  var condition: String
  /// The fault, for the message: `'name' is required and is nil`.
  var message: String
  /// Whether it only tests whether the row has a value.
  var readsHeaderOnly = false
  /// The attribute or relationship.
  var property = ""
}

/// The rules that a chunk of the validate stage runs.
package struct EntityValidation {
  package var rules: [ValidationRule]
  /// Regular expressions, which the rules name by number.
  var patterns: [ValidationPattern]
  /// Finds the first rows that break a rule: key, number of the rule.
  var sql: String
}

/// The statements that check objects against the destination model.
package struct ValidationStatements: StageStatements {
  package let step: StepProgram

  /// - Parameter database: Where the destination is read.
  /// - Throws: `.missingInput` (66) for a regular expression that does not compile.
  package func entity(_ name: String, database: String = "main") throws -> EntityValidation {
    try step.kept.validations("\(database) \(name)") {
      var patterns: [ValidationPattern] = []
      let rules = rules(of: name, patterns: &patterns)
      // The list of chunks asks for the rules before anything is written.
      for pattern in patterns { _ = try pattern.compiled() }
      return EntityValidation(
        rules: rules, patterns: patterns, sql: try statement(entity: name, rules: rules, database: database))
    }
  }

  /// The rules that rows of a destination entity must keep. `godwit_matches` gets patterns by number.
  private func rules(of entity: String, patterns: inout [ValidationPattern]) -> [ValidationRule] {
    var rules = attributeRules(of: entity, patterns: &patterns)
    for relationship in resolved.destinationModel.relationships(of: entity) where !relationship.isTransient {
      let storage = destinationSchema.storage(of: relationship.name, in: entity)
      if var rule = countRule(relationship, storage: storage) {
        rule.property = relationship.name
        rules.append(rule)
      }
    }
    return rules
  }

  /// The rules of single values.
  func attributeRules(of entity: String, patterns: inout [ValidationPattern]) -> [ValidationRule] {
    resolved.destinationModel.attributes(of: entity).filter { !$0.isTransient && !$0.isDerived }.flatMap { attribute in
      destinationSchema.column(of: attribute.name, in: entity)
        .map {
          rules(
            of: attribute, in: entity, resolved.destinationModel, column: "t.\(quoted($0))", patterns: &patterns)
        } ?? []
    }
  }

  /// The rules of an attribute of an entity of either model, for a value in `column`.
  func rules(
    of attribute: AttributeDescription, in entity: String, _ model: ManagedObjectModel, column: String,
    patterns: inout [ValidationPattern]
  ) -> [ValidationRule] {
    var rules: [ValidationRule] = []
    func add(_ kind: ValidationRule.Kind, _ condition: String, _ fault: String, readsHeaderOnly: Bool = false) {
      rules.append(
        ValidationRule(
          kind: kind, condition: condition, message: "attribute '\(attribute.name)' \(fault)",
          readsHeaderOnly: readsHeaderOnly,
          property: attribute.name))
    }
    if !attribute.isOptional { add(.required, "\(column) IS NULL", "is required and is nil", readsHeaderOnly: true) }
    let builder = StatementBuilder()
    func literal(_ value: AttributeValue) -> String? {
      switch try? SQLValue(encoding: value, as: attribute) {
      case .integer(let number): return builder.bind(.integer(number))
      case .real(let number): return number.isFinite ? "\(number)" : nil
      default: return nil
      }
    }
    if let low = attribute.minimumValue.flatMap(literal) {
      add(.minimum, "\(column) < \(low)", "is below its minimum \(low)")
    }
    if let high = attribute.maximumValue.flatMap(literal) {
      add(.maximum, "\(column) > \(high)", "is above its maximum \(high)")
    }
    if let low = attribute.minimumLength {
      add(.shortest, "godwit_length(\(column)) < \(low)", "is shorter than \(low)")
    }
    if let high = attribute.maximumLength {
      add(.longest, "godwit_length(\(column)) > \(high)", "is longer than \(high)")
    }
    if let pattern = attribute.regularExpression {
      patterns.append(ValidationPattern(pattern, of: attribute.name, in: entity, model))
      add(
        .pattern(pattern), "NOT godwit_matches(\(patterns.count - 1), \(column))",
        "does not match its regular expression")
    }
    return rules
  }

  /// How many objects a relationship may lead to.
  ///
  /// - Parameters:
  ///   - storage: Where the links are.
  ///   - row: The name of the object's row.
  func countRule(
    _ relationship: RelationshipDescription, storage: StoreSchema.RelationshipStorage, database: String = "main",
    row: String = "t"
  ) -> ValidationRule? {
    let name = relationship.name
    let count: String
    switch storage {
    case .foreignKey(_, let column, _, _):
      guard !relationship.isOptional else { return nil }
      return .init(
        kind: .count, condition: "\(row).\(quoted(column)) IS NULL",
        message: "relationship '\(name)' is required and is nil",
        readsHeaderOnly: true)
    case .inverse(let table, let column, _, _):
      count = "(SELECT COUNT(*) FROM \(database).\(quoted(table)) AS c WHERE c.\(quoted(column)) = \(row).Z_PK)"
    case .join(let join, let subject, _, _):
      count = "(SELECT COUNT(*) FROM \(database).\(quoted(join.name)) AS c WHERE c.\(quoted(subject)) = \(row).Z_PK)"
    case .none: return nil
    }
    return limitRule(relationship, count: count)
  }

  /// How many objects a relationship may lead to, where `count` is the SQL of how many it does.
  func limitRule(_ relationship: RelationshipDescription, count: String) -> ValidationRule? {
    let low = relationship.isToMany ? max(0, relationship.minCount) : relationship.isOptional ? 0 : 1
    let high = relationship.maxCount > 0 ? relationship.maxCount : nil
    let mayBeEmpty = relationship.isOptional || low == 0
    guard low > (mayBeEmpty ? 1 : 0) || high != nil else { return nil }
    let limits = high.map { low > 0 ? "\(low) to \($0)" : "at most \($0)" } ?? "at least \(low)"
    let outside = high.map { "NOT BETWEEN \(low) AND \($0)" } ?? "< \(low)"
    let condition = mayBeEmpty ? "\(count) > 0 AND \(count) \(outside)" : "\(count) \(outside)"
    return .init(
      kind: .count, condition: "(\(condition))",
      message: "relationship '\(relationship.name)' must lead to \(limits) objects")
  }

  /// The first rows of a destination entity that break a rule: key, number of the rule.
  private func statement(entity: String, rules: [ValidationRule], database: String) throws -> String {
    let table = try destinationTable(of: entity).name
    let cases = rules.enumerated().map { "WHEN \($1.condition) THEN \($0)" }.joined(separator: " ")
    let condition = destinationSchema.isObject(of: [entity], row: "t").further
    return
      "SELECT Z_PK, broken FROM (SELECT t.Z_PK, CASE \(cases) END AS broken FROM \(database).\(quoted(table)) AS t WHERE t.Z_PK BETWEEN ?1 AND ?2\(condition)) WHERE broken IS NOT NULL"
  }
}
