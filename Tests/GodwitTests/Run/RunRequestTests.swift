import Foundation
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import Godwit

/// Refusals before a run looks at the destination.
struct RunRequestTests {
  @Test(arguments: ["source.sqlite-wal", "source.sqlite-journal", "o.sqlite-shm", "x.godwit/o.sqlite", ".x_SUPPORT/o"])
  func `a destination does not get the name of a log, and is in no folder of a store`(name: String) throws {
    let entity = EntityDescription.make("A", ["n": .integer32])
    let fixture = try MigrationFixture([entity], to: [entity])
    try fixture.build { store in try store.insert("A", key: 1) }
    fixture.mappings = [try .make("A", "A", kind: .copy)]
    var job = try fixture.job
    job.destinationPath = URL(filePath: fixture.sourcePath).deletingLastPathComponent().path + "/" + name
    for work in [{ _ = try MigrationManager(job).plan() }, { _ = try MigrationManager(job).run() }] {
      let error = try #require(throws: GodwitError.self) { try work() }
      #expect(error.code == .configuration && error.message.contains("cannot write the destination"), "\(error)")
    }
    #expect(!FileManager.default.fileExists(atPath: job.destinationPath))
    #expect(!FileManager.default.fileExists(atPath: WorkFolder.path(forDestination: job.destinationPath)))
  }
}
