public import Foundation
package import GodwitModel
package import GodwitStore
import GodwitXcode

/// The record of a finished job beside its destination: its inputs, its work, and checksums of its result.
///
/// It is a JSON document that follows `receipt.schema.json`. The store it belongs to can be compared with it years
/// later, without source, models or manifest: see `ReceiptCheck`.
/// It is counted from the finished file, not while rows are written, and has the model inside.
package struct Receipt: Codable, Sendable {
  /// Raised when a key goes or changes its meaning.
  package static let version = 1
  package static let typeName = "receipt"
  /// The ending that a receipt's name adds to that of its destination.
  package static let suffix = ".receipt.json"
  /// The version of Godwit, as `godwit --version` prints it.
  package static let godwitVersion = "0.3.0"

  package struct Job: Codable, Sendable, Equatable {
    package var name: String
    /// The digest of the job, as the store names it under `GodwitJobs`.
    package var digest: String?
    package var sourceModel, destinationModel, mappings, manifest: String
    /// The settings behind `manifest`, by key; nil in receipts of earlier versions.
    package var settings: [String: String]?
  }

  package struct Source: Codable, Sendable {
    package var path: String
    package var uuid: String?
    package var digest: String?
    /// A stamp that tells, without reading all of the source, that it has not changed; nil in receipts of earlier
    /// versions.
    package var stamp: String?
    /// The paths of the stores that were merged; nil for a source that is one store.
    package var merged: [String]?

    package init(path: String, uuid: String?) { (self.path, self.uuid) = (path, uuid) }

    /// The paths of the stores: one, or those that were merged.
    package var paths: [String] { merged ?? [path] }

    /// Whether these are the stores that other paths lead to, whatever folder the paths start from.
    ///
    /// - Throws: When a path cannot be looked at.
    package func isAt(_ others: [String]) throws -> Bool {
      try paths.count == others.count && zip(paths, others).allSatisfy { try $0 == $1 || FileStatus.areSame($0, $1) }
    }
  }

  package struct Destination: Codable, Sendable {
    /// The file's name, without its folder.
    package var file: String
    package var uuid: String
    package var type: String
    package var bytes: Int64
    package var modelName: String
    /// The model as the `contents` file of a `.xcdatamodel`.
    package var model: String
    /// The digests of all jobs that the store names, oldest first.
    package var jobs: [String]
    /// The digest of each value of the metadata, by key.
    package var metadata: [String: String]
    /// By root entity: the highest key that was given out.
    package var highestKeys: [String: Int64]
    /// Transactions in the persistent history.
    package var historyTransactions: Int64
    /// A stamp that tells, without reading all of the store, that it has not changed; nil in receipts of earlier
    /// versions.
    package var stamp: String?
    /// The same for its external files; nil for a store without any, and in receipts of earlier versions.
    package var fileStamp: String?
    /// The earlier file name of a store that a later run kept when it replaced it.
    package var keptFrom: String?
  }

  /// The fate of the source objects of one entity mapping.
  package struct Mapping: Codable, Sendable {
    package var name, source, destination: String
    /// Objects of the source entity.
    package var objectsIn: Int64
    /// Those that the mapping takes.
    package var taken: Int64
    /// Those that its filter leaves out.
    package var leftOut: Int64
    /// Those that are in quarantine; nil without any.
    package var quarantined: Int64?
    /// Destination objects.
    package var made: Int64
  }

  package struct Dropped: Codable, Sendable {
    package var entity: String
    package var objects: Int64
    package var reason: LossReport.Cause
  }

  package struct Step: Codable, Sendable, Numbered {
    package typealias NumberKind = NumberedStep

    package var sourceModel, destinationModel: String
    /// The digest of what the plan fixed.
    package var plan: String
    package var mappings: [Mapping]
    package var dropped: [Dropped]
    /// Objects that break a rule as they did in the source; nil without any.
    package var keptInvalid: [KeptInvalid]?
  }

  package struct Entity: Codable, Sendable {
    package var name: String
    package var objects: Int64
    package var checksum: String
    /// The sum of `Z_OPT`.
    package var edits: Int64
  }

  package struct Relationship: Codable, Sendable {
    package var entity, name: String
    package var links: Int64
    package var checksum: String
  }

  package var schemaVersion = Self.version
  package var type = Self.typeName
  package var godwit = Self.godwitVersion
  package var job: Job
  package var source: Source
  package var destination: Destination
  package var steps: [Step]
  package var losses: [LossReport.Loss]
  package var entities: [Entity]
  package var relationships: [Relationship]
  /// When the first run of the job began.
  package var began: String?
  package var finished: String
  /// The figures of the run that finished the job.
  package var seconds: Double?
  package var peakBytes, budgetBytes: Int64?
  /// When its chunks ran; nil in receipts of earlier versions.
  package var history: RunHistory?
}

extension Receipt {
  /// The durable record of a step when its store is finished; the ledger is gone by then. It lies beside the store.
  package struct Note: Codable, Sendable {
    package var step: Step
    package var summary: MigrationSummary
    package var identity: JobFingerprint
    /// Seconds since 2001.
    package var began: Double
    /// The files of the source; nil in notes of earlier versions.
    package var stamp: StoreFiles.Stamp?
    /// The content of the store, if it was counted beside SQLite's check.
    package var content: Content?

    package init(
      step: Step, summary: MigrationSummary, identity: JobFingerprint, began: Double, stamp: StoreFiles.Stamp?,
      content: Content?
    ) {
      (self.step, self.summary, self.identity, self.began) = (step, summary, identity, began)
      (self.stamp, self.content) = (stamp, content)
    }
  }

  /// The digests of a job, without that of its source.
  package static func job(_ job: MigrationJob, _ identity: JobFingerprint, digest: String?) -> Job {
    Job(
      name: job.name, digest: digest, sourceModel: identity.sourceModel, destinationModel: identity.destinationModel,
      mappings: identity.mappings, manifest: identity.manifest, settings: JobFingerprint.settings(of: job))
  }

  /// Whether the receipt is one of a job that differs by its source's content at most.
  package func isOf(_ other: Job, file: String) -> Bool {
    var (mine, theirs) = (job, other)
    (mine.digest, theirs.digest, mine.name, theirs.name) = (nil, nil, "", "")
    (mine.settings, theirs.settings) = (nil, nil)
    return mine == theirs && destination.file == file
  }

  /// The content of a store.
  package struct Content: Codable, Sendable {
    package var entities: [Entity]
    package var relationships: [Relationship]
  }

  package static func content(_ sums: StoreChecksums) -> Content {
    let entities = sums.entities.map {
      Entity(name: $0.name, objects: $0.objects.count, checksum: $0.objects.checksum, edits: $0.edits)
    }
    let relationships = sums.relationships.map {
      Relationship(entity: $0.entity, name: $0.name, links: $0.links.count, checksum: $0.links.checksum)
    }
    return Content(entities: entities, relationships: relationships)
  }

  /// A stamp that tells that a source has not changed since a run began with it: size, time and first bytes of its
  /// files.
  package static func sourceStamp(_ stamp: StoreFiles.Stamp) -> String {
    let files = [stamp.store, stamp.wal, stamp.journal].map { file in
      file.map { "\($0.size) \($0.seconds) \($0.nanoseconds) \(list($0.header))" } ?? "none"
    }
    return String(Digest.hex(files.joined(separator: "\n")).prefix(32))
  }

  /// The text of Swift's description of an array, made faster.
  private static func list(_ bytes: [UInt8]) -> String { "[\(bytes.map(String.init).joined(separator: ", "))]" }

  /// A stamp that tells, without reading all of a store, that it has not changed since it was delivered.
  ///
  /// SQLite counts its changes in the first bytes of the file. In WAL mode it need not, but a store that was delivered
  /// in another mode has left that mode only if it was written to. For an atomic store the time is compared.
  ///
  /// - Returns: 32 hexadecimal digits; nil where only the content can tell.
  package static func deliveryStamp(ofStoreAt path: String) throws -> String? {
    try deliveryStamp(of: StoreFiles(path: path))
  }

  package static func deliveryStamp(of files: StoreFiles) throws -> String? {
    let stamp = try files.stamp()
    let file = stamp.store
    switch files.type {
    case .xml, .binary:
      let name = files.type.manifestName
      return String(Digest.hex("\(name) \(file.size) \(file.seconds) \(file.nanoseconds)").prefix(32))
    case .sqlite:
      // The versions of the format for writing and reading: 1 without WAL.
      guard stamp.wal == nil, stamp.journal == nil, file.header.count == 100, file.header[18...19] == [1, 1] else {
        return nil
      }
      return String(Digest.hex("sqlite \(file.size) \(list(file.header))").prefix(32))
    }
  }

  /// A stamp that tells, without reading a store's external files, that they have not changed since it was delivered.
  ///
  /// - Returns: nil for a store without any. Those beside an atomic store are another's.
  package static func fileStamp(ofStoreAt path: String) throws -> String? {
    let support = SupportFolder(ofStoreAt: path)
    guard try support.exists && StoreFiles(path: path).type == .sqlite else { return nil }
    return try support.stamp()
  }

  /// The document, with sorted keys.
  package func encoded() throws -> Data {
    try sortedJSON([.prettyPrinted, .withoutEscapingSlashes]) + Data("\n".utf8)
  }

  /// The most bytes of a receipt that are read.
  private static let limitBytes = ByteCount.mebibytes(64)

  /// Reads a receipt.
  ///
  /// - Throws: `.missingInput` (66) when there is none, `.permission` (77) when it cannot be read, `.dataWrong` (65)
  ///   for a file that is none, or of a later version of Godwit.
  package static func read(_ path: String) throws -> Receipt {
    guard let bytes = try ReadableFile.bytes(of: path, limit: limitBytes) else {
      throw notOurs(path, "it is larger than 64 MiB")
    }
    struct Head: Decodable {
      var schemaVersion: Int
      var type: String
    }
    guard let head = try? JSONDecoder().decode(Head.self, from: bytes), head.type == typeName else {
      throw notOurs(path, "expected a JSON document of type 'receipt'")
    }
    guard head.schemaVersion == version else {
      throw GodwitError(
        .dataWrong, "cannot read the receipt '\(path)': its format is \(head.schemaVersion), expected \(version)",
        remedy: "read it with the version of Godwit that wrote it")
    }
    do { return try JSONDecoder().decode(Receipt.self, from: bytes) } catch {
      throw notOurs(path, "a key is missing or of the wrong type")
    }
  }

  private static func notOurs(_ path: String, _ cause: String) -> GodwitError {
    GodwitError(
      .dataWrong, "cannot read the receipt '\(path)'", cause: cause,
      remedy: "name the receipt that `godwit run` wrote beside the destination")
  }

  /// A model as one that reads a receipt of it knows it.
  package static func model(asReceiptOf model: ManagedObjectModel) throws -> ManagedObjectModel {
    try model.texts.received {
      try ManagedObjectModel(xcodeContents: model.xcodeContents, name: model.name, file: "receipt")
    }
  }

  /// The model of the destination, for a store that has its version hashes; nil for any other store.
  ///
  /// Published hashes are not in the receipt. Where an unconfirmed rule decides, the store's are taken.
  ///
  /// - Parameters:
  ///   - path: The name of the receipt in messages.
  ///   - metadata: That of the store.
  ///   - name: The name of the model in messages; nil for the name that it had in the job.
  package func model(
    path: String, fitting metadata: StoreMetadata, name: String? = nil
  ) throws -> ManagedObjectModel? {
    let model = try ManagedObjectModel(
      xcodeContents: destination.model, name: name ?? destination.modelName, file: path)
    if model.isCompatible(with: metadata) { return model }
    let hashes = metadata.entityVersionHashes
    guard hashes.count == metadata.versionHashes.count, model.mayHave(hashes) else { return nil }
    return model.adopting(hashes)
  }
}

extension MigrationJob {
  /// Where a finished run writes its receipt.
  public enum ReceiptPlace: Sendable, Hashable {
    /// Beside the destination, as `DESTINATION.receipt.json`. A job that appends adds 12 hexadecimal digits of its own
    /// before the suffix.
    case besideDestination
    /// A file.
    case file(URL)
  }
}
