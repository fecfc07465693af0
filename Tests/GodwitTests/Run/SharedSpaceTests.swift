import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import Synchronization
import TestSupport
import Testing

/// The room on a disk that several jobs share.
struct SharedSpaceTests {
  /// The events, in order; from any thread.
  private final class Events: Sendable {
    private let list = Mutex<[String]>([])

    var all: [String] { list.withLock { $0 } }
    func add(_ event: String) { list.withLock { $0.append(event) } }
  }

  private let folder: TemporaryFolder
  private let space = SharedSpace()

  init() throws { folder = try TemporaryFolder() }

  /// A claim on a disk of 1,000 bytes, or of another size.
  private func claim(_ bytes: Int64, of free: Int64 = 1000, in name: String = "work") -> SpaceClaim {
    SpaceClaim(bytes: [1: bytes], folder: folder.file(name), device: 1) { [1: free] }
  }

  /// Claims on a thread of its own, since it may wait.
  private func begin(_ name: String, _ share: SpaceShare, _ claim: SpaceClaim, _ events: Events) -> DispatchGroup {
    let group = DispatchGroup()
    group.enter()
    Thread.detachNewThread {
      _ = share.claim(claim)
      events.add(name)
      group.leave()
    }
    return group
  }

  private func expectWaiting(_ count: Int, sourceLocation: SourceLocation = #_sourceLocation) {
    for _ in 0..<20_000 where space.waiting < count { usleep(500) }
    #expect(space.waiting == count, sourceLocation: sourceLocation)
  }

  @Test func `jobs that fit beside each other do not wait`() {
    let shares = (0..<3).map { _ in space.share { "asked" } }
    #expect(shares.map { $0.claim(claim(333)) } == [nil, nil, nil] && space.waiting == 0)
  }

  @Test func `a job that fits only alone waits for the others, and a smaller one behind it`() {
    let events = Events()
    let (first, large, small) = (space.share { nil }, space.share { nil }, space.share { nil })
    #expect(first.claim(claim(600)) == nil)
    let one = begin("large", large, claim(900), events)
    expectWaiting(1)
    let two = begin("small", small, claim(100), events)
    expectWaiting(2)
    events.add("end")
    first.end()
    one.wait()
    two.wait()
    #expect(events.all.first == "end" && Set(events.all) == ["end", "large", "small"])
    // Both are at work: there is room for nobody else.
    #expect(space.share { "asked" }.claim(claim(1)) == "asked")
    large.end()
    #expect(space.share { "asked" }.claim(claim(900)) == nil)
  }

  @Test func `what a job has written takes no room twice`() throws {
    let first = space.share { nil }
    #expect(first.claim(claim(1 << 20, of: 2 << 20)) == nil)
    try FileManager.default.createDirectory(atPath: folder.file("work/step"), withIntermediateDirectories: true)
    // So the disk says that 1.5 MiB are free, of which half a MiB is the first one's.
    try Data(count: 512 << 10).write(to: URL(filePath: folder.file("work/step/store.sqlite")))
    let free: Int64 = 3 << 19
    #expect(space.share { "asked" }.claim(claim((1 << 20) - 8192, of: free, in: "other")) == nil)
    #expect(space.share { "asked" }.claim(claim(64 << 10, of: free, in: "third")) == "asked")
    // Where one that began before goes on, its folder has a part of what it needs.
    let resumed = SharedSpace()
    resumed.share { nil }.note(claim(1 << 20, of: free))
    #expect(resumed.share { "asked" }.claim(claim((1 << 20) - 8192, of: free, in: "other")) == nil)
  }

  @Test func `a job that would not fit after the others either does not wait`() {
    #expect(space.share { nil }.claim(claim(600)) == nil)
    #expect(space.share { "asked" }.claim(claim(1001)) == nil)
  }

  @Test func `disks that a job does not write to are nothing to it`() {
    #expect(space.share { nil }.claim(claim(1000)) == nil)
    let other = SpaceClaim(bytes: [2: 1000], folder: folder.file("other"), device: 2) { [1: 1000, 2: 1000] }
    #expect(space.share { "asked" }.claim(other) == nil)
  }

  // MARK: Jobs

  private func manager(_ job: FaultJob, free: Int64, stop: String?) throws -> MigrationManager {
    var made = try job.job
    made.hooks.freeSpace = { _ in FreeSpace(device: 1, bytes: free) }
    made.hooks.space = space.share { stop }
    return MigrationManager(made)
  }

  @Test func `a job that is stopped while it waits for room has written nothing, and says so`() throws {
    let job = try FaultJob(.everyStage)
    let need = try MigrationManager(job.job).plan().diskBytes
    let other = space.share { nil }
    #expect(other.claim(claim(1, of: need)) == nil)
    let waiting = try manager(job, free: need, stop: StopCondition.timeLimit)
    // A plan does not wait.
    #expect(try waiting.plan().shortage == nil)
    let error = try #require(throws: GodwitError.self) { try waiting.run() }
    #expect(error.code == .stopped && error.stopReason == .timeLimit, "\(error)")
    #expect(error.cause == "the job waited for room on the disk" && error.safe == "nothing was written")
    #expect(!FileManager.default.fileExists(atPath: WorkFolder.path(forDestination: job.destinationPath)))
    other.end()
    #expect(try waiting.run().outcome == .finished)
  }

  @Test func `a job notes what it needs before its first write, and when it is resumed`() throws {
    let job = try FaultJob(.everyStage)
    let need = try MigrationManager(job.job).plan().diskBytes
    let first = try manager(job, free: need, stop: nil)
    #expect(try first.run(maximumSeconds: 0).outcome == .stopped)
    // The room is for one of them.
    #expect(space.share { "asked" }.claim(claim(need, of: need, in: "other")) == "asked")
    first.job.hooks.space?.end()
    #expect(space.share { "asked" }.claim(claim(need, of: need, in: "other")) == nil)

    let later = SharedSpace()
    var resumed = try job.job
    resumed.hooks.freeSpace = { _ in FreeSpace(device: 1, bytes: need) }
    resumed.hooks.space = later.share { nil }
    #expect(try MigrationManager(resumed).run(maximumSeconds: 0).outcome == .stopped)
    #expect(later.share { "asked" }.claim(claim(need, of: need, in: "other")) == "asked")
  }
}
