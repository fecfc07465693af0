import Foundation
import TestSupport

/// Every store of the corpus, as paths.
enum CorpusStores {
  static let paths: [String] = {
    guard let folder = Corpus.folder, let walk = FileManager.default.enumerator(atPath: folder.path) else { return [] }
    var paths: [String] = []
    for case let name as String in walk
    where [".sqlite", ".moody", ".storedata"].contains(where: name.hasSuffix) {
      paths.append(folder.path + "/" + name)
    }
    return paths.sorted()
  }()

  /// Copies a store and what lies beside it into a fresh folder; returns the copy's path.
  static func copy(_ path: String, into folder: TemporaryFolder, named name: String = "store.sqlite") throws -> String {
    let copy = folder.file(name)
    for suffix in ["", "-wal", "-journal"] where FileManager.default.fileExists(atPath: path + suffix) {
      try FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
    }
    return copy
  }
}

/// All names and bytes of a folder.
func contents(of folder: String) throws -> [String: Data] {
  var contents: [String: Data] = [:]
  for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
    contents[name] = try Data(contentsOf: URL(filePath: folder + "/" + name))
  }
  return contents
}
