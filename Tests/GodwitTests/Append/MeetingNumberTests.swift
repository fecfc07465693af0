import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

@testable import GodwitEngine

/// Keys of `unique-by` that are two numbers in the source, and one in the column of the destination.
@Suite struct MeetingNumberTests {
  /// The values that a column of the type holds for 2⁵³, 2⁵³ + 1, 2⁵³ + 2 and 2⁵³ + 3.
  private static func held(_ type: AttributeType) -> [String] {
    type == .decimal
      ? ["9007199254740992", "9007199254740993", "9007199254740994", "9007199254740995"]
      : ["9007199254740992", "9007199254740992", "9007199254740994", "9007199254740996"]
  }

  @Test(arguments: [AttributeType.double, .float, .decimal, .integer64], [false, true])
  func `numbers that one column value holds are one key, within a store and between two`(
    type: AttributeType, inSwift: Bool
  ) throws {
    try EngineTuning.with(\.runsAllInSwift, inSwift) {
      let fixture = try MigrationFixture(
        [.make("Thing", ["n": .integer64, "name": .string])], to: [.make("Thing", ["n": type, "name": .string])])
      var expected: [String: String] = [:]
      for (place, offsets) in [[0, 1], [1, 2, 3]].enumerated() {
        let path = fixture.folder.file("\(place).sqlite")
        let store = try StoreBuilder(path: path, model: fixture.source)
        let known = Set(expected.keys)
        var met: Set<String> = []
        for (key, offset) in offsets.enumerated() {
          let name = "\(place)\(offset)"
          try store.insert(
            "Thing", key: Int64(key + 1), attributes: ["n": .integer(1 << 53 + Int64(offset)), "name": .init(name)])
          let number = type == .integer64 ? "\(Int64(1) << 53 + Int64(offset))" : Self.held(type)[offset]
          if known.contains(number) { met.insert(number) }
          if expected[number] == nil { expected[number] = name }
        }
        try store.finish()
        let thing = try EntityMapping.make(
          "Thing", "Thing", uniqueBy: ["n"], attributes: ["n": "$source.n", "name": "$source.name"])
        var job = MigrationJob(
          name: "\(place)", sourcePath: path, destinationPath: fixture.destinationPath, sourceModel: fixture.source,
          destinationModel: fixture.destination, mappingModels: [MappingModel(entityMappings: [thing])])
        job.existingDestination = .append
        let plan = try MigrationManager(job).plan()
        let summary = try MigrationManager(job).run()
        for notes in [plan.codedNotes, summary.codedNotes] {
          let text = notes.first { $0.code == .met }?.text ?? "0 "
          #expect(text.hasPrefix("\(met.count) "), "\(text)")
        }
        let found = try fixture.rows("SELECT CAST(ZN AS INTEGER), ZNAME FROM source.ZTHING ORDER BY 1")
        #expect(found == expected.map { "\($0.key)|\($0.value)" }.sorted())
        let report = try Verifier(job: job).run()
        #expect(report.isClean, "\(report)")
      }
    }
  }
}
