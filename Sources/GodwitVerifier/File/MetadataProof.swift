import GodwitJob
import GodwitModel
import GodwitStore

/// Compares version hashes and the keys of `Z_METADATA` with the model, and with the source.
struct MetadataProof {
  /// The metadata keys that a run writes about itself.
  private static let ownKeys: Set<String> = [
    StoreMetadata.Key.jobs, StoreMetadata.Key.step, StoreMetadata.Key.quarantined, StoreMetadata.Key.moments,
    AppendRecord.key, RemovedRepairs.key,
  ]

  private let stores: ComparedStores
  private let findings: Findings

  init(_ stores: ComparedStores, _ findings: Findings) { (self.stores, self.findings) = (stores, findings) }

  func checkMetadata() throws {
    let made: StoreMetadata
    do {
      made = try StoreMetadata(reading: stores.destination, path: stores.job.destinationPath)
    } catch let error as GodwitError { return findings.find(.metadata, error.message) }
    let before = try StoreMetadata(reading: stores.source, path: stores.job.sourcePath)
    let model = stores.job.destinationModel
    let hashes = model.versionHashes.mapValues(\.bytes)
    for name in Set(hashes.keys).union(made.versionHashes.keys).sorted() {
      switch (hashes[name], made.versionHashes[name]) {
      case (.some, nil): findings.find(.metadata, name, "its version hash is missing")
      case (nil, .some): findings.find(.metadata, name, "it has a version hash, but the model has no such entity")
      case (let expected, let found) where expected != found:
        findings.find(.metadata, name, "its version hash is not the model's")
      default: break
      }
    }
    findings.count("version hashes", Int64(hashes.count))
    if stores.appended?.foundStore == true {
      return findings.count("not proved: metadata that the store had before the job", 1)
    }
    func compare<T: Equatable>(_ key: String, _ found: T, _ expected: T) {
      findings.count("metadata keys", 1)
      if found != expected { findings.find(.metadata, property: key, "it is not what the model and the source say") }
    }
    if stores.job.destinationType == .sqlite {
      let rows = try stores.destination.rows("SELECT Z_VERSION FROM \(ComparedStores.attached).Z_METADATA LIMIT 2")
      if rows.count > 1 { findings.find(.metadata, "Z_METADATA has more than one row") }
      compare("Z_VERSION", rows.first?.first, .integer(1))
    }
    compare(
      StoreMetadata.Key.frameworkVersion, made.frameworkVersion,
      before.frameworkVersion ?? StoreMetadata.currentFrameworkVersion)
    compare(StoreMetadata.Key.digest, made.digest, model.versionHashesDigest)
    compare(StoreMetadata.Key.checksum, made.checksum, model.versionChecksum)
    compare(StoreMetadata.Key.versionIdentifiers, made.versionIdentifiers, model.versionIdentifiers)
    compare(StoreMetadata.Key.hashesVersion, made.hashesVersion, 3)
    compare(
      StoreMetadata.Key.storeType, made.values[StoreMetadata.Key.storeType]?.string, stores.job.destinationType.rawValue
    )
    compare("Z_UUID", made.uuid, before.uuid)
    let jobs = StoreMetadata.Key.jobs
    for (key, value) in before.applicationValues.sorted(by: { $0.key < $1.key })
    where !Self.ownKeys.contains(key.string) && !(stores.job.dropsMirroring && StoreMetadata.isMirroringKey(key.string))
    {
      compare(key.string, made.values[key], value)
    }
    for key in made.applicationValues.keys.sorted()
    where !Self.ownKeys.contains(key.string) && before.applicationValues[key] == nil {
      findings.find(.metadata, property: key.string, "the source has no such key")
    }
    let key = stores.job.position.isLast ? jobs : StoreMetadata.Key.step
    let earlier = stores.job.position.isLast ? before.values[jobs]?.array?.count ?? 0 : 0
    let named = made.values[key]?.array?.compactMap(\.string) ?? []
    if named.count <= earlier {
      findings.find(.metadata, property: jobs, "it does not name the job that made the store")
    }
    findings.count("metadata keys", 1)
  }
}
