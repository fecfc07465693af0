package import GodwitModel

/// A value of a manifest, and its place.
package struct Located<Value: Sendable>: Sendable {
  package var value: Value
  package var location: GodwitError.Location

  package init(value: Value, location: GodwitError.Location) { (self.value, self.location) = (value, location) }
}

extension Located: Equatable where Value: Equatable {}

/// A path as a manifest gives it.
///
/// A path that does not begin with `/` is relative to the manifest's folder. One of an option (`--source`, `--set`) or
/// of a manifest from standard input is relative to the current folder. For models it may end in `#Version Name`, which
/// is kept.
package struct ManifestPath: Sendable, Hashable {
  /// As written.
  package var raw: String
  /// With the manifest's folder in front when it is relative.
  package var resolved: String
  package var location: GodwitError.Location

  /// The folder in front of the path as it is written; empty for an absolute path.
  package var folder: String { String(decoding: resolved.utf8.dropLast(raw.utf8.count), as: UTF8.self) }

  package init(raw: String, resolved: String, location: GodwitError.Location) {
    self.raw = raw
    self.resolved = resolved
    self.location = location
  }

  /// The path relative to the folder of the file the location names.
  package init(_ raw: String, location: GodwitError.Location) {
    let folder = location.line > 0 ? location.file.lastIndex(of: "/").map { location.file[...$0] } ?? "" : ""
    self.init(raw: raw, resolved: raw.hasPrefix("/") ? raw : folder + raw, location: location)
  }
}

extension Sequence where Element: Hashable {
  /// Each element once, where it comes first.
  package func withoutRepeats() -> [Element] {
    var seen: Set<Element> = []
    return filter { seen.insert($0).inserted }
  }
}
