import GodwitJob
import GodwitModel
import GodwitStore

/// The running hook, and its actions so far.
struct RunningHook {
  private(set) var kind = PolicyHook.begin
  /// Counts the calls of hooks.
  private(set) var number = 1
  private(set) var problem: (any Error)?

  // MARK: The object that it is for

  /// The source object of the running `createDestinationInstances`, until an object has taken its key.
  var keyedSource: PolicyObjectKey?
  /// The object with the values that its mapping gives it, where known.
  var prepared: PreparedObject?
  /// The columns of the links that are written with the objects of that hook, and the layout of its mapping's entity.
  var keyColumns: [String] = []
  var keyLayout: ObjectLayout? { didSet { keyNumber = keyLayout?.number ?? -1 } }
  /// The number of that entity; -1 for none.
  private(set) var keyNumber = -1
  /// The association that a running `createRelationships` is for.
  var related: (mapping: MappingID, pair: PolicyPair)?
  /// Whether that hook has left its object's relationships to the mapping.
  var isLeftToMapping = false

  // MARK: Actions of the hook

  /// Associated or linked, and not seen in the store yet.
  var unproved: Set<PolicyIdentity> = []
  /// Objects that it has made.
  var made = InlineSet<PolicyObjectKey>()
  /// The associations with its own source object.
  var own = InlineSet<PolicyOwnPair>()
  /// The same where associations are computed, until the hook shows that they are others.
  var ownPairs: [PolicyPair] = []
  /// The objects that it has written with the keys of links.
  var keyed: [PolicyOwnPair] = []

  /// Whether these are exactly the associations with its own source object.
  var areAllKeyedOwn: Bool {
    guard own.count == keyed.count else { return false }
    for pair in keyed where !own.contains(pair) { return false }
    return true
  }

  /// Begins a call. The caller has set `prepared`, the key columns, `related` and `isLeftToMapping`.
  mutating func begin(_ kind: PolicyHook, on object: ManagedObject?) {
    self.kind = kind
    number += 1
    problem = nil
    if !unproved.isEmpty { unproved = [] }
    if !own.isEmpty { own.removeAll() }
    if !made.isEmpty { made.removeAll() }
    if !keyed.isEmpty { keyed.removeAll(keepingCapacity: keyed.count < 100) }
    if !ownPairs.isEmpty { ownPairs.removeAll(keepingCapacity: true) }
    keyedSource = kind == .createDestinationInstances ? object.map(PolicyObjectKey.init) : nil
  }

  /// Records an error that a subscript could not throw.
  mutating func note(_ error: any Error) { problem = problem ?? error }

  /// Drops the page of source objects.
  mutating func endPage() { (prepared, keyColumns, keyLayout) = (nil, [], nil) }

  /// Drops the state of a chunk that was rolled back.
  mutating func rollBack() {
    endPage()
    (related, unproved, ownPairs) = (nil, [], [])
  }
}

/// An object by the name of its entity.
struct PolicyIdentity: Hashable {
  var entity: String
  var key: Int64

  init(_ object: ManagedObject) { (entity, key) = (object.entityName, object.key) }
}

/// An object by the number of its entity.
struct PolicyObjectKey: Hashable {
  var number: Int
  var key: Int64

  init(number: Int, key: Int64) { (self.number, self.key) = (number, key) }
  init(_ object: ManagedObject) { (number, key) = (object.entityNumber, object.key) }
}

/// An association by entity numbers: that of the source's root, and that of the destination object's own entity.
struct PolicyPair {
  var sequence, root, source, entity, destination: Int64
}

/// An association of the source object that a hook is called for.
struct PolicyOwnPair: Hashable {
  var mapping: MappingID
  var entity, destination: Int64
}
