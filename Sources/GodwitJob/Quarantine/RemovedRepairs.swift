import GodwitModel
package import GodwitStore

/// A destination that an earlier version of Godwit made with repairs of a quarantine.
///
/// This version makes none: `godwit quarantine apply` writes edits into a copy of the source, which is the source then.
package enum RemovedRepairs {
  /// The key under which such a store names its repairs.
  package static let key = "GodwitRepairs"

  /// - Throws: `.cannotCreate` (73): the source of the job does not give the store.
  package static func refuse(_ metadata: StoreMetadata, of path: String) throws {
    guard metadata.applicationValues[key] != nil else { return }
    throw GodwitError(
      .cannotCreate, "cannot use '\(path)': an earlier version of Godwit made it with repairs of a quarantine",
      cause: "the source of the job does not have them, and this version reads no repairs file",
      remedy:
        "use that version for it, or move it away, write the edits into a copy of the source with `godwit quarantine apply`, and migrate the copy",
      safe: "nothing was written")
  }
}
