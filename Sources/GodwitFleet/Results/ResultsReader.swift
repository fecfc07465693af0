import Foundation
import GodwitModel
import GodwitPlatform

/// Reads the results of a shard, each time from where it was before.
///
/// A line that has no end yet is being written, or was torn: it is read when it is whole. A line that is no result, and
/// one of another plan, is passed by and counted.
package struct ResultsReader: Sendable {
  private let path: String
  private let shard: Int
  private let identity: String
  /// The places of a shard's list.
  private let stores: Int64
  /// Up to where whole lines were read.
  package private(set) var offset: Int64 = 0
  /// Lines that are no results of this plan.
  package private(set) var foreign = 0

  package init(_ folder: FleetFolder, shard: Int, plan: FleetPlan) {
    path = folder.resultsPath(shard)
    self.shard = shard
    identity = plan.identity
    stores = plan.shardStores.indices.contains(shard) ? plan.shardStores[shard] : 0
  }

  /// Calls `body` with each whole line that is new: the result, its place in the shard's list, and where it begins.
  ///
  /// - Returns: Whether the file is longer than what was read before.
  @discardableResult
  package mutating func read(
    _ body: (_ result: FleetResult, _ index: Int64, _ offset: Int64, _ line: [UInt8]) throws -> Void
  ) throws -> Bool {
    var info = stat()
    guard stat(path, &info) == 0, info.st_size > offset else { return false }
    let lines: LineFile
    do { lines = try LineFile(path: path, from: offset) } catch let error as GodwitError
      where error.code == .missingInput
    { return false }
    while let line = try lines.next() {
      guard line.isWhole else { break }
      offset = lines.offset
      guard !line.bytes.isEmpty else { continue }
      guard let result = FleetResult(line: line.bytes), result.identity == identity, result.shard == shard,
        let index = result.index, index >= 0, index < stores
      else {
        foreign += 1
        continue
      }
      try body(result, index, line.offset, line.bytes)
    }
    return true
  }
}

/// A set of numbers from 0, one bit each.
package struct BitSet: Sendable {
  private var words: [UInt64]
  package private(set) var count: Int64 = 0

  package init(size: Int64) { words = Array(repeating: 0, count: Int(clamping: max(0, size)) / 64 + 1) }

  package func contains(_ number: Int64) -> Bool {
    guard number >= 0, number / 64 < words.count else { return false }
    return words[Int(number / 64)] & (1 << UInt64(number % 64)) != 0
  }

  package mutating func insert(_ number: Int64) {
    guard !contains(number), number >= 0, number / 64 < words.count else { return }
    words[Int(number / 64)] |= 1 << UInt64(number % 64)
    count += 1
  }

  package mutating func remove(_ number: Int64) {
    guard contains(number) else { return }
    words[Int(number / 64)] &= ~(1 << UInt64(number % 64))
    count -= 1
  }
}

/// How the stores of a shard stand, by the last line of each.
package struct ShardState: Sendable {
  private var reader: ResultsReader
  /// Stores that are finished.
  package private(set) var done: BitSet
  package private(set) var failed: BitSet
  /// Stores that were stopped by something of their own, and no later line.
  package private(set) var stopped: BitSet
  /// Stores of which a proof found something; those that were proved at all.
  package private(set) var differing, proved: BitSet
  private var quarantined: BitSet

  package init(_ folder: FleetFolder, shard: Int, plan: FleetPlan) {
    reader = ResultsReader(folder, shard: shard, plan: plan)
    let size = plan.shardStores.indices.contains(shard) ? plan.shardStores[shard] : 0
    (done, failed, stopped) = (BitSet(size: size), BitSet(size: size), BitSet(size: size))
    (differing, proved, quarantined) = (BitSet(size: size), BitSet(size: size), BitSet(size: size))
  }

  package var hasQuarantine: Bool { quarantined.count > 0 }
  package var hasFindings: Bool { differing.count > 0 }

  /// Whether a store has ended, well or not.
  package func isEnded(_ index: Int64) -> Bool { done.contains(index) || failed.contains(index) }

  /// Lines that are no results of this plan.
  package var foreign: Int { reader.foreign }
  /// The stores that ended, well or not.
  package var ended: Int64 { done.count + failed.count }

  /// Whether a store needs no run.
  ///
  /// - Parameters:
  ///   - retries: Whether failed stores run again; those of which a proof found something only together with `verifies`.
  ///   - verifies: Whether stores are proved; those that were finished without a proof run again.
  package func isPassed(_ index: Int64, retries: Bool, verifies: Bool) -> Bool {
    if done.contains(index) { return !verifies || proved.contains(index) }
    guard failed.contains(index) else { return false }
    return !retries || (differing.contains(index) && !verifies)
  }

  /// Reads what is new.
  package mutating func update() throws {
    var copy = reader
    try copy.read { result, index, _, _ in note(result, index) }
    reader = copy
  }

  private mutating func note(_ result: FleetResult, _ index: Int64) {
    note(index, result.outcome, status: result.status, isProved: result.findings != nil)
  }

  /// Notes what became of a store.
  ///
  /// - Parameter isProved: Whether it was compared with its source.
  package mutating func note(_ index: Int64, _ outcome: FleetResult.Outcome, status: Int32, isProved: Bool) {
    done.remove(index)
    failed.remove(index)
    stopped.remove(index)
    differing.remove(index)
    proved.remove(index)
    quarantined.remove(index)
    switch outcome {
    case .finished, .alreadyFinished: done.insert(index)
    case .failed: failed.insert(index)
    case .stopped: stopped.insert(index)
    }
    if status == 3 { quarantined.insert(index) }
    if status == 4 { differing.insert(index) }
    if isProved { proved.insert(index) }
  }
}
