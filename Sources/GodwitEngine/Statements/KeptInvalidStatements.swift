import GodwitJob
import GodwitModel
import GodwitStore

/// The rules of the source model for copied values. They show which objects were invalid before.
struct KeptInvalidStatements: StageStatements {
  let step: StepProgram

  /// The excuse of objects that break one rule of the destination: they broke the rule of the same kind before.
  struct Excuse {
    /// The destination's property.
    var property: String
    var kind: ValidationRule.Kind
    /// Holds for a source row `s` that breaks the rule of its own model.
    var condition: String

    func excuses(_ rule: ValidationRule) -> Bool { property == rule.property && kind == rule.kind }
  }

  /// The excuses of a mapping's objects.
  ///
  /// - Parameter patterns: Regular expressions, which the conditions name by number.
  func excuses(of mapping: ResolvedEntityMapping, patterns: inout [ValidationPattern]) -> [Excuse] {
    var excuses: [Excuse] = []
    let source = mapping.source.name
    for (attribute, value) in mapping.attributes where !attribute.isTransient && !attribute.isDerived {
      guard let name = copiedName(value), let column = sourceSchema.column(of: name, in: source) else { continue }
      excuses += self.excuses(
        attribute, from: value, in: mapping, value: "s.\(quoted(column))", patterns: &patterns)
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
      excuses.append(
        Excuse(property: link.relationship.name, kind: rule.kind, condition: rule.condition))
    }
    return excuses
  }

  /// The excuses of a copied attribute; none for one that is computed.
  ///
  /// - Parameter value: The value of the source as SQL.
  func excuses(
    _ attribute: AttributeDescription, from source: ResolvedEntityMapping.AttributeSource,
    in mapping: ResolvedEntityMapping, value: String, patterns: inout [ValidationPattern]
  ) -> [Excuse] {
    guard let name = copiedName(source), let from = resolved.sourceModel.attribute(name, of: mapping.source.name) else {
      return []
    }
    return step.validation.rules(
      of: from, in: mapping.source.name, resolved.sourceModel, column: value, patterns: &patterns
    ).map { Excuse(property: attribute.name, kind: $0.kind, condition: $0.condition) }
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

  /// Finds the entries of `godwit_kept` (key `d`, number of the rule `rule`) whose object broke the rule of the same kind
  /// of its own model.
  func tolerated(
    _ mapping: ResolvedEntityMapping, rules: [ValidationRule], patterns: inout [ValidationPattern]
  ) throws -> ChunkStatement? {
    let excuses = excuses(of: mapping, patterns: &patterns)
    let cases = rules.indices.compactMap { number in
      excuses.first { $0.excuses(rules[number]) }.map { "(k.rule = \(number) AND \($0.condition))" }
    }
    guard !cases.isEmpty else { return nil }
    let builder = StatementBuilder()
    let makers = try associations(builder).makers(mapping.index, of: "godwit_kept", as: "k")
    return ChunkStatement(
      sql: "SELECT k.d, k.rule \(makers) AND (\(cases.joinedEvenly(by: " OR ")))", builder: builder)
  }
}
