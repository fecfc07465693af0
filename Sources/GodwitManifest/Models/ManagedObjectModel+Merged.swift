public import Foundation
public import GodwitModel
public import GodwitStore
import GodwitXcode

extension ManagedObjectModel {
  /// The model that a store was written with, out of model files; Core Data's `mergedModel(from:forStoreMetadata:)`.
  ///
  /// A single version that has all version hashes of the store is taken as it is. Otherwise one version of each model
  /// is taken, and the result has exactly the entities of the store. Time grows with the versions that are read.
  ///
  /// - Parameters:
  ///   - urls: Models and bundles of versions, and folders that hold some. Hidden folders are left out.
  ///   - metadata: That of the store.
  /// - Returns: nil when no versions have the store's hashes, and for a store that does not say which model it has.
  /// - Throws: `.missingInput` (66) when there is no model at one of the paths, `.permission` (77) when one cannot be
  ///   read, `.configuration` (78) when two models define an entity of the store differently. A version that cannot
  ///   be read is passed over.
  public static func merged(from urls: [URL], for metadata: StoreMetadata) throws -> ManagedObjectModel? {
    let hashes = metadata.entityVersionHashes
    guard !hashes.isEmpty, hashes.count == metadata.versionHashes.count else { return nil }
    var paths: [String] = []
    for url in urls {
      let inside = try ModelBundle.paths(inFolder: url.filePath, skipping: MappingSearch.foreignFolders)
      let isFolder = XcodeFileKind.identify(url.filePath) == nil && !inside.isEmpty
      for path in isFolder ? inside : [url.filePath] where !paths.contains(path) { paths.append(path) }
    }
    let bundles = try paths.map { try ModelBundle(contentsOf: $0) }
    for bundle in bundles {
      for version in bundle.versions.reversed() {
        if let model = try? bundle.model(named: version), model.isCompatible(with: metadata) { return model }
      }
    }
    return try MergedModels(anyVersionOf: bundles).model(fitting: hashes)
  }
}
