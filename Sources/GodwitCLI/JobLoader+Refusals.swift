import GodwitManifest
import GodwitModel

extension JobLoader {
  /// Refuses what a manifest may ask for and this version does not do: nothing is skipped in silence.
  func refuseUnsupported() throws {
    _ = try destinationPath()
    switch manifest.mappings {
    case .files: break
    case .auto:
      throw GodwitError(
        .configuration, "'mappings: auto' is not supported by this version, and it is the default",
        location: .init(file: manifest.file, line: 1, column: 1),
        remedy: "list the mapping files, for example 'mappings: V3toV4.mapping.yaml'")
    case .inferred: throw unsupported("mappings: inferred", try: "write a mapping file and list it under 'mappings'")
    }
  }

  func unsupported(_ key: String, at location: GodwitError.Location? = nil, try remedy: String) -> GodwitError {
    GodwitError(
      .configuration, "'\(key)' is not supported by this version",
      location: location ?? .init(file: manifest.file, line: 1, column: 1), remedy: remedy)
  }
}
