import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitStore

/// The rules of the source model for copied values. They show which objects were invalid before.
struct KeptInvalidStatements: StageStatements {
  let step: StepProgram

  /// A property that a mapping copies, and a condition that holds for a source row `s` that breaks a rule about it.
  struct Pair {
    /// The destination's property.
    var property: String
    var condition: String
  }

  /// The properties of a mapping whose source has rules of its own.
  ///
  /// - Parameter patterns: Regular expressions, which the conditions name by number.
  func pairs(of mapping: ResolvedEntityMapping, patterns: inout [String]) -> [Pair] {
    var pairs: [Pair] = []
    let source = mapping.source.name
    for (attribute, value) in mapping.attributes where !attribute.isTransient && !attribute.isDerived {
      guard let name = copiedName(value), let from = resolved.sourceModel.attribute(name, of: source),
        let column = sourceSchema.column(of: name, in: source)
      else { continue }
      let rules = step.validation.rules(of: from, column: "s.\(quoted(column))", patterns: &patterns)
      if !rules.isEmpty { pairs.append(Pair(property: attribute.name, condition: Self.any(rules.map(\.condition)))) }
    }
    for link in mapping.relationships where link.path.count == 1 {
      let from = link.path[0]
      let storage = sourceSchema.storage(of: from.relationship.name, in: source)
      let database = StoreConnection.sourceSchema
      guard var rule = step.validation.countRule(from.relationship, storage: storage, database: database, row: "s")
      else { continue }
      // Core Data reads a key without a target as nil.
      if case .foreignKey(_, let column, _, _) = storage,
        let table = sourceSchema.table(of: from.relationship.destinationEntityName)
      {
        rule.condition =
          "NOT EXISTS (SELECT 1 FROM \(database).\(quoted(table.name)) AS x WHERE x.Z_PK = s.\(quoted(column)))"
      }
      pairs.append(Pair(property: link.relationship.name, condition: rule.condition))
    }
    return pairs
  }

  private func copiedName(_ source: ResolvedEntityMapping.AttributeSource) -> String? {
    switch source.withoutDefault {
    case .copy(let name): return name
    case .expression(let parsed):
      guard case .keyPath(let base?, let segments) = parsed.node, segments.count == 1,
        case .variable("source") = base.node
      else { return nil }
      return segments[0]
    case .modelDefault, .defaultForNil: return nil
    }
  }

  private static func any(_ conditions: [String]) -> String {
    "(" + conditions.map { "(\($0))" }.joinedEvenly(by: " OR ") + ")"
  }

  /// The condition that excuses a copied value which breaks a rule of its source attribute; nil if none does.
  func excuse(
    _ source: ResolvedEntityMapping.AttributeSource, in mapping: ResolvedEntityMapping, value: String,
    patterns: inout [String]
  ) -> String? {
    guard let name = copiedName(source), let from = resolved.sourceModel.attribute(name, of: mapping.source.name) else {
      return nil
    }
    let rules = step.validation.rules(of: from, column: value, patterns: &patterns)
    return rules.isEmpty ? nil : Self.any(rules.map(\.condition))
  }

  /// The objects that a mapping takes and that broke a rule of their own model about a property with a rule now: for the
  /// plan. One count for each property, in the order of `properties`.
  func counts(
    of mapping: ResolvedEntityMapping, patterns: inout [String]
  ) throws -> (statement: ChunkStatement, properties: [String])? {
    var unused: [String] = []
    let ruled = Set(step.validation.attributeRules(of: mapping.destination.name, patterns: &unused).map(\.property))
    let pairs = pairs(of: mapping, patterns: &patterns).filter { pair in
      if let relationship = resolved.destinationModel.relationship(pair.property, of: mapping.destination.name) {
        let storage = destinationSchema.storage(of: pair.property, in: mapping.destination.name)
        return step.validation.countRule(relationship, storage: storage) != nil
      }
      return ruled.contains(pair.property)
    }
    guard !pairs.isEmpty else { return nil }
    let builder = StatementBuilder()
    let association = associations(builder)
    let table = try association.table(mapping.index)
    let taken = association.matches(mapping.index, alias: "s").sql
    let counts = pairs.map { "COUNT(*) FILTER (WHERE \($0.condition))" }.joined(separator: ", ")
    return (
      ChunkStatement(sql: "SELECT \(counts) FROM \(table) AS s WHERE \(taken)", builder: builder),
      pairs.map(\.property)
    )
  }

  /// Finds the entries of `godwit_kept` (key `d`, number of the rule `rule`) whose object broke a rule of its own model
  /// about the same property.
  func tolerated(
    _ mapping: ResolvedEntityMapping, rules: [ValidationRule], patterns: inout [String]
  ) throws -> ChunkStatement? {
    let pairs = pairs(of: mapping, patterns: &patterns)
    let cases = rules.indices.compactMap { number in
      pairs.first { $0.property == rules[number].property }.map { "(k.rule = \(number) AND \($0.condition))" }
    }
    guard !cases.isEmpty else { return nil }
    let builder = StatementBuilder()
    let makers = try associations(builder).makers(mapping.index, of: "godwit_kept", as: "k")
    return ChunkStatement(
      sql: "SELECT k.d, k.rule \(makers) AND (\(cases.joinedEvenly(by: " OR ")))", builder: builder)
  }
}
