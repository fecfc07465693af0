import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// A destination is replaced while the disk fails, the process dies or the power goes: the old store or the new one is
/// whole at every moment, and the next run ends.
private struct ReplacementSweep {
  let night: SecondNight
  private let operations: [DiskOperation]

  init(_ night: SecondNight) throws {
    self.night = night
    let job = try night.copy()
    let layer = try FaultLayer(.none)
    try layer.run { _ = try MigrationManager(night.job(job)).run() }
    operations = layer.operations
    try night.expectDone(job, "no fault")
  }

  /// Where to strike: everywhere in the long tier; else at some operations from the first of the exchange on, and at a
  /// few before.
  private func positions(_ limit: Int) throws -> [Int] {
    if TestTier.isLong { return Array(1...operations.count) }
    let begin = try #require(operations.firstIndex { $0.path.contains("/given.names") })
    let exchange = Array((begin + 1)...operations.count)
    #expect(exchange.count > 20)
    let shift = Int(testSeeds(1)[0] % UInt64(exchange.count))
    var all = (0..<limit).map { exchange[($0 * exchange.count / limit + shift) % exchange.count] }
    all.append(1 + shift % begin)
    return all.sorted()
  }

  func run(_ limit: Int, fault: (Int) -> FaultLayer.Fault) throws {
    for position in try positions(limit) { try strike(fault(position)) }
  }

  /// Strikes at each operation on the store that was kept the night before, and at the two after it, which sync folders.
  ///
  /// - Parameter part: The third of these operations that is struck on each change.
  func runOnKeptStore(part: Int, isDiscarded: Bool = false, fault: (Int) -> FaultLayer.Fault) throws {
    let names = ["people~", "kept.removed"]
    let places = operations.indices.filter { names.contains(where: operations[$0].path.contains) }
    #expect(places.count > 10)
    let positions = Set(places.flatMap { $0 + 1...$0 + 3 })
    let all = positions.sorted().filter { $0 <= operations.count }
    let third = all.indices.filter { ($0 + testRound) % 3 == part }.map { all[$0] }
    for position in TestTier.choose(third, long: all) { try strike(fault(position), isDiscarded: isDiscarded) }
  }

  /// Has some of the looks at the folder fail.
  func runOnLooks(_ limit: Int) throws {
    let job = try night.copy()
    let looks = FaultLayer(.none, looksAt: job.folder.path)
    try looks.run { _ = try MigrationManager(night.job(job)).run() }
    let positions = ReadFaultSweep.positions(looks.operations, atMost: limit)
    var struck = 0
    for (count, position) in positions.enumerated()
    where try strike(.fail(ReadFaultSweep.code(count), at: position), isLook: true) {
      struck += 1
    }
    // How often a run looks depends on its pace: the last looks of another run may not come.
    #expect(struck * 4 >= positions.count * 3, "\(struck) of \(positions.count)")
  }

  /// - Returns: Whether the fault came.
  @discardableResult
  private func strike(_ fault: FaultLayer.Fault, isDiscarded: Bool = false, isLook: Bool = false) throws -> Bool {
    let job = try night.copy()
    let layer =
      try isLook ? FaultLayer(fault, looksAt: job.folder.path) : FaultLayer(fault, root: job.folder.path)
    var failure: (any Error)?
    do { try layer.run { _ = try MigrationManager(night.job(job)).run() } } catch { failure = error }
    let place = "\(job.kind.rawValue), kept: \(night.keepsOld), \(fault) (\(layer.struck?.description ?? ""))"
    #expect(layer.hasStruck || isLook, "\(place)")
    if case .fail(let code, _) = fault, let failure {
      ReadFaultSweep.check(failure, code, place)
    } else if let failure {
      ReadFaultSweep.check(failure, EIO, place)
    }
    try layer.survive(.syncedOnly)
    let found = try SecondNight.content(job.destinationPath)
    #expect(found.holds(night.old) || found.holds(night.new), "\(place): neither store is whole")
    if isDiscarded {
      _ = try MigrationManager.discard(destination: job.destinationPath)
      let left = try job.namesLeft()
      let stray = left.filter { $0.contains("people~") && !left.contains("people~.sqlite") }
      #expect(stray.isEmpty && Set(left).isSubset(of: night.leftNames), "\(place): \(left)")
    }
    do {
      let summary = try FaultLayer(.none).run { try MigrationManager(night.job(job)).run() }
      #expect([.finished, .alreadyFinished].contains(summary.outcome), "\(place)")
      try night.expectDone(job, place)
    } catch { Issue.record("\(place): run again, then \(error)\nfirst: \(String(describing: failure))") }
    return layer.hasStruck
  }
}

@Suite struct ReplacementFaultTests {
  /// Where the old store is kept, another one was kept in the night before and has to make room.
  private static func night(_ keepsOld: Bool) throws -> SecondNight {
    try SecondNight(keepsOld: keepsOld, nights: keepsOld ? 3 : 2)
  }

  @Test(arguments: [false, true])
  func `after a death at any operation of the exchange one store is whole, and the next run ends`(keepsOld: Bool) throws
  {
    try ReplacementSweep(Self.night(keepsOld)).run(4) { .death(at: $0) }
  }

  @Test func `after a death or a power cut while the store kept before is removed the next run ends`() throws {
    let sweep = try ReplacementSweep(Self.night(true))
    try sweep.runOnKeptStore(part: 0) { .death(at: $0) }
    try sweep.runOnKeptStore(part: 1) { .powerCut(at: $0) }
    try sweep.runOnKeptStore(part: 2, isDiscarded: true) { .death(at: $0) }
  }

  @Test(arguments: [false, true])
  func `after an input or output error one store is whole, and the next run ends`(keepsOld: Bool) throws {
    let sweep = try ReplacementSweep(Self.night(keepsOld))
    try sweep.run(3) { .fail(EIO, at: $0) }
    try sweep.run(1) { .full(at: $0) }
  }

  @Test(arguments: [false, true])
  func `after a look that fails one store is whole, and the next run ends`(keepsOld: Bool) throws {
    try ReplacementSweep(Self.night(keepsOld)).runOnLooks(5)
  }

  @Test(arguments: [false, true])
  func `after a power cut one store is whole, and the next run ends`(keepsOld: Bool) throws {
    try ReplacementSweep(Self.night(keepsOld)).run(3) { .powerCut(at: $0) }
  }

  @Test(arguments: [FaultJob.Kind.severalSteps, .xml])
  func `after a death in a job of several steps or of an XML store the next run ends`(kind: FaultJob.Kind) throws {
    try ReplacementSweep(SecondNight(kind)).run(2) { .death(at: $0) }
  }
}
