#if canImport(CoreData)
  import CoreData
  import Foundation
  import GodwitJob
  import GodwitModel
  import GodwitSynthesis
  import Testing

  @testable import Godwit

  @Suite(.serialized) struct `Migration agrees with Core Data` {
    @Test func `an inferred migration gives the objects and links of NSMigrationManager`() throws {
      let folder = try TruthFolder()
      var lines: [String] = []
      for bundle in try TruthBundle.all() {
        let versions = try bundle.versions(in: folder)
        guard let new = versions.last else { continue }
        for old in versions.dropLast() {
          guard let own = try? MappingModel(inferredFrom: old.model, to: new.model),
            let apple = try? NSMappingModel.inferredMappingModel(
              forSourceModel: old.apple(), destinationModel: new.apple())
          else { continue }
          let place = "\(bundle), \(old.name) to \(new.name)"
          let source = folder.file("\(UUID().uuidString).sqlite")
          try StoreSynthesis(model: old.model, rows: 60, seed: 11).write(to: source.path)
          let (theirs, ours) = (folder.file("\(UUID().uuidString).sqlite"), folder.file("\(UUID().uuidString).sqlite"))
          var refusal: (any Error)?
          do {
            let manager = NSMigrationManager(sourceModel: try old.apple(), destinationModel: try new.apple())
            try manager.migrateStore(
              from: source, sourceType: NSSQLiteStoreType, options: TruthStore.options, with: apple,
              toDestinationURL: theirs, destinationType: NSSQLiteStoreType, destinationOptions: TruthStore.options)
          } catch { refusal = error }
          var failure: (any Error)?
          do {
            let job = MigrationJob(
              name: "truth", source: source, destination: ours, sourceModel: old.model, destinationModel: new.model,
              mappingModels: [own])
            try MigrationManager(job).run()
          } catch { failure = error }
          #expect(
            (refusal == nil) == (failure == nil),
            "\(place): Core Data \(refusal.map { "\($0)" } ?? "migrates"), Godwit \(failure.map { "\($0)" } ?? "migrates")"
          )
          guard refusal == nil, failure == nil else {
            lines.append("\(place): not migrated")
            continue
          }
          let (first, second) = (try Self.shapes(theirs, new), try Self.shapes(ours, new))
          let (a, b) = (Set(first), Set(second))
          #expect(
            first == second,
            "\(place): \(a.subtracting(b).count) objects of Core Data, \(b.subtracting(a).count) of Godwit")
          lines.append("\(place): \(first.count) objects of Core Data, \(second.count) of Godwit")
          lines += a.subtracting(b).sorted().prefix(3).map { "  Core Data alone: \($0.prefix(2000))" }
          lines += b.subtracting(a).sorted().prefix(3).map { "  Godwit alone:    \($0.prefix(2000))" }
        }
      }
      try TruthLog.write(lines, to: "migration")
    }

    private static func shapes(_ url: URL, _ version: TruthVersion) throws -> [String] {
      let store = try TruthStore(url, model: version.apple())
      let content = try store.content()
      try store.close()
      return content.shapes()
    }
  }
#endif
