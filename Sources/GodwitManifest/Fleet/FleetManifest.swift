package import GodwitModel
import Yams

/// A fleet as its file describes it: one job for many stores, in shards that several processes work off.
///
/// Values as written, checked for kind and range only: whether the job and the stores exist is for the plan to say.
package struct FleetManifest: Sendable {
  /// Where the stores are from.
  package enum Stores: Sendable, Hashable {
    /// The source of the job's manifest.
    case ofJob
    case pattern(ManifestPath)
    /// A file with a path on each line.
    case list(ManifestPath)
    case standardInput
  }

  /// How many shards there are.
  package enum Shards: Sendable, Hashable {
    case count(Int)
    /// So many that each has work for about so many minutes.
    case minutes(Double)
  }

  /// How many stores go first.
  package enum Canary: Sendable, Hashable {
    case percent(Double)
    case stores(Int)
  }

  /// How many stores may fail. Both hold when both are given.
  package struct Failures: Sendable, Hashable {
    package var maxStores: Int?
    package var maxPercent: Double?

    package init(maxStores: Int? = nil, maxPercent: Double? = nil) {
      (self.maxStores, self.maxPercent) = (maxStores, maxPercent)
    }
  }

  /// The path of the file, as it was given.
  package var file: String
  /// The fleet's name.
  package var name: String
  package var job: ManifestPath
  package var stores = Stores.ofJob
  /// With a list: the folder that `{folder}` begins at.
  package var root: ManifestPath?
  /// The fleet's folder.
  package var folder: ManifestPath
  package var shards = Shards.minutes(10)
  /// Stores at the same time in one process; nil: as many as the processors and the memory allow.
  package var jobs: Int?
  package var canary: Canary?
  package var failures = Failures()
  /// The places of the top-level keys.
  package var locations: [String: GodwitError.Location]

  /// The folder of the file with a slash at its end; empty for the current one.
  package var base: String { file.lastIndex(of: "/").map { String(file[...$0]) } ?? "" }
}

extension FleetManifest {
  /// The known keys, by the map that they belong to; the empty name is the top level.
  package static let keys: [String: [String]] = [
    "": ["godwit", "fleet", "job", "stores", "root", "folder", "shards", "jobs", "canary", "failures"],
    "stores": ["list"], "shards": ["minutes"], "canary": ["percent", "stores"],
    "failures": ["max-stores", "max-percent"],
  ]
  /// What the plan does not depend on: it may change while the fleet runs.
  package static let changeableKeys: Set<String> = ["jobs", "failures"]
  package static let shardsMaximum = 10_000
  private static let what = "fleet file"
  private static let minutes = 1.0...100_000.0

  private static func keys(in map: String) -> [String] { keys[map] ?? [] }

  /// Reads a fleet's file.
  ///
  /// - Throws: `GodwitError`: 66 when there is no such file, 77 when it may not be read, 78 with line and column when it
  ///   is wrong.
  package init(contentsOf path: String) throws {
    try self.init(reading: YAMLReader(file: YAMLFile(contentsOf: path, what: Self.what), what: Self.what))
  }

  /// Reads the text of a file.
  ///
  /// - Parameter path: Where it is, from whose folder relative paths count.
  package init(text: String, path: String) throws {
    let file = try YAMLFile(bytes: Array(text.utf8), path: path, what: Self.what)
    try self.init(reading: YAMLReader(file: file, what: Self.what))
  }

  private init(reading reader: YAMLReader) throws {
    let root = reader.file.root
    let found = try reader.entries(root, key: "")
    try reader.checkVersion(found.first { $0.key == "godwit" }, key: "godwit", among: found)
    if let other = found.first(where: { ["source", "models"].contains($0.key) }) {
      throw reader.error(
        "expected a fleet file, found a job manifest", at: other.location,
        remedy: "name it in a fleet file: `job: \(reader.file.path.split(separator: "/").last ?? "")`")
    }
    let top = try reader.entries(root, key: "", known: Self.keys(in: ""))
    file = reader.file.path
    locations = top.mapValues(\.location)
    guard let entry = top["job"] else {
      throw reader.error(
        "expected the key 'job', found none", at: top["godwit"]?.location ?? reader.file.location(of: root),
        remedy: "add `job: PATH`, the manifest of what happens to each store")
    }
    job = try reader.path(entry.value, key: "job")
    name = Self.stem(of: file)
    folder = ManifestPath(Self.stem(of: file) + ".fleet", location: entry.location)
    if let entry = top["fleet"] {
      name = try reader.text(entry.value, key: entry.key, expected: "a name")
      guard Self.isName(name) else {
        throw reader.error(
          "expected a name of letters, digits, '-' and '_' for 'fleet', found '\(name)'", at: entry.location,
          remedy: "schedulers call jobs by it: write for example `fleet: users`")
      }
    } else if !Self.isName(name) {
      name = "fleet"
    }
    if let entry = top["folder"] { folder = try reader.path(entry.value, key: entry.key) }
    if let entry = top["stores"] { stores = try Self.stores(entry, reader) }
    if let entry = top["root"] { self.root = try Self.root(entry, stores, reader) }
    if let entry = top["shards"] { shards = try Self.shards(entry, reader) }
    if let entry = top["jobs"] { jobs = try reader.integer(entry.value, key: entry.key, in: JobLoader.jobsAtOnce) }
    if let entry = top["canary"] { canary = try Self.canary(entry, reader) }
    if let entry = top["failures"] { failures = try Self.failures(entry, reader) }
  }

  private static func stem(of path: String) -> String {
    let name = path.split(separator: "/").last.map(String.init) ?? path
    return name.lastIndex(of: ".").flatMap { $0 > name.startIndex ? String(name[..<$0]) : nil } ?? name
  }

  private static func isName(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 60
      && text.unicodeScalars.allSatisfy {
        switch $0 {
        case "a"..."z", "A"..."Z", "0"..."9", "-", "_": true
        default: false
        }
      }
  }

  private static func stores(_ entry: YAMLReader.Entry, _ reader: YAMLReader) throws -> Stores {
    guard case .scalar = entry.value else {
      let expected = "a pattern, or a list: {list: FILE}"
      let parts = try reader.entries(entry.value, key: "stores", known: keys(in: "stores"), expected: expected)
      guard let list = parts["list"] else { throw reader.wrong("stores", expected: expected, entry.value) }
      let path = try reader.path(list.value, key: "list")
      return path.raw == "-" ? .standardInput : .list(path)
    }
    let path = try reader.path(entry.value, key: "stores")
    guard StorePattern.isPattern(path.raw) else {
      throw reader.error(
        "expected a pattern for 'stores', found '\(path.raw)'", at: path.location,
        remedy:
          "write for example `stores: \"users/**/*.sqlite\"`, or name a file with paths: `stores: {list: \(path.raw)}`")
    }
    return .pattern(path)
  }

  private static func root(
    _ entry: YAMLReader.Entry, _ stores: Stores, _ reader: YAMLReader
  ) throws -> ManifestPath {
    switch stores {
    case .list, .standardInput: return try reader.path(entry.value, key: entry.key)
    case .ofJob, .pattern:
      throw reader.error(
        "expected 'stores: {list: FILE}' beside 'root', found a pattern", at: entry.location,
        remedy: "remove 'root': {folder} begins at the fixed part of a pattern")
    }
  }

  private static func shards(_ entry: YAMLReader.Entry, _ reader: YAMLReader) throws -> Shards {
    if case .scalar = entry.value {
      return .count(try reader.integer(entry.value, key: "shards", in: 1...shardsMaximum))
    }
    let expected = "a number of shards, or {minutes: N}"
    let parts = try reader.entries(entry.value, key: "shards", known: keys(in: "shards"), expected: expected)
    guard let part = parts["minutes"] else { throw reader.wrong("shards", expected: expected, entry.value) }
    return .minutes(try reader.number(part.value, key: part.key, in: minutes))
  }

  private static func canary(_ entry: YAMLReader.Entry, _ reader: YAMLReader) throws -> Canary {
    let expected = "{percent: N} or {stores: N}"
    let parts = try reader.entries(entry.value, key: "canary", known: keys(in: "canary"), expected: expected)
    switch (parts["percent"], parts["stores"]) {
    case (let part?, nil):
      let percent = try reader.number(part.value, key: part.key, in: 0...100)
      guard percent > 0 else { throw reader.wrong(part.key, expected: "more than 0", part.value) }
      return .percent(percent)
    case (nil, let part?): return .stores(try reader.integer(part.value, key: part.key, in: 1...1_000_000))
    default: throw reader.wrong("canary", expected: expected, entry.value)
    }
  }

  private static func failures(_ entry: YAMLReader.Entry, _ reader: YAMLReader) throws -> Failures {
    let expected = "'max-stores' or 'max-percent'"
    let parts = try reader.entries(entry.value, key: "failures", known: keys(in: "failures"), expected: expected)
    guard !parts.isEmpty else { throw reader.wrong("failures", expected: expected, entry.value) }
    return Failures(
      maxStores: try parts["max-stores"].map { try reader.integer($0.value, key: $0.key, in: 0...Int.max) },
      maxPercent: try parts["max-percent"].map { try reader.number($0.value, key: $0.key, in: 0...100) })
  }
}
