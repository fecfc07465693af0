import GodwitJob
import GodwitModel
import GodwitStore

/// Links that policies may have changed.
extension LinkProof {
  /// Whether an object of a policy may have taken the place of one of two objects that should be linked. It may have
  /// given the place up again: then none of the two leads to it.
  ///
  /// - Parameter inverse: The relationship that leads back; nil without an inverse.
  func isDisplacedByPolicy(
    _ subject: Int64, _ target: Int64, of side: VerifiedLink.End, inverse: RelationshipDescription?
  ) throws -> Bool {
    guard stores.hasPolicies else { return false }
    if let inverse, !inverse.isToMany || !side.relationship.isToMany {
      let model = stores.job.destinationModel
      // One of the near side's kind takes the target where it leads back to one; one of the far side's takes the
      // subject.
      let takers =
        (inverse.isToMany ? [] : [side.entity])
        + (side.relationship.isToMany ? [] : [side.relationship.destinationEntityName])
      if takers.contains(where: { taker in findings.policyEntities.contains { model.isKind($0, of: taker) } }) {
        return true
      }
    }
    let far = side.relationship.destinationEntityName
    let table: String
    let own: String
    let other: String
    switch stores.destinationSchema.storage(of: side.relationship.name, in: side.entity) {
    case .foreignKey(let name, let column, _, _): (table, own, other) = (name, "Z_PK", column)
    case .join(let join, let subject, let object, _): (table, own, other) = (join.name, subject, object)
    case .inverse, .none: return false
    }
    let (near, away) = (StoreSchema.identifier(own), StoreSchema.identifier(other))
    func leadsToPolicy(_ from: String, _ key: Int64, _ to: String, _ entity: String) throws -> Bool {
      var isFound = false
      try stores.destination.query(
        "SELECT \(to) FROM \(stores.table(table)) WHERE \(from) = ?1 AND \(to) IS NOT NULL", [.integer(key)]
      ) { row in
        isFound = try keys.isMadeByPolicy(row.int64(0), entity)
        return !isFound
      }
      return isFound
    }
    return try leadsToPolicy(near, subject, away, far) || leadsToPolicy(away, target, near, side.entity)
  }
}
