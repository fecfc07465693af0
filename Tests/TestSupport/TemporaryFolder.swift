import Foundation

/// A folder for one test, removed when the value goes out of use.
package final class TemporaryFolder: Sendable {
  package let path: String

  package init(_ name: String = "godwit-test") throws {
    path = FileManager.default.temporaryDirectory.appending(path: "\(name)-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  package func file(_ name: String) -> String { path + "/" + name }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
