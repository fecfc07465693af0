import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// The progress of a stopped verification, for the next one of the same two stores.
///
/// The next one finds the keys again, and continues with the rows.
struct VerificationCheckpoint: Codable {
  /// A table that was compared up to a key.
  struct Table: Codable {
    var root: String
    /// The lowest key that was not compared.
    var next: Int64
    var tally: TableTally
  }

  /// The result so far for the keys of a to-one.
  struct ToOne: Codable {
    var count: Int64
    var isDoubtful: Bool
  }

  /// More names of external files are not kept: the verification then begins with the rows again.
  static let nameLimit = 200_000

  /// The findings and counts until then.
  var report: VerificationReport
  /// The root entities whose tables were compared.
  var roots: Set<String> = []
  /// The table in the middle of which the verification stopped.
  var table: Table?
  /// The to-ones by the name of the first end.
  var toOnes: [String: ToOne] = [:]
  var unsound: Set<String> = []
  var policyEntities: Set<String> = []
  /// The external files that compared rows name.
  var externalNames: [String] = []
  /// Whether derived values and external files were checked, which follows the last table.
  var isPastObjects = false
  /// The findings of SQLite's check so far.
  var integrity: IntegrityCheck.Complaints?
  /// Rows compared so far.
  var rowsDone: Int64 = 0
  /// How many relationships were compared.
  var links = 0
}

/// The result so far for the rows of a table.
struct TableTally: Codable {
  /// Objects by entity.
  var counts: [String: Int64] = [:]
  /// Objects that no mapping explains, by entity.
  var made: [String: Int64] = [:]
  var values: Int64 = 0
  /// Objects that the job did not make.
  var others: Int64 = 0
  /// Objects outside the sample.
  var passedOver: Int64 = 0
}

/// The file in which a stopped verification records its progress.
struct StoppedVerification: Codable {
  /// The stores that are compared, their job, and the version of Godwit.
  struct Identity: Codable, Equatable {
    var format = 2
    var godwit = Receipt.godwitVersion
    /// The digest of the job and of its paths.
    var job: String
    var source: StoreFiles.Stamp
    var destination: StoreFiles.Stamp
    /// The stamp of the quarantine that is proved too; nil without one.
    var quarantine: StoreFiles.Stamp?
    /// A sum of the names, sizes and times of the external files of both.
    var files: UInt64

    /// - Parameter hasQuarantine: Whether the job has a quarantine beside its destination.
    init(_ job: MigrationJob, hasQuarantine: Bool) throws {
      let steps = try job.steps.ids.map { JobFingerprint(try job.step($0, source: nil)).digest }
      // The same command may be given in another folder.
      let paths = (job.sourcePaths + [job.destinationPath]).map { URL(filePath: $0).standardizedFileURL.path }
      self.job = Digest.hex((steps + paths).joined(separator: "\n"))
      source = try job.sourceFiles().stamp()
      destination = try StoreFiles(path: job.destinationPath).stamp()
      quarantine = hasQuarantine ? try StoreFiles(path: job.quarantinePath).stamp() : nil
      files = try (job.sourcePaths + [job.destinationPath]).reduce(0) { try $0 &+ Self.files(ofStoreAt: $1) }
    }

    private static func files(ofStoreAt path: String) throws -> UInt64 {
      var sum: UInt64 = 0
      let folder = SupportFolder(ofStoreAt: path)
      try folder.forEachFile { name, size in
        let time = folder.modified(name) ?? 0
        let digest = Digest.hex("\(path)\n\(name)\n\(size)\n\(time.bitPattern)")
        sum &+= UInt64(digest.prefix(16), radix: 16) ?? 0
      }
      return sum
    }
  }

  var identity: Identity
  /// The number of steps proved and their report, for a job of several steps.
  var steps = 0
  var report = VerificationReport()
  /// The highest share that was reported, from 0 to 1.
  var share = 0.0
  /// The checkpoint of a job of one step.
  var checkpoint: VerificationCheckpoint?
  /// The findings of the last verification; nil if it was clean or none has finished.
  var found: KnownFindings?

  init(identity: Identity) { self.identity = identity }

  /// Whether the next verification has less to do.
  var hasContent: Bool { steps > 0 || checkpoint != nil }

  /// Reads the file; nil if it is missing, or is another one.
  ///
  /// - Throws: When it could not be read.
  init?(at url: URL) throws {
    let stopped = try Definite.answer {
      try ReadableFile.bytes(of: url.path, limit: .mebibytes(64)).map { try JSONDecoder().decode(Self.self, from: $0) }
    }
    guard let stopped = stopped ?? nil else { return nil }
    self = stopped
  }

  /// Writes the file, and says whether it exists. A file that cannot be written costs only time.
  ///
  /// Only an earlier file of this kind is ever replaced.
  func write(to url: URL) -> Bool {
    guard let data = try? JSONEncoder().encode(self) else { return false }
    if (try? WorkFolder.exists(url.path)) != false {
      guard let other = try? Self(at: url) else { return false }
      // Several jobs may append to one store.
      let isOfOther = other.identity.job != identity.job
      if isOfOther, other.identity.destination == identity.destination { return false }
    }
    return (try? WorkFolder.writeNote(data, to: url.path)) != nil
  }

  /// Records the progress and the findings of a stopped verification.
  ///
  /// - Returns: Whether the next one can continue.
  mutating func keep(_ report: VerificationReport, of store: String, in url: URL) -> Bool {
    if let new = KnownFindings(report, of: store, job: identity.job) { found = new }
    guard hasContent || found != nil, write(to: url) else { return false }
    return hasContent
  }

  /// Records the findings of a finished verification. A clean one leaves no record.
  ///
  /// - Parameter isWhole: Whether the whole store was proved, and not only the part that one job appended.
  func end(_ report: VerificationReport, of store: String, isWhole: Bool, in url: URL) {
    var ended = Self(identity: identity)
    ended.found = KnownFindings(report, of: store, job: identity.job)
    if ended.found == nil, !isWhole, let found, found.job != identity.job { ended.found = found }
    if ended.found != nil {
      _ = ended.write(to: url)
    } else if !report.isClean {
      // An unreadable store yields no findings, so the earlier record stays.
      return
    } else if let there = try? Self(at: url), isWhole || there.identity.job == identity.job {
      try? WorkFolder.removeFile(url.path)
    }
  }
}
