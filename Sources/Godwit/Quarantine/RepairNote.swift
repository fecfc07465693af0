import Foundation
import GodwitDisk
import GodwitJob
import GodwitModel
import GodwitStore

/// What a run is of that takes repairs: `repairs.json` in its work folder.
///
/// It is written when the repaired source and the repairs file are complete. It goes with the folder, after all has been
/// delivered.
struct RepairNote: Codable, Sendable {
  /// How far the delivery is. The destination comes first, in one rename; what lies beside it follows.
  enum Stage: Int, Codable, Sendable {
    case pending, clearingQuarantine, placingQuarantine, clearingRepairs, placingRepairs, done
  }

  /// Raised when the content changes its meaning.
  static let version = 1

  var version = Self.version
  /// The job, with the digest of the source as it is without repairs.
  var identity: JobFingerprint
  /// The state of the source's files with that content.
  var stamp: StoreFiles.Stamp
  /// What the quarantine held from which the repairs are.
  var content: String
  /// The job of the destination that is replaced.
  var replaced: String
  /// All repairs, and the digest of those before them.
  var mark: RepairsMark
  var earlier: String?
  /// The quarantine that lay beside the destination when the run began; nil for none.
  var quarantine: Beside?
  var repaired, unchanged, deleted: Int64
  /// The source as the job names it.
  var sourcePath: String?
  /// The state of the destination's files in which nobody had written to it; nil where that was not noted.
  var destination: StoreFiles.Stamp?
  var stage = Stage.pending

  /// A quarantine as it was.
  struct Beside: Codable, Sendable {
    var content: String
    var stamp: StoreFiles.Stamp
  }

  /// The digest of the job on the repaired source, which the new destination names.
  var job: String { identity.repaired(by: mark).digest }

  private static func path(in folder: String) -> String { folder + "/repairs.json" }

  static func exists(in folder: String) -> Bool { FileManager.default.fileExists(atPath: path(in: folder)) }

  /// - Returns: nil when there is none.
  /// - Throws: `.dataWrong` (65) when it cannot be read, `.cannotCreate` (73) when another version of Godwit wrote it.
  static func read(in folder: String) throws -> RepairNote? {
    guard exists(in: folder) else { return nil }
    let path = path(in: folder)
    guard let data = try? ReadableFile.bytes(of: path, limit: .mebibytes(64)),
      let note = try? JSONDecoder().decode(Self.self, from: data)
    else {
      throw GodwitError(.dataWrong, "cannot read '\(path)'", remedy: "`godwit discard` the job and run again")
    }
    guard note.version == Self.version else {
      throw GodwitError(
        .cannotCreate, "cannot resume: another version of Godwit began to take the repairs",
        remedy: "resume with that version, or `godwit discard` the job and run again")
    }
    return note
  }

  /// Replaces the file; durable when it returns.
  func write(in folder: String) throws {
    try WorkFolder.writeNote(json: self, to: Self.path(in: folder))
    try WorkFolder.sync(folder)
  }

  /// Whether the new destination is in its place. What an earlier run began of its exchange must be settled.
  ///
  /// - Throws: `.cannotCreate` (73) where it was put in its place, and is not there any more or cannot be read: what
  ///   lies in the folder belongs to it, and is in no other place.
  func isDelivered(at destination: String, workFolder: String) throws -> Bool {
    var cause: String
    do {
      let metadata = try StoreMetadata(readingStoreAt: destination)
      let jobs = metadata.applicationValues[StoreMetadata.Key.jobs]?.array?.compactMap(\.string)
      if jobs?.contains(job) == true { return true }
      cause = "the store that is there names another job"
    } catch let error as GodwitError { cause = error.line }
    guard stage != .pending || InPlaceSwap.hasMark(workFolder: workFolder) else { return false }
    throw Self.isElsewhere(destination, workFolder, cause: cause)
  }

  static func isElsewhere(_ destination: String, _ workFolder: String, cause: String) -> GodwitError {
    GodwitError(
      .cannotCreate,
      "cannot end what a run with --from-quarantine began: '\(destination)' is not the store that it has put in place",
      cause: cause,
      remedy:
        "put that store back and run the job again. If it is gone for good, move '\(workFolder)' away: its repairs are in 'repairs.sqlite' there",
      safe: "the repairs and the new quarantine are kept in '\(workFolder)'")
  }
}

/// For a manager whose source is a repaired one: what the run is of.
struct RepairRun: Sendable {
  var note: RepairNote
  /// The source as the job names it.
  var sourcePath: String

  /// What stands for the content of the repaired source.
  var origin: String { note.identity.repaired(by: note.mark).source }

  /// The job without its source.
  var quick: JobFingerprint {
    var identity = note.identity
    identity.source = ""
    return identity
  }
}
