import Foundation
package import GodwitModel

/// The threads that read a store: one for each processor, as far as the budget has a page cache for it.
///
/// Work that only reads goes through `map`, in items that depend on nothing but the store. The calling thread is one of
/// the readers. The others have connections of their own, which exist while `map` runs.
///
/// One place decides on threads. `PrefetchWorker` and `BackgroundTask` stay beside it, because their work has an order.
///
/// A store with a write-ahead log or a hot journal, and an atomic store, has one reader: it cannot be opened a second
/// time.
package struct ReaderPool {
  private let connection: StoreConnection
  private let cache: ByteCount
  private let count: Int

  /// A reader with a smaller page cache reads pages again and again.
  private static let leastCacheBytes: Int64 = 1 << 20
  private static let secondsBetweenReports = 0.1

  package static var processors: Int { ProcessInfo.processInfo.activeProcessorCount }

  /// - Parameters:
  ///   - connection: Has the store. The calling thread reads with it.
  ///   - budget: The memory of the process. All other readers together get an eighth of it for pages.
  ///   - readers: The threads, the calling one included.
  package init(_ connection: StoreConnection, budget: ByteCount, readers: Int = Self.processors) {
    self.connection = connection
    let others = Self.others(budget: budget, readers: readers)
    (count, cache) = (1 + others.count, others.cache)
  }

  /// The readers beside the calling thread, and the page cache of each.
  package static func others(budget: ByteCount, readers: Int = Self.processors) -> (count: Int, cache: ByteCount) {
    let share = budget.bytes / 8
    let count = max(0, min(readers - 1, Int(clamping: share / leastCacheBytes)))
    return (count, .init(bytes: max(leastCacheBytes, min(share / Int64(max(1, count)), budget.bytes / 32))))
  }

  /// The state that the readers share.
  private final class Work<Item, Output>: @unchecked Sendable {
    private let lock = NSLock()
    private let items: [Item]
    private let weights: [Int64]
    private var next = 0
    private var results: [Result<Output, any Error>?]
    private var done: Int64 = 0
    private var hasFailed = false
    private var isStopped = false

    init(_ items: [Item], weights: [Int64]) {
      (self.items, self.weights) = (items, weights)
      results = items.map { _ in nil }
    }

    private func claim() -> Int? {
      lock.withLock {
        guard !hasFailed, next < items.count else { return nil }
        defer { next += 1 }
        return next
      }
    }

    /// Reads item after item. Items begin in ascending order, so that the failure of the lowest one is known.
    func run(after: () -> Void, _ body: (Item) throws -> Output) {
      while let number = claim() {
        let result = Result { try body(items[number]) }
        lock.withLock {
          if case .failure(let error) = result {
            hasFailed = true
            // A stop ends the other readers too. After a wrong row, the items before it that have begun are completed.
            if (error as? GodwitError)?.code == .stopped { isStopped = true }
          }
          results[number] = result
          done += weights[number]
        }
        after()
      }
    }

    func fail(_ error: any Error) {
      lock.withLock { () -> Void in
        hasFailed = true
        if results.isEmpty { return }
        let free = results.firstIndex { $0 == nil } ?? results.count - 1
        results[free] = .failure(error)
      }
    }

    var mustStop: Bool { lock.withLock { isStopped } }
    var finished: Int64 { lock.withLock { done } }

    func outputs() throws -> [Output] {
      let results = lock.withLock { self.results }
      // Interrupts that follow a failure say nothing.
      let failures = results.compactMap { result -> (any Error)? in
        if case .failure(let error)? = result { return error }
        return nil
      }
      if let first = failures.first(where: { ($0 as? GodwitError)?.code != .stopped }) ?? failures.first { throw first }
      return try results.compactMap { try $0?.get() }
    }
  }

  /// Reads items on all threads.
  ///
  /// - Parameters:
  ///   - weights: How much work each item is, for `progress`.
  ///   - isWorthThreads: Whether there is enough to read.
  ///   - context: The state that a reader needs beside its connection.
  ///   - progress: Called on the calling thread now and then, with the total weight of the finished items.
  ///   - body: Reads one item.
  /// - Returns: The results of `body`, in the order of the items.
  /// - Throws: The failure of the lowest item that failed.
  package func map<Item, Context, Output>(
    _ items: [Item], weights: [Int64]? = nil, isWorthThreads: Bool,
    context: @escaping (StoreConnection) throws -> Context, progress: (Int64) -> Void = { _ in },
    _ body: @escaping (Context, Item) throws -> Output
  ) throws -> [Output] {
    let work = Work<Item, Output>(items, weights: weights ?? items.map { _ in 1 })
    var others: [StoreConnection] = []
    defer { for other in others { try? other.close() } }
    while isWorthThreads, others.count + 1 < min(count, items.count),
      let reader = try connection.anotherReader(cache: cache)
    {
      reader.whileRunning(stopIf: { work.mustStop })
      others.append(reader)
    }
    let tasks = others.map { reader in
      let handed = Handed(value: (reader: reader, context: context, body: body))
      return BackgroundTask<Void> { _ in
        let (reader, context, body) = handed.value
        do {
          let own = try context(reader)
          work.run(after: {}) { try body(own, $0) }
        } catch { work.fail(error) }
      }
    }
    // All threads have finished reading when this returns.
    defer { for task in tasks { _ = try? task.value() } }
    try connection.accompanied(by: others) {
      func report() { progress(work.finished) }
      let own = try context(connection)
      connection.ticking(report) { work.run(after: report) { try body(own, $0) } }
      for task in tasks {
        while try task.value(for: Self.secondsBetweenReports) == nil { report() }
      }
      report()
    }
    return try work.outputs()
  }
}
