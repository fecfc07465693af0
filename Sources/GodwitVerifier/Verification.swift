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
  let progress: VerificationProgress
  let fileProof: FileProof
  private let keys: KeyAssignment
  private let plans: LinkPlans
  private let values: ValueProof
  private let externalFiles: ExternalFileProof
  private let met: MetProof
  private let objectProof: ObjectProof

  init(_ stores: ComparedStores) {
    self.stores = stores
    keys = KeyAssignment(stores)
    plans = LinkPlans(stores, keys)
    progress = VerificationProgress(stores, findings, plans)
    fileProof = FileProof(stores, findings, progress)
    values = ValueProof(stores, keys, findings)
    externalFiles = ExternalFileProof(stores, findings)
    met = MetProof(stores, keys, values, findings, progress)
    objectProof = ObjectProof(stores, keys, plans, values, externalFiles, met, findings, progress)
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
    try externalFiles.prepareExternalNames()
    let integrity = try fileProof.beginIntegrityCheck()
    defer { progress.keep(integrity.known) }
    do { try compare() } catch {
      // Damage of the source is the cause of many an error.
      if !progress.isStopped() { try? fileProof.finish(integrity) }
      throw error
    }
    try fileProof.finish(integrity)
    progress.advance(1)
  }

  /// Everything but SQLite's own check.
  private func compare() throws {
    let isReadable = try fileProof.checkFile()
    try progress.proceed(Share.file)
    // Without the tables no comparison is possible; the findings say so.
    guard isReadable else { return }
    try associate()
    try progress.proceed(Share.associations)
    try plans.planLinks()
    if let start = progress.start, met.met == nil { try resume(start) }
    if progress.checkpoint?.isPastObjects != true { try compareAllObjects() }
    try progress.proceed(Share.objects)
    try LinkProof(stores, keys, plans, met, findings, progress).compareRelationships()
    try met.checkRecord()
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
    try met.find()
    try CounterProof(stores, findings).checkCounters(keys)
  }

  private func compareAllObjects() throws {
    // An interrupted insertion would lose recorded findings. Both stores check for a stop often enough.
    stores.scratch.whileRunning(stopIf: nil)
    defer { stores.scratch.whileRunning(stopIf: progress.isStopped) }
    try objectProof.compareObjects()
    if stores.sample == nil {
      try DerivedValueProof(stores, findings).compareDerived()
      try externalFiles.checkExternalFiles()
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
    guard let names = try? externalFiles.externalNames(limit: limit + 1) else { return nil }
    checkpoint.externalNames += names
    return checkpoint.externalNames.count > limit ? nil : checkpoint
  }

  /// Restores the state of an earlier verification. Up to here, this one has the same results.
  private func resume(_ start: VerificationCheckpoint) throws {
    for name in start.externalNames { try externalFiles.noteExternalName(name) }
    progress.resume(start)
  }
}
