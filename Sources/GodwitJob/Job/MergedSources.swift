package import GodwitModel
package import GodwitStore

/// The stores of one version that a job reads as one source: `source: {merge: [a.sqlite, b.sqlite]}`.
///
/// A run makes a merged store of them in its work folder, other verbs make one in `TMPDIR`. That store is then the source
/// like any other. Digest, stamp and identifier of the source are made of those of its parts, in order.
package struct MergedSources: Sendable, Hashable {
  /// The name of a merged store in the folder where it is made.
  package static let fileName = "merged.sqlite"

  /// The paths of the stores, in order: at least two.
  package let paths: [String]
  /// The folders of their external files. An atomic store has none.
  package let supports: [SupportFolder]

  /// - Throws: The errors of `StoreFiles` for a file that cannot be read, or is not a store.
  package init(_ paths: [String]) throws {
    self.paths = paths
    supports = try paths.filter { try !StoreFiles(path: $0).type.isAtomic }.map(SupportFolder.init(ofStoreAt:))
  }

  /// Refuses a store of another version than the first one.
  ///
  /// - Parameters:
  ///   - name: The store's name in the message.
  ///   - first: The name of the first store.
  /// - Throws: `.configuration` (78).
  package static func refuseOtherVersion(
    _ metadata: StoreMetadata, of name: String, first: String, _ expected: StoreMetadata,
    at location: GodwitError.Location? = nil
  ) throws {
    let (own, known) = (metadata.versionHashes, expected.versionHashes)
    guard own != known else { return }
    let names = Set(own.keys).union(known.keys).filter { own[$0] != known[$0] }.sorted { Text($0) < Text($1) }
    throw GodwitError(
      .configuration, "cannot merge '\(name)' with '\(first)': it has another version of the model",
      location: location,
      cause: "the version hashes of \(names.prefix(5).map { "'\($0)'" }.joined(separator: ", ").onOneLine) differ",
      remedy:
        "migrate it to the version of '\(first)' with a job of its own, and name the new store here; `godwit inspect` shows the version of a store",
      safe: "nothing was written")
  }

  /// The identifier of the merged store: the same for the same stores in the same order.
  package static func uuid(of parts: [String]) -> String {
    let digits = Array(Digest.hex((["godwit-merge-1"] + parts).joined(separator: "\n")).uppercased().prefix(32))
    return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
  }
}

extension MigrationJob {
  /// The stores that the source is: one, or those that are merged.
  package var sourcePaths: [String] { merged?.paths ?? [sourcePath] }

  /// The source in messages and records: its path, or those of its parts.
  package var sourceName: String { sourcePaths.joined(separator: ", ") }

  /// The files of the source. A merged source need not be made yet.
  ///
  /// - Throws: As `StoreFiles`.
  package func sourceFiles() throws -> StoreFiles {
    guard let merged else { return try StoreFiles(path: sourcePath) }
    return StoreFiles(merging: try merged.paths.map(StoreFiles.init(path:)), at: sourcePath)
  }

  /// The folder of the source's external files, with those of its parts.
  package var sourceSupport: SupportFolder {
    let own = SupportFolder(ofStoreAt: sourcePath)
    return merged.map { own.lookingInto($0.supports) } ?? own
  }

  /// The bytes of the merged store; 0 for any other source.
  package var mergedBytes: Int64 { merged == nil ? 0 : StoreFiles.size(ofFile: sourcePath) }

  /// The identifier of the source. A merged source need not be made yet.
  ///
  /// - Throws: As `StoreMetadata`.
  package func sourceUUID() throws -> String {
    guard let merged else { return try StoreMetadata(readingStoreAt: sourcePath).uuid }
    return MergedSources.uuid(of: try merged.paths.map { try StoreMetadata(readingStoreAt: $0).uuid })
  }

  /// The job with a merged source, or the same job where the source is one store.
  ///
  /// - Parameter folder: The folder that has the merged store.
  package func readingMerged(in folder: String) -> MigrationJob {
    guard merged != nil else { return self }
    var job = self
    job.sourcePath = folder + "/" + MergedSources.fileName
    return job
  }

  /// An error with the names of the stores that are merged in place of the merged store's.
  package func namingParts(_ error: GodwitError) -> GodwitError {
    guard merged != nil else { return error }
    var error = error
    error.message = error.message.replacing(sourcePath, with: sourceName)
    error.cause = error.cause?.replacing(sourcePath, with: sourceName)
    return error
  }
}
