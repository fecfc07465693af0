import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// A job with a fault at the n-th change of the disk, for every n, and the run after it that finds the leftovers.
private struct FaultSweep {
  let whole: FaultJob
  let expected: [String]
  let source: [String: Data]
  /// The summary of an undisturbed run.
  private let told: MigrationSummary
  private let operations: [DiskOperation]

  init(_ kind: FaultJob.Kind) throws {
    whole = try FaultJob(kind)
    source = try whole.sourceBytes()
    let reference = try FaultJob(again: whole)
    let layer = try FaultLayer(.none)
    told = try layer.run { try reference.run() }
    operations = layer.operations
    expected = try reference.content()
    #expect(try reference.namesLeft() == reference.leftNames)
  }

  /// Where to strike: everywhere in the long tier, which takes minutes; else at so many operations that none of
  /// their kinds is left out while there is room: the first and the last of each kind on each file.
  private func positions(atMost limit: Int) -> [Int] {
    if TestTier.isLong { return Array(1...operations.count) }
    var first: [String: Int] = [:]
    var last: [String: Int] = [:]
    for (index, operation) in operations.enumerated() {
      let name = (operation.path as NSString).lastPathComponent
      // The first kind of job covers the work that every job does.
      let isTriedElsewhere = whole.kind != .everyStage && !whole.kind.beginsAgain
      if isTriedElsewhere, ["store.sqlite", "store.sqlite-journal"].contains(name) { continue }
      let sign = "\(operation.kind.rawValue) \(name.hasPrefix("0000") ? "file" : name)"
      first[sign] = first[sign] ?? index + 1
      last[sign] = index + 1
    }
    let all = Set(first.values).union(last.values).sorted()
    guard all.count > limit else { return all }
    // Other ones in each round of a campaign.
    let shift = Int(testSeeds(1)[0] % UInt64(all.count))
    return (0..<limit).map { all[($0 * all.count / limit + shift) % all.count] }
  }

  /// - Parameters:
  ///   - limits: How many faults, in the job of every stage and in the others.
  ///   - survival: The part of the disk that survives a power cut, for each position.
  func run(
    _ limits: (Int, Int), survival: (Int) -> DurableDisk.Survival = { _ in .syncedOnly },
    fault: (Int) -> FaultLayer.Fault
  ) throws {
    #expect(operations.count > 50)
    for position in positions(atMost: whole.kind == .everyStage ? limits.0 : limits.1) {
      #expect(try strike(fault(position), survival(position)), "\(fault(position)) did not strike")
    }
  }

  /// Cuts the power at each operation up to one. Some pages of the disk survive.
  func runBegin(through last: Int) throws {
    for position in 1...last {
      #expect(try strike(.powerCut(at: position), .some(seed: UInt64(position))))
    }
  }

  /// - Returns: false when the run ended before the fault.
  private func strike(_ fault: FaultLayer.Fault, _ survival: DurableDisk.Survival) throws -> Bool {
    let job = try FaultJob(again: whole)
    let layer = try FaultLayer(fault, root: job.folder.path)
    var failure: (any Error)?
    do { try layer.run { _ = try job.run() } } catch { failure = error }
    let place = "\(whole.kind.rawValue), \(fault) (\(layer.struck?.description ?? "")), \(survival)"
    guard layer.hasStruck else {
      #expect(failure == nil, "\(place): \(String(describing: failure))")
      return false
    }
    if let failure {
      let error = failure as? GodwitError
      #expect(error.map { [.inputOutput, .stopped].contains($0.code) } ?? false, "\(place): \(failure)")
      #expect(error?.remedy != nil, "\(place): \(failure)")
    }
    try layer.survive(survival)
    if whole.kind == .inPlace {
      #expect(throws: Never.self, "\(place): no store under the name") {
        _ = try StoreMetadata(readingStoreAt: job.sourcePath)
      }
    } else {
      #expect(try job.sourceBytes() == source, "\(place): the source changed")
    }
    do {
      let (status, summary) = try FaultLayer(.none).run { (try MigrationManager(job.job).status(), try job.run()) }
      #expect(summary.outcome == (status.state == .finished ? .alreadyFinished : .finished), "\(place): \(status)")
      if summary.outcome == .finished {
        #expect(Self.facts(of: summary) == Self.facts(of: told), "\(place)")
        #expect(status.run.map { $0.startsAgain != summary.wasResumed } ?? !summary.wasResumed, "\(place): \(status)")
      }
      let found = try job.content()
      #expect(found == expected, "\(place): \(Self.difference(found, expected))")
      #expect(try job.namesLeft() == job.leftNames, "\(place)")
      #expect(try job.sourceBytes() == source, "\(place): the source changed")
    } catch {
      Issue.record("\(place): run again, then \(error)\nfirst: \(String(describing: failure))")
    }
    return true
  }

  /// A summary without what differs between an interrupted migration and one that is not.
  private static func facts(of summary: MigrationSummary) -> MigrationSummary {
    var facts = summary
    (facts.wasResumed, facts.seconds, facts.peakBytes) = (false, 0, 0)
    // The notes on merged stores have their paths.
    facts.codedNotes.removeAll { $0.code == .merged }
    facts.codedNotes.sort { $0.text < $1.text }
    return facts
  }

  private static func difference(_ a: [String], _ b: [String]) -> String {
    for (x, y) in zip(a, b) where x != y { return "'\(x)' against '\(y)'" }
    return "\(a.count) lines against \(b.count)"
  }
}

@Suite struct FaultTests {
  @Test(arguments: FaultJob.Kind.allCases)
  func `after an input or output error at an operation the next run ends in the same store`(
    kind: FaultJob.Kind
  ) throws {
    try FaultSweep(kind).run((7, 3)) { .fail(EIO, at: $0) }
  }

  @Test(arguments: FaultJob.Kind.allCases)
  func `after a disk that is full from an operation on the next run ends in the same store`(
    kind: FaultJob.Kind
  ) throws {
    try FaultSweep(kind).run((3, 1)) { .full(at: $0) }
  }

  @Test(arguments: FaultJob.Kind.allCases)
  func `after a short write the next run ends in the same store`(kind: FaultJob.Kind) throws {
    try FaultSweep(kind).run((3, 1)) { .short(at: $0) }
  }

  @Test(arguments: FaultJob.Kind.allCases)
  func `after a death at an operation the next run ends in the same store`(kind: FaultJob.Kind) throws {
    try FaultSweep(kind).run((5, 2)) { .death(at: $0) }
  }

  @Test(arguments: FaultJob.Kind.allCases)
  func `after a power cut that loses all that was not synced the next run ends in the same store`(
    kind: FaultJob.Kind
  ) throws {
    try FaultSweep(kind).run((8, 3)) { .powerCut(at: $0) }
  }

  @Test(arguments: FaultJob.Kind.allCases)
  func `after a power cut that keeps names but no bytes the next run ends in the same store`(
    kind: FaultJob.Kind
  ) throws {
    try FaultSweep(kind).run((3, 1), survival: { _ in .names }, fault: { .powerCut(at: $0) })
  }

  @Test(arguments: FaultJob.Kind.allCases)
  func `after a power cut that keeps some pages the next run ends in the same store`(kind: FaultJob.Kind) throws {
    let seed = testSeeds(1)[0]
    try FaultSweep(kind).run(
      (3, 1), survival: { .some(seed: seed &* 100_000 &+ UInt64($0)) }, fault: { .powerCut(at: $0) })
  }

  @Test func `after a power cut in the first transaction that keeps some pages the status can be read`() throws {
    try FaultSweep(.everyStage).runBegin(through: 45)
  }

  @Test func `after a fault in a chunk with large rows the next run ends in the same store`() throws {
    let limits = LargeRowLimits(rowBytes: 1, valueBytes: 0, recordBytes: 0)
    try EngineTuning.with(\.largeRows, limits) {
      let sweep = try FaultSweep(.everyStage)
      try sweep.run((2, 0)) { .fail(EIO, at: $0) }
      try sweep.run((2, 0)) { .death(at: $0) }
      try sweep.run((2, 0)) { .powerCut(at: $0) }
    }
  }
}
