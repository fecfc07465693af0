import Foundation

/// A folder for one test, removed when the value goes out of use.
///
/// Its own name is `job`, which is then the name of a job whose manifest is a `job.yaml` in it.
package final class TemporaryFolder: Sendable {
  package let path: String
  private let outer: String

  /// - Parameter folder: Where to make it; nil for the place of temporary files.
  package init(_ name: String = "godwit-test", in folder: String? = nil) throws {
    let place = folder.map { URL(filePath: $0) } ?? FileManager.default.temporaryDirectory
    outer = place.appending(path: "\(name)-\(UUID().uuidString)").path
    path = outer + "/job"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  package func file(_ name: String) -> String { path + "/" + name }

  deinit { try? FileManager.default.removeItem(atPath: outer) }
}
