import Foundation
import GodwitJob
import GodwitModel

/// The summary of a run, as text.
enum RunSummary {
  /// - Parameter programBytes: The resident memory before the run; nil if it is not known.
  static func text(_ summary: MigrationSummary, job: MigrationJob, programBytes: Int64? = nil) -> String {
    switch summary.outcome {
    case .alreadyFinished:
      let line = "job '\(job.name)' is already finished: '\(job.destinationPath)'"
      return ([line] + quarantine(summary, job) + summary.notes.map { "  note       \($0)" }).asLines
    case .finished, .stopped: break
    }
    var lines: [String] = []
    if summary.outcome == .finished {
      lines.append("finished job '\(job.name)'\(summary.wasResumed ? ", resumed" : ""): '\(job.destinationPath)'")
    } else {
      lines.append(
        "stopped job '\(job.name)' at a checkpoint: \(summary.reason ?? "on request"); the same command resumes")
      if let code = summary.stopReason { lines.append("  reason     \(code.rawValue)") }
    }
    lines.append("  objects    " + (summary.isCounted ? "\(summary.objects)" : "as they were; no row was read"))
    lines += quarantine(summary, job)
    for loss in summary.losses.losses {
      let step = job.steps.count > 1 ? "step \(loss.step): " : ""
      lines.append("  \(loss.label.padding(toLength: 11, withPad: " ", startingAt: 0))\(step)\(loss)")
    }
    if summary.overridden > 0 {
      lines.append("  overridden \(summary.overridden.counted("relationship assignment")) by a later one")
    }
    lines += summary.notes.map { "  note       \($0)" }
    lines.append("  time       \(Clock.text(summary.seconds)) s")
    lines.append("  memory     " + memory(peak: summary.peakBytes, budget: job.memory, programBytes: programBytes))
    return lines.asLines
  }

  /// `84 MiB (budget 64 MiB + 20 MiB for the program)`.
  static func memory(peak: Int64, budget: ByteCount, programBytes: Int64?) -> String {
    let program = programBytes.map { " + \(ByteCount(bytes: $0)) for the program" } ?? ""
    return "\(ByteCount(bytes: peak)) (budget \(budget)\(program))"
  }

  private static func quarantine(_ summary: MigrationSummary, _ job: MigrationJob) -> [String] {
    // A note tells of those that are not there any more.
    let count = summary.quarantined.reduce(Int64(0)) { $0 &+ $1.objects }
    guard count > 0, summary.outcome != .stopped else { return [] }
    return ["  quarantine \(count.counted("object")) that validation rejects, in '\(job.quarantinePath)'"]
  }
}
