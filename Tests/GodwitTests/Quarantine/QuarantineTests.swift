import Foundation
import Godwit
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier
import TestSupport
import Testing

@Suite struct QuarantineTests {
  /// Enough for everything.
  private static let open = Quarantine(maximumPercent: 100)

  /// A destination made in quarantine, and the files beside it.
  private struct Made {
    var path: String
    var summary: MigrationSummary
    var job: MigrationJob
  }

  private func run(
    _ world: QuarantineWorld, _ name: String, chunkRows: Int?, _ quarantine: Quarantine? = open
  ) throws -> Made {
    let path = world.folder.file("\(name)/people.sqlite")
    let job = try world.job(from: world.sourcePath, to: path, chunkRows: chunkRows, quarantine: quarantine)
    return Made(path: path, summary: try MigrationManager(job).run(), job: job)
  }

  private func difference(_ a: [String], _ b: [String]) -> String {
    for (x, y) in zip(a, b) where x != y { return "'\(x)' against '\(y)'" }
    return "\(a.count) lines against \(b.count)"
  }

  @Test(arguments: testSeeds(1), [false, true])
  func `the destination is that of a source without the rejected objects, whatever the chunks`(
    seed: UInt64, fillsAddresses: Bool
  ) throws {
    let world = try QuarantineWorld(seed: seed, people: 40, broken: 15)
    world.fillsAddresses = fillsAddresses
    try world.write(to: world.sourcePath)
    let before = try Data(contentsOf: URL(filePath: world.sourcePath))
    let left = world.rejected()
    try #require(!left.people.isEmpty && left.people.count < world.people.count)
    let clean = world.folder.file("clean.sqlite")
    try world.write(to: clean, without: left)
    let cleanJob = try world.job(
      from: clean, to: world.folder.file("clean/people.sqlite"), chunkRows: 7, quarantine: nil)
    _ = try MigrationManager(cleanJob).run()
    let expected = try QuarantineWorld.content(cleanJob.destinationPath)

    var quarantine: StoreDump?
    for rows in [1, 7, nil] {
      let made = try run(world, "rows-\(rows ?? 0)", chunkRows: rows)
      let found = try QuarantineWorld.content(made.path)
      #expect(found == expected, "seed \(seed), \(rows ?? 0) rows: \(difference(found, expected))")
      #expect(made.summary.quarantinedObjects == Int64(left.people.count + left.addresses.count))
      let dump = try StoreDump(made.path + Quarantine.suffix)
      if let quarantine {
        #expect(dump == quarantine, "seed \(seed): \(dump.firstDifference(from: quarantine) ?? "")")
      }
      quarantine = dump
      let report = try Verifier(job: made.job).run()
      #expect(report.isClean, "seed \(seed): \(report)")
      #expect(
        report.checks.first { $0.name == "objects in quarantine that a rule rejects" }?.count
          == made.summary.quarantinedObjects)
      #expect(!FileManager.default.fileExists(atPath: made.path + ".godwit"))
    }
    #expect(try Data(contentsOf: URL(filePath: world.sourcePath)) == before)
  }

  @Test(arguments: testSeeds(1))
  func `the quarantine holds the rejected objects, the links among them and a reason for each`(seed: UInt64) throws {
    let world = try QuarantineWorld(seed: seed, people: 60, broken: 30)
    try world.write(to: world.sourcePath)
    let left = world.rejected()
    let made = try run(world, "out", chunkRows: 10)
    let path = made.path + Quarantine.suffix
    // A value of the wrong type cannot be read as one: columns are.
    let connection = try StoreConnection.openStore(readingAt: path)
    func rows(_ sql: String) throws -> [String] {
      try connection.rows(sql).map { $0.map(\.plain).joined(separator: "|") }
    }
    var expected: [String] = []
    for person in world.people where left.people.contains(person.key) {
      func kept(_ key: Int64?) -> String { key.flatMap { left.people.contains($0) ? "\($0)" : nil } ?? "nil" }
      let address = person.address.flatMap { left.addresses.contains($0) ? "\($0)" : nil } ?? "nil"
      expected.append(
        [
          "\(person.key)", person.name ?? "nil", person.ageText ?? person.age.map { "\($0)" } ?? "nil", address,
          kept(person.boss), kept(person.spouse), "\(person.hasFile)",
        ].joined(separator: "|"))
    }
    let found = try rows(
      "SELECT Z_PK, ZNAME, ZAGE, ZADDRESS, ZBOSS, ZSPOUSE, CASE WHEN ZPHOTO IS NULL THEN 'false' ELSE 'true' END FROM source.ZPERSON ORDER BY Z_PK"
    )
    #expect(found == expected, "seed \(seed): \(difference(found, expected))")
    #expect(try rows("SELECT Z_PK FROM source.ZADDRESS ORDER BY 1") == left.addresses.sorted().map { "\($0)" })

    let model = try QuarantineModel.model(for: try QuarantineWorld.source)
    let schema = try StoreSchema(model: model, probing: connection)
    guard case .join(let join, let subject, let object, _) = schema.storage(of: "friends", in: "Person") else {
      Issue.record("friends are in no join table")
      return
    }
    let friends = world.people.filter { left.people.contains($0.key) }.flatMap { person in
      Set(person.friends).filter { left.people.contains($0) }.map { [person.key, $0] }
    }.sorted { ($0[0], $0[1]) < ($1[0], $1[1]) }
    #expect(
      try rows("SELECT \(quoted(subject)), \(quoted(object)) FROM source.\(quoted(join.name)) ORDER BY 1, 2")
        == friends.map { "\($0[0])|\($0[1])" })

    let reasons = try rows(
      "SELECT DISTINCT ZENTITY || ' ' || ZKEY, ZSOURCEURI FROM source.ZGODWITQUARANTINEREASON ORDER BY ZENTITY, ZKEY")
    let objects =
      left.addresses.sorted().map { ("Address", $0) }
      + ["Employee", "Person"].flatMap { entity in
        world.people.filter { left.people.contains($0.key) && $0.isEmployee == (entity == "Employee") }
          .map { (entity, $0.key) }
      }
    #expect(
      reasons == objects.map { "\($0.0) \($0.1)|x-coredata://\(world.uuid.uuidString)/\($0.0)/p\($0.1)" })
    var files: Set<String> = []
    try SupportFolder(ofStoreAt: path).forEachFile { name, _ in files.insert(name) }
    #expect(
      files
        == Set(
          world.people.filter { $0.hasFile && left.people.contains($0.key) }.map { QuarantineWorld.fileName($0.key) }))
    // Core Data would open it: the metadata has the hash of each entity.
    let metadata = try StoreMetadata(readingStoreAt: path)
    #expect(metadata.entityVersionHashes == model.versionHashes)
  }

  @Test func `links that end in the quarantine are counted once`() throws {
    let world = try QuarantineWorld(seed: 3, people: 50, broken: 20)
    try world.write(to: world.sourcePath)
    let left = world.rejected()
    let made = try run(world, "out", chunkRows: 10)
    func cut(_ pairs: [(Bool, Bool)]) -> Int64 { Int64(pairs.count { $0.0 != $0.1 }) }
    let isOut = { left.people.contains($0) }
    let expected: [String: Int64] = [
      "Person.address": cut(
        world.people.compactMap { one in one.address.map { (isOut(one.key), left.addresses.contains($0)) } }),
      "Person.boss": cut(world.people.compactMap { one in one.boss.map { (isOut(one.key), isOut($0)) } }),
      "Person.spouse": cut(world.people.compactMap { one in one.spouse.map { (isOut(one.key), isOut($0)) } }),
    ]
    let losses = made.summary.losses.losses.filter { $0.cause == .quarantined }
    for (subject, count) in expected {
      #expect(losses.first { $0.kind == .links && $0.subject == subject }?.count ?? 0 == count, "\(subject)")
    }
    let objects = losses.filter { $0.kind == .objects }.reduce(0) { $0 + ($1.count ?? 0) }
    #expect(objects == Int64(left.people.count + left.addresses.count))
  }

  @Test func `a receipt says of each object whether it was taken, left out or set aside`() throws {
    let world = try QuarantineWorld(seed: 4, people: 40, broken: 20)
    try world.write(to: world.sourcePath)
    let left = world.rejected()
    var job = try world.job(
      from: world.sourcePath, to: world.folder.file("out/people.sqlite"), chunkRows: 10, quarantine: Self.open)
    job.receipt = .besideDestination
    _ = try MigrationManager(job).run()
    let receipt = try Receipt.read(job.destinationPath + Receipt.suffix)
    var quarantined: Int64 = 0
    for mapping in try #require(receipt.steps.first).mappings {
      #expect(mapping.objectsIn == mapping.taken + mapping.leftOut + (mapping.quarantined ?? 0), "\(mapping.name)")
      #expect(mapping.made == mapping.taken)
      quarantined += mapping.quarantined ?? 0
    }
    #expect(quarantined == Int64(left.people.count + left.addresses.count))
    #expect(try ReceiptCheck(receipt: URL(filePath: job.destinationPath + Receipt.suffix)).run().isClean)
  }

  @Test func `all objects may be rejected, where the limits allow it`() throws {
    let world = try QuarantineWorld(seed: 5, people: 12, broken: 0)
    for key in world.addresses.keys { world.addresses[key] = .some(nil) }
    try world.write(to: world.sourcePath)
    let made = try run(world, "out", chunkRows: 5)
    #expect(made.summary.quarantinedObjects == Int64(12 + world.addresses.count))
    let connection = try StoreConnection.openStore(readingAt: made.path)
    #expect(try connection.integer("SELECT COUNT(*) FROM source.ZPERSON") == 0)
    #expect(try Verifier(job: made.job).run().isClean)
  }

  @Test func `a run without rejected objects leaves no quarantine, and is that of a run that fails on them`() throws {
    let world = try QuarantineWorld(seed: 6, people: 12, broken: 0)
    try world.write(to: world.sourcePath)
    let made = try run(world, "out", chunkRows: 5, Quarantine(maximumRows: 0))
    let plain = try run(world, "plain", chunkRows: 5, nil)
    #expect(made.summary.quarantined.isEmpty)
    #expect(!FileManager.default.fileExists(atPath: made.path + Quarantine.suffix))
    #expect(try StoreDump(made.path) == StoreDump(plain.path))
  }

  @Test func `progress never goes back from round to round, also after a stop`() throws {
    let world = try QuarantineWorld(seed: 7, people: 20, broken: 25)
    try world.write(to: world.sourcePath)
    let job = try world.job(
      from: world.sourcePath, to: world.folder.file("out/people.sqlite"), chunkRows: 10, quarantine: Self.open)
    var last = 0.0
    var runs = 0
    while true {
      let control = MigrationControl()
      var lines = 0
      let summary = try MigrationManager(job).run(control: control) { progress in
        #expect(progress.percent >= last)
        last = progress.percent
        lines += 1
        if lines == 9 { control.stop(reason: "test") }
      }
      runs += 1
      try #require(runs < 500)
      guard summary.outcome == .stopped else { break }
      let status = try MigrationManager(job).status()
      #expect(status.percent >= last - 0.1, "\(status.percent) after \(last)")
    }
    #expect(last == 100)
    #expect(runs > 3)
    let whole = try run(world, "whole", chunkRows: 10)
    #expect(try StoreDump(whole.path) == StoreDump(job.destinationPath))
    #expect(try StoreDump(whole.path + Quarantine.suffix) == StoreDump(job.destinationPath + Quarantine.suffix))
  }
}
