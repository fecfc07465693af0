import Foundation

/// A folder for one test, removed when the value goes out of use.
public final class TemporaryFolder: Sendable {
  public let path: String

  public init(_ name: String = "godwit-test") throws {
    path = FileManager.default.temporaryDirectory.appending(path: "\(name)-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  public func file(_ name: String) -> String { path + "/" + name }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}
