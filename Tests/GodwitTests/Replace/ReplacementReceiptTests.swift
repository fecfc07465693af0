import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

@testable import Godwit

/// Which receipt goes when a job replaces its destination: that of the store which is replaced, and no other.
struct ReplacementReceiptTests {
  private struct Died: Error {}

  private func isClean(_ receipt: String, of store: String) throws -> Bool {
    try ReceiptCheck(receipt: URL(filePath: receipt), destination: URL(filePath: store)).run().isClean
  }

  /// The names of the receipts in the folder of the job.
  private func names(_ made: FaultJob) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: made.folder.file("receipts")).sorted()
  }

  /// The job with its receipt in a folder of its own.
  private func job(_ night: SecondNight, destination: String? = nil) throws -> MigrationJob {
    var job = try night.job(night.first)
    job.receipt = .file(URL(filePath: night.first.folder.file("receipts/people.receipt.json")))
    if let destination { job.destinationPath = night.first.folder.file(destination) }
    return job
  }

  /// A job whose receipt lies in a folder of its own since the first night, and whose source has changed.
  private func night() throws -> SecondNight {
    let night = try SecondNight()
    let folder = night.first.folder
    try FileManager.default.createDirectory(atPath: folder.file("receipts"), withIntermediateDirectories: false)
    try FileManager.default.moveItem(
      atPath: night.first.destinationPath + Receipt.suffix, toPath: folder.file("receipts/people.receipt.json"))
    return night
  }

  @Test func `a destination in another folder leaves the receipt of the one before under another name`() throws {
    let night = try night()
    let (old, new) = (night.first.destinationPath, try job(night, destination: "elsewhere/people.sqlite"))
    let before = try Receipt.read(night.first.folder.file("receipts/people.receipt.json"))
    let mark = try #require(before.job.digest).prefix(12)
    #expect(try MigrationManager(new).run().outcome == .finished)
    #expect(try names(night.first) == ["people.\(mark).receipt.json", "people.receipt.json"])
    let folder = night.first.folder
    #expect(try isClean(folder.file("receipts/people.\(mark).receipt.json"), of: old))
    #expect(try isClean(folder.file("receipts/people.receipt.json"), of: new.destinationPath))
    // The next night replaces a store, and its receipt with it.
    try night.change(night.first, "third night", file: 8)
    #expect(try MigrationManager(new).run().codedNotes.contains { $0.code == .replaces })
    #expect(try names(night.first) == ["people.\(mark).receipt.json", "people.receipt.json"])
    #expect(try isClean(folder.file("receipts/people.receipt.json"), of: new.destinationPath))
  }

  @Test(arguments: 1...6) func `a run that dies in the exchange leaves one receipt in the end`(_ step: Int) throws {
    let night = try night()
    var dying = try job(night)
    dying.hooks.beforeSwapStep = { if $0 == step { throw Died() } }
    #expect(throws: Died.self) { try MigrationManager(dying).run() }
    try MigrationManager(job(night)).run()
    #expect(try names(night.first) == ["people.receipt.json"])
    let receipt = night.first.folder.file("receipts/people.receipt.json")
    #expect(try isClean(receipt, of: night.first.destinationPath))
  }

  @Test func `a destination that is moved away after a death in the exchange keeps its receipt`() throws {
    let night = try night()
    var dying = try job(night)
    dying.hooks.beforeSwapStep = { if $0 == 3 { throw Died() } }
    #expect(throws: Died.self) { try MigrationManager(dying).run() }
    // With its external files.
    let away = night.first.folder.file("away")
    try FileManager.default.createDirectory(atPath: away, withIntermediateDirectories: false)
    let path = night.first.destinationPath
    for name in [path, SupportFolder(ofStoreAt: path).path] {
      try FileManager.default.moveItem(atPath: name, toPath: away + "/" + URL(filePath: name).lastPathComponent)
    }
    #expect(try MigrationManager(job(night)).run().outcome == .finished)
    let found = try names(night.first)
    #expect(found.count == 2 && found.last == "people.receipt.json")
    let aside = try #require(found.first)
    #expect(try Receipt.read(night.first.folder.file("receipts/" + aside)).job.digest != nil)
    let receipt = try Receipt.read(night.first.folder.file("receipts/" + aside))
    #expect(try receipt.isOfStore(at: away + "/people.sqlite"))
  }
}
