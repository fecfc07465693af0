import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// A replacement must not cost files that rows of the new store name, changes to the old store, or the store that was
/// kept before.
struct ReplacementLossTests {
  private static func name(_ kind: Int, _ number: Int) -> String {
    "00000000-0000-0000-\(kind)000-\(100_000_000_000 + number)"
  }

  private func receiptIsClean(_ store: String) throws -> Bool {
    try ReceiptCheck(receipt: URL(filePath: store + Receipt.suffix)).run().isClean
  }

  // MARK: Files

  @Test func `a source without its external files costs the destination none that its new rows name`() throws {
    let night = try SecondNight()
    try FileManager.default.removeItem(atPath: SupportFolder(ofStoreAt: night.first.sourcePath).path)
    let job = try night.job(night.first)
    #expect(try MigrationManager(job).run().outcome == .finished)
    let live = SupportFolder(ofStoreAt: job.destinationPath)
    #expect(try live.size(of: Self.name(1, 2)) == 10_000)
    // A file that only a row of the old store named is removed.
    #expect(try live.size(of: Self.name(1, 1)) == nil)
    #expect(try receiptIsClean(job.destinationPath))
  }

  @Test func `an XML destination leaves the files of the store beside it alone`() throws {
    let night = try SecondNight(.xml, keepsOld: true)
    let other = SupportFolder(ofStoreAt: night.first.folder.file("out/people.sqlite"))
    try FileManager.default.createDirectory(atPath: other.dataPath, withIntermediateDirectories: true)
    try Data("another store's".utf8).write(to: URL(filePath: other.path(of: Self.name(9, 1))))
    let kept = SupportFolder(ofStoreAt: night.first.folder.file("out/people~.sqlite"))
    try FileManager.default.copyItem(atPath: other.path, toPath: kept.path)
    let before = try [FolderContents(other.path), FolderContents(kept.path)]
    let job = try night.job(night.first)
    try MigrationManager(job).run()
    try night.change(night.first, "third night", file: 8)
    try MigrationManager(job).run()
    #expect(try [FolderContents(other.path), FolderContents(kept.path)] == before)
    #expect(try SecondNight.content(InPlaceSwap.oldPath(of: job.destinationPath)) == night.new)
  }

  // MARK: Changes to the destination

  @Test(arguments: [FaultJob.Kind.everyStage, .xml])
  func `a destination that was written to is not replaced`(kind: FaultJob.Kind) throws {
    let night = try SecondNight(kind)
    let job = try night.job(night.first)
    if kind == .xml {
      let text = try String(contentsOfFile: job.destinationPath, encoding: .utf8)
      let edited = text.replacing(">p5<", with: ">x5<")
      try #require(edited != text)
      try Data(edited.utf8).write(to: URL(filePath: job.destinationPath))
    } else {
      try SecondNight.edit(job.destinationPath, "UPDATE ZPERSON SET ZNAME = 'edited' WHERE Z_PK = 5")
    }
    let error = try SecondNight.refusal(job)
    #expect(error.message == "cannot replace '\(job.destinationPath)': it was written to since the job made it")
    #expect(error.cause?.contains("Person: values of one or more of its 20 objects have changed") == true, "\(error)")
    #expect(error.remedy?.contains("`keep-old: true`") == true && error.remedy?.contains("verify --receipt") == true)
  }

  /// Changes that an application may make beside the objects.
  enum Writing: String, CaseIterable, Sendable { case table, column, file }

  private func write(_ what: Writing, to store: String) throws {
    switch what {
    case .table: try SecondNight.edit(store, "CREATE TABLE search (word)", "INSERT INTO search VALUES ('a'), ('b')")
    case .column:
      try SecondNight.edit(
        store, "ALTER TABLE ZPERSON ADD COLUMN rank", "UPDATE ZPERSON SET rank = 1 WHERE Z_PK = 5")
    case .file:
      let path = SupportFolder(ofStoreAt: store).path(of: Self.name(1, 2))
      let handle = try FileHandle(forUpdating: URL(filePath: path))
      try handle.write(contentsOf: Data("edited".utf8))
      try handle.close()
    }
  }

  private static let causes: [Writing: String] = [
    .table: "2 rows of table search (no model names it)",
    .column: "1 value of ZPERSON.rank (no model names the column)",
    .file: "Person: values of one or more of its 20 objects have changed",
  ]

  @Test(arguments: Writing.allCases)
  func `a destination that holds what no job wrote is not replaced`(what: Writing) throws {
    let night = try SecondNight()
    let job = try night.job(night.first)
    try write(what, to: job.destinationPath)
    let error = try SecondNight.refusal(job)
    #expect(error.message == "cannot replace '\(job.destinationPath)': it was written to since the job made it")
    #expect(error.cause?.contains(Self.causes[what] ?? "?") == true, "\(error)")
  }

  @Test(arguments: Writing.allCases)
  func `what no job wrote is kept with the old store, and not removed in the night after`(what: Writing) throws {
    let night = try SecondNight(keepsOld: true)
    let job = try night.job(night.first)
    try MigrationManager(job).run()
    let kept = InPlaceSwap.oldPath(of: job.destinationPath)
    try write(what, to: kept)
    try night.change(night.first, "third night", file: 8)
    let error = try SecondNight.refusal(job)
    #expect(error.cause?.contains(Self.causes[what] ?? "?") == true, "\(error)")
  }

  @Test func `files that nobody has edited are not read again`() throws {
    let night = try SecondNight(keepsOld: true)
    let job = try night.job(night.first)
    try MigrationManager(job).run()
    for store in [job.destinationPath, InPlaceSwap.oldPath(of: job.destinationPath)] {
      // The content would differ, and only a look at the content would tell.
      var receipt = try Receipt.read(store + Receipt.suffix)
      receipt.entities = []
      try receipt.encoded().write(to: URL(filePath: store + Receipt.suffix))
    }
    try night.change(night.first, "third night", file: 8)
    #expect(try !MigrationManager(job).run().codedNotes.contains { $0.code == .destinationChanged })
  }

  @Test func `a destination that was written to while the job ran is not replaced`() throws {
    let night = try SecondNight()
    let job = try night.job(night.first)
    var edits = 0
    let error = #expect(throws: GodwitError.self) {
      try MigrationManager(job).run { _ in
        edits += 1
        if edits == 1 { try? SecondNight.edit(job.destinationPath, "DELETE FROM ZADDRESS WHERE Z_PK = 5") }
      }
    }
    #expect(
      error?.code == .cannotCreate && error?.message.contains("was written to") == true, "\(String(describing: error))")
    #expect(error?.cause?.contains("Address: 1 object is gone") == true, "\(String(describing: error))")
    #expect(error?.safe?.contains("the new one is finished in '") == true)
    #expect(try SecondNight.content(job.destinationPath) != night.old)
    #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
    // Once it is moved away, the finished store comes into its place.
    for suffix in ["", Receipt.suffix] { try FileManager.default.removeItem(atPath: job.destinationPath + suffix) }
    try SupportFolder(ofStoreAt: job.destinationPath).remove()
    #expect(try MigrationManager(job).run().wasResumed)
    #expect(try SecondNight.content(job.destinationPath) == night.new)
  }

  @Test func `a write that changes no object is not a change, nor is a receipt without a stamp`() throws {
    let night = try SecondNight(keepsOld: true)
    let job = try night.job(night.first)
    let path = job.destinationPath + Receipt.suffix
    #expect(try Receipt.read(path).destination.stamp == Receipt.deliveryStamp(ofStoreAt: job.destinationPath))
    try SecondNight.edit(
      job.destinationPath, "PRAGMA journal_mode = WAL", "CREATE INDEX other ON ZPERSON (ZNAME)",
      "UPDATE ZPERSON SET Z_OPT = Z_OPT + 1 WHERE Z_PK = 1")
    #expect(try Receipt.deliveryStamp(ofStoreAt: job.destinationPath) == nil)
    #expect(try !MigrationManager(job).run().codedNotes.contains { $0.code == .destinationChanged })
    for store in [job.destinationPath, InPlaceSwap.oldPath(of: job.destinationPath)] {
      var receipt = try Receipt.read(store + Receipt.suffix)
      receipt.destination.stamp = nil
      try receipt.encoded().write(to: URL(filePath: store + Receipt.suffix))
    }
    try night.change(night.first, "third night", file: 8)
    #expect(try MigrationManager(job).run().outcome == .finished)
  }

  @Test func `a destination that was written to is kept with that, and not removed in the night after`() throws {
    let night = try SecondNight(keepsOld: true)
    let job = try night.job(night.first)
    let kept = InPlaceSwap.oldPath(of: job.destinationPath)
    try SecondNight.edit(job.destinationPath, "UPDATE ZPERSON SET ZNAME = 'edited' WHERE Z_PK = 5")
    let edited = try SecondNight.content(job.destinationPath)
    let summary = try MigrationManager(job).run()
    let note = summary.codedNotes.first { $0.code == .destinationChanged }
    #expect(note?.text.contains("kept with that as '\(kept)': value: Person") == true, "\(summary.codedNotes)")
    #expect(try SecondNight.content(kept) == edited && SecondNight.content(job.destinationPath) == night.new)

    try night.change(night.first, "third night", file: 8)
    let error = try SecondNight.refusal(job)
    #expect(error.message.contains("'\(kept)', which the job kept before, was written to"), "\(error)")
    #expect(error.remedy?.contains("move it away") == true)
    for path in [kept, kept + Receipt.suffix] { try FileManager.default.removeItem(atPath: path) }
    try SupportFolder(ofStoreAt: kept).remove()
    #expect(try MigrationManager(job).run().outcome == .finished)
    #expect(try SecondNight.content(kept) == night.new)
    // Changes to a kept store count too.
    try SecondNight.edit(kept, "DELETE FROM ZADDRESS WHERE Z_PK = 5")
    try night.change(night.first, "fourth night", file: 9)
    #expect(try SecondNight.refusal(job).cause?.contains("Address: 1 object is gone") == true)
  }

  @Test(.enabled(if: geteuid() != 0, "root may write to every file"))
  func `a destination that may not be written is found before the work`() throws {
    let night = try SecondNight()
    let job = try night.job(night.first)
    #expect(chmod(job.destinationPath, 0o444) == 0)
    var steps = 0
    let error = #expect(throws: GodwitError.self) { try MigrationManager(job).run { _ in steps += 1 } }
    #expect(error?.code == .permission && steps == 0, "\(String(describing: error))")
  }

  // MARK: The kept store

  @Test func `the store that was kept stays until the exchange is possible`() throws {
    let night = try SecondNight(keepsOld: true)
    let job = try night.job(night.first)
    let kept = InPlaceSwap.oldPath(of: job.destinationPath)
    try MigrationManager(job).run()
    #expect(try receiptIsClean(kept) && receiptIsClean(job.destinationPath))
    try night.change(night.first, "third night", file: 8)
    let live = SupportFolder(ofStoreAt: job.destinationPath)
    try Data("other bytes".utf8).write(to: URL(filePath: live.path(of: Self.name(3, 8))))
    let error = #expect(throws: GodwitError.self) { try MigrationManager(job).run() }
    #expect(error?.message.contains(Self.name(3, 8)) == true, "\(String(describing: error))")
    #expect(try SecondNight.content(kept) == night.old)
    #expect(try receiptIsClean(kept))
  }

  @Test func `the destination of another source that is called as the old store would be is not taken for it`() throws {
    let night = try SecondNight(keepsOld: true)
    let job = try night.job(night.first)
    var other = job
    other.destinationPath = InPlaceSwap.oldPath(of: job.destinationPath)
    other.sourcePath = night.first.folder.file("other.sqlite")
    try night.sourceBefore.write(to: URL(filePath: other.sourcePath))
    let support = SupportFolder(ofStoreAt: job.sourcePath)
    try FileManager.default.copyItem(atPath: support.path, toPath: SupportFolder(ofStoreAt: other.sourcePath).path)
    // Both stores have one job's name, and are even copies of one store.
    #expect(try MigrationManager(other).run().outcome == .finished)
    #expect(try SecondNight.refusal(job).message.contains("the job did not keep it there"))

    for path in [other.destinationPath, other.destinationPath + Receipt.suffix] {
      try FileManager.default.removeItem(atPath: path)
    }
    try SupportFolder(ofStoreAt: other.destinationPath).remove()
    #expect(try MigrationManager(job).run().outcome == .finished)
    let name = URL(filePath: job.destinationPath).lastPathComponent
    #expect(try Receipt.read(other.destinationPath + Receipt.suffix).destination.keptFrom == name)
    #expect(try Receipt.read(job.destinationPath + Receipt.suffix).destination.keptFrom == nil)
    // The store that the job kept does not belong to the other job, although that would make the same.
    #expect(try SecondNight.refusal(other).message.contains("a run kept when it replaced '\(name)'"))
    // It is not an earlier destination of the other job either.
    try night.change(night.first, "third night", file: 8)
    other.sourcePath = job.sourcePath
    let error = try SecondNight.refusal(other)
    #expect(error.message.contains("a run kept when it replaced '\(name)'"), "\(error)")
  }

  @Test func `what cannot make room for the old store is found before the work`() throws {
    let night = try SecondNight(keepsOld: true)
    let job = try night.job(night.first)
    let kept = InPlaceSwap.oldPath(of: job.destinationPath)
    let log = kept + "-wal"
    try Data("log".utf8).write(to: URL(filePath: log))
    #expect(try SecondNight.refusal(job).message.contains("'\(log)' exists, and SQLite would apply"))
    try FileManager.default.removeItem(atPath: log)
    try MigrationManager(job).run()
    try night.change(night.first, "third night", file: 8)
    let foreign = SupportFolder(ofStoreAt: kept).dataPath + "/.DS_Store"
    try Data("x".utf8).write(to: URL(filePath: foreign))
    #expect(
      try SecondNight.refusal(job).message.contains(
        "'\(foreign)' exists, and the store that the job kept there has no such external file"))
    try FileManager.default.removeItem(atPath: foreign)
    // A receipt without the digest of its job says nothing of a store without one.
    var receipt = try Receipt.read(kept + Receipt.suffix)
    receipt.job.digest = nil
    try receipt.encoded().write(to: URL(filePath: kept + Receipt.suffix))
    try FileManager.default.removeItem(atPath: kept)
    try FileManager.default.copyItem(atPath: job.sourcePath, toPath: kept)
    #expect(try SecondNight.refusal(job).message.contains("the job did not keep it there"))
  }

  @Test func `a log beside the name of the old store stops a job in place`() throws {
    let made = try FaultJob(.inPlace)
    let log = InPlaceSwap.oldPath(of: made.sourcePath) + "-wal"
    try Data("log".utf8).write(to: URL(filePath: log))
    let error = #expect(throws: GodwitError.self) { try made.run() }
    #expect(error?.code == .cannotCreate && error?.message.contains(log) == true, "\(String(describing: error))")
  }

  @Test func `a destination that is moved away without its log gets no new store beside that`() throws {
    let night = try SecondNight()
    let job = try night.job(night.first)
    let error = #expect(throws: GodwitError.self) {
      try MigrationManager(job).run { _ in
        try? FileManager.default.moveItem(atPath: job.destinationPath, toPath: job.destinationPath + ".away")
        try? Data("log".utf8).write(to: URL(filePath: job.destinationPath + "-wal"))
      }
    }
    #expect(error?.code == .cannotCreate && error?.message.contains("the log of another store") == true)
    #expect(!FileManager.default.fileExists(atPath: job.destinationPath))
  }
}
