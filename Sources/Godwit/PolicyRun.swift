import Foundation
import GodwitModel
import GodwitSpill
import GodwitStore

/// What policies keep from chunk to chunk; it lies in the ledger and commits with each chunk of theirs.
struct PolicyState: Codable, Equatable {
  /// Destination root entity name to the key that the next new object takes.
  var nextKeys: [String: Int64]
  /// Counts associations and assignments, which orders them.
  var turn: Int64 = 0
  /// Policy to the dense keys it has given.
  var dense: [Int: Int64] = [:]
  /// Policy to what `nextKeys` was before its `begin`: when that runs again, its objects take the same keys.
  var keysAtBegin: [Int: [String: Int64]] = [:]
  /// A binary property list.
  var userInfo: [UInt8]
}

/// The policies of a step at work: the instances, the hook that runs, and all that a hook can do.
///
/// 1. Made when a run begins; the state is the ledger's.
/// 2. `call` runs one hook with a `MigrationPass` that leads here.
/// 3. `finishChunk` writes the state; a chunk that fails takes the run with it, so nothing is ever taken back here.
final class PolicyRun {
  enum Hook: Int, CaseIterable {
    case begin, endInstanceCreation, createRelationships, endRelationshipCreation, performCustomValidation, end
    /// Not a chunk of the policy stage: its chunks are those of instance creation.
    case createDestinationInstances

    var name: String {
      switch self {
      case .begin: "begin"
      case .createDestinationInstances: "createDestinationInstances"
      case .endInstanceCreation: "endInstanceCreation"
      case .createRelationships: "createRelationships"
      case .endRelationshipCreation: "endRelationshipCreation"
      case .performCustomValidation: "performCustomValidation"
      case .end: "end"
      }
    }
  }

  let program: StepProgram
  let connection: StoreConnection
  let functions: SQLFunctions
  let ledger: Ledger
  let folder: StepFolder
  let now: Double
  let memory: ByteCount
  let instances: [any EntityMigrationPolicy]
  let sourceContext: ObjectContext
  let destinationContext: ObjectContext
  /// Reads objects that are not inserted yet: their files are still the source's.
  let draftContext: ObjectContext

  var state: PolicyState
  private(set) var userInfo: [String: PropertyListValue]
  private var isUserInfoChanged = false
  private let isResumed: Bool
  /// Policies whose `begin` this process has run.
  private var begun: Set<Int> = []
  /// Policies that an earlier process began.
  private var resumed: Set<Int> = []
  /// While `begin` runs again: what it writes is there already.
  private(set) var isReplaying = false

  /// The policy at work.
  private(set) var current = 0
  private(set) var hook = Hook.begin
  /// The source object of the running `createDestinationInstances`, until an object has taken its key.
  var keyedSource: ManagedObject?
  private var problem: (any Error)?
  /// Associated in this hook and not seen in the store yet.
  var unproved: [ManagedObject] = []
  /// Objects made in this chunk, by entity.
  var inserted: [String: Int64] = [:]
  var statements: [String: SQLStatement] = [:]
  /// Indexes that look-ups by value have made sure of.
  var indexes: Set<String> = []
  var inverses: [Int: SpillReader] = [:]
  var rows: [Int: (columns: [String], statement: ChunkStatement)] = [:]
  /// What writes an object, by its entity.
  var writings: [String: Writing] = [:]

  struct Writing {
    var attributes: [(attribute: AttributeDescription, column: String)]
    /// Whether there is such a row.
    var probe: String
    var sql: String
  }

  /// `Entity.relationship` to the link and its end.
  let ends: [String: (link: Int, end: RelationshipLink.End)]

  init(
    job: MigrationJob, program: StepProgram, connection: StoreConnection, functions: SQLFunctions, ledger: Ledger,
    folder: StepFolder, isResumed: Bool
  ) throws {
    self.program = program
    self.connection = connection
    self.functions = functions
    self.ledger = ledger
    self.folder = folder
    self.isResumed = isResumed
    now = program.facts.now
    memory = job.memory
    instances = program.resolved.policies.map { $0.make() }
    sourceContext = ObjectContext(
      connection: connection, schema: program.sourceSchema, database: StoreConnection.sourceSchema)
    destinationContext = ObjectContext(connection: connection, schema: program.destinationSchema, database: "main")
    draftContext = ObjectContext(connection: connection, schema: program.destinationSchema, database: "main")
    let sourceFiles = SupportFolder(ofStoreAt: job.sourcePath)
    (sourceContext.support, draftContext.support, destinationContext.support) = (
      sourceFiles, sourceFiles, folder.support
    )
    var ends: [String: (link: Int, end: RelationshipLink.End)] = [:]
    for (index, link) in program.links.enumerated() {
      for end in [RelationshipLink.End.first, .second] {
        if let side = link.side(end) { ends["\(side.entityName).\(side.relationship.name)"] = (index, end) }
      }
    }
    self.ends = ends
    let initial = PropertyListValue.dictionary(job.userInfo).binaryPropertyList
    state =
      try ledger.policyState() ?? PolicyState(nextKeys: program.facts.freeKeys ?? [:], userInfo: initial)
    guard let known = try? PropertyListValue(binary: state.userInfo, maximumValues: 4_000_000).dictionary else {
      throw GodwitError(
        .dataWrong, "cannot read the ledger: the user info of the policies is unreadable",
        remedy: "`godwit discard` the job and run again")
    }
    userInfo = known
  }

  var isResuming: Bool { resumed.contains(current) }

  // MARK: Hooks

  /// Makes the policy ready for one of its chunks: in a resumed run its `begin` comes first.
  func prepare(_ policy: Int, for hook: Hook) throws {
    guard begun.insert(policy).inserted, hook != .begin else { return }
    guard let keys = state.keysAtBegin[policy] else { return }
    resumed.insert(policy)
    let kept = state
    state.nextKeys = keys
    isReplaying = true
    defer {
      isReplaying = false
      state = kept
      inserted = [:]
    }
    try call(.begin, of: policy, on: nil) { instance, mapping, pass in try instance.begin(mapping, with: &pass) }
  }

  func call(
    _ hook: Hook, of policy: Int, on object: ManagedObject?,
    _ body: (any EntityMigrationPolicy, EntityMapping, inout MigrationPass) throws -> Void
  ) throws {
    current = policy
    self.hook = hook
    problem = nil
    unproved = []
    keyedSource = hook == .createDestinationInstances ? object : nil
    if hook == .begin, !isReplaying { state.keysAtBegin[policy] = state.nextKeys }
    let resolved = program.resolved.policies[policy]
    var pass = MigrationPass(self)
    do {
      try body(instances[policy], resolved.mapping, &pass)
      if let problem { throw problem }
      for object in unproved where try !isInserted(object) {
        throw GodwitError(
          .dataWrong, "\(object) was associated and never inserted", remedy: "call 'insert' in the policy")
      }
    } catch { throw wrapped(error, object) }
  }

  /// Remembers what a subscript could not throw.
  func note(_ error: any Error) { problem = problem ?? error }

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

  func setUserInfo(_ value: [String: PropertyListValue]) {
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
          remedy: "look objects up with destinationInstance(ofEntityNamed:where:equals:) in place of keeping them")
      }
    }
    try ledger.setPolicyState(state)
    for context in [sourceContext, destinationContext, draftContext] { context.reset() }
    statements = [:]
    inserted = [:]
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
      let prepared = try cached(statement.sql)
      try prepared.bind(statement.builder.arguments(from: first, through: last))
      var rows: [[SQLValue]] = []
      while try prepared.step() {
        rows.append((0..<prepared.row.count).map { prepared.row.value($0) })
      }
      try prepared.bind([])
      return rows
    }
  }

  func rows(_ sql: String, _ arguments: [SQLValue]) throws -> [[SQLValue]] {
    let prepared = try cached(sql)
    try prepared.bind(arguments)
    var rows: [[SQLValue]] = []
    while try prepared.step() { rows.append((0..<prepared.row.count).map { prepared.row.value($0) }) }
    try prepared.bind([])
    return rows
  }

  func failure(_ message: String, try remedy: String = "correct the policy") -> GodwitError {
    GodwitError(.dataWrong, message, remedy: remedy)
  }
}
