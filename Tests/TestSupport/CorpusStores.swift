package import Foundation
package import GodwitModel
import GodwitStore
import GodwitXcode

/// Every store of the corpus, as paths.
package enum CorpusStores {
  package static let paths: [String] = {
    guard let folder = Corpus.folder, let walk = FileManager.default.enumerator(atPath: folder.path) else { return [] }
    var paths: [String] = []
    for case let name as String in walk
    where [".sqlite", ".moody", ".storedata"].contains(where: name.hasSuffix) {
      paths.append(folder.path + "/" + name)
    }
    return paths.sorted()
  }()

  /// Those, stores of the system under other names, and stores of further kinds.
  package static let allPaths: [String] =
    (paths
    + [
      "log2timeline_plaso/test_data/macos/knowledgec-10.13.db",
      "log2timeline_plaso/test_data/macos/knowledgec-10.14.db",
    ]
    .map(Corpus.path)
    + [
      "Karim-ezzedine_CartKit/Tests/CartKitStorageSwiftDataTests/LegacySwiftData/CartKitSwiftData_v1.sqlite",
      "kasianov-mikhail_scout/Tests/ScoutTests/Fixtures/Scout-v4.sqlite",
      "tkanarsky_osxphotos/tests/Test-Empty-Library-Ventura-13-5.photoslibrary/database/Photos.sqlite",
      "tkanarsky_osxphotos/tests/Test-Lock-10_15_1.photoslibrary/database/Photos.sqlite",
      "vjeux_fcp-to-json/fcp-to-json.fcpbundle/CurrentVersion.flexolibrary",
    ]
    .compactMap { Corpus.kinds?.appending(path: $0).path }).filter(FileManager.default.fileExists).sorted()

  /// Copies a store and what lies beside it into a fresh folder; returns the copy's path.
  package static func copy(_ path: String, into folder: TemporaryFolder, named name: String = "store.sqlite") throws
    -> String
  {
    let copy = folder.file(name)
    for suffix in ["", "-wal", "-journal"] where FileManager.default.fileExists(atPath: path + suffix) {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
    }
    return copy
  }
}

/// All names and bytes of a folder.
package func contents(of folder: String) throws -> [String: Data] {
  var contents: [String: Data] = [:]
  for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
    contents[name] = try Data(contentsOf: URL(filePath: folder + "/" + name))
  }
  return contents
}

/// A corpus store with the model version it was written with.
package struct CorpusPair: Sendable {
  package var path: String
  package var model: ManagedObjectModel

  package init(path: String, model: ManagedObjectModel) { (self.path, self.model) = (path, model) }

  /// The path below the corpus.
  package var name: String { Corpus.folder.map { String(path.dropFirst($0.path.count + 1)) } ?? path }

  /// Every store whose version hashes are those of a model source in the same corpus folder.
  package static let all: [CorpusPair] = {
    guard let root = Corpus.folder?.path, let walk = FileManager.default.enumerator(atPath: root) else { return [] }
    var models: [String: [ManagedObjectModel]] = [:]
    for case let name as String in walk where name.hasSuffix(".xcdatamodeld") || name.hasSuffix(".xcdatamodel") {
      guard !name.contains(".xcdatamodeld/") else { continue }
      let found =
        name.hasSuffix("d")
        ? (try? ModelBundle(contentsOf: root + "/" + name).models())
        : (try? [ManagedObjectModel(contentsOf: root + "/" + name)])
      models[String(name.prefix { $0 != "/" }), default: []] += found ?? []
    }
    return CorpusStores.paths.compactMap { path in
      guard let metadata = try? StoreMetadata(readingStoreAt: path) else { return nil }
      let folder = String(path.dropFirst(root.count + 1).prefix { $0 != "/" })
      let model = (models[folder] ?? []).first { model in
        model.versionHashes.mapValues(\.bytes) == metadata.versionHashes
      }
      return model.map { CorpusPair(path: path, model: $0) }
    }
  }()

  /// Those, and every store whose model is only in the store itself.
  package static let withModel: [CorpusPair] = {
    let published = Set(all.map(\.path))
    let others = CorpusStores.allPaths.filter { !published.contains($0) }.compactMap { path -> CorpusPair? in
      guard let content = try? StoreModelCache.content(ofStoreAt: path),
        let metadata = try? StoreMetadata(readingStoreAt: path),
        let model = try? CachedModel(modelCache: content, name: "cache").model, model.isCompatible(with: metadata)
      else { return nil }
      return CorpusPair(path: path, model: model)
    }
    return (all + others).sorted { $0.path < $1.path }
  }()
}
