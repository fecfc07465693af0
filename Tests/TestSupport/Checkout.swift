package import Foundation

/// The checkout that the tests were built from.
package enum Checkout {
  package static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  /// A file or folder of the checkout.
  package static func url(_ path: String) -> URL { folder.appending(path: path) }

  /// The text of a file of the checkout.
  package static func text(_ path: String) throws -> String { try String(contentsOf: url(path), encoding: .utf8) }

  /// The Swift files below a folder of the checkout, as paths from that folder.
  package static func swiftFiles(under folder: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: url(folder).path).filter { $0.hasSuffix(".swift") }.sorted()
  }
}
