import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// Where the jobs of many stores write, checked before any of them begins.
///
/// 1. `claim` and `note` for each store.
/// 2. `beginProof` says whether two stores may have one place. Then `claim` again, and `check`, tell whether they have.
/// 3. `refuseResults`.
///
/// So a process that works off one shard of a million stores holds no path of the others.
struct StorePlaces {
  private let manifest: JobManifest
  /// nil where a list names the stores.
  private let pattern: StorePattern?
  /// A file that the command writes, and its folder.
  private let results: [String]
  private let mayMakeFiles: (_ sources: [String]) throws -> Bool
  private var paths: RealPaths
  /// The real path of the pattern's folder, with a slash at its end.
  private let root: String
  /// Whether the name of every destination ends with the same extension.
  private let isExtensionFixed: Bool
  private var claims = PlaceClaims()
  /// The places of the store that is being claimed, before the proof.
  private var own: [String] = []
  /// The hashes of places that two stores may have; nil before the proof.
  private var suspects: Set<Int>?
  /// The store that claimed a suspect place, by the bytes of its real path: names that differ in nothing else are two
  /// files.
  private var owners: [[UInt8]: String] = [:]
  /// The places of the results, and of stores of which they would be the log.
  private let placesOfResults: [String]
  private var isSourceAtResults = false

  /// - Parameters:
  ///   - results: A file that the command writes; nil for none.
  ///   - mayMakeFiles: Whether the jobs of these sources may put external files beside what they make.
  init(
    _ manifest: JobManifest, _ pattern: StorePattern?, results: String?,
    _ mayMakeFiles: @escaping (_ sources: [String]) throws -> Bool
  ) {
    (self.manifest, self.pattern, self.mayMakeFiles) = (manifest, pattern, mayMakeFiles)
    self.results = results.map { [$0, $0.parentPath] } ?? []
    var paths = RealPaths()
    let folder = pattern.map { paths.folder($0.root) } ?? ""
    root = folder == "/" ? "/" : folder + "/"
    let name = manifest.destination.path?.raw.split(separator: "/").last ?? ""
    isExtensionFixed = name.lastIndex(of: ".").map { !name[$0...].contains { "{}".contains($0) } } ?? false
    placesOfResults = self.results.flatMap(Self.withoutLogs).flatMap { paths.places(of: $0) }
    self.paths = paths
    for place in placesOfResults { claims.note(place) }
  }

  /// A path, and the path of the store whose log it may be.
  private static func withoutLogs(_ path: String) -> [String] {
    logs.filter { path.hasSuffix($0) }.map { String(path.dropLast($0.count)) }
  }

  private func owner(of place: String) -> String? { owners[Array(place.utf8)] }

  /// Whether any place may belong to two. Then all stores are to be claimed again, and checked.
  mutating func beginProof() -> Bool {
    let found = claims.takeSuspects()
    suspects = found
    return !found.isEmpty
  }

  /// - Returns: Another store that owns the place.
  private mutating func take(_ place: String, for store: String) -> String? {
    guard let suspects else {
      own.append(place)
      return nil
    }
    guard suspects.contains(PlaceClaims.hash(place)) else { return nil }
    let key = Array(place.utf8)
    guard let other = owners[key], other.utf8.elementsEqual(store.utf8) == false else {
      owners[key] = store
      return nil
    }
    return other
  }

  /// Refuses a store whose job would write what belongs to another store too, or what would be a source at the next run.
  ///
  /// - Parameters:
  ///   - destination: The store that its job makes; nil in place.
  ///   - receipt: The receipt that the manifest names.
  mutating func claim(_ store: String, destination: ManifestPath?, receipt: ManifestPath?) throws {
    if let destination {
      try claim(destination, receipt: receipt, for: store)
    } else {
      try claimInPlace(store, receipt: receipt)
    }
    claims.claim(own)
    own.removeAll(keepingCapacity: true)
  }

  private var keepsOld: Bool { manifest.destination.existing.keepsOld }
  private var isInPlace: Bool { manifest.isInPlace }

  private mutating func claimInPlace(_ store: String, receipt: ManifestPath?) throws {
    try claimFile(store)
    let path = StoreFiles.resolvingLink(store)
    var own = [path, path + MigrationJob.verificationSuffix]
    if keepsOld { own.append(MigrationJob.oldPath(of: path)) }
    // Runs leave these out of the pattern by their names.
    for product in own { try claim(product, of: store, at: manifest.source) }
    if keepsOld { try claimFiles(ofStoreAt: MigrationJob.oldPath(of: path), of: store, at: manifest.source) }
    guard let receipt else { return }
    let place = try claim(receipt.resolved, of: store, at: receipt)
    try refuseMatch(receipt.resolved, place, of: store, at: receipt)
  }

  /// Two jobs must not replace one store.
  private mutating func claimFile(_ store: String) throws {
    guard let file = FileStatus(following: store)?.identity, let other = take("file \(file)", for: store)
    else { return }
    throw GodwitError(
      .configuration, "cannot migrate \(Self.both(other, store)) in place: they are one file",
      location: manifest.source.location,
      remedy: manifest.isList ? "name one of the two in the list" : "write a pattern that matches one of the two",
      safe: "nothing was written")
  }

  /// The paths of two stores in their order.
  private static func both(_ one: String, _ other: String) -> String {
    one.utf8.lexicographicallyPrecedes(other.utf8) ? "'\(one)' and '\(other)'" : "'\(other)' and '\(one)'"
  }

  private mutating func claim(_ destination: ManifestPath, receipt: ManifestPath?, for store: String) throws {
    let path = destination.resolved
    var beside = [path + Receipt.suffix, path + MigrationJob.verificationSuffix]
    if case .quarantine = manifest.onInvalid { beside.append(path + Quarantine.suffix) }
    if keepsOld {
      // Another store of that name would be taken for the one that was replaced, and removed.
      let old = MigrationJob.oldPath(of: path)
      beside += [old, old + Receipt.suffix]
    }
    for product in [path] + (receipt.map { [$0.resolved] } ?? []) + beside {
      let place = try claim(product, of: store, at: destination)
      try refuseMatch(product, place, of: store, at: destination)
    }
    // Where all have one extension, folders are told apart as the destinations are.
    guard !isExtensionFixed else { return }
    try claimFiles(ofStoreAt: path, of: store, at: destination)
    if keepsOld { try claimFiles(ofStoreAt: MigrationJob.oldPath(of: path), of: store, at: destination) }
  }

  // MARK: External files

  /// Refuses two stores whose external files would be in one folder: it is named after the store without its extension.
  private mutating func claimFiles(ofStoreAt product: String, of store: String, at path: ManifestPath) throws {
    let folder = SupportFolder(ofStoreAt: product).path
    // Most models have no such files, and names that differ in their extension alone do no harm.
    guard let other = take(paths.file(folder), for: store), try mayMakeFiles([store, other]) else { return }
    throw GodwitError(
      .configuration,
      "two stores would have their external files in one folder, '\(folder)': \(Self.both(other, store))",
      location: path.location,
      cause: isInPlace
        ? "the old store is kept with its external files, in a folder with its name without the extension"
        : "external files are in a folder with the name of the destination without its extension",
      remedy: isInPlace
        ? "write `keep-old: false`, or a pattern that matches one of the two"
        : "tell the names apart before the extension, for example by `{file}.sqlite`", safe: "nothing was written")
  }

  // MARK: Names

  /// - Returns: The place.
  @discardableResult private mutating func claim(
    _ product: String, of store: String, at path: ManifestPath
  ) throws -> String {
    let place = paths.file(product)
    if let other = take(place, for: store) {
      throw refusal(
        at: path, "two stores would write '\(product)': \(Self.both(other, store))",
        remedy: "tell them apart by more placeholders: {folder}, {ext} or {file}")
    }
    return place
  }

  private func refuseMatch(_ product: String, _ place: String, of store: String, at path: ManifestPath) throws {
    guard matches(place) else { return }
    throw refusal(
      at: path,
      "'\(product)', which the job of '\(store)' writes, matches the pattern '\(manifest.source.raw)': the next run would take it for a source",
      remedy: "name a destination folder outside of the pattern, or a pattern that does not reach it")
  }

  private func matches(_ place: String) -> Bool { names(of: place).map { pattern?.matches($0) == true } ?? false }

  private static let logs = ["", "-wal", "-shm", "-journal"]

  /// Refuses a file for the results of a run, or its folder, where a job has one of its files, or where the next run
  /// would take it for a store.
  ///
  /// - Parameter forEachSource: Calls its argument with each store of the run.
  mutating func refuseResults(forEachSource: (_ body: (String) throws -> Void) throws -> Void) throws {
    guard let path = results.first else { return }
    func refusal(_ why: String) -> GodwitError {
      GodwitError(
        .usage, "cannot write results to '\(path)': \(why)",
        remedy: "name another folder with `stores: {results: FOLDER}`",
        safe: "nothing was written")
    }
    let owned = filesOfResults
    if !owned.isEmpty {
      try forEachSource { store in
        guard (FileStatus(following: store)?.identity).map(owned.contains) == true else { return }
        throw refusal("it is the source '\(store)', or its log")
      }
    }
    let files = paths.places(of: path)
    for place in files + paths.places(of: path.parentPath) {
      for log in Self.logs where place.hasSuffix(log) {
        guard let store = owner(of: String(place.dropLast(log.count))) else { continue }
        throw refusal("the job of '\(store)' has one of its files there")
      }
      let isInside = place.split(separator: "/").contains {
        $0.hasSuffix(".godwit") || $0.hasPrefix(".") && $0.hasSuffix("_SUPPORT")
      }
      guard !isInside else {
        throw refusal("it is in a work folder, or among the external files of a store")
      }
      // The pattern matches files alone.
      guard !files.contains(place) || !matches(place) else {
        throw refusal("it matches the pattern '\(manifest.source.raw)', and the next run would take it for a store")
      }
    }
  }

  /// The files that the results have now, where a source may be one of them: it has the name of one, or one has several
  /// names.
  private var filesOfResults: Set<FileStatus.Identity> {
    let files = results.flatMap(Self.withoutLogs).compactMap { FileStatus(following: $0) }
    return Set(files.filter { !$0.isFolder && (isSourceAtResults || $0.linkCount > 1) }.map(\.identity))
  }

  /// Notes a source.
  mutating func note(_ store: String) {
    guard !isInPlace || !placesOfResults.isEmpty else { return }
    for place in paths.places(of: store) {
      if !isInPlace { claims.note(place) }
      if placesOfResults.contains(where: { $0.utf8.elementsEqual(place.utf8) }) { isSourceAtResults = true }
    }
  }

  /// Refuses a source that another store's job writes.
  mutating func check(_ store: String) throws {
    guard let other = paths.places(of: store).compactMap(owner).first else { return }
    throw refusal(
      at: manifest.source, "'\(store)' is a source, and the job of '\(other)' writes it",
      remedy: "name a destination folder outside of the pattern")
  }

  /// The names below the pattern's folder; nil for a path outside of it.
  private func names(of path: String) -> [String]? {
    guard path.utf8.starts(with: root.utf8) else { return nil }
    return path.utf8.dropFirst(root.utf8.count).split(separator: UInt8(ascii: "/")).map {
      String(decoding: $0, as: UTF8.self)
    }
  }

  private func refusal(at path: ManifestPath, _ message: String, remedy: String) -> GodwitError {
    GodwitError(.configuration, message, location: path.location, remedy: remedy, safe: "nothing was written")
  }
}
