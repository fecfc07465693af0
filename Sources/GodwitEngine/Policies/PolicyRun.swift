import Foundation
package import GodwitDisk
package import GodwitJob
package import GodwitLowering
package import GodwitModel
import GodwitSpill
package import GodwitStore

/// What policies keep from chunk to chunk; it lies in the ledger and commits with each chunk of theirs.
struct PolicyState: Codable, Equatable {
  /// Destination root entity name to the key that the next new object takes.
  var nextKeys: [String: Int64]
  /// Counts associations and assignments, which orders them.
  var turn: Int64 = 0
  /// Mappings with associations of other source objects than the one that their policy was called for.
  var foreign: Set<Int>?
  /// Mappings of which an object may have several source objects, or be none that its policy made.
  var several: Set<Int>?
  /// Policy to the dense keys it has given.
  var dense: [Int: Int64] = [:]
  /// Policy to what `nextKeys` was before its `begin`: when that runs again, its objects take the same keys.
  var keysAtBegin: [Int: [String: Int64]] = [:]
  /// Links that are written with their objects; nil before a policy's first chunk.
  var direct: Set<Int>?
  /// Mappings whose associations are computed; nil before a policy's first chunk.
  var plain: Set<Int>?
  /// The last source object that such a mapping has made its object of.
  var plainThrough: [Int: Int64] = [:]
  /// The last object whose relationships were left to its mapping, by mapping with such links.
  var left: [Int: Place] = [:]
  /// A binary property list.
  var userInfo: [UInt8]

  /// An association's place among those of its mapping.
  struct Place: Codable, Equatable {
    var source, turn: Int64
  }
}

/// The policies of a step at work: the instances, the hook that runs, and all that a hook can do.
///
/// 1. Made when a run begins; the state is the ledger's.
/// 2. `call` runs one hook with a `PolicyContext` that leads here.
/// 3. `finishChunk` writes the state; `takeBack` goes back to it when a chunk that failed runs again.
package final class PolicyRun: PolicyHost {
  package var sourceModel: ManagedObjectModel { program.resolved.sourceModel }
  package var destinationModel: ManagedObjectModel { program.resolved.destinationModel }
  package var mappingCount: Int { program.mappings.count }

  let program: StepProgram
  /// The program as it stands: with the links that are written directly and the associations that are computed.
  private(set) var programNow: StepProgram
  /// Links that are written with their objects since no policy has set them.
  private(set) var direct: Set<Int> = []
  /// Those of each mapping, and whether a mapping sets no other relationships.
  private(set) var directOf: [Set<Int>] = []
  private(set) var isAllDirect: [Bool] = []
  /// Counts the changes of these.
  private(set) var generation = 0
  /// As the state has them, by mapping, with what the running chunk adds.
  var plainThrough: [Int64?] = []
  var left: [PolicyState.Place?] = []
  /// Mappings whose associations are computed since their policy has made what the mapping alone would have made.
  private(set) var plain: Set<Int> = []
  let connection: StoreConnection
  let functions: SQLFunctions
  let ledger: Ledger
  let folder: StepFolder
  let now: Double
  let memory: ByteCount
  let instances: [any EntityMigrationPolicy]
  /// The mapping of each policy, and its index among those that make objects of source objects.
  let mappings: [EntityMapping]
  let policyIndexes: [Int?]
  package let sourceContext: ObjectContext
  let destinationContext: ObjectContext
  /// Reads objects that are not inserted yet: their files are still the source's.
  let draftContext: ObjectContext

  var state: PolicyState
  /// The state before the first chunk.
  private let initial: PolicyState
  private(set) package var userInfo: [String: PropertyListValue]
  private var isUserInfoChanged = false
  private let isResumed: Bool
  /// Policies whose `begin` this process has run.
  private var begun: Set<Int> = []
  /// Policies that an earlier process began.
  private var resumed: Set<Int> = []
  /// While `begin` runs again: what it writes is there already.
  private(set) var isReplaying = false

  /// Expressions that name objects, by mapping and relationship.
  var compiledExpressions: [String: [String: CompiledExpression]] = [:]
  /// The policy at work.
  private(set) var current = 0
  private(set) var hook = PolicyHook.begin
  /// Counts the calls of hooks.
  private(set) var calls = 0
  /// The source object of the running `createDestinationInstances`, until an object has taken its key.
  var keyedSource: ManagedObject?
  private var problem: (any Error)?
  /// Associated or linked in this hook and not seen in the store yet.
  var unproved: Set<Identity> = []
  /// Objects made in this chunk, by entity, but for those that `writings` count.
  var inserted: [String: Int64] = [:]
  var statements: [String: SQLStatement] = [:]
  /// Indexes that this process has made sure of.
  var indexes: Set<String> = []
  var inverses: [Int: SpillReader] = [:]
  var rows: [MappedRow?]
  /// The source object of the running `createDestinationInstances` with what its mapping gives it, where known.
  var prepared: PreparedObject?
  /// What writes an object.
  var writings: [WritingKey: Writing] = [:]

  struct WritingKey: Hashable {
    /// The entity's number.
    var number: Int
    /// Whether with `keyColumns`.
    var isKeyed: Bool
  }
  /// The last of them.
  var lastWriting: Writing?
  /// Values of objects of the running hook that are not written yet, which expressions turned to nil.
  var turned: [Made: [TurnedValue]] = [:]
  /// What the chunk has lost so far.
  var (several, nils): (Int64, [NilKey: Int64]) = (0, [:])
  /// Objects that the running hook has made, by entity number and key.
  var made = InlineSet<Made>()

  struct Made: Hashable {
    var number: Int
    var key: Int64
  }

  /// Associations of this chunk that are not written yet, by mapping, in the order of turns.
  var pairs: [Int: [Pair]] = [:]
  /// What the running hook has associated with its own source object.
  var own = InlineSet<OwnPair>()
  /// The same where associations are computed, until the hook shows that they are others.
  var ownPairs: [Pair] = []
  /// Objects of this chunk whose relationships are set as a mapping says, once somebody looks, by mapping.
  var asked: [Int: [Asked]] = [:]
  /// How many of them wait at most, and as many associations.
  static let limitWaiting = 4096
  /// What sets the relationships of `asked`, by mapping.
  var requests: [RequestKey: PolicyRequests] = [:]

  /// How a computed association is looked up, by mapping.
  var lookUps: [Int: LookUp] = [:]

  struct LookUp {
    /// The destination key of source key `?1`, and that key if the mapping takes it.
    var destination, taken: ChunkStatement
  }

  struct RequestKey: Hashable {
    var mapping: Int
    var isSeveral: Bool
  }

  /// The association that a running `createRelationships` is for.
  var related: (mapping: Int, pair: Pair)?
  /// Whether that hook has left its object's relationships to the mapping.
  var isLeftToMapping = false
  /// Carries out what the relationship stage has left out for a link that was written with its objects.
  var relateAgain: (Int) throws -> Void = { _ in }
  /// The columns of the links that are written with the objects of the running `createDestinationInstances`, and the
  /// layout of its mapping's entity.
  var keyColumns: [String] = []
  var keyLayout: ObjectLayout?
  /// What the running hook has written with such links.
  var keyed: [OwnPair] = []

  /// `Entity.relationship` to the link and its end.
  let ends: [String: (link: Int, end: InversePair.End)]

  package init(
    job: MigrationJob, program: StepProgram, connection: StoreConnection, functions: SQLFunctions, ledger: Ledger,
    folder: StepFolder, isResumed: Bool
  ) throws {
    (self.program, programNow) = (program, program)
    self.connection = connection
    self.functions = functions
    self.ledger = ledger
    self.folder = folder
    self.isResumed = isResumed
    now = program.facts.now
    memory = job.memory
    instances = program.resolved.policies.map { $0.make() }
    mappings = program.resolved.policies.map(\.mapping)
    policyIndexes = program.resolved.policies.map(\.index)
    rows = program.mappings.map { _ in nil }
    sourceContext = ObjectContext(
      connection: connection, schema: program.sourceSchema, database: StoreConnection.sourceSchema)
    destinationContext = ObjectContext(connection: connection, schema: program.destinationSchema, database: "main")
    draftContext = ObjectContext(connection: connection, schema: program.destinationSchema, database: "main")
    let sourceFiles = SupportFolder(ofStoreAt: job.sourcePath)
    (sourceContext.support, draftContext.support, destinationContext.support) = (
      sourceFiles, sourceFiles, folder.support
    )
    var ends: [String: (link: Int, end: InversePair.End)] = [:]
    for (index, link) in program.links.enumerated() {
      for end in [InversePair.End.first, .second] {
        if let side = link.side(end) { ends["\(side.entityName).\(side.relationship.name)"] = (index, end) }
      }
    }
    self.ends = ends
    initial = PolicyState(
      nextKeys: program.facts.freeKeys ?? [:],
      userInfo: PropertyListValue.dictionary(job.userInfo).binaryPropertyList)
    state = try ledger.policyState() ?? initial
    guard let known = try? PropertyListValue(binary: state.userInfo, maximumValues: 4_000_000).dictionary else {
      throw GodwitError(
        .dataWrong, "cannot read the ledger: the user info of the policies is unreadable",
        remedy: "`godwit discard` the job and run again")
    }
    userInfo = known
    adoptShortCuts()
  }

  /// Ends the statements that write objects; what they counted stays.
  func dropWritings() {
    for writing in writings.values where writing.count > 0 { inserted[writing.entityName, default: 0] += writing.count }
    (writings, lastWriting) = ([:], nil)
  }

  /// Takes over from the state which links are written with their objects and which associations are computed.
  private func adoptShortCuts() {
    plainThrough = program.mappings.indices.map { state.plainThrough[$0] }
    left = program.mappings.indices.map { state.left[$0] }
    let takes = EngineTuning.current.writesDirectly
    setShortCuts(
      direct: takes ? state.direct ?? program.directLinks : [], plain: takes ? state.plain ?? program.plainMappings : []
    )
  }

  func setShortCuts(direct: Set<Int>, plain: Set<Int>) {
    generation += 1
    (self.direct, self.plain) = (direct, plain)
    (state.direct, state.plain) = (direct, plain)
    (programNow.direct, programNow.plain) = (direct, plain)
    directOf = program.mappings.indices.map { programNow.directLinks(of: $0) }
    isAllDirect = zip(program.mappings, directOf).map { !$1.isEmpty && $0.relationships.count == $1.count }
    (requests, lookUps) = ([:], [:])
  }

  package var isResuming: Bool { resumed.contains(current) }

  // MARK: Hooks

  /// Makes the policy ready for one of its chunks: in a resumed run its `begin` comes first.
  func prepare(_ policy: Int, for hook: PolicyHook) throws {
    current = policy
    guard !begun.contains(policy) else { return }
    guard hook != .begin, let keys = state.keysAtBegin[policy] else {
      begun.insert(policy)
      return
    }
    resumed.insert(policy)
    let kept = state
    state.nextKeys = keys
    isReplaying = true
    defer {
      isReplaying = false
      // What had to be written down for a hook that looks stays so.
      let (direct, plain, turn) = (state.direct, state.plain, max(state.turn, kept.turn))
      state = kept
      (state.direct, state.plain, state.turn) = (direct, plain, turn)
      inserted = [:]
      related = nil
    }
    try call(.begin, of: policy, on: nil) { instance, mapping, pass in try instance.begin(mapping, with: &pass) }
    begun.insert(policy)
  }

  func call(
    _ hook: PolicyHook, of policy: Int, on object: ManagedObject?,
    _ body: (any EntityMigrationPolicy, EntityMapping, inout PolicyContext) throws -> Void
  ) throws {
    current = policy
    self.hook = hook
    calls += 1
    problem = nil
    if !unproved.isEmpty { unproved = [] }
    if !own.isEmpty { own.removeAll() }
    if !made.isEmpty { made.removeAll() }
    if !turned.isEmpty { turned = [:] }
    if !keyed.isEmpty { keyed.removeAll(keepingCapacity: keyed.count < 100) }
    if !ownPairs.isEmpty { ownPairs.removeAll(keepingCapacity: true) }
    keyedSource = hook == .createDestinationInstances ? object : nil
    if hook == .begin, !isReplaying { state.keysAtBegin[policy] = state.nextKeys }
    var pass = PolicyContext(self)
    do {
      try body(instances[policy], mappings[policy], &pass)
      if let problem { throw problem }
      if !keyColumns.isEmpty { try settleKeys() }
      if hook == .createDestinationInstances, !plain.isEmpty { try settlePair() }
      if !unproved.isEmpty { try prove() }
    } catch { throw wrapped(error, object) }
  }

  /// At the end of a hook: what it associated or linked must be in the store.
  private func prove() throws {
    for object in unproved.sorted(by: { ($0.entity, $0.key) < ($1.entity, $1.key) }) where try !isInserted(object) {
      throw GodwitError(
        .dataWrong, "\(object.entity) p\(object.key) was associated but never inserted",
        remedy: "call 'insert' in the policy")
    }
  }

  /// Remembers what a subscript could not throw.
  package func note(_ error: any Error) { problem = problem ?? error }

  /// An error of a policy's own, with hook and object; a `GodwitError` stays what it is.
  func wrapped(_ error: any Error, _ object: ManagedObject?) -> any Error {
    let policy = program.resolved.policies[current]
    let place = "policy '\(policy.name)' failed in \(hook.name)\(object.map { " for \($0)" } ?? "")"
    if var known = error as? GodwitError {
      known.cause = known.cause ?? place
      return known
    }
    if error is SpillError { return error }
    let text = (error as? any LocalizedError)?.errorDescription ?? "\(error)"
    return GodwitError(
      .dataWrong, "\(place): \(text)",
      remedy:
        "repair the source and run the same command, or correct the policy, `godwit discard` the job and run again")
  }

  package func setUserInfo(_ value: [String: PropertyListValue]) {
    guard !isReplaying else { return }
    userInfo = value
    isUserInfoChanged = true
  }

  static let limitUserInfo = ByteCount.mebibytes(8)

  /// Writes what is kept. Call inside the chunk's transaction.
  func finishChunk() throws {
    if isUserInfoChanged {
      state.userInfo = PropertyListValue.dictionary(userInfo).binaryPropertyList
      isUserInfoChanged = false
      guard state.userInfo.count <= Self.limitUserInfo.bytes else {
        throw GodwitError(
          .dataWrong,
          "the user info of the policies takes \(ByteCount(bytes: Int64(state.userInfo.count))): expected \(Self.limitUserInfo) at most",
          remedy: "look objects up with destinationInstance(ofEntityNamed:where:equals:) instead of keeping them")
      }
    }
    try writeAsked()
    try writePairs()
    for (index, key) in plainThrough.enumerated() { state.plainThrough[index] = key }
    for (index, place) in left.enumerated() { state.left[index] = place }
    try ledger.setPolicyState(state)
    (prepared, keyColumns, keyLayout) = (nil, [], nil)
    for context in [sourceContext, destinationContext, draftContext] { context.reset() }
    statements = [:]
    dropWritings()
    inserted = [:]
  }

  /// Goes back to what the last chunk left, so that one that failed can run again.
  func takeBack() throws {
    (pairs, asked, inserted) = ([:], [:], [:])
    (prepared, related, unproved, indexes, statements) = (nil, nil, [], [], [:])
    _ = takeCounts()
    dropWritings()
    inserted = [:]
    (keyColumns, keyLayout, requests, ownPairs) = ([], nil, [:], [])
    isUserInfoChanged = false
    for context in [sourceContext, destinationContext, draftContext] { context.reset() }
    state = try ledger.policyState() ?? initial
    adoptShortCuts()
    userInfo = (try? PropertyListValue(binary: state.userInfo, maximumValues: 4_000_000).dictionary) ?? userInfo
  }

  /// A statement kept for the chunk.
  func cached(_ sql: String) throws -> SQLStatement {
    if let known = statements[sql] { return known }
    let statement = try connection.prepare(sql)
    statements[sql] = statement
    return statement
  }

  /// A statement's rows, with its places for errors in force.
  func rows(_ statement: ChunkStatement, from first: Int64, through last: Int64) throws -> [[SQLValue]] {
    try functions.running(statement, site: "policy '\(program.resolved.policies[current].name)'") {
      try rows(statement.sql, statement.builder.arguments(from: first, through: last))
    }
  }

  func rows(_ sql: String, _ arguments: [SQLValue]) throws -> [[SQLValue]] {
    let prepared = try cached(sql)
    try prepared.bind(arguments)
    var rows: [[SQLValue]] = []
    let columns = 0..<prepared.row.count
    while try prepared.step() { rows.append(prepared.row.values(columns)) }
    prepared.reset()
    return rows
  }

  /// Makes an index of a table of ours, or of one under construction, where there is none yet.
  func makeIndex(_ name: String, on columns: String) throws {
    guard indexes.insert(name).inserted else { return }
    try connection.execute("CREATE INDEX IF NOT EXISTS main.\(quoted(name)) ON \(columns)")
  }

  func failure(_ message: String, try remedy: String = "correct the policy") -> GodwitError {
    GodwitError(.dataWrong, message, remedy: remedy)
  }
}
