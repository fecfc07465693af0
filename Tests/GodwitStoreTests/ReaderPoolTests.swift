import Foundation
import GodwitModel
import GodwitStore
import Synchronization
import TestSupport
import Testing

/// The threads that read one store.
@Suite struct ReaderPoolTests {
  /// A connection with a store of 1000 numbers attached as `source`.
  private func connection(in folder: TemporaryFolder) throws -> StoreConnection {
    let store = try StoreConnection(path: folder.file("numbers.sqlite"), create: true)
    try store.execute("CREATE TABLE numbers (n INTEGER PRIMARY KEY)")
    try store.execute(
      "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 1000) INSERT INTO numbers SELECT i FROM c"
    )
    try store.close()
    let connection = try StoreConnection(path: nil)
    try connection.attachSource(StoreFiles(path: folder.file("numbers.sqlite")))
    return connection
  }

  private func pool(_ connection: StoreConnection, readers: Int) -> ReaderPool {
    ReaderPool(connection, budget: .mebibytes(64), readers: readers)
  }

  @Test(arguments: [1, 2, 5]) func `items come back in their order, each read once`(readers: Int) throws {
    let folder = try TemporaryFolder()
    let connection = try connection(in: folder)
    let used = Mutex<Set<ObjectIdentifier>>([])
    let read = Mutex(0)
    let found = try pool(connection, readers: readers).map(Array(0..<100), isWorthThreads: true) { reader in
      used.withLock { _ = $0.insert(ObjectIdentifier(reader)) }
      return reader
    } _: { reader, item in
      read.withLock { $0 += 1 }
      return try reader.integer("SELECT SUM(n) FROM source.numbers WHERE n > ?1", [.integer(Int64(item))])
    }
    let expected = (Int64(0)..<100).map { item -> Int64? in 500_500 - item * (item + 1) / 2 }
    #expect(found == expected)
    #expect(read.withLock { $0 } == 100)
    #expect(used.withLock { $0.count } <= readers)
    #expect(used.withLock { $0.contains(ObjectIdentifier(connection)) })
  }

  @Test func `all items are read where the system makes no thread`() throws {
    let folder = try TemporaryFolder()
    let pool = pool(try connection(in: folder), readers: 4)
    let found = try ThreadRefusal.run {
      try pool.map(Array(0..<20), isWorthThreads: true) {
        $0
      } _: { reader, item in
        try reader.integer("SELECT COUNT(*) FROM source.numbers WHERE n <= ?1", [.integer(Int64(item))]) ?? -1
      }
    }
    #expect(found == Array(Int64(0)..<20))
  }

  @Test(arguments: [1, 3]) func `the lowest item that fails is told of`(readers: Int) throws {
    let folder = try TemporaryFolder()
    let pool = pool(try connection(in: folder), readers: readers)
    for _ in 0..<20 {
      let error = #expect(throws: GodwitError.self) {
        try pool.map(Array(0..<50), isWorthThreads: true) {
          $0
        } _: { _, item in
          if item >= 7 { throw GodwitError(.dataWrong, "item \(item)") }
        }
      }
      #expect(error?.message == "item 7")
    }
  }

  @Test func `an interrupt reaches all readers`() throws {
    let folder = try TemporaryFolder()
    let connection = try connection(in: folder)
    let started = Mutex(0)
    let endless = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT COUNT(*) FROM c"
    let error = #expect(throws: GodwitError.self) {
      // The calling thread tells the interrupt when both readers are at work.
      try pool(connection, readers: 2).map([0, 1], isWorthThreads: true) {
        $0
      } progress: { _ in
        if started.withLock({ $0 }) == 2 { connection.interrupt() }
      } _: { reader, _ in
        started.withLock { $0 += 1 }
        _ = try reader.integer(endless)
      }
    }
    #expect(error?.code == .stopped)
  }

  @Test func `progress rises to the weight of all items`() throws {
    let folder = try TemporaryFolder()
    var told: [Int64] = []
    _ = try pool(try connection(in: folder), readers: 3).map(
      Array(0..<30), weights: (0..<30).map { Int64($0) }, isWorthThreads: true
    ) {
      $0
    } progress: {
      told.append($0)
    } _: { reader, _ in
      try reader.integer("SELECT COUNT(*) FROM source.numbers")
    }
    #expect(told == told.sorted() && told.last ?? 0 <= 435 && !told.isEmpty)
  }

  @Test(arguments: [(Int64(16), 3), (64, 9), (4, 1)])
  func `a small budget has few readers`(mebibytes: Int64, most: Int) throws {
    let folder = try TemporaryFolder()
    let used = Mutex(0)
    _ = try ReaderPool(try connection(in: folder), budget: .mebibytes(mebibytes), readers: 100).map(
      Array(0..<200), isWorthThreads: true
    ) { reader in
      used.withLock { $0 += 1 }
      return reader
    } _: { _, _ in
    }
    #expect(used.withLock { $0 } <= most)
  }
}
