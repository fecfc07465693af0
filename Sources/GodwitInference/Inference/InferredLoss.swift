package import GodwitModel

/// The data that a single inferred step loses and a migration through the versions between would keep.
///
/// A renaming identifier may name only the previous name and no earlier one. Then only the versions between show how a
/// property was renamed.
package enum InferredLoss {
  package struct Name: Hashable, Comparable {
    var entity: String
    /// Empty for the entity itself.
    var property: String

    package init(entity: String, property: String = "") { (self.entity, self.property) = (entity, property) }

    var description: String { property.isEmpty ? entity : "\(entity).\(property)" }
    package static func < (a: Name, b: Name) -> Bool { (a.entity, a.property) < (b.entity, b.property) }
  }

  /// Entities and `Entity.property` of the first version whose data single steps keep and one step over all versions
  /// loses.
  ///
  /// - Parameter versions: The first is the source of the step, the last its destination.
  /// - Returns: Their names in order. For a lost entity, its properties are not listed. Empty if a step between two
  ///   versions cannot be inferred.
  package static func keptThrough(_ versions: [ManagedObjectModel], cache: InferenceCache? = nil) -> [String] {
    guard versions.count > 2, let first = versions.first, let last = versions.last else { return [] }
    let direct = carried(from: first, to: last)
    let all = names(of: first)
    // A step without a loss needs no look at the versions between.
    guard all.contains(where: { direct[$0] == nil }) else { return [] }
    var way = Dictionary(uniqueKeysWithValues: all.map { ($0, $0) })
    for (before, after) in zip(versions, versions.dropFirst()) {
      let refusals = cache?.refusals(from: before, to: after) ?? MappingInference.refusals(from: before, to: after)
      guard refusals.isEmpty else { return [] }
      let hop = cache?.hop(from: before, to: after) ?? carried(from: before, to: after)
      way = way.compactMapValues { hop[$0] }
    }
    let kept = way.keys.filter { direct[$0] == nil }
    let entities = Set(kept.filter(\.property.isEmpty).map(\.entity))
    return kept.filter { $0.property.isEmpty || !entities.contains($0.entity) }.sorted().map(\.description)
  }

  /// Whether a single inferred step loses part of its source.
  package static func losesNames(from source: ManagedObjectModel, to destination: ManagedObjectModel) -> Bool {
    let direct = carried(from: source, to: destination)
    return names(of: source).contains { direct[$0] == nil }
  }

  /// The part of the smaller of two models that an inferred step carries over: of its properties, or of its entities if
  /// it has no properties.
  package static func resemblance(
    of source: ManagedObjectModel, to destination: ManagedObjectModel
  ) -> (carried: Int, whole: Int) {
    let (before, after) = (names(of: source), names(of: destination))
    let direct = carried(from: source, to: destination)
    func count(_ names: [Name], isProperty: Bool) -> Int { names.count { $0.property.isEmpty != isProperty } }
    let properties = min(count(before, isProperty: true), count(after, isProperty: true))
    let taken = before.filter { direct[$0] != nil }
    guard properties > 0 else {
      let entities = min(count(before, isProperty: false), count(after, isProperty: false))
      return (min(entities, count(taken, isProperty: false)), entities)
    }
    return (min(properties, count(taken, isProperty: true)), properties)
  }

  /// Entities that have objects, and their properties.
  private static func names(of model: ManagedObjectModel) -> [Name] {
    model.entities.filter { !$0.isAbstract }.flatMap { entity -> [Name] in
      let attributes = model.attributes(of: entity.name).filter { !$0.isTransient && !$0.isDerived }.map(\.name)
      let relationships = model.relationships(of: entity.name).filter(model.isStored).map(\.name)
      let properties = (attributes + relationships).map { Name(entity: entity.name, property: $0) }
      return [Name(entity: entity.name)] + properties
    }
  }

  /// The names that a single inferred step carries over, by their names before it. Values of a property that becomes transient are lost.
  package static func carried(
    from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) -> [Name: Name] {
    let pairing = ModelPairing(from: source, to: destination)
    var carried: [Name: Name] = [:]
    for case (let before?, let after?) in pairing.entities {
      carried[Name(entity: before.name)] = Name(entity: after.name)
      let isSame = pairing.isSame(before, after)
      for property in ModelPairing.Property.all(of: after.name, in: destination) {
        switch property {
        case .attribute(let attribute) where attribute.isTransient: continue
        case .relationship(let relationship) where !destination.isStored(relationship): continue
        default: break
        }
        let origin = isSame ? property : pairing.origin(of: property, in: after.name, from: before.name)
        guard let origin else { continue }
        carried[Name(entity: before.name, property: origin.name)] = Name(entity: after.name, property: property.name)
      }
    }
    return carried
  }
}
