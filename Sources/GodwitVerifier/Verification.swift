import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// One running comparison: both stores open for reading, and temporary tables for data that is too large for memory.
///
/// 1. `checkFile`: tables, metadata, counters. SQLite's own check runs on a second thread until the end.
/// 2. `associate`: which source objects each mapping takes, and the destination key of each.
/// 3. `compareObjects`: rows one by one, both directions, with values and rules; `compareDerived`: derived ones.
/// 4. `compareRelationships`: assignments replayed, keys, join rows and order compared.
/// 5. `checkRules`: counts of relationships, uniqueness.
final class Verification {
  /// The name under which each of the two connections has its store.
  static let attached = StoreConnection.sourceSchema

  let job: MigrationJob
  let source: StoreConnection
  let destination: StoreConnection
  /// Holds nothing but temporary tables, in a file that SQLite removes.
  let scratch: StoreConnection
  /// Held by a thread that looks up keys in it, while several do.
  let scratchTurn = NSLock()
  let sourceSchema: StoreSchema
  let destinationSchema: StoreSchema
  let mappings: [VerifiedMapping]
  let objects: ObjectContext
  let fetches = FetchedObjects()
  /// The expressions by mapping and attribute.
  var compiledExpressions: [Int: [String: CompiledExpression]] = [:]
  private var statements: [ObjectIdentifier: [String: SQLStatement]] = [:]
  /// The root entity of the source whose objects keep their keys, by destination root entity.
  var keptRoots: [String: String] = [:]
  /// The counterparts by mapping.
  var counterparts: [Counterparts] = []
  /// The mappings that have keys in a destination table, by its root entity, in the order of their claims.
  var claimed: [String: [Int]] = [:]
  /// Root entities whose tables have other objects than the mappings lead to.
  var unsound: Set<String> = []
  /// The plans of relationships that need no replay, by the name of their first end.
  var linkPlans: [String: LinkPlan] = [:]
  var layouts: [String: VerifiedLayout] = [:]
  /// For single rows of the destination, by table.
  private var readers: [String: RowReader] = [:]
  var patterns: [Text: NSRegularExpression] = [:]
  /// Destination entity by `Z_ENT`.
  let names: [Int64: String]
  /// For a destination that several jobs made: which part is this one's.
  let appended: AppendedPart?
  /// For a store that was migrated in place: the one that it was made of.
  let original: PreMigrationStore?
  /// Whether rows are compared in place and relationships without a replay where both can be. Never for the findings'
  /// sake: they are the same without.
  let usesShortcuts: Bool
  /// Which objects are looked at; nil for all.
  let sample: KeySample?
  /// The value of `now()`.
  let moment: JobClock
  var now: Double { moment.now }
  var report = VerificationReport()
  /// Whether the verification must end early. Called on a second thread too.
  var isStopped: @Sendable () -> Bool = { false }
  /// Tells the share that is done.
  var advance: (Double) -> Void = { _ in }
  /// Rows compared so far, and the share of the whole that each is.
  var rowsDone: Int64 = 0
  var rowShare = 0.0
  /// Entities of the destination that have objects which no mapping without a policy explains.
  var policyEntities: Set<String> = []
  /// The progress of an earlier verification of the same stores; nil to begin with the first row.
  var start: VerificationCheckpoint?
  /// The comparison's progress at the last place where the next verification may continue; nil before the first one.
  private(set) var checkpoint: VerificationCheckpoint?
  /// After how many rows a checkpoint follows.
  var rowsPerCheckpoint: Int64 = 4096
  /// Whether enough rows were compared since the last checkpoint.
  var isCheckpointDue = false
  /// Whether SQLite finds the source damaged.
  var isSourceDamaged = false

  /// - Parameters:
  ///   - part: The part of the destination that the job made; nil for all of it.
  ///   - path: A copy of the source without the objects in quarantine; nil for the source itself.
  init(
    _ job: MigrationJob, moment: JobClock, part: AppendedPart? = nil, original: PreMigrationStore? = nil,
    usesShortcuts: Bool = true, sample: KeySample? = nil, readingSourceAt path: String? = nil
  ) throws {
    let lowered = try job.loweringPairs()
    (self.job, self.moment, self.sample) = (lowered, moment, sample)
    self.usesShortcuts = usesShortcuts
    self.original = original
    appended = part
    mappings = try VerifiedMapping.all(of: lowered, at: moment, earlier: appended?.earlierMappings(lowered) ?? [])
    let cache = ByteCount(bytes: max(job.memory.bytes / 8, 1 << 20))
    source = try .openStore(readingAt: path ?? job.sourcePath, cache: cache, model: job.sourceModel)
    destination = try .openStore(
      readingAt: job.destinationPath, cache: cache, model: job.destinationModel, purpose: .comparison)
    scratch = try StoreConnection(path: nil, cache: .mebibytes(1))
    for connection in [source, destination, scratch] { try connection.execute("PRAGMA temp_store = FILE") }
    sourceSchema = try StoreSchema(model: lowered.sourceModel, probing: source)
    // A store that was there before may be numbered as an old version of Core Data did.
    destinationSchema =
      appended?.foundStore == true
      ? try StoreSchema(model: job.destinationModel, probing: destination)
      : try job.destinationSchema(from: sourceSchema)
    names = Dictionary(destinationSchema.entityNumbers.map { (Int64($1), $0) }) { first, _ in first }
    objects = ObjectContext(connection: source, schema: sourceSchema, database: Self.attached)
    for store in [job.sourcePath, job.destinationPath] { try SupportFolder(ofStoreAt: store).refuseLinks() }
    objects.support = SupportFolder(ofStoreAt: job.sourcePath)
    objects.missingFilesAreNil = job.missingFilesAreNil
    objects.leavesLargeValues = true
    try scratch.execute("CREATE TEMP TABLE probe (x)")
    try scratch.execute("PRAGMA temp.cache_size = -\(max(job.memory.bytes / 8, 1 << 20) / 1024)")
  }

  /// A reader of the same stores for another thread, which proves rows and reports nothing.
  init(reading source: StoreConnection, _ destination: StoreConnection, as other: Verification) throws {
    (self.source, self.destination, scratch) = (source, destination, other.scratch)
    (job, moment, sample, original, appended) = (other.job, other.moment, other.sample, other.original, other.appended)
    (usesShortcuts, mappings, names) = (other.usesShortcuts, other.mappings, other.names)
    (sourceSchema, destinationSchema) = (other.sourceSchema, other.destinationSchema)
    objects = ObjectContext(connection: source, schema: sourceSchema, database: Self.attached)
    objects.support = SupportFolder(ofStoreAt: job.sourcePath)
    objects.missingFilesAreNil = job.missingFilesAreNil
    objects.leavesLargeValues = true
    (counterparts, claimed) = (other.counterparts, other.claimed)
    linkPlans = other.linkPlans.mapValues(\.withoutCount)
  }

  /// - Parameter progress: Called with the share that is done, 0 to 1.
  func run(progress: (Double) -> Void) throws {
    try withoutActuallyEscaping(progress) { progress in
      advance = progress
      defer { advance = { _ in } }
      try run()
    }
  }

  private func run() throws {
    try proceed(0)
    // The scratch data are dropped with the connection. One transaction saves a journal for each statement.
    try scratch.execute("BEGIN")
    try prepareExternalNames()
    let integrity = try beginIntegrityCheck()
    defer { checkpoint?.integrity = integrity.known }
    do { try compare() } catch {
      // Damage of the source is the cause of many an error.
      if !isStopped() { try? finish(integrity) }
      throw error
    }
    try finish(integrity)
    advance(1)
  }

  /// Everything but SQLite's own check.
  private func compare() throws {
    let isReadable = try checkFile()
    try proceed(Share.file)
    // Without the tables no comparison is possible; the findings say so.
    guard isReadable else { return }
    try associate()
    try proceed(Share.associations)
    try planLinks()
    if let start { try resume(start) }
    if checkpoint?.isPastObjects != true { try compareAllObjects() }
    try proceed(Share.objects)
    try compareRelationships()
    try proceed(Share.relationships)
    if sample == nil { try checkRules() }
    statements = [:]
    readers = [:]
    try proceed(Share.rules)
  }

  private func compareAllObjects() throws {
    // An interrupted insertion would lose recorded findings. Both stores check for a stop often enough.
    scratch.whileRunning(stopIf: nil)
    defer { scratch.whileRunning(stopIf: isStopped) }
    try compareObjects()
    if sample == nil {
      try compareDerived()
      try checkExternalFiles()
    } else {
      report.count(
        "not proved: a sample leaves out derived values, external files that no value names, and rules that concern several objects",
        1)
    }
    keep { $0.isPastObjects = true }
  }

  // MARK: Going on

  private var toOnes: [String: VerificationCheckpoint.ToOne] {
    linkPlans.compactMapValues(\.proof).mapValues { .init(count: $0.count, isDoubtful: $0.isDoubtful) }
  }

  /// Marks a place where the next verification may continue.
  ///
  /// - Parameter change: The work done since the last one.
  func keep(_ change: (inout VerificationCheckpoint) -> Void) {
    // A sample is another one each time.
    guard sample == nil else { return }
    var checkpoint = checkpoint ?? VerificationCheckpoint(report: report)
    checkpoint.report = report
    checkpoint.toOnes = toOnes
    (checkpoint.unsound, checkpoint.policyEntities) = (unsound, policyEntities)
    checkpoint.rowsDone = rowsDone
    change(&checkpoint)
    self.checkpoint = checkpoint
  }

  /// The checkpoint of a verification that has stopped; nil if the next one must begin with the first row.
  func finalCheckpoint() -> VerificationCheckpoint? {
    guard var checkpoint, !checkpoint.isPastObjects else { return checkpoint }
    // The reason of the stop would stop this too.
    scratch.whileRunning(stopIf: nil)
    let limit = VerificationCheckpoint.nameLimit
    guard let names = try? scratch.strings("SELECT name FROM temp.external LIMIT \(limit + 1)") else { return nil }
    checkpoint.externalNames += names
    return checkpoint.externalNames.count > limit ? nil : checkpoint
  }

  /// Restores the state of an earlier verification. Up to here, this one has the same results.
  private func resume(_ start: VerificationCheckpoint) throws {
    report = start.report
    (unsound, policyEntities) = (start.unsound, start.policyEntities)
    rowsDone = start.rowsDone
    for name in start.externalNames {
      try cached("INSERT OR IGNORE INTO temp.external (name) VALUES (?1)", on: scratch).run([.text(name)])
    }
    for (name, known) in start.toOnes { linkPlans[name]?.proof?.resume(known) }
    checkpoint = start
    checkpoint?.externalNames = []
  }

  /// Tells the share that is done, where the verification may end early.
  private func proceed(_ share: Double) throws {
    advance(share)
    try checkStop()
  }

  func checkStop() throws {
    guard isStopped() else { return }
    throw GodwitError(.stopped, "cannot verify '\(job.destinationPath)': stopped before the end")
  }

  /// How much is done after each part, about.
  enum Share {
    static let file = 0.01
    static let associations = 0.2
    static let objects = 0.75
    static let relationships = 0.9
    static let rules = 0.95
  }

  // MARK: Findings

  func find(
    _ kind: VerificationReport.Finding.Kind, _ entity: String, key: Int64? = nil, property: String? = nil,
    _ message: String
  ) {
    report.add(.init(kind, entity: entity, key: key, property: property, message: message))
  }

  /// A finding that concerns no entity of the destination.
  func find(
    _ kind: VerificationReport.Finding.Kind, key: Int64? = nil, property: String? = nil, _ message: String
  ) {
    report.add(.init(kind, key: key, property: property, message: message))
  }

  // MARK: Statements

  /// A cached statement for many runs. Not for one that is still being stepped at the next request.
  func cached(_ sql: String, on connection: StoreConnection) throws -> SQLStatement {
    try connection.prepare(sql, keptIn: &statements[ObjectIdentifier(connection), default: [:]])
  }

  /// The first row of a cached statement; nil without rows.
  func row(_ sql: String, _ arguments: [SQLValue], on connection: StoreConnection) throws -> [SQLValue]? {
    try cached(sql, on: connection).firstRow(arguments)
  }

  /// A row of a destination table by its key; nil if it is missing.
  func destinationRow(_ key: Int64, of entity: String) throws -> StoredRow? {
    let table = try destinationTable(entity)
    let reader =
      try readers[table.name]
      ?? RowReader(
        destination, database: Self.attached, table: table.name, columns: table.columns.map { .init(name: $0.name) })
    readers[table.name] = reader
    return try reader.row(key)
  }

  func integer(_ sql: String, _ arguments: [SQLValue], on connection: StoreConnection) throws -> Int64? {
    if case .integer(let value)? = try row(sql, arguments, on: connection)?.first { value } else { nil }
  }

  /// A table of either store, by its name there.
  func table(_ name: String) -> String { "\(Self.attached).\(StoreSchema.identifier(name))" }

  func destinationTable(_ entity: String) throws -> StoreSchema.EntityTable {
    guard let table = destinationSchema.table(of: entity) else {
      throw GodwitError(.internalBug, "cannot find the table of '\(entity)'")
    }
    return table
  }

  func sourceTable(_ entity: String) throws -> StoreSchema.EntityTable {
    guard let table = sourceSchema.table(of: entity) else {
      throw GodwitError(.internalBug, "cannot find the table of '\(entity)'")
    }
    return table
  }

  /// The condition that a row with the number `column` is an object of the entity or a subentity, as a term of others.
  func isKind(_ entity: String, _ column: String, in schema: StoreSchema) -> String {
    schema.fillsTable(entity) ? "TRUE" : "\(column) IN (\(numbers(entity, in: schema)))"
  }

  /// The numbers of an entity and its subentities, for `Z_ENT IN (…)`.
  func numbers(_ entity: String, in schema: StoreSchema) -> String {
    schema.model.family(of: entity).compactMap { schema.number(of: $0.name) }.map(String.init).joined(separator: ", ")
  }
}
