import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import Synchronization
import TestSupport
import Testing

private let isTemporaryFolderTrusted =
  SyncGroup(limit: 1).begin().syncFiles(in: FileManager.default.temporaryDirectory.path)

/// Small stores that are delivered together, with one sync of their file system.
@Suite(.enabled(if: isTemporaryFolderTrusted, "the file system of temporary files is synced file by file"))
struct SharedSyncTests {
  /// Runs each body on a thread of its own, and waits for all of them.
  private static func onThreads(_ bodies: [@Sendable () -> Void]) {
    let group = DispatchGroup()
    for body in bodies {
      group.enter()
      Thread.detachNewThread {
        body()
        group.leave()
      }
    }
    group.wait()
  }

  // MARK: A batch on a disk

  /// Three stores of one batch in a folder of their own.
  private struct Stores {
    let root: TemporaryFolder
    let jobs: [FaultJob]

    init(of whole: FaultJob) throws {
      let root = try TemporaryFolder("godwit-batch")
      jobs = try (0..<3).map { _ in try FaultJob(again: whole, in: root.path) }
      self.root = root
    }

    /// The errors of the jobs that failed.
    func run(on layer: FaultLayer) -> [any Error] {
      let group = SyncGroup(limit: jobs.count, patience: .seconds(1))
      let errors = Mutex<[any Error]>([])
      nonisolated(unsafe) let layer = layer
      for job in jobs { job.group = group }
      SharedSyncTests.onThreads(
        jobs.map { job in
          nonisolated(unsafe) let job = job
          return {
            do { try layer.run { _ = try job.run() } } catch { errors.withLock { $0.append(error) } }
          }
        })
      return errors.withLock { $0 }
    }
  }

  /// The operations of a run without a fault.
  private static func operations(_ whole: FaultJob) throws -> [DiskOperation] {
    let layer = try FaultLayer(.none)
    #expect(try Stores(of: whole).run(on: layer).isEmpty)
    return layer.operations
  }

  @Test func `three stores have one sync of the file system`() throws {
    let operations = try Self.operations(FaultJob(.sharedSync))
    #expect(operations.count { $0.kind == .syncAll } == 1)
    let place = try #require(operations.firstIndex { $0.kind == .syncAll })
    let named = operations.indices.filter {
      operations[$0].kind == .link && operations[$0].path.hasSuffix("/store.sqlite")
    }
    #expect(named.count == 3 && named.allSatisfy { $0 > place })
    // Stores and receipts have no syncs of their own.
    let synced = operations.filter { $0.kind == .sync }.map { ($0.path as NSString).lastPathComponent }
    #expect(!synced.contains { $0.hasPrefix("store.sqlite") || $0.hasPrefix("receipt") }, "\(synced)")
  }

  @Test(arguments: [DurableDisk.Survival.syncedOnly, .names, .some(seed: 7)])
  func `after a power cut in a batch each store that has its name is whole`(
    survival: DurableDisk.Survival
  ) throws {
    let whole = try FaultJob(.sharedSync)
    let reference = try FaultJob(again: whole)
    try reference.run()
    let (expected, lines) = (try reference.content(), try StoreDump(reference.destinationPath).lines)
    let operations = try Self.operations(whole)
    // Threads take turns in an order of their own: the operations from the sync on are more or less where they were.
    let sync = try #require(operations.firstIndex { $0.kind == .syncAll })
    let step = TestTier.isLong ? 1 : 7
    for position in stride(from: max(1, sync - 6), to: operations.count, by: step) {
      let stores = try Stores(of: whole)
      let layer = try FaultLayer(.powerCut(at: position), root: stores.root.path)
      _ = stores.run(on: layer)
      #expect(layer.hasStruck, "\(position) of \(operations.count)")
      try layer.survive(survival)
      for job in stores.jobs {
        let place = "\(survival), \(position) (\(layer.struck?.description ?? ""))"
        if FileManager.default.fileExists(atPath: job.destinationPath) {
          #expect(try StoreDump(job.destinationPath).lines == lines, "\(place): the store is not whole")
        }
        #expect(throws: Never.self, "\(place)") { try job.run() }
        #expect(try job.content() == expected, "\(place)")
        #expect(try job.namesLeft() == job.leftNames, "\(place)")
      }
    }
  }

  @Test func `a file system that cannot be synced at once is synced file by file`() throws {
    let whole = try FaultJob(.sharedSync)
    let operations = try Self.operations(whole)
    let stores = try Stores(of: whole)
    let layer = try FaultLayer(.none, keepsAll: true)
    layer.failsSyncAll = true
    #expect(stores.run(on: layer).isEmpty)
    let synced = layer.operations.filter { $0.kind == .sync }.map(\.path)
    for job in stores.jobs {
      #expect(synced.contains(job.destinationPath + ".godwit/store.sqlite"))
      #expect(synced.contains(job.destinationPath + ".godwit/receipt.json"))
      #expect(try job.namesLeft() == job.leftNames)
    }
    #expect(synced.count > operations.count { $0.kind == .sync })
  }

  // MARK: The group

  /// The changes of the disk while stores wait in a group.
  private static func run(
    _ group: SyncGroup, folders: [String], then: (Int) -> Bool = { _ in true }
  ) throws -> [DiskOperation] {
    let layer = try FaultLayer(.none)
    nonisolated(unsafe) let shared = layer
    onThreads(
      folders.enumerated().map { index, folder in
        let (member, isNamed) = (group.begin(), then(index))
        return {
          shared.run {
            #expect(member.syncFiles(in: folder))
            if isNamed { #expect((try? member.syncNames(in: [folder])) == true) }
            member.end()
          }
        }
      })
    return layer.operations
  }

  @Test func `a folder of several stores is synced once`() throws {
    let folder = try TemporaryFolder()
    let group = SyncGroup(limit: 5, patience: .seconds(600))
    let operations = try Self.run(group, folders: .init(repeating: folder.path, count: 5))
    #expect(operations.map(\.kind) == [.syncAll, .sync])
  }

  @Test func `a store that fails keeps the others of its batch from nothing`() throws {
    let folder = try TemporaryFolder()
    let group = SyncGroup(limit: 3, patience: .seconds(600))
    let operations = try Self.run(group, folders: .init(repeating: folder.path, count: 3)) { $0 != 1 }
    #expect(operations.map(\.kind) == [.syncAll, .sync])
  }

  @Test func `a store waits no longer than the group is patient`() throws {
    let folder = try TemporaryFolder()
    let operations = try Self.run(SyncGroup(limit: 64, patience: .milliseconds(1)), folders: [folder.path])
    #expect(operations.map(\.kind) == [.syncAll, .sync])
  }

  @Test func `when no store is going to come, those that wait are delivered`() throws {
    let folder = try TemporaryFolder()
    let group = SyncGroup(limit: 64, patience: .seconds(600))
    let late = group.begin()
    group.close()
    let waiting = Mutex(false)
    let first = group.begin { waiting.withLock { $0 = true } }
    Self.onThreads([
      { #expect(first.syncFiles(in: folder.path)) },
      {
        while !waiting.withLock({ $0 }) { usleep(100) }
        // It fails, and needs no sync.
        late.end()
      },
    ])
  }

  @Test func `each file system of a batch is synced`() throws {
    let here = try TemporaryFolder()
    let device = FileStatus(following: here.path)?.identity.device
    let elsewhere = ["/dev/shm", "/var/tmp", "/tmp"].first {
      FileStatus(following: $0).map { $0.identity.device != device } == true
        && SyncGroup(limit: 1).begin().syncFiles(in: $0)
    }
    guard let elsewhere, let other = try? TemporaryFolder(in: elsewhere) else {
      print("skipped: there is one file system")
      return
    }
    let group = SyncGroup(limit: 3, patience: .seconds(600))
    let operations = try Self.run(group, folders: [here.path, other.path, here.path])
    let systems = Set(operations.filter { $0.kind == .syncAll }.map(\.path))
    #expect(systems.count == 2 && operations.count { $0.kind == .syncAll } == 2, "\(operations)")
    #expect(Set(operations.filter { $0.kind == .sync }.map(\.path)) == [here.path, other.path])
  }

  @Test func `a store on a file system that is not trusted is in no batch`() throws {
    let group = SyncGroup(limit: 1)
    let member = group.begin()
    #expect(!member.syncFiles(in: "/proc"))
    #expect(try !member.syncNames(in: ["/proc"]))
  }
}
