import GodwitModel

/// Compares how two steps and the direct one make links.
extension StepFusion {
  func relationshipDifference(_ chain: Chain) -> String? {
    for relationship in last.relationships(of: chain.last) where last.isStored(relationship) {
      let path = "'\(chain.last).\(relationship.name)'"
      let name = chain.late.sourceRelationship(of: relationship.name)
      let through = name.flatMap { chain.early.sourceRelationship(of: $0) }
      let direct = chain.direct.sourceRelationship(of: relationship.name)
      guard through == direct else {
        switch (through, direct) {
        case (nil, _?): return "\(path) is dropped before '\(between.name)' and new after it"
        case (_?, nil): return "\(path) has no links directly, and some through '\(between.name)'"
        default:
          return "\(path) was '\(direct ?? "")' directly, and '\(through ?? "")' through '\(between.name)'"
        }
      }
      guard let name, let through, let was = first.relationship(through, of: chain.first),
        let passed = between.relationship(name, of: chain.between)
      else { continue }
      if let difference = linkDifference(was, passed, relationship, chain) { return difference }
    }
    for passed in between.relationships(of: chain.between) where between.isStored(passed) {
      let path = "'\(chain.between).\(passed.name)'"
      let next = successor(of: passed, in: chain)
      if next == nil, chain.early.sourceRelationship(of: passed.name) != nil {
        return "the links of \(path) pass through '\(between.name)' and are gone in '\(last.name)'"
      }
      guard let rule = CountRule(passed) else { continue }
      let isImplied =
        next.flatMap(CountRule.init).map { $0.implies(rule) && !(passed.isToMany && narrows(passed, next)) } ?? false
      if !isImplied {
        return "how many objects \(path) leads to is a stricter rule in '\(between.name)' than in '\(last.name)'"
      }
    }
    return nil
  }

  /// Whether some relationship of an entity leaves links behind on the way to the last model.
  func losesLinks(_ chain: Chain) -> Bool {
    between.relationships(of: chain.between).contains { passed in
      between.isStored(passed) && narrows(passed, successor(of: passed, in: chain))
    }
  }

  private func successor(of passed: RelationshipDescription, in chain: Chain) -> RelationshipDescription? {
    chain.late.relationshipMappings.first { chain.late.sourceRelationship(of: $0.name) == passed.name }
      .flatMap { last.relationship($0.name, of: chain.last) }
  }

  /// Whether some object that the relationship leads to is none of its successor's.
  private func narrows(_ passed: RelationshipDescription, _ next: RelationshipDescription?) -> Bool {
    guard let next else { return true }
    let family = Set(between.family(of: passed.destinationEntityName).map(\.name))
    return chains.contains { family.contains($0.between) && !last.isKind($0.last, of: next.destinationEntityName) }
  }

  // MARK: Links

  /// One of the steps must leave the link as it is: then the other does what the direct one does.
  private func linkDifference(
    _ was: RelationshipDescription, _ passed: RelationshipDescription, _ now: RelationshipDescription, _ chain: Chain
  ) -> String? {
    let path = "'\(chain.between).\(passed.name)'"
    let targets = Set(first.family(of: was.destinationEntityName).map(\.name))
    for target in chains where targets.contains(target.first) {
      guard last.isKind(target.last, of: now.destinationEntityName) else { continue }
      guard between.isKind(target.between, of: passed.destinationEntityName) else {
        return "\(path) does not accept '\(target.between)' in '\(between.name)', but does in '\(last.name)'"
      }
    }
    let isSameEarly = isSame(was, in: first, passed, in: between, early)
    let isSameLate = isSame(passed, in: between, now, in: last, late)
    guard isSameEarly || isSameLate else {
      return "\(path) or its inverse differs before, in and after '\(between.name)'"
    }
    let isRenamed = chain.between != chain.last || passed.name != now.name
    // If both sides store the link, they may disagree: which one counts depends on names.
    if isStoredTwice(was, in: first) || isStoredTwice(passed, in: between) {
      guard isSameLate, !isRenamed else {
        return "\(path) is stored on both sides, and changes after '\(between.name)'"
      }
    }
    if isOrdered(passed, in: between) {
      guard isSameEarly, isSameLate, !isRenamed, chain.first == chain.between, was.name == passed.name else {
        return "\(path) or its inverse is ordered in '\(between.name)', and changes"
      }
      if let inverse = between.inverse(of: passed), passed.isOrdered, inverse.isOrdered {
        return "\(path) and its inverse are both ordered"
      }
    }
    return nil
  }

  private func isOrdered(_ relationship: RelationshipDescription, in model: ManagedObjectModel) -> Bool {
    relationship.isOrdered || model.inverse(of: relationship)?.isOrdered == true
  }

  private func isStoredTwice(_ relationship: RelationshipDescription, in model: ManagedObjectModel) -> Bool {
    guard let inverse = model.inverse(of: relationship) else { return false }
    return !relationship.isToMany && !inverse.isToMany || inverse.name == relationship.name
  }

  /// Whether a link is of the same kind on both sides of a step, with the same inverse.
  private func isSame(
    _ old: RelationshipDescription, in oldModel: ManagedObjectModel, _ new: RelationshipDescription,
    in newModel: ManagedObjectModel, _ pairing: ModelPairing
  ) -> Bool {
    guard old.isToMany == new.isToMany, old.isOrdered == new.isOrdered else { return false }
    switch (oldModel.inverse(of: old), newModel.inverse(of: new)) {
    case (nil, nil): return true
    case (let was?, let now?):
      guard was.isToMany == now.isToMany, was.isOrdered == now.isOrdered, was.isTransient == now.isTransient,
        (was.name == old.name) == (now.name == new.name)
      else { return false }
      return newModel.family(of: new.destinationEntityName).allSatisfy { member in
        guard let before = pairing.oldName(of: member.name) else { return true }
        return pairing.origin(of: .relationship(now), in: member.name, from: before)?.name == was.name
      }
    default: return false
    }
  }
}

/// How many objects a relationship may lead to.
private struct CountRule {
  let mayBeEmpty: Bool
  /// At least 1: whether there may be none is `mayBeEmpty`.
  let low: Int
  /// nil: no bound, or one that the storage itself keeps.
  let high: Int?

  /// nil when every number will do.
  init?(_ relationship: RelationshipDescription) {
    mayBeEmpty = !relationship.requiresObject
    low = relationship.isToMany ? max(1, relationship.minCount) : 1
    high = relationship.isToMany && relationship.maxCount > 0 ? relationship.maxCount : nil
    if mayBeEmpty, low == 1, high == nil { return nil }
  }

  func implies(_ other: CountRule) -> Bool {
    (!mayBeEmpty || other.mayBeEmpty) && low >= other.low
      && (other.high.map { limit in high.map { $0 <= limit } ?? false } ?? true)
  }
}
