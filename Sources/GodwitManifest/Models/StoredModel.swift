package import GodwitModel
package import GodwitStore
package import GodwitXcode

/// The model that a store carries, and whether it is the one the store was written with.
package enum StoredModel {
  case missing
  case fits(CachedModel)
  /// A model of another version, as an in-place migration may leave it.
  case differs(CachedModel)
  case unreadable(GodwitError)

  /// - Parameter name: what the model is to be called; by default its version identifier.
  /// - Throws: when the store cannot be read; what is wrong with the model alone is `unreadable`.
  package init(inStoreAt path: String, metadata: StoreMetadata, name: String? = nil) throws {
    guard let content = try StoreModelCache.content(ofStoreAt: path) else {
      self = .missing
      return
    }
    do {
      let name = name ?? metadata.versionIdentifiers.first { !$0.isEmpty } ?? "model of the store"
      let cached = try CachedModel(modelCache: content, name: name)
      self = cached.model.isCompatible(with: metadata) ? .fits(cached) : .differs(cached)
    } catch let error as GodwitError {
      self = .unreadable(error)
    }
  }
}
