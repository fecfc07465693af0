import GodwitJob
import GodwitModel
import GodwitStore
import Yams

extension JobManifest {
  /// The key `source` as it is written.
  struct Source {
    /// A path, a pattern, or the path of a list; the first of the stores that are merged.
    var path: ManifestPath
    var isList = false
    /// The stores that are merged; empty for any other source.
    var merge: [ManifestPath] = []
  }

  /// `source: PATH`, `source: {list: FILE}` or `source: {merge: [PATH, PATH]}`.
  static func source(_ entry: YAMLReader.Entry, _ reader: YAMLReader) throws -> Source {
    let expected = "a path, a pattern, {list: FILE} or {merge: [PATH, PATH]}"
    if case .scalar = entry.value { return Source(path: try reader.path(entry.value, key: "source")) }
    if case .sequence = entry.value {
      throw reader.error(
        "expected \(expected) for 'source', found a list", at: entry.location,
        remedy:
          "write `source: {merge: [PATH, PATH]}` for one job of all stores; for a job of each, write the paths into a file, one on each line, and `source: {list: FILE}`"
      )
    }
    let parts = try reader.entries(entry.value, key: "source", known: keys(in: "source"))
    if let merge = parts["merge"], parts["list"] != nil {
      throw reader.error(
        "expected either 'list' or 'merge' in 'source', found both", at: merge.location,
        remedy: "remove one of the two: a list has a job for each store, and stores that are merged have one job")
    }
    if let merge = parts["merge"] { return try self.merge(merge, reader) }
    guard let part = parts["list"] else { throw reader.wrong("source", expected: expected, entry.value) }
    return Source(path: try reader.path(part.value, key: part.key), isList: true)
  }

  private static func merge(_ entry: YAMLReader.Entry, _ reader: YAMLReader) throws -> Source {
    let paths = try reader.paths(entry.value, key: entry.key)
    guard let first = paths.first, paths.count > 1 else {
      throw reader.error(
        "expected at least two stores for 'merge', found \(paths.count)", at: entry.location,
        remedy: paths.first.map { "write `source: \($0.raw)`" } ?? "write `merge: [PATH, PATH]`")
    }
    for path in paths where StorePattern.isPattern(path.raw) && FileStatus(named: path.resolved) == nil {
      throw reader.error(
        "expected the path of a store for 'merge', found the pattern '\(path.raw)'", at: path.location,
        remedy: "write the path of each store: the order decides keys, and a new file must not change it")
    }
    for (place, path) in paths.enumerated() {
      guard let other = paths[..<place].first(where: { sameFile($0.resolved, path.resolved) }) else { continue }
      let name = other.raw == path.raw ? "" : ", which is '\(other.raw)'"
      throw reader.error(
        "expected each store once for 'merge', found '\(path.raw)' twice\(name)", at: path.location,
        remedy: "remove one of the two")
    }
    return Source(path: first, merge: paths)
  }

  /// Refuses what a job of merged stores cannot be.
  func checkMerge(_ reader: YAMLReader) throws {
    guard let first = merge.first else { return }
    if isInPlace {
      throw reader.error(
        "expected a path as 'destination' beside 'merge', found 'existing: in-place'",
        at: locations["destination"] ?? first.location,
        remedy: "write `destination: PATH`: several stores cannot be replaced by one in their place")
    }
    if stores != nil {
      throw reader.error(
        "expected no 'stores' beside 'merge', found both", at: locations["stores"] ?? first.location,
        remedy: "remove 'stores': stores that are merged have one job")
    }
  }

  /// The sources as a message or a record names them.
  package var sourceText: String { merge.isEmpty ? source.raw : merge.map(\.raw).joined(separator: ", ") }
}
