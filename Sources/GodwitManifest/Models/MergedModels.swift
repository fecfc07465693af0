import GodwitModel
import GodwitXcode

/// The models under `merge-models`, which form one: each may be at another version in the source and in the destination.
struct MergedModels {
  private struct Part {
    let versions: [ManagedObjectModel]
    let destination: ManagedObjectModel
  }

  private let parts: [Part]

  /// - Throws: as `ModelBundle`; 66 when a model has no current version and the reference names none.
  init(_ paths: [ManifestPath]) throws {
    parts = try paths.map { path in
      let reference = ModelReference(parsing: path.resolved)
      let bundle = try ModelBundle(contentsOf: reference.path)
      let destination = try reference.version.map(bundle.model(named:)) ?? bundle.currentModel()
      // A version that cannot be read cannot be the one that the store has.
      let versions = bundle.versions.compactMap { $0 == destination.name ? destination : try? bundle.model(named: $0) }
      return Part(versions: versions, destination: destination)
    }
  }

  /// The current version of each, or the one that its reference names.
  func destination() throws -> ManagedObjectModel {
    try ManagedObjectModel(merging: parts.map(\.destination))
  }

  /// The versions that together have the store's entities, each with the store's hash; nil when there are none.
  ///
  /// A model that the store has nothing of, because the application added it later, is left out.
  func model(fitting hashes: [String: VersionHash]) throws -> ManagedObjectModel? {
    var chosen: [ManagedObjectModel] = []
    for part in parts {
      let fitting = part.versions.filter { version in
        version.versionHashes.allSatisfy { hashes[$0.key] == $0.value }
      }
      // Of versions that fit, the one that explains more of the store; of equals the later one.
      guard let best = fitting.max(by: { $0.entities.count < $1.entities.count }), !best.entities.isEmpty else {
        guard part.versions.contains(where: { $0.entityNames.contains { hashes[$0] != nil } }) else { continue }
        return nil
      }
      chosen.append(best)
    }
    guard !chosen.isEmpty else { return nil }
    let merged = try ManagedObjectModel(merging: chosen)
    return merged.isCompatible(with: hashes) ? merged : nil
  }
}
