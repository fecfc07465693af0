import GodwitJob
import GodwitModel

extension JobManifest {
  /// A job that nobody wrote: what a manifest of nothing but a store and models would ask for.
  ///
  /// - Parameters:
  ///   - store: The source.
  ///   - destination: Where the new store would go.
  ///   - models: `PATH` or `PATH#Version Name`, and files with published hashes.
  ///   - destinationModel: nil for the current version.
  ///   - folder: The folder that relative paths of mapping models count from.
  package init(
    askingFor store: String, to destination: String, models: [String], destinationModel: String?,
    configuration: String? = nil, versionOrder: [String] = [], folder: String
  ) {
    file = folder + "/job.yaml"
    job = "why"
    func path(_ text: String) -> ManifestPath {
      ManifestPath(raw: text, resolved: text, location: .init(file: text, line: 1, column: 1))
    }
    source = path(store)
    self.destination = Destination(path: path(destination), existing: .fail)
    self.models = models.map(path)
    self.destinationModel = destinationModel.map {
      Located(value: $0, location: .init(file: models.first ?? $0, line: 1, column: 1))
    }
    self.configuration = configuration
    self.versionOrder = versionOrder
    locations = [:]
  }

  /// The paths that the job reads, with the keys they stand under.
  package var inputPaths: [(key: String, path: ManifestPath)] {
    var paths =
      (merge.isEmpty ? [("source", source)] : merge.map { ("merge", $0) }) + models.map { ("models", $0) }
      + mergeModels.map { ("merge-models", $0) }
    if case .files(let files) = mappings { paths += files.map { ("mappings", $0) } }
    paths += mappingSearch.map { ("mapping-search", $0) }
    if let from = layout?.from { paths.append(("from", from)) }
    return paths.map { (key: $0.0, path: $0.1) }
  }
}
