import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode

/// The model of a damaged store, and where it was found.
struct SalvageModel {
  enum Origin: String {
    case given, cache, receipt
  }

  let model: ManagedObjectModel
  let origin: Origin
  /// Whether its version hashes are those of the store's metadata.
  let isProved: Bool

  /// - Parameters:
  ///   - references: The models that the user names.
  ///   - metadata: The metadata that is left; nil for none.
  ///   - cache: The content of `Z_MODELCACHE`; nil if it is lost.
  /// - Returns: nil without a model: the copy then has the tables as SQLite has them.
  /// - Throws: `.noPath` (69) if the user names models and none fits; the errors of reading these.
  static func find(
    _ references: [String], metadata: StoreMetadata?, cache: [UInt8]?, path: String, notes: inout [String]
  ) throws -> SalvageModel? {
    let name = metadata?.versionIdentifiers.first { !$0.isEmpty } ?? "model of the store"
    let cached = cache.flatMap { try? CachedModel(modelCache: $0, name: name).model }
    if !references.isEmpty {
      if let metadata {
        do {
          let model = try ModelVersions(references: references)
            .model(fitting: metadata, path: path, isJob: false, takesConfigurations: true)
          return SalvageModel(model: model, origin: .given, isProved: true)
        } catch let error as GodwitError where error.code == .noPath {
          guard let model = try named(references, nearlyFitting: metadata) else {
            throw refusal(error, isNamed: ModelReference(parsing: references[0]).version != nil)
          }
          notes.append("some version hashes of the metadata are not those of model '\(model.name)', which was named")
          return SalvageModel(model: model, origin: .given, isProved: true)
        }
      }
      return try SalvageModel(model: withoutMetadata(references, cached), origin: .given, isProved: false)
    }
    if let cached {
      guard let metadata else { return SalvageModel(model: cached, origin: .cache, isProved: false) }
      if cached.isCompatible(with: metadata.entityVersionHashes) {
        return SalvageModel(model: cached, origin: .cache, isProved: true)
      }
      notes.append("the model in 'Z_MODELCACHE' is of another version than the store, and is not used")
    }
    guard let metadata, case .found(let model, _) = Receipt.model(besideStoreAt: path, metadata: metadata) else {
      return nil
    }
    return SalvageModel(model: model, origin: .receipt, isProved: true)
  }

  /// The error of a store that no version fits: of a damaged one, some hashes may be wrong.
  private static func refusal(_ error: GodwitError, isNamed: Bool) -> GodwitError {
    GodwitError(
      error.code, error.message, cause: error.cause,
      remedy: isNamed
        ? "name the version with which the application wrote the store"
        : "if hashes of the store are damaged, name its version: `--model BUNDLE#VERSION`",
      safe: "the store is untouched")
  }

  /// The version that the user names, if the metadata has hashes of all its entities and most are equal: the others are
  /// damaged. nil if no version is named.
  private static func named(
    _ references: [String], nearlyFitting metadata: StoreMetadata
  ) throws -> ManagedObjectModel? {
    let reference = ModelReference(parsing: references[0])
    guard let version = reference.version else { return nil }
    let model = try ModelBundle(contentsOf: reference.path).model(named: version)
    let hashes = metadata.entityVersionHashes
    let equal = model.versionHashes.count { hashes[$0.key] == $0.value }
    return equal * 2 > model.entities.count && hashes.count <= model.entities.count ? model : nil
  }

  /// The version of a store that does not say which it is: the version of its cache, else the one that the user names, else
  /// the current one.
  private static func withoutMetadata(
    _ references: [String], _ cached: ManagedObjectModel?
  ) throws -> ManagedObjectModel {
    if let cached {
      let metadata = StoreMetadata(model: cached)
      return try ModelVersions(references: references).model(fitting: metadata, path: "Z_MODELCACHE", isJob: false)
    }
    let reference = ModelReference(parsing: references[0])
    let bundle = try ModelBundle(contentsOf: reference.path)
    return try reference.version.map { try bundle.model(named: $0) } ?? bundle.currentModel()
  }
}
