package import Foundation
package import GodwitModel

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
    return Self.timeLimit
  }

  package static let timeLimit = "time limit reached"
}

extension GodwitError.StopReason {
  /// The code of a reason in words, as a ``MigrationControl`` or a time box gives it.
  package init(of reason: String) {
    self =
      switch reason {
      case StopCondition.timeLimit: .timeLimit
      case MigrationControl.cancelled: .cancelled
      case "SIGINT", "SIGTERM": .signal
      default: .requested
      }
  }
}
