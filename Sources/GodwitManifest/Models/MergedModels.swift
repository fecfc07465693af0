import GodwitModel
import GodwitXcode

/// The models under `merge-models`, which form one: each may be at another version in the source and in the
/// destination.
struct MergedModels {
  /// One of the models, its versions read when they are asked for.
  private final class Part {
    /// nil where only the version of a store is looked for.
    let destination: ManagedObjectModel?
    private let bundle: ModelBundle
    private(set) var known: [String: ManagedObjectModel?] = [:]

    init(_ path: ManifestPath) throws {
      let reference = ModelReference(parsing: path.resolved)
      bundle = try ModelBundle(contentsOf: reference.path)
      destination = try reference.version.map(bundle.model(named:)) ?? bundle.currentModel()
    }

    init(anyVersionOf bundle: ModelBundle) { (self.bundle, destination) = (bundle, nil) }

    /// Oldest first. A version that cannot be read cannot be the one that the store has.
    var versions: [ManagedObjectModel] { bundle.versions.compactMap(version) }

    /// The latest version that fits.
    func latest(where fits: (ManagedObjectModel) -> Bool) -> ManagedObjectModel? {
      bundle.versions.reversed().lazy.compactMap(version).first(where: fits)
    }

    private func version(_ name: String) -> ManagedObjectModel? {
      if let destination, name == destination.name { return destination }
      if let model = known[name] { return model }
      let model = try? bundle.model(named: name)
      known[name] = .some(model)
      return model
    }
  }

  private let parts: [Part]

  /// The versions that were read beside the destinations, in the order of their names.
  var readVersions: [String] { parts.flatMap { $0.known.keys.sorted() } }

  /// - Throws: as `ModelBundle`; 66 when a model has no current version and the reference names none.
  init(_ paths: [ManifestPath]) throws { parts = try paths.map(Part.init) }

  init(anyVersionOf bundles: [ModelBundle]) { parts = bundles.map(Part.init(anyVersionOf:)) }

  /// The current version of each, or the one that its reference names.
  func destination() throws -> ManagedObjectModel {
    try ManagedObjectModel(merging: parts.compactMap(\.destination))
  }

  /// The versions that together have the store's entities, each with the store's hash; nil when there are none.
  ///
  /// A model that the application added later, and of which the store has no entity, is left out.
  func model(fitting hashes: [String: VersionHash]) throws -> ManagedObjectModel? {
    func fits(_ version: ManagedObjectModel) -> Bool {
      version.versionHashes.allSatisfy { hashes[$0.key] == $0.value }
    }
    // Where the latest that fit explain the whole store, no other version can explain more of it.
    let latest = parts.compactMap { part in part.latest { !$0.entities.isEmpty && fits($0) } }
    if latest.count == parts.count, Set(latest.flatMap(\.entityNames)) == Set(hashes.keys),
      latest.reduce(0, { $0 + $1.entityNames.count }) == hashes.count
    {
      let merged = try ManagedObjectModel(merging: latest)
      if merged.isCompatible(with: hashes) { return merged }
    }
    var chosen: [ManagedObjectModel] = []
    for part in parts {
      let fitting = part.versions.filter(fits)
      // The fitting version that explains the most of the store; the later version on a tie.
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
