#if canImport(CoreData)
  import Foundation

  /// The output of the suite: on standard output, and in a file of the folder that `GODWIT_TRUTH` names.
  enum TruthLog {
    private static let folder = ProcessInfo.processInfo.environment["GODWIT_TRUTH"].map { URL(filePath: $0) }

    static func write(_ lines: [String], to name: String) throws {
      let text = lines.joined(separator: "\n") + "\n"
      print(text)
      guard let folder else { return }
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try text.write(to: folder.appending(path: name + ".txt"), atomically: true, encoding: .utf8)
    }
  }

  /// A folder for one test, removed when the value goes out of use.
  final class TruthFolder {
    let url: URL

    init() throws {
      url = FileManager.default.temporaryDirectory.appending(path: "godwit-truth-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func file(_ name: String) -> URL { url.appending(path: name) }
  }
#endif
