import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// Random small stores of one pattern, some of them damaged, against runs of their own.
///
/// With a pattern, chunks commit together and no checkpoint is synced; a run of its own syncs each.
@Suite(.enabled(if: BuiltCommand.path != nil, "the executable is not beside the tests")) struct RandomSmallStoresTests {
  /// - Returns: The job, and the names of its stores without `.sqlite`.
  private func job(_ random: inout SeededGenerator) throws -> (BreakableJob, [String]) {
    let job = try BreakableJob()
    try job.edit("job.yaml", "source: library.sqlite", "source: \"stores/*.sqlite\"")
    try job.edit("job.yaml", "out/library.sqlite", "\"out/{name}.sqlite\"")
    try job.edit("job.yaml", "rows: 100", "rows: \([1, 40, 100, 5000][random.below(4)])")
    try job.makeFolder("stores")
    var names: [String] = []
    for number in 0..<(3 + random.below(5)) {
      let name = "u\(number)"
      let store = "stores/\(name).sqlite"
      try FileManager.default.copyItem(atPath: job.file("library.sqlite"), toPath: job.file(store))
      for _ in 0..<random.below(4) { try job.sql(edit(&random), store: store) }
      if random.chance(30) { try damage(store, of: job, &random) }
      names.append(name)
    }
    return (job, names)
  }

  /// A change that an application may make; after some of them a rule of the destination is broken.
  private func edit(_ random: inout SeededGenerator) -> String {
    let key = 1 + random.below(300)
    return [
      "UPDATE ZBOOK SET ZPAGES = ZPAGES - \(random.below(200))",
      "DELETE FROM ZBOOK WHERE Z_PK % 7 = \(random.below(7))",
      "UPDATE ZBOOK SET ZAUTHOR = NULL WHERE Z_PK < \(key)", "DELETE FROM ZBOOK", "DELETE FROM ZAUTHOR WHERE Z_PK = 2",
      "UPDATE ZBOOK SET ZTITLE = NULL WHERE Z_PK = \(key)", "UPDATE ZBOOK SET ZISBN = 'same' WHERE Z_PK >= \(key)",
      "UPDATE ZBOOK SET ZPAGES = 'many' WHERE Z_PK = \(key)", "UPDATE ZAUTHOR SET ZBORN = \(random.below(2000))",
      "UPDATE Z_PRIMARYKEY SET Z_MAX = \(key + 1000)", "PRAGMA journal_mode = WAL",
    ][random.below(11)]
  }

  private func damage(_ store: String, of job: BreakableJob, _ random: inout SeededGenerator) throws {
    switch random.below(4) {
    case 0: try job.cut(store) { $0 / 2 }
    case 1: try job.write(store, "no store")
    case 2: try job.write(store, Data())
    default: try job.writeNoise(store)
    }
  }

  /// The result of a run for a store: its content and the receipt's text about it; nil when the store is missing.
  private func left(_ job: BreakableJob, _ path: String) throws -> [String]? {
    guard FileManager.default.fileExists(atPath: job.file(path)) else { return nil }
    let receipt = try Receipt.read(job.file(path) + Receipt.suffix)
    return try StoreDump(job.file(path)).lines + [
      receipt.job.digest ?? "none", receipt.source.digest ?? "none",
      "\(receipt.steps.flatMap(\.mappings).map { "\($0.name) \($0.objectsIn) \($0.taken) \($0.made)" })",
      "\(receipt.entities.map { "\($0.name) \($0.objects) \($0.checksum)" })",
      "\(receipt.relationships.map { "\($0.name) \($0.links) \($0.checksum)" })", "\(receipt.losses)",
    ]
  }

  /// `GODWIT_RUNS` runs so many seeds, `GODWIT_SEED` one.
  @Test func `each of many random small stores becomes what a run of its own makes of it`() throws {
    for seed in testSeeds(3) {
      var random = SeededGenerator(seed: seed)
      let (job, names) = try job(&random)
      var before: [String: Data] = [:]
      for name in names { before[name] = try Data(contentsOf: URL(filePath: job.file("stores/\(name).sqlite"))) }
      let many = try BuiltCommand.run(
        ["run", "job.yaml", "--progress", "json", "--jobs", "\(1 + random.below(2))"], in: job.path)
      var statuses: [String: Int64] = [:]
      for line in try ManyStoresTests.stores(many) {
        guard let store = line["store"]?.string, case .integer(let status)? = line["status"] else { continue }
        statuses[((store as NSString).lastPathComponent as NSString).deletingPathExtension] = status
      }
      for name in names {
        let alone = try BuiltCommand.run(
          ["run", "job.yaml", "--source", "stores/\(name).sqlite", "--destination", "alone/\(name).sqlite", "--quiet"],
          in: job.path)
        let what = "seed \(seed), \(name)"
        #expect(statuses[name] == Int64(alone.status), "\(what): \(many.output)\(many.diagnostics)\(alone.diagnostics)")
        let (one, other) = (try left(job, "out/\(name).sqlite"), try left(job, "alone/\(name).sqlite"))
        #expect((one == nil) == (alone.status != 0), "\(what)")
        let difference = zip(one ?? [], other ?? []).first { $0 != $1 }
        #expect(one == other, "\(what): \(String(describing: difference))")
        #expect(
          try Data(contentsOf: URL(filePath: job.file("stores/\(name).sqlite"))) == before[name], "\(what): the source")
      }
      let isAllDone = statuses.values.allSatisfy { $0 == 0 }
      #expect(
        statuses.values.contains(Int64(many.status)) && (many.status == 0) == isAllDone,
        "seed \(seed): \(many.status) of \(statuses)")
      // Again, what is done is found done, and what failed fails alike.
      let again = try BuiltCommand.run(["run", "job.yaml", "--quiet"], in: job.path)
      #expect(again.status == many.status, "seed \(seed)")
    }
  }
}
