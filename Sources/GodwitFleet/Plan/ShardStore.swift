import Foundation
import GodwitModel

/// A line of a shard's list.
package struct ShardStore: Codable, Sendable, Equatable {
  /// The store's path, as `FleetPaths` keeps it.
  package var store: String
  package var bytes: Int64
  /// Which of the plan's pairs it belongs to.
  package var pair: Int?
  /// What `{folder}` stands for, where a path has it: it must not depend on where a process is started.
  package var folder: String?

  package init(store: String, bytes: Int64, pair: Int?, folder: String? = nil) {
    (self.store, self.bytes, self.pair, self.folder) = (store, bytes, pair, folder)
  }
}

/// Reads the stores of a shard one after the other.
package final class ShardReader {
  private let lines: LineFile
  private let path: String
  private let expected: Int64
  /// The stores that were read so far.
  package private(set) var count: Int64 = 0

  /// - Parameter expected: How many stores the plan says.
  package init(_ folder: FleetFolder, shard: Int, expecting expected: Int64) throws {
    path = folder.shardPath(shard)
    self.expected = expected
    lines = try LineFile(path: path)
  }

  /// The next store; nil at the end.
  ///
  /// - Throws: `.dataWrong` (65) when the list is not what the plan says: no store may be left out in silence.
  package func next() throws -> ShardStore? {
    guard let line = try lines.next() else {
      guard count == expected else { throw damaged("it has \(count) stores, and the plan says \(expected)") }
      return nil
    }
    guard line.isWhole, let store = try? JSONDecoder().decode(ShardStore.self, from: Data(line.bytes)) else {
      throw damaged("line \(count + 1) is no store")
    }
    count += 1
    guard count <= expected else { throw damaged("it has more than the \(expected) stores that the plan says") }
    return store
  }

  private func damaged(_ cause: String) -> GodwitError {
    GodwitError(
      .dataWrong, "cannot read the list of a shard, '\(path)'", cause: cause,
      remedy: "make the plan again with `godwit fleet plan --force`")
  }
}
