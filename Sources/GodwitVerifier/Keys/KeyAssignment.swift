import GodwitJob
import GodwitModel
import GodwitStore

/// Which source objects each mapping takes, and under which keys their objects lie.
///
/// 1. `SourceSelection` adds the counterparts of each mapping.
/// 2. `KeySearch` gives each its place, and claims the keys.
/// 3. The proofs of objects, relationships and order look objects up here.
final class KeyAssignment {
  /// The counterparts by mapping.
  private(set) var counterparts: [Counterparts] = []
  /// The mappings that have keys in a destination table, by its root entity, in the order of their claims.
  var claimed: [String: [MappingID]] = [:]
  /// The root entity of the source whose objects keep their keys, by destination root entity.
  var keptRoots: [String: String] = [:]
  private let stores: ComparedStores

  init(_ stores: ComparedStores) { self.stores = stores }

  /// The same keys, for another thread.
  init(_ stores: ComparedStores, as other: KeyAssignment) {
    self.stores = stores
    (counterparts, claimed) = (other.counterparts, other.claimed)
  }

  /// Adds the counterparts of the next mapping.
  func add(_ next: Counterparts) { counterparts.append(next) }

  /// Whether a mapping leads to an object of a table.
  func isMade(_ key: Int64, root: String) throws -> Bool {
    for mapping in claimed[root] ?? [] { if try counterparts[mapping].makes(key) { return true } }
    return false
  }

  /// Whether no mapping without a policy explains an object of a table.
  func isMadeByPolicy(_ key: Int64, _ entity: String) throws -> Bool {
    guard stores.hasPolicies, let root = stores.job.destinationModel.root(of: entity)?.name else { return false }
    return try !isMade(key, root: root)
  }

  /// The expected objects of a table from about a key on, in the order of keys.
  func made(_ root: String, from first: Int64) throws -> MadeObjects {
    try MadeObjects(claimed[root] ?? [], counterparts, from: first)
  }
}
