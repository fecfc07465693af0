import Foundation
import GodwitDisk
import GodwitEngine
import GodwitInPlace
import GodwitJob
import GodwitPlatform
import GodwitStore

/// A job whose destination is its source.
extension MigrationManager {
  /// Migrates a copy in the work folder beside the store, then exchanges the two: see `InPlaceSwap`. What statements
  /// alone can do needs no exchange when the old store is not kept: see `runDirectly`.
  ///
  /// - Throws: `.stopped` (75) while another process has the store open; `.cannotCreate` (73) when `Name~.ext` exists.
  func runInPlace(
    _ rule: MigrationJob.InPlace, watch: StopCondition, progress: (MigrationProgress) -> Void
  ) throws -> MigrationSummary {
    let swap = InPlaceSwap(
      store: job.sourcePath, keepsOld: rule.keepsOld, makesHardLinks: job.hooks.makesHardLinks,
      oldModel: job.sourceModel,
      before: job.hooks.beforeSwapStep)
    let isFinished = try isMigratedInPlace()
    if isFinished, !WorkFolder.exists(forDestination: job.sourcePath) {
      return MigrationSummary(outcome: .alreadyFinished)
    }
    if !isFinished { try swap.checkOldName(workFolder: WorkFolder.path(forDestination: job.sourcePath)) }
    let folder = try WorkFolder(forDestination: job.sourcePath)
    // Asked again under the lock: another run may have finished meanwhile.
    if try isMigratedInPlace() {
      if swap.hasExchanged(workFolder: folder.path) {
        try swap.finish(workFolder: folder.path)
      } else if !rule.keepsOld, try StoreFiles(path: job.sourcePath).type == .sqlite {
        try removeDeadJournal()
        try removeUnreferencedFiles(Self.filesMark(in: folder.path))
      }
      var summary = MigrationSummary(outcome: .alreadyFinished)
      summary.codedNotes = try missingReceiptNote(in: folder) + placeReceipt(of: folder)
      try folder.remove()
      return summary
    }
    let lock: StoreLock
    do { lock = try StoreLock(store: job.sourcePath) } catch {
      if !isWorthKeeping(folder.path) { folder.undo() }
      throw error
    }
    defer { withExtendedLifetime(lock) {} }
    do {
      try swap.checkRights(workFolder: folder.path)
      let files = try StoreFiles(path: job.sourcePath)
      let program: (any InPlaceProgram)?
      switch try lightweightWay(folder: folder.path, files: files) {
      case .definitions(let change): program = change
      case .sql(let statements): program = statements
      case .executor: program = nil
      }
      if let program {
        let summary =
          rule.keepsOld
          ? try runCopy(program, rule: rule, files: files, folder: folder, swap: swap, watch: watch, progress: progress)
          : try runDirectly(program, files: files, lock: lock, folder: folder, watch: watch, progress: progress)
        if summary.outcome == .stopped { folder.undo() }
        return summary
      }
    } catch {
      // Nothing of it can be resumed but an exchange that has begun.
      if !isWorthKeeping(folder.path), !swap.hasBegun(workFolder: folder.path), (try? isMigratedInPlace()) == false {
        folder.undo()
      }
      throw error
    }
    return try work(in: folder, source: OpenSource(job, attach: false), watch: watch, progress: progress) {
      made, path, folder in
      try swap.exchange(path, support: made.support, workFolder: folder.path)
      let notes = try placeReceipt(of: folder)
      try folder.remove()
      return notes
    }
  }

  /// What is to be said of a store that was edited itself by a run which died before it had counted the receipt. The
  /// application may have written since: what would be counted now need not be what the run made.
  private func missingReceiptNote(in folder: borrowing WorkFolder) -> [MigrationNote] {
    guard let path = receiptPath, !FileManager.default.fileExists(atPath: folder.receiptPath),
      Self.receipt(at: path).map({ Self.isReceipt($0, ofStoreAt: job.sourcePath) }) != true
    else { return [] }
    return [
      .init(
        .receiptMissing, "no receipt was written: the run that migrated the store was killed before it had counted it")
    ]
  }

  /// The external files that rows of a store name which is being edited itself.
  static func filesMark(in folder: String) -> String { folder + "/files.mark" }

  /// Notes, before a store is edited, which external files its rows name: a run that dies after the commit leaves the
  /// removal to the next one. A file that no row named is not ours to remove.
  func noteFiles(_ program: any InPlaceProgram, in folder: String) throws {
    let mark = Self.filesMark(in: folder)
    if program.keepsFiles || !SupportFolder(ofStoreAt: job.sourcePath).exists {
      unlink(mark)
      return
    }
    let named = try NamedFiles(inStoreAt: job.sourcePath, model: job.sourceModel)
    try NameList.write(mark) { try named.forEach($0) }
    try WorkFolder.sync(folder)
  }

  /// Removes the journal of a transaction that was committed before the run died: in exclusive locking mode SQLite
  /// marks it as dead, and removes it when the store is closed, if that works.
  func removeDeadJournal() throws {
    guard FileManager.default.fileExists(atPath: job.sourcePath + "-journal") else { return }
    let lock = try StoreLock(store: job.sourcePath)
    defer { withExtendedLifetime(lock) {} }
    let files = try StoreFiles(path: job.sourcePath)
    if try !files.hasHotJournal() { unlink(files.journalPath) }
  }

  /// Whether the store has the destination model already.
  func isMigratedInPlace() throws -> Bool {
    job.destinationModel.isCompatible(with: try StoreMetadata(readingStoreAt: job.sourcePath))
  }
}
