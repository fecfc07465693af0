import GodwitJob
import GodwitModel
import GodwitStore

/// Proves everything that does not need the objects: keys, metadata, tables, indexes, triggers and counters.
///
/// 1. `beginIntegrityCheck`, and at the end `finish`: the pages and indexes of both files, on threads of their own.
/// 2. `checkFile`: the content of the file, one proof after the other.
final class FileProof {
  /// Whether SQLite finds the source damaged.
  private(set) var isSourceDamaged = false
  private let stores: ComparedStores
  private let findings: Findings
  private let progress: VerificationProgress

  init(_ stores: ComparedStores, _ findings: Findings, _ progress: VerificationProgress) {
    (self.stores, self.findings, self.progress) = (stores, findings, progress)
  }

  /// Checks everything that does not need the objects.
  ///
  /// - Returns: Whether the tables are there, so that their rows can be compared.
  func checkFile() throws -> Bool {
    try MetadataProof(stores, findings).checkMetadata()
    let areKeysSound = try checkKeys()
    let isReadable = try SchemaProof(stores, findings).checkSchema() && areKeysSound
    try LayoutProof(stores, findings).compareLayout()
    if isReadable { try CounterProof(stores, findings).checkNumbers() }
    return isReadable
  }

  /// Begins SQLite's check of both files, beside the comparison of rows.
  func beginIntegrityCheck() throws -> IntegrityCheck {
    // Godwit itself made a store between two steps. The reader of an atomic store notices damage.
    let checksSource = try stores.job.position.isFirst && StoreFiles(path: stores.job.sourcePath).type == .sqlite
    findings.count("files whose pages and indexes were checked", checksSource ? 2 : 1)
    return try IntegrityCheck(
      destination: stores.destination, source: checksSource ? stores.source : nil, known: progress.start?.integrity,
      cache: .init(bytes: max(stores.job.memory.bytes / 16, 1 << 20)), usesShortcuts: stores.usesShortcuts,
      isStopped: progress.isStopped)
  }

  /// Waits for SQLite's check. Its findings come first because they explain others.
  func finish(_ check: IntegrityCheck) throws {
    let complaints = try check.complaints()
    isSourceDamaged = complaints.source?.isEmpty == false
    try nameUnchecked(in: stores.destination, "the store")
    if check.checksSource { try nameUnchecked(in: stores.source, "the source") }
    findings.prepend(
      (complaints.destination ?? []).map { .init(.file, message: $0) }
        + (complaints.source ?? []).map { .init(.source, message: "the source is damaged: \($0)") })
  }

  /// Names the indexes whose order SQLite's check leaves out.
  private func nameUnchecked(in connection: StoreConnection, _ store: String) throws {
    for index in try connection.foreignIndexes(in: ComparedStores.attached) {
      findings.count("not proved: the order of an index of \(store): \(index.reason)", 1)
    }
  }

  /// - Returns: Whether the rows of both stores have keys, so that they can be compared.
  private func checkKeys() throws -> Bool {
    let found = try KeyProof(connection: stores.source, schema: stores.sourceSchema).faults()
    for fault in found { findings.find(.source, "the source is damaged: \(fault)") }
    // Where a table is missing, or has another definition, that is the finding.
    guard stores.appended?.foundStore == true else { return found.isEmpty }
    let made = try KeyProof(connection: stores.destination, schema: stores.destinationSchema).faults()
    for fault in made { findings.find(.file, fault) }
    return found.isEmpty && made.isEmpty
  }
}
