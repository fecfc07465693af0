import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// How chunks are carried out: each with its rows and its entry in the ledger, or neither.
struct ExecutorTests {
  private func fixture() throws -> MigrationFixture {
    let fixture = try MigrationFixture(
      [.make("Person", ["name": .string])], to: [.make("Person", ["name": .string])])
    fixture.chunkRows = 3
    try fixture.build { store in
      for key in Int64(1)...9 { try store.insert("Person", key: key, attributes: ["name": .init("n\(key)")]) }
    }
    fixture.mappings = [try .make("Person", "Person", attributes: ["name": "$source.name"])]
    return fixture
  }

  /// Rows of the store under construction, and rows and number of the chunks that the ledger says are done.
  private func state(_ fixture: MigrationFixture) throws -> (rows: Int64?, vouched: Int64?, done: Int64?) {
    let store = try StoreConnection(path: fixture.destinationPath + ".godwit/store.sqlite")
    defer { try? store.close() }
    return (
      try store.integer("SELECT COUNT(*) FROM ZPERSON"),
      try store.integer("SELECT COALESCE(SUM(rows), 0) FROM godwit_chunk WHERE done AND stage = 'create'"),
      try store.integer("SELECT COUNT(*) FROM godwit_chunk WHERE done")
    )
  }

  @Test func `after every chunk a stopped run has exactly the rows that its ledger records`() throws {
    let fixture = try fixture()
    var seen: [Int64] = []
    while try MigrationManager(fixture.job).run(maximumSeconds: 0).outcome == .stopped {
      let state = try state(fixture)
      #expect(state.rows == state.vouched)
      seen.append(try #require(state.done))
      try #require(seen.count < 100)
    }
    // Three chunks; after the last one the run is finished.
    #expect(seen == [1, 2])
    #expect(try fixture.rows("SELECT COUNT(*) FROM source.ZPERSON") == ["9"])
  }

  @Test func `a chunk that fails leaves neither a row nor an entry, and names its keys`() throws {
    let fixture = try fixture()
    try fixture.alter("UPDATE ZPERSON SET ZNAME = x'07' WHERE Z_PK = 5")
    let error = #expect(throws: GodwitError.self) { try MigrationManager(fixture.job).run() }
    #expect(error?.code == .dataWrong)
    #expect(error?.description.contains("p5") == true, "\(String(describing: error))")
    let state = try state(fixture)
    #expect(state.rows == 3 && state.vouched == 3)
  }

  @Test func `a chunk whose source changed meanwhile leaves neither a row nor an entry`() throws {
    let fixture = try fixture()
    var isChanged = false
    let error = #expect(throws: GodwitError.self) {
      try MigrationManager(fixture.job).run { progress in
        guard progress.chunk == 1, !isChanged else { return }
        isChanged = true
        try? fixture.alter("UPDATE ZPERSON SET ZNAME = 'new' WHERE Z_PK = 9")
      }
    }
    #expect(isChanged && error?.stopReason == .sourceChanged, "\(String(describing: error))")
    let state = try state(fixture)
    #expect(state.rows == 3 && state.vouched == 3)
  }
}
