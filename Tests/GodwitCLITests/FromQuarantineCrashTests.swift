import Foundation
import GodwitStore
import TestSupport
import Testing

@testable import GodwitJob

/// A finished job with a quarantine in which some objects were repaired, and the same repairs made by hand in a copy of
/// its source.
private final class RepairCrashJob {
  private let job: CrashJob
  private let before: String
  /// What lies in the folder of the destination, before the repairs are taken.
  let old: StoreDump
  let source: Data

  private var out: String { job.folder.file("out") }
  private var quarantine: String { job.destination + Quarantine.suffix }
  private var arguments: [String] { ["--from-quarantine", quarantine] }

  /// What there is when repairs were taken: of one and the same repairs it is one and the same.
  struct Content: Equatable {
    var destination, quarantine: StoreDump
    var files: [String]
    var names: [String]
    var repairs: Data
    var receipt: String
  }

  /// Objects whose repairs a run takes, and one that stays invalid.
  private static let broken = [
    "UPDATE ZPERSON SET ZAGE = 32767 WHERE Z_PK = 11", "UPDATE ZPERSON SET ZNAME = NULL WHERE Z_PK IN (5, 22, 40)",
  ]
  /// A value, a link to a migrated object, and a file that the source lacks.
  private static let repairs = [
    "UPDATE ZPERSON SET ZNAME = 'five', ZADDRESS = 3 WHERE Z_PK = 5",
    "UPDATE ZPERSON SET ZAGE = 30 WHERE Z_PK = 11",
    "UPDATE ZPERSON SET ZNAME = 'twenty-two' WHERE Z_PK = 22",
    "UPDATE ZPERSON SET ZCOMPANY = 'of the rejected' WHERE Z_PK = 40",
  ]
  private static let file = "00000000-0000-0000-7000-000000000005"

  init() throws {
    job = try Self.make()
    let first = try BuiltCommand.run("run", job.manifest, "--progress", "none")
    try #require(first.status == 3, "\(first.diagnostics)")
    before = job.folder.file("before")
    old = try StoreDump(job.destination)
    source = try Data(contentsOf: URL(filePath: job.folder.file("people.sqlite")))
    try Self.repair(job.destination + Quarantine.suffix)
    try FileManager.default.copyItem(atPath: out, toPath: before)
  }

  private static func make() throws -> CrashJob {
    let job = try CrashJob(people: 60, rows: 20)
    let manifest = try String(contentsOfFile: job.manifest, encoding: .utf8)
    try (manifest + "\non-invalid: {quarantine: {max-rows: 4}}\n")
      .write(toFile: job.manifest, atomically: true, encoding: .utf8)
    let store = try StoreConnection(path: job.folder.file("people.sqlite"))
    for sql in broken { try store.execute(sql) }
    try store.close()
    return job
  }

  private static func repair(_ path: String) throws {
    let store = try StoreConnection(path: path)
    for sql in repairs { try store.execute(sql) }
    try store.execute(
      "UPDATE ZPERSON SET ZPHOTO = ?1 WHERE Z_PK = 5", [.blob(StoredBinary.external(name: file).bytes)])
    try store.close()
    let support = SupportFolder(ofStoreAt: path)
    try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
    try Data(repeating: 5, count: 900).write(to: URL(filePath: support.path(of: file)))
  }

  /// What an ordinary run makes of a source that was repaired by hand, without what names the job.
  static func repairedByHand() throws -> (destination: [String], quarantine: [String]) {
    let job = try make()
    try repair(job.folder.file("people.sqlite"))
    let result = try BuiltCommand.run("run", job.manifest, "--progress", "none")
    try #require(result.status == 3, "\(result.diagnostics)")
    return (try rows(StoreDump(job.destination)), try rows(StoreDump(job.destination + Quarantine.suffix)))
  }

  /// Tables and rows of a dump. Metadata and reasons name the stores.
  static func rows(_ dump: StoreDump) -> [String] {
    var isLeftOut = false
    return dump.lines.filter { line in
      if line.hasPrefix("table ") {
        isLeftOut = line.contains("Z_METADATA") || line.contains("ZGODWITQUARANTINEREASON")
      }
      return !isLeftOut && !line.contains("GodwitJobs") && !line.contains("GodwitQuarantine")
        && !line.contains("GodwitRepairs") && !line.hasPrefix("uuid ")
    }
  }

  /// Puts everything back as it was before the repairs were taken.
  func reset() throws {
    try FileManager.default.removeItem(atPath: out)
    try FileManager.default.copyItem(atPath: before, toPath: out)
  }

  func runAndKill(afterLines lines: Int = .max, seconds: Double? = nil) throws -> Bool {
    try job.runAndKill(afterLines: lines, seconds: seconds, arguments: arguments)
  }

  /// The destination as others see it at the moment.
  func destination() throws -> StoreDump { try StoreDump(job.destination) }

  /// Runs the same command to its end.
  func finish() throws -> Content {
    let result = try BuiltCommand.run(["run", job.manifest, "--progress", "none"] + arguments)
    try #require(result.status == 3, "\(result.status) \(result.diagnostics)")
    let proof = try BuiltCommand.run("verify", job.manifest, "--quiet")
    #expect(proof.status == 0, "\(proof.output)\(proof.diagnostics)")
    var files: [String] = []
    let repairs = job.destination + RepairsFile.suffix
    for path in [job.destination, quarantine, repairs] {
      let support = SupportFolder(ofStoreAt: path)
      try support.forEachFile { name, bytes in
        files.append("\(path == repairs) \(name) \(bytes) \(try RepairsFile.digest(of: name, in: support))")
      }
    }
    #expect(try Data(contentsOf: URL(filePath: job.folder.file("people.sqlite"))) == source)
    return Content(
      destination: try destination(), quarantine: try StoreDump(quarantine), files: files.sorted(),
      names: try FileManager.default.contentsOfDirectory(atPath: out).sorted(),
      repairs: try Data(contentsOf: URL(filePath: repairs)), receipt: try receipt())
  }

  /// The receipt without what depends on the time, and on how often a run was killed.
  private func receipt() throws -> String {
    let data = try Data(contentsOf: URL(filePath: job.destination + Receipt.suffix))
    var receipt = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    for key in ["began", "finished", "seconds", "peakBytes", "history"] { receipt[key] = nil }
    var destination = try #require(receipt["destination"] as? [String: Any])
    // Pages that a killed run has left free are still there, and external files have other times.
    for key in ["stamp", "fileStamp", "bytes"] { destination[key] = nil }
    receipt["destination"] = destination
    receipt["steps"] = (receipt["steps"] as? [[String: Any]])?.map { step in
      var step = step
      // The plan has the time of its run.
      step["plan"] = nil
      return step
    }
    let text = try JSONSerialization.data(withJSONObject: receipt, options: [.sortedKeys])
    return String(decoding: text, as: UTF8.self)
  }
}

/// Runs with `--from-quarantine` whose process is killed.
@Suite(.enabled(if: BuiltCommand.path != nil, "the executable is not beside the tests"))
struct FromQuarantineCrashTests {
  private func expectEqual(_ found: RepairCrashJob.Content, _ expected: RepairCrashJob.Content, _ moment: String) {
    #expect(
      found.destination == expected.destination,
      "\(moment): \(found.destination.firstDifference(from: expected.destination) ?? "")")
    #expect(
      found.quarantine == expected.quarantine,
      "\(moment): \(found.quarantine.firstDifference(from: expected.quarantine) ?? "")")
    #expect(found.files == expected.files, "\(moment)")
    #expect(found.names == expected.names, "\(moment)")
    #expect(found.repairs == expected.repairs, "\(moment): the repairs differ")
    #expect(found.receipt == expected.receipt, "\(moment)")
  }

  @Test func `repairs whose run was killed after any line are those of an undisturbed run`() throws {
    let job = try RepairCrashJob()
    let expected = try job.finish()
    // The undisturbed run itself makes what an ordinary run makes of a source that was repaired by hand.
    let byHand = try RepairCrashJob.repairedByHand()
    #expect(RepairCrashJob.rows(expected.destination) == byHand.destination)
    #expect(RepairCrashJob.rows(expected.quarantine) == byHand.quarantine)
    #expect(expected.destination != job.old)
    #expect(
      expected.names == [
        ".people.sqlite.repairs_SUPPORT", ".people_SUPPORT", "people.sqlite", "people.sqlite.quarantine.sqlite",
        "people.sqlite.receipt.json", "people.sqlite.repairs.sqlite",
      ])
    #expect(expected.files.contains { $0.hasPrefix("true") }, "\(expected.files)")
    var kills = 0
    for lines in stride(from: 1, through: .max, by: TestTier.choose(19, long: 1)) {
      try job.reset()
      let ended = try job.runAndKill(afterLines: lines)
      // At every moment the old destination is there or the new one, whole.
      let seen = try job.destination()
      #expect(seen == job.old || seen == expected.destination, "killed after \(lines) lines")
      expectEqual(try job.finish(), expected, "killed after \(lines) lines")
      if ended { break }
      kills += 1
      try #require(lines < 400)
    }
    #expect(kills > TestTier.choose(1, long: 40))
  }

  @Test func `repairs whose run was killed at random moments again and again are the same`() throws {
    let seed = momentSeed()
    var random = SeededGenerator(seed: seed)
    let job = try RepairCrashJob()
    let expected = try job.finish()
    var kills = 0
    for round in 0..<TestTier.choose(2, long: 40) {
      try job.reset()
      for _ in 0..<3 {
        if try job.runAndKill(seconds: 0.03 + Double.random(in: 0..<0.4, using: &random)) { break }
        kills += 1
        let seen = try job.destination()
        #expect(seen == job.old || seen == expected.destination, "GODWIT_SEED=\(seed), round \(round)")
      }
      expectEqual(try job.finish(), expected, "GODWIT_SEED=\(seed), round \(round)")
    }
    #expect(kills > 0 || !TestTier.isLong, "GODWIT_SEED=\(seed)")
  }
}
