import GodwitJob
import GodwitModel

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
struct StoredWork: Hashable {
  var subject: Int
  var part: Int
  /// The predicate of the create phase.
  var predicate: Int?

  init(subject: Int, part: Int = 0, predicate: Int? = nil) {
    (self.subject, self.part, self.predicate) = (subject, part, predicate)
  }

  init(_ work: ChunkWork) {
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
  func work(of phase: ChunkPhase) -> ChunkWork? {
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
