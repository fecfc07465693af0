public import Foundation
public import GodwitModel

extension ManagedObjectModel {
  /// Reads a model that Xcode saved or compiled: a `.xcdatamodel` or `.mom`, or a version of a `.xcdatamodeld`
  /// or `.momd`.
  ///
  /// The model is called by the version's name. Reads one file; time grows with its size.
  ///
  /// - Parameters:
  ///   - url: A model, or a folder with one model in it: see ``ModelBundle/init(contentsOf:)``.
  ///   - version: The version's name, without `.xcdatamodel` or `.mom`; nil for the current version.
  /// - Throws: `GodwitError` with code `.missingInput` when the model is missing, malformed or
  ///   uses words this version does not know (with file, line and column); `.permission` when it
  ///   cannot be read.
  public init(contentsOf url: URL, version: String? = nil) throws {
    try self.init(contentsOf: ModelReference(path: url.filePath, version: version))
  }

  /// - Parameters:
  ///   - path: May also carry the version, as `PATH#Version Name`.
  ///   - version: The version's name, without `.xcdatamodel` or `.mom`; nil for the current version.
  package init(contentsOf path: String, version: String? = nil) throws {
    let reference = version.map { ModelReference(path: path, version: $0) } ?? ModelReference(parsing: path)
    try self.init(contentsOf: reference)
  }

  /// Reads the model that a reference names; see `init(contentsOf:version:)`.
  package init(contentsOf reference: ModelReference) throws {
    let bundle = try ModelBundle(contentsOf: reference.path)
    self = try reference.version.map { try bundle.model(named: $0) } ?? bundle.currentModel()
  }
}
