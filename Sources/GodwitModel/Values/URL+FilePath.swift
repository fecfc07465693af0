package import Foundation

extension URL {
  /// The path of a file URL, as everything inside the package takes it.
  ///
  /// The whole URL stands for one that names no file, so that opening it fails with a message that shows it.
  package var filePath: String { isFileURL ? path : absoluteString }
}
