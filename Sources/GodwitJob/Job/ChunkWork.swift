package import GodwitModel

/// The work of a chunk, and its subject. Numbers are those of the step's program: of its mappings, links, policies,
/// rules, and of the indexes of the destination.
package enum ChunkWork: Sendable, Hashable {
  case associate(mapping: MappingID)
  /// Makes the objects of source keys in the chunk's range, or those that one of the user's predicates takes.
  case create(mapping: MappingID, predicate: Int?)
  /// One scan of a link in the relationship stage.
  case relate(link: LinkID, scan: Int)
  /// Calls a hook: once, or `createRelationships` for the objects of source keys in the chunk's range.
  case callHook(PolicyHook, policy: Int)
  /// Makes the indexes that resolving a link reads.
  case prepareResolving(link: LinkID)
  case resolve(link: LinkID)
  case buildIndex(Int)
  case order(rule: OrderID)
  case derive(rule: DerivationID)
  /// Checks the objects of a mapping's destination entity.
  case validate(mapping: MappingID)
  /// Checks the objects of an entity that only a policy makes, by its `Z_ENT`.
  case validateEntity(number: Int)
  /// Makes one of new objects and the objects of the destination that have the same values of `unique-by`.
  case meet
  case buildUniqueIndex(Int)

  package var phase: ChunkPhase {
    switch self {
    case .associate: .associate
    case .create: .create
    case .relate: .relate
    case .callHook: .policy
    case .prepareResolving, .resolve: .resolve
    case .buildIndex: .index
    case .order: .order
    case .derive: .derive
    case .validate, .validateEntity: .validate
    case .meet: .meet
    case .buildUniqueIndex: .unique
    }
  }
}
