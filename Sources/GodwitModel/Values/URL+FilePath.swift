package import Foundation

extension URL {
  /// The path of a file URL, as the package uses it.
  ///
  /// For any other URL it is the whole URL, so that opening it fails with a message that shows it.
  package var filePath: String { isFileURL ? path : absoluteString }
}
