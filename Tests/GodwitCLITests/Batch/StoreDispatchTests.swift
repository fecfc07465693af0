import Foundation
import GodwitManifest
import GodwitModel
import GodwitStore
import Logging
import Synchronization
import TestSupport
import Testing

@testable import GodwitCLI

/// The resources that several jobs of one process share, and places in which no job can begin.
struct StoreDispatchTests {
  private typealias Many = ManyStoresTests

  private final class Events: Sendable {
    private let list = Mutex<[String]>([])

    var all: [String] { list.withLock { $0 } }
    func add(_ event: String) { list.withLock { $0.append(event) } }
  }

  @Test func `stores at work share the room on a disk`() throws {
    let job = try Many.job(2)
    let loader = try JobLoader(
      manifestPath: job.file("job.yaml"), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    var stores = try loader.stores(jobs: 2).enumerated().makeIterator()
    let space = SharedSpace()
    // Another job, which is going to fill every disk.
    let other = space.share { nil }
    let places = [job.path, FreeSpace.temporaryFolder].compactMap { FreeSpace.at($0)?.device }
    let all = Dictionary(places.map { ($0, Int64.max / 2) }, uniquingKeysWith: { one, _ in one })
    #expect(other.claim(SpaceClaim(bytes: all, folder: job.file("none"), device: nil) { [:] }) == nil)
    let events = Events()
    let control = BatchControl()
    var dispatch = StoreDispatch(
      session: CommandSession(output: .memory(), diagnostics: .memory()), control: control, jobs: 2,
      update: { _, _ in }, ended: { _, result, _ in events.add(result.outcome.rawValue) })
    dispatch.space = space
    Thread.detachNewThread {
      for _ in 0..<20_000 where space.waiting < 2 { usleep(500) }
      events.add("\(space.waiting) wait")
      other.end()
    }
    dispatch.run { stores.next().map { ($0.offset, $0.element) } }
    control.waitForAll()
    #expect(events.all == ["2 wait", "finished", "finished"])
    // They have given back what they claimed.
    #expect(space.share { "asked" }.claim(SpaceClaim(bytes: all, folder: "none", device: nil) { all }) == nil)
  }

  @Test(.timeLimit(.minutes(2)))
  func `a store that waits for its delivery lets another begin, also where one is at work at a time`() throws {
    let job = try Many.job(3)
    let loader = try JobLoader(
      manifestPath: job.file("job.yaml"), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    var stores = try loader.stores(jobs: 1).enumerated().makeIterator()
    let events = Events()
    let control = BatchControl()
    var dispatch = StoreDispatch(
      session: CommandSession(output: .memory(), diagnostics: .memory()), control: control,
      update: { _, _ in }, ended: { _, result, _ in events.add(result.outcome.rawValue) })
    dispatch.syncs = SyncGroup(limit: 3, patience: .seconds(3600))
    dispatch.run {
      if let next = stores.next() { return (next.offset, next.element) }
      // As long as stores may come, the batch is complete when all three wait.
      while events.all.count < 3 { usleep(1000) }
      return nil
    }
    control.waitForAll()
    #expect(events.all == ["finished", "finished", "finished"])
  }

  @Test func `with few open files, fewer stores are at work at the same time`() throws {
    #expect(OpenFiles.possibleJobs(limit: 1024) == 31 && OpenFiles.possibleJobs(limit: 8) == 0)
    let job = try Many.job(12)
    try job.edit("job.yaml", "memory: 32 MiB", "memory: 1 GiB")
    let few = try ShellCommand.run("ulimit -n 64; $GODWIT run job.yaml --jobs 64", in: job.path)
    #expect(few.status == 0, "\(few.diagnostics)")
    #expect(few.diagnostics.contains("works on 1 of 64 stores at the same time: this process may open 64 files"))
    #expect(few.diagnostics.contains("`ulimit -n 2064`") && few.output.contains("12 stores: 12 finished"))
    // A soft limit does not limit the run, which raises it.
    let soft = try ShellCommand.run("ulimit -S -n 64; $GODWIT run job.yaml --jobs 4", in: job.path)
    #expect(soft.status == 0 && !soft.diagnostics.contains("at the same time"), "\(soft.diagnostics)")
  }

  // MARK: Places that cannot be looked at

  @Test func `a folder that may not be read fails alone, and the other stores are migrated`() throws {
    guard `Bad input`.canBeNobody else { return }
    let job = try Many.job(2, more: "on-failure: cat >summary\n")
    try job.edit("job.yaml", "stores/*.sqlite", "stores/**/*.sqlite")
    try job.makeFolder("stores/closed")
    try job.setMode("stores/closed", 0)
    try job.setMode(".", 0o777)
    defer { try? job.setMode("stores/closed", 0o755) }
    func run(_ arguments: String...) throws -> BuiltCommand.Result {
      try `Bad input`.run(arguments, in: job, as: .nobody)
    }
    let result = try run("run", "job.yaml", "--progress", "json", "--jobs", "2")
    #expect(result.status == 77, "\(result.diagnostics)")
    #expect(result.diagnostics.contains("cannot look at 'stores/closed"), "\(result.diagnostics)")
    let lines = try Many.stores(result)
    #expect(
      lines.compactMap { $0["store"]?.string }.sorted() == ["stores/closed", "stores/u01.sqlite", "stores/u02.sqlite"])
    #expect(lines.first?["status"] == .integer(77) && lines.first?["destination"] == .string(""))
    let summary = try JSONValue(parsing: String(contentsOfFile: job.file("summary"), encoding: .utf8))
    try Many.check([summary])
    #expect(summary["failed"] == .integer(1) && summary["stores"] == .integer(3), "\(summary)")
    // The folder of the pattern itself is another thing: nothing is known then.
    try job.setMode("stores", 0)
    defer { try? job.setMode("stores", 0o755) }
    let whole = try run("run", "job.yaml")
    #expect(whole.status == 77 && !whole.output.contains("stores:"), "\(whole.output)")
  }

  @Test func `verbs that look at stores have a row for a place that they cannot look at`() throws {
    let job = try Many.job(1)
    #expect(try Many.run(job).status == 0)
    // A name that is not UTF-8, which not every file system takes.
    let name = job.file("stores/") + "x.sqlite"
    let descriptor = name.utf8CString.withUnsafeBufferPointer { bytes in
      var bytes = Array(bytes)
      bytes[bytes.count - ".sqlite".utf8.count - 2] = -1
      return open(bytes, O_CREAT | O_WRONLY, 0o644)
    }
    guard descriptor >= 0 else { return }
    close(descriptor)
    func document(_ arguments: String..., status: Int32) throws -> JSONValue {
      let result = try BuiltCommand.run(arguments + ["--format", "json"], in: job.path)
      #expect(result.status == status, "\(result.diagnostics)")
      let document = try JSONValue(parsing: result.output)
      try Many.check([document], "stores")
      return document
    }
    for verb in ["plan", "status", "verify"] {
      let stores = try document(verb, "job.yaml", status: 66)["stores"]?.array ?? []
      #expect(stores.count == 2 && stores.contains { $0["outcome"] == .string("failed") }, "\(stores)")
    }
    let check = try document("status", "job.yaml", "--check", status: 3)["stores"]?.array ?? []
    #expect(Set(check.compactMap { $0["check"]?["status"]?.string }) == ["OK", "UNKNOWN"], "\(check)")
    let text = try BuiltCommand.run(["plan", "job.yaml"], in: job.path)
    #expect(text.status == 66 && text.diagnostics.contains("its name is not UTF-8"), "\(text.diagnostics)")
    let run = try Many.run(job)
    #expect(run.status == 66 && run.output.contains("1 already finished"), "\(run.output)")
  }
}
