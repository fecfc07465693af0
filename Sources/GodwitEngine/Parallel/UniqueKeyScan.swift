import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// Reads the identities of a chunk's objects in key order, on two cores where that is worth a thread.
///
/// 1. The keys of the chunk are cut into spans of about as many rows.
/// 2. Each thread claims the next free span; the caller's thread claims the first one. The caller's thread reads its
///    current span row by row. Both threads read the spans ahead of it into memory.
/// 3. A span that failed or is too large is read again in its turn, so that errors come in the order of the rows, as
///    with one thread.
final class UniqueKeyScan {
  /// The query and connection of one thread.
  struct Scan {
    var query: ChunkStatement
    var connection: StoreConnection
    var functions: SQLFunctions
    var context: String

    fileprivate func run(
      _ statement: SQLStatement, _ keys: ClosedRange<Int64>, _ body: (Int64, UnsafeRawBufferPointer) throws -> Void
    ) throws {
      defer { statement.reset() }
      try functions.running(query, context: context) {
        try statement.bind(query.builder.arguments(from: keys.lowerBound, through: keys.upperBound))
        while try statement.step() {
          let key = statement.row.int64(0)
          try functions.rows.withIdentity(of: key) { try body(key, $0) }
        }
      }
    }
  }

  /// The identities of a span.
  private struct Batch {
    let limitBytes: Int
    var keys: [Int64] = []
    var ends: [Int] = []
    var bytes: [UInt8] = []

    mutating func append(_ key: Int64, _ identity: UnsafeRawBufferPointer) throws {
      guard bytes.count + identity.count + keys.count * 16 <= limitBytes else {
        // With large values, reading ahead only repeats work.
        throw PrefetchWorker<Batch>.End()
      }
      bytes.append(contentsOf: identity)
      keys.append(key)
      ends.append(bytes.count)
    }

    func forEach(_ body: (Int64, UnsafeRawBufferPointer) throws -> Void) rethrows {
      try bytes.withUnsafeBytes { bytes in
        var start = 0
        for (key, end) in zip(keys, ends) {
          try body(key, UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
          start = end
        }
      }
    }
  }

  /// Spans that are kept.
  private static let limitSpans = 16
  /// Bytes that one may take.
  private let limitBytes: Int

  private let spans: KeySpans
  private let own: Scan
  private let other: Scan
  private let worker: PrefetchWorker<Batch>
  /// The number of spans that the second thread has read. Valid after `run`.
  private(set) var spansBeside = 0

  /// - Parameters:
  ///   - keys: Those of the lowest and the highest row.
  ///   - rows: About how many there are.
  ///   - own: The scan on the caller's thread.
  ///   - other: The scan on the second thread. `run` closes its connection.
  ///   - memory: The memory for rows that are read ahead.
  init(keys: ClosedRange<Int64>, rows: Int64, own: Scan, other: Scan, memory: ByteCount) {
    limitBytes = Int(memory.bytes) / Self.limitSpans
    spans = KeySpans(keys, rows: rows, rowsPerSpan: EngineTuning.current.uniqueKeys.rowsPerSpan)
    (self.own, self.other) = (own, other)
    worker = PrefetchWorker(other.connection, count: spans.count, first: 1, lead: 1, room: Self.limitSpans)
  }

  /// Hands each identity to `body`, with the key of its row. The identity is valid during the call only.
  func run(_ body: (Int64, UnsafeRawBufferPointer) throws -> Void) throws {
    let statement = try own.connection.prepare(own.query.sql)
    defer { statement.finalize() }
    worker.start { [unowned self] worker in
      let statement = try other.connection.prepare(other.query.sql)
      defer { statement.finalize() }
      worker.computeItems { span in
        let batch = try readBatch(span, other, statement)
        spansBeside += 1
        return batch
      }
    }
    defer { worker.stop() }
    if EngineTuning.current.uniqueKeys.fills { worker.fill() }
    // A stop ends both scans.
    try own.connection.accompanied(by: [other.connection]) {
      for span in 0..<spans.count {
        if let batch = try batch(of: span, statement) {
          try own.functions.running(own.query, context: own.context) { try batch.forEach(body) }
        } else {
          try own.run(statement, spans[span], body)
        }
      }
    }
  }

  /// The rows of a span that were read ahead; nil when the caller has to read them.
  private func batch(of span: Int, _ statement: SQLStatement) throws -> Batch? {
    while true {
      if let interruption = worker.interrupted { throw interruption }
      switch worker.action(for: span) {
      case .use(let batch): return batch
      case .compute: return nil
      // The other thread is at it: better to read on than to wait.
      case .computeAhead(let ahead): worker.compute(ahead) { try readBatch($0, own, statement) }
      }
    }
  }

  private func readBatch(_ span: Int, _ scan: Scan, _ statement: SQLStatement) throws -> Batch {
    var batch = Batch(limitBytes: limitBytes)
    try scan.run(statement, spans[span]) { try batch.append($0, $1) }
    return batch
  }
}

extension Executor {
  /// Hands the identity of each object of a chunk of the associate stage to `body`, in key order.
  func forEachIdentity(
    of chunk: Chunk, _ mapping: MappingID, _ statement: ChunkStatement,
    _ body: (Int64, UnsafeRawBufferPointer) throws -> Void
  ) throws {
    let own = UniqueKeyScan.Scan(
      query: statement, connection: connection, functions: functions, context: context(chunk))
    if let walk = try identityWalk(of: chunk, mapping, own) { return try walk.run(body) }
    let prepared = try connection.prepare(statement.sql)
    defer { prepared.finalize() }
    try own.run(prepared, chunk.range.first...chunk.range.last, body)
  }

  private func identityWalk(
    of chunk: Chunk, _ mapping: MappingID, _ own: UniqueKeyScan.Scan
  ) throws -> UniqueKeyScan? {
    guard chunk.rows >= EngineTuning.current.uniqueKeys.leastRows, own.query.isSameOnAnyThread else { return nil }
    guard let beside = try readerBeside(chunk, mapping) else { return nil }
    var other = own
    (other.connection, other.functions) = (beside.connection, beside.functions)
    return UniqueKeyScan(
      keys: beside.keys, rows: chunk.rows, own: own, other: other, memory: .init(bytes: job.memory.bytes / 16))
  }
}

extension ChunkStatement {
  /// Whether its values depend only on the source: it carries no file over, calls no policy, and fetches no objects
  /// that one thread caches for all rows.
  var isSameOnAnyThread: Bool {
    !builder.movesFiles
      && builder.functions.evaluations.allSatisfy { evaluation in
        guard case .expression(let expression) = evaluation.work else { return true }
        return !expression.asksOthers
      }
  }
}
