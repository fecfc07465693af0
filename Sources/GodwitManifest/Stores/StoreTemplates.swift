import GodwitJob
import GodwitModel

/// The paths with placeholders of a manifest for many stores, taken apart once.
struct StoreTemplates {
  private struct Template {
    let key: String
    let path: ManifestPath
    let placeholders: StorePlaceholders

    init(key: String, path: ManifestPath) {
      (self.key, self.path) = (key, path)
      placeholders = StorePlaceholders(path.raw)
    }

    func filled(for match: StorePattern.Match) -> ManifestPath {
      ManifestPath(placeholders.path(for: match), location: path.location)
    }
  }

  private let destination, receipt: Template?

  init(_ manifest: JobManifest) {
    destination = manifest.destination.path.map { Template(key: "destination", path: $0) }
    if case .file(let path?) = manifest.receipt {
      receipt = Template(key: "receipt", path: path)
    } else {
      receipt = nil
    }
  }

  /// nil in place.
  func destination(for match: StorePattern.Match) -> ManifestPath? { destination?.filled(for: match) }

  /// nil where the manifest names no receipt.
  func receipt(for match: StorePattern.Match) -> ManifestPath? { receipt?.filled(for: match) }

  /// Why the placeholders give a store no path of its own; nil if they do.
  func obstacle(to match: StorePattern.Match) -> GodwitError? {
    for template in [destination, receipt] {
      guard let template, let why = template.placeholders.obstacle(for: match) else { continue }
      return GodwitError(
        .configuration, "cannot migrate '\(match.path)': its \(template.key) '\(template.path.raw)' would have \(why)",
        location: template.path.location, remedy: "rename the store, or write another placeholder, such as {file}",
        safe: "nothing of it was written")
    }
    return nil
  }
}
