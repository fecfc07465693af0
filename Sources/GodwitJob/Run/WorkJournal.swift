import Foundation
package import GodwitModel
package import GodwitStore

/// The state of an unfinished run: `run.json` in the work folder, replaced as a whole and synced.
///
/// The chunks of the store under construction are in the ledger of that store. All else that a later run must know is here.
/// A work folder without it has nothing to resume.
package struct WorkJournal: Codable, Sendable {
  package enum Phase: String, Codable, Sendable, Comparable, CaseIterable {
    /// A store is under construction.
    case making
    /// The store of the last step and its receipt are finished.
    case made
    /// Files of the finished store may have names beside the destination.
    case exchanging
    /// The finished store is the destination.
    case placing

    package static func < (a: Phase, b: Phase) -> Bool {
      (allCases.firstIndex(of: a) ?? 0) < (allCases.firstIndex(of: b) ?? 0)
    }
  }

  /// The job that the work belongs to. Several jobs may append to one destination, and their digests may differ in the
  /// source alone.
  package struct Owner: Codable, Equatable, Sendable {
    package var job: String
    package var appends: Bool

    package init(job: String, appends: Bool) { (self.job, self.appends) = (job, appends) }

    /// `quarantine apply`, which writes an edited source.
    package static let edits = Owner(job: "", appends: false)
  }

  /// The durable work of a job of several steps. The step at work has a ledger of its own in its own store.
  package struct Steps: Codable, Sendable {
    /// A finished step.
    package struct Step: Codable, Sendable, Numbered {
      package typealias NumberKind = NumberedStep

      /// The digest of the step and of all before it.
      package var digest: String
      package var summary: MigrationSummary
      /// The receipt of the step; nil without one.
      package var receipt: Receipt.Step?

      package init(digest: String, summary: MigrationSummary, receipt: Receipt.Step?) {
        (self.digest, self.summary, self.receipt) = (digest, summary, receipt)
      }
    }

    package var identity: JobFingerprint
    package var stamp: StoreFiles.Stamp
    /// Seconds since 2001 that `now()` means in every step.
    package var now: Double
    package var finished: [Step] = []
    /// The first step that is not finished; one after the last when all are.
    package var current: StepID { StepID(finished.count) }
    /// How many hops each step of the job is, finished or not.
    package var hops: [Int]

    package init(identity: JobFingerprint, stamp: StoreFiles.Stamp, now: Double, hops: [Int]) {
      (self.identity, self.stamp, self.now, self.hops) = (identity, stamp, now, hops)
    }
  }

  /// Where the receipt of the finished store goes.
  package struct ReceiptPlace: Codable, Sendable {
    package var path: String
    /// The digest of the job that made the store which the finished one replaces. Its receipt goes with it.
    package var replaced: String?

    package init(path: String, replaced: String? = nil) { (self.path, self.replaced) = (path, replaced) }
  }

  private static let version = 2

  private var version = Self.version
  package var owner: Owner
  package var phase = Phase.making
  package var steps: Steps?
  /// The record of the step whose store is finished.
  package var outcome: Receipt.Note?
  package var receipt: ReceiptPlace?
  /// The support folder that may be beside the destination already, and that of the quarantine.
  package var support, quarantineSupport: String?
  package var exchange: InPlaceSwap.Mark?
  /// How the last run ended, unless it was killed.
  package var lastRun: RunRecord?

  package init(owner: Owner, support: String? = nil, lastRun: RunRecord? = nil) {
    (self.owner, self.support, self.lastRun) = (owner, support, lastRun)
  }

  /// - Returns: nil in a folder without one.
  /// - Throws: `.dataWrong` (65) for a damaged one, `.cannotCreate` (73) for one of another version; what the disk refused.
  package static func read(in folder: String) throws -> WorkJournal? {
    let path = WorkFolder.journalPath(in: folder)
    guard let status = try FileStatus.look(named: path) else { return nil }
    struct Version: Decodable { var version: Int }
    guard status.isFile,
      let data = try ReadableFile.bytes(of: path, limit: .mebibytes(64)),
      let found = try? JSONDecoder().decode(Version.self, from: data).version
    else { throw unreadable(path) }
    guard found == version else {
      throw GodwitError(
        .cannotCreate, "cannot resume: another version of Godwit started the job",
        remedy: "resume with that version, or `godwit discard` the job and run again")
    }
    guard let journal = try? JSONDecoder().decode(Self.self, from: data) else { throw unreadable(path) }
    return journal
  }

  private static func unreadable(_ path: String) -> GodwitError {
    GodwitError(
      .dataWrong, "cannot read the ledger '\(path)'", remedy: "`godwit discard` the job and run again",
      safe: "the source is untouched")
  }

  /// Replaces the file. It is durable when the call returns.
  package func write(in folder: String) throws {
    let path = WorkFolder.journalPath(in: folder)
    let data: Data
    do { data = try sortedJSON() } catch { throw GodwitError.disk("cannot write '\(path)'", error) }
    try WorkFolder.writeNote(data, to: path)
    try WorkFolder.sync(folder)
  }
}
