import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// The room that a job in place needs, by each of its ways.
struct InPlaceRoomTests {
  /// Definitions alone add a column of nils. A default is written into each row.
  private func fixture(_ way: MigrationPlan.Strategy) throws -> MigrationFixture {
    var more = AttributeDescription(name: "zmore", type: .string)
    if way != .definitions { more.defaultValue = .init("more") }
    var note = EntityDescription.make("Note", ["text": .string])
    note.attributes.append(more)
    let fixture = try MigrationFixture([.make("Note", ["text": .string])], to: [note])
    try fixture.build { store in
      for key in Int64(1)...400 {
        try store.insert("Note", key: key, attributes: ["text": .init(String(repeating: "note", count: 100))])
      }
    }
    try fixture.infer()
    return fixture
  }

  @Test(arguments: [MigrationPlan.Strategy.definitions, .sql, .executor], [false, true])
  func `plan and run agree on the room that a job in place needs`(
    way: MigrationPlan.Strategy, keepsOld: Bool
  ) throws {
    for isEnough in [false, true] {
      let fixture = try fixture(way)
      var job = try fixture.job
      job.steps[0].origin = MigrationStep.inferredOrigin
      // Objects are compared with those of the source, which statements change.
      if way == .executor { (job.keepsInvalid, job.chunkRows) = (true, 100) }
      job.destinationPath = job.sourcePath
      job.existingDestination = .inPlace(keepsOld: keepsOld)
      let plan = try MigrationManager(job).plan()
      #expect(plan.steps.first?.strategy == way)
      let need = plan.disk.totalBytes
      if way == .definitions { #expect((need > plan.sourceBytes) == keepsOld && need > 0, "\(need)") }
      job.hooks.freeSpace = { _ in FreeSpace(device: 1, bytes: need - (isEnough ? 0 : 1)) }
      guard !isEnough else {
        #expect(try MigrationManager(job).runAsPlanned().outcome == .finished)
        continue
      }
      let error = try #require(throws: GodwitError.self) { try MigrationManager(job).runAsPlanned() }
      #expect(error.code == .inputOutput && error.message.contains("of free space in"), "\(error)")
      #expect(try StoreMetadata(readingStoreAt: job.sourcePath).versionHashes.count == 1)
    }
  }
}
