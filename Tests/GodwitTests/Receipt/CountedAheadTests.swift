import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// The checksums of a receipt that are counted beside SQLite's check of a new store.
struct CountedAheadTests {
  @Test func `the count of a new store is recorded before its ledger goes, and is that of a full reading`() throws {
    let entities: [EntityDescription] = [
      .make("Person", ["name": .string, "photo": .binary], [.toOne("home", "Place", inverse: "people")]),
      .make("Place", ["street": .string], [.toMany("people", "Person", inverse: "home")]),
    ]
    let fixture = try MigrationFixture(entities, to: entities)
    fixture.mappings = [try .make("Person", "Person", kind: .copy), try .make("Place", "Place", kind: .copy)]
    try fixture.build { store in
      for key in Int64(1)...9 { try store.insert("Place", key: key, attributes: ["street": .init("s\(key)")]) }
      for key in Int64(1)...60 {
        try store.insert(
          "Person", key: key, attributes: ["name": .init("p\(key)"), "photo": .data([UInt8(key)])],
          relationships: ["home": [key % 9 + 1]])
      }
    }
    var job = try fixture.job
    job.receipt = .besideDestination
    let folder = WorkFolder.path(forDestination: job.destinationPath)
    var isCounted: Bool?
    let layer = try FaultLayer(.none)
    layer.beforeEach = { _ in
      if let outcome = try? WorkJournal.read(in: folder)?.outcome { isCounted = outcome.content != nil }
    }
    try layer.run { _ = try MigrationManager(job).run() }
    #expect(isCounted == true)
    let found = try ReceiptCheck(receipt: URL(filePath: job.destinationPath + ".receipt.json")).run().findings
    #expect(found.isEmpty, "\(found)")
  }
}
