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

  /// A property of the source that a mapping copies. It belongs to the source object or, in a mapping with `for-each`, to
  /// the object at an end of the link.
  private struct Original {
    var entity: String
    var name: String
    /// The key of the object at the end, as SQL over the source row `s`; nil for the source object.
    var key: String?

    /// The row of the object, in SQL.
    var row: String { key == nil ? "s" : "e" }
  }

  /// The excuses of a mapping's objects.
  ///
  /// - Parameter patterns: Regular expressions, which the conditions name by number.
  func excuses(of mapping: ResolvedEntityMapping, patterns: inout [ValidationPattern]) -> [Excuse] {
    var excuses: [Excuse] = []
    for (attribute, value) in mapping.attributes where !attribute.isTransient && !attribute.isDerived {
      guard let original = original(of: value, in: mapping),
        let column = sourceSchema.column(of: original.name, in: original.entity)
      else { continue }
      excuses += self.excuses(
        attribute, from: value, in: mapping, value: "\(original.row).\(quoted(column))", patterns: &patterns
      ).map { excuse in
        var excuse = excuse
        excuse.condition = condition(excuse.condition, on: original)
        return excuse
      }
    }
    for link in mapping.relationships {
      guard let original = original(along: link.path.map(\.relationship.name), of: mapping),
        let from = resolved.sourceModel.relationship(original.name, of: original.entity)
      else { continue }
      let storage = sourceSchema.storage(of: from.name, in: original.entity)
      let database = StoreConnection.sourceSchema
      guard var rule = step.validation.countRule(from, storage: storage, database: database, row: original.row)
      else { continue }
      // Core Data reads a key without a target as nil.
      if case .foreignKey(_, let column, _, _) = storage,
        let table = sourceSchema.table(of: from.destinationEntityName)
      {
        rule.condition =
          "NOT EXISTS (SELECT 1 FROM \(database).\(quoted(table.name)) AS x WHERE x.Z_PK = \(original.row).\(quoted(column)))"
      }
      excuses.append(
        Excuse(property: link.relationship.name, kind: rule.kind, condition: condition(rule.condition, on: original)))
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
    guard let original = original(of: source, in: mapping),
      let from = resolved.sourceModel.attribute(original.name, of: original.entity)
    else { return [] }
    return step.validation.rules(
      of: from, in: original.entity, resolved.sourceModel, column: value, patterns: &patterns
    ).map { Excuse(property: attribute.name, kind: $0.kind, condition: $0.condition) }
  }

  /// A condition on the row of the original as a condition on the source row `s`.
  private func condition(_ condition: String, on original: Original) -> String {
    guard let key = original.key, let table = sourceSchema.table(of: original.entity) else { return condition }
    return
      "EXISTS (SELECT 1 FROM \(StoreConnection.sourceSchema).\(quoted(table.name)) AS e WHERE e.Z_PK = \(key) AND (\(condition)))"
  }

  private func original(
    of source: ResolvedEntityMapping.AttributeSource, in mapping: ResolvedEntityMapping
  ) -> Original? {
    switch source.withoutDefault {
    case .copy(let name): return Original(entity: mapping.source.name, name: name)
    case .expression(let parsed):
      guard case .keyPath(let base?, let segments) = parsed.node, case .variable("source") = base.node else {
        return nil
      }
      return original(along: segments, of: mapping)
    case .modelDefault, .defaultForNil: return nil
    }
  }

  /// The property at the end of a path of one name, or of a name after an end of a link.
  private func original(along path: [String], of mapping: ResolvedEntityMapping) -> Original? {
    let source = mapping.source.name
    if path.count == 1 { return Original(entity: source, name: path[0]) }
    guard path.count == 2, let pair = resolved.sourceModel.pairEntity(source),
      let end = PairEntity.End.allCases.first(where: { $0.toOne == path[0] }),
      case .foreignKey(_, let column, _, _) = sourceSchema.storage(of: end.toOne, in: source)
    else { return nil }
    return Original(entity: pair.entityName(of: end), name: path[1], key: "s.\(quoted(column))")
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
