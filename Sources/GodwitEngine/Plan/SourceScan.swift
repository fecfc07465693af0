import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// How a planner counts the source: every row on all cores, or a sample of the rows.
///
/// All known walks are passed together. Each table is cut into ranges of keys. Every walk over a range comes before the
/// next range, so that a large table is read from the disk once. Walks that one statement can count take one pass.
///
/// A sample reads `sampledRanges` short ranges, spread evenly between the lowest and the highest key. A table that is
/// not longer than the sample is read as a whole, and exactly.
package final class SourceScan {
  private let job: MigrationJob
  private let sourceSchema: StoreSchema
  private let functions: SQLFunctions
  private let readers: Int
  package let isSample: Bool
  /// Called now and then with the number of rows read, and the number to read.
  package var progress: ((_ rows: Int64, _ total: Int64) -> Void)?
  private var sampled: (rows: Int64, of: Int64) = (0, 0)
  private var cuts: [Table: Cut] = [:]

  private struct Table: Hashable {
    let name, column: String

    init(_ walk: SourceWalk) { (name, column) = (walk.table, walk.column) }
  }

  private struct Cut {
    var ranges: [ClosedRange<Int64>?]
    var factor = 1.0
    /// The number of rows in all ranges together, as far as keys tell.
    var rows: Int64 = 0
  }

  private static let parts: Int64 = 16
  private static let sampledRanges: Int64 = 64
  private static let sampledKeys: Int64 = 128
  private static let limitRows: Int64 = 1 << 40

  /// - Parameters:
  ///   - isSample: Whether only a sample of the rows is read.
  ///   - readers: The threads that count at most.
  init(
    _ job: MigrationJob, _ sourceSchema: StoreSchema, _ functions: SQLFunctions, isSample: Bool,
    readers: Int = EngineTuning.current.readers ?? ReaderPool.processors
  ) {
    (self.job, self.sourceSchema, self.functions) = (job, sourceSchema, functions)
    (self.isSample, self.readers) = (isSample, readers)
  }

  private var connection: StoreConnection { functions.connection }

  // MARK: Counting

  /// A part of a walk. Parts are read in the order of tables, then of keys, then of walks.
  private struct Item {
    var table, part, walk: Int
    var keys: ClosedRange<Int64>?
    var rows: Int64
  }

  /// Runs the counts of walks, in their order.
  func counts(_ walks: [SourceWalk]) throws -> [SourceWalk.Count] {
    let passes = JoinedWalks(walks)
    return passes.counts(of: try passing(passes.joined))
  }

  private func passing(_ walks: [SourceWalk]) throws -> [SourceWalk.Count] {
    let cuts = try walks.map { try cut($0) }
    var places: [Table: Int] = [:]
    for walk in walks where places[Table(walk)] == nil { places[Table(walk)] = places.count }
    var items: [Item] = []
    for (number, (walk, cut)) in zip(walks, cuts).enumerated() {
      for (part, keys) in cut.ranges.enumerated() {
        items.append(
          Item(
            table: places[Table(walk)] ?? 0, part: part, walk: number, keys: keys,
            rows: cut.rows / Int64(cut.ranges.count)))
      }
    }
    items.sort { ($0.table, $0.part, $0.walk) < ($1.table, $1.part, $1.walk) }
    let total = items.reduce(0) { $0 + $1.rows }
    let (own, now) = (functions, functions.now)
    let found = try ReaderPool(connection, budget: job.memory, readers: readers).map(
      items, weights: items.map(\.rows), isWorthThreads: cuts.contains { $0.ranges.count > 1 && !isSample }
    ) { [connection, sourceSchema, job] reader in
      if reader === connection { return own }
      let functions = try SQLFunctions(connection: reader, sourceSchema: sourceSchema, now: now)
      functions.setSupportFolder(ofSourceOf: job)
      return functions
    } progress: {
      progress?($0, total)
    } _: { functions, item in
      try walks[item.walk].read(functions, item.keys)
    }
    var rows = walks.map { _ in [[SQLValue]]() }
    for (item, row) in zip(items, found) { rows[item.walk].append(row) }
    return walks.indices.map { SourceWalk.Count(rows: rows[$0], factor: cuts[$0].factor) }
  }

  /// How many rows a table has; about, in a sample.
  func rowCount(_ table: String, key: String) throws -> Int64 {
    let walk = SourceWalk(table, key: key, isCut: false) {
      "SELECT COUNT(*) FROM source.\(quoted(table))\(whereClause([$0]))"
    }
    return try counts([walk])[0].sum
  }

  /// The share of keys that a sample read; nil if every row was counted.
  var sample: MigrationPlan.Sample? { isSample ? .init(keys: sampled.rows, ofKeys: sampled.of) : nil }

  /// Names the table in errors that have no place, such as those of a damaged page.
  func reading<T>(_ table: String, _ body: () throws -> T) throws -> T {
    do { return try body() } catch var error as GodwitError {
      error.context = error.context ?? "planning, reading table \(table)"
      throw error
    }
  }

  // MARK: Cutting

  private func cut(_ walk: SourceWalk) throws -> Cut {
    let table = Table(walk)
    let cut: Cut
    if let known = cuts[table] {
      cut = known
    } else {
      cut = try reading(table.name) { try self.cut(table) }
      cuts[table] = cut
    }
    guard !isSample, !walk.isCut else { return cut }
    return Cut(ranges: [nil], rows: cut.rows)
  }

  private func cut(_ table: Table) throws -> Cut {
    // A table of others may have no numbers for its rows.
    let found = Result { try connection.keys(of: "source.\(quoted(table.name))", column: table.column) }
    let ends = table.column == "rowid" ? try? found.get() : try found.get()
    guard let ends else { return Cut(ranges: [nil]) }
    let (span, overflow) = ends.upperBound.subtractingReportingOverflow(ends.lowerBound)
    // Keys may lie far apart. The sum over many walks must not overflow.
    var cut = Cut(ranges: [nil], rows: overflow ? Self.limitRows : min(span, Self.limitRows - 1) + 1)
    guard isSample else {
      if overflow || span >= EngineTuning.current.leastCountedKeys {
        cut.ranges = Array(KeySpans(ends, parts: Self.parts))
      }
      return cut
    }
    let keys = EngineTuning.current.sampledKeys ?? Self.sampledKeys
    guard overflow || span / keys >= Self.sampledRanges else {
      sampled = (sampled.rows + cut.rows, sampled.of + cut.rows)
      return cut
    }
    let step = UInt64(bitPattern: ends.upperBound &- ends.lowerBound) / UInt64(Self.sampledRanges)
    cut.ranges = (0..<UInt64(Self.sampledRanges)).map { number in
      // The range is in the middle of its part of the keys.
      let low = ends.lowerBound &+ Int64(bitPattern: step * number + (step - UInt64(keys)) / 2)
      return low...(low + keys - 1)
    }
    let read = keys * Self.sampledRanges
    cut.factor = Double(UInt64(bitPattern: ends.upperBound &- ends.lowerBound)) / Double(read)
    sampled = (sampled.rows + read, sampled.of + cut.rows)
    cut.rows = read
    return cut
  }
}
