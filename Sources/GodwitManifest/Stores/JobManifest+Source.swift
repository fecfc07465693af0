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
    /// The patterns that named some of them.
    var mergePatterns: [ManifestPath] = []
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
    let written = try reader.paths(entry.value, key: entry.key)
    let patterns = written.filter { StorePattern.isPattern($0.raw) && FileStatus(named: $0.resolved) == nil }
    let paths = try stores(written, patterns)
    guard let first = paths.first, paths.count > 1 else {
      let isMatch = !patterns.isEmpty && !paths.isEmpty
      throw reader.error(
        "expected at least two stores for 'merge', found \(paths.count)" + (isMatch ? ": '\(paths[0].raw)'" : ""),
        at: entry.location, remedy: paths.first.map { "write `source: \($0.raw)`" } ?? "write `merge: [PATH, PATH]`")
    }
    var names: [String: String] = [:]
    for path in paths {
      guard let other = names.updateValue(path.raw, forKey: place(of: path.resolved)) else { continue }
      let name = other == path.raw ? "" : ", which is '\(other)'"
      throw reader.error(
        "expected each store once for 'merge', found '\(path.raw)' twice\(name)", at: path.location,
        remedy: "remove one of the two")
    }
    return Source(path: first, merge: paths, mergePatterns: patterns)
  }

  /// The stores that `merge` names, in its order. A pattern stands for the files that match it, by their paths, without
  /// the stores that are named themselves or match an earlier pattern.
  ///
  /// - Throws: `.missingInput` (66) for a pattern that no file matches; the errors of `StorePattern.files`.
  private static func stores(_ written: [ManifestPath], _ patterns: [ManifestPath]) throws -> [ManifestPath] {
    var known = Set(written.filter { !patterns.contains($0) }.map { place(of: $0.resolved) })
    return try written.flatMap { entry -> [ManifestPath] in
      guard patterns.contains(entry) else { return [entry] }
      let files = try StorePattern(entry.raw, in: entry.folder).files().filter { !$0.isBesideStore }
      guard !files.isEmpty else {
        throw GodwitError(
          .missingInput, "no file matches the pattern '\(entry.raw)' of 'merge'", location: entry.location,
          remedy: "correct the pattern; as in a shell, * and ? match no name that begins with a dot",
          safe: "nothing was written")
      }
      let found = files.filter { !known.contains(place(of: $0.path)) }
      known.formUnion(found.map { place(of: $0.path) })
      return found.map { match in
        let raw = String(decoding: match.path.utf8.dropFirst(entry.folder.utf8.count), as: UTF8.self)
        return ManifestPath(raw: raw, resolved: match.path, location: entry.location)
      }
    }
  }

  /// The same for two paths that lead to one file.
  private static func place(of path: String) -> String {
    FileStatus(following: path).map { "\($0.identity)" } ?? real(path)
  }

  /// Refuses a file of the job that a pattern of `merge` matches: the next run would merge it.
  private func refuseMatches(_ reader: YAMLReader) throws {
    var files = [("destination", destination.path)]
    if case .file(let path?) = receipt { files.append(("receipt", path)) }
    for case (let key, let file?) in files {
      for pattern in mergePatterns {
        let stores = StorePattern(pattern.raw, in: pattern.folder)
        let (root, path) = (Self.real(stores.root.isEmpty ? "." : stores.root) + "/", Self.real(file.resolved))
        guard path.hasPrefix(root), stores.matches(path.dropFirst(root.count).split(separator: "/").map(String.init))
        else { continue }
        throw reader.error(
          "expected a '\(key)' that no pattern of 'merge' matches, found '\(file.raw)', which '\(pattern.raw)' matches",
          at: file.location,
          remedy:
            "name a folder outside of the pattern, or a pattern that does not reach it: the next run would merge it")
      }
    }
  }

  /// Refuses what a job of merged stores cannot be.
  func checkMerge(_ reader: YAMLReader) throws {
    guard let first = merge.first else { return }
    try refuseMatches(reader)
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
