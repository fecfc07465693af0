import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// The history of a run's chunks: bounded, retained through stops and kills, and never a reason to fail.
struct RunHistoryTests {
  private static func entry(
    _ start: Double, _ seconds: Double, name: String = "AToB", pass: Int = 1, rows: Int64 = 10, memory: Int64 = 1
  ) -> RunHistory.Entry {
    .init(
      start: start, seconds: seconds, step: 1, pass: pass, stage: "create", name: name, chunks: 1, rows: rows,
      residentBytes: memory)
  }

  private static func begun() -> RunHistory {
    var history = RunHistory()
    history.begin(at: Date(timeIntervalSinceReferenceDate: 0), budget: .mebibytes(64))
    return history
  }

  // MARK: Merging

  @Test(arguments: [0.001, 0.4, 90.0])
  func `thousands of chunks become some hundred entries, and their sums stay`(seconds: Double) throws {
    var history = Self.begun()
    var generator = SeededGenerator(seed: 7)
    var (time, rows, most) = (0.0, Int64(0), Int64(0))
    for number in 0..<5000 {
      let length = seconds * Double.random(in: 0.1...1, using: &generator)
      let count = Int64.random(in: 0...1000, using: &generator)
      let memory = Int64.random(in: 1...1 << 30, using: &generator)
      history.add(Self.entry(time, length, name: "m\(number / 20)", rows: count, memory: memory))
      (time, rows, most) = (time + length, rows + count, max(most, memory))
      #expect(history.entries.count <= RunHistory.entriesMaximum)
    }
    #expect(history.entries.count > 50)
    #expect(history.entries.reduce(0) { $0 + $1.chunks } == 5000)
    #expect(history.entries.reduce(0) { $0 + $1.rows } == rows)
    #expect(history.entries.map(\.residentBytes).max() == most)
    let total = history.entries.reduce(0) { $0 + $1.seconds }
    #expect(abs(total - time) < 0.02 * time + 1, "\(total) against \(time)")
    for (one, next) in zip(history.entries, history.entries.dropFirst()) {
      #expect(next.start >= one.start && next.start >= one.end - 0.51, "\(one) \(next)")
    }
    #expect(history.isSound)
  }

  @Test func `chunks of one statement share its time by their rows`() {
    var history = Self.begun()
    history.add(Self.entry(0, 4, name: "first", rows: 300))
    history.add(Self.entry(4, 0.0002, name: "second", rows: 100))
    #expect(history.entries.map(\.seconds) == [3, 1])
    #expect(history.entries.map(\.start) == [0, 3])
  }

  @Test func `a job that is resumed every night keeps the last runs`() {
    var history = RunHistory()
    for night in 0..<100 {
      history.begin(at: Date(timeIntervalSinceReferenceDate: Double(night) * 86400), budget: .mebibytes(64))
      for chunk in 0..<5 { history.add(Self.entry(Double(chunk), 1, name: "\(chunk)")) }
      history.end(.stopped)
    }
    #expect(history.runs.count == RunHistory.runsMaximum)
    #expect(history.earlierRuns == 100 - RunHistory.runsMaximum)
    #expect(history.isSound && history.entries.count <= RunHistory.entriesMaximum)
    #expect(Set(history.entries.map(\.run)) == Set(0..<RunHistory.runsMaximum))
    #expect(history.runs.last?.began == Date(timeIntervalSinceReferenceDate: 99 * 86400).ISO8601Format())
  }

  @Test(arguments: [
    ("\"run\":0", "\"run\":1"), ("\"run\":0", "\"run\":-1"), ("\"format\":1", "\"format\":2"),
    ("\"rows\":10", "\"rows\":9223372036854775807"), ("\"chunks\":1", "\"chunks\":-1"), ("{", "["),
    ("\"seconds\":2", "\"seconds\":1e300"), ("\"width\":0.02", "\"width\":0"),
  ])
  func `a damaged history is read as none`(from: String, to: String) throws {
    var history = Self.begun()
    history.add(Self.entry(0, 2))
    let folder = try TemporaryFolder()
    let text = String(decoding: try history.encoded(), as: UTF8.self)
    try Data(text.utf8).write(to: URL(filePath: folder.file("a")))
    #expect(RunHistory.read(folder.file("a")) == history)
    try #require(text.contains(from), "\(text)")
    try Data(text.replacing(from, with: to).utf8).write(to: URL(filePath: folder.file("b")))
    #expect(RunHistory.read(folder.file("b")) == nil)
    #expect(RunHistory.read(folder.file("c")) == nil)
  }

  // MARK: Runs

  private static func fixture() throws -> (MigrationFixture, MigrationJob) {
    let note = EntityDescription.make("Note", ["text": .string])
    let fixture = try MigrationFixture([note], to: [.make("Note", ["text": .string, "more": .string])])
    try fixture.build { store in
      for key in Int64(1)...40 { try store.insert("Note", key: key, attributes: ["text": .init("note \(key)")]) }
    }
    fixture.mappings = [try .make("Note", "Note", kind: .copy)]
    fixture.chunkRows = 10
    var job = try fixture.job
    job.receipt = .besideDestination
    return (fixture, job)
  }

  private static func history(of fixture: MigrationFixture) throws -> RunHistory {
    try #require(try Receipt.read(fixture.destinationPath + Receipt.suffix).history)
  }

  @Test func `the receipt of a run that was stopped and resumed has every chunk once`() throws {
    let (fixture, job) = try Self.fixture()
    let chunks = try MigrationManager(job).plan().chunks
    var count = 0
    let control = MigrationControl()
    try MigrationManager(job).run(control: control) { _ in
      count += 1
      if count == 3 { control.stop(reason: "test") }
    }
    let record = try MigrationManager(job).record()
    let first = try #require(record.history)
    #expect(record.status.state == .unfinished && record.receipt == nil)
    #expect(first.runs.map(\.outcome) == [.stopped])
    #expect(first.entries.reduce(0) { $0 + $1.chunks } == 2)
    #expect(first.entries.first?.stage == "plan")
    try MigrationManager(job).run()
    let whole = try Self.history(of: fixture)
    #expect(whole.runs.map(\.outcome) == [.stopped, .finished])
    #expect(whole.entries.reduce(0) { $0 + $1.chunks } == chunks.count)
    #expect(whole.entries.reduce(0) { $0 + $1.rows } == chunks.reduce(0) { $0 + max(1, $1.rows) })
    #expect(whole.entries.last?.stage == "finish")
    #expect(whole.entries.allSatisfy { $0.residentBytes > 0 })
    let after = try MigrationManager(job).record()
    #expect(after.status.state == .finished && after.history == whole && after.receiptPath != nil)
    #expect(!FileManager.default.fileExists(atPath: WorkFolder.path(forDestination: fixture.destinationPath)))
    let text = try String(contentsOfFile: fixture.destinationPath + Receipt.suffix, encoding: .utf8)
    #expect(try JSONSchema(named: "receipt.schema.json").findings(JSONValue(parsing: text)) == [])
  }

  @Test func `the receipt of another job is not taken for this one's`() throws {
    let (fixture, job) = try Self.fixture()
    try MigrationManager(job).run()
    let path = fixture.destinationPath + Receipt.suffix
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let digest = try #require(try Receipt.read(path).job.digest)
    try text.replacing(digest, with: String(repeating: "0", count: 64)).write(
      toFile: path, atomically: true, encoding: .utf8)
    #expect(try MigrationManager(job).record().receipt == nil)
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    #expect(try MigrationManager(job).record().receipt != nil)
  }

  @Test func `a killed run leaves what it had noted, and the next one goes on`() throws {
    let (fixture, job) = try Self.fixture()
    let folder = WorkFolder.path(forDestination: fixture.destinationPath)
    try EngineTuning.with(\.secondsBetweenNotes, 0) {
      // The process dies as the fourth note gets its name.
      let layer = try FaultLayer(.none, keepsAll: true)
      let (other, otherJob) = try Self.fixture()
      try layer.run { _ = try MigrationManager(otherJob).run() }
      let name = WorkFolder.historyPath(in: WorkFolder.path(forDestination: other.destinationPath))
      let places = layer.operations.indices.filter {
        layer.operations[$0].path.hasPrefix(name) && layer.operations[$0].kind == .rename
      }
      try #require(places.count > 4, "\(layer.operations.map(\.description))")
      let death = try FaultLayer(.death(at: places[3] + 1))
      _ = try? death.run { try MigrationManager(job).run() }
      #expect(death.hasStruck)
    }
    let left = try #require(RunHistory.read(WorkFolder.historyPath(in: folder)))
    #expect(left.runs.count == 1 && left.runs[0].outcome == nil && !left.entries.isEmpty)
    #expect(try MigrationManager(job).run().outcome == .finished)
    #expect(try Self.history(of: fixture).runs.map(\.outcome) == [nil, .finished])
  }

  @Test func `a history that cannot be written fails no run`() throws {
    let (other, otherJob) = try Self.fixture()
    let layer = try FaultLayer(.none, keepsAll: true)
    try EngineTuning.with(\.secondsBetweenNotes, 0) { try layer.run { _ = try MigrationManager(otherJob).run() } }
    let name = WorkFolder.historyPath(in: WorkFolder.path(forDestination: other.destinationPath))
    let places = layer.operations.indices.filter { layer.operations[$0].path.hasPrefix(name) }
    try #require(places.count > 6)
    for place in [places[0], places[1], places[2], places[places.count / 2]] {
      let (fixture, job) = try Self.fixture()
      let fault = try FaultLayer(.fail(ENOSPC, at: place + 1))
      let summary = try EngineTuning.with(\.secondsBetweenNotes, 0) {
        try fault.run { try MigrationManager(job).run() }
      }
      #expect(fault.hasStruck && fault.struck?.path.contains("history.json") == true)
      #expect(summary.outcome == .finished)
      #expect(try Self.history(of: fixture).entries.reduce(0) { $0 + $1.chunks } >= 4)
    }
  }

  @Test func `a job of several steps has the history of all`() throws {
    let fault = try FaultJob(.severalSteps)
    var job = try fault.job
    job.receipt = .besideDestination
    try MigrationManager(job).run()
    let history = try #require(try Receipt.read(job.destinationPath + Receipt.suffix).history)
    #expect(Set(history.entries.map(\.step)) == [1, 2])
    #expect(history.entries.count { $0.stage == "plan" } == 2)
  }

  @Test func `a job in place has a history in the receipt that its manifest names`() throws {
    let (fixture, copy) = try Self.fixture()
    let receipt = fixture.folder.file("receipt.json")
    var job = copy
    job.destinationPath = job.sourcePath
    job.steps = [
      MigrationStep(
        sourceModel: fixture.source, destinationModel: fixture.destination,
        mappingModels: [try MappingModel(inferredFrom: fixture.source, to: fixture.destination)],
        origin: MigrationStep.inferredOrigin)
    ]
    job.existingDestination = .inPlace(keepsOld: true)
    job.receipt = .file(URL(filePath: receipt))
    try MigrationManager(job).run()
    let history = try #require(try Receipt.read(receipt).history)
    #expect(history.runs.map(\.outcome) == [.finished] && history.entries.last?.stage == "finish")
  }
}
