import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import Logging

/// One of the stores that the pattern of a manifest matches, with the loader of its job.
package struct ManifestStore {
  /// The path of the source.
  package let path: String
  /// The path of what its job makes.
  package let destination: String
  package let loader: JobLoader
}

extension JobLoader {
  /// The jobs at work at the same time, at most.
  package static let jobsAtOnce = 1...64

  /// Whether the manifest's source is a pattern, so that it describes a job for each of many stores.
  package var isForManyStores: Bool { manifest.isForManyStores }

  /// The loader without what it shares with those of other stores.
  package var alone: JobLoader {
    var loader = self
    loader.inputs = nil
    return loader
  }

  /// Refuses a manifest for many stores where one is expected.
  ///
  /// - Throws: 78 with the options that name one store.
  package func refuseManyStores() throws {
    guard isForManyStores else { return }
    throw GodwitError(
      .configuration, "expected one store, found the pattern '\(manifest.source.raw)'",
      location: manifest.source.location,
      remedy: isInPlace
        ? "name the store: `--source FILE`"
        : "name the store and what is made of it: `--source FILE --destination FILE`",
      safe: "nothing was written")
  }

  /// The stores that the manifest's pattern matches, in the order of their paths; the one store of another manifest.
  ///
  /// The jobs share what they read of models and mapping models, so that one thread must load them.
  ///
  /// - Parameters:
  ///   - jobs: How many are at work at the same time: each gets its share of the manifest's memory.
  ///   - results: A file that the command writes.
  ///   - isStopped: Asked for each file that is found.
  ///   - unreadable: Called with each path below the pattern's folder that cannot be looked at, and why: the other stores
  ///     are found nevertheless. nil throws that.
  ///   - note: Called with what is to be said of files that are left out.
  /// - Throws: 66 when no file matches, and nothing is unreadable; 77 for a folder that may not be read; 78 when two
  ///   stores have one destination, when a destination would be a source, and when a share of the memory is less than
  ///   16 MiB; 64 when a job has one of its files where the results go; 75 when it is stopped.
  package func stores(
    jobs: Int = 1, results: String? = nil, isStopped: () -> Bool = { false },
    unreadable: ((String, GodwitError) -> Void)? = nil, note: (String) -> Void = { _ in }
  ) throws -> [ManifestStore] {
    guard isForManyStores else {
      return [ManifestStore(path: manifest.source.resolved, destination: destination(), loader: self)]
    }
    let found = try selection(
      .whole, jobs: jobs, results: results, isStopped: isStopped, unreadable: unreadable, note: note)
    return found.matches.map(found.store)
  }

  /// Stores of a manifest, whose loaders are made one by one.
  package struct Selection {
    package let matches: [StorePattern.Match]
    let loader: JobLoader
    let share: ByteCount
    let inputs: SharedInputs

    /// One thread must load the jobs.
    package func store(_ match: StorePattern.Match) -> ManifestStore {
      loader.store(for: match, memory: share, inputs)
    }
  }

  /// The stores of a shard, by their paths. All stores of the manifest are looked at, so that none of two shards has a
  /// place of another; only those of the shard are kept.
  ///
  /// - Parameter checksPlaces: Whether two stores with one destination, and a destination that is a source, are refused.
  /// - Throws: The errors of `stores`.
  package func selection(
    _ shard: StoreShard, jobs: Int = 1, results: String? = nil, checksPlaces: Bool = true,
    isStopped: () -> Bool = { false },
    unreadable: ((String, GodwitError) -> Void)? = nil, note: (String) -> Void = { _ in }
  ) throws -> Selection {
    let share = try memoryShare(jobs)
    var isEmpty = true
    let refuse = unreadable.map { unreadable in
      { (path: String, error: GodwitError) in
        isEmpty = false
        if shard.contains(storeKey(path)) { unreadable(path, error) }
      }
    }
    let (inputs, root) = (SharedInputs(), storesRoot)
    // Two ways may lead to one file. Two names that differ in their bytes alone are two files.
    var own: [[UInt8]: StorePattern.Match] = [:]
    var places = StorePlaces(manifest, manifest.isList ? nil : storePattern, results: results, mayMakeFiles)
    let templates = StoreTemplates(manifest)
    func claim(_ match: StorePattern.Match) throws {
      try places.claim(
        match.path, destination: templates.destination(for: match), receipt: templates.receipt(for: match))
    }
    try forEachSource(isStopped, refuse, note) { match in
      isEmpty = false
      if shard.contains(Self.key(match.path, below: root)) { own[Array(match.path.utf8)] = match }
      guard checksPlaces else { return }
      try claim(match)
      places.note(match.path)
    }
    guard !isEmpty else { throw noStore }
    if checksPlaces {
      func again(_ body: (StorePattern.Match) throws -> Void) throws {
        try forEachSource(isStopped, { _, _ in }, { _ in }, body)
      }
      if places.beginProof() {
        try again(claim)
        if !isInPlace { try again { try places.check($0.path) } }
      }
      try places.refuseResults { body in try again { try body($0.path) } }
    }
    let matches = own.values.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
    return Selection(matches: matches, loader: self, share: share, inputs: inputs)
  }

  /// The folder that the keys of stores are below, with a slash at its end; empty for the current one.
  package var storesRoot: String {
    guard manifest.isList else { return storePattern.root }
    let path = manifest.source.resolved
    return path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(decoding: path.utf8[...$0], as: UTF8.self) } ?? ""
  }

  /// The name of a store that is the same for all processes: see `StoreShard`.
  package func storeKey(_ path: String) -> String { Self.key(path, below: storesRoot) }

  private static func key(_ path: String, below root: String) -> String {
    guard path.utf8.starts(with: root.utf8) else { return path }
    return String(decoding: path.utf8.dropFirst(root.utf8.count), as: UTF8.self)
  }

  private var noStore: GodwitError {
    guard !manifest.isList else {
      return GodwitError(
        .missingInput, "the list '\(manifest.source.raw)' names no store", location: manifest.source.location,
        remedy: "write one path on each line")
    }
    let root = storePattern.root
    return GodwitError(
      .missingInput, "no file matches the pattern '\(manifest.source.raw)'", location: manifest.source.location,
      cause: "looked in '\(URL(filePath: root.isEmpty ? "." : root).standardizedFileURL.path)'".onOneLine,
      remedy: manifest.alternativesRemedy
        ?? "correct 'source'; as in a shell, * and ? match no name that begins with a dot")
  }

  /// The job of one of many stores.
  ///
  /// - Parameters:
  ///   - memory: Its share of the manifest's memory.
  ///   - inputs: The inputs that it shares with other jobs; one thread must load them all.
  package func store(for match: StorePattern.Match, memory: ByteCount, _ inputs: SharedInputs) -> ManifestStore {
    var one = manifest
    (one.isForManyStores, one.isList, one.stores) = (false, false, nil)
    one.source = ManifestPath(raw: match.path, resolved: match.path, location: location(of: match))
    // The job's name stays: a receipt must not tell whether one store was named or a pattern found it.
    one.memory = memory
    // They are for the whole.
    (one.onSuccess, one.onFailure) = ([], [])
    let templates = StoreTemplates(manifest)
    if let receipt = templates.receipt(for: match) { one.receipt = .file(receipt) }
    one.destination.path = templates.destination(for: match)
    let name = match.path.onOneLine
    var loader = self
    (loader.manifest, loader.inputs) = (one, inputs)
    loader.logger[metadataKey: "store"] = "\(match.path)"
    loader.hookOutput = { [hookOutput] text in
      // Whole lines, among those of other stores.
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
      let told = lines.enumerated().map {
        $0.offset == lines.count - 1 && $0.element.isEmpty ? "" : "\(name): \($0.element)"
      }
      hookOutput(told.joined(separator: "\n"))
    }
    return ManifestStore(path: match.path, destination: loader.destination(), loader: loader)
  }

  /// Whether the jobs of all these stores may put external files beside what they make, or keep.
  func mayMakeFiles(for sources: [String]) throws -> Bool {
    guard isInPlace else { return try manifest.destinationType == .sqlite && makesFiles() }
    // An atomic store has its binary data inside.
    for source in sources where try Definite.answer({ try StoreFiles(path: source).type.isAtomic }) == true {
      return false
    }
    return try sources.contains { try SupportFolder(ofStoreAt: $0).exists } || makesFiles()
  }

  private func makesFiles() throws -> Bool {
    try shippedVersions().destination.entities.contains { entity in
      entity.leaves.contains(where: \.allowsExternalBinaryDataStorage)
    }
  }

  /// The place that names a store: a line of the list, or the pattern in the manifest.
  private func location(of match: StorePattern.Match) -> GodwitError.Location {
    guard let line = match.line else { return manifest.source.location }
    return GodwitError.Location(file: manifest.source.resolved, line: line, column: 1)
  }

  /// The memory that each of `jobs` jobs may allocate.
  package func memoryShare(_ jobs: Int) throws -> ByteCount {
    let share = ByteCount(bytes: manifest.memory.bytes / Int64(max(1, jobs)))
    let least = JobManifest.memoryBudget.lowerBound
    guard share < least else { return share }
    let needed = ByteCount(bytes: least.bytes * Int64(jobs))
    throw GodwitError(
      .configuration,
      "cannot share \(manifest.memory) among \(jobs) jobs: each needs at least \(least), and gets \(share)",
      location: manifest.locations["memory"],
      remedy: "write `memory: \(needed)`, or give --jobs at most \(manifest.memory.bytes / least.bytes)",
      safe: "nothing was written")
  }

  /// Calls `body` with the sources that the pattern or the list names, in no order, and more than once with one to which
  /// several ways lead. Files beside a store are left out and, in place, old stores.
  private func forEachSource(
    _ isStopped: () -> Bool, _ unreadable: ((String, GodwitError) -> Void)?, _ note: (String) -> Void,
    _ body: (StorePattern.Match) throws -> Void
  ) throws {
    let templates = StoreTemplates(manifest)
    func take(_ match: StorePattern.Match) throws {
      guard let error = templates.obstacle(to: match) else { return try body(match) }
      guard let unreadable else { throw error }
      unreadable(match.path, error)
    }
    guard !manifest.isList else { return try forEachListed(take) }
    let pattern = storePattern
    var lonely: [String] = []
    try pattern.forEachMatch(isStopped: isStopped, unreadable: unreadable) { match in
      guard !match.isBesideStore else { return }
      guard isInPlace, let newer = match.pathOfNewer else { return try take(match) }
      let names = match.folder.split(separator: "/").map(String.init) + [newer.nameOfPath]
      if !pattern.matches(names) || FileStatus(following: newer) == nil { lonely.append(match.path) }
    }
    guard !lonely.isEmpty else { return }
    // Whoever named a store so has to be told. Those beside a store of the pattern are what every night leaves.
    lonely.sort { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    let named = lonely.prefix(3).map { "'\($0)'" }.joined(separator: ", ") + (lonely.count > 3 ? ", …" : "")
    note(
      "left out \(lonely.count == 1 ? "1 file" : "\(lonely.count) files") with a name that old stores get in place: \(named)"
    )
  }

  /// Calls `body` with the stores that a list names. A store that is missing is one of them.
  private func forEachListed(_ body: (StorePattern.Match) throws -> Void) throws {
    let root = storesRoot
    try StoreList(path: manifest.source.resolved).forEachPath { path, line in
      let key = Self.key(path, below: root)
      let isBelow = key.utf8.count < path.utf8.count || !key.isWholePath
      let end = key.utf8.lastIndex(of: UInt8(ascii: "/"))
      let folder = isBelow ? end.map { String(decoding: key.utf8[..<$0], as: UTF8.self) } ?? "" : ""
      try body(StorePattern.Match(path: path, folder: folder, name: key.nameOfPath, line: line))
    }
  }
}

extension String {
  /// The text after the last slash.
  fileprivate var nameOfPath: String {
    utf8.lastIndex(of: UInt8(ascii: "/")).map { String(decoding: utf8[$0...].dropFirst(), as: UTF8.self) } ?? self
  }
}
