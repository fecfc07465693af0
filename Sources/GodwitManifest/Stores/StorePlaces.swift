import Foundation
import GodwitJob
import GodwitModel
import GodwitPlatform
import GodwitVerifier

/// What jobs claimed, by its real path.
package protocol StoreClaims: AnyObject {
  /// The store that a place belongs to; nil when nobody claimed it.
  func owner(of place: String) throws -> String?

  /// Notes a place that nobody has claimed.
  func claim(_ place: String, for store: String) throws
}

/// What the jobs of one command claimed, in memory.
final class ClaimedPlaces: StoreClaims {
  /// By the bytes of a path: names that differ in nothing else are two files.
  private var taken: [[UInt8]: String] = [:]

  func owner(of place: String) -> String? { taken[Array(place.utf8)] }
  func claim(_ place: String, for store: String) { taken[Array(place.utf8)] = store }
}

/// Where the jobs of many stores write, checked before any of them begins.
package struct StorePlaces {
  private let manifest: JobManifest
  /// nil where a list names the stores.
  private let pattern: StorePattern?
  /// The real path of the pattern's folder.
  private let root: String
  private let taken: any StoreClaims
  /// Real paths of folders that were asked for.
  private var folders: [String: String] = [:]
  private static let foldersMaximum = 10_000

  package init(_ manifest: JobManifest, _ pattern: StorePattern?, _ claims: any StoreClaims) {
    (self.manifest, self.pattern, taken) = (manifest, pattern, claims)
    root = pattern.map { Self.real(folder: $0.root.isEmpty ? "." : $0.root) } ?? ""
  }

  private static func real(folder: String) -> String {
    URL(filePath: folder).standardizedFileURL.resolvingSymlinksInPath().path
  }

  /// The real path of a file that need not be there.
  private mutating func real(_ path: String) -> String {
    let url = URL(filePath: path)
    let folder = url.deletingLastPathComponent().path
    let known = folders[folder] ?? Self.real(folder: folder)
    if folders.count >= Self.foldersMaximum { folders = [:] }
    folders[folder] = known
    return (known == "/" ? "" : known) + "/" + url.lastPathComponent
  }

  /// Refuses a store's destination that belongs to another store too, or that would be a source at the next run.
  package mutating func claim(_ destination: ManifestPath, receipt: ManifestPath?, for store: String) throws {
    var suffixes = [Receipt.suffix, Verifier.checkpointSuffix]
    if case .quarantine = manifest.onInvalid { suffixes.append(Quarantine.suffix) }
    let beside = suffixes.map { destination.resolved + $0 }
    for product in [destination.resolved] + (receipt.map { [$0.resolved] } ?? []) + beside {
      let place = real(product)
      if let other = try taken.owner(of: place) {
        throw refusal(
          at: destination, "two stores would write '\(product)': '\(other)' and '\(store)'",
          remedy: "tell them apart by more placeholders: {folder}, {ext} or {file}")
      }
      try taken.claim(place, for: store)
      guard let names = names(of: place), pattern?.matches(names) == true else { continue }
      throw refusal(
        at: destination,
        "'\(product)', which the job of '\(store)' writes, matches the pattern '\(manifest.source.raw)': the next run would take it for a source",
        remedy: "name a destination folder outside of the pattern, or a pattern that does not reach it")
    }
  }

  /// Refuses a source that another store's job writes, by whatever links it is reached.
  package mutating func check(_ store: String) throws {
    let target = realpath(store, nil)
    defer { free(target) }
    // The path may itself be a link.
    let places = [real(store)] + (target.map { [String(cString: $0)] } ?? [])
    guard let other = try places.compactMap({ try taken.owner(of: $0) }).first else { return }
    throw refusal(
      at: manifest.source, "'\(store)' is a source, and the job of '\(other)' writes it",
      remedy: "name a destination folder outside of the pattern")
  }

  /// The names below the pattern's folder; nil for a path outside of it.
  private func names(of path: String) -> [String]? {
    let start = root == "/" ? "/" : root + "/"
    guard path.hasPrefix(start) else { return nil }
    return path.dropFirst(start.count).split(separator: "/").map(String.init)
  }

  private func refusal(at path: ManifestPath, _ message: String, remedy: String) -> GodwitError {
    GodwitError(.configuration, message, location: path.location, remedy: remedy, safe: "nothing was written")
  }
}
