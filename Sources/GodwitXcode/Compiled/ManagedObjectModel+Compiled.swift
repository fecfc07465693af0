package import GodwitModel

extension ManagedObjectModel {
  /// Reads a compiled model, the content of a `.mom`.
  ///
  /// The archive is read as data: no class that it names is instantiated. Properties are in name order, since the
  /// archive keeps none. Fetch requests keep entity and predicate.
  ///
  /// - Parameters:
  ///   - compiled: A keyed archive in binary or XML form.
  ///   - name: The name of the model, which the archive does not contain.
  /// - Throws: `GodwitError` with code `.missingInput` when it is damaged, too large (10 000 entities, 2 000
  ///   properties of one) or has a class, key or value that is not known.
  package init(compiled: [UInt8], name: String) throws {
    self = try CompiledModelReader.read(compiled, name: name, allowsOmissions: false).model
  }
}

/// The model that a store carries, for use as a migration's source.
package struct CachedModel: Sendable, Hashable {
  /// The model.
  package let model: ManagedObjectModel
  /// The content of the archive that the model leaves out, one sentence each: defaults that are objects of the
  /// application, and validations and user info that Xcode's editor cannot make. None of them affects the content of
  /// the store.
  package let omissions: [String]

  /// A model that was found elsewhere.
  package init(model: ManagedObjectModel, omissions: [String]) { (self.model, self.omissions) = (model, omissions) }

  /// Reads the model that a store carries, the content of `Z_MODELCACHE`.
  ///
  /// - Parameters:
  ///   - modelCache: A keyed archive, deflated, of at most 64 MiB when inflated.
  ///   - name: The name of the model, which the archive does not contain.
  /// - Throws: Code `.missingInput` (66) when the archive is damaged, too large or has a class, key or value that is
  ///   not known.
  package init(modelCache: [UInt8], name: String) throws {
    (model, omissions) = try CompiledModelReader.read(
      Inflation.inflate(modelCache, name: name), name: name, allowsOmissions: true)
  }
}
