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

  /// Loads a job of each version, and takes out the stores that need none and those that no model fits.
  ///
  /// - Returns: The places of the plan's pairs, by the number of the version in the table.
  func resolve(_ table: SurveyTable, _ plan: inout FleetPlan) throws -> [Int64: Int] {
    let inputs = SharedInputs()
    var found: [(version: Int64, pair: FleetPlan.Pair)] = []
    for group in try table.groups() where group.state == .wanted {
      guard let version = group.version else { continue }
      var pair = FleetPlan.Pair(
        version: String(try table.key(ofVersion: version).prefix(12)), stores: group.stores, bytes: group.bytes,
        outcome: .migrate, path: [], losses: [])
      let error = try resolve(version, table, inputs, &pair)
      switch pair.outcome {
      case .migrate: break
      case .current: try table.setCurrent(ofVersion: version)
      case .noPath:
        // The path of the store is not in it: it is the same for all of them.
        let problem = FleetPlan.Unreadable(
          store: "", status: GodwitError.Code.noPath.rawValue, code: GodwitError.Code.noPath.name,
          message: error?.topic == .unknownStoreVersion ? "no model fits the store" : error?.message ?? "no path")
        try table.setState(
          .unreadable, ofVersion: version, problem: String(decoding: try JSONEncoder().encode(problem), as: UTF8.self))
      }
      found.append((version, pair))
    }
    try table.commit()
    found.sort { ($0.pair.version, $0.version) < ($1.pair.version, $1.version) }
    plan.pairs = found.map(\.pair)
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
    for (place, entry) in found.enumerated() { places[entry.version] = place }
    return places
  }

  /// - Returns: Why there is no path, where there is none.
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
        last = error
      }
    }
    if let last, last.code == .noPath {
      pair.outcome = .noPath
      pair.message = last.message
      return last
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
