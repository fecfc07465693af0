import GodwitModel
import SystemPackage

extension SpillReader {
  /// Writes a spill file with the pairs turned round, sorted by destination key.
  ///
  /// An external sort: sorted runs go to `PATH.runs-0`, and are merged with a bounded number of runs at a time.
  /// Equal destination keys keep the order of their source keys. The scratch files are removed at the end, also after
  /// a failure; a killed process leaves them, and the next inversion overwrites them.
  /// - Parameter memory: bytes to sort and merge in; at least 1 MiB is used.
  /// - Returns: the mark of the new file, which is synced.
  package func inverted(into path: String, memory: Int) throws -> SpillMark {
    let runPairs = max(memory, 1 << 20) / 32
    // A merged run holds one decompressed frame, of half a megabyte as a rule.
    let fanIn = min(max(memory / (1 << 20), 4), 64)
    return try inverted(into: path, runPairs: runPairs, fanIn: fanIn, cacheBytes: max(memory, 1 << 20))
  }

  func inverted(into path: String, runPairs: Int, fanIn: Int, cacheBytes: Int) throws -> SpillMark {
    var scratch = path + ".runs-0"
    var other = path + ".runs-1"
    defer {
      for name in [scratch, other] { _ = unlink(name) }
    }
    var (mark, runs) = try writeRuns(into: scratch, runPairs: runPairs)
    while runs.count > fanIn {
      (mark, runs) = try Self.mergeRuns(
        from: scratch, mark, runs, into: other, fanIn: fanIn, cacheBytes: cacheBytes)
      swap(&scratch, &other)
    }
    (mark, _) = try Self.mergeRuns(
      from: scratch, mark, runs, into: path, fanIn: max(runs.count, 1), cacheBytes: cacheBytes)
    return mark
  }

  /// Sorts as many pairs as fit into memory, repeatedly; returns the frames of each run.
  private func writeRuns(into path: String, runPairs: Int) throws -> (SpillMark, [Range<Int>]) {
    let writer = try SpillWriter(path: path)
    var pairs: [(source: Int64, destination: Int64)] = []
    pairs.reserveCapacity(min(runPairs, Int(clamping: pairCount)))
    var runs: [Range<Int>] = []
    var frame = 0
    func endRun() throws {
      // The pairs are in the order of the first part, so this is the order of a stable sort.
      pairs.sort { ($0.destination, $0.source) < ($1.destination, $1.source) }
      for pair in pairs { try writer.append(source: pair.destination, destination: pair.source) }
      _ = try writer.flushChunk()
      let count = (pairs.count + AssociationBlock.pairsMax - 1) / AssociationBlock.pairsMax
      runs.append(frame..<(frame + count))
      frame += count
      pairs.removeAll(keepingCapacity: true)
    }
    try forEachPair { source, destination in
      pairs.append((source, destination))
      if pairs.count >= runPairs { try endRun() }
    }
    if !pairs.isEmpty { try endRun() }
    let mark = writer.mark
    try writer.close()
    return (mark, runs)
  }

  /// Merges each `fanIn` neighbouring runs into one.
  private static func mergeRuns(
    from path: String, _ mark: SpillMark, _ runs: [Range<Int>], into target: String, fanIn: Int, cacheBytes: Int
  ) throws -> (SpillMark, [Range<Int>]) {
    let reader = try SpillReader(path: path, mark: mark, cacheBytes: cacheBytes)
    let writer = try SpillWriter(path: target)
    var merged: [Range<Int>] = []
    var frame = 0
    for start in stride(from: 0, to: runs.count, by: max(fanIn, 2)) {
      let batch = runs[start..<min(start + max(fanIn, 2), runs.count)]
      guard let low = batch.first?.lowerBound, let high = batch.last?.upperBound else { continue }
      var pairs = 0
      try reader.merge(reader.order.filter { (low..<high).contains($0) }) { source, destination in
        try writer.append(source: source, destination: destination)
        pairs += 1
      }
      _ = try writer.flushChunk()
      let count = (pairs + AssociationBlock.pairsMax - 1) / AssociationBlock.pairsMax
      merged.append(frame..<(frame + count))
      frame += count
    }
    let result = writer.mark
    try reader.close()
    try writer.close()
    return (result, merged)
  }
}
