import Foundation
import TestSupport
import Testing

@testable import Godwit
@testable import GodwitDisk
@testable import GodwitEngine
@testable import GodwitJob
@testable import GodwitStore

/// The receipt of a small store, when the run that knew what it says has died.
struct SmallReceiptTests {
  private func job(_ fault: FaultJob, _ type: StoreType) throws -> MigrationJob {
    var job = try fault.job
    job.destinationType = type
    return job
  }

  /// What a receipt says that only the run knows.
  private func said(_ job: MigrationJob) throws -> [String] {
    let receipt = try Receipt.read(job.destinationPath + Receipt.suffix)
    return [
      "\(receipt.steps.flatMap(\.mappings).map { "\($0.name) \($0.made)" })", "\(receipt.losses)",
      "\(receipt.source.digest ?? "none") \(receipt.source.stamp == nil)", receipt.job.digest ?? "none",
      "\(receipt.entities.map { "\($0.name) \($0.checksum)" })",
    ]
  }

  /// Runs until an operation, as a process that is killed there.
  ///
  /// - Returns: false when the run ended before.
  @discardableResult private func die(_ job: MigrationJob, at position: Int, _ root: String) throws -> Bool {
    let layer = try FaultLayer(.death(at: position), root: root)
    try? layer.run { _ = try MigrationManager(job).run() }
    return layer.hasStruck
  }

  private func operations(_ job: MigrationJob, seconds: Double = 0.1) throws -> [DiskOperation] {
    let layer = try FaultLayer(.none)
    try EngineTuning.with(\.gatherSeconds, seconds) { try layer.run { _ = try MigrationManager(job).run() } }
    return layer.operations
  }

  @Test(arguments: [StoreType.sqlite, .xml], [false, true])
  func `after a death near the end the next run's receipt lacks nothing`(type: StoreType, hasOtherWork: Bool) throws {
    let whole = try FaultJob(.smallStore)
    let count = try operations(job(whole, type)).count
    let expected = try said(job(whole, type))
    // A job on another source, which died when its store was finished and its receipt was not.
    let other = try FaultJob(again: whole)
    let written = try operations(job(other, type), seconds: 0).lastIndex { $0.path.hasSuffix("/receipt.json.new") }
    let place = try #require(written) + 1
    for position in max(1, count - 40)...count {
      let fault = try FaultJob(again: whole)
      let job = try job(fault, type)
      if hasOtherWork {
        let source = try Data(contentsOf: URL(filePath: job.sourcePath))
        try StoreConnection(path: job.sourcePath).execute("UPDATE ZADDRESS SET ZSTREET = 'another'")
        let isDead = try EngineTuning.with(\.gatherSeconds, 0) { try die(job, at: place, fault.folder.path) }
        #expect(isDead)
        try source.write(to: URL(filePath: job.sourcePath))
        #expect(FileManager.default.fileExists(atPath: job.workPath + "/outcome.json"))
      }
      // With the other's work the operations are a few more.
      try die(job, at: position + (hasOtherWork ? 5 : 0), fault.folder.path)
      try MigrationManager(job).run()
      let found = try said(job)
      #expect(found == expected, "\(position) of \(count)")
    }
  }
}
