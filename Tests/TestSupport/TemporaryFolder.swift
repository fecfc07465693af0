import Foundation

/// A folder for one test, removed when the value goes out of use.
///
/// Its own name is `job`, which is then the name of a job whose manifest is a `job.yaml` in it.
package final class TemporaryFolder: Sendable {
  package let path: String
  private let outer: String

  package init(_ name: String = "godwit-test") throws {
    outer = FileManager.default.temporaryDirectory.appending(path: "\(name)-\(UUID().uuidString)").path
    path = outer + "/job"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  package func file(_ name: String) -> String { path + "/" + name }

  deinit { try? FileManager.default.removeItem(atPath: outer) }
}
