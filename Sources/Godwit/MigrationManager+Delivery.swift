import GodwitModel
import GodwitStore

extension MigrationManager {
  /// Makes the finished store of the work folder the destination, and removes the folder.
  ///
  /// An XML destination is written from it first, inside the folder. A run that dies or stops meanwhile writes it
  /// anew: the finished store is still there, and names the job in its metadata.
  ///
  /// - Returns: Why it stopped; nil when the destination is there.
  func deliver(_ store: String, from folder: borrowing WorkFolder, control: MigrationControl) throws -> String? {
    guard job.destinationType == .xml else {
      try folder.publish(store, to: job.destinationPath)
      try folder.remove()
      return nil
    }
    let path = folder.path + "/store.xml"
    do {
      try XMLStoreWriter(
        readingStoreAt: store, model: job.destinationModel, name: job.destinationPath
      ).write(to: path) { try control.checkpoint() }
    } catch let error as GodwitError where error.code == .stopped && control.reason != nil {
      return control.reason
    }
    try folder.publish(path, to: job.destinationPath)
    try folder.remove()
    return nil
  }
}

extension MigrationControl {
  /// - Throws: `.stopped` (75) once the run was told to stop.
  func checkpoint() throws {
    guard let reason else { return }
    throw GodwitError(.stopped, "stopped: \(reason)", remedy: "run the same command to resume")
  }
}
