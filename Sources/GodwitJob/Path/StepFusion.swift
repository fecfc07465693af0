import GodwitModel

/// Whether two inferred steps in a row come to the same as the one that is inferred from the first model to the last.
///
/// It compares models, no data: what it lets through holds for every store, also for one whose rows break rules. So it
/// asks for more than equal mappings. Whatever the first step reads must arrive, since a value of the wrong type stops
/// a run where it is read; and every rule of the model between must be one of the last model's, since its rows are
/// validated. A doubtful pair of steps stays apart.
package struct StepFusion {
  /// The decision on two steps.
  package enum Outcome {
    case fused(MigrationStep)
    /// Why they are not one.
    case apart(String)
  }

  /// The mappings of one entity along both steps and directly.
  struct Chain {
    let early, late, direct: EntityMapping
    /// The entity in the first model, between, and in the last.
    let first, between, last: String
  }

  let first, between, last: ManagedObjectModel
  let early, late: ModelPairing
  let chains: [Chain]
  private let earlyMappings, lateMappings, directMappings: [String: EntityMapping]

  /// Fuses two steps, the second of which reads what the first one made.
  ///
  /// - Returns: nil when one of them is not inferred, and so nothing is to be said.
  package static func outcome(_ first: MigrationStep, _ second: MigrationStep) -> Outcome? {
    guard first.isAsInferred, second.isAsInferred else { return nil }
    let hooks = [first.willMigrate, first.didMigrate, second.willMigrate, second.didMigrate].compactMap(\.self)
    if let hook = hooks.first { return .apart("the hook '\(hook.identity)' runs before or after them") }
    let (from, to) = (first.sourceModel, second.destinationModel)
    let inference = MappingInference(from: from, to: to)
    guard let direct = try? inference.mappingModel() else {
      let reason = inference.refusals.first.map { ": \($0)" } ?? ""
      return .apart("'\(from.name)' to '\(to.name)' cannot be inferred\(reason)")
    }
    let fusion = StepFusion(first, second, direct: direct)
    if let difference = fusion.difference { return .apart(difference) }
    var step = MigrationStep(
      sourceModel: from, destinationModel: to, mappingModels: [direct], origin: MigrationStep.inferredOrigin)
    step.passedVersions = first.passedVersions + [fusion.between.name] + second.passedVersions
    return .fused(step)
  }

  private init(_ first: MigrationStep, _ second: MigrationStep, direct: MappingModel) {
    (self.first, between, last) = (first.sourceModel, first.destinationModel, second.destinationModel)
    early = ModelPairing(from: first.sourceModel, to: first.destinationModel)
    late = ModelPairing(from: first.destinationModel, to: second.destinationModel)
    func byDestination(_ mappings: [EntityMapping]) -> [String: EntityMapping] {
      Dictionary(
        mappings.compactMap { mapping in
          mapping.sourceEntityName == nil ? nil : mapping.destinationEntityName.map { ($0, mapping) }
        }, uniquingKeysWith: { first, _ in first })
    }
    earlyMappings = byDestination(first.mappingModels.flatMap(\.entityMappings))
    lateMappings = byDestination(second.mappingModels.flatMap(\.entityMappings))
    directMappings = byDestination(direct.entityMappings)
    chains = second.destinationModel.entities.compactMap { [earlyMappings, lateMappings, directMappings] entity in
      guard let late = lateMappings[entity.name], let name = late.sourceEntityName, let early = earlyMappings[name],
        let origin = early.sourceEntityName, let direct = directMappings[entity.name]
      else { return nil }
      return Chain(early: early, late: late, direct: direct, first: origin, between: name, last: entity.name)
    }
  }

  /// The first thing in which the two ways may differ; nil when they are equal.
  private var difference: String? {
    entityDifference ?? counterDifference
      ?? chains.lazy.compactMap { attributeDifference($0) ?? relationshipDifference($0) }.first
      ?? constraintDifference ?? derivationDifference ?? indexDifference
  }

  // MARK: Entities

  private var entityDifference: String? {
    for entity in last.entities {
      let through = lateMappings[entity.name]?.sourceEntityName.flatMap { earlyMappings[$0]?.sourceEntityName }
      let direct = directMappings[entity.name]?.sourceEntityName
      guard through != direct else { continue }
      func objects(_ name: String?) -> String { name.map { "takes the objects of '\($0)'" } ?? "is new" }
      return "'\(entity.name)' \(objects(direct)) directly, and \(objects(through)) through '\(between.name)'"
    }
    let carried = Set(chains.map(\.between))
    if let gone = between.entities.first(where: { earlyMappings[$0.name] != nil && !carried.contains($0.name) }) {
      return "the objects of '\(gone.name)' pass through '\(between.name)' and are gone in '\(last.name)'"
    }
    return nil
  }

  /// A table's counter is that of the tables its objects came from, which the table between may have had from others.
  private var counterDifference: String? {
    for root in last.rootEntities {
      let family = last.family(of: root.name).map(\.name)
      let direct = family.compactMap { directMappings[$0]?.sourceEntityName }.compactMap { first.root(of: $0)?.name }
      let tables = family.compactMap { lateMappings[$0]?.sourceEntityName }.compactMap { between.root(of: $0)?.name }
      let through = Set(tables).flatMap { between.family(of: $0).map(\.name) }
        .compactMap { earlyMappings[$0]?.sourceEntityName }.compactMap { first.root(of: $0)?.name }
      if Set(direct) != Set(through) { return "'\(root.name)' would number its objects differently" }
    }
    return nil
  }

  // MARK: Constraints, derivations, indexes

  private var constraintDifference: String? {
    for entity in between.entities {
      let members = Set(between.family(of: entity.name).map(\.name))
      let held = chains.filter { members.contains($0.between) }
      guard let sample = held.first else { continue }
      for constraint in entity.uniquenessConstraints {
        let wanted = Set(constraint.map { successor(of: $0, in: sample) })
        let isKept =
          late.newName(of: entity.name).map { successor in
            held.allSatisfy { last.isKind($0.last, of: successor) }
              && last.entity(successor)?.uniquenessConstraints.contains { Set($0) == wanted } == true
          } ?? false
        guard !isKept else { continue }
        let names = constraint.joined(separator: ", ")
        return "'\(entity.name)' is unique by \(names) in '\(between.name)', but not in '\(last.name)'"
      }
    }
    return nil
  }

  /// The name in the last model of a property between; nil when it has no successor.
  private func successor(of property: String, in chain: Chain) -> String? {
    // A derived attribute has no mapping; whether it stays the same is asked by itself.
    if between.attribute(property, of: chain.between)?.isDerived == true { return property }
    return chain.late.attributeMappings.first { chain.late.sourceAttribute(of: $0.name)?.name == property }?.name
      ?? chain.late.relationshipMappings.first { chain.late.sourceRelationship(of: $0.name) == property }?.name
  }

  /// Names and the store before decide how a store's triggers are spelt.
  private var derivationDifference: String? {
    func derivations(_ model: ManagedObjectModel) -> Set<String> {
      Set(
        model.entities.flatMap { entity in
          entity.attributes.compactMap { attribute in
            attribute.derivationExpression.map { "\(entity.name).\(attribute.name) = \($0)" }
          }
        })
    }
    let (a, b, c) = (derivations(first), derivations(between), derivations(last))
    guard !(a.isEmpty && b.isEmpty && c.isEmpty) else { return nil }
    guard b.isSubset(of: c), a.intersection(c).isSubset(of: b) else {
      return "a derived attribute of '\(between.name)' differs in '\(last.name)'"
    }
    for chain in chains {
      guard chain.first == chain.between, chain.between == chain.last, !chain.renamesProperties else {
        return "'\(chain.last)' or a property of it is renamed beside derived attributes"
      }
    }
    guard b.isEmpty || !chains.contains(where: losesLinks) else {
      return "links are dropped that a derived attribute of '\(between.name)' reads"
    }
    return nil
  }

  private var indexDifference: String? {
    for entity in between.entities {
      for index in entity.fetchIndexes {
        let isPlain =
          index.partialPredicateText == nil
          && index.elements.allSatisfy { $0.propertyName != nil && $0.expressionText == nil && !$0.isRTree }
        guard !isPlain, last.entity(entity.name)?.fetchIndexes.contains(index) != true else { continue }
        return "index '\(index.name)' of '\(entity.name)' in '\(between.name)' is not in '\(last.name)'"
      }
    }
    return nil
  }
}

extension MigrationStep {
  /// Whether the mappings are those that inference gives, whatever their origin.
  fileprivate var isAsInferred: Bool {
    // A fused step was inferred a moment ago.
    guard passedVersions.isEmpty else { return true }
    guard origin == nil || isInferred,
      let inferred = try? MappingModel(inferredFrom: sourceModel, to: destinationModel)
    else { return false }
    return MigrationJob.canonicalText(of: mappingModels) == MigrationJob.canonicalText(of: [inferred])
  }
}

extension StepFusion.Chain {
  fileprivate var renamesProperties: Bool {
    [early, late].contains { mapping in
      mapping.attributeMappings.contains { mapping.sourceAttribute(of: $0.name)?.name != $0.name }
        || mapping.relationshipMappings.contains { mapping.sourceRelationship(of: $0.name) != $0.name }
    }
  }
}

extension EntityMapping {
  /// The source attribute that an inferred mapping copies, and whether nil becomes the default; nil when it has none.
  func sourceAttribute(of name: String) -> (name: String, usesDefault: Bool)? {
    guard let mapping = attributeMappings.first(where: { $0.name == name }),
      case .keyPath(_, let segments) = mapping.value.node, let source = segments.first
    else { return nil }
    return (source, mapping.usesDefaultForNil)
  }

  /// The source relationship whose links an inferred mapping carries; nil when it has none.
  func sourceRelationship(of name: String) -> String? {
    guard case .sourceRelationship(let source)? = relationshipMappings.first(where: { $0.name == name })?.value
    else { return nil }
    return source
  }
}
