package import Foundation

/// Real files made by Apple's tools, which lie beside the project and are never part of it.
package enum Corpus {
  /// The folder, or nil when this machine has none; tests that need it are skipped then.
  package static let folder: URL? = {
    let folder = Checkout.folder.deletingLastPathComponent().appending(path: "shared/corpus")
    return FileManager.default.fileExists(atPath: folder.path) ? folder : nil
  }()

  package static var isPresent: Bool { folder != nil }

  /// The path of a corpus file; call only in tests that are enabled by `isPresent`.
  package static func path(_ relative: String) -> String {
    folder?.appending(path: relative).path ?? "/nonexistent/" + relative
  }

  /// The folder of stores of further kinds beside the corpus; nil when this machine has none.
  package static var kinds: URL? {
    guard let kinds = folder?.deletingLastPathComponent().appending(path: "kinds") else { return nil }
    return FileManager.default.fileExists(atPath: kinds.path) ? kinds : nil
  }

  /// The folder of documented facts beside the corpus.
  package static func formats(_ name: String) -> String {
    folder?.deletingLastPathComponent().appending(path: "formats/" + name).path ?? "/nonexistent/" + name
  }
}
