import Foundation
import Godwit
import GodwitDisk
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitPlatform
import GodwitStore

/// What a plan finds out about a store: its version and its size, from its metadata alone.
struct StoreLook: Sendable {
  var bytes: Int64 = 0
  /// The digest of its version hashes.
  var version: String?
  /// Whether its destination may be a finished one: its job tells.
  var isDone = false
  /// Whether a run of its job has begun and was not through.
  var isUnfinished = false
  var problem: FleetPlan.Unreadable?

  /// A digest of version hashes, by which stores of one version are known.
  static func key(_ hashes: [String: [UInt8]]) -> String {
    var sum = SHA256()
    for (name, hash) in hashes.sorted(by: { $0.key < $1.key }) {
      sum.update(data: Array(name.utf8) + [0])
      sum.update(data: [UInt8(truncatingIfNeeded: hash.count)] + hash)
    }
    return sum.finalize().hex
  }
}

/// Looks at stores on any thread.
///
/// It shares nothing that changes: its loader makes paths, and loads no job.
struct StoreLooker: @unchecked Sendable {
  let loader: JobLoader
  let paths: FleetPaths
  let share: ByteCount
  /// The digest of the destination's version hashes.
  let target: String

  /// Looks at a store. Writes nothing, and leaves nothing beside it.
  func look(_ kept: String) -> StoreLook {
    var look = StoreLook()
    let path = paths.opened(kept)
    look.bytes = Self.size(path) + Self.size(path + "-wal")
    do {
      look.version = StoreLook.key(try StoreMetadata(readingStoreAt: path).versionHashes)
      let destination = loader.store(for: paths.match(kept).match, memory: share, SharedInputs()).store.destination
      look.isUnfinished = WorkFolder.exists(forDestination: destination)
      look.isDone = !look.isUnfinished && isDone(path, destination)
    } catch {
      let known = error as? GodwitError ?? GodwitError(.internalBug, "unexpected failure: \(error)")
      look.problem = .init(store: kept, status: known.code.rawValue, code: known.code.name, message: known.message)
    }
    return look
  }

  /// Whether the destination is there, of the version that the job leads to, made by Godwit, and not older than the
  /// store. Of a store that is replaced when it changes, and of one with objects in quarantine, its own run tells.
  private func isDone(_ path: String, _ destination: String) -> Bool {
    guard !loader.isInPlace, loader.manifest.onExisting == .fail else { return false }
    guard let made = Self.time(destination), let changed = Self.time(path), changed <= made,
      Self.time(path + "-wal").map({ $0 <= made }) ?? true,
      let metadata = try? StoreMetadata(readingStoreAt: destination)
    else { return false }
    return metadata.applicationValues[MigrationManager.jobsKey] != nil
      && metadata.applicationValues[StoreMetadata.Key.quarantined] == nil
      && StoreLook.key(metadata.versionHashes) == target
  }

  private static func size(_ path: String) -> Int64 {
    var info = stat()
    return stat(path, &info) == 0 ? Int64(info.st_size) : 0
  }

  private static func time(_ path: String) -> Double? {
    var info = stat()
    guard stat(path, &info) == 0 else { return nil }
    let time = CLibrary.modificationTime(info)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
