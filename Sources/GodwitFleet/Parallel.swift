import Foundation
import GodwitStore
import Synchronization

/// Work on many items by a few threads that end with it.
enum Parallel {
  private final class State<Result: Sendable>: Sendable {
    struct Content {
      var next = 0
      var results: [Result?]
      var threads = 0
    }

    let content: Mutex<Content>
    let change = NSCondition()

    init(count: Int) { content = Mutex(Content(results: Array(repeating: nil, count: count))) }

    func take() -> Int? {
      content.withLock { content in
        guard content.next < content.results.count else { return nil }
        defer { content.next += 1 }
        return content.next
      }
    }

    func end() {
      content.withLock { $0.threads -= 1 }
      change.lock()
      change.broadcast()
      change.unlock()
    }
  }

  /// What `body` makes of each item, in their order.
  static func map<Item: Sendable, Result: Sendable>(
    _ items: [Item], threads: Int, _ body: @escaping @Sendable (Item) -> Result
  ) -> [Result] {
    let state = State<Result>(count: items.count)
    let work: @Sendable () -> Void = {
      while let index = state.take() {
        let result = body(items[index])
        state.content.withLock { $0.results[index] = result }
      }
    }
    for _ in 1..<max(1, min(threads, items.count)) {
      state.content.withLock { $0.threads += 1 }
      // Where the system makes no thread, the others do its work.
      let isStarted = WorkerThread.start {
        work()
        state.end()
      }
      if !isStarted { state.content.withLock { $0.threads -= 1 } }
    }
    work()
    state.change.lock()
    while state.content.withLock({ $0.threads > 0 }) { state.change.wait() }
    state.change.unlock()
    return state.content.withLock { $0.results.compactMap(\.self) }
  }
}
