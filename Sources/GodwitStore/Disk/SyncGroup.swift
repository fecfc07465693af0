import Foundation
import GodwitModel

/// The syncs that small stores of one process share.
///
/// A small store is migrated again after a kill or a power cut, so nothing of it must be durable before it gets its name.
/// The stores that are made wait for each other, in batches:
///
/// 1. A store joins the batch with `syncFiles` when its work folder has all that is to be delivered.
/// 2. The batch is complete when it has `limit` stores, when its first store has waited for `patience`, or when no other
///    store is going to come. One of its threads then syncs each file system once.
/// 3. Each store gets its name, on its own thread.
/// 4. `syncNames` waits until all stores of the batch have their names. One thread then syncs each folder once.
///
/// A store on a file system that `FileSystemSync` does not trust does not join: its caller syncs the files one by one.
///
/// A sync of each file waits for the disk four times a store. `fsync` from many threads still commits each file's
/// metadata.
package final class SyncGroup: @unchecked Sendable {
  /// The stores of a batch at most.
  package let limit: Int
  private let patience: Duration
  /// Guards everything below, and tells of each change.
  private let change = NSCondition()
  /// The batch that takes further stores.
  private var open: Batch?
  /// The stores that have begun and neither wait nor have ended.
  private var atWork = 0
  private var isClosed = false
  private var fileSystems: [UInt64: FileSystemSync] = [:]

  private final class Batch {
    enum State { case open, syncing, synced, naming, named }

    var state = State.open
    let end: ContinuousClock.Instant
    /// The number of stores on each file system.
    var members: [UInt64: Int] = [:]
    /// The file systems that could not be synced.
    var failed: Set<UInt64> = []
    /// The stores on other file systems that have no name yet.
    var unnamed = 0
    var folders: Set<String> = []
    var errors: [String: any Error] = [:]

    init(end: ContinuousClock.Instant) { self.end = end }

    var count: Int { members.values.reduce(0, +) }
  }

  /// - Parameters:
  ///   - limit: The stores of a batch at most.
  ///   - patience: How long a store waits for others.
  package init(limit: Int = 64, patience: Duration = .milliseconds(200)) {
    (self.limit, self.patience) = (limit, patience)
  }

  /// A store has begun. Its member must be ended.
  ///
  /// - Parameter isWaiting: Called when the store has only its delivery left, so that another one may begin.
  package func begin(isWaiting: @escaping @Sendable () -> Void = {}) -> Member {
    change.withLock { atWork += 1 }
    return Member(self, isWaiting)
  }

  /// No further store begins.
  package func close() {
    change.withLock {
      isClosed = true
      change.broadcast()
    }
  }

  /// One store of the group. One thread uses it.
  package final class Member: @unchecked Sendable {
    private let group: SyncGroup
    private let isWaiting: @Sendable () -> Void
    private var batch: Batch?
    private var isAtWork = true

    fileprivate init(_ group: SyncGroup, _ isWaiting: @escaping @Sendable () -> Void) {
      (self.group, self.isWaiting) = (group, isWaiting)
    }

    deinit { end() }

    /// Waits until everything in the file system of a folder is durable.
    ///
    /// - Returns: false where the caller has to sync its files one by one.
    package func syncFiles(in folder: String) -> Bool {
      guard isAtWork, let device = group.device(of: folder) else { return false }
      isWaiting()
      isAtWork = false
      batch = group.join(device)
      return batch != nil
    }

    /// Waits until the names in some folders are durable.
    ///
    /// - Returns: false where the caller has to sync the folders: the store is in no batch.
    /// - Throws: The errors of `WorkFolder.sync`.
    package func syncNames(in folders: Set<String>) throws -> Bool {
      guard let batch else { return false }
      self.batch = nil
      try group.name(batch, folders)
      return true
    }

    /// The store has ended: no other one waits for it.
    package func end() {
      group.leave(batch, isAtWork: isAtWork)
      (batch, isAtWork) = (nil, false)
    }
  }

  // MARK: Files

  /// The file system of a folder, if one call makes all of it durable.
  private func device(of folder: String) -> UInt64? {
    guard let device = FileStatus(following: folder)?.identity.device else { return nil }
    return change.withLock {
      if fileSystems[device] == nil { fileSystems[device] = FileSystemSync(of: folder) }
      return fileSystems[device].map { _ in device }
    }
  }

  /// - Returns: nil if the file system could not be synced.
  private func join(_ device: UInt64) -> Batch? {
    change.lock()
    defer { change.unlock() }
    atWork -= 1
    let batch = open ?? Batch(end: .now + patience)
    open = batch
    batch.members[device, default: 0] += 1
    change.broadcast()
    while batch.state == .open {
      let seconds = (batch.end - .now) / .seconds(1)
      let isComplete = batch.count >= limit || (isClosed && atWork == 0) || seconds <= 0
      if isComplete { sync(batch) } else { _ = change.wait(until: Date(timeIntervalSinceNow: seconds)) }
    }
    while batch.state == .syncing { change.wait() }
    return batch.failed.contains(device) ? nil : batch
  }

  /// Syncs the file systems of a batch. The lock is held before and after.
  private func sync(_ batch: Batch) {
    open = nil
    batch.state = .syncing
    let systems = batch.members.keys.compactMap { device in fileSystems[device].map { (device, $0) } }
    change.unlock()
    let failed = systems.filter { !$0.1.sync() }.map(\.0)
    change.lock()
    batch.failed = Set(failed)
    batch.unnamed = batch.members.filter { !batch.failed.contains($0.key) }.values.reduce(0, +)
    batch.state = .synced
    change.broadcast()
  }

  // MARK: Names

  private func name(_ batch: Batch, _ folders: Set<String>) throws {
    change.lock()
    defer { change.unlock() }
    batch.folders.formUnion(folders)
    batch.unnamed -= 1
    change.broadcast()
    while batch.state == .synced {
      if batch.unnamed == 0 { syncFolders(batch) } else { change.wait() }
    }
    while batch.state == .naming { change.wait() }
    for folder in folders.sorted() { if let error = batch.errors[folder] { throw error } }
  }

  /// Syncs the folders of a batch. The lock is held before and after.
  private func syncFolders(_ batch: Batch) {
    batch.state = .naming
    let folders = batch.folders
    change.unlock()
    var errors: [String: any Error] = [:]
    for folder in folders { do { try WorkFolder.sync(folder) } catch { errors[folder] = error } }
    change.lock()
    batch.errors = errors
    batch.state = .named
    change.broadcast()
  }

  private func leave(_ batch: Batch?, isAtWork: Bool) {
    change.withLock {
      batch?.unnamed -= 1
      if isAtWork { atWork -= 1 }
      change.broadcast()
    }
  }
}
