import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@Suite struct PrefetchWorkerTests {
  private typealias Worker = PrefetchWorker<Int>

  private func worker(count: Int = .max, first: Int = 0, lead: Int? = 1, room: Int = .max) throws -> Worker {
    Worker(try StoreConnection(path: nil), count: count, first: first, lead: lead, room: room)
  }

  /// The items that the second thread has computed, in order.
  private final class Log: @unchecked Sendable {
    private let lock = NSLock()
    private var items: [Int] = []

    func note(_ item: Int) { lock.withLock { items.append(item) } }
    var all: [Int] { lock.withLock { items } }
  }

  @Test func `values that were computed ahead are taken once`() throws {
    let worker = try worker(count: 3)
    defer { worker.stop() }
    worker.start { $0.computeItems { $0 * 10 } }
    worker.fill()
    #expect(worker.take(0, waiting: .never) == 0)
    #expect(worker.take(0, waiting: .never) == nil)
    #expect((1..<4).map { worker.take($0, waiting: .untilEnd) } == [10, 20, nil])
  }

  @Test func `an item that failed is left to the owner, and the next one is computed`() throws {
    let worker = try worker(count: 3)
    defer { worker.stop() }
    worker.start { worker in
      worker.computeItems { item in
        if item == 0 { throw GodwitError(.dataWrong, "no") }
        return item == 1 ? nil : item
      }
    }
    worker.fill()
    #expect((0..<3).map { worker.take($0, waiting: .untilEnd) } == [nil, nil, 2])
    #expect(worker.interrupted == nil)
  }

  @Test func `nothing more is begun after the end`() throws {
    let (worker, log) = (try worker(), Log())
    defer { worker.stop() }
    worker.start { worker in
      worker.computeItems { item in
        log.note(item)
        if item == 2 { throw Worker.End() }
        return item
      }
    }
    worker.fill()
    #expect((0..<4).map { worker.take($0, waiting: .untilEnd) } == [0, 1, nil, nil])
    #expect(log.all == [0, 1, 2])
  }

  @Test func `no more values wait than there is room for`() throws {
    let (worker, log) = (try worker(count: 100, room: 3), Log())
    defer { worker.stop() }
    worker.start { worker in
      worker.computeItems { item in
        log.note(item)
        return item
      }
    }
    worker.fill()
    #expect(log.all == [0, 1, 2])
    #expect(worker.take(0, waiting: .whileRunning) == 0)
    worker.fill()
    #expect(log.all == [0, 1, 2, 3])
    // Items that the owner has passed make room.
    #expect(worker.take(50, waiting: .whileRunning) == nil)
    worker.fill()
    #expect(log.all == [0, 1, 2, 3, 51, 52, 53])
  }

  @Test func `an item is computed by one of the two threads`() throws {
    let (worker, log) = (try worker(count: 200, first: 1, room: 8), Log())
    worker.start { worker in
      worker.computeItems { item in
        log.note(item)
        usleep(100)
        return item
      }
    }
    var own: [Int] = []
    var found: [Int] = []
    for item in 0..<200 {
      loop: while true {
        switch worker.action(for: item) {
        case .use(let value):
          found.append(value)
          break loop
        case .compute:
          own.append(item)
          found.append(item)
          break loop
        case .computeAhead(let ahead):
          own.append(ahead)
          worker.compute(ahead) { $0 }
        }
      }
    }
    worker.stop()
    #expect(found == Array(0..<200))
    #expect((own + log.all).sorted() == Array(0..<200))
    #expect(own.first == 0)
  }

  @Test func `an item that the owner asks for in any order is not begun afterwards`() throws {
    let (worker, log) = (try worker(count: 4, lead: nil), Log())
    defer { worker.stop() }
    #expect(worker.take(2, waiting: .never) == nil)
    worker.start { worker in
      worker.computeItems { item in
        log.note(item)
        return item
      }
    }
    worker.fill()
    #expect(log.all == [0, 1, 3])
    #expect(worker.take(3, waiting: .never) == 3 && worker.take(1, waiting: .never) == 1)
  }

  @Test func `without a thread every item is the owner's`() throws {
    let worker = try worker(count: 2)
    ThreadRefusal.run { worker.start { $0.computeItems { $0 } } }
    worker.fill()
    #expect(worker.take(0, waiting: .untilEnd) == nil)
    guard case .compute = worker.action(for: 1) else { return #expect(Bool(false)) }
    worker.stop()
  }

  @Test(.timeLimit(.minutes(1))) func `stopping ends a statement of the second thread`() throws {
    let worker = try worker()
    let running = DispatchSemaphore(value: 0)
    worker.start { worker in
      worker.computeItems { _ in
        running.signal()
        _ = try worker.connection.integer(
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n")
        return 0
      }
    }
    running.wait()
    worker.stop()
    #expect(worker.take(0, waiting: .untilEnd) == nil)
    // An interrupt of the owner's is not one of a user's.
    #expect(worker.interrupted == nil)
  }
}
