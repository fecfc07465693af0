import Godwit
import GodwitJob
import GodwitModel
import Testing

extension MigrationManager {
  /// The exit status that `godwit plan` would have.
  func plannedStatus() -> Int32 {
    do {
      if try isFinished() { return try setAsideBefore() > 0 ? 3 : 0 }
      let plan = try plan()
      return plan.obstacles.first?.failure.rawValue ?? (plan.setAside == nil ? 0 : 3)
    } catch { return (error as? GodwitError)?.code.rawValue ?? -1 }
  }

  /// Runs the job, and expects the status that its plan has promised. A run that was stopped says nothing about it.
  func runAsPlanned(sourceLocation: SourceLocation = #_sourceLocation) throws -> MigrationSummary {
    let planned = plannedStatus()
    func compare(_ status: Int32, _ error: GodwitError? = nil) {
      let promised = error.map { ": \($0)" } ?? ""
      #expect(
        planned == status, "the plan ends with \(planned), the run with \(status)\(promised)",
        sourceLocation: sourceLocation)
    }
    do {
      let summary = try run()
      if summary.outcome != .stopped { compare(summary.quarantinedObjects > 0 ? 3 : 0) }
      return summary
    } catch let error as GodwitError {
      if error.code != .stopped { compare(error.code.rawValue, error) }
      throw error
    }
  }
}
