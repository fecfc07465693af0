import Foundation
import GodwitDisk
import GodwitJob
import GodwitModel
import GodwitStore

/// What is durable of a job of several steps: which steps are finished, and what they did.
///
/// It is `job.json` in the work folder, replaced as a whole and synced. The step at work keeps its own
/// ledger in its own store; this record is written when the step's store is finished and synced.
struct StepRecord: Codable {
  /// A finished step.
  struct Step: Codable {
    /// The digest of the step and of all before it.
    var digest: String
    var objects, ambiguousToOne, overridden: Int64
    var dropped: [MigrationPlan.Dropped]
    /// nil in records of earlier versions.
    var losses: LossReport?
    /// nil without any, and in records of earlier versions.
    var keptInvalid: [KeptInvalid]?
    /// What the receipt says of the step; nil without one, and in records of earlier versions.
    var receipt: Receipt.Step?

    private enum CodingKeys: String, CodingKey {
      case digest, objects, dropped, losses, receipt, keptInvalid
      case ambiguousToOne = "several"
      case overridden = "displaced"
    }
  }

  /// Raised when the content changes its meaning.
  static let version = 1

  var version = Self.version
  var identity: JobFingerprint
  var stamp: StoreFiles.Stamp
  /// Seconds since 2001 that `now()` means in every step.
  var now: Double
  var steps: [Step] = []
  /// How many hops each step of the job is, finished or not; nil: one.
  var hops: [Int]?

  static func path(in folder: String) -> String { WorkFolder.recordPath(in: folder) }

  /// - Returns: nil when there is none.
  /// - Throws: `.dataWrong` when it cannot be read, `.cannotCreate` when another version of Godwit wrote it.
  static func read(in folder: String) throws -> StepRecord? {
    let path = path(in: folder)
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    guard let data = try? ReadableFile.bytes(of: path, limit: .mebibytes(64)),
      let record = try? JSONDecoder().decode(Self.self, from: data)
    else {
      throw GodwitError(
        .dataWrong, "cannot read the ledger '\(path)'", remedy: "`godwit discard` the job and run again")
    }
    guard record.version == Self.version else {
      throw GodwitError(
        .cannotCreate, "cannot resume: another version of Godwit started the job",
        remedy: "resume with that version, or `godwit discard` the job and run again")
    }
    return record
  }

  /// Replaces the file; durable when it returns, if it is synced.
  func write(in folder: String, isSynced: Bool) throws {
    try WorkFolder.writeNote(json: self, to: Self.path(in: folder), isSynced: isSynced)
    if isSynced { try WorkFolder.sync(folder) }
  }
}
