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

  /// The words of messages: the name of the hook, or of the stage.
  package var title: String {
    if case .callHook(let hook, _) = self { hook.name } else { phase.row.title }
  }
}

/// How the ledger's columns hold the work of a chunk: they mean another thing in each phase.
///
/// | phase | subject | part |
/// |---|---|---|
/// | associate, create | mapping | 0 |
/// | relate | link | scan |
/// | policy | policy | hook |
/// | resolve | link | 0 for the preparation, 1 |
/// | index, unique | index | 0 |
/// | order, derive | rule | 0 |
/// | meet | 0 | 0 |
/// | validate | mapping, or -1 | 0, or the entity's `Z_ENT` |
package struct StoredWork: Hashable {
  package var subject: Int
  package var part: Int
  /// The predicate of the create phase.
  package var predicate: Int?

  package init(subject: Int, part: Int = 0, predicate: Int? = nil) {
    (self.subject, self.part, self.predicate) = (subject, part, predicate)
  }

  package init(_ work: ChunkWork) {
    switch work {
    case .associate(let mapping): self.init(subject: mapping.number)
    case .create(let mapping, let predicate): self.init(subject: mapping.number, predicate: predicate)
    case .relate(let link, let scan): self.init(subject: link.number, part: scan)
    case .callHook(let hook, let policy): self.init(subject: policy, part: hook.rawValue)
    case .prepareResolving(let link): self.init(subject: link.number)
    case .resolve(let link): self.init(subject: link.number, part: 1)
    case .buildIndex(let index), .buildUniqueIndex(let index): self.init(subject: index)
    case .order(let rule): self.init(subject: rule.number)
    case .derive(let rule): self.init(subject: rule.number)
    case .validate(let mapping): self.init(subject: mapping.number)
    case .validateEntity(let number): self.init(subject: -1, part: number)
    case .meet: self.init(subject: 0)
    }
  }

  /// nil where no work is stored so.
  package func work(of phase: ChunkPhase) -> ChunkWork? {
    switch phase {
    case .associate: return .associate(mapping: MappingID(subject))
    case .create: return .create(mapping: MappingID(subject), predicate: predicate)
    case .relate: return .relate(link: LinkID(subject), scan: part)
    case .policy:
      guard let hook = PolicyHook(rawValue: part), hook != .createDestinationInstances else { return nil }
      return .callHook(hook, policy: subject)
    case .resolve: return part > 0 ? .resolve(link: LinkID(subject)) : .prepareResolving(link: LinkID(subject))
    case .index: return .buildIndex(subject)
    case .order: return .order(rule: OrderID(subject))
    case .derive: return .derive(rule: DerivationID(subject))
    case .validate: return part > 0 ? .validateEntity(number: part) : .validate(mapping: MappingID(subject))
    case .meet: return .meet
    case .unique: return .buildUniqueIndex(subject)
    }
  }
}
