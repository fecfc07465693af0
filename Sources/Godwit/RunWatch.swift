import Foundation

/// When a run is to stop.
struct RunWatch: Sendable {
  let control: MigrationControl
  let start: Date
  /// A time box in seconds; nil for none.
  let maximumSeconds: Double?

  /// Why the run is to stop at this checkpoint; nil to go on.
  var stopReason: String? {
    if let reason = control.reason { return reason }
    guard let maximumSeconds, Date().timeIntervalSince(start) >= maximumSeconds else { return nil }
    return "time box reached"
  }
}
