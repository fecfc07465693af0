import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// The merged source of a run, in its work folder. A run that goes on uses it again while its parts are as they were.
struct RunMerge {
  let job: MigrationJob
  let watch: StopCondition

  /// Makes the store, unless it is there. The time box does not end that: it begins again each time.
  ///
  /// - Parameter progress: Called when a part begins.
  /// - Returns: nil when the run is stopped meanwhile.
  /// - Throws: `.cannotCreate` (73) when work was begun with other content of the parts; what `StoreMerge.make` throws.
  func make(in claim: borrowing Claim, progress: (MigrationProgress) -> Void) throws -> MergeRecord? {
    let path = claim.path
    let isResumable = try claim.journal.isResumable
    return try withoutActuallyEscaping(progress) { try make(in: path, isResumable: isResumable, progress: $0) }
  }

  private func make(
    in folder: String, isResumable: Bool, progress: @escaping (MigrationProgress) -> Void
  ) throws -> MergeRecord? {
    let control = watch.control
    let merge = try StoreMerge(
      job, in: folder, stopReason: { control.reason },
      working: { connection in
        guard let connection else { return control.setInterrupt(nil) }
        control.setInterrupt { [connection] in connection.interrupt() }
      },
      starting: { [job] part in
        var update = MigrationProgress(
          percent: 0, step: .first, steps: job.steps.count, pass: 0, passes: 0, name: "merging", stage: "store",
          chunk: part,
          chunks: job.sourcePaths.count, rows: 0, totalRows: 0, rowsPerSecond: 0,
          residentBytes: ProcessMemory.residentBytes)
        update.isPlanning = true
        progress(update)
      })
    if let known = try merge.known() { return known }
    if isResumable { try UnfinishedWork(job).refuseChanged() }
    try job.checkSpace(DiskNeed(destinationBytes: job.sourceFiles().size, temporaryBytes: 0))
    do { return try merge.make() } catch {
      if control.reason != nil, (error as? GodwitError)?.code == .stopped || error is CancellationError { return nil }
      throw error
    }
  }
}
