import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// The status of a run that was killed before it had anything to resume: in place by SQL there never is.
struct KilledInPlaceStatusTests {
  private static let startsAgain = "; nothing of it is durable, the same command starts again"

  /// A run that took the lock, and died.
  private func die(_ destination: String) throws {
    let folder = try WorkFolder(forDestination: destination)
    #expect(FileManager.default.fileExists(atPath: folder.path + "/lock"))
  }

  /// Leaves a store as a process does that dies in the middle of a transaction: half changed, with a hot journal.
  private func interruptTransaction(_ store: String) throws {
    let connection = try StoreConnection(path: store)
    for sql in ["PRAGMA cache_size = 1", "PRAGMA cache_spill = 1", "BEGIN IMMEDIATE"] { try connection.execute(sql) }
    try connection.execute("UPDATE ZNOTE SET ZTEXT = 'half'")
    try connection.execute("CREATE TABLE godwit_half AS SELECT zeroblob(4000000) AS A")
    let hot = try [store, store + "-journal"].map { ($0, try Data(contentsOf: URL(filePath: $0))) }
    try connection.execute("ROLLBACK")
    try connection.close()
    for (path, bytes) in hot { try bytes.write(to: URL(filePath: path)) }
  }

  @Test func `a job in place whose run was killed in its transaction is unfinished, and starts again`() throws {
    let fixture = try MigrationFixture.notes()
    try fixture.infer()
    let path = try fixture.copyOfSource("edited")
    let manager = MigrationManager(fixture.jobInPlace(path, keepsOld: false))
    #expect(try manager.status().state == .notStarted)
    try die(path)
    try interruptTransaction(path)
    let before = try FolderContents(path.parentPath)
    let found = try manager.status()
    #expect(found.state == .unfinished && found.percent == 0 && found.lines.isEmpty)
    #expect(found.run?.state == .stale && found.run?.isResumable == true && found.run?.startsAgain == true)
    #expect(found.description.hasPrefix("job test: unfinished, 0.0%\n  stale: "), "\(found)")
    #expect(found.description.contains(Self.startsAgain), "\(found)")
    #expect(try manager.status(comparesSource: false).state == .unfinished)
    #expect(try FolderContents(path.parentPath) == before)
    // That is what the run then does.
    let summary = try manager.run()
    #expect(summary.outcome == .finished)
    let finished = try manager.status()
    #expect(finished.state == .finished && finished.run?.startsAgain != true)
    let texts = try StoreConnection.openStore(readingAt: path).rows("SELECT ZTEXT FROM source.ZNOTE ORDER BY Z_PK")
    #expect(texts.map { $0.map(\.plain) } == (1...40).map { ["note \($0)"] })
  }

  @Test func `a run that is at work in place is unfinished, not a job that has not started`() throws {
    let fixture = try MigrationFixture.notes()
    try fixture.infer()
    let path = try fixture.copyOfSource("edited")
    let manager = MigrationManager(fixture.jobInPlace(path, keepsOld: false))
    do {
      let folder = try WorkFolder(forDestination: path)
      let found = try manager.status()
      #expect(found.state == .unfinished && found.run?.state == .running && found.run?.startsAgain == false)
      #expect(!found.description.contains("again"), "\(found)")
      try folder.remove()
    }
    #expect(try manager.status().state == .notStarted)
  }

  @Test func `a run that was killed before its first chunk starts again, and one after it resumes`() throws {
    let fixture = try MigrationFixture.notes()
    let manager = MigrationManager(try fixture.job)
    try die(fixture.destinationPath)
    let first = try manager.status()
    #expect(first.state == .unfinished && first.run?.state == .stale && first.run?.startsAgain == true)
    let control = MigrationControl()
    try manager.run(control: control) { _ in control.stop(reason: "test") }
    try die(fixture.destinationPath)
    let second = try manager.status()
    #expect(second.state == .unfinished && second.percent > 0 && second.run?.state == .stale)
    #expect(second.run?.startsAgain == false)
    #expect(second.description.contains("; the same command resumes"), "\(second)")
  }

  @Test func `the killed run of another job is not told as this one's`() throws {
    let fixture = try MigrationFixture.notes()
    var job = try fixture.job
    try die(job.destinationPath)
    try WorkJournal(owner: .init(job: "other", appends: true)).write(in: job.workPath)
    #expect(try MigrationManager(job).status().state == .notStarted)
    // A folder that names nobody does not tell which of several appending jobs began it.
    try FileManager.default.removeItem(atPath: job.workPath + "/run.json")
    #expect(try MigrationManager(job).status().state == .unfinished)
    job.existingDestination = .append
    #expect(try MigrationManager(job).status().state == .notStarted)
  }
}
