import GodwitJob
import GodwitModel
import Synchronization

/// The conditions that end a verification early.
struct VerificationStop: Sendable {
  private let control: MigrationControl
  private let start = ContinuousClock.now
  private let maximumSeconds: Double?
  private let last = LastReport()

  private final class LastReport: Sendable {
    let report = Mutex(VerificationReport())
  }

  /// The findings when the verification was stopped.
  var found: VerificationReport { last.report.withLock { $0 } }

  init(_ control: MigrationControl, maximumSeconds: Double?) {
    (self.control, self.maximumSeconds) = (control, maximumSeconds)
  }

  private var isOverTime: Bool {
    maximumSeconds.map { start.duration(to: .now) >= .seconds(min($0, 1e9)) } ?? false
  }

  var isDue: Bool { control.reason != nil || isOverTime }

  /// - Parameter report: The findings until then.
  func error(_ path: String, found report: VerificationReport) -> any Error {
    last.report.withLock { $0 = report }
    if Task.isCancelled { return CancellationError() }
    let reason = control.reason
    let found = report.totalFindings
    let findings = found == 1 ? "1 difference was found" : "\(found) differences were found"
    return GodwitError(
      .stopped,
      "cannot verify '\(path)': stopped before the end by \(reason ?? "the time limit"), "
        + (found == 0 ? "and no difference was found so far" : "after \(findings)"),
      cause: report.findings.first.map { "the first: \($0)" },
      stopReason: reason == nil ? .timeLimit : .requested)
  }
}
