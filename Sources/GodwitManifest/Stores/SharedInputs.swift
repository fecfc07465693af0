import GodwitModel
import GodwitXcode

/// What the jobs of a manifest for many stores read once: models, and files of mapping models.
///
/// Only one thread loads jobs. A file that cannot be read is tried again for the next store.
final class SharedInputs {
  private var versions: ModelVersions?
  private var search: MappingSearch?
  private var texts: [String: MappingModel] = [:]
  private var xcode: [String: XcodeMappingModel] = [:]
  private var listed: [ListedMapping]?

  func versions(_ read: () throws -> ModelVersions) rethrows -> ModelVersions {
    if let versions { return versions }
    let made = try read()
    versions = made
    return made
  }

  func search(_ look: () -> MappingSearch) -> MappingSearch {
    if let search { return search }
    let made = look()
    search = made
    return made
  }

  func listed(_ read: () throws -> [ListedMapping]) rethrows -> [ListedMapping] {
    if let listed { return listed }
    let made = try read()
    listed = made
    return made
  }

  func text(_ path: String) throws -> MappingModel {
    if let model = texts[path] { return model }
    let made = try MappingModel(contentsOfYAML: path)
    texts[path] = made
    return made
  }

  func xcode(_ path: String) throws -> XcodeMappingModel {
    if let model = xcode[path] { return model }
    let made = try XcodeMappingModel(contentsOf: path)
    xcode[path] = made
    return made
  }
}

extension JobLoader {
  /// The versions that the manifest lists. Those of a configuration are read for each job: they are cut down to it.
  func modelVersions() throws -> ModelVersions {
    guard let inputs, manifest.configuration == nil else { return try ModelVersions(manifest.models) }
    return try inputs.versions { try ModelVersions(manifest.models) }
  }

  /// The search for mapping models beside the models.
  func mappingSearch() -> MappingSearch {
    func look() -> MappingSearch {
      MappingSearch(besideModels: manifest.models.map { ModelReference(parsing: $0.resolved).path })
    }
    return inputs?.search(look) ?? look()
  }

  func textMapping(_ path: String) throws -> MappingModel {
    try inputs?.text(path) ?? MappingModel(contentsOfYAML: path)
  }

  func xcodeMapping(_ path: String) throws -> XcodeMappingModel {
    try inputs?.xcode(path) ?? XcodeMappingModel(contentsOf: path)
  }
}
