import GodwitJob
import GodwitModel
import GodwitStore
import Logging

extension JobLoader {
  /// Reads the names that the manifest gives where the destination model leaves them open.
  func readLayout(into job: inout MigrationJob) throws {
    guard let layout = manifest.layout else { return }
    job.refusesGuessedNames = layout.isStrict
    job.layoutLocation = manifest.locations["layout"]
    job.layoutNames = try JoinNames(
      naming: layout.names.map { ($0.end, $0.name.value) }, in: StoreSchema(model: job.destinationModel)
    ) { place, why in
      GodwitError(
        .configuration, "cannot take the name '\(layout.names[place].name.value)': \(why)",
        location: layout.names[place].name.location,
        remedy: "correct or remove it; `godwit plan` names what is guessed, and what Core Data may expect")
    }
  }

  /// The store that decides names which the destination model leaves open: the one of `layout`, else one among `models`
  /// that has the hashes of the destination; nil without either.
  func layoutStore(for model: ManagedObjectModel) throws -> LayoutStore? {
    if let path = manifest.layout?.from { return try layoutStore(at: path, for: model) }
    for path in manifest.models where PublishedVersionHashes.isFile(at: path.resolved) {
      guard let store = try? layoutStore(at: path, for: model) else { continue }
      logger.debug("names of tables are taken from a store among the models", metadata: ["file": "\(path.resolved)"])
      return store
    }
    return nil
  }

  private func layoutStore(at path: ManifestPath, for model: ManagedObjectModel) throws -> LayoutStore {
    func refuse(_ why: String) -> GodwitError {
      GodwitError(
        .configuration, "cannot take names from '\(path.resolved)': \(why)", location: path.location,
        remedy: "name a SQLite store of version '\(model.name)' that Core Data wrote, or remove 'from'")
    }
    return try locating(path.location) {
      guard try StoreFiles(path: path.resolved).type == .sqlite else { throw refuse("it is not a SQLite store") }
      let metadata = try StoreMetadata(readingStoreAt: path.resolved)
      guard metadata.applicationValues[StoreMetadata.Key.jobs] == nil else {
        throw refuse("Godwit made this store, so its names do not show what Core Data would choose")
      }
      let hashes = metadata.entityVersionHashes
      guard hashes.count == metadata.versionHashes.count, model.isCompatible(with: hashes) else {
        throw refuse("it is not a store of version '\(model.name)'")
      }
      return try LayoutStore(path: path.resolved, model: model)
    }
  }
}
