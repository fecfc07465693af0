import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// The leftovers of a store that is edited itself: its journal, and external files that no row names any more.
struct EditedStore {
  let job: MigrationJob

  init(_ job: MigrationJob) { self.job = job }

  /// The external files that rows of a store name which is being edited itself.
  private static func namesPath(in folder: String) -> String { folder + "/edited.names" }

  /// Notes, before a store is edited, which external files its rows name: a run that dies after the commit leaves the
  /// removal to the next one. A file that no row named is not ours to remove.
  func noteFiles(_ program: any InPlaceProgram, in folder: String) throws {
    let mark = Self.namesPath(in: folder)
    if try program.keepsFiles || !WorkFolder.exists(SupportFolder(ofStoreAt: job.sourcePath).path) {
      unlink(mark)
      return
    }
    let named = try NamedFiles(inStoreAt: job.sourcePath, model: job.sourceModel)
    try NameList.write(mark) { try named.forEach($0) }
    try WorkFolder.sync(folder)
  }

  /// Removes the external files that rows named before a store was edited itself, and none names now.
  func removeUnreferencedFiles(in folder: String) throws {
    let support = SupportFolder(ofStoreAt: job.sourcePath)
    guard try WorkFolder.exists(support.path) else { return }
    // Whoever opens the store meanwhile may be adding files.
    let lock = try StoreLock(store: job.sourcePath)
    defer { withExtendedLifetime(lock) {} }
    try support.refuseLinks()
    let named = try NamedFiles(inStoreAt: job.sourcePath, model: job.destinationModel)
    try NameList.read(Self.namesPath(in: folder)) { name in
      guard SupportFolder.isFileName(name), try support.size(of: name) != nil, try !named.contains(name) else { return }
      unlink(support.path(of: name))
    }
    rmdir(support.dataPath)
    rmdir(support.path)
  }

  /// Removes the journal of a transaction that was committed before the run died: in exclusive locking mode SQLite
  /// marks it as dead, and removes it when the store is closed, if that works.
  func removeDeadJournal() throws {
    guard try WorkFolder.exists(job.sourcePath + "-journal") else { return }
    let lock = try StoreLock(store: job.sourcePath)
    defer { withExtendedLifetime(lock) {} }
    let files = try StoreFiles(path: job.sourcePath)
    if try !files.hasHotJournal() { unlink(files.journalPath) }
  }
}
