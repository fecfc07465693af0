import Foundation
import GodwitEngine
package import GodwitJob
import GodwitModel
package import GodwitStore

/// Makes a store of the same version without persistent history and without free pages, in the place of the old one.
///
/// 1. The store is locked with SQLite's own locks, and its log is written back.
/// 2. A copy in the work folder beside it loses the rows of history. The counters of history stay, so that a token from
///    before never names a later transaction.
/// 3. SQLite writes the copy into a new file without free pages (`VACUUM INTO`).
/// 4. The result is compared with the store, value by value, and exchanged for it: see `InPlaceSwap`.
/// A process that dies before the exchange leaves the old store; the next call begins again. One that dies after it leaves
/// the new store, and the next call ends the work.
package struct StoreCompaction {
  let path: String
  let keepsOld: Bool
  let acceptsMirror: Bool
  let model: String?
  /// Asked between parts of the work, and by SQLite.
  package var control = MigrationControl()
  /// Called before each step of the exchange with its number; a test dies there.
  package var beforeExchangeStep: (Int) throws -> Void = { _ in }
  /// The room of a folder; a test makes it scarce.
  package var freeSpace: (String) -> FreeSpace? = FreeSpace.at

  /// - Parameters:
  ///   - keepsOld: Whether the old store stays, as `Name~.ext`.
  ///   - acceptsMirror: Whether a store that CloudKit mirrors is compacted.
  ///   - model: A compiled model, a `.mom` or a bundle with one: a store without `Z_MODELCACHE` gets it.
  package init(store: String, keepsOld: Bool = false, acceptsMirror: Bool = false, model: String? = nil) {
    path = StoreFiles.resolvingLink(store)
    (self.keepsOld, self.acceptsMirror, self.model) = (keepsOld, acceptsMirror, model)
  }

  private static let owner = WorkJournal.Owner(job: "godwit compact", appends: false)

  // MARK: Looking

  /// Says what a compaction would win. Writes nothing.
  ///
  /// - Throws: `.dataWrong` (65) for a file that is no SQLite store of Core Data, or a mirrored store that was not accepted;
  ///   `.noPath` (69) if the named model is of another version; what the disk refused.
  package func plan() throws -> CompactionReport {
    try StoreFiles.refuseImpossible(path)
    try refuseOthersWork()
    return try look().report
  }

  /// The work that a look finds.
  struct Finding {
    var report: CompactionReport
    /// The model for `Z_MODELCACHE`, as it is stored.
    var cache: [UInt8]?
  }

  private func look() throws -> Finding {
    let files = try StoreFiles(path: path)
    guard files.type == .sqlite else {
      throw GodwitError(
        .dataWrong, "cannot compact '\(path)': it is a \(files.type.rawValue) store",
        remedy: "only a SQLite store has history and free pages")
    }
    if let log = try UnusedLog.findings(ofStoreAt: path).first(where: \.mayHoldContent) { throw refusal(of: log) }
    let connection = try StoreConnection.openStore(readingAt: path)
    defer { try? connection.close() }
    let tables = try connection.strings("SELECT name FROM source.sqlite_master WHERE type = 'table' ORDER BY rowid")
    let mirror = tables.filter { $0.hasPrefix("ANSCK") }
    if let first = mirror.first, !acceptsMirror { throw refusal(ofMirror: first) }
    let stamp = try files.stamp()
    let pageSize = try connection.integer("PRAGMA source.page_size") ?? 0
    let free = try connection.integer("PRAGMA source.freelist_count") ?? 0
    let history = try StoreSchema.historyTables.filter(tables.contains).map { table in
      CompactionReport.History(
        table: table, rows: try connection.integer("SELECT COUNT(*) FROM source.\(quoted(table))") ?? 0,
        bytes: bytes(of: table, connection))
    }
    let size = stamp.store.size + (stamp.wal?.size ?? 0)
    let pages = try connection.integer("PRAGMA source.page_count") ?? 0
    let won = free * pageSize + history.reduce(0) { $0 + ($1.rows > 0 ? $1.bytes ?? 0 : 0) }
    var notes = [try MissingLog.note(ofStoreAt: path)].compactMap(\.self)
    let (state, cache) = try modelCache(tables, connection, &notes)
    if history.contains(where: { $0.rows > 0 }) {
      notes.append(
        "persistent history goes: whoever reads it with a token from before gets NSPersistentHistoryTokenExpiredError (134301) and has to read everything again"
      )
    }
    if !mirror.isEmpty {
      notes.append("CloudKit mirrors the store: changes that it has not exported yet are never exported")
    }
    let report = CompactionReport(
      store: path, outcome: .planned, sizeBytes: size, freeBytes: free * pageSize, history: history,
      expectedBytes: max(pageSize, pages * pageSize - won + Int64(cache?.count ?? 0)), newBytes: nil, modelCache: state,
      isMirrored: !mirror.isEmpty, keptAs: nil, notes: notes)
    guard !report.isCompact else { return Finding(report: report.ending(.nothingToDo), cache: cache) }
    if let index = try connection.foreignIndexes(in: StoreConnection.sourceSchema).first {
      throw refusal(ofForeign: index.reason)
    }
    return Finding(report: report, cache: cache)
  }

  /// - Parameter reason: The collation or function that SQLite lacks to write the store into a new file.
  func refusal(ofForeign reason: String, cause: String? = nil) -> GodwitError {
    GodwitError(
      .dataWrong, "cannot compact '\(path)': \(reason)", cause: cause,
      remedy: "let the application run VACUUM, or drop what needs it and let the application make it again",
      safe: "the store is unchanged")
  }

  /// Writing a log back removes what SQLite does not read in it.
  private func refusal(of log: UnusedLog.Finding) -> GodwitError {
    GodwitError(
      .dataWrong, "cannot compact '\(path)': \(log.text)",
      cause: "SQLite would remove what it passes over there, and that may be the newest changes",
      remedy:
        "`godwit salvage` reads what is whole; to go without the rest, open the store once with SQLite, which writes back what counts",
      safe: "the store is unchanged")
  }

  private func refusal(ofMirror table: String) -> GodwitError {
    GodwitError(
      .dataWrong, "cannot compact '\(path)': CloudKit mirrors it (table '\(table)')",
      cause:
        "the mirror finds what it has to export in the persistent history; changes that it has not exported yet would never be",
      remedy:
        "let the application export its changes first, and pass `--mirrored`; or leave the history to the container, which removes what it has exported",
      safe: "the store is unchanged")
  }

  /// The bytes of the pages of a table and of its indexes; nil if this SQLite cannot tell (it lacks `dbstat`).
  private func bytes(of table: String, _ connection: StoreConnection) -> Int64? {
    try? connection.integer(
      """
      SELECT COALESCE(SUM(pgsize), 0) FROM dbstat('source') WHERE aggregate = TRUE AND name IN \
      (SELECT name FROM source.sqlite_master WHERE tbl_name = ?1 AND type IN ('table', 'index'))
      """, [.text(table)])
  }

  // MARK: The model

  private func modelCache(
    _ tables: [String], _ connection: StoreConnection, _ notes: inout [String]
  ) throws -> (CompactionReport.ModelCache, [UInt8]?) {
    let isThere =
      try tables.contains("Z_MODELCACHE")
      && connection.integer("SELECT COUNT(*) FROM source.Z_MODELCACHE WHERE Z_CONTENT IS NOT NULL") ?? 0 > 0
    guard let model, !isThere else { return (isThere ? .present : .absent, nil) }
    guard !tables.contains("Z_MODELCACHE") else {
      notes.append("the store has an empty table Z_MODELCACHE, and it stays empty: Core Data never makes one")
      return (.absent, nil)
    }
    let metadata = try StoreMetadata(reading: connection, path: path)
    return (.added, try ModelArchive(at: model, fitting: metadata, ofStoreAt: path).cache)
  }

  // MARK: Running

  /// Compacts the store, or ends what an earlier call began.
  ///
  /// - Throws: as `plan`; `.stopped` (75) if another process has the store open, or `control` stops the work;
  ///   `.cannotCreate` (73) if `Name~.ext` exists, or a run has unfinished work on the store; `.permission` (77) if the new
  ///   file cannot get owner and rights of the old one.
  package func run() throws -> CompactionReport {
    try StoreFiles.refuseImpossible(path)
    try refuseOthersWork()
    let known = try look()
    if known.report.outcome == .nothingToDo, try !WorkFolder.exists(forDestination: path) { return known.report }
    let folder = try WorkFolder(forDestination: path)
    do {
      let report = try run(in: folder)
      try folder.remove()
      return report
    } catch {
      // An exchange that has begun is for the next call.
      if try WorkJournal.read(in: folder.path) == nil { try? folder.remove() }
      throw error
    }
  }

  private func run(in folder: borrowing WorkFolder) throws -> CompactionReport {
    try refuseOthersWork()
    let lock = try StoreLock(store: path, action: "compact '\(path)'")
    defer { withExtendedLifetime(lock) {} }
    var swap = try swap(in: folder.path)
    let isDone = try swap.finishReplacement(workFolder: folder.path)
    try folder.removeContent()
    swap.mark = nil
    let finding = try look()
    if finding.report.outcome == .nothingToDo {
      guard isDone else { return finding.report }
      var report = finding.report.ending(.compacted)
      report.newBytes = report.sizeBytes
      report.notes.append("an earlier call was stopped after it had compacted the store; this one ended its work")
      return report
    }
    try swap.checkOldName()
    try swap.checkRights(workFolder: folder.path)
    try refuseTooLittleRoom(finding.report)
    let made = try make(finding, in: folder.path)
    try control.checkpoint()
    try swap.replace(with: made, support: StepFolder(path: folder.path).support, workFolder: folder.path)
    var report = finding.report.ending(.compacted)
    report.newBytes = try StoreFiles(path: path).stamp().store.size
    report.keptAs = keepsOld ? InPlaceSwap.oldPath(of: path) : nil
    return report
  }

  /// Takes back an exchange that was interrupted, and removes the work folder. A store that has been exchanged stays.
  ///
  /// - Returns: Whether there was a work folder.
  /// - Throws: `.cannotCreate` (73) for the work of something else; `.stopped` (75) while a process is at work.
  package func undo() throws -> Bool {
    try StoreFiles.refuseImpossible(path)
    try refuseOthersWork()
    return try MigrationManager.discard(destination: path, isInPlace: true)
  }

  private func swap(in folder: String) throws -> InPlaceSwap {
    var swap = InPlaceSwap(store: path, keepsOld: keepsOld)
    // Every value stays, so every external file does.
    swap.keepsOldFiles = true
    swap.mark = try WorkJournal.read(in: folder)?.exchange
    swap.before = beforeExchangeStep
    swap.record = { mark in
      var journal = WorkJournal(owner: Self.owner)
      (journal.phase, journal.exchange) = (.exchanging, mark)
      try journal.write(in: folder)
    }
    return swap
  }

  /// Refuses a store with the unfinished work of something else.
  private func refuseOthersWork() throws {
    let folder = WorkFolder.path(forDestination: path)
    guard try WorkFolder.exists(folder) else { return }
    let journal = try WorkJournal.read(in: folder)
    let isOwn = try journal.map { $0.owner == Self.owner } ?? !Self.hasEdits(folder)
    guard !isOwn else { return }
    let name = journal.map { $0.owner.job.isEmpty ? "a `quarantine apply`" : "job '\($0.owner.job)'" } ?? "a job"
    throw GodwitError(
      .cannotCreate, "cannot compact '\(path)': '\(folder)' has the unfinished work of \(name)",
      remedy: "end that work with its own command, or `godwit discard` it; then compact the store",
      safe: "the store is unchanged")
  }

  /// Whether a run that was killed has edited the store itself and may have external files to remove.
  private static func hasEdits(_ folder: String) throws -> Bool {
    try ["edited.names", "kept.json"].contains { try WorkFolder.exists(folder + "/" + $0) }
  }

  /// The copy with its history, the compact store, and what SQLite needs meanwhile.
  private func refuseTooLittleRoom(_ report: CompactionReport) throws {
    let wanted = report.sizeBytes + report.expectedBytes
    let place = path.parentPath.isEmpty ? "." : path.parentPath
    guard let room = freeSpace(place), room.bytes < wanted else { return }
    throw GodwitError(
      .inputOutput,
      "cannot compact '\(path)': expected \(ByteCount(bytes: wanted)) of free space in '\(place)', found \(ByteCount(bytes: room.bytes))",
      cause: "a copy of the store and the compact store lie beside the store until the exchange",
      remedy: "make room and run the same command", safe: "the store is unchanged"
    ).about(.tooLittleRoom)
  }
}

extension CompactionReport {
  func ending(_ outcome: Outcome) -> CompactionReport {
    var report = self
    report.outcome = outcome
    return report
  }
}
