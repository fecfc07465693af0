public import Foundation
public import GodwitJob
import GodwitModel
import GodwitStore

extension MigrationJob {
  /// Makes the job one of several stores of one version: its source, then the others in their order.
  ///
  /// The result is that of appending one store after the other. The order decides keys, and which of two equal objects
  /// stays where nothing else does. ``source`` is then the store that Godwit makes of all of them.
  ///
  /// - Parameter others: The stores that are added to the source.
  /// - Throws: `.configuration` (78) for a store of another version, for one that is named twice or is the destination, and
  ///   for a job in place; `.missingInput` (66) for a missing store.
  public mutating func merge(with others: [URL]) throws {
    let paths = sourcePaths + others.map(\.filePath)
    func refusal(_ why: String, _ remedy: String) -> GodwitError {
      GodwitError(
        .configuration, "cannot merge the stores of job '\(name)': \(why)", remedy: remedy, safe: "nothing was written")
    }
    guard !isInPlace else { throw refusal("it migrates in place", "name another destination") }
    let first = try StoreMetadata(readingStoreAt: paths[0])
    for (place, path) in paths.enumerated() {
      if try paths[..<place].contains(where: { try FileStatus.areSame($0, path) }) {
        throw refusal("'\(path)' is named twice", "name each store once")
      }
      if try FileStatus.areSame(path, destinationPath) {
        throw refusal("'\(path)' is the destination too", "name another destination")
      }
      try MergedSources.refuseOtherVersion(StoreMetadata(readingStoreAt: path), of: path, first: paths[0], first)
    }
    merged = try MergedSources(paths)
    self = readingMerged(in: workPath)
  }
}
