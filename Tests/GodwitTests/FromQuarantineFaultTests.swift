import Foundation
import GodwitModel
import TestSupport
import Testing

@testable import Godwit
@testable import GodwitDisk
@testable import GodwitEngine
@testable import GodwitJob
@testable import GodwitStore
@testable import GodwitVerifier

/// Repairs that are taken while the disk fails, the process dies or the power goes: the old destination or the new one is
/// whole at every moment, and the next run ends.
private struct RepairSweep {
  let world: RepairWorld
  private let old: [String]
  private let new: [String]
  private let names: [String]
  private let operations: [DiskOperation]
  private let before: String

  init() throws {
    let world = try RepairWorld(seed: 31, people: 16)
    try world.run()
    try world.edit(seed: 33, percent: 50)
    // What is repaired has a file of its own.
    let both = try world.open()
    let file = "00000000-0000-0000-7000-000000000002"
    try both.held.set(both.people[0], "ZPHOTO", .blob(StoredBinary.external(name: file).bytes))
    try both.close()
    let support = SupportFolder(ofStoreAt: world.quarantine)
    try FileManager.default.createDirectory(atPath: support.dataPath, withIntermediateDirectories: true)
    try Data(repeating: 5, count: 600).write(to: URL(filePath: support.path(of: file)))
    self.world = world
    before = world.folder.file("before")
    try FileManager.default.copyItem(atPath: world.folder.file("out"), toPath: before)
    old = try Self.content(world.destination)
    let layer = try FaultLayer(.none)
    try layer.run { _ = try world.take() }
    operations = layer.operations
    new = try Self.all(world)
    names = try FileManager.default.contentsOfDirectory(atPath: world.folder.file("out")).sorted()
    #expect(try Verifier(job: world.job()).run().isClean)
  }

  private static func content(_ path: String) throws -> [String] {
    let content = try InPlaceContent(path)
    return content.dump.lines + content.files
  }

  private static func all(_ world: RepairWorld) throws -> [String] {
    var lines = try content(world.destination)
    for path in [world.quarantine, world.repairs] where FileManager.default.fileExists(atPath: path) {
      let content = path == world.repairs ? [] : try InPlaceContent(path).dump.lines
      lines += content
      try SupportFolder(ofStoreAt: path).forEachFile { name, bytes in
        lines.append("\(path == world.repairs) \(name) \(bytes)")
      }
    }
    return lines
  }

  private func positions(_ limit: Int) throws -> [Int] {
    if TestTier.isLong { return Array(1...operations.count) }
    let begin = try #require(operations.firstIndex { $0.path.contains("/given.names") })
    let delivery = Array((begin + 1)...operations.count)
    #expect(delivery.count > 40)
    let shift = Int(testSeeds(1)[0] % UInt64(delivery.count))
    var all = (0..<limit).map { delivery[($0 * delivery.count / limit + shift) % delivery.count] }
    all.append(1 + shift % begin)
    return all.sorted()
  }

  func run(_ limit: Int, withoutFlag: Bool = false, fault: (Int) -> FaultLayer.Fault) throws {
    for position in try positions(limit) { try strike(fault(position), withoutFlag) }
  }

  private func strike(_ fault: FaultLayer.Fault, _ withoutFlag: Bool) throws {
    let out = world.folder.file("out")
    try FileManager.default.removeItem(atPath: out)
    try FileManager.default.copyItem(atPath: before, toPath: out)
    let layer = try FaultLayer(fault, root: world.folder.path)
    var failure: (any Error)?
    do { try layer.run { _ = try world.take() } } catch { failure = error }
    let place = "\(fault) (\(layer.struck?.description ?? ""))"
    #expect(layer.hasStruck, "\(place)")
    if let failure {
      let error = failure as? GodwitError
      #expect(error.map { [.inputOutput, .stopped].contains($0.code) } ?? false, "\(place): \(failure)")
    }
    try layer.survive(.syncedOnly)
    let found = try StoreDump(world.destination).lines
    #expect(old.starts(with: found) || new.starts(with: found), "\(place): neither destination is whole")
    do {
      // A run without repairs ends a delivery too, and leaves work that was not delivered.
      if withoutFlag { #expect(try world.run().outcome == .alreadyFinished, "\(place)") }
      let summary = try world.take()
      #expect([.finished, .alreadyFinished].contains(summary.outcome), "\(place)")
      let again = try Self.all(world)
      #expect(
        again == new, "\(place): \(zip(again, new).first { $0 != $1 }.map { "'\($0)' against '\($1)'" } ?? "lines")")
      #expect(try FileManager.default.contentsOfDirectory(atPath: out).sorted() == names, "\(place)")
      let receipt = try Receipt.read(world.destination + Receipt.suffix)
      let jobs = try StoreMetadata(readingStoreAt: world.destination).values[MigrationManager.jobsKey]?.array
      #expect(receipt.job.digest == jobs?.last?.string, "\(place)")
    } catch { Issue.record("\(place): run again, then \(error)\nfirst: \(String(describing: failure))") }
  }
}

@Suite struct FromQuarantineFaultTests {
  @Test func `after a death at any operation of the delivery one destination is whole, and the next run ends`() throws {
    let sweep = try RepairSweep()
    try sweep.run(5) { .death(at: $0) }
    try sweep.run(3, withoutFlag: true) { .death(at: $0) }
  }

  @Test func `after a failure of the disk or of the power the next run ends`() throws {
    let sweep = try RepairSweep()
    try sweep.run(2) { .fail(EIO, at: $0) }
    try sweep.run(1) { .full(at: $0) }
    try sweep.run(4) { .powerCut(at: $0) }
  }

  @Test func `a run that is stopped after any progress line goes on to the same destination`() throws {
    let world = try RepairWorld(seed: 41, people: 20)
    try world.run()
    try world.edit(seed: 43, percent: 40)
    var runs = 0
    while true {
      let control = MigrationControl()
      var lines = 0
      let summary = try MigrationManager(world.job()).run(
        fromQuarantine: URL(filePath: world.quarantine), control: control
      ) { _ in
        lines += 1
        if lines == TestTier.choose(9, long: 2) { control.stop(reason: "test") }
      }
      runs += 1
      try #require(runs < 500)
      guard summary.outcome == .stopped else {
        try world.expectEqual(summary, "stopped")
        break
      }
      if runs == 2 {
        // The old destination is in place, and is the job's.
        let plain = try world.run()
        #expect(plain.outcome == .alreadyFinished)
        #expect(plain.codedNotes.contains { $0.code == .repairsUnfinished })
        #expect(try MigrationManager(world.job()).status().state == .unfinished)
      }
    }
    #expect(runs > 2)
  }

  @Test func `after another edit unfinished work begins anew, and it can be discarded`() throws {
    let world = try RepairWorld(seed: 45, people: 20)
    try world.run()
    try world.edit(seed: 46, percent: 40)
    let control = MigrationControl()
    var lines = 0
    _ = try MigrationManager(world.job()).run(fromQuarantine: URL(filePath: world.quarantine), control: control) { _ in
      lines += 1
      if lines == 6 { control.stop(reason: "test") }
    }
    let both = try world.open()
    for store in both.stores { try store.set(both.people[0], "ZNAME", .text("once more")) }
    try both.close()
    lines = 0
    let again = MigrationControl()
    _ = try MigrationManager(world.job()).run(fromQuarantine: URL(filePath: world.quarantine), control: again) { _ in
      lines += 1
      if lines == 6 { again.stop(reason: "test") }
    }
    #expect(lines >= 6)
    #expect(try MigrationManager.discard(destination: world.destination))
    try world.expectEqual(world.take(), "after discard")
  }
}
