import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

@testable import Godwit

@Suite struct PreflightTests {
  private func manager(_ job: FaultJob, free: @escaping @Sendable (String) -> FreeSpace?) throws -> MigrationManager {
    var job = try job.job
    job.hooks.freeSpace = free
    return MigrationManager(job)
  }

  @Test(arguments: FaultJob.Kind.allCases)
  func `a job that does not fit on the disk is refused before the first write, with the figures`(kind: FaultJob.Kind)
    throws
  {
    let job = try FaultJob(kind)
    let before = try job.sourceBytes()
    let manager = try manager(job) { _ in FreeSpace(device: 1, bytes: 10_000) }
    let need = try manager.plan().diskBytes
    let plan = try manager.plan()
    #expect(plan.description.contains("warning      `godwit run` will end with 74: "))
    #expect(plan.verdict.hasPrefix("STOPS (74): cannot start '"), "\(plan.verdict)")
    #expect(plan.stopError?.code == .inputOutput)
    let error = try #require(throws: GodwitError.self) { try manager.run() }
    #expect(error.code == .inputOutput)
    // Stores are merged before the step is planned: the room of the merged store is looked for first.
    let first = kind == .merged ? try job.job.sourceFiles().size : need
    #expect(error.message.contains("expected \(ByteCount(bytes: first)) of free space"), "\(error)")
    #expect(error.message.hasSuffix("found 10 KiB"))
    #expect(error.safe == "nothing was written")
    #expect(!FileManager.default.fileExists(atPath: WorkFolder.path(forDestination: job.destinationPath)))
    if kind != .inPlace { #expect(!FileManager.default.fileExists(atPath: job.folder.file("out"))) }
    #expect(try job.sourceBytes() == before)
    #expect(try job.run().outcome == .finished)
  }

  @Test func `a file system that does not report its free space refuses no job`() throws {
    let job = try FaultJob(.everyStage)
    #expect(try manager(job) { _ in nil }.run().outcome == .finished)
  }

  @Test func `a resumed run is not asked for disk space that it already uses`() throws {
    let job = try FaultJob(.everyStage)
    #expect(try job.run(maximumSeconds: 0).outcome == .stopped)
    let resumed = try manager(job) { _ in FreeSpace(device: 1, bytes: 10_000) }
    #expect(try resumed.plan().stopError == nil)
    #expect(try resumed.run().outcome == .finished)
  }

  @Test func `disk needs of two folders are added only on one file system`() throws {
    let job = try FaultJob(.everyStage)
    let need = DiskNeed(destinationBytes: 600, temporaryBytes: 500)
    func check(_ destination: FreeSpace, _ temporary: FreeSpace) throws {
      let folder = job.folder.file("out")
      try manager(job) { $0 == folder ? destination : temporary }.job.checkSpace(need)
    }
    try check(.init(device: 1, bytes: 600), .init(device: 2, bytes: 500))
    try check(.init(device: 1, bytes: 1100), .init(device: 1, bytes: 1100))
    #expect(throws: GodwitError.self) { try check(.init(device: 1, bytes: 1099), .init(device: 1, bytes: 1099)) }
    #expect(throws: GodwitError.self) { try check(.init(device: 1, bytes: 599), .init(device: 2, bytes: 500)) }
    let error = #expect(throws: GodwitError.self) {
      try check(.init(device: 1, bytes: 600), .init(device: 2, bytes: 499))
    }
    #expect(error?.message.contains("'\(FreeSpace.temporaryFolder)', found 499 B") == true)
    #expect(error?.remedy?.contains("TMPDIR") == true)
  }

  @Test func `the ranks of order-by are in the estimate of the disk`() throws {
    func disk(isSorted: Bool) throws -> Int64 {
      let world = try SortedWorld(seed: 5, isPlain: true)
      for place in world.fixture.mappings.indices where !isSorted {
        for part in world.fixture.mappings[place].relationshipMappings.indices {
          world.fixture.mappings[place].relationshipMappings[part].order = []
        }
      }
      return try MigrationManager(world.fixture.job).plan().disk.destinationBytes
    }
    // Thirty items in five lists.
    #expect(try disk(isSorted: true) - disk(isSorted: false) >= 30 * 16 + 5 * 8)
  }

  @Test(arguments: [1, 2], [0, -1] as [Int64])
  func `a plan and a run of merged stores ask for the same room`(steps: Int, less: Int64) throws {
    let (world, later) = (try FaultJob(.merged), try FaultJob(.severalSteps))
    defer { withExtendedLifetime((world, later)) {} }
    var job = try world.job
    if steps == 2 { job.steps += try later.job.steps.dropFirst() }
    let room = try MigrationManager(job).plan().disk.destinationBytes + less
    // The merged store takes room from the moment when it is made.
    job.hooks.freeSpace = { [merged = job.workPath + "/merged.sqlite"] _ in
      FreeSpace(device: 1, bytes: room - StoreFiles.size(ofFile: merged))
    }
    #expect(try (MigrationManager(job).plan().shortage == nil) == (less == 0))
    do {
      #expect(try MigrationManager(job).run().outcome == .finished && less == 0)
    } catch let error as GodwitError { #expect(error.code == .inputOutput && less < 0, "\(error)") }
  }

  @Test func `figures that round to the same text are given in bytes`() throws {
    let need = DiskNeed(destinationBytes: 4 << 20, temporaryBytes: 0)
    let manager = try manager(FaultJob(.everyStage)) { _ in FreeSpace(device: 1, bytes: (4 << 20) - 1000) }
    let error = #expect(throws: GodwitError.self) { try manager.job.checkSpace(need) }
    // A smaller job may fit: a full disk is another thing.
    #expect(error?.topic == .tooLittleRoom)
    #expect(error?.message.contains("expected 4194304 bytes of free space") == true)
    #expect(error?.message.hasSuffix("found 4193304 bytes") == true, "\(error?.message ?? "")")
  }

  @Test func `the plan shows the disk space that is needed and free`() throws {
    let job = try FaultJob(.everyStage)
    let plan = try manager(job) { _ in FreeSpace(device: 1, bytes: 5 << 30) }.plan()
    #expect(plan.freeBytes == 5 << 30)
    #expect(plan.description.contains("beside the destination (5 GiB free)"))
  }

  @Test(arguments: TestTier.sample(FaultJob.Kind.allCases, each: 2))
  func `the disk estimate covers what a run takes and is not far above it`(kind: FaultJob.Kind) throws {
    let job = try FaultJob(kind, people: 4000, chunkRows: 1000)
    let need = try MigrationManager(job.job).plan().disk
    let folder = WorkFolder.path(forDestination: job.destinationPath)
    var peak: Int64 = 0
    // Looked at before each change of the disk, so that journals count too.
    let layer = try FaultLayer(.none)
    layer.beforeEach = { if $0.kind == .unlink || $0.kind == .sync { peak = max(peak, Self.bytes(in: folder)) } }
    _ = try layer.run { try job.run() }
    #expect(peak > 0)
    #expect(need.destinationBytes >= peak, "\(need) against \(peak)")
    // Without synced checkpoints, the estimate also covers a slow machine, where each chunk has its journal.
    #expect(need.destinationBytes <= peak * (kind == .restart ? 8 : 6), "\(need) against \(peak)")
  }

  private static func bytes(in folder: String) -> Int64 {
    var total: Int64 = 0
    for case let name as String in FileManager.default.enumerator(atPath: folder) ?? .init() {
      guard let status = FileStatus(named: folder + "/" + name), status.isFile, status.linkCount == 1 else { continue }
      total += status.size
    }
    return total
  }
}
