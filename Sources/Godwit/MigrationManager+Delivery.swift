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
    var path = store
    if job.destinationType == .xml {
      switch try writeXML(of: store, in: folder, control: control) {
      case .written(let file): path = file
      case .stopped(let reason): return reason
      }
    }
    try folder.publish(path, to: job.destinationPath)
    try folder.remove()
    return nil
  }

  enum XMLOutcome {
    case written(String)
    case stopped(reason: String)
  }

  /// Writes the finished store as an XML store inside the work folder.
  func writeXML(
    of store: String, in folder: borrowing WorkFolder, control: MigrationControl
  ) throws -> XMLOutcome {
    let path = folder.path + "/store.xml"
    do {
      try XMLStoreWriter(
        readingStoreAt: store, model: job.destinationModel, name: job.destinationPath
      ).write(to: path) { try control.checkpoint() }
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
    throw GodwitError(.stopped, "stopped: \(reason)", remedy: "run the same command to resume")
  }
}
