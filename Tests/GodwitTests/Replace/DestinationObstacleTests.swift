import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// The answer of a plan to a destination that exists: the error that a run would have, without writing.
struct DestinationObstacleTests {
  /// The obstacles of a plan that writes nothing.
  private func obstacles(
    _ job: MigrationJob, notes: [MigrationNote.Code] = [.replaces], sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> [RunObstacle] {
    let folder = (job.destinationPath as NSString).deletingLastPathComponent
    let before = try FolderContents(folder)
    let plan = try MigrationManager(job).plan()
    #expect(try FolderContents(folder) == before, "the plan wrote something", sourceLocation: sourceLocation)
    let told = plan.codedNotes.map(\.code).filter { [.replaces, .destinationChanged].contains($0) }
    #expect(told == notes, sourceLocation: sourceLocation)
    let texts = plan.destinationObstacles.map { "\($0.failure.rawValue): \($0.message)" }
    #expect(plan.summary.obstacles == texts.map { "the run stops with \($0)" }, sourceLocation: sourceLocation)
    #expect(
      plan.description.components(separatedBy: "\nwarning ").count == texts.count + 1, sourceLocation: sourceLocation)
    return plan.destinationObstacles
  }

  /// Checks that a plan has one obstacle, and that a run ends with the same.
  private func expect(
    _ code: RunObstacle.Code, _ job: MigrationJob, notes: [MigrationNote.Code] = [.replaces],
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let found = try obstacles(job, notes: notes, sourceLocation: sourceLocation)
    #expect(found.map(\.code) == [code], sourceLocation: sourceLocation)
    let error = #expect(throws: GodwitError.self, sourceLocation: sourceLocation) { try MigrationManager(job).run() }
    #expect(error?.code == found.first?.failure && error?.line == found.first?.message, sourceLocation: sourceLocation)
    #expect(error?.remedy == found.first?.remedy, sourceLocation: sourceLocation)
  }

  @Test(arguments: [FaultJob.Kind.everyStage, .severalSteps], [false, true])
  func `nothing is in the way of a job that replaces what it made`(kind: FaultJob.Kind, keepsOld: Bool) throws {
    let night = try SecondNight(kind, keepsOld: keepsOld)
    let job = try night.job(night.first)
    #expect(try obstacles(job) == [])
    // Nor of one that has kept a store before.
    try MigrationManager(job).run()
    try night.change(night.first, "third night", file: 8)
    #expect(try obstacles(job) == [])
    #expect(try MigrationManager(job).run().outcome == .finished)
  }

  @Test func `a destination that was written to is in the way, or is kept`() throws {
    let night = try SecondNight()
    var job = try night.job(night.first)
    try SecondNight.edit(job.destinationPath, "UPDATE ZPERSON SET ZNAME = 'edited' WHERE Z_PK = 5")
    try expect(.destinationChanged, job)
    job.existingDestination = .replace(keepsOld: true)
    #expect(try obstacles(job, notes: [.replaces, .destinationChanged]) == [])
    #expect(try MigrationManager(job).run().codedNotes.contains { $0.code == .destinationChanged })
  }

  @Test func `a kept store that is not the job's, or was written to, is in the way`() throws {
    let night = try SecondNight(keepsOld: true)
    let job = try night.job(night.first)
    let kept = InPlaceSwap.oldPath(of: job.destinationPath)
    try FileManager.default.copyItem(atPath: job.sourcePath, toPath: kept)
    try expect(.oldStore, job)
    try FileManager.default.removeItem(atPath: kept)
    try MigrationManager(job).run()
    try night.change(night.first, "third night", file: 8)
    try SecondNight.edit(kept, "DELETE FROM ZADDRESS WHERE Z_PK = 5")
    try expect(.oldStore, job)
  }

  @Test func `a store of another job, a job without a receipt, and the work of another job are in the way`() throws {
    let night = try SecondNight()
    let job = try night.job(night.first)
    var other = job
    other.name = "another"
    try expect(.destination, other, notes: [])
    other = job
    other.receipt = nil
    try expect(.destination, other)
    try SecondNight.edit(job.sourcePath, "UPDATE Z_METADATA SET Z_UUID = '0B0E1E5A-0000-4000-8000-000000000004'")
    try expect(.destination, job)
  }

  @Test func `the unfinished work of another job is in the way`() throws {
    let night = try SecondNight()
    let job = try night.job(night.first)
    let control = MigrationControl()
    try MigrationManager(job).run(control: control) { _ in control.stop(reason: "test") }
    #expect(try obstacles(job) == [])
    var journal = try #require(try WorkJournal.read(in: job.workPath))
    journal.owner = .init(job: "other", appends: true)
    try journal.write(in: job.workPath)
    let found = try obstacles(job)
    #expect(found.map(\.code) == [.workFolder] && found.map(\.failure) == [.cannotCreate])
    #expect(found.first?.message.hasSuffix("has the unfinished work of another job, 'other'") == true)
  }

  @Test func `the place of a receipt counts for every job, until it is done`() throws {
    let made = try FaultJob(.everyStage)
    var job = try made.job
    job.receipt = .file(URL(filePath: made.folder.file("receipts/r.json")))
    try FileManager.default.createDirectory(atPath: made.folder.file("out"), withIntermediateDirectories: false)
    try expect(.receipt, job, notes: [])
    try FileManager.default.createDirectory(atPath: made.folder.file("receipts"), withIntermediateDirectories: false)
    #expect(try obstacles(job, notes: []) == [])
    let place = made.folder.file("receipts/r.json")
    try Data("mine".utf8).write(to: URL(filePath: place))
    try expect(.receipt, job, notes: [])
    job.receipt = .file(URL(filePath: job.sourcePath))
    let own = try obstacles(job, notes: [])
    #expect(own.map(\.failure) == [.configuration] && own.first?.message.contains("it is the job's source") == true)
  }

  @Test(.enabled(if: geteuid() != 0, "root may write to every file"))
  func `a destination that may not be written is in the way`() throws {
    let night = try SecondNight()
    let job = try night.job(night.first)
    #expect(chmod(job.destinationPath, 0o444) == 0)
    try expect(.destination, job)
  }

  @Test func `a file that takes the destination's name during the run stays, and the finished store waits`() throws {
    let fault = try FaultJob(.everyStage)
    let job = try fault.job
    let layer = try FaultLayer(.none)
    // The last moment: before the store gets its name.
    layer.beforeEach = { operation in
      guard operation.secondPath == job.destinationPath else { return }
      close(open(job.destinationPath, O_CREAT | O_WRONLY, 0o600))
    }
    let error = #expect(throws: GodwitError.self) { try layer.run { _ = try MigrationManager(job).run() } }
    #expect(error?.code == .cannotCreate && error?.safe?.hasPrefix("the finished store is") == true, "\(error as Any)")
    #expect(try Data(contentsOf: URL(filePath: job.destinationPath)).isEmpty)
    try FileManager.default.removeItem(atPath: job.destinationPath)
    #expect(try MigrationManager(job).run().outcome == .finished)
  }
}
