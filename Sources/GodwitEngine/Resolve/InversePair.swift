package import GodwitJob
package import GodwitModel
import GodwitStore

/// A relationship of the destination model together with its inverse: one thing stored, two sides set.
package struct InversePair: Numbered {
  package typealias NumberKind = NumberedLink

  /// Which end of the link an assignment sets. `first` is the end whose property name sorts first, so
  /// that comparing ends compares property names, as the assignment order demands.
  package enum End: Int {
    case first = 0
    case second = 1
  }

  package struct Side {
    /// The entity that declares the relationship, and the relationship seen from it.
    package var entityName: String
    package var relationship: RelationshipDescription
  }

  /// One mapping's assignment to one side.
  package struct Assignment {
    package var mapping: MappingID
    /// Index into the mapping's `relationships`.
    package var part: Int
    package var end: End
  }

  enum Storage {
    /// The key is in the row of the `holder` end's object; the other end is a to-many or nothing.
    case foreignKey(holder: End)
    /// Both ends hold a key.
    case oneToOne
    case join
  }

  package enum Strategy: String {
    /// Written with the object: one assignment a row, so nothing can displace it.
    case atCreation = "set at creation"
    /// Only the to-many end is mapped, and each holder has one owner: looked up from the holder.
    case fromInverse = "set at creation from the inverse"
    /// Join rows in the relationship stage.
    case pairs = "join rows"
    /// Gathered, then resolved in assignment order.
    case resolved = "resolved in assignment order"
  }

  package var first: Side
  /// nil for a relationship without inverse, or one that is its own inverse.
  var second: Side?
  var isOwnInverse: Bool
  var storage: Storage
  package var assignments: [Assignment] = []
  package var strategy = Strategy.resolved
  /// The end whose assignments are carried out; the other end's follow from them. nil: both.
  package var carriedEnd: End?
  /// In a step with policies, the end whose objects are written with the other's key until a policy sets the
  /// relationship; nil if the result depends on the order of assignments.
  var inlineEnd: End?

  package func side(_ end: End) -> Side? { end == .first ? first : second }
  /// The side whose rows store the link as a foreign key; nil for a join table.
  var foreignKeySide: Side? {
    guard case .foreignKey(let holder) = storage else { return nil }
    return side(holder)
  }
  func isToMany(_ end: End) -> Bool { side(end)?.relationship.isToMany ?? true }
}

extension InversePair {
  /// Groups the assignments of all mappings into links and chooses how each is carried out.
  static func links(of resolved: ResolvedMapping, schema: StoreSchema, facts: PlanFacts) throws -> [InversePair] {
    var links: [InversePair] = []
    var indexByKey: [String: Int] = [:]
    let model = resolved.destinationModel
    for mapping in resolved.entityMappings {
      for (part, assigned) in mapping.relationships.enumerated() {
        let relationship = assigned.relationship
        let declaring =
          model.declaringEntity(of: relationship.name, in: mapping.destination.name)?.name
          ?? mapping.destination.name
        let ends = ends(of: relationship, declaredBy: declaring, in: model)
        let (first, second, isOwnInverse, end) = (ends.first, ends.second, ends.isOwnInverse, ends.end)
        let key = "\(first.entityName).\(first.relationship.name)"
        let index: Int
        if let known = indexByKey[key] {
          index = known
        } else {
          guard let storage = storage(first, second, isOwnInverse: isOwnInverse, schema: schema) else {
            throw GodwitError(
              .configuration,
              "mapping '\(mapping.name)': cannot set relationship '\(relationship.name)': it is not stored",
              location: assigned.location ?? mapping.mapping.location,
              remedy: "leave the relationship out of the mapping")
          }
          index = links.count
          indexByKey[key] = index
          links.append(InversePair(first: first, second: second, isOwnInverse: isOwnInverse, storage: storage))
        }
        links[index].assignments.append(Assignment(mapping: mapping.index, part: part, end: end))
      }
    }
    for index in links.indices { try links[index].checkEarlier(resolved) }
    if facts.highestDestinationKeys != nil { for link in links { try link.checkMeeting(resolved) } }
    for index in links.indices {
      if resolved.hasPolicies {
        links[index].inlineEnd = links[index].endWrittenDirectly(resolved: resolved, facts: facts)
      } else {
        links[index].choose(resolved: resolved, facts: facts)
      }
    }
    return resolved.hasPolicies ? links + unassigned(of: resolved, known: indexByKey, schema: schema) : links
  }

  /// The stored relationships that no mapping sets: a policy may.
  private static func unassigned(
    of resolved: ResolvedMapping, known: [String: Int], schema: StoreSchema
  ) -> [InversePair] {
    let model = resolved.destinationModel
    var links: [InversePair] = []
    var seen = Set(known.keys)
    for entity in model.entities {
      for relationship in entity.relationships where model.isStored(relationship) {
        guard model.declaringEntity(of: relationship.name, in: entity.name)?.name == entity.name else { continue }
        let ends = ends(of: relationship, declaredBy: entity.name, in: model)
        let (first, second, isOwnInverse) = (ends.first, ends.second, ends.isOwnInverse)
        guard let storage = storage(first, second, isOwnInverse: isOwnInverse, schema: schema),
          seen.insert("\(first.entityName).\(first.relationship.name)").inserted
        else { continue }
        links.append(InversePair(first: first, second: second, isOwnInverse: isOwnInverse, storage: storage))
      }
    }
    return links
  }

  private struct Ends {
    var first: Side
    var second: Side?
    var isOwnInverse: Bool
    /// Which of them the relationship is.
    var end: End
  }

  /// The ends of the link that a relationship belongs to.
  ///
  /// - Parameter entity: The entity that declares the relationship.
  private static func ends(
    of relationship: RelationshipDescription, declaredBy entity: String, in model: ManagedObjectModel
  ) -> Ends {
    let own = Side(entityName: entity, relationship: relationship)
    guard let inverse = model.inverse(of: relationship) else {
      return Ends(first: own, second: nil, isOwnInverse: false, end: .first)
    }
    let declaring =
      model.declaringEntity(of: inverse.name, in: relationship.destinationEntityName)?.name
      ?? relationship.destinationEntityName
    if declaring == entity, inverse.name == relationship.name {
      return Ends(first: own, second: nil, isOwnInverse: true, end: .first)
    }
    let other = Side(entityName: declaring, relationship: inverse)
    return (Text(relationship.name), Text(entity)) < (Text(inverse.name), Text(declaring))
      ? Ends(first: own, second: other, isOwnInverse: false, end: .first)
      : Ends(first: other, second: own, isOwnInverse: false, end: .second)
  }

  /// nil for a relationship that is not stored.
  private static func storage(
    _ first: Side, _ second: Side?, isOwnInverse: Bool, schema: StoreSchema
  ) -> Storage? {
    switch schema.storage(of: first.relationship.name, in: first.entityName) {
    case .foreignKey:
      guard let second else { return isOwnInverse ? .oneToOne : .foreignKey(holder: .first) }
      return second.relationship.isToMany ? .foreignKey(holder: .first) : .oneToOne
    case .inverse: return .foreignKey(holder: .second)
    case .join: return .join
    case .none: return nil
    }
  }

  private mutating func choose(resolved: ResolvedMapping, facts: PlanFacts) {
    let mappings = resolved.entityMappings
    func of(_ end: End) -> [Assignment] { assignments.filter { $0.end == end } }
    func isUnique(_ index: MappingID) -> Bool { !mappings[index].mapping.uniqueBy.isEmpty }
    switch storage {
    case .oneToOne: strategy = .resolved
    case .foreignKey(let holder):
      let other: End = holder == .first ? .second : .first
      let (held, owned) = (of(holder), of(other))
      if owned.isEmpty {
        (strategy, carriedEnd) = (.atCreation, holder)
      } else if held.isEmpty {
        let isSimple = owned.allSatisfy { assignment in
          let source = mappings[assignment.mapping].relationships[assignment.part]
          guard source.path.count == 1, let hop = source.path.first else { return false }
          guard hop.relationship.isToMany, let inverse = resolved.sourceModel.inverse(of: hop.relationship),
            !inverse.isToMany
          else { return false }
          return source.lookups.allSatisfy { !isUnique($0) }
        }
        if isSimple, facts.areExclusive(Set(owned.map(\.mapping))) {
          (strategy, carriedEnd) = (.fromInverse, other)
        }
      } else if isMirrored(held, owned, mappings: mappings, model: resolved.sourceModel),
        // A path through a to-many finds only its first object for the holder, so the two sides say different things.
        held.allSatisfy({ !mappings[$0.mapping].relationships[$0.part].path.contains { $0.relationship.isToMany } }),
        facts.areExclusive(Set(owned.map(\.mapping)).union(held.flatMap { lookups(of: $0, mappings) })),
        held.allSatisfy({ !isUnique($0.mapping) })
      {
        (strategy, carriedEnd) = (.atCreation, holder)
      }
    case .join:
      let (a, b) = (of(.first), of(.second))
      if isOwnInverse {
        if isSymmetric(mappings: mappings, model: resolved.sourceModel) { (strategy, carriedEnd) = (.pairs, .first) }
      } else if a.isEmpty || b.isEmpty {
        (strategy, carriedEnd) = (.pairs, a.isEmpty ? .second : .first)
      } else if isMirrored(a, b, mappings: mappings, model: resolved.sourceModel) {
        (strategy, carriedEnd) = (.pairs, .first)
      }
    }
  }

  /// The end that would be set at creation without policies, if no order is involved that a policy could affect. The
  /// results of mappings are then known as long as policies associate what their mappings would.
  private func endWrittenDirectly(resolved: ResolvedMapping, facts: PlanFacts) -> End? {
    var chosen = self
    chosen.choose(resolved: resolved, facts: facts)
    guard !assignments.isEmpty, chosen.strategy == .atCreation, let end = chosen.carriedEnd,
      second?.relationship.isOrdered != true, !first.relationship.isOrdered
    else { return nil }
    let (model, mappings) = (resolved.destinationModel, resolved.entityMappings)
    let policies = Set(resolved.policies.compactMap(\.index))
    for assignment in assignments {
      let source = mappings[assignment.mapping].relationships[assignment.part]
      guard source.policyCall == nil else { return nil }
      guard assignment.end == end else {
        // The relationships that a policy leaves to its mapping are known for the objects that hold the key.
        guard !policies.contains(assignment.mapping) else { return nil }
        continue
      }
      guard facts.areExclusive(Set(source.lookups)), !source.path.contains(where: { $0.relationship.isToMany }),
        policies.intersection(source.lookups).allSatisfy({ index in
          !AssociationLowering.isStored(mappings[index], facts: facts)
            && model.isKind(mappings[index].destination.name, of: source.relationship.destinationEntityName)
        })
      else { return nil }
    }
    return end
  }

  /// For a relationship that is its own inverse, whether every assignment also holds in the other direction: the source
  /// says the same from either end, and mappings look each other up both ways.
  private func isSymmetric(mappings: [ResolvedEntityMapping], model: ManagedObjectModel) -> Bool {
    assignments.allSatisfy { assignment in
      let source = mappings[assignment.mapping].relationships[assignment.part]
      guard source.path.count == 1, let hop = source.path.first, hop.relationship.isToMany,
        let inverse = model.inverse(of: hop.relationship), inverse.name == hop.relationship.name,
        hop.relationship.inverseName == hop.relationship.name
      else { return false }
      return source.lookups.allSatisfy { lookup in
        assignments.allSatisfy { $0.mapping != lookup || lookups(of: $0, mappings).contains(assignment.mapping) }
      }
    }
  }

  private func lookups(of assignment: Assignment, _ mappings: [ResolvedEntityMapping]) -> [MappingID] {
    mappings[assignment.mapping].relationships[assignment.part].lookups
  }

  /// Whether both ends are set from the two ends of one source relationship, through each other's
  /// mappings, so that they say the same.
  private func isMirrored(
    _ a: [Assignment], _ b: [Assignment], mappings: [ResolvedEntityMapping], model: ManagedObjectModel
  ) -> Bool {
    func hop(_ assignment: Assignment) -> ResolvedEntityMapping.SourceRelationship? {
      let source = mappings[assignment.mapping].relationships[assignment.part]
      return source.path.count == 1 ? source.path[0] : nil
    }
    func identity(_ entity: String, _ name: String) -> String {
      "\(model.declaringEntity(of: name, in: entity)?.name ?? entity).\(name)"
    }
    let forward = a.map { hop($0).map { identity($0.entityName, $0.relationship.name) } }
    let backward = b.map { assignment -> String? in
      guard let hop = hop(assignment), let inverse = model.inverse(of: hop.relationship) else { return nil }
      return identity(hop.relationship.destinationEntityName, inverse.name)
    }
    guard let one = forward.first ?? nil, forward.allSatisfy({ $0 == one }), backward.allSatisfy({ $0 == one }) else {
      return false
    }
    let (makersA, makersB) = (Set(a.map(\.mapping)), Set(b.map(\.mapping)))
    return b.allSatisfy { Set(lookups(of: $0, mappings)) == makersA }
      && a.allSatisfy { makersB.isSubset(of: lookups(of: $0, mappings)) }
  }
}
