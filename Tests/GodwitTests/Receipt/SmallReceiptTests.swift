import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// The receipt of a small store, when the run that knew what it says has died.
struct SmallReceiptTests {
  private func job(_ fault: FaultJob, _ type: StoreType) throws -> MigrationJob {
    var job = try fault.job
    job.destinationType = type
    return job
  }

  /// The fields of a receipt that only the run knows.
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

  private func operations(_ job: MigrationJob) throws -> [DiskOperation] {
    let layer = try FaultLayer(.none)
    try layer.run { _ = try MigrationManager(job).run() }
    return layer.operations
  }

  @Test(arguments: [StoreType.sqlite, .xml], [false, true])
  func `after a death near the end the next run's receipt lacks nothing`(type: StoreType, hasOtherWork: Bool) throws {
    let whole = try FaultJob(.smallStore)
    let count = try operations(job(whole, type)).count
    let expected = try said(job(whole, type))
    // A job on another source, which died when its store was finished and its receipt was not.
    let other = try FaultJob(again: whole)
    var resumable = try job(other, type)
    resumable.durability = .resumable
    let written = try operations(resumable).lastIndex { $0.path.hasSuffix("/receipt.json.new") }
    let place = try #require(written) + 1
    for position in TestTier.sample(max(1, count - 40)...count, each: 7) {
      let fault = try FaultJob(again: whole)
      let job = try job(fault, type)
      if hasOtherWork {
        let source = try Data(contentsOf: URL(filePath: job.sourcePath))
        try StoreConnection(path: job.sourcePath).execute("UPDATE ZADDRESS SET ZSTREET = 'another'")
        var resumable = job
        resumable.durability = .resumable
        #expect(try die(resumable, at: place, fault.folder.path))
        try source.write(to: URL(filePath: job.sourcePath))
        #expect(try WorkJournal.read(in: job.workPath)?.outcome != nil)
      }
      // With the other's work the operations are a few more.
      try die(job, at: position + (hasOtherWork ? 5 : 0), fault.folder.path)
      try MigrationManager(job).run()
      let found = try said(job)
      #expect(found == expected, "\(position) of \(count)")
    }
  }

  // MARK: Errors of the disk

  /// A job with a receipt. In place, it is one that the executor carries out.
  private func job(_ kind: FaultJob.Kind, again whole: FaultJob) throws -> (FaultJob, MigrationJob) {
    let fault = try FaultJob(again: whole)
    var job = try fault.job
    job.receipt = .besideDestination
    return (fault, job)
  }

  /// Every operation on a file of the receipt, refused once.
  @Test(arguments: FaultJob.Kind.allCases, [ENOSPC, EIO])
  func `a receipt that the disk refuses once is written by the next run`(kind: FaultJob.Kind, code: Int32) throws {
    let whole = try FaultJob(kind)
    let (reference, undisturbed) = try job(kind, again: whole)
    let positions = try operations(undisturbed).enumerated().filter { $0.element.path.contains("receipt") }
      .map { $0.offset + 1 }
    #expect(positions.count > 2)
    let expected = try withExtendedLifetime(reference) { try said(undisturbed) }
    for position in TestTier.sample(positions, each: 6) {
      let (fault, job) = try job(kind, again: whole)
      let layer = try FaultLayer(.fail(code, at: position), root: fault.folder.path)
      var notes: [MigrationNote.Code] = []
      var failure: (any Error)?
      do { try layer.run { notes = try MigrationManager(job).run().codedNotes.map(\.code) } } catch { failure = error }
      let place = "\(kind), \(layer.struck?.description ?? "nothing"): \(String(describing: failure))"
      #expect(layer.hasStruck && !notes.contains(.receiptMissing), "\(place)")
      if let failure { #expect((failure as? GodwitError)?.code == .inputOutput, "\(place)") }
      let again = try MigrationManager(job).run()
      #expect([.finished, .alreadyFinished].contains(again.outcome), "\(place)")
      #expect(!again.codedNotes.contains { $0.code == .receiptMissing }, "\(place)")
      #expect(try said(job) == expected, "\(place)")
      #expect(try ReceiptCheck(receipt: URL(filePath: job.destinationPath + Receipt.suffix)).run().isClean, "\(place)")
      #expect(try !WorkFolder.exists(forDestination: job.destinationPath), "\(place)")
      #expect(try MigrationManager(job).run().outcome == .alreadyFinished, "\(place)")
    }
  }

  /// The application may have written to the store since it was edited, so that no later run can count it.
  @Test(arguments: [true, false])
  func `a store edited in its place gets its receipt from the next run, or the run says that there is none`(
    keepsOld: Bool
  ) throws {
    func made() throws -> (MigrationFixture, MigrationJob) {
      let fixture = try MigrationFixture.notes()
      try fixture.infer()
      var job = fixture.jobInPlace(try fixture.copyOfSource("edited"), keepsOld: keepsOld)
      job.receipt = .besideDestination
      return (fixture, job)
    }
    let (whole, first) = try made()
    let positions = try operations(first).enumerated().filter { $0.element.path.contains("receipt") }
      .map { $0.offset + 1 }
    var written = 0
    for position in TestTier.sample(positions, each: 2) {
      let (fixture, job) = try made()
      let layer = try FaultLayer(.fail(ENOSPC, at: position), root: fixture.folder.path)
      var notes: [MigrationNote.Code] = []
      do { try layer.run { notes = try MigrationManager(job).run().codedNotes.map(\.code) } } catch {
        #expect((error as? GodwitError)?.code == .inputOutput, "\(error)")
      }
      _ = try MigrationManager(job).run()
      let isThere = (try? Receipt.read(job.sourcePath + Receipt.suffix)) != nil
      let place = layer.struck?.description ?? "nothing"
      #expect(isThere != notes.contains(.receiptMissing) && (isThere || !keepsOld), "\(place)")
      #expect(try !WorkFolder.exists(forDestination: job.sourcePath))
      if isThere { written += 1 }
    }
    #expect(written > 0)
    withExtendedLifetime(whole) {}
  }
}
