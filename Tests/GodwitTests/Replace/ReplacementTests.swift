import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import Godwit

/// The second night of a job: its answer to a destination that exists, and the replacement of it.
struct ReplacementTests {
  private struct Died: Error {}

  private func refusal(_ job: MigrationJob, sourceLocation: SourceLocation = #_sourceLocation) throws -> GodwitError {
    try SecondNight.refusal(job, sourceLocation: sourceLocation)
  }

  // MARK: Jobs that replace nothing

  @Test func `a job whose source changed names the source, and both digests`() throws {
    let night = try SecondNight()
    var job = try night.job(night.first)
    job.existingDestination = .fail
    let error = try refusal(job)
    #expect(error.message.hasSuffix("this job made it, and the source store changed since"), "\(error)")
    let receipt = try Receipt.read(job.destinationPath + ".receipt.json")
    let then = try #require(receipt.source.digest).prefix(12)
    let now = try StoreFiles(path: job.sourcePath).contentDigest().prefix(12)
    #expect(then != now)
    #expect(
      error.cause == "the source store: digest \(then) when the destination was made, \(now) now", "\(error)")
    #expect(error.remedy?.contains("existing: replace") == true)
  }

  @Test func `a job names every other thing that changed, down to the key of the manifest`() throws {
    let made = try FaultJob(.everyStage)
    var job = try made.job
    job.receipt = .besideDestination
    try MigrationManager(job).run()
    #expect(try MigrationManager(job).run().outcome == .alreadyFinished)

    var other = job
    other.dropsMirroring = true
    #expect(try refusal(other).message.contains("and the manifest's key 'cloudkit' changed since"))
    #expect(try refusal(other).cause?.contains("value stop when the destination was made, drop now") == true)
    other = job
    other.steps[0].mappingModels[0].entityMappings[0].userInfo["a"] = "b"
    #expect(try refusal(other).message.contains("and the mapping changed since"))
    other = job
    other.steps[0].destinationModel = try FaultJob.third
    other.steps[0].mappingModels[0].entityMappings[1].attributeMappings = []
    #expect(try refusal(other).message.contains("and the destination model, the mapping changed since"))
    other = job
    other.name = "another"
    other.dropsMirroring = true
    #expect(try refusal(other).message.hasSuffix("it is the finished store of another job, 'fault'"))
    // A receipt may have the name that an earlier version of Godwit gave to the job.
    other.earlierName = "fault"
    #expect(try refusal(other).message.contains("and the manifest's key 'cloudkit' changed since"))
    other.earlierName = nil
    // Without the receipt nobody knows.
    try FileManager.default.removeItem(atPath: job.destinationPath + ".receipt.json")
    other.name = job.name
    let unknown = try refusal(other)
    #expect(unknown.message.contains("or the source, a model, a mapping or the manifest changed since"))
    #expect(unknown.cause?.contains("its receipt") == true)
  }

  // MARK: Replacement

  @Test(arguments: [FaultJob.Kind.everyStage, .severalSteps, .xml], [false, true])
  func `a changed source replaces the destination with its external files`(kind: FaultJob.Kind, keepsOld: Bool) throws {
    let night = try SecondNight(kind, keepsOld: keepsOld)
    #expect(night.old != night.new)
    let summary = try MigrationManager(night.job(night.first)).run()
    #expect(summary.outcome == .finished && !summary.wasResumed)
    #expect(summary.codedNotes.contains { $0.code == .replaces && $0.text.contains("the source store changed") })
    try night.expectDone(night.first, "undisturbed")
  }

  @Test func `a job that is done says so, and writes nothing but the time of its receipt`() throws {
    let made = try FaultJob(.everyStage)
    var job = try made.job
    job.existingDestination = .replace(keepsOld: false)
    job.receipt = .besideDestination
    try MigrationManager(job).run()
    let receipt = job.destinationPath + ".receipt.json"
    let long = Date(timeIntervalSince1970: 1_000_000_000)
    for path in [receipt, job.destinationPath] {
      try FileManager.default.setAttributes([.modificationDate: long], ofItemAtPath: path)
    }
    let bytes = try Data(contentsOf: URL(filePath: job.destinationPath))
    #expect(try MigrationManager(job).run().outcome == .alreadyFinished)
    func time(_ path: String) throws -> Date? {
      try FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
    }
    #expect(try Data(contentsOf: URL(filePath: job.destinationPath)) == bytes)
    #expect(try time(job.destinationPath) == long)
    let touched = try #require(try time(receipt))
    #expect(touched > long)
  }

  @Test func `the third night replaces what the second kept, and a foreign store of that name stays`() throws {
    let night = try SecondNight(keepsOld: true)
    let job = try night.job(night.first)
    let kept = InPlaceSwap.oldPath(of: job.destinationPath)
    try MigrationManager(job).run()
    try night.expectDone(night.first, "second")
    try night.change(night.first, "third night", file: 8)
    try MigrationManager(job).run()
    #expect(try SecondNight.content(kept) == night.new)
    #expect(try night.first.namesLeft() == night.leftNames)
    // A file that a person has put there is not ours, whatever receipt lies beside it.
    try night.change(night.first, "fourth night", file: 9)
    try FileManager.default.removeItem(atPath: kept)
    try FileManager.default.copyItem(atPath: night.first.sourcePath, toPath: kept)
    let error = try refusal(job)
    #expect(error.message.hasPrefix("cannot keep the old store: '\(kept)' exists"), "\(error)")
  }

  @Test(arguments: 0..<4) func `a store that the job did not make is never replaced`(_ kind: Int) throws {
    let night = try SecondNight()
    var job = try night.job(night.first)
    let told: String
    switch kind {
    case 0:
      try FileManager.default.removeItem(atPath: job.destinationPath)
      try FileManager.default.copyItem(atPath: job.sourcePath, toPath: job.destinationPath)
      told = "it exists and was not made by this job"
    case 1:
      job.name = "another"
      told = "it is the finished store of another job, 'fault'"
    case 2:
      let connection = try StoreConnection(path: job.sourcePath)
      try connection.execute("UPDATE Z_METADATA SET Z_UUID = '0B0E1E5A-0000-4000-8000-000000000004'")
      try connection.close()
      told = "this job made it from another store"
    default:
      try FileManager.default.removeItem(atPath: job.destinationPath + ".receipt.json")
      told = "it is the finished store of another job, or"
    }
    let error = try refusal(job)
    #expect(error.message.contains(told), "\(error)")
    #expect(error.remedy?.contains("append") == false && error.remedy?.contains("replace") == false)
    #expect(throws: GodwitError.self) { try MigrationManager(job).isFinished() }
  }

  // MARK: An exchange that was interrupted

  @Test(arguments: 1...6) func `a source that changes again after a death in the exchange leaves no file behind`(
    _ step: Int
  ) throws {
    let night = try SecondNight(keepsOld: true)
    var dying = try night.job(night.first)
    dying.hooks.beforeSwapStep = { if $0 == step { throw Died() } }
    #expect(throws: Died.self) { try MigrationManager(dying).run() }
    try night.change(night.first, "third night", file: 8)
    let job = try night.job(night.first)
    #expect(try MigrationManager(job).run().outcome == .finished)
    let fresh = try FaultJob(again: night.first)
    try MigrationManager(night.job(fresh)).run()
    #expect(try SecondNight.content(job.destinationPath) == SecondNight.content(fresh.destinationPath))
    // After the exchange the second night's store is the old one.
    let kept = try SecondNight.content(InPlaceSwap.oldPath(of: job.destinationPath))
    #expect(kept == (step < 6 ? night.old : night.new))
    #expect(try night.first.namesLeft() == night.leftNames)
  }

  @Test(arguments: 1...6) func `discarding a replacement leaves a whole store and none of the other's files`(
    _ step: Int
  ) throws {
    let night = try SecondNight()
    var dying = try night.job(night.first)
    dying.hooks.beforeSwapStep = { if $0 == step { throw Died() } }
    #expect(throws: Died.self) { try MigrationManager(dying).run() }
    #expect(try MigrationManager.discard(destination: dying.destinationPath))
    #expect(try SecondNight.content(dying.destinationPath) == (step < 6 ? night.old : night.new))
    #expect(try !WorkFolder.exists(forDestination: dying.destinationPath))
    // The receipt beside the store is that of the store, so that the job knows it in the nights to come.
    let receipt = try Receipt.read(dying.destinationPath + ".receipt.json")
    #expect(try receipt.isOfStore(at: dying.destinationPath))
    let next = try MigrationManager(night.job(night.first)).run()
    #expect(next.outcome == (step < 6 ? .finished : .alreadyFinished))
  }

  @Test func `a destination that is in use is left until it is free`() throws {
    let night = try SecondNight()
    var job = try night.job(night.first)
    job.hooks.lockSeconds = 0
    // The lock that SQLite has while it writes.
    do {
      let user = try StoreLock(store: job.destinationPath)
      defer { withExtendedLifetime(user) {} }
      // It is asked for at the end alone: who reads meanwhile is not disturbed.
      let error = #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
      #expect(error?.code == .stopped && error?.stopReason == .inUse, "\(String(describing: error))")
      let status = try MigrationManager(job).status()
      #expect(status.run?.state == .stopped && status.run?.reasonCode == "store-in-use")
      #expect(status.state == .unfinished && status.run?.isResumable == true)
    }
    #expect(try SecondNight.content(job.destinationPath) == night.old)
    let summary = try MigrationManager(job).run()
    #expect(summary.outcome == .finished && summary.wasResumed)
    try night.expectDone(night.first, "in use")
  }

  @Test func `a file of one name with other bytes stops the exchange, since both stores cannot have it`() throws {
    let night = try SecondNight()
    let job = try night.job(night.first)
    let (source, live) = (SupportFolder(ofStoreAt: job.sourcePath), SupportFolder(ofStoreAt: job.destinationPath))
    let name = "00000000-0000-0000-1000-\(100_000_000_000 + 2)"
    // Not through the hard link that both may be.
    let other = Data("other bytes".utf8)
    try FileManager.default.removeItem(atPath: source.path(of: name))
    try other.write(to: URL(filePath: source.path(of: name)))
    let before = try Data(contentsOf: URL(filePath: live.path(of: name)))
    let error = #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
    #expect(error?.code == .cannotCreate && error?.message.contains(name) == true, "\(String(describing: error))")
    #expect(try Data(contentsOf: URL(filePath: live.path(of: name))) == before)
    #expect(try SecondNight.content(job.destinationPath) == night.old)
  }

  @Test func `a source that has come back to what it was needs no run, and the unfinished one goes`() throws {
    let night = try SecondNight()
    let job = try night.job(night.first)
    let control = MigrationControl()
    try MigrationManager(job).run(control: control) { _ in control.stop(reason: "test") }
    #expect(try WorkFolder.exists(forDestination: job.destinationPath))
    #expect(try MigrationManager(job).status().run?.state == .stopped)
    try night.sourceBefore.write(to: URL(filePath: job.sourcePath))
    #expect(try MigrationManager(job).run().outcome == .alreadyFinished)
    #expect(try SecondNight.content(job.destinationPath) == night.old)
    #expect(try !WorkFolder.exists(forDestination: job.destinationPath))
  }
}
