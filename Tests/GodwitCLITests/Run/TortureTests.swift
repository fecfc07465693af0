import Foundation
import GodwitStore
import TestSupport
import Testing

@testable import GodwitCLI

@Suite(.enabled(if: BuiltCommand.path != nil, "the executable is not beside the tests")) struct TortureTests {
  /// Runs `torture` with its folder for temporary files.
  private func torture(_ job: CrashJob, _ scratch: String, _ options: String...) throws -> BuiltCommand.Result {
    try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: false)
    let words = ["torture", job.manifest] + options
    return try ShellCommand.run(
      "TMPDIR='\(scratch)' $GODWIT " + words.map { "'\($0)'" }.joined(separator: " "), in: job.folder.path)
  }

  @Test func `torture rounds give the same result and leave the job's files unchanged`() throws {
    let job = try CrashJob(people: 600, rows: 50)
    let scratch = job.folder.file("scratch")
    let before = try tree(job.folder.path)
    let result = try torture(job, scratch, "--rounds", "3", "--seed", "7")
    #expect(result.status == 0, "\(result.diagnostics)")
    let lines = result.output.split(separator: "\n").map(String.init)
    #expect(lines.count == 5, "\(result.output)")
    #expect(lines.first?.hasPrefix("reference: ") == true)
    for round in 1...3 { #expect(lines.contains { $0.hasPrefix("round \(round)/3: ") && $0.hasSuffix(", equal") }) }
    #expect(lines.last?.hasPrefix("3 rounds, ") == true)
    #expect(lines.last?.contains(" 0 kills") == false, "\(result.output)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: scratch) == [])
    try FileManager.default.removeItem(atPath: scratch)
    #expect(try tree(job.folder.path) == before)
  }

  @Test func `a job that works in place is tortured on copies`() throws {
    let job = try CrashJob(people: 300, rows: 50)
    let text = try String(contentsOfFile: job.manifest, encoding: .utf8)
    try text.replacing("destination: out/people.sqlite", with: "destination: {existing: in-place}")
      .write(toFile: job.manifest, atomically: true, encoding: .utf8)
    let before = try tree(job.folder.path)
    let result = try torture(job, job.folder.file("scratch"), "--rounds", "2", "--seed", "3")
    #expect(result.status == 0, "\(result.output)\(result.diagnostics)")
    try FileManager.default.removeItem(atPath: job.folder.file("scratch"))
    #expect(try tree(job.folder.path) == before)
  }

  @Test func `torture of a failing job ends with the job's status`() throws {
    let job = try CrashJob(people: 20, rows: 50)
    let store = try StoreConnection(path: job.folder.file("people.sqlite"))
    try store.execute("UPDATE ZPERSON SET ZAGE = 'old' WHERE Z_PK = 3")
    try store.close()
    let result = try torture(job, job.folder.file("scratch"))
    #expect(result.status == 65, "\(result.diagnostics)")
    #expect(result.diagnostics.contains("the job itself fails"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: job.folder.file("scratch")) == [])
  }

  @Test func `the seed of torture decides when runs are killed`() {
    func moments(_ seed: UInt64, _ round: Int) -> [String] {
      var chance = TortureChance(seed: seed, round: round)
      return (0..<20).map { _ in chance.moment(lines: 100, seconds: 2).description }
    }
    #expect(moments(1, 1) == moments(1, 1))
    #expect(moments(1, 1) != moments(2, 1))
    #expect(moments(1, 1) != moments(1, 2))
  }

  @Test func `torture names the place of a difference, not its value`() throws {
    let job = try CrashJob(people: 30, rows: 50)
    _ = try job.finish()
    let manager = FileManager.default
    let other = job.folder.file("other/people.sqlite")
    func copy() throws {
      try? manager.removeItem(atPath: job.folder.file("other"))
      try manager.createDirectory(atPath: job.folder.file("other"), withIntermediateDirectories: true)
      for name in ["people.sqlite", ".people_SUPPORT"] {
        try manager.copyItem(atPath: job.folder.file("out/\(name)"), toPath: job.folder.file("other/\(name)"))
      }
    }
    func difference(_ sql: String) throws -> String? {
      try copy()
      let store = try StoreConnection(path: other)
      try store.execute(sql)
      try store.close()
      return try StoreComparison(job.destination, other).firstDifference()
    }
    #expect(try difference("VACUUM") == nil)
    #expect(try difference("UPDATE ZPERSON SET ZNAME = 'secret' WHERE Z_PK = 4") == "table ZPERSON, at row 4")
    #expect(try difference("UPDATE ZPERSON SET ZAGE = 99 WHERE Z_PK = 30") == "table ZPERSON, at row 30")
    #expect(try difference("UPDATE Z_METADATA SET Z_UUID = 'x'") == "the UUID")
    #expect(try difference("CREATE TABLE extra (a)")?.hasPrefix("the schema") == true)
    try copy()
    let support = SupportFolder(ofStoreAt: other)
    var names: [String] = []
    try support.forEachFile { name, _ in names.append(name) }
    let name = try #require(names.sorted().first)
    try manager.removeItem(atPath: support.path(of: name))
    try Data([1]).write(to: URL(filePath: support.path(of: name)))
    #expect(try StoreComparison(job.destination, other).firstDifference() == "external file '\(name)'")
    try manager.removeItem(atPath: support.path(of: name))
    #expect(try StoreComparison(job.destination, other).firstDifference() != nil)
  }

  /// Every file below a folder with its bytes.
  private func tree(_ path: String) throws -> [String: Data] {
    var found: [String: Data] = [:]
    for case let name as String in FileManager.default.enumerator(atPath: path) ?? .init() {
      found[name] = FileManager.default.contents(atPath: path + "/" + name) ?? Data()
    }
    return found
  }
}
