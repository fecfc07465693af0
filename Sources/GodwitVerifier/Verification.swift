import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// One running comparison: the phases in their order.
///
/// 1. `checkFile`: tables, metadata, counters. SQLite's own check runs on a second thread until the end.
/// 2. `associate`: which source objects each mapping takes, and the destination key of each.
/// 3. `compareObjects`: rows one by one, both directions, with values and rules; `compareDerived`: derived ones.
/// 4. `compareRelationships`: assignments replayed, keys, join rows and order compared.
/// 5. `checkRules`: counts of relationships, uniqueness.
final class Verification {
  typealias Share = VerificationProgress.Share

  let stores: ComparedStores
  let findings = Findings()
  let keys: KeyAssignment
  let plans: LinkPlans
  let progress: VerificationProgress
  let values: ValueProof
  let files: ExternalFileProof
  let proof: ObjectProof
  let file: FileProof
  // FORWARDS
  static let attached = ComparedStores.attached
  var job: MigrationJob { stores.job }
  var source: StoreConnection { stores.source }
  var destination: StoreConnection { stores.destination }
  var scratch: StoreConnection { stores.scratch }
  var sourceSchema: StoreSchema { stores.sourceSchema }
  var destinationSchema: StoreSchema { stores.destinationSchema }
  var mappings: [VerifiedMapping] { stores.mappings }
  var objects: ObjectContext { stores.objects }
  var fetches: FetchedObjects { stores.fetches }
  var names: [Int64: String] { stores.entityNames }
  var appended: AppendedPart? { stores.appended }
  var original: PreMigrationStore? { stores.original }
  var usesShortcuts: Bool { stores.usesShortcuts }
  var sample: KeySample? { stores.sample }
  var moment: JobClock { stores.moment }
  var now: Double { stores.now }
  var hasPolicies: Bool { stores.hasPolicies }
  var sourceFolder: SupportFolder { stores.sourceFolder }
  var destinationFolder: SupportFolder { stores.destinationFolder }
  var counterparts: [Counterparts] { keys.counterparts }
  var claimed: [String: [Int]] { keys.claimed }
  func cached(_ sql: String, on connection: StoreConnection) throws -> SQLStatement {
    try stores.cached(sql, on: connection)
  }
  func row(_ sql: String, _ arguments: [SQLValue], on connection: StoreConnection) throws -> [SQLValue]? {
    try stores.row(sql, arguments, on: connection)
  }
  func destinationRow(_ key: Int64, of entity: String) throws -> StoredRow? {
    try stores.destinationRow(key, of: entity)
  }
  func integer(_ sql: String, _ arguments: [SQLValue], on connection: StoreConnection) throws -> Int64? {
    try stores.integer(sql, arguments, on: connection)
  }
  func table(_ name: String) -> String { stores.table(name) }
  func destinationTable(_ entity: String) throws -> StoreSchema.EntityTable { try stores.destinationTable(entity) }
  func sourceTable(_ entity: String) throws -> StoreSchema.EntityTable { try stores.sourceTable(entity) }
  func sourceObjects(of entity: String) throws -> CursorObject? { try stores.sourceObjects(of: entity) }
  func layout(of entity: String) throws -> VerifiedLayout { try stores.layout(of: entity) }
  func isKind(_ entity: String, _ column: String, in schema: StoreSchema) -> String {
    stores.isKind(entity, column, in: schema)
  }
  func numbers(_ entity: String, in schema: StoreSchema) -> String { stores.numbers(entity, in: schema) }
  func keys(of root: String) -> AppendedPart.Keys { stores.keys(of: root) }
  func own(_ key: String, _ entity: String) -> String { stores.own(key, entity) }
  func ownRows(_ from: String, _ entity: String, _ to: String, _ other: String) -> String {
    stores.ownRows(from, entity, to, other)
  }
  func isMade(_ key: Int64, root: String) throws -> Bool { try keys.isMade(key, root: root) }
  func isMadeByPolicy(_ key: Int64, _ entity: String) throws -> Bool { try keys.isMadeByPolicy(key, entity) }
  func find(
    _ kind: VerificationReport.Finding.Kind, _ entity: String, key: Int64? = nil, property: String? = nil,
    _ message: String
  ) {
    findings.find(kind, entity, key: key, property: property, message)
  }
  func find(
    _ kind: VerificationReport.Finding.Kind, key: Int64? = nil, property: String? = nil, _ message: String
  ) {
    findings.find(kind, key: key, property: property, message)
  }
  // END

  init(_ stores: ComparedStores) {
    self.stores = stores
    keys = KeyAssignment(stores)
    plans = LinkPlans(stores, keys)
    progress = VerificationProgress(stores, findings, plans)
    file = FileProof(stores, findings, progress)
    values = ValueProof(stores, keys, findings)
    files = ExternalFileProof(stores, findings)
    proof = ObjectProof(stores, keys, plans, values, files, findings, progress)
  }

  /// - Parameter progress: Called with the share that is done, 0 to 1.
  func run(progress tell: (Double) -> Void) throws {
    try withoutActuallyEscaping(tell) { tell in
      progress.advance = tell
      defer { progress.advance = { _ in } }
      try run()
    }
  }

  private func run() throws {
    try progress.proceed(0)
    // The scratch data are dropped with the connection. One transaction saves a journal for each statement.
    try stores.scratch.execute("BEGIN")
    try files.prepareExternalNames()
    let integrity = try file.beginIntegrityCheck()
    defer { progress.keep(integrity.known) }
    do { try compare() } catch {
      // Damage of the source is the cause of many an error.
      if !progress.isStopped() { try? file.finish(integrity) }
      throw error
    }
    try file.finish(integrity)
    progress.advance(1)
  }

  /// Everything but SQLite's own check.
  private func compare() throws {
    let isReadable = try file.checkFile()
    try progress.proceed(Share.file)
    // Without the tables no comparison is possible; the findings say so.
    guard isReadable else { return }
    try associate()
    try progress.proceed(Share.associations)
    try plans.planLinks()
    if let start = progress.start { try resume(start) }
    if progress.checkpoint?.isPastObjects != true { try compareAllObjects() }
    try progress.proceed(Share.objects)
    try compareRelationships()
    try progress.proceed(Share.relationships)
    if stores.sample == nil { try RuleProof(stores, keys, findings).checkRules() }
    stores.dropStatements()
    try progress.proceed(Share.rules)
  }

  /// Finds which source objects each mapping takes, and under which keys their objects lie.
  private func associate() throws {
    let selection = SourceSelection(stores, keys, values.expectedValues, findings)
    try selection.takeAll { done in
      let all = Double(stores.mappings.count + 1)
      progress.advance(Share.file + (Share.associations - Share.file) * Double(done) / all)
    }
    try selection.countSources()
    if stores.sample == nil { try PairProof(stores, findings, progress).provePairs() }
    let search = KeySearch(stores, keys, values, findings)
    for root in stores.job.destinationModel.rootEntities { try search.assignKeys(root: root.name) }
    try CounterProof(stores, findings).checkCounters(keys)
  }

  private func compareAllObjects() throws {
    // An interrupted insertion would lose recorded findings. Both stores check for a stop often enough.
    stores.scratch.whileRunning(stopIf: nil)
    defer { stores.scratch.whileRunning(stopIf: progress.isStopped) }
    try proof.compareObjects()
    if stores.sample == nil {
      try DerivedValueProof(stores, findings).compareDerived()
      try files.checkExternalFiles()
    } else {
      findings.count(
        "not proved: a sample leaves out derived values, external files that no value names, and rules that concern several objects",
        1)
    }
    progress.keep { $0.isPastObjects = true }
  }

  // MARK: Going on

  /// The checkpoint of a verification that has stopped; nil if the next one must begin with the first row.
  func finalCheckpoint() -> VerificationCheckpoint? {
    guard var checkpoint = progress.checkpoint, !checkpoint.isPastObjects else { return progress.checkpoint }
    // The reason of the stop would stop this too.
    stores.scratch.whileRunning(stopIf: nil)
    let limit = VerificationCheckpoint.nameLimit
    guard let names = try? files.externalNames(limit: limit + 1) else { return nil }
    checkpoint.externalNames += names
    return checkpoint.externalNames.count > limit ? nil : checkpoint
  }

  /// Restores the state of an earlier verification. Up to here, this one has the same results.
  private func resume(_ start: VerificationCheckpoint) throws {
    for name in start.externalNames { try files.noteExternalName(name) }
    progress.resume(start)
  }
}
