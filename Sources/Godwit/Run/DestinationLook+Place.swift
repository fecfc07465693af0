import Foundation
import GodwitEngine
import GodwitJob
import GodwitModel
import GodwitStore

/// The obstacles at the place of a new destination.
extension DestinationLook {
  /// - Throws: `.cannotCreate` (73) for the log of another store.
  func refuseStaleLog() throws {
    guard job.destinationType == .sqlite else { return }
    for suffix in ["-wal", "-journal"] {
      let path = job.destinationPath + suffix
      guard try WorkFolder.exists(path) else { continue }
      throw GodwitError(
        .cannotCreate, "cannot write '\(job.destinationPath)': it has the log of another store beside it, '\(path)'",
        remedy: "move that file away: SQLite would apply it to the new store")
    }
  }

  /// Refuses a folder that takes no files, and so no work folder. Missing folders of the path do not matter: a run
  /// makes them.
  func checkDestinationFolder() throws {
    guard try !WorkFolder.exists(forDestination: job.destinationPath) else { return }
    var folder = URL(filePath: job.destinationPath).deletingLastPathComponent().standardizedFileURL
    try WorkFolder.refuseObstacle(to: job.workPath)
    while FileStatus(following: folder.path) == nil, errno == ENOENT, folder.path != "/" {
      folder = folder.deletingLastPathComponent().standardizedFileURL
    }
    guard access(folder.path, W_OK | X_OK) != 0 else { return }
    let code = errno
    // A finished job needs no work folder.
    guard [EACCES, EPERM, EROFS].contains(code), try !isFinished() else { return }
    throw GodwitError.disk(
      "cannot make '\(job.destinationPath)' in the folder '\(folder.path)'", errno: code, safe: "nothing was written")
  }
}
