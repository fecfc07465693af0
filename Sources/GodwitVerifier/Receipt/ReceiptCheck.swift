package import Foundation
package import GodwitJob
import GodwitModel
import GodwitStore

/// Compares a store with the receipt of the job that made it. It needs no source, no model and no manifest.
///
/// A clean report means that every object and every link that the receipt counts is unchanged, and that no other was
/// added. Objects that later jobs appended and their links are allowed and counted. Changes by the application that
/// touch no object or link, such as a counter of edits, are counted too. The check reads every row once and writes
/// nothing. Its memory does not depend on the store's size.
///
/// The receipt does not cover the order of rows and pages, indexes, triggers, tables that the model does not have, and
/// `Z_OPT` of single objects. The checksums notice accidents and edits. They are not a signature: a person who can
/// change the store and the receipt can make them agree.
package struct ReceiptCheck: Sendable {
  private let receiptPath: String
  private let destinationPath: String?
  /// Whether the quarantine beside the store is checked too. Without it only changes to the store itself are found.
  package var includesQuarantine = true
  /// Whether rows and values that no model names are findings. They are counted in any case.
  package var reportsUnmodelledContent = false

  /// A check of a store.
  ///
  /// - Parameters:
  ///   - receipt: The receipt that the run wrote.
  ///   - destination: The store; nil for the one that has the name of the receipt's file without `.receipt.json`, or the
  ///     one that the receipt names, in the receipt's folder. The report says which it was.
  package init(receipt: URL, destination: URL? = nil) {
    (receiptPath, destinationPath) = (receipt.filePath, destination?.filePath)
  }

  /// Compares the store with its receipt.
  ///
  /// - Parameters:
  ///   - control: Stops the comparison on request.
  ///   - maximumSeconds: A time box; the comparison stops soon after it.
  /// - Throws: `.missingInput` (66) without one of the two; `.dataWrong` (65) when one cannot be read, or the receipt
  ///   belongs to another store; `.stopped` (75) if it was stopped, or the store changed meanwhile; `CancellationError`
  ///   if the calling task is cancelled.
  package func run(
    control: MigrationControl = MigrationControl(), maximumSeconds: Double? = nil
  ) throws -> VerificationReport {
    try Task.checkCancellation()
    let stop = VerificationStop(control, maximumSeconds: maximumSeconds)
    let receipt = try Receipt.read(receiptPath)
    let choice = try ReceiptedStoreChoice(receipt, at: receiptPath, given: destinationPath)
    let path = choice.path
    let files = try StoreFiles(path: path)
    let stamp = try files.stamp()
    let metadata = try StoreMetadata(readingStoreAt: path)
    var report = VerificationReport()
    (report.store, report.storeReason) = (path, choice.reason)
    let later = try laterJobs(receipt, metadata, path)
    report.count("receipts, of \(receipt.finished)", 1)
    if !later.isEmpty { report.count("later jobs that wrote to the store", Int64(later.count)) }
    let records = try AppendRecord.all(in: metadata, path: path)
    if records.contains(where: { later.contains($0.job) && $0.changesObjects }) {
      throw GodwitError(
        .missingInput,
        "cannot verify '\(path)': a later job with unique-by has changed objects that the receipt '\(receiptPath)' counts",
        remedy: "verify the store with the receipt of the later job, which counts the whole store")
    }
    guard compareMetadata(receipt, metadata, later, &report) else { return report }
    if includesQuarantine { try compareQuarantine(receipt, metadata, path, &report) }
    do { try compareContent(receipt, path, metadata, later, stop, &report) } catch let error as GodwitError
      where error.code == .stopped && stop.isDue
    { throw stop.error(path, found: report) }
    guard try files.stamp() == stamp else {
      throw GodwitError(
        .stopped, "cannot verify '\(path)': it changed during the verification",
        remedy: "stop what writes to it and run the same command", stopReason: .sourceChanged)
    }
    return report
  }

  /// The digests of the jobs after the receipt's.
  private func laterJobs(_ receipt: Receipt, _ metadata: StoreMetadata, _ path: String) throws -> [String] {
    let jobs = metadata.jobs
    guard jobs.starts(with: receipt.destination.jobs), !receipt.destination.jobs.isEmpty else {
      throw GodwitError(
        .dataWrong, "cannot verify '\(path)': the receipt '\(receiptPath)' belongs to another store",
        cause: "the store does not name the job '\(receipt.job.name)' of the receipt".onOneLine,
        remedy: "name the receipt of the job that made the store")
    }
    return Array(jobs.dropFirst(receipt.destination.jobs.count))
  }

  // MARK: Metadata

  /// The beginning of the name of a check that counts changes by the application which alter no object and no link.
  private static let written = "written by the application: "

  /// The metadata keys that Core Data of another system may write when it opens a store of the same model.
  private static let bookkeeping: Set<String> = [
    "NSPersistenceFrameworkVersion", "NSPersistenceMaximumFrameworkVersion", "_NSAutoVacuumLevel",
    "NSStoreModelVersionIdentifiers", "NSStoreModelVersionHashesVersion", "NSStoreModelVersionHashesDigest",
    "NSStoreModelVersionChecksumKey",
  ]

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
      let (before, now) = (receipt.destination.metadata[key], found[key])
      guard before != now else { continue }
      guard !Self.bookkeeping.contains(key) else {
        report.count("\(Self.written)metadata keys of Core Data's own", 1)
        continue
      }
      let change = now == nil ? "removed the key" : before == nil ? "added the key" : "changed the value"
      report.add(.init(.metadata, property: key, message: "the application has \(change) since"))
    }
    if metadata.uuid != receipt.destination.uuid {
      report.add(.init(.metadata, property: "Z_UUID", message: "the store's identifier has changed since"))
    }
    return true
  }

  /// The quarantined objects exist nowhere else, so their store must be beside the destination.
  private func compareQuarantine(
    _ receipt: Receipt, _ metadata: StoreMetadata, _ path: String, _ report: inout VerificationReport
  ) throws {
    // Two mappings of one entity both have its number.
    let numbers = Dictionary(
      receipt.steps.flatMap(\.mappings).compactMap { one in one.quarantined.map { (one.source, $0) } },
      uniquingKeysWith: max)
    var count = numbers.values.reduce(Int64(0)) { $0 &+ $1 }
    if receipt.steps.isEmpty, receipt.destination.jobs.count == 1 {
      // A run that began without a receipt has recorded no step. The number is that of the store's first job.
      count = metadata.applicationValues[StoreMetadata.Key.quarantined]?.integer ?? 0
    }
    guard count > 0 else { return }
    report.count("objects in quarantine, by the receipt", count)
    let place = path + Quarantine.suffix
    guard let digest = try QuarantineModel.jobDigest(ofStoreAt: place) else {
      return report.add(
        .init(.file, message: "the quarantine of \(count.counted("object")) is missing: expected '\(place)'"))
    }
    guard receipt.destination.jobs.contains(digest) else {
      return report.add(.init(.file, message: "the quarantine '\(place)' belongs to another job"))
    }
    do {
      let held = try Self.countHeld(at: place)
      func compare(_ found: Int64?, _ what: String) {
        guard let found, found != count else { return }
        report.add(
          .init(
            found < count ? .missingObject : .extraObject,
            message: "the quarantine '\(place)' has \(found) \(what), the receipt counts \(count.counted("object"))"))
      }
      compare(held.objects, "objects")
      compare(held.reasons, "objects with a reason")
    } catch let error as GodwitError {
      report.add(.init(.file, message: "the quarantine '\(place)' cannot be read: \(error.message)"))
    } catch { report.add(.init(.file, message: "the quarantine '\(place)' cannot be read")) }
  }

  /// The number of objects in a quarantine, as far as it can be counted without its model, and the number of objects
  /// with a reason.
  private static func countHeld(at path: String) throws -> (objects: Int64?, reasons: Int64) {
    // Numbers from 16001 on are those of persistent history, which an application may have begun there.
    let entities = try StoreSummary(readingStoreAt: path).entities.filter {
      $0.number <= 16_000 && $0.name != QuarantineModel.reasonEntity
    }
    let objects = entities.contains { $0.rows == nil } ? nil : entities.reduce(Int64(0)) { $0 &+ ($1.rows ?? 0) }
    let table = quoted("Z" + QuarantineModel.reasonEntity.uppercased())
    let reasons = try StoreConnection.openStore(readingAt: path)
      .integer("SELECT COUNT(*) FROM (SELECT DISTINCT ZENTITY, ZKEY FROM source.\(table))")
    return (objects, reasons ?? 0)
  }

  // MARK: Content

  private func compareContent(
    _ receipt: Receipt, _ path: String, _ metadata: StoreMetadata, _ later: [String], _ stop: VerificationStop,
    _ report: inout VerificationReport
  ) throws {
    let check = { if stop.isDue { throw GodwitError(.stopped, "the comparison was stopped") } }
    guard let model = try receipt.model(path: receiptPath, fitting: metadata) else {
      throw GodwitError(
        .dataWrong, "cannot read the receipt '\(receiptPath)': it is damaged",
        cause: "its model does not have the version hashes that it says the store has",
        remedy: "take the receipt from a backup, or verify the store with its manifest: `godwit verify JOB.yaml`")
    }
    var store = try ReceiptedStore(path: path, model: model, checkpoint: check)
    store.whileRunning(stopIf: { stop.isDue })
    // Keys that later jobs say they gave out.
    var laterKeys: [String: [ClosedRange<Int64>]] = [:]
    for record in try AppendRecord.all(in: metadata, path: path) where later.contains(record.job) {
      for (root, keys) in record.keys {
        let after = keys.after ?? receipt.destination.highestKeys[root] ?? 0
        if after < keys.through { laterKeys[root, default: []].append(after + 1...keys.through) }
      }
    }
    let limits = StoreChecksums.Limits(highest: receipt.destination.highestKeys, later: laterKeys)
    let whole = try store.checked(limits: limits, complaints: 10, check: check)
    var sums = whole.sums
    for line in whole.complaints { report.add(.init(.file, message: line)) }
    try compareNames(receipt, &store, &sums, limits, &report, check: check)
    compareEntities(receipt, sums, &report)
    compareRelationships(receipt, sums, model, &report)
    for found in try store.foreignContent() {
      let loss = LossReport.Loss(found, step: .first)
      if reportsUnmodelledContent {
        report.add(.init(.extraObject, message: "no job wrote \(loss)"))
      } else {
        report.count("not proved: \(loss.kind.rawValue) of \(loss.subject), since \(loss.reason)", found.count)
      }
    }
    for (root, key) in try store.highestKeys().sorted(by: { $0.key < $1.key }) {
      let known = (laterKeys[root] ?? []).map(\.upperBound).max() ?? 0
      guard key > max(known, receipt.destination.highestKeys[root] ?? 0) else { continue }
      report.count("\(Self.written)new keys of \(root), up to", key)
    }
    // Core Data raises a counter and never lowers it.
    for (root, counter) in try store.counters().sorted(by: { $0.key < $1.key }) {
      guard let known = receipt.destination.highestKeys[root], counter < known else { continue }
      let message = "Z_MAX is \(counter), less than the highest key of the receipt, \(known)"
      report.add(.init(.counter, entity: root, message: message))
    }
    let transactions = try store.historyTransactions()
    if transactions != receipt.destination.historyTransactions {
      report.count(
        "\(Self.written)transactions of its history, before \(receipt.destination.historyTransactions)", transactions)
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
          "\((entity.objects &- count).counted("object is", "objects are")) gone: it has \(count), the receipt \(entity.objects)"
        )
      } else if count > entity.objects {
        add(
          .extraObject,
          "\((count &- entity.objects).counted("object is", "objects are")) new: it has \(count), the receipt \(entity.objects)"
        )
      } else if found.objects.checksum != entity.checksum {
        add(
          .value,
          (count == 1
            ? "values of its object have changed" : "values of one or more of its \(count) objects have changed")
            + (found.edits == entity.edits ? ", and not by Core Data: no counter of edits did" : ""))
      }
      if count == entity.objects, found.edits != entity.edits {
        report.count("\(Self.written)edits of \(found.name), by their counters (Z_OPT)", found.edits &- entity.edits)
      }
      if found.newerObjects > 0 {
        add(.extraObject, "the application has added \(found.newerObjects.counted("object")) since")
      }
      if found.laterObjects > 0 { report.count("not proved: objects of later jobs", found.laterObjects) }
    }
    let names = Set(sums.entities.map(\.name))
    for entity in receipt.entities where !names.contains(entity.name) {
      report.add(.init(.entity, entity: entity.name, message: "the store does not have the entity"))
    }
  }

  private func compareRelationships(
    _ receipt: Receipt, _ sums: StoreChecksums, _ model: ManagedObjectModel, _ report: inout VerificationReport
  ) {
    for relationship in receipt.relationships {
      let found = sums.relationships.first { $0.entity == relationship.entity && $0.name == relationship.name }
      report.count("links", relationship.links)
      let count = found?.links.count ?? 0
      func add(_ kind: VerificationReport.Finding.Kind, _ message: String) {
        report.add(.init(kind, entity: relationship.entity, property: relationship.name, message: message))
      }
      if count < relationship.links {
        let gone = relationship.links &- count
        add(.missingLink, "\(gone) of \(relationship.links.counted("link is", "links are")) gone")
      } else if count > relationship.links {
        add(.extraLink, "\((count &- relationship.links).counted("link is", "links are")) new")
      } else if (found?.links.checksum ?? StoreChecksums.Sum().checksum) != relationship.checksum {
        let hasOrder = Self.hasOrder(relationship, in: model)
        add(
          .missingLink,
          (count == 1 ? "its link leads" : "one or more of its \(count) links lead") + " to another object"
            + (hasOrder ? ", or the order of links has changed" : ""))
      }
      if let found, found.newerLinks > 0 {
        add(
          .extraLink,
          "\(found.newerLinks.counted("link is", "links are")) new, of objects that neither the job nor a later one made"
        )
      }
      if let found, found.laterLinks > 0 { report.count("not proved: links of later jobs", found.laterLinks) }
    }
  }

  /// Whether the links of a relationship have places, in its own order or in the order of its inverse.
  private static func hasOrder(_ relationship: Receipt.Relationship, in model: ManagedObjectModel) -> Bool {
    guard let described = model.relationship(relationship.name, of: relationship.entity) else { return false }
    return described.isOrdered || model.inverse(of: described)?.isOrdered == true
  }
}
