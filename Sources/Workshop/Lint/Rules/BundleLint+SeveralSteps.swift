import GodwitEngine
import GodwitJob
import GodwitModel

/// Stands for a policy that the application registers.
private struct PlaceholderPolicy: EntityMigrationPolicy {}

/// Paths of several steps, in place of which Core Data takes one.
extension BundleLint {
  typealias Name = InferredLoss.Name

  /// The mappings of a step, with stand-ins for its policies.
  static func resolved(_ step: MigrationStep) throws -> ResolvedMapping {
    // The caller of the job registers the policies. The rest of the mapping model is checked.
    var policies = PolicyRegistry()
    for name in step.mappingModels.flatMap(\.entityMappings).compactMap(\.policyName) {
      policies.register(name, PlaceholderPolicy())
    }
    return try ResolvedMapping(
      step.mappingModels, from: step.sourceModel, to: step.destinationModel, policies: policies)
  }

  mutating func reportSeveralSteps(_ models: [ManagedObjectModel], to target: ManagedObjectModel) {
    var harmless: [(model: ManagedObjectModel, through: String)] = []
    for model in models {
      guard case .success(let steps)? = ways[model.name], steps.count > 1 else { continue }
      let through = steps.dropLast().map { "'\($0.destinationModel.name)'" }.joined(separator: ", ")
      let lost = lostDirectly(from: model, to: target, steps)
      guard !lost.isEmpty else {
        harmless.append((model, through))
        continue
      }
      let list = lost.prefix(4).joined(separator: ", ") + (lost.count > 4 ? " and \(lost.count - 4) more" : "")
      add(
        .severalSteps, model.name, at: bundle.index(target.name).start,
        "from '\(model.name)' to '\(target.name)' Core Data's automatic migration infers one step, which loses what the path through \(through) keeps: \(list)",
        try:
          "migrate step by step in the application, or add a mapping model from '\(model.name)' to '\(target.name)'")
    }
    guard let newest = harmless.last else { return }
    let names = harmless.suffix(4).map { "'\($0.model.name)'" }.joined(separator: ", ")
    let more = harmless.count > 4 ? " and \(harmless.count - 4) older ones" : ""
    add(
      .severalSteps, severity: .note, newest.model.name, at: bundle.index(target.name).start,
      "from \(names)\(more) the path to '\(target.name)' has several steps (from '\(newest.model.name)' through \(newest.through)), and Core Data's automatic migration makes one"
    )
  }

  /// The names that a path of several steps keeps and one inferred step loses; empty if that step cannot be inferred.
  private func lostDirectly(
    from model: ManagedObjectModel, to target: ManagedObjectModel, _ steps: [MigrationStep]
  ) -> [String] {
    guard cache.refusals(from: model, to: target).isEmpty else { return [] }
    let direct = InferredLoss.carried(from: model, to: target)
    let lost = InferredLoss.names(of: model).filter { direct[$0] == nil }
    guard !lost.isEmpty else { return [] }
    let ways = steps.map(StepWay.init)
    let kept = lost.filter { name in
      var places: Set<Name> = [name]
      for way in ways {
        if !places.isDisjoint(with: way.consumed) { return true }
        places = Set(places.flatMap { way.carried[$0] ?? [] })
      }
      return !places.isEmpty
    }
    let entities = Set(kept.filter(\.property.isEmpty).map(\.entity))
    return kept.filter { $0.property.isEmpty || !entities.contains($0.entity) }.sorted().map(\.description)
  }

  /// Where a step puts the data of its source.
  private struct StepWay {
    var carried: [Name: Set<Name>] = [:]
    /// Names that an expression or a policy reads, and so keeps in some form.
    var consumed: Set<Name> = []

    init(_ step: MigrationStep) {
      guard !step.isInferred, let resolved = try? BundleLint.resolved(step) else {
        carried = InferredLoss.carried(from: step.sourceModel, to: step.destinationModel).mapValues { [$0] }
        return
      }
      let reads = PropertyReads(resolved)
      for mapping in resolved.entityMappings {
        let source = mapping.source.name
        func name(_ property: String = "") -> Name { Name(entity: source, property: property) }
        func carry(_ was: String, _ now: String) {
          carried[name(was), default: []].insert(Name(entity: mapping.destination.name, property: now))
        }
        carry("", "")
        if let pair = resolved.sourceModel.pairEntity(source) {
          consumed.insert(Name(entity: pair.sourceEntityName, property: pair.relationshipName))
        }
        for (attribute, value) in mapping.attributes {
          if case .copy(let name) = value.withoutDefault { carry(name, attribute.name) }
        }
        for link in mapping.relationships {
          guard let first = link.path.first?.relationship.name else { continue }
          if link.path.count == 1 { carry(first, link.relationship.name) } else { consumed.insert(name(first)) }
        }
        let hasPolicy = mapping.mapping.policyName != nil
        if hasPolicy { consumed.formUnion(InferredLoss.names(of: step.sourceModel).filter { $0.entity == source }) }
        for attribute in step.sourceModel.attributes(of: source)
        where carried[name(attribute.name)] == nil && reads.isRead(attribute.name, of: source) {
          consumed.insert(name(attribute.name))
        }
      }
    }
  }
}
