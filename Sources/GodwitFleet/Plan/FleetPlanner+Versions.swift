import Foundation
import Godwit
import GodwitJob
import GodwitManifest
import GodwitModel
import GodwitStore

/// What a version of stores comes to: one job is loaded for each.
extension FleetPlanner {
  /// Stores of a version that are tried before nothing is known of it.
  private static let triesOfVersion = 20

  /// So many versions without a path are named: a store of garbage may have one of its own.
  private static let pathlessMaximum = 100

  /// Loads a job of each version, and takes out the stores that need none and those that no model fits.
  ///
  /// - Returns: The places of the plan's pairs, by the number of the version in the table.
  func resolve(_ table: SurveyTable, _ plan: inout FleetPlan) throws -> [Int64: Int] {
    let inputs = SharedInputs()
    var found: [(version: Int64, pair: FleetPlan.Pair)] = []
    var others = FleetPlan.Pair(version: "other versions", stores: 0, bytes: 0, outcome: .noPath, path: [], losses: [])
    var pathless = 0
    try table.beginVersions()
    for group in try table.groups() where group.state == .wanted {
      guard let version = group.version else { continue }
      for pair in try pairs(of: group, version, table, inputs) {
        if pair.outcome == .noPath { pathless += 1 }
        if pair.outcome == .noPath, pathless > Self.pathlessMaximum {
          (others.stores, others.bytes) = (others.stores + pair.stores, others.bytes &+ pair.bytes)
        } else {
          found.append((version, pair))
        }
      }
    }
    try table.commit()
    found.sort { ($0.pair.version, $0.version) < ($1.pair.version, $1.version) }
    plan.pairs = found.map(\.pair) + (others.stores > 0 ? [others] : [])
    for group in try table.groups() {
      switch group.state {
      case .found: break
      case .current: plan.current += group.stores
      case .unreadable: plan.unreadable += group.stores
      case .wanted:
        plan.stores += group.stores
        plan.bytes += group.bytes
      }
    }
    var places: [Int64: Int] = [:]
    // Stores without a path are in no shard.
    for (place, entry) in found.enumerated() where entry.pair.outcome != .noPath { places[entry.version] = place }
    return places
  }

  /// What the stores of a version come to. Takes those out of the shards that are current, or have no path.
  ///
  /// - Returns: One pair; two where only some of the stores carry the model that nobody else has.
  private func pairs(
    of group: SurveyTable.Group, _ version: Int64, _ table: SurveyTable, _ inputs: SharedInputs
  ) throws -> [FleetPlan.Pair] {
    let key = String(try table.key(ofVersion: version).prefix(12))
    var pair = FleetPlan.Pair(
      version: key, stores: group.stores, bytes: group.bytes, outcome: .migrate, path: [], losses: [])
    let error = try resolve(version, table, inputs, &pair)
    if pair.outcome == .current { try table.setCurrent(ofVersion: version) }
    guard pair.outcome == .noPath, let error else { return [pair] }
    // The path of the store is not in it: it is the same for all of them.
    let isUnknown = error.topic == .unknownStoreVersion
    let unreadable = FleetPlan.Unreadable(
      store: "", status: GodwitError.Code.noPath.rawValue, code: GodwitError.Code.noPath.name,
      message: isUnknown ? "no model fits the store" : error.message)
    let problem = String(decoding: try JSONEncoder().encode(unreadable), as: UTF8.self)
    guard isUnknown else {
      try table.setState(.unreadable, ofVersion: version, problem: problem)
      return [pair]
    }
    let left = try leaveThoseWithModels(ofVersion: version, table, problem: problem)
    guard left.stores > 0 else { return [pair] }
    var own = FleetPlan.Pair(
      version: key, stores: left.stores, bytes: left.bytes, outcome: .migrate, path: [], losses: [])
    _ = try resolve(version, table, inputs, &own)
    // Each carries a model of its own, and says for itself what is wrong with it.
    if own.outcome == .noPath { own.outcome = .migrate }
    if own.outcome == .current { try table.setCurrent(ofVersion: version) }
    (pair.stores, pair.bytes) = (pair.stores - left.stores, max(0, pair.bytes - left.bytes))
    return pair.stores > 0 ? [own, pair] : [own]
  }

  /// Finds the path of a version by the first of its small stores that tells it.
  ///
  /// - Returns: Why there is no path, or none is known.
  private func resolve(
    _ version: Int64, _ table: SurveyTable, _ inputs: SharedInputs, _ pair: inout FleetPlan.Pair
  ) throws -> GodwitError? {
    var last: GodwitError?
    for row in try table.smallest(ofVersion: version, count: Self.triesOfVersion) {
      let store = loader.store(for: paths.match(row.path).match, memory: share, inputs).store
      do {
        let job = try store.loader.job()
        pair.version = job.sourceModel.name
        pair.message = job.inputNotes.first { $0.code == .modelFromStore }?.text
        let manager = MigrationManager(job)
        if job.inPlace != nil, job.sourceModel.isCompatible(with: job.destinationModel.versionHashes) {
          pair.outcome = .current
        }
        let steps = manager.job.steps
        pair.path = [job.sourceModel.name] + steps.flatMap { $0.passedVersions + [$0.destinationModel.name] }
        if pair.outcome == .migrate { pair.losses = try losses(manager, version, table, inputs) }
        return nil
      } catch let error as GodwitError {
        // What is wrong with the manifest is wrong for all.
        if [.configuration, .usage, .internalBug].contains(error.code) { throw error }
        if error.code == .noPath {
          // It follows from the version alone, but for a model that the store itself may carry.
          (pair.outcome, pair.message) = (.noPath, error.message)
          return error
        }
        last = error
      }
    }
    // Each of the stores says for itself what is wrong with it.
    pair.message = last?.message
    return last
  }

  /// Stores that are counted for the losses of a version, and how large they may be: counting takes a moment.
  private static let countedStores = 3
  private static let countedBytes: Int64 = 32 << 20

  /// What some of the stores of a version would lose, without the counts.
  ///
  /// - Parameter manager: Of the smallest store, which may have nothing to lose.
  private func losses(
    _ manager: MigrationManager, _ version: Int64, _ table: SurveyTable, _ inputs: SharedInputs
  ) throws -> [String] {
    var lines = try losses(manager)
    for row in try table.largest(ofVersion: version, atMost: Self.countedBytes, count: Self.countedStores) {
      // What is wrong with one of them is said by its run.
      let store = loader.store(for: paths.match(row.path).match, memory: share, inputs).store
      guard let job = try? store.loader.job() else { continue }
      for line in try losses(MigrationManager(job)) where !lines.contains(line) { lines.append(line) }
    }
    return lines
  }

  /// What one store would lose, without its counts.
  private func losses(_ manager: MigrationManager) throws -> [String] {
    let plan: MigrationPlan
    do { plan = try manager.plan() } catch let error as GodwitError {
      if [.configuration, .usage, .internalBug].contains(error.code) { throw error }
      return []
    }
    if !plan.missingPolicies.isEmpty, let error = manager.job.missingPolicyError { throw error }
    return plan.losses.losses.filter { $0.kind != .linksToNothing }.map { loss in
      "\(loss.kind.rawValue): \(loss.subject) (\(loss.reason))"
    }
  }
}
