import Foundation

/// The place of a model: a path, and the version inside it when the path holds several.
///
/// As text: `Peoplizer.xcdatamodeld`, or `Peoplizer.xcdatamodeld#Peoplizer 3`.
package struct ModelReference: Sendable, Hashable {
  package var path: String
  /// A version name without `.xcdatamodel` or `.mom`; nil for the current version.
  package var version: String?

  package init(path: String, version: String? = nil) {
    self.path = path
    self.version = version
  }

  /// Splits at the last `#`, unless a file of the whole name exists.
  package init(parsing text: String) {
    self.init(path: text)
    guard let mark = text.lastIndex(of: "#"), !FileManager.default.fileExists(atPath: text) else { return }
    let version = text[text.index(after: mark)...]
    path = String(text[..<mark])
    self.version = version.isEmpty ? nil : String(version)
  }
}

extension ModelReference: CustomStringConvertible {
  package var description: String { path + (version.map { "#" + $0 } ?? "") }
}
