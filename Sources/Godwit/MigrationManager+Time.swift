import GodwitJob

/// The estimated time of a run, beside what the chunks take.
extension MigrationManager {
  /// - Parameters:
  ///   - chunks: The estimate of the chunks.
  ///   - opening: How long the plan took to open the source.
  func estimate(_ chunks: TimeEstimate, of plan: MigrationPlan, _ opening: Duration) -> TimeEstimate {
    let step = plan.steps.first
    if step?.way == MigrationPlan.wayOfDefinitions {
      // A copy by reflink takes no time; one of all bytes takes that of the disk.
      let isCopied = job.existingDestination == .inPlace(keepsOld: true) || step?.costs?.isEmpty == false
      let bytes = isCopied ? Double(plan.sourceBytes) : 0
      return TimeEstimate(
        lowSeconds: 0, highSeconds: 0.5 + bytes / 100e6, sampledObjects: 0,
        basis: "the size of the store: no row is read")
    }
    var estimate = chunks
    // An atomic store is read as a whole to plan, and again to run. One that is written takes a row as long as a large commit.
    let seconds = Double(opening.components.seconds) + Double(opening.components.attoseconds) / 1e18
    estimate.lowSeconds += seconds
    estimate.highSeconds += seconds * 2
    if job.destinationType.isAtomic {
      let rows = Double(plan.summary.objectsWritten)
      estimate.lowSeconds += rows * 8e-6
      estimate.highSeconds += rows * 100e-6
    }
    return estimate
  }
}
