package import GodwitJob
import GodwitModel
import GodwitStore

/// Derived attributes of one entity that are computed together.
package struct DerivationRule: Numbered {
  package typealias NumberKind = NumberedDerivation

  package var entityName: String
  var statement: ChunkStatement
}

/// The statements that compute derived attributes.
package struct DerivationStatements: StageStatements {
  package let step: StepProgram

  /// One statement for each entity that a mapping makes and each level. An attribute that is derived from a derived
  /// attribute comes after it.
  ///
  /// - Throws: `.configuration` (78) when no rule covers a derivation, or derivations run in a circle.
  package func rules() throws -> [DerivationRule] { try step.kept.derivationRules(Once()) { try list() } }

  private func list() throws -> [DerivationRule] {
    let model = resolved.destinationModel
    let made = Set(step.madeEntityNames)
    var rules: [(level: Int, rule: DerivationRule)] = []
    for entity in model.entities where made.contains(entity.name) {
      var levels: [Int: [(AttributeDescription, Derivation)]] = [:]
      for attribute in model.attributes(of: entity.name) where attribute.isDerived && !attribute.isTransient {
        let derivation = try Derivation(of: attribute, in: entity.name, model: model)
        levels[try level(of: attribute.name, in: entity.name, within: []), default: []].append((attribute, derivation))
      }
      for (level, derived) in levels { rules.append((level, try rule(entity.name, derived))) }
    }
    return rules.enumerated().sorted { ($0.element.level, $0.offset) < ($1.element.level, $1.offset) }.map(
      \.element.rule)
  }

  /// How many derived attributes stand behind a derived attribute, one behind the other.
  private func level(of attribute: String, in entity: String, within circle: [String]) throws -> Int {
    let model = resolved.destinationModel
    guard let described = model.attribute(attribute, of: entity), described.isDerived else { return -1 }
    let name = "\(entity).\(attribute)"
    guard !circle.contains(name) else {
      throw GodwitError(
        .configuration, "cannot compute the derived attribute '\(name)': it is derived from itself",
        remedy: "correct the destination model")
    }
    let derivation = try Derivation(of: described, in: entity, model: model)
    let from: String
    switch derivation.kind {
    case .now, .count: return 0
    case .value(let attribute, _), .sum(let attribute): from = attribute.name
    }
    return try model.family(of: derivation.reachedEntityName).reduce(0) { highest, reached in
      max(highest, try level(of: from, in: reached.name, within: circle + [name]) + 1)
    }
  }

  private func rule(_ entity: String, _ derived: [(AttributeDescription, Derivation)]) throws -> DerivationRule {
    let builder = StatementBuilder()
    var sets: [String] = []
    for (attribute, derivation) in derived {
      guard let column = destinationSchema.column(of: attribute.name, in: entity) else { continue }
      var place = ReadingSite(
        entityName: entity, propertyName: attribute.name, expected: attribute.type.phrase,
        cause: attribute.derivationExpression, action: "store")
      if case .value(_, nil) = derivation.kind { place.takesLowest = true }
      let site = builder.site(place)
      let value = try sql(derivation, of: attribute, in: entity, builder: builder)
      sets.append("\(quoted(column)) = godwit_fit(\(value), \(attribute.type.rawValue), \(site), t.Z_PK)")
    }
    let table = try destinationTable(of: entity).name
    let condition = destinationSchema.isObject(of: [entity], row: "t").further
    return DerivationRule(
      entityName: entity,
      statement: ChunkStatement(
        sql:
          "UPDATE main.\(quoted(table)) AS t SET \(sets.joined(separator: ", ")) WHERE t.Z_PK BETWEEN ?1 AND ?2\(condition)",
        builder: builder))
  }

  /// The value for the destination row `t`.
  private func sql(
    _ derivation: Derivation, of attribute: AttributeDescription, in entity: String, builder: StatementBuilder
  ) throws -> String {
    var chain = RelationshipJoinPath(
      row: .init(alias: "t", entityName: entity), schema: destinationSchema, database: "main", builder: builder)
    do {
      for relationship in derivation.path { try chain.follow(relationship.name) }
      switch derivation.kind {
      case .now: return builder.bind(.real(facts.now))
      case .count: return chain.scalar("COUNT(\(chain.key))")
      case .value(let from, let function):
        let read = try column(from, in: chain.loadedRow())
        guard let function, let number = Derivation.Function.allCases.firstIndex(of: function) else {
          return chain.scalar(read)
        }
        return "godwit_derive(\(number), \(chain.scalar(read)))"
      case .sum(let from):
        // Core Data counts nothing as 0, and so a sum over nothing. Infinity less infinity is nil.
        let summed = try column(from, in: chain.loadedRow())
        return chain.scalar("COALESCE(SUM(\(summed)), CASE WHEN COUNT(\(summed)) = 0 THEN 0 END)")
      }
    } catch let error as NotLowerable {
      throw GodwitError(
        .configuration,
        "cannot compute the derived attribute '\(entity).\(attribute.name)' from '\(attribute.derivationExpression ?? "")': \(error.reason)",
        remedy: "correct the destination model")
    }
  }

  private func column(_ attribute: AttributeDescription, in row: ExpressionLowering.Row) throws -> String {
    guard let column = destinationSchema.column(of: attribute.name, in: row.entityName) else {
      throw NotLowerable(reason: "'\(attribute.name)' is not stored")
    }
    return "\(row.alias).\(quoted(column))"
  }
}
