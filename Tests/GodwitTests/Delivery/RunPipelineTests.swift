import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import Godwit

/// The phases of a run, and what each end of it leaves.
struct RunPipelineTests {
  private let fixture: MigrationFixture

  init() throws { fixture = try MigrationFixture.notes() }

  private func world(_ change: (inout MigrationJob) throws -> Void = { _ in }) throws -> RunWorld {
    var job = try fixture.job
    job.receipt = .besideDestination
    try change(&job)
    return RunWorld(job)
  }

  private func run(_ world: RunWorld, progress: (MigrationProgress) -> Void = { _ in }) throws -> MigrationSummary {
    try RunPipeline(request: world.request, watch: world.watch).run(progress: progress)
  }

  @Test func `the last progress is shown when the store and its receipt are in place and the folder is gone`() throws {
    let world = try world()
    var last: (percent: Double, isDelivered: Bool, isReceipted: Bool, hasFolder: Bool)?
    let path = world.job.destinationPath
    let summary = try run(world) { progress in
      let exists = FileManager.default.fileExists(atPath:)
      last = (progress.percent, exists(path), exists(path + Receipt.suffix), exists(world.job.workPath))
    }
    let seen = try #require(last)
    #expect(summary.outcome == .finished && seen.percent == 100)
    #expect(seen.isDelivered && seen.isReceipted && !seen.hasFolder)
  }

  @Test func `run.json names the phases in their order`() throws {
    let world = try world {
      $0.destinationPath = $0.sourcePath
      $0.existingDestination = .inPlace(keepsOld: true)
    }
    var phases: [WorkJournal.Phase] = []
    let layer = try FaultLayer(.none)
    layer.afterEach = { _ in
      guard let phase = try? WorkJournal.read(in: world.job.workPath)?.phase, phases.last != phase else { return }
      phases.append(phase)
    }
    #expect(try layer.run { try run(world) }.outcome == .finished)
    #expect(phases == [.making, .made, .exchanging, .placing])
  }

  @Test func `a run that is stopped keeps its folder, and one that begins again leaves no trace`() throws {
    for durability in [MigrationJob.Durability.resumable, .restart] {
      let world = try world { $0.durability = durability }
      let summary = try run(world) { _ in world.watch.control.stop(reason: "test") }
      #expect(summary.outcome == .stopped && summary.reason == "test")
      #expect(try world.hasFolder == (durability == .resumable))
      _ = try MigrationManager.discard(destination: world.job.destinationPath)
    }
  }

  @Test func `a run that fails before anything is made leaves no folder`() throws {
    fixture.mappings = [try .make("Note", "Note", attributes: ["absent": "1"])]
    let world = try world()
    #expect(throws: GodwitError.self) { try run(world) }
    #expect(try !world.hasFolder && !WorkFolder.exists(world.job.destinationPath.parentPath))
  }

  @Test func `a run that finds its job done claims no folder`() throws {
    let world = try world()
    _ = try run(world)
    let layer = try FaultLayer(.none)
    let summary = try layer.run { try run(world) }
    #expect(summary.outcome == .alreadyFinished && layer.operations.isEmpty, "\(layer.operations)")
  }

  @Test func `what earlier runs have made stays resumable, whatever a later run is asked for`() throws {
    try world().stop()
    let world = try world { $0.durability = .restart }
    let summary = try run(world)
    #expect(summary.outcome == .finished && summary.wasResumed)
  }
}
