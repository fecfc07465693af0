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

  /// - Throws: `.stopped` (75) once the run is to stop.
  package func checkpoint() throws {
    if let stopReason { throw GodwitError.stopped(stopReason, remedy: "run the same command") }
  }

  package static let timeLimit = "time limit reached"
}

extension MigrationControl {
  /// - Throws: `.stopped` (75) once the run was told to stop.
  package func checkpoint() throws {
    if let reason { throw GodwitError.stopped(reason, remedy: "run the same command to resume") }
  }
}

extension GodwitError {
  fileprivate static func stopped(_ reason: String, remedy: String) -> GodwitError {
    GodwitError(.stopped, "stopped: \(reason)", remedy: remedy, stopReason: StopReason(of: reason))
  }
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
