public import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// Compares a store with the receipt of the job that made it. It needs nothing else: no source, no model, no manifest.
///
/// A clean report means that every object and every link that the receipt counts is as it was, and that nothing was
/// added, but for objects that later jobs appended, which are counted. It reads every row once and writes nothing. Its
/// memory does not depend on the store's size.
///
/// What the receipt does not cover: the order of rows and pages, indexes, triggers, tables that the model does not
/// have, and `Z_OPT` of single objects. The checksums notice accidents and edits. They are not a signature: somebody
/// who can change the store and the receipt can make them agree.
public struct ReceiptCheck: Sendable {
  private let receiptPath: String
  private let destinationPath: String?

  /// A check of a store.
  ///
  /// - Parameters:
  ///   - receipt: What the run wrote.
  ///   - destination: The store; nil for the one that the receipt names, in the receipt's folder.
  public init(receipt: URL, destination: URL? = nil) {
    (receiptPath, destinationPath) = (receipt.filePath, destination?.filePath)
  }

  /// Compares the store with its receipt.
  ///
  /// - Throws: `.missingInput` (66) without one of the two; `.dataWrong` (65) when one cannot be read, or the receipt
  ///   belongs to another store; `CancellationError` if the calling task is cancelled.
  public func run() throws -> VerificationReport {
    let receipt = try Receipt.read(receiptPath)
    let path = try storePath(receipt)
    let files = try StoreFiles(path: path)
    let stamp = try files.stamp()
    let metadata = try StoreMetadata(readingStoreAt: path)
    var report = VerificationReport()
    let later = try laterJobs(receipt, metadata, path)
    report.count("receipts, of \(receipt.finished)\(receipt.origin == .rebuilt ? ", rebuilt after the run" : "")", 1)
    if !later.isEmpty { report.count("later jobs that wrote to the store", Int64(later.count)) }
    guard compareMetadata(receipt, metadata, later, &report) else { return report }
    try compareContent(receipt, path, metadata, later, &report)
    guard try files.stamp() == stamp else {
      throw GodwitError(
        .stopped, "cannot verify '\(path)': it changed during the verification",
        remedy: "stop what writes to it and run the same command", stopReason: .sourceChanged)
    }
    return report
  }

  private func storePath(_ receipt: Receipt) throws -> String {
    if let destinationPath { return destinationPath }
    let beside = URL(filePath: receiptPath).deletingLastPathComponent().appending(path: receipt.destination.file)
      .filePath
    guard !FileManager.default.fileExists(atPath: beside), !receipt.destination.file.contains("/") else {
      return beside
    }
    throw GodwitError(
      .missingInput, "cannot verify '\(receipt.destination.file)': it is not in the folder of its receipt",
      remedy: "name the store with --destination STORE")
  }

  /// The digests of the jobs that came after the receipt's.
  private func laterJobs(_ receipt: Receipt, _ metadata: StoreMetadata, _ path: String) throws -> [String] {
    let jobs = metadata.applicationValues[StoreMetadata.Key.jobs]?.array?.compactMap(\.string) ?? []
    guard jobs.starts(with: receipt.destination.jobs), !receipt.destination.jobs.isEmpty else {
      throw GodwitError(
        .dataWrong, "cannot verify '\(path)': the receipt '\(receiptPath)' belongs to another store",
        cause: "the store does not name the job '\(receipt.job.name)' of the receipt",
        remedy: "name the receipt of the job that made the store")
    }
    return Array(jobs.dropFirst(receipt.destination.jobs.count))
  }

  // MARK: Metadata

  /// - Returns: Whether the store has the receipt's model still, so that its objects can be compared.
  private func compareMetadata(
    _ receipt: Receipt, _ metadata: StoreMetadata, _ later: [String], _ report: inout VerificationReport
  ) -> Bool {
    let hashes = StoreMetadata.Key.versionHashes
    let found = ReceiptedStore.digests(of: metadata)
    guard found[hashes] == receipt.destination.metadata[hashes] else {
      report.add(
        .init(
          .metadata, property: hashes,
          message: later.isEmpty
            ? "the store has another model: the application or another tool has migrated it since"
            : "the store has another model: a later job has migrated it since"))
      return false
    }
    for key in Set(found.keys).union(receipt.destination.metadata.keys).sorted() {
      report.count("metadata keys", 1)
      switch (receipt.destination.metadata[key], found[key]) {
      case (.some, nil):
        report.add(.init(.metadata, property: key, message: "the application has removed the key since"))
      case (nil, .some):
        report.add(.init(.metadata, property: key, message: "the application has added the key since"))
      case (let before, let now) where before != now:
        report.add(.init(.metadata, property: key, message: "the application has changed the value since"))
      default: break
      }
    }
    if metadata.uuid != receipt.destination.uuid {
      report.add(.init(.metadata, property: "Z_UUID", message: "the store's identifier has changed since"))
    }
    return true
  }

  // MARK: Content

  private func compareContent(
    _ receipt: Receipt, _ path: String, _ metadata: StoreMetadata, _ later: [String],
    _ report: inout VerificationReport
  ) throws {
    let store = try ReceiptedStore(path: path, model: receipt.model(path: receiptPath))
    for line in try store.complaints(limit: 10) { report.add(.init(.file, message: line)) }
    // Keys that later jobs say they gave out.
    var laterKeys: [String: Int64] = [:]
    for record in try AppendRecord.all(in: metadata, path: path) where later.contains(record.job) {
      for (root, keys) in record.keys { laterKeys[root] = max(laterKeys[root] ?? 0, keys.through) }
    }
    let sums = try store.checksums(limits: .init(highest: receipt.destination.highestKeys, later: laterKeys)) {
      try Task.checkCancellation()
    }
    compareEntities(receipt, sums, &report)
    compareRelationships(receipt, sums, &report)
    for (root, key) in try store.highestKeys().sorted(by: { $0.key < $1.key }) {
      let known = max(receipt.destination.highestKeys[root] ?? 0, laterKeys[root] ?? 0)
      guard key > known else { continue }
      report.add(
        .init(
          .counter, entity: root,
          message: "the application has given out keys since: up to \(key), before \(known)"))
    }
    let transactions = try store.historyTransactions()
    if transactions != receipt.destination.historyTransactions {
      let before = receipt.destination.historyTransactions
      report.add(
        .init(
          .counter, property: "ATRANSACTION",
          message: "the application has saved since: its history has \(transactions) transactions, before \(before)"))
    }
  }

  private func compareEntities(_ receipt: Receipt, _ sums: StoreChecksums, _ report: inout VerificationReport) {
    let known = Dictionary(receipt.entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    for found in sums.entities {
      guard let entity = known[found.name] else {
        report.add(.init(.entity, entity: found.name, message: "the receipt does not know the entity"))
        continue
      }
      report.count("objects", entity.objects)
      let count = found.objects.count
      func add(_ kind: VerificationReport.Finding.Kind, _ message: String) {
        report.add(.init(kind, entity: found.name, message: message))
      }
      if count < entity.objects {
        add(
          .missingObject,
          "\(entity.objects - count) objects are gone: it has \(count), the receipt \(entity.objects)")
      } else if count > entity.objects {
        add(
          .extraObject,
          "\(count - entity.objects) objects are new: it has \(count), the receipt \(entity.objects)")
      } else if found.objects.checksum != entity.checksum {
        add(
          .value,
          "values of its \(count) objects have changed"
            + (found.edits == entity.edits ? ", and not by Core Data: no counter of edits did" : ""))
      }
      if count == entity.objects, found.edits != entity.edits {
        add(.counter, "the application has saved objects since: their counters of edits (Z_OPT) have changed")
      }
      if found.newerObjects > 0 {
        add(.extraObject, "the application has added \(found.newerObjects) objects since")
      }
      if found.laterObjects > 0 { report.count("not proved: objects of later jobs", found.laterObjects) }
    }
    let names = Set(sums.entities.map(\.name))
    for entity in receipt.entities where !names.contains(entity.name) {
      report.add(.init(.entity, entity: entity.name, message: "the store does not have the entity"))
    }
  }

  private func compareRelationships(_ receipt: Receipt, _ sums: StoreChecksums, _ report: inout VerificationReport) {
    for relationship in receipt.relationships {
      let found = sums.relationships.first { $0.entity == relationship.entity && $0.name == relationship.name }
      report.count("links", relationship.links)
      let count = found?.links.count ?? 0
      func add(_ kind: VerificationReport.Finding.Kind, _ message: String) {
        report.add(.init(kind, entity: relationship.entity, property: relationship.name, message: message))
      }
      if count < relationship.links {
        add(.missingLink, "\(relationship.links - count) of \(relationship.links) links are gone")
      } else if count > relationship.links {
        add(.extraLink, "\(count - relationship.links) links are new")
      } else if (found?.links.checksum ?? StoreChecksums.Sum().checksum) != relationship.checksum {
        add(.missingLink, "its \(count) links lead elsewhere, or have another order")
      }
      if let found, found.laterLinks > 0 { report.count("not proved: links of later jobs", found.laterLinks) }
    }
  }
}
