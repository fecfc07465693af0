import GodwitJob
import GodwitModel
import GodwitStore

/// Relationships with a plan are proved without a replay.
extension LinkProof {
  /// The number of links when all are as the mappings give them; nil when that is not known without a replay.
  func provenLinks(_ link: VerifiedLink) throws -> (side: VerifiedLink.End, count: Int64)? {
    guard let plan = plans[link] else { return nil }
    for side in link.ends {
      for entity in [side.entity, side.relationship.destinationEntityName] {
        guard let root = stores.job.destinationModel.root(of: entity)?.name, !findings.unsound.contains(root) else {
          return nil
        }
      }
    }
    switch plan.kind {
    case .join where stores.sample != nil: return nil
    case .toOne(let end, _, _, _, let proof): return proof.isDoubtful ? nil : (link.ends[end], proof.count)
    case .join(let join): return try pairs(plan, join).map { (link.ends[0], $0) }
    }
  }

  /// Whether a key of a to-one was found to differ.
  func isDoubtful(_ link: VerifiedLink) -> Bool { plans[link]?.proof?.isDoubtful == true }

  /// Two sets of pairs, compared by their number and a sum under keys of this run. Objects that both ends lead to
  /// are there: what should be in the tables has been compared with what is.
  private func pairs(_ plan: LinkPlan, _ join: LinkPlan.Join) throws -> Int64? {
    func columns(_ names: (String, String)) -> String {
      "\(StoreSchema.identifier(names.0)), \(StoreSchema.identifier(names.1))"
    }
    var expected = PairSum()
    var found = expected
    var isSound = true
    if let source = join.source {
      let nears = stores.mappings.ids.compactMap { first -> (Counterparts, [Counterparts])? in
        let fars = stores.mappings.ids.filter { plan.links(first, $0, from: 0) }
        return fars.isEmpty ? nil : (keys.counterparts[first], fars.map { keys.counterparts[$0] })
      }
      try stores.source.query("SELECT \(columns(source.columns)) FROM \(stores.table(source.name))") { row in
        guard !row.isNull(0), !row.isNull(1) else { return true }
        guard row.storage(0) == .integer, row.storage(1) == .integer else {
          isSound = false
          return false
        }
        for (near, fars) in nears {
          guard let first = try near.destination(of: row.int64(0)) else { continue }
          for far in fars {
            if let second = try far.destination(of: row.int64(1)) { expected.add(first, second) }
          }
        }
        return true
      }
    }
    guard isSound else { return nil }
    try stores.destination.query("SELECT \(columns(join.columns)) FROM \(stores.table(join.name))") { row in
      guard row.storage(0) == .integer, row.storage(1) == .integer else {
        isSound = false
        return false
      }
      found.add(row.int64(0), row.int64(1))
      return true
    }
    return isSound && expected == found ? found.count : nil
  }
}
