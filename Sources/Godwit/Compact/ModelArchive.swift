import Foundation
import GodwitManifest
import GodwitModel
import GodwitStore
import GodwitXcode

/// A compiled model as a store carries it.
struct ModelArchive {
  /// The content of `Z_MODELCACHE`: the keyed archive of a `.mom` in raw DEFLATE.
  let cache: [UInt8]

  /// The most bytes of a compiled model.
  private static let limit = ByteCount.mebibytes(64)

  /// Finds the version of a store among compiled models.
  ///
  /// - Parameter path: A `.mom`, or a bundle with some.
  /// - Throws: `.missingInput` (66) for a path without a compiled model; `.noPath` (69) if none is of the store's version.
  init(at path: String, fitting metadata: StoreMetadata, ofStoreAt store: String) throws {
    let files = try Self.compiledModels(at: path)
    guard !files.isEmpty else {
      throw GodwitError(
        .missingInput, "cannot find a compiled model in '\(path)'",
        cause: "a store carries the archive that Xcode compiles, and no source of a model is one",
        remedy:
          "name the .momd or .mom of the application; or leave `--model` out, and Core Data adds the model itself when it opens the store"
      )
    }
    for file in files {
      guard let data = try ReadableFile.bytes(of: file, limit: Self.limit) else { continue }
      let bytes = [UInt8](data)
      let name = URL(filePath: file).deletingPathExtension().lastPathComponent
      let model = try ManagedObjectModel(compiled: bytes, name: name)
      guard model.isCompatible(with: metadata.entityVersionHashes) else { continue }
      cache = try Deflation.deflate(bytes)
      return
    }
    throw GodwitError(
      .noPath, "no compiled model in '\(path)' is of the version of '\(store)'",
      remedy: "name the model that the store was written with; `godwit why` compares them")
  }

  private static func compiledModels(at path: String) throws -> [String] {
    guard let status = try FileStatus.look(following: path) else {
      throw GodwitError(.missingInput, "cannot find model '\(path)'", remedy: "check the path")
    }
    guard status.isFolder else { return path.hasSuffix(".mom") ? [path] : [] }
    return try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".mom") }.sorted()
      .map { path + "/" + $0 }
  }
}
