import GodwitJob
import GodwitModel
import GodwitStore

/// Rows that were proved in place on any core.
struct ProvedRows {
  /// Objects by entity.
  var objects: [String: Int64] = [:]
  var values: Int64 = 0
  /// Keys of to-ones that are right, by the name of the first end.
  var references: [String: Int64] = [:]
  /// The first key that was not proved; nil if all were.
  var next: Int64?
}

/// Proving the rows of a large table on all cores.
///
/// The keys are cut into ranges. Each core proves ranges with connections and cursors of its own, and only ever says that
/// rows are right. The comparison goes through a range itself from the first row on that was not proved.
/// So findings come in order, and a proof takes 1.0 times the run in place of 1.44.
extension ObjectProof {
  private static let rangesPerReader = 8

  /// - Parameter first: Every row below it was compared.
  /// - Returns: The first key that is left to compare; nil if all are done.
  func compareOnAllCores(_ comparison: TableComparison, from first: Int64) throws -> Int64? {
    let readers = EngineTuning.current.readers ?? ReaderPool.processors
    guard stores.usesShortcuts, stores.sample == nil, stores.appended == nil, readers > 1,
      !keys.counterparts.contains(where: \.isSpilled),
      var ranges = try ranges(root: comparison.root, from: first)?[...], try canBeReadTwice()
    else { return first }
    let pool = ReaderPool(stores.source, budget: stores.job.memory, readers: readers)
    let cache = ByteCount(bytes: max(stores.job.memory.bytes / 32, 1 << 20))
    while !ranges.isEmpty {
      let part = ranges.prefix(readers * Self.rangesPerReader)
      ranges = ranges.dropFirst(part.count)
      let proved = try pool.map(Array(part), isWorthThreads: true) { [self] reader in
        let other = reader === stores.source ? stores.destination : try stores.destination.anotherReader(cache: cache)
        guard let other else { throw GodwitError(.internalBug, "a store cannot be opened again") }
        return try RangeProver(self, root: comparison.root, source: reader, destination: other)
      } _: { prover, range in
        try prover.prove(range)
      }
      for (range, rows) in zip(part, proved) {
        plans.add(rows.references)
        comparison.add(rows)
        if let next = rows.next { try comparison.compare(from: next, through: range.upperBound) }
      }
      guard let next = ranges.first?.lowerBound else { return nil }
      progress.keep { $0.table = .init(root: comparison.root, next: next, tally: comparison.whole) }
      progress.isCheckpointDue = false
      try progress.checkStop()
      // Where most ranges have rows to be looked at one by one, other cores do not help.
      if proved.count(where: { $0.next != nil }) * 2 > proved.count { return next }
    }
    return nil
  }

  /// The keys of a table in ranges, the first of which has all lower keys, and the last all higher ones; nil for a table
  /// that is not worth more than one range.
  private func ranges(root: String, from first: Int64) throws -> [ClosedRange<Int64>]? {
    let rows = (keys.claimed[root] ?? []).reduce(0) { $0 + keys.counterparts[$1].winners.count }
    let parts = min(rows / EngineTuning.current.verifiedRowsPerRange, 1 << 16)
    let table = try stores.table(stores.destinationTable(root).name)
    guard parts > 1, let keys = try stores.destination.keys(of: table), keys.lowerBound < keys.upperBound else {
      return nil
    }
    var ranges = Array(KeySpans(keys, parts: Int64(parts)))
    ranges[0] = .min...ranges[0].upperBound
    ranges[ranges.count - 1] = ranges[ranges.count - 1].lowerBound...(.max)
    return ranges.filter { $0.upperBound >= first }.map { max($0.lowerBound, first)...$0.upperBound }
  }

  /// Whether another thread can open both stores. One with a write-ahead log and an atomic store have one reader.
  private func canBeReadTwice() throws -> Bool {
    for store in [stores.source, stores.destination] {
      guard let reader = try store.anotherReader(cache: .init(bytes: 1 << 16)) else { return false }
      try reader.close()
    }
    return true
  }
}

/// Proves ranges of one table on one core.
private final class RangeProver {
  private let proof: ObjectProof
  private let comparison: TableComparison
  /// Proofs of to-ones by the name of the first end.
  private let references: [String: ToOneProof]

  init(_ owner: ObjectProof, root: String, source: StoreConnection, destination: StoreConnection) throws {
    proof = ObjectProof(reading: source, destination, as: owner)
    comparison = try TableComparison(proof, root: root)
    references = proof.plans.proofs
  }

  deinit { comparison.finalize() }

  func prove(_ range: ClosedRange<Int64>) throws -> ProvedRows {
    let doubtful = references.values.count(where: \.isDoubtful)
    var rows = try comparison.prove(range)
    for (name, proof) in references where proof.count > 0 {
      rows.references[name] = proof.count
      proof.count = 0
    }
    // A doubt, or a rule that cannot be tested, is reported by the comparison.
    let isSure = references.values.count(where: \.isDoubtful) == doubtful && proof.findings.report.checks.isEmpty
    return isSure ? rows : ProvedRows(next: range.lowerBound)
  }
}
