import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import Synchronization
import TestSupport
import Testing

@testable import Godwit

private func progress(_ percent: Double, isEstimated: Bool) -> MigrationProgress {
  var progress = MigrationProgress(
    percent: percent, step: .first, steps: 1, pass: 1, passes: 1, name: "A", stage: "create", chunk: 0, chunks: 1,
    rows: 0,
    totalRows: 100, rowsPerSecond: 0, secondsLeft: nil, residentBytes: 0)
  progress.isEstimated = isEstimated
  return progress
}

/// The progress that a run shows while a chunk is running, and after a kill.
struct ShownProgressTests {
  @Test func `what was shown of a chunk that was not finished is shown again by the next run`() throws {
    let folder = try TemporaryFolder()
    var first = ShownProgress(folder: folder.path)
    #expect(first.shown(progress(0, isEstimated: false)).percent == 0)
    #expect(first.shown(progress(12.38, isEstimated: true)).percent == 12.3)
    #expect(first.shown(progress(12, isEstimated: true)).percent == 12.3)
    // Killed here: the ledger says 0.
    var second = ShownProgress(folder: folder.path)
    #expect(second.shown(progress(0, isEstimated: false)).percent == 12.3)
    #expect(second.shown(progress(5, isEstimated: true)).percent == 12.3)
    #expect(second.shown(progress(20, isEstimated: false)).percent == 20)
    #expect(second.shown(progress(100, isEstimated: false)).percent == 100)
  }

  @Test func `what is durable needs no note`() throws {
    let folder = try TemporaryFolder()
    var shown = ShownProgress(folder: folder.path)
    for percent in [1.0, 50, 99.9] { _ = shown.shown(progress(percent, isEstimated: false)) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  @Test func `an estimate that cannot be noted is not shown`() throws {
    let folder = try TemporaryFolder()
    var shown = ShownProgress(folder: folder.file("nosuch"))
    #expect(shown.shown(progress(10, isEstimated: false)).percent == 10)
    #expect(shown.shown(progress(15, isEstimated: true)).percent == 10)
  }

  @Test(arguments: ["", "nan", "-4", "inf", "12,5", "\0"]) func `a damaged note counts as none`(text: String) throws {
    let folder = try TemporaryFolder()
    try Data(text.utf8).write(to: URL(filePath: folder.file("shown.percent")))
    #expect(try ShownProgress.percent(in: folder.path) == 0)
    try Data("1e9".utf8).write(to: URL(filePath: folder.file("shown.percent")))
    #expect(try ShownProgress.percent(in: folder.path) == 99.9)
  }

  private static func fixture() throws -> MigrationFixture {
    let people: [EntityDescription] = [.make("Person", ["name": .string, "age": .integer32])]
    let fixture = try MigrationFixture(people, to: people)
    fixture.chunkRows = 100_000
    try fixture.build { store in
      for key in Int64(1)...6000 {
        try store.insert("Person", key: key, attributes: ["name": .init("p\(key)"), "age": .integer(key)])
      }
    }
    fixture.mappings = [try .make("Person", "Person", kind: .copy, attributes: ["age": "$source.age + 1"])]
    return fixture
  }

  @Test func `the percent moves within the only chunk, and never falls, also not after a stop in its middle`() throws {
    let fixture = try Self.fixture()
    let shown = Mutex<[MigrationProgress]>([])
    let control = MigrationControl()
    let stopped = try EngineTuning.with(\.progressPulseSeconds, 0) {
      try MigrationManager(fixture.job).run(control: control) { progress in
        let count = shown.withLock { shown in
          shown.append(progress)
          return shown.count { $0.isEstimated }
        }
        guard count == 5 else { return }
        control.stop(reason: "SIGTERM")
        control.interrupt()
      }
    }
    #expect(stopped.outcome == .stopped)
    let first = shown.withLock { $0 }
    let within = first.filter(\.isEstimated)
    #expect(within.count >= 5 && Set(within.map(\.percent)).count >= 3, "\(within.map(\.percent))")
    #expect(within.allSatisfy { $0.chunk == 0 && $0.stage == "create" && $0.rows > 0 })
    #expect(try MigrationManager(fixture.job).status().percent < within[4].percent, "nothing of the chunk is durable")
    shown.withLock { $0 = [] }
    try MigrationManager(fixture.job).run { progress in shown.withLock { $0.append(progress) } }
    let all = (first + shown.withLock { $0 }).map(\.percent)
    #expect(all == all.sorted() && all.last == 100, "\(all)")
    // The rows of the whole, told by a run without any of this.
    #expect(try fixture.rows("SELECT COUNT(*), SUM(ZAGE) FROM ZPERSON") == ["6000|\(6000 * 6001 / 2 + 6000)"])
  }

  @Test func `the percent moves within a statement in place`() throws {
    let name = AttributeDescription.make("name")
    let city = AttributeDescription.make("city", default: .init("none"))
    let fixture = try MigrationFixture(
      [EntityDescription(name: "Person", attributes: [name])],
      to: [EntityDescription(name: "Person", attributes: [name, city])])
    try fixture.build { store in
      for key in Int64(1)...6000 { try store.insert("Person", key: key, attributes: ["name": .init("p\(key)")]) }
    }
    try fixture.infer()
    let job = fixture.jobInPlace(fixture.sourcePath)
    #expect(try MigrationManager(job).plan().steps.first?.way == "in place by SQL, loading no rows")
    let shown = Mutex<[Double]>([])
    try EngineTuning.with(\.progressPulseSeconds, 0) {
      _ = try MigrationManager(job).run { progress in shown.withLock { $0.append(progress.percent) } }
    }
    let whole = shown.withLock { $0 }
    #expect(whole == whole.sorted() && whole.last == 100)
    // Tasks end at fewer places.
    #expect(Set(whole).count > 12, "\(whole)")
  }
}
