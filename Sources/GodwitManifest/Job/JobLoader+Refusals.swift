import GodwitModel
import GodwitStore

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
    refuse(
      manifest.history != .drop, "history",
      "write `history: drop`: the new store continues the old numbering, so no old token matches it")
    return keys
  }

  /// The place of the key; the head of the file for a missing one.
  private func location(of key: String) -> GodwitError.Location {
    manifest.locations[key] ?? .init(file: manifest.file, line: 1, column: 1)
  }

  private static func unsupported(_ key: String, at location: GodwitError.Location, try remedy: String) -> GodwitError {
    let what =
      switch key {
      case "history": "keeping persistent history ('history: keep')"
      default: "'\(key)'"
      }
    return GodwitError(
      .configuration, "\(what) is not supported by this version", location: location, remedy: remedy,
      safe: "nothing was written")
  }

  /// The store that the job makes, which for a job in place is its source.
  package func destination() -> String {
    switch manifest.destination {
    case .file(let path): path.resolved
    // Not a link to the store, because the job would replace the link.
    case .inPlace: StoreFiles.resolvingLink(manifest.source.resolved)
    }
  }

  /// Whether the source itself is replaced.
  package var isInPlace: Bool { if case .inPlace = manifest.destination { true } else { false } }
}
