import GodwitJob
import GodwitModel
import GodwitXcode

/// The inputs that the jobs of a manifest for many stores read once: models, mapping models, and the steps from each
/// version.
///
/// Only one thread loads jobs. A file that cannot be read is tried again for the next store.
package final class SharedInputs {
  private var versions: ModelVersions?
  /// The way of each store that was loaded, by its version hashes. The models decide all of it.
  var ways: [[String: [UInt8]]: JobWay] = [:]
  private var search: MappingSearch?
  private var folders: [String: MappingSearch] = [:]
  private var texts: [String: MappingModel] = [:]
  private var xcode: [String: XcodeMappingModel] = [:]
  private var listed: [ListedMapping]?

  package init() {}

  private func cached<Value>(
    _ place: ReferenceWritableKeyPath<SharedInputs, Value?>, _ read: () throws -> Value
  ) rethrows -> Value {
    if let value = self[keyPath: place] { return value }
    let made = try read()
    self[keyPath: place] = made
    return made
  }

  func versions(_ read: () throws -> ModelVersions) rethrows -> ModelVersions { try cached(\.versions, read) }

  func search(_ look: () -> MappingSearch) -> MappingSearch { cached(\.search, look) }

  func search(inFolder folder: String) -> MappingSearch {
    cached(\.folders[folder]) { MappingSearch(inFolder: folder) }
  }

  func listed(_ read: () throws -> [ListedMapping]) rethrows -> [ListedMapping] { try cached(\.listed, read) }

  func text(_ path: String) throws -> MappingModel {
    try cached(\.texts[path]) { try MappingModel(contentsOfYAML: path) }
  }

  func xcode(_ path: String) throws -> XcodeMappingModel {
    try cached(\.xcode[path]) { try XcodeMappingModel(contentsOf: path) }
  }
}

/// The models of a job and the steps between them.
struct JobWay {
  var source, destination: ManagedObjectModel
  /// Where the source model is from, unless the manifest lists it.
  var origin: String?
  var steps: [MigrationStep]
  var search: MappingSearchRecord
  /// The store that decides names which the destination model leaves open.
  var layout: LayoutStore?
}

extension JobLoader {
  /// The versions that the manifest lists. Those of a configuration are read for each job: they are cut down to it.
  func modelVersions() throws -> ModelVersions {
    guard let inputs, manifest.configuration == nil else { return try ModelVersions(manifest.models) }
    return try inputs.versions { try ModelVersions(manifest.models) }
  }

  /// The search for mapping models beside the models. A folder among `models` stands for the bundle in it.
  func mappingSearch() -> MappingSearch {
    func look() -> MappingSearch {
      MappingSearch(
        besideModels: manifest.models.map { ModelSearch.modelOrPath(ModelReference(parsing: $0.resolved).path) })
    }
    return inputs?.search(look) ?? look()
  }

  /// The mapping models in a folder and below it.
  func mappingSearch(inFolder folder: String) -> MappingSearch {
    inputs?.search(inFolder: folder) ?? MappingSearch(inFolder: folder)
  }

  func textMapping(_ path: String) throws -> MappingModel {
    try inputs?.text(path) ?? MappingModel(contentsOfYAML: path)
  }

  func xcodeMapping(_ path: String) throws -> XcodeMappingModel {
    try inputs?.xcode(path) ?? XcodeMappingModel(contentsOf: path)
  }
}
