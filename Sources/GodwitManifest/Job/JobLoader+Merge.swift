import GodwitJob
import GodwitModel
import GodwitStore

extension JobLoader {
  /// Makes the job one of all stores that are merged.
  ///
  /// - Parameter metadata: The metadata of the first store, whose version the others must have.
  /// - Throws: `.configuration` (78) for a store of another version; what reading a store throws.
  func readMerge(into job: inout MigrationJob, metadata: StoreMetadata) throws {
    guard let first = manifest.merge.first else { return }
    for path in manifest.merge.dropFirst() {
      try MergedSources.refuseOtherVersion(
        StoreMetadata(readingStoreAt: path.resolved), of: path.raw, first: first.raw, metadata, at: path.location)
    }
    job.merged = try MergedSources(manifest.merge.map(\.resolved))
    job = job.readingMerged(in: job.workPath)
  }
}
