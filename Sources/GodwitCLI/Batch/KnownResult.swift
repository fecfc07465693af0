import Foundation
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitVerifier

/// The last line of a store in the results.
struct KnownResult: Decodable, Sendable {
  let time: String
  let store: String
  let outcome: String
  let status: Int32
  let seconds: Double
  var objects: Int64?
  var losses: Int?
  var findings: Int64?
  var noteCodes: [String]?
  var code, message, remedy: String?
  var key: String?
  /// The digest of the manifest's content, the models and the program.
  var identity: String?
  /// The source's stamp when the job began: see `SourceStamp`.
  var stamp: String?

  var isDone: Bool { outcome == "finished" || outcome == "already finished" }
  var isFailed: Bool { outcome == "failed" }
  /// Whether its receipt found no place: then each run tries again.
  var lacksReceipt: Bool { noteCodes?.contains(MigrationNote.Code.receiptMissing.rawValue) == true }

  /// The status of a store that is done. Its destination is there, and the source is as it was.
  func status(ofJob job: String, destination: String) throws -> MigrationStatus {
    var status = MigrationStatus(state: .finished, job: job, percent: 100)
    status.run = .init(.finished, isResumable: false)
    status.verifyFindings = try KnownFindings.count(ofStoreAt: destination)
    if status.verifyFindings == nil { status.lastSuccess = try? Date(time, strategy: .iso8601) }
    return status
  }

  /// The result after a later line.
  private func followed(by later: KnownResult) -> KnownResult {
    // A run that found the store finished. This line has its objects, its losses and its time.
    guard later.outcome == "already finished", isDone, later.stamp == stamp, later.identity == identity else {
      return later
    }
    var known = self
    known.findings = later.findings ?? findings
    known.noteCodes = later.noteCodes
    return known
  }

  /// Reads a file of results: the last line of each store that has a key, by its key.
  ///
  /// A line without an end is being written, or was torn. It does not count, and neither does a line of something else.
  static func read(_ path: String, into known: inout [Text: KnownResult]) throws {
    let lines: LineFile
    do { lines = try LineFile(path: path) } catch let error as GodwitError where error.code == .missingInput { return }
    let decoder = JSONDecoder()
    while let line = try lines.next() {
      guard line.isWhole, let result = try? decoder.decode(KnownResult.self, from: Data(line.bytes)),
        let key = result.key.map({ Text($0) })
      else { continue }
      guard let other = known[key] else {
        known[key] = result
        continue
      }
      // The later line of two files counts, and the last one of a file.
      let (earlier, later) = other.time > result.time ? (result, other) : (other, result)
      known[key] = earlier.followed(by: later)
    }
  }
}

/// Size, time and mode of a store and of its log. A changed source has another stamp.
enum SourceStamp {
  /// The size of the store, in bytes, that a stamp has; 0 for none.
  static func size(_ stamp: String?) -> Int64 { stamp.flatMap { Int64($0.prefix { $0 != "." }) } ?? 0 }

  static func of(_ path: String) -> String {
    [path, path + "-wal"].map { file in
      guard let status = FileStatus(following: file) else { return "-" }
      return "\(status.size).\(status.modified.seconds).\(status.modified.nanoseconds).\(status.mode)"
    }.joined(separator: "/")
  }
}

/// Which stores need no run, by their results.
struct KnownStores {
  let loader: JobLoader
  let identity: String
  /// By the bytes of the keys: names that look alike are two files.
  var known: [Text: KnownResult] = [:]

  init(_ loader: JobLoader) throws {
    self.loader = loader
    identity = try loader.resultsIdentity()
  }

  /// With the results of all shards.
  init(_ loader: JobLoader, _ folder: ResultsFolder) throws {
    try self.init(loader)
    guard folder.exists else { return }
    try folder.check()
    for shard in try folder.shards() { try KnownResult.read(folder.resultsPath(shard), into: &known) }
  }

  /// The result that still holds for a store; nil when it is to run.
  func result(of store: ManifestStore) -> KnownResult? {
    guard let known = known[Text(loader.storeKey(store.path))], known.identity == identity,
      known.stamp == SourceStamp.of(store.path), known.isDone || known.isFailed
    else { return nil }
    if known.isDone, FileStatus(named: store.destination) == nil { return nil }
    return known
  }

  /// Whether a store is left out of a run. One with known differences is proved again.
  func isPassed(_ result: KnownResult, of store: ManifestStore, retries: Bool, verifies: Bool) throws -> Bool {
    guard result.isDone else { return !retries }
    guard !result.lacksReceipt else { return false }
    return try !verifies || result.findings == 0 && KnownFindings.count(ofStoreAt: store.destination) == nil
  }
}
