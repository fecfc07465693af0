import GodwitDisk
import GodwitJob
import GodwitModel
import GodwitStore

extension MigrationManager {
  /// The outcome of writing the file that becomes the destination.
  enum Written {
    case written(String)
    case stopped(reason: String)
  }

  /// The file that becomes the destination: the finished store of the work folder, or what is written of it.
  ///
  /// An atomic store is written inside the folder. A run that dies or stops meanwhile writes it again: the finished store
  /// is still there, and names the job in its metadata. A time limit does not stop the writing: the next run would
  /// start over, and never get further.
  ///
  /// - Parameter progress: Called while an atomic store is written, with the number of objects in it and that of all.
  func file(
    of store: String, in folder: String, control: MigrationControl, progress: (Int64, Int64) -> Void
  ) throws -> Written {
    guard job.destinationType.isAtomic else { return .written(store) }
    let path = folder + "/store.\(job.destinationType.manifestName)"
    do {
      try AtomicStoreWriter(
        readingStoreAt: store, model: job.destinationModel, as: job.destinationType, name: job.destinationPath
      ).write(to: path) {
        progress($0, $1)
        try control.checkpoint()
      }
    } catch let error as GodwitError where error.code == .stopped {
      guard let reason = control.reason else { throw error }
      return .stopped(reason: reason)
    }
    return .written(path)
  }
}

extension MigrationControl {
  /// - Throws: `.stopped` (75) once the run was told to stop.
  func checkpoint() throws {
    guard let reason else { return }
    throw GodwitError(
      .stopped, "stopped: \(reason)", remedy: "run the same command to resume",
      stopReason: GodwitError.StopReason(of: reason))
  }
}
