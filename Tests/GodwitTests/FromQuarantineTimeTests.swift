import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import Godwit
@testable import GodwitDisk
@testable import GodwitJob
@testable import GodwitStore

/// Runs with a quarantine whose time limit is shorter than what cannot be resumed, and the space that they need.
@Suite struct FromQuarantineTimeTests {
  /// Runs again and again, each time with no time at all, until the job is finished.
  private func untilFinished(_ run: () throws -> MigrationSummary) throws -> (MigrationSummary, runs: Int) {
    var runs = 1
    var summary = try run()
    while summary.outcome == .stopped {
      #expect(summary.reason == StopCondition.timeLimit)
      try #require(runs < 400)
      summary = try run()
      runs += 1
    }
    return (summary, runs)
  }

  @Test func `runs whose time is over from the beginning get on all the same`() throws {
    let world = try RepairWorld(seed: 81, people: 12)
    let job = try world.job(rows: 1000)
    let (first, runs) = try untilFinished { try MigrationManager(job).run(maximumSeconds: 0) }
    #expect(first.outcome == .finished && first.quarantinedObjects > 0 && runs > 5)
    try world.edit(seed: 82, percent: 60)
    let file = URL(filePath: world.quarantine)
    var hasNote = false
    let (last, more) = try untilFinished {
      let summary = try MigrationManager(job).run(fromQuarantine: file, maximumSeconds: 0)
      // What the first run has made stays.
      hasNote = hasNote || RepairNote.exists(in: world.destination + ".godwit")
      #expect(hasNote)
      return summary
    }
    #expect(last.outcome == .finished && more > 5)
    try world.expectEqual(last, "without time")
  }

  @Test func `external files on another disk count among the space that is needed`() throws {
    let world = try RepairWorld(seed: 83, people: 12)
    let files = SupportFolder(ofStoreAt: world.world.sourcePath)
    for path in [world.world.sourcePath, world.repairedPath] {
      let support = SupportFolder(ofStoreAt: path)
      try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
      let name = support.path(of: "00000000-0000-0000-7000-000000000083")
      try Data(repeating: 3, count: 4 << 20).write(to: URL(filePath: name))
    }
    try world.run()
    try world.edit(seed: 84, percent: 60)
    let stores = try StoreFiles(path: world.world.sourcePath).size + StoreFiles(path: world.quarantine).size
    let (room, far) = (stores + 2 << 20, files.path)
    var job = try world.job()
    job.hooks.freeSpace = { FreeSpace(device: $0.hasPrefix(far) ? 2 : 1, bytes: room) }
    let before = try FolderContents(world.folder.file("out"))
    let error = try world.error(job)
    #expect(error?.code == .inputOutput && error?.topic == .tooLittleRoom, "\(String(describing: error))")
    #expect(try FolderContents(world.folder.file("out")) == before)
    // Files that can be hard links take no room.
    job.hooks.freeSpace = { _ in FreeSpace(device: 1, bytes: room) }
    #expect(try MigrationManager(job).run(fromQuarantine: URL(filePath: world.quarantine)).outcome == .finished)
  }
}
