import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitSynthesis
import GodwitXcode
import TestSupport
import Testing

/// Versions that real applications shipped, hop by hop and at once.
@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct `Fusing of shipped versions` {
  /// The versions of every model of the corpus in their order, three or more that differ.
  static let histories: [[ManagedObjectModel]] = {
    guard let walk = FileManager.default.enumerator(atPath: Corpus.path("")) else { return [] }
    var found: [[ManagedObjectModel]] = []
    for case let name as String in walk where name.hasSuffix(".xcdatamodeld") {
      guard let models = try? ModelBundle(contentsOf: Corpus.path(name)).models() else { continue }
      var kept: [ManagedObjectModel] = []
      for model in models.sorted(by: { ModelBundle.precedes($0.name, $1.name) })
      where !kept.contains(where: { $0.isCompatible(with: model.versionHashes) }) { kept.append(model) }
      if kept.count > 2, !found.contains(kept) { found.append(kept) }
    }
    return found.sorted { ($0[0].name, $0.count) < ($1[0].name, $1.count) }
  }()

  @Test func `fused chains of three corpus versions give the same store as their hops`() throws {
    var (fused, apart, compared) = (0, 0, 0)
    for history in Self.histories {
      for start in 0..<(history.count - 2) {
        let models = Array(history[start..<(start + 3)])
        let steps = zip(models, models.dropFirst()).compactMap { source, destination -> MigrationStep? in
          guard let mapping = try? MappingModel(inferredFrom: source, to: destination) else { return nil }
          return MigrationStep(
            sourceModel: source, destinationModel: destination, mappingModels: [mapping],
            origin: MigrationStep.inferredOrigin)
        }
        guard steps.count == 2 else { continue }
        guard case .fused? = StepFusion.outcome(steps[0], steps[1]) else {
          apart += 1
          continue
        }
        fused += 1
        // A sample on every change, all of them in the long tier.
        guard TestTier.isLong || fused % 16 == 0 else { continue }
        let folder = try TemporaryFolder()
        var job = MigrationJob(
          name: "history", sourcePath: folder.file("in.sqlite"), destinationPath: folder.file("once/out.sqlite"),
          first: steps[0], later: [steps[1]], chunkRows: 50)
        job.now = Date(timeIntervalSinceReferenceDate: 0)
        let path = models.map { "'\($0.name)'" }.joined(separator: ", ")
        do { try StoreSynthesis(model: models[0], rows: 60, seed: 1).write(to: job.sourcePath) } catch { continue }
        let once: StoreDump
        do {
          try MigrationManager(job).run()
          once = try StoreDump(job.destinationPath)
        } catch let error as GodwitError {
          var stepped = job
          stepped.hooks.fusesSteps = false
          let other = #expect(throws: GodwitError.self, "\(path)") { try MigrationManager(stepped).run() }
          #expect(other?.code == error.code, "\(path)")
          continue
        }
        job.hooks.fusesSteps = false
        job.destinationPath = folder.file("hops/out.sqlite")
        try MigrationManager(job).run()
        let hops = try StoreDump(job.destinationPath)
        #expect(once == hops, "\(path): \(once.firstDifference(from: hops) ?? "")")
        compared += 1
      }
    }
    #expect(
      fused > 10 && apart > 0 && compared > TestTier.choose(2, long: 5),
      "\(fused) fused, \(apart) apart, \(compared) compared")
  }
}
