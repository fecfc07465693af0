import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@Suite struct WorkerThreadTests {
  @Test func `a thread that cannot be created is an error`() {
    let isStarted = ThreadRefusal.run { WorkerThread.start { Issue.record("it ran") } }
    #expect(!isStarted)
    #expect(WorkerThread.refusal(to: "work").code == .inputOutput)
    let over = DispatchSemaphore(value: 0)
    #expect(WorkerThread.start { over.signal() })
    over.wait()
  }

  @Test func `the waiting thread does background work that has no thread`() throws {
    let work = ThreadRefusal.run { BackgroundTask { _ in 7 } }
    #expect(try work.valueIfReady() == nil)
    #expect(try work.value() == 7)
    #expect(try work.valueIfReady() == 7)
    let failing = ThreadRefusal.run { BackgroundTask<Int> { _ in throw GodwitError(.dataWrong, "no") } }
    #expect(throws: GodwitError(.dataWrong, "no")) { try failing.value { true } }
  }

  @Test func `cancelled background work is abandoned, and done by the next waiter`() throws {
    let work = ThreadRefusal.run {
      BackgroundTask { isWanted in
        guard isWanted() else { throw CancellationError() }
        return 7
      }
    }
    #expect(try work.value { false } == nil)
    #expect(try work.value { true } == 7)
  }

  /// Rows enough for every second thread, with expressions in Swift, `unique-by`, and a source that is checked.
  private func content(refusing: Bool) throws -> [String] {
    let person = EntityDescription.make("Person", ["age": .integer16, "name": .string])
    var later = person
    later.attributes.append(AttributeDescription(name: "code", type: .string))
    let fixture = try MigrationFixture([person], to: [later])
    try fixture.build { store in
      for key in Int64(1)...300 {
        try store.insert("Person", key: key, attributes: ["age": .integer(key), "name": .init("person \(key % 40)")])
      }
    }
    fixture.mappings = [
      try .make("Person", "Person", name: "All", kind: .copy),
      try .make(
        "Person", "Person", name: "Unique", uniqueBy: ["name"],
        attributes: ["name": "$source.name", "code": "{$source.name, 'none'}[FIRST]"]),
    ]
    func work() throws { _ = try fixture.run() }
    try EngineTuning.with(\.leastCountedKeys, 0) {
      try EngineTuning.with(\.expressions.leastRows, 0) {
        try EngineTuning.with(\.uniqueKeys.leastRows, 0) {
          try EngineTuning.with(\.leastValidatedRows, 0) {
            try EngineTuning.with(\.largeSourceBytes, 0) {
              if refusing { try ThreadRefusal.run(work) } else { try work() }
            }
          }
        }
      }
    }
    return try fixture.rows("SELECT Z_PK, ZAGE, ZNAME, ZCODE FROM ZPERSON ORDER BY 1")
  }

  @Test func `a run without a second thread makes the same store`() throws {
    let alone = try content(refusing: true)
    #expect(alone.count == 340)
    #expect(try content(refusing: false) == alone)
  }
}
