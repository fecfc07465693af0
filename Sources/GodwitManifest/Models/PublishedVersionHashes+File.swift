import Foundation
package import GodwitModel
import GodwitStore
import GodwitXcode

extension PublishedVersionHashes {
  /// Whether a path among the models leads to a file with published hashes and not to a model: a property list, a
  /// compiled mapping model or a store.
  static func isFile(at path: String) -> Bool {
    if (path as NSString).pathExtension.lowercased() == "plist" { return true }
    switch XcodeFileKind.identify(path) {
    case .compiledMappingModel?: return true
    case .some: return false
    case nil:
      // Opening a pipe would block.
      guard StoreFiles.isRegularFile(path),
        let head = try? FileHandle(forReadingFrom: URL(filePath: path)).read(upToCount: 16)
      else { return false }
      return head.starts(with: "SQLite format 3".utf8)
    }
  }

  /// The hashes in a `VersionInfo.plist`, a compiled mapping model, or a store that Core Data wrote.
  ///
  /// - Throws: as the reader of each; code `.configuration` when the file carries no hashes, or when it is
  ///   a store that Godwit made, whose hashes were computed.
  package init(contentsOf path: String) throws {
    if (path as NSString).pathExtension.lowercased() == "plist" {
      self = try VersionInfo(contentsOf: path).published(origin: path)
    } else if XcodeFileKind.identify(path) == .compiledMappingModel {
      // Both sides, without names. Entities that no mapping reads or makes are missing.
      let model = try XcodeMappingModel(contentsOf: path)
      let sides = [model.sourceEntityHashes, model.destinationEntityHashes].filter { !$0.isEmpty }
      self.init(origin: path, versions: sides.map { .init(name: nil, hashes: $0) })
    } else {
      let metadata = try StoreMetadata(readingStoreAt: path)
      if metadata.applicationValues[StoreMetadata.Key.jobs] != nil {
        throw GodwitError(
          .configuration, "cannot take hashes from '\(path)': Godwit made this store, and computed them",
          remedy: "give a store that Core Data wrote, or the VersionInfo.plist of the compiled model")
      }
      let hashes = metadata.entityVersionHashes
      self.init(origin: path, versions: hashes.isEmpty ? [] : [.init(name: nil, hashes: hashes)])
    }
    guard !versions.isEmpty else {
      throw GodwitError(
        .configuration, "cannot take hashes from '\(path)': it contains none",
        remedy: "give the VersionInfo.plist of the compiled model, or a store that Core Data wrote")
    }
  }
}
