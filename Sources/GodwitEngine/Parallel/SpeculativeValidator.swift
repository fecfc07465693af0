import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// Validates on the other cores, while indexes are built, the chunks that the plan validates after them.
///
/// 1. It begins between two transactions, when all rows are final: from then on only indexes and the ledger change.
/// 2. Each thread reads the file through a connection of its own without locks, whose pages are those of the tables.
/// 3. A chunk counts as valid only if no fault was found. After a broken rule, a page that moved under the reader, or
///    an error, the chunk is validated again in its turn, and reported there.
final class SpeculativeValidator {
  /// A chunk whose rules only test whether values are present.
  struct Work: Sendable {
    var id: Int
    /// A query on the database `source`, which finds the rows that break a rule.
    var sql: String
    var range: Chunk.KeyRange
  }

  /// The header of a row of so many columns lies within its b-tree page.
  static let limitColumns = 80

  private let workers: [PrefetchWorker<Void>]
  /// The worker of a chunk, and its number there.
  private let items: [Int: (worker: Int, number: Int)]
  /// The workers' answers so far.
  private var answers: [Int: Bool] = [:]

  /// - Parameters:
  ///   - path: The store under construction.
  ///   - cache: Memory of each thread for pages of it.
  init(_ works: [Work], path: String, threads: Int, cache: ByteCount) throws {
    // From the end, because the run starts at the beginning.
    let works = Array(works.reversed())
    items = Dictionary(uniqueKeysWithValues: works.enumerated().map { ($1.id, ($0 % threads, $0 / threads)) })
    let parts = (0..<min(threads, works.count)).map { first in
      stride(from: first, to: works.count, by: threads).map { works[$0] }
    }
    workers = try parts.map { part in
      let connection = try StoreConnection(path: nil, cache: .init(bytes: 256 << 10))
      try connection.attachUnlocked(path: path, cache: cache)
      return PrefetchWorker(connection, count: part.count, lead: nil)
    }
    for (worker, part) in zip(workers, parts) {
      worker.start { worker in
        worker.computeItems { try Self.isInOrder(part[$0], worker.connection) ? () : nil }
      }
    }
  }

  /// Whether a chunk was found in order. Otherwise it is the caller's from now on.
  func passed(_ chunk: Int) -> Bool {
    guard let item = items[chunk] else { return false }
    if let known = answers[chunk] { return known }
    let hasPassed = workers[item.worker].take(item.number, waiting: .never) != nil
    answers[chunk] = hasPassed
    return hasPassed
  }

  /// Ends the threads and waits for them.
  func stop() { for worker in workers { worker.stop() } }

  /// Waits until nothing is left to do.
  func finish() { for worker in workers { worker.fill() } }

  private static func isInOrder(_ work: Work, _ connection: StoreConnection) throws -> Bool {
    var isInOrder = true
    try connection.query(work.sql, [.integer(work.range.first), .integer(work.range.last)]) { _ in
      isInOrder = false
      return false
    }
    return isInOrder
  }
}

extension Executor {
  /// Starts to validate the remaining chunks if that is possible while indexes are built.
  ///
  /// - Parameter rest: The chunks to come, the first of which builds an index.
  func validateAhead(_ rest: ArraySlice<Chunk>) throws -> SpeculativeValidator? {
    // Only indexes may change the store from here on.
    guard rest.allSatisfy({ [.index, .validate, .unique].contains($0.phase) }) else { return nil }
    var works: [SpeculativeValidator.Work] = []
    var rows: Int64 = 0
    for chunk in rest {
      guard let entity = validatedEntity(chunk) else { continue }
      let validation = try program.validation.entity(entity, database: StoreConnection.sourceSchema)
      // A header is at the start of its row. The rest of the row may be on pages that a new index moves.
      guard validation.rules.allSatisfy(\.readsHeaderOnly),
        try program.destinationTable(of: entity).columns.count <= SpeculativeValidator.limitColumns
      else { continue }
      works.append(.init(id: chunk.id, sql: validation.sql, range: chunk.range))
      rows += chunk.rows
    }
    guard !works.isEmpty, rows >= EngineTuning.current.leastValidatedRows else { return nil }
    let others = ReaderPool.others(budget: job.memory, readers: EngineTuning.current.readers ?? ReaderPool.processors)
    return try SpeculativeValidator(
      works, path: connection.path, threads: max(1, others.count), cache: others.cache)
  }
}
