import Foundation

/// A line of a shard's results: what became of a store.
///
/// It has the keys of a line of `godwit run --results`, and those of the fleet.
package struct FleetResult: Codable, Sendable, Equatable {
  /// How a store ended.
  package enum Outcome: String, Codable, Sendable, CaseIterable {
    case finished
    case alreadyFinished = "already finished"
    case stopped
    case failed
  }

  package var schemaVersion = 1
  package var type = "store"
  package var time: String
  package var store: String
  package var destination: String?
  package var outcome: Outcome
  package var status: Int32
  package var seconds: Double
  package var objects: Int64?
  package var losses: Int?
  package var findings: Int64?
  package var code, reason, reasonCode, message, location, site, cause, remedy, safe: String?
  /// The shard, and the place of the store in its list, from 0.
  package var shard: Int?
  package var index: Int64?
  package var bytes: Int64?
  /// Which of the plan's pairs it belongs to.
  package var pair: Int?
  /// That of the plan.
  package var identity: String?

  package init(store: String, outcome: Outcome, status: Int32, seconds: Double, time: String) {
    (self.store, self.outcome, self.status, self.seconds, self.time) = (store, outcome, status, seconds, time)
  }

  /// A store that is in no shard.
  init(unreadable: FleetPlan.Unreadable, time: String) {
    self.init(store: unreadable.store, outcome: .failed, status: unreadable.status, seconds: 0, time: time)
    (code, message) = (unreadable.code, unreadable.message)
  }

  /// Whether the store needs no other run.
  package var isDone: Bool { outcome == .finished || outcome == .alreadyFinished }
  /// Whether it ended, well or not.
  package var isEnded: Bool { outcome != .stopped }

  package init?(line: [UInt8]) {
    guard let read = try? JSONDecoder().decode(FleetResult.self, from: Data(line)) else { return nil }
    self = read
  }
}
