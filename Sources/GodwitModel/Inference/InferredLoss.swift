/// The data that a single inferred step loses, or puts elsewhere than a migration through the versions between.
///
/// A later version may lack a renaming identifier, or have another one. Then only the versions between show how a
/// property was renamed.
package enum InferredLoss {
  package struct Name: Sendable, Hashable, Comparable, CustomStringConvertible {
    package var entity: String
    /// Empty for the entity itself.
    package var property: String

    package init(entity: String, property: String = "") { (self.entity, self.property) = (entity, property) }

    package var description: String { property.isEmpty ? entity : "\(entity).\(property)" }
    package static func < (a: Name, b: Name) -> Bool { (a.entity, a.property) < (b.entity, b.property) }
  }

  /// Data of the first version that one step over all versions puts elsewhere than steps from version to version.
  package struct Difference: Sendable, Hashable {
    /// The entity, or `Entity.property`, in the first version.
    package let name: String
    /// Where the steps put it, in the last version.
    package let through: Name
    /// Where the single step puts it; nil if it is lost.
    package let direct: Name?

    package init(name: String, through: Name, direct: Name?) {
      (self.name, self.through, self.direct) = (name, through, direct)
    }
  }

  /// The parts of the first version that one inferred step over all versions loses or puts elsewhere.
  ///
  /// - Parameter versions: The first is the source of the step, the last its destination.
  /// - Returns: The names in order. For an entity, its properties are not listed. Empty if a step between two versions
  ///   cannot be inferred.
  package static func differences(
    through versions: [ManagedObjectModel], cache: InferenceCache = InferenceCache()
  ) -> [Difference] {
    guard versions.count > 2, let first = versions.first, let last = versions.last else { return [] }
    let direct = carried(from: first, to: last)
    guard isDoubtful(direct, first, last), let way = cache.way(through: versions) else { return [] }
    let found = names(of: first).filter { name in way[name].map { $0 != direct[name] } ?? false }
    let entities = Set(found.filter(\.property.isEmpty).map(\.entity))
    return found.filter { $0.property.isEmpty || !entities.contains($0.entity) }.sorted().compactMap { name in
      way[name].map { Difference(name: name.description, through: $0, direct: direct[name]) }
    }
  }

  /// Whether a single inferred step loses part of its source, or has a property that takes nothing, so that the
  /// versions between may tell of a rename.
  package static func isDoubtful(from source: ManagedObjectModel, to destination: ManagedObjectModel) -> Bool {
    isDoubtful(carried(from: source, to: destination), source, destination)
  }

  private static func isDoubtful(
    _ carried: [Name: Name], _ source: ManagedObjectModel, _ destination: ManagedObjectModel
  ) -> Bool {
    let filled = Set(carried.values)
    return names(of: source).contains { carried[$0] == nil }
      || names(of: destination).contains { !filled.contains($0) && filled.contains(Name(entity: $0.entity)) }
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
  package static func names(of model: ManagedObjectModel) -> [Name] {
    model.entities.filter { !$0.isAbstract }.flatMap { entity -> [Name] in
      let attributes = model.attributes(of: entity.name).filter { !$0.isTransient && !$0.isDerived }.map(\.name)
      let relationships = model.relationships(of: entity.name).filter(model.isStored).map(\.name)
      let properties = (attributes + relationships).map { Name(entity: entity.name, property: $0) }
      return [Name(entity: entity.name)] + properties
    }
  }

  /// The names that a single inferred step carries over, by their names before it. Values of a property that becomes transient are lost.
  ///
  /// - Parameter followsIntent: Whether a name goes where an identifier that Core Data does not match points.
  package static func carried(
    from source: ManagedObjectModel, to destination: ManagedObjectModel, followsIntent: Bool = false
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
    guard followsIntent else { return carried }
    for contradiction in pairing.contradictions {
      guard case .namesRenamed(let name, _) = contradiction.doubt else { continue }
      let was = contradiction.property.map { _ in pairing.oldName(of: contradiction.entity) } ?? name
      guard let was else { continue }
      let before = Name(entity: was, property: contradiction.property == nil ? "" : name)
      guard carried[before] == nil else { continue }
      carried[before] = Name(entity: contradiction.entity, property: contradiction.property ?? "")
    }
    return carried
  }
}
