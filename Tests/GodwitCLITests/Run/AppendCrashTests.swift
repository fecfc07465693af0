import Foundation
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

/// A folder with two sources, the first of which is in the destination already: `second.yaml` appends the other.
private final class AppendCrashJob {
  /// The content of a store, and the files of binary data that belong to it.
  struct Content: Equatable {
    var dump: StoreDump
    var files: Set<String>
  }

  let folder: TemporaryFolder
  var destination: String { folder.file("out/people.sqlite") }

  /// Makes the sources, and the destination from the first.
  init(people: Int64, rows: Int) throws {
    let first = try CrashJob(people: people, rows: rows)
    let manifest =
      try String(contentsOfFile: first.manifest, encoding: .utf8)
      .replacing("out/people.sqlite", with: "{path: out/people.sqlite, existing: append}")
      + "\nreceipt: out/1.receipt.json\n"
    try manifest.write(toFile: first.manifest, atomically: true, encoding: .utf8)
    // Fewer people, with names of files that the first store has too.
    let other = try CrashJob(people: people - 15, rows: rows)
    for (from, to) in [("people.sqlite", "second.sqlite"), (".people_SUPPORT", ".second_SUPPORT")] {
      try FileManager.default.copyItem(atPath: other.folder.file(from), toPath: first.folder.file(to))
    }
    try manifest.replacing("source: people.sqlite", with: "source: second.sqlite")
      .replacing("out/1.receipt", with: "out/2.receipt")
      .write(toFile: first.folder.file("second.yaml"), atomically: true, encoding: .utf8)
    _ = try first.finish()
    folder = first.folder
  }

  init(copying other: AppendCrashJob) throws {
    folder = try TemporaryFolder("godwit-append")
    for name in try FileManager.default.contentsOfDirectory(atPath: other.folder.path) {
      try FileManager.default.copyItem(atPath: other.folder.file(name), toPath: folder.file(name))
    }
  }

  var manifest: String { folder.file("second.yaml") }

  /// Runs to the end, and tells when each line came, in seconds.
  func timesOfLines() throws -> [Double] {
    let run = try BuiltCommand.startRun(manifest)
    var times: [Double] = []
    while true {
      let data = run.next()
      if data.isEmpty { break }
      let now = ProcessInfo.processInfo.systemUptime
      times += repeatElement(now, count: data.count { $0 == 0x0A })
    }
    run.wait()
    try #require(run.process.terminationStatus == 0)
    return times
  }

  var content: Content {
    get throws {
      var files: Set<String> = []
      let support = SupportFolder(ofStoreAt: destination)
      try support.forEachFile { name, _ in
        let data = try Data(contentsOf: URL(filePath: support.path(of: name)))
        files.insert("\(name) \(data.base64EncodedString())")
      }
      return Content(dump: try StoreDump(destination), files: files)
    }
  }

  /// Both sources with their external files.
  var sources: [String: Data] {
    get throws {
      var found: [String: Data] = [:]
      for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path)
      where ["people", "second", ".people", ".second"].contains(where: name.hasPrefix) {
        found[name] = FileManager.default.contents(atPath: folder.file(name)) ?? Data()
      }
      return found
    }
  }

  func finish() throws -> Content {
    let result = try BuiltCommand.run("run", folder.file("second.yaml"), "--progress", "plain")
    try #require(result.status == 0, "\(result.diagnostics)")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.file("out")).sorted()
    let receipts = names.filter { $0.hasSuffix(".receipt.json") }
    #expect(names.filter { !receipts.contains($0) } == [".people_SUPPORT", "people.sqlite"])
    #expect(receipts == ["1.receipt.json", "2.receipt.json"])
    for name in receipts {
      let proof = try ReceiptCheck(receipt: URL(filePath: folder.file("out/\(name)"))).run()
      #expect(proof.isClean, "\(name): \(proof)")
    }
    return try content
  }

  /// Expects the destination as it was or as it is to be, with all its files, whatever else lies beside it.
  func expectWhole(_ old: Content, _ new: Content, _ moment: String) throws {
    let found = try content
    let one = [old, new].first { $0.dump == found.dump }
    #expect(one != nil, "\(moment): \(found.dump.firstDifference(from: old.dump) ?? "")")
    #expect(one.map { found.files.isSuperset(of: $0.files) } == true, "\(moment): an external file is missing")
  }
}

@Suite(.enabled(if: BuiltCommand.path != nil, "the executable is not beside the tests")) struct AppendCrashTests {
  @Test func `an append killed after any chunk leaves the destination whole, and the next run completes`() throws {
    let pristine = try AppendCrashJob(people: 60, rows: 20)
    let sources = try pristine.sources
    #expect(sources.count > 40)
    let old = try pristine.content
    let expected = try AppendCrashJob(copying: pristine).finish()
    #expect(expected.dump != old.dump)
    #expect(expected.files.count > old.files.count)
    var kills = 0
    for lines in stride(from: 1, through: .max, by: TestTier.choose(6, long: 1)) {
      let job = try AppendCrashJob(copying: pristine)
      let ended = try BuiltCommand.runAndKill(job.manifest, afterLines: lines)
      try job.expectWhole(old, expected, "killed after \(lines) lines")
      let found = try job.finish()
      #expect(
        found.dump == expected.dump,
        "killed after \(lines) lines: \(found.dump.firstDifference(from: expected.dump) ?? "")")
      #expect(found.files == expected.files, "killed after \(lines) lines")
      #expect(try job.sources == sources)
      if ended { break }
      kills += 1
      try #require(lines < 200)
    }
    #expect(kills > TestTier.choose(3, long: 20))
  }

  /// The store is finished, exchanged and tidied up between the line of the last chunk and the one that says 100
  /// percent: two of three kills fall there, at a moment drawn from the time that an uninterrupted run takes for it.
  @Test func `an append killed at any moment, including its exchange, ends in the same store`() throws {
    let seed = momentSeed()
    var random = SeededGenerator(seed: seed)
    let pristine = try AppendCrashJob(people: 60, rows: 40)
    let (old, sources) = (try pristine.content, try pristine.sources)
    let whole = try AppendCrashJob(copying: pristine)
    let times = try whole.timesOfLines()
    let expected = try whole.content
    #expect(expected.dump != old.dump)
    // The last two are 100 percent and the summary.
    let lastChunk = times.count - 2
    let tail = times[lastChunk] - times[lastChunk - 1]
    var job = try AppendCrashJob(copying: pristine)
    var kills = 0
    for round in 0..<TestTier.choose(6, long: 45) {
      let isAtEnd = round % 3 != 0
      let limit = isAtEnd ? lastChunk : random.below(lastChunk)
      let seconds = Double.random(in: 0...(isAtEnd ? tail * 1.1 : 0.02), using: &random)
      let moment = "GODWIT_SEED=\(seed), round \(round), killed \(seconds) s after \(limit) of \(times.count) lines"
      if try !BuiltCommand.runAndKill(job.manifest, afterLines: limit, seconds: seconds) { kills += 1 }
      try job.expectWhole(old, expected, moment)
      // Killed again where it goes on, or finished.
      guard isAtEnd || random.chance(50) else { continue }
      #expect(try job.finish() == expected, "\(moment)")
      #expect(try job.sources == sources, "\(moment)")
      job = try AppendCrashJob(copying: pristine)
    }
    #expect(try job.finish() == expected, "GODWIT_SEED=\(seed)")
    #expect(kills > TestTier.choose(1, long: 5), "GODWIT_SEED=\(seed)")
  }

  @Test func `while an append runs, the destination is either the old store or the new one`() throws {
    let job = try AppendCrashJob(people: 600, rows: 20)
    func people() throws -> Int64? {
      let connection = try StoreConnection.openStore(readingAt: job.destination)
      defer { try? connection.close() }
      return try connection.integer("SELECT COUNT(*) FROM source.ZPERSON")
    }
    var seen = [try #require(try people())]
    let run = try BuiltCommand.startRun(job.manifest)
    DispatchQueue.global().async { run.wait() }
    var looks = 0
    while run.process.isRunning {
      let count = try #require(try people())
      if seen.last != count { seen.append(count) }
      looks += 1
    }
    run.process.wait()
    #expect(run.process.terminationStatus == 0)
    if try people() != seen.last { seen.append(try #require(try people())) }
    #expect(seen == [600, 600 + 585])
    #expect(looks > 10)
  }

  @Test func `discarding a killed append leaves the destination unchanged`() throws {
    let pristine = try AppendCrashJob(people: 60, rows: 20)
    let old = try pristine.content
    for lines in [2, 8, 20] {
      let job = try AppendCrashJob(copying: pristine)
      try #require(try !BuiltCommand.runAndKill(job.manifest, afterLines: lines))
      #expect(FileManager.default.fileExists(atPath: job.destination + ".godwit"))
      #expect(try BuiltCommand.run("discard", job.folder.file("second.yaml")).status == 0)
      #expect(try job.content == old)
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: job.folder.file("out")).sorted()
          == FileManager.default.contentsOfDirectory(atPath: pristine.folder.file("out")).sorted())
    }
  }
}
