import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import Godwit

/// The treatment of an earlier run's unfinished work by a job that replaces its destination.
struct UnfinishedWorkTests {
  private struct Died: Error {}

  private func stop(_ job: MigrationJob) throws {
    let control = MigrationControl()
    let summary = try MigrationManager(job).run(control: control) { _ in control.stop(reason: "test") }
    #expect(summary.outcome == .stopped)
  }

  /// Checks that a run begins again, and makes the same as an undisturbed run from the present source.
  private func expectAnew(_ night: SecondNight, _ job: MigrationJob, _ what: String) throws {
    let summary = try MigrationManager(job).run()
    #expect(summary.outcome == .finished && !summary.wasResumed)
    let note = summary.codedNotes.first { $0.code == .workDropped }
    #expect(note?.text.hasSuffix("because \(what) changed since it began") == true, "\(summary.codedNotes)")
    let fresh = try FaultJob(again: night.first)
    try MigrationManager(night.job(fresh)).run()
    #expect(try SecondNight.content(job.destinationPath) == SecondNight.content(fresh.destinationPath))
    #expect(try night.first.namesLeft() == night.leftNames)
  }

  @Test(arguments: [FaultJob.Kind.everyStage, .severalSteps])
  func `unfinished work of a source that has changed since makes room for a new beginning`(
    kind: FaultJob.Kind
  ) throws {
    let night = try SecondNight(kind)
    let job = try night.job(night.first)
    try stop(job)
    #expect(try WorkJournal.read(in: job.workPath)?.owner == .init(job: "fault", appends: false))
    try night.change(night.first, "third night", file: 8)
    try expectAnew(night, job, "the source store")
  }

  @Test(arguments: [FaultJob.Kind.everyStage, .severalSteps])
  func `a finished store that waited for its exchange makes room for a new source too`(kind: FaultJob.Kind) throws {
    let night = try SecondNight(kind)
    var job = try night.job(night.first)
    job.hooks.lockSeconds = 0
    do {
      let user = try StoreLock(store: job.destinationPath)
      defer { withExtendedLifetime(user) {} }
      let error = #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
      #expect(error?.stopReason == .inUse)
    }
    try night.change(night.first, "third night", file: 8)
    try expectAnew(night, job, "the source store")
  }

  @Test(arguments: [FaultJob.Kind.everyStage, .severalSteps])
  func `the first night may begin again as well, and resumes a source that only looks changed`(
    kind: FaultJob.Kind
  ) throws {
    let night = try SecondNight(kind)
    let made = try FaultJob(again: night.first)
    let job = try night.job(made)
    try stop(job)
    let later = Date().addingTimeInterval(60)
    try FileManager.default.setAttributes([.modificationDate: later], ofItemAtPath: job.sourcePath)
    try stop(job)
    try night.change(made, "another day", file: 8)
    let summary = try MigrationManager(job).run()
    #expect(summary.outcome == .finished && !summary.wasResumed)
    #expect(summary.codedNotes.contains { $0.code == .workDropped }, "\(summary.codedNotes)")
    // A job that replaces nothing leaves that to a person.
    let other = try FaultJob(again: night.first)
    var careful = try other.job
    careful.existingDestination = .fail
    try stop(careful)
    try night.change(other, "another day", file: 8)
    let error = #expect(throws: GodwitError.self) { try MigrationManager(careful).run() }
    #expect(error?.message.contains("the source store changed since the run began") == true)
  }

  @Test func `a run that a changed source stopped is resumable only if the job replaces its destination`() throws {
    let night = try SecondNight()
    var job = try night.job(night.first)
    try stop(job)
    let watch = StopCondition(control: MigrationControl(), start: Date(), maximumSeconds: nil)
    RunEnd(job: job, watch: watch).note(failedWith: GodwitError(.stopped, "test", stopReason: .sourceChanged))
    #expect(try MigrationManager(job).status().run?.isResumable == true)
    job.existingDestination = .fail
    #expect(try MigrationManager(job).status().run?.isResumable == false)
  }

  @Test func `other steps than those that were begun make room for a new beginning`() throws {
    let night = try SecondNight(.severalSteps)
    var job = try night.job(night.first)
    try stop(job)
    job.steps[0].mappingModels[0].entityMappings[0].userInfo["a"] = "b"
    let summary = try MigrationManager(job).run()
    #expect(summary.outcome == .finished && !summary.wasResumed)
    #expect(summary.codedNotes.contains { $0.code == .workDropped && $0.text.contains("the mapping changed") })
  }

  @Test func `a user that leaves in time does not cost the night`() throws {
    let night = try SecondNight()
    var job = try night.job(night.first)
    // As long as a loaded machine may need.
    job.hooks.lockSeconds = 60
    // Only the thread below uses it.
    nonisolated(unsafe) let user = try StoreLock(store: job.destinationPath)
    Thread.detachNewThread {
      Thread.sleep(forTimeInterval: 0.7)
      user.release()
    }
    #expect(try MigrationManager(job).run().outcome == .finished)
  }

  @Test func `what another job has begun stays, whether this one is done or not`() throws {
    let night = try SecondNight()
    let job = try night.job(night.first)
    try stop(job)
    let changed = try Data(contentsOf: URL(filePath: job.sourcePath))
    var journal = try #require(try WorkJournal.read(in: job.workPath))
    journal.owner = .init(job: "other", appends: true)
    try journal.write(in: job.workPath)
    let store = job.workPath + "/store.sqlite"
    let work = try Data(contentsOf: URL(filePath: store))
    try night.sourceBefore.write(to: URL(filePath: job.sourcePath))
    #expect(try MigrationManager(job).run().outcome == .alreadyFinished)
    #expect(try Data(contentsOf: URL(filePath: store)) == work)
    try changed.write(to: URL(filePath: job.sourcePath))
    let error = #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
    #expect(error?.code == .cannotCreate)
    #expect(error?.message.hasSuffix("has the unfinished work of another job, 'other'") == true)
    #expect(try Data(contentsOf: URL(filePath: store)) == work)
    #expect(try WorkJournal.read(in: job.workPath)?.owner == journal.owner)
  }

  @Test func `a job that no longer replaces ends what it had begun when it did`() throws {
    let night = try SecondNight()
    var job = try night.job(night.first)
    job.hooks.beforeSwapStep = { if $0 == 6 { throw Died() } }
    #expect(throws: Died.self) { try MigrationManager(job).run() }
    #expect(try SecondNight.content(job.destinationPath) != night.new)
    job.existingDestination = .fail
    job.hooks.beforeSwapStep = { _ in }
    #expect(try MigrationManager(job).run().outcome == .alreadyFinished)
    #expect(try SecondNight.content(job.destinationPath) == night.new)
    #expect(try !WorkFolder.exists(forDestination: job.destinationPath))
  }

  @Test func `the receipt of a store that was to be kept goes with the key`() throws {
    let night = try SecondNight(keepsOld: true)
    var job = try night.job(night.first)
    job.hooks.beforeSwapStep = { if $0 == 1 { throw Died() } }
    #expect(throws: Died.self) { try MigrationManager(job).run() }
    let receipt = InPlaceSwap.oldPath(of: job.destinationPath) + Receipt.suffix
    #expect(FileManager.default.fileExists(atPath: receipt))
    job.existingDestination = .replace(keepsOld: false)
    job.hooks.beforeSwapStep = { _ in }
    #expect(try MigrationManager(job).run().outcome == .finished)
    #expect(!FileManager.default.fileExists(atPath: receipt))
  }
}
