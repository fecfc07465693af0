import GodwitJob
import GodwitModel
import GodwitStore

/// Why an object of the source is not in the destination.
struct RejectionProof {
  enum Rejection {
    /// A value cannot be computed, or breaks a rule.
    case proved
    /// The decision depends on other objects, or on a look at all of them.
    case unknown
    case none
  }

  let stores: ComparedStores
  private let values: ExpectedValues
  private let external: ExternalValueProof
  private let rules: ValueRules

  init(_ stores: ComparedStores) {
    self.stores = stores
    // The findings are not reported: a rejection says only whether it is proved.
    let findings = Findings()
    values = ExpectedValues(stores)
    external = ExternalValueProof(stores, values, findings)
    rules = ValueRules(stores, findings)
  }

  /// Whether a mapping cannot carry an object of the source.
  func rejection(of entity: String, key: Int64) throws -> Rejection {
    guard let object = try stores.objects.object(entityName: entity, key: key), object.entityName == entity else {
      return .none
    }
    var isUnknown = false
    for mapping in stores.mappings where mapping.sourceEntity == entity && mapping.earlierOffset == nil {
      do {
        guard try takes(mapping, object) else { continue }
        // All objects that become one are rejected together.
        if !mapping.uniqueBy.isEmpty || mapping.policyName != nil { isUnknown = true }
        if try breaksRuleOfValue(object, in: mapping) { return .proved }
        switch try relationshipRejection(of: object, in: mapping) {
        case .proved: return .proved
        case .unknown: isUnknown = true
        case .none: break
        }
      } catch is ExpressionError { return .proved } catch let error as GodwitError where error.isOfObject {
        return .proved
      } catch let error as GodwitError where error.topic == .externalFile {
        // A run rejects no object for a file beside the store. Other faults of the object cannot be seen.
        isUnknown = true
      }
    }
    return isUnknown ? .unknown : .none
  }

  private func takes(_ mapping: VerifiedMapping, _ object: any EvaluatedObject) throws -> Bool {
    guard object.entityName == mapping.sourceEntity else { return false }
    guard let filter = mapping.filter else { return true }
    let evaluator = stores.filterEvaluator
    return try evaluator.compile(filter).matches(object) == true
  }

  private func breaksRuleOfValue(_ object: StoredObject, in mapping: VerifiedMapping) throws -> Bool {
    for attribute in stores.job.destinationModel.attributes(of: mapping.destinationEntity)
    where !attribute.isTransient && !attribute.isDerived {
      if try external.lacksBytes(attribute, in: mapping, from: object) { return true }
      guard let value = try values.expectedContent(of: attribute, in: mapping, from: object) else { continue }
      if try !rules.brokenRules(attribute, value, on: stores.source).isEmpty { return true }
    }
    return false
  }

  // MARK: Relationships

  private func relationshipRejection(of object: StoredObject, in mapping: VerifiedMapping) throws -> Rejection {
    var isUnknown = mapping.unread > 0
    for relationship in stores.job.destinationModel.relationships(of: mapping.destinationEntity)
    where !relationship.isTransient {
      let low = relationship.isToMany ? max(0, relationship.minCount) : relationship.isOptional ? 0 : 1
      let high = relationship.isToMany && relationship.maxCount > 0 ? relationship.maxCount : Int.max
      guard low > 0 || high < .max else { continue }
      let assignment = mapping.assignments.first { $0.relationship.name == relationship.name }
      let others = othersSetting(relationship, of: mapping)
      let targets = try assignment.map { try self.targets(of: $0, from: object) } ?? []
      func isBroken(_ count: Int) -> Bool {
        (count > 0 || !relationship.isOptional) && (count < low || count > high)
      }
      func number(_ targets: Int) -> Int { relationship.isToMany ? targets : min(targets, 1) }
      if isBroken(number(targets.count)) {
        if others.allSatisfy({ isMirror($0, of: assignment) }) { return .proved }
        isUnknown = true
      } else if !others.allSatisfy({ isMirror($0, of: assignment) }) {
        isUnknown = true
      } else if let inverse = stores.job.destinationModel.inverse(of: relationship) {
        // Another object may have taken its place.
        guard inverse.isToMany else {
          isUnknown = true
          continue
        }
        let (lost, isDoubtful) = takenAway(targets, filling: inverse, of: mapping)
        // A to-one with several targets takes the first.
        if isDoubtful || !relationship.isToMany && lost > 0 && lost < targets.count {
          isUnknown = true
        } else if isBroken(number(targets.count - lost)) {
          return .proved
        }
      }
    }
    return isUnknown ? .unknown : .none
  }

  /// The assignments of other objects that may set the relationship, through its inverse.
  private func othersSetting(
    _ relationship: RelationshipDescription, of mapping: VerifiedMapping
  ) -> [VerifiedMapping.Assignment] {
    guard let inverse = stores.job.destinationModel.inverse(of: relationship) else { return [] }
    return stores.mappings.flatMap { other in
      other.assignments.filter { $0.relationship.name == inverse.name && $0.lookups.contains(mapping.index) }
    }
  }

  /// Whether an assignment follows the same relationship of the source as another one, in the other direction.
  private func isMirror(_ other: VerifiedMapping.Assignment, of assignment: VerifiedMapping.Assignment?) -> Bool {
    guard let assignment, assignment.path.count == 1, other.path.count == 1 else { return false }
    return stores.job.sourceModel.entities.contains { entity in
      entity.relationships.contains { $0.name == assignment.path[0] && $0.inverseName == other.path[0] }
    }
  }

  /// How many links the objects that an object leads to take away when they are set after it: by an assignment of their own that does
  /// not lead to objects of its mapping. And whether that is not known of some.
  ///
  /// - Parameter targets: The mapping of each of them.
  private func takenAway(
    _ targets: [MappingID], filling inverse: RelationshipDescription, of mapping: VerifiedMapping
  ) -> (lost: Int, isDoubtful: Bool) {
    var lost = 0
    var isDoubtful = false
    for target in targets {
      let other = stores.mappings[target]
      let isFilled = other.assignments.contains {
        $0.relationship.name == inverse.name && !$0.lookups.contains(mapping.index)
      }
      if other.unread > 0 || other.policyName != nil || isFilled && other.index == mapping.index { isDoubtful = true }
      if isFilled, other.index > mapping.index { lost += 1 }
    }
    return (lost, isDoubtful)
  }

  /// The mapping of each object of the destination that an assignment leads to.
  private func targets(of assignment: VerifiedMapping.Assignment, from object: StoredObject) throws -> [MappingID] {
    var reached: [any EvaluatedObject] = [object]
    for segment in assignment.path {
      var next: [any EvaluatedObject] = []
      for one in reached {
        switch try one.value(segment) {
        case .object(let found): if let found { next.append(found) }
        case .objects(let found, _): next += found
        case .value, .values: break
        }
      }
      reached = next.reduce(into: []) { known, one in
        if !known.contains(where: { $0.isSame(as: one) }) { known.append(one) }
      }
    }
    return try reached.flatMap { one in
      try assignment.lookups.filter { try takes(stores.mappings[$0], one) }
    }
  }
}
