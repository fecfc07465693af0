public import GodwitModel

extension ManagedObjectModel {
  /// Whether a store with these metadata has exactly the entities of the model, each with its version hash; Core Data's
  /// `isConfiguration(withName:compatibleWithStoreMetadata:)` for all entities.
  ///
  /// - Returns: false also for a store that does not say which model it has.
  public func isCompatible(with metadata: StoreMetadata) -> Bool {
    let hashes = metadata.entityVersionHashes
    return hashes.count == metadata.versionHashes.count && isCompatible(with: hashes)
  }
}
