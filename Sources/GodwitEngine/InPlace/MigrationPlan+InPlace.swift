package import GodwitJob
import GodwitStore

extension MigrationPlan {
  /// Says which way a job in place takes.
  package mutating func describe(_ way: InPlaceStrategy) {
    guard !steps.isEmpty else { return }
    switch way {
    case .definitions(let program):
      steps[0].way = Self.wayOfDefinitions
      steps[0].strategy = .definitions
      steps[0].costs = program.costs(bytes: sourceBytes)
      disk = program.diskNeed(storeBytes: sourceBytes)
      steps[0].rowsNote = "unchanged, none is read"
      stages = []
      // No row is read, so the run does not know of them.
      losses.losses.removeAll { $0.kind == .linksToNothing }
    case .sql(let program):
      steps[0].way = "in place by SQL, loading no rows"
      steps[0].strategy = .sql
      steps[0].costs = program.costs
      disk = program.diskNeed(storeBytes: sourceBytes)
    case .executor(let reason):
      steps[0].way = "through the executor: \(reason)"
      steps[0].strategy = .executor
    }
  }

  /// The estimated time of a run.
  ///
  /// - Parameters:
  ///   - chunks: The estimate of the chunks.
  ///   - opening: How long the plan took to open the source.
  package func estimate(of job: MigrationJob, chunks: TimeEstimate, opening: Duration) -> TimeEstimate {
    let step = steps.first
    if step?.way == Self.wayOfDefinitions {
      // A copy by reflink takes no time; one of all bytes takes that of the disk.
      let isCopied = job.existingDestination == .inPlace(keepsOld: true) || step?.costs?.isEmpty == false
      let bytes = isCopied ? Double(sourceBytes) : 0
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
      let rows = Double(summary.objectsWritten)
      estimate.lowSeconds += rows * 8e-6
      estimate.highSeconds += rows * 100e-6
    }
    return estimate
  }
}
