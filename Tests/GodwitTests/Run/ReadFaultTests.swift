import Foundation
import Godwit
import GodwitJob
import GodwitModel
import GodwitStore
import TestSupport
import Testing

/// A job that finds work of an earlier run, or its own result, and one look at its files that fails.
///
/// "Cannot be read" is neither "is not there" nor "is another one": the run ends with an error of the disk, and the next one
/// finds all that was there.
struct ReadFaultSweep {
  /// The work that a run finds.
  enum State: Int, CaseIterable, Sendable {
    case nothing, begun, made, delivered, finished
  }

  /// The answer of an undisturbed run.
  private struct Answer: Equatable {
    var outcome: MigrationSummary.Outcome
    var wasResumed: Bool
    var state: MigrationStatus.State
  }

  let whole: FaultJob
  private let expected: [String]
  private let source: [String: Data]
  private let changes: [DiskOperation]
  /// The place of the change that delivers the store.
  private let delivery: Int

  init(_ kind: FaultJob.Kind) throws {
    whole = try FaultJob(kind)
    source = try whole.sourceBytes()
    let reference = try FaultJob(again: whole)
    let layer = try FaultLayer(.none)
    try layer.run { _ = try reference.run() }
    changes = layer.operations
    expected = try reference.content()
    delivery = try #require(
      changes.firstIndex {
        [.link, .rename].contains($0.kind) && $0.secondPath == reference.destinationPath
      })
  }

  /// The job in a state.
  private func job(in state: State) throws -> FaultJob {
    let job = try FaultJob(again: whole)
    let death: Int
    switch state {
    case .nothing: return job
    case .finished:
      try job.run()
      return job
    case .begun:
      let commits = changes.indices.filter { $0 < delivery && changes[$0].path.hasSuffix("/store.sqlite-journal") }
      death = try #require(commits.isEmpty ? delivery / 2 : commits[commits.count * 2 / 3]) + 1
    case .made: death = delivery + 1
    case .delivered: death = delivery + 2
    }
    #expect(throws: (any Error).self) { try FaultLayer(.death(at: death)).run { try job.run() } }
    return job
  }

  /// Where to strike: the first, the middle and the last of each kind of look at each file; some of these on every
  /// change.
  static func positions(_ looks: [DiskOperation], atMost limit: Int) -> [Int] {
    let places = Dictionary(grouping: looks.indices) { place in
      let name = (looks[place].path as NSString).lastPathComponent
      return "\(looks[place].kind.rawValue) \(name.hasPrefix("0000") ? "file" : name)"
    }
    let all = Set(places.values.flatMap { [$0[0], $0[$0.count / 2], $0[$0.count - 1]] }).sorted().map { $0 + 1 }
    guard !TestTier.isLong, all.count > limit else { return all }
    let shift = Int(testSeeds(1)[0] % UInt64(all.count))
    return (0..<limit).map { all[($0 * all.count / limit + shift) % all.count] }
  }

  private func looks(_ job: FaultJob, _ body: () throws -> Void) throws -> [DiskOperation] {
    let layer = FaultLayer(.none, looksAt: job.folder.path)
    try layer.run(body)
    return layer.operations
  }

  /// The looks of a run that nothing disturbs, and how it ends.
  private func undisturbed(_ state: State) throws -> ([DiskOperation], Answer) {
    let undisturbed = try job(in: state)
    let status = try MigrationManager(undisturbed.job).status()
    var answer: Answer?
    let looks = try looks(undisturbed) {
      let summary = try undisturbed.run()
      answer = Answer(outcome: summary.outcome, wasResumed: summary.wasResumed, state: status.state)
    }
    return (looks, try #require(answer))
  }

  func run(_ state: State, atMost limit: Int) throws {
    let (looks, known) = try undisturbed(state)
    for (count, position) in Self.positions(looks, atMost: limit).enumerated() {
      try strike(state, position, Self.code(count), known)
    }
  }

  /// Strikes each time that the finished store in the work folder is opened.
  func openStore(_ code: Int32) throws {
    let (looks, known) = try undisturbed(.begun)
    let positions = looks.indices.filter { looks[$0].kind == .open && looks[$0].path.hasSuffix("/store.sqlite") }
    #expect(!positions.isEmpty)
    for position in positions { try strike(.begun, position + 1, code, known) }
  }

  private func strike(_ state: State, _ position: Int, _ code: Int32, _ known: Answer) throws {
    let job = try job(in: state)
    let layer = FaultLayer(.fail(code, at: position), looksAt: job.folder.path)
    var failure: (any Error)?
    // A receipt that may not be put in its place waits in the work folder, with a note, for the next run.
    var isReceiptWaiting = false
    do {
      let summary = try layer.run { try job.run() }
      isReceiptWaiting = summary.codedNotes.contains { $0.code == .receiptMissing }
    } catch { failure = error }
    let place = "\(whole.kind.rawValue), \(state), \(layer.fault) (\(layer.struck?.description ?? "no strike"))"
    if let failure { Self.check(failure, code, place) }
    do {
      if failure != nil || isReceiptWaiting {
        let status = try MigrationManager(job.job).status()
        let summary = try job.run()
        let found = Answer(outcome: summary.outcome, wasResumed: summary.wasResumed, state: status.state)
        // A job that begins again after a kill has nothing to resume: a run of it that fails removes what is left.
        let beginsAgain = whole.kind.beginsAgain && !known.wasResumed && !found.wasResumed
        // A run that begins may have got further before it failed.
        if state != .nothing, known.state != .notStarted, !beginsAgain || summary.outcome != .finished {
          #expect(
            found == known || summary.outcome == .alreadyFinished || known.outcome == .finished && found.wasResumed,
            "\(place): \(found), not \(known)")
        }
      }
      #expect(try job.content() == expected, "\(place)")
      #expect(try job.namesLeft() == job.leftNames, "\(place)")
      #expect(try job.sourceBytes() == source, "\(place): the source changed")
    } catch { Issue.record("\(place): run again, then \(error)\nfirst: \(String(describing: failure))") }
  }

  /// The status that a failing look leads to is the one without it, or an error of the disk.
  func askStatus(_ state: State, atMost limit: Int) throws {
    let job = try job(in: state)
    let manager = MigrationManager(try job.job)
    let known = try manager.status()
    let looks = try looks(job) { _ = try manager.status() }
    for (count, position) in Self.positions(looks, atMost: limit).enumerated() {
      let code = Self.code(count)
      let layer = FaultLayer(.fail(code, at: position), looksAt: job.folder.path)
      let place = "status of \(whole.kind.rawValue), \(state), \(layer.fault)"
      do {
        let found = try layer.run { try manager.status() }
        #expect(
          found.state == known.state && found.run?.state == known.run?.state
            && found.run?.startsAgain == known.run?.startsAgain && found.percent == known.percent,
          "\(place) (\(layer.struck?.description ?? "")): \(found) instead of \(known)")
      } catch { Self.check(error, code, "\(place) (\(layer.struck?.description ?? ""))") }
    }
  }

  /// The error of one look of several.
  static func code(_ count: Int) -> Int32 { [EIO, EACCES, EINTR][(count + testRound) % 3] }

  static func check(_ failure: any Error, _ code: Int32, _ place: String) {
    let error = failure as? GodwitError
    let right: [GodwitError.Code] = code == EACCES ? [.permission, .inputOutput, .stopped] : [.inputOutput, .stopped]
    #expect(error.map { right.contains($0.code) } ?? false, "\(place): \(failure)")
    #expect(error?.remedy != nil, "\(place): \(failure)")
  }

  /// The states that are tried for a kind of job on every change; all of them in the long tier.
  static func states(_ kind: FaultJob.Kind, each step: Int) -> [State] {
    let place = FaultJob.Kind.allCases.firstIndex(of: kind) ?? 0
    return State.allCases.filter { TestTier.isLong || ($0.rawValue + place + testRound) % step == 0 }
  }
}

@Suite struct ReadFaultTests {
  @Test(arguments: FaultJob.Kind.allCases)
  func `a look that fails ends a run with an error of the disk, and the next one goes on`(kind: FaultJob.Kind) throws {
    let sweep = try ReadFaultSweep(kind)
    for state in ReadFaultSweep.states(kind, each: 3) { try sweep.run(state, atMost: 4) }
  }

  @Test func `a store that may not be read for its receipt ends the run, and the next one writes the receipt`() throws {
    try ReadFaultSweep(.smallStore).openStore(EACCES)
  }

  @Test(arguments: FaultJob.Kind.allCases)
  func `a look that fails gives no other status`(kind: FaultJob.Kind) throws {
    let sweep = try ReadFaultSweep(kind)
    for state in ReadFaultSweep.states(kind, each: 3) { try sweep.askStatus(state, atMost: 12) }
  }
}
