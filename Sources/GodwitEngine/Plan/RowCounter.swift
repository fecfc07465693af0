import Foundation
import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitStore

/// Counts the rows of a table on two cores: each takes the next range of keys, until none is left.
///
/// Unchecked, since the second thread has a connection and functions of its own, and only reads what both share.
struct RowCounter: @unchecked Sendable {
  /// A `godwit_tally` of the rows between two keys.
  let statement: ChunkStatement
  let flags: Int
  let table: String
  let context: String
  let planner: Planner

  private static let parts: Int64 = 16

  /// The ranges that are still to be counted, and what was found.
  private final class Work: @unchecked Sendable {
    private let lock = NSLock()
    private var rest: ArraySlice<(number: Int, range: ClosedRange<Int64>)>
    private var failures: [Int: any Error] = [:]
    private var sum: RowTally

    init(_ ranges: [ClosedRange<Int64>], flags: Int) {
      rest = ranges.enumerated().map { ($0, $1) }[...]
      sum = RowTally(flags: flags)
    }

    /// Counts range after range. Ranges are begun in ascending order, so that the failure of the lowest one is among
    /// those that are found.
    func run(_ count: (ClosedRange<Int64>) throws -> RowTally) {
      while let (number, range) = lock.withLock({ failures.isEmpty ? rest.popFirst() : nil }) {
        let result = Result { try count(range) }
        lock.withLock {
          switch result {
          case .success(let tally): sum.add(tally)
          case .failure(let error): failures[number] = error
          }
        }
      }
    }

    func result() throws -> RowTally {
      try lock.withLock {
        if let first = failures.min(by: { $0.key < $1.key }) { throw first.value }
        return sum
      }
    }
  }

  func count() throws -> RowTally {
    let connection = planner.connection
    let ends = try connection.rows(
      "SELECT (SELECT MIN(Z_PK) FROM source.\(quoted(table))), (SELECT MAX(Z_PK) FROM source.\(quoted(table)))"
    ).first
    guard let ends, case (.integer(let low), .integer(let high)) = (ends[0], ends[1]) else {
      return RowTally(flags: flags)
    }
    let (span, overflow) = high.subtractingReportingOverflow(low)
    guard overflow || span >= EngineTuning.current.leastCountedKeys,
      let reader = try connection.anotherReader(cache: .init(bytes: planner.job.memory.bytes / 32))
    else {
      return try tally(.min ... .max, connection, planner.functions)
    }
    let work = Work(Self.ranges(from: low, through: high), flags: flags)
    let now = planner.functions.now
    defer { try? reader.close() }
    let beside = BackgroundTask { [self] _ in
      let functions = try SQLFunctions(connection: reader, sourceSchema: planner.sourceSchema, now: now)
      functions.setSupportFolder(SupportFolder(ofStoreAt: planner.job.sourcePath))
      work.run { try tally($0, reader, functions) }
    }
    // Who stops the run stops both.
    return try connection.accompanied(by: reader) {
      work.run { try tally($0, connection, planner.functions) }
      try beside.value()
      return try work.result()
    }
  }

  /// Equal parts of a span of keys, which may be all there are.
  static func ranges(from low: Int64, through high: Int64) -> [ClosedRange<Int64>] {
    let step = Int64(UInt64(bitPattern: high &- low) / UInt64(parts)) + 1
    var ranges: [ClosedRange<Int64>] = []
    var lower = low
    while true {
      let (upper, overflow) = lower.addingReportingOverflow(step - 1)
      guard !overflow, upper < high else { return ranges + [lower...high] }
      ranges.append(lower...upper)
      lower = upper + 1
    }
  }

  private func tally(
    _ range: ClosedRange<Int64>, _ connection: StoreConnection, _ functions: SQLFunctions
  ) throws -> RowTally {
    try functions.running(statement, context: context) {
      let row = try connection.rows(
        statement.sql, statement.builder.arguments(from: range.lowerBound, through: range.upperBound)
      ).first
      guard case .text(let bytes)? = row?.first else { return RowTally(flags: flags) }
      return RowTally(String(decoding: bytes, as: UTF8.self), flags: flags)
    }
  }
}
