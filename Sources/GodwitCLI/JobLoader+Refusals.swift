import GodwitManifest
import GodwitModel

extension JobLoader {
  /// Refuses what a manifest may ask for and this version does not do: nothing is skipped in silence.
  ///
  /// - Throws: 78 at the first such key in the file.
  func refuseUnsupported() throws {
    let found = unsupportedKeys.map { (location: location(of: $0.key), key: $0.key, remedy: $0.remedy) }
    let first = found.min { ($0.location.line, $0.location.column) < ($1.location.line, $1.location.column) }
    if let first { throw Self.unsupported(first.key, at: first.location, try: first.remedy) }
  }

  private var unsupportedKeys: [(key: String, remedy: String)] {
    var keys: [(key: String, remedy: String)] = []
    func refuse(_ isAsked: Bool, _ key: String, _ remedy: String) {
      if isAsked { keys.append((key, remedy)) }
    }
    if case .inPlace = manifest.destination { refuse(true, "in-place", "name a 'destination'") }
    switch manifest.mappings {
    case .files, .inferred: break
    case .auto: refuse(true, "mappings", "list the mapping files, or write `mappings: inferred`")
    }
    refuse(manifest.onInvalid != .fail, "on-invalid", "write `on-invalid: fail`, or remove the key")
    refuse(manifest.append, "append", "remove the key, and name a destination that does not exist")
    refuse(!manifest.mergeModels.isEmpty, "merge-models", "list one model that has all entities")
    refuse(manifest.configuration != nil, "configuration", "remove the key: the store then holds all entities")
    refuse(manifest.destinationType != .sqlite, "destination-type", "write `destination-type: sqlite`")
    refuse(manifest.history != .drop, "history", "write `history: drop`")
    refuse(manifest.cloudkit != .stop, "cloudkit", "remove the key: a mirrored store is refused")
    refuse(!manifest.versionOrder.isEmpty, "version-order", "remove the key: the mapping files say what is migrated")
    refuse(!manifest.mappingSearch.isEmpty, "mapping-search", "remove the key, and list the files under 'mappings'")
    refuse(manifest.unregisteredPolicies != .fail, "unregistered-policies", "write `unregistered-policies: fail`")
    refuse(!manifest.stages.isEmpty, "stages", "remove the key, and run what the hooks do before and after the job")
    return keys
  }

  /// Where the key stands; the head of the file for one that was left out.
  private func location(of key: String) -> GodwitError.Location {
    manifest.locations[key] ?? .init(file: manifest.file, line: 1, column: 1)
  }

  private static func unsupported(_ key: String, at location: GodwitError.Location, try remedy: String) -> GodwitError {
    let what =
      switch key {
      case "mappings": "finding a mapping model ('mappings: auto', the default)"
      default: "'\(key)'"
      }
    return GodwitError(
      .configuration, "\(what) is not supported by this version", location: location, remedy: remedy,
      safe: "nothing was written")
  }

  /// The one destination that this version writes.
  func destination() throws -> String {
    switch manifest.destination {
    case .file(let path): return path.resolved
    case .inPlace(_, let location):
      throw Self.unsupported("in-place", at: location, try: "name a 'destination'")
    }
  }
}
