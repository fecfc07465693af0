public import GodwitModel

extension ManagedObjectModel {
  /// Reads a model that Xcode saved or compiled: a `.xcdatamodel` or `.mom`, or a version of a `.xcdatamodeld`
  /// or `.momd`.
  ///
  /// The model is called by the version's name. Reads one file; time grows with its size.
  ///
  /// - Parameters:
  ///   - path: may also carry the version, as `PATH#Version Name`.
  ///   - version: without `.xcdatamodel` or `.mom`; by default the current version.
  /// - Throws: `GodwitError` with code `.missingInput` when the model is missing, malformed or
  ///   uses words this version does not know (with file, line and column); `.permission` when it
  ///   cannot be read.
  public init(contentsOf path: String, version: String? = nil) throws {
    let reference = version.map { ModelReference(path: path, version: $0) } ?? ModelReference(parsing: path)
    try self.init(contentsOf: reference)
  }

  /// Reads the model that a reference names; see `init(contentsOf:version:)`.
  public init(contentsOf reference: ModelReference) throws {
    let bundle = try ModelBundle(contentsOf: reference.path)
    self = try reference.version.map { try bundle.model(named: $0) } ?? bundle.currentModel()
  }
}
