import GodwitJob
package import GodwitModel
package import GodwitStore
package import GodwitXcode

/// The model that a store carries, or the receipt beside it, and whether it is the one the store was written with.
package enum StoredModel {
  /// Neither has one. The sentence is about a receipt that lies there and does not help.
  case missing(receiptProblem: String?)
  case fits(CachedModel)
  /// A model of another version, as an in-place migration may leave it.
  case differs(CachedModel)
  case unreadable(GodwitError)
  /// The store carries none: Godwit made it, and its receipt has the model.
  case inReceipt(ManagedObjectModel, path: String)

  /// - Parameter name: what the model is to be called; by default its version identifier, or its name in the receipt.
  /// - Throws: when the store cannot be read; what is wrong with the model alone is `unreadable`.
  package init(inStoreAt path: String, metadata: StoreMetadata, name: String? = nil) throws {
    guard let content = try StoreModelCache.content(ofStoreAt: path) else {
      self =
        switch Receipt.model(besideStoreAt: path, metadata: metadata, name: name) {
        case .none: .missing(receiptProblem: nil)
        case .useless(let problem): .missing(receiptProblem: problem)
        case .found(let model, let receipt): .inReceipt(model, path: receipt)
        }
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
