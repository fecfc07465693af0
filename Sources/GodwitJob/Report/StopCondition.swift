package import Foundation

/// When a run is to stop.
package struct StopCondition: Sendable {
  package let control: MigrationControl
  package let start: Date
  /// A time box in seconds; nil for none.
  package let maximumSeconds: Double?

  package init(control: MigrationControl, start: Date, maximumSeconds: Double?) {
    self.control = control
    self.start = start
    self.maximumSeconds = maximumSeconds
  }

  /// Why the run is to stop at this checkpoint; nil to go on.
  package var stopReason: String? {
    if let reason = control.reason { return reason }
    guard let maximumSeconds, Date().timeIntervalSince(start) >= maximumSeconds else { return nil }
    return "time limit reached"
  }
}
