import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// Where the jobs of many stores write, checked before any of them begins.
///
/// 1. `claim` for each store keeps a number for each place, and `suspect` what else could be there.
/// 2. `beginProof` says whether a number came twice. Then `claim` again, and `check`, tell whether it was one place.
/// 3. `refuse(results:)`.
///
/// So a process that works off one shard of a million stores holds no path of the others.
package struct StorePlaces {
  private let manifest: JobManifest
  /// nil where a list names the stores.
  private let pattern: StorePattern?
  /// The real path of the pattern's folder.
  private let root: String
  /// The hash of each place that is claimed, and those that came twice.
  private var claimed: Set<Int> = []
  private var suspects: Set<Int> = []
  private var isProof = false
  /// The store that claimed a suspect place, by the bytes of its real path: names that differ in nothing else are two
  /// files.
  private var owners: [[UInt8]: String] = [:]
  /// Real paths of folders that were asked for, by the bytes of what was asked.
  private var folders: [[UInt8]: String] = [:]
  private static let foldersMaximum = 10_000

  package init(_ manifest: JobManifest, _ pattern: StorePattern?) {
    (self.manifest, self.pattern) = (manifest, pattern)
    root = pattern.map { Self.real(folder: $0.root.isEmpty ? "." : $0.root) } ?? ""
  }

  private static func real(folder: String) -> String {
    URL(filePath: folder).standardizedFileURL.resolvingSymlinksInPath().path
  }

  /// The real path of a file that need not be there.
  private mutating func real(_ path: String) -> String {
    if let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")), slash != path.startIndex {
      // The usual case, for each of a million stores: a URL takes ten times as long.
      let name = String(decoding: path.utf8[slash...].dropFirst(), as: UTF8.self)
      if !["", ".", ".."].contains(name) { return real(name, in: Array(path.utf8[..<slash])) }
    }
    let url = URL(filePath: path)
    return real(url.lastPathComponent, in: Array(url.deletingLastPathComponent().path.utf8))
  }

  private mutating func real(_ name: String, in folder: [UInt8]) -> String {
    if folders.count >= Self.foldersMaximum { folders = [:] }
    let known = folders[folder] ?? Self.real(folder: String(decoding: folder, as: UTF8.self))
    folders[folder] = known
    return (known == "/" ? "" : known) + "/" + name
  }

  private func owner(of place: String) -> String? { owners[Array(place.utf8)] }

  private static func hash(_ place: String) -> Int { Array(place.utf8).hashValue }

  /// Whether any place may belong to two. Then all stores are to be claimed again, and checked.
  package mutating func beginProof() -> Bool {
    (isProof, claimed) = (true, [])
    return !suspects.isEmpty
  }

  private mutating func suspect(place: String) {
    let hash = Self.hash(place)
    if claimed.contains(hash) { suspects.insert(hash) }
  }

  /// - Returns: Another store that owns the place.
  private mutating func take(_ place: String, for store: String) -> String? {
    let hash = Self.hash(place)
    guard isProof else {
      if !claimed.insert(hash).inserted { suspects.insert(hash) }
      return nil
    }
    guard suspects.contains(hash) else { return nil }
    let key = Array(place.utf8)
    guard let other = owners[key], other.utf8.elementsEqual(store.utf8) == false else {
      owners[key] = store
      return nil
    }
    return other
  }

  /// Refuses a store whose job would write what belongs to another store too, or what would be a source at the next run.
  ///
  /// - Parameter receipt: The receipt that the manifest names.
  package mutating func claim(_ store: ManifestStore, receipt: ManifestPath?) throws {
    if store.loader.isInPlace { try claimFile(store.path) }
    let keepsOld = manifest.destination.existing.keepsOld
    if let destination = store.loader.manifest.destination.path {
      try claim(destination, receipt: receipt, for: store.path)
      // Where all have one extension, folders are told apart as the destinations are.
      guard !isExtensionFixed else { return }
      try claimFiles(ofStoreAt: destination.resolved, of: store, at: destination)
      guard keepsOld else { return }
      return try claimFiles(ofStoreAt: MigrationJob.oldPath(of: destination.resolved), of: store, at: destination)
    }
    let path = StoreFiles.resolvingLink(store.path)
    var own = [path, path + MigrationJob.verificationSuffix]
    if keepsOld { own.append(MigrationJob.oldPath(of: path)) }
    // Runs leave these out of the pattern by their names.
    for product in own { try claim(product, of: store.path, at: manifest.source) }
    if keepsOld { try claimFiles(ofStoreAt: MigrationJob.oldPath(of: path), of: store, at: manifest.source) }
    guard let receipt else { return }
    let place = try claim(receipt.resolved, of: store.path, at: receipt)
    try refuseMatch(receipt.resolved, place, of: store.path, at: receipt)
  }

  /// Two jobs must not replace one store.
  private mutating func claimFile(_ store: String) throws {
    guard let file = FileStatus(following: store)?.identity, let other = take("file \(file)", for: store)
    else { return }
    throw GodwitError(
      .configuration, "cannot migrate \(Self.both(other, store)) in place: they are one file",
      location: manifest.source.location, remedy: "write a pattern that matches one of the two",
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
    if manifest.destination.existing.keepsOld {
      // Another store of that name would be taken for the one that was replaced, and removed.
      let old = MigrationJob.oldPath(of: path)
      beside += [old, old + Receipt.suffix]
    }
    for product in [path] + (receipt.map { [$0.resolved] } ?? []) + beside {
      let place = try claim(product, of: store, at: destination)
      try refuseMatch(product, place, of: store, at: destination)
    }
  }

  // MARK: External files

  /// Whether the name of every destination ends with the same extension.
  private var isExtensionFixed: Bool {
    guard let path = manifest.destination.path else { return false }
    let name = path.raw.split(separator: "/").last ?? ""
    guard let dot = name.lastIndex(of: ".") else { return false }
    return !name[dot...].contains { "{}".contains($0) }
  }

  /// Refuses two stores whose external files would be in one folder: it is named after the store without its extension.
  private mutating func claimFiles(ofStoreAt product: String, of store: ManifestStore, at path: ManifestPath) throws {
    let folder = SupportFolder(ofStoreAt: product).path
    // Most models have no such files, and names that differ in their extension alone do no harm.
    guard let other = take(real(folder), for: store.path), try store.loader.mayMakeFiles(for: [store.path, other])
    else { return }
    let isInPlace = store.loader.isInPlace
    throw GodwitError(
      .configuration,
      "two stores would have their external files in one folder, '\(folder)': \(Self.both(other, store.path))",
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
    let place = real(product)
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

  /// The places of a file, by whatever links it is reached: the path may itself be a link.
  private mutating func places(of path: String) -> [String] {
    let target = realpath(path, nil)
    defer { free(target) }
    return [real(path)] + (target.map { [String(cString: $0)] } ?? [])
  }

  package mutating func suspect(results path: String) {
    for place in places(of: path) + places(of: path.parentPath) {
      for log in Self.logs where place.hasSuffix(log) { suspect(place: String(place.dropLast(log.count))) }
    }
  }

  /// Refuses a file for the results of a run, or its folder, where a job has one of its files, or where the next run
  /// would take it for a store.
  ///
  /// - Parameter forEachSource: Calls its argument with each store of the run.
  package mutating func refuse(
    results path: String, forEachSource: (_ body: (String) throws -> Void) throws -> Void
  ) throws {
    func refusal(_ why: String) -> GodwitError {
      GodwitError(
        .usage, "cannot write results to '\(path)': \(why)",
        remedy: "name another folder with `stores: {results: FOLDER}`",
        safe: "nothing was written")
    }
    var owned: Set<FileStatus.Identity> = []
    for path in [path, path.parentPath] {
      for log in Self.logs where path.hasSuffix(log) {
        let file = FileStatus(following: String(path.dropLast(log.count)))
        if let file, !file.isFolder { owned.insert(file.identity) }
      }
    }
    if !owned.isEmpty {
      try forEachSource { store in
        guard (FileStatus(following: store)?.identity).map(owned.contains) == true else { return }
        throw refusal("it is the source '\(store)', or its log")
      }
    }
    let files = places(of: path)
    for place in files + places(of: path.parentPath) {
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

  package mutating func suspect(_ store: String) { for place in places(of: store) { suspect(place: place) } }

  /// Refuses a source that another store's job writes.
  package mutating func check(_ store: String) throws {
    guard let other = places(of: store).compactMap(owner).first else { return }
    throw refusal(
      at: manifest.source, "'\(store)' is a source, and the job of '\(other)' writes it",
      remedy: "name a destination folder outside of the pattern")
  }

  /// The names below the pattern's folder; nil for a path outside of it.
  private func names(of path: String) -> [String]? {
    let start = root == "/" ? "/" : root + "/"
    guard path.utf8.starts(with: start.utf8) else { return nil }
    return path.utf8.dropFirst(start.utf8.count).split(separator: UInt8(ascii: "/")).map {
      String(decoding: $0, as: UTF8.self)
    }
  }

  private func refusal(at path: ManifestPath, _ message: String, remedy: String) -> GodwitError {
    GodwitError(.configuration, message, location: path.location, remedy: remedy, safe: "nothing was written")
  }
}
