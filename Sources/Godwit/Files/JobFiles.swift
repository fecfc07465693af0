import Foundation
package import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier

/// The files of a job: its stores with what SQLite and Core Data put beside them, and what a run or a verification writes.
/// A file that a user asks for, such as a report, must not get one of these names.
package struct JobFiles {
  /// A store, which may have logs and external files.
  private let stores: [(name: String, path: String)]
  private let files: [(name: String, path: String)]
  private let workFolder: String

  /// - Parameters:
  ///   - job: The job. In place its destination is its source.
  ///   - receipt: Where its receipt goes; nil to leave that out.
  package init(_ job: MigrationJob, receipt: String?) {
    var stores: [(name: String, path: String)] = [
      ("destination", job.destinationPath)
    ]
    stores = job.sourcePaths.map { ("source", $0) } + stores
    var files: [(name: String, path: String)] = [
      ("record of verifications", job.destinationPath + MigrationJob.verificationSuffix)
    ]
    if !job.isInPlace { stores.append(("quarantine", job.quarantinePath)) }
    if let receipt { files.append(("receipt", receipt)) }
    let kept = InPlaceSwap.oldPath(of: job.destinationPath)
    switch job.existingDestination {
    case .replace(keepsOld: true):
      stores.append(("old store", kept))
      files.append(("receipt of the old store", kept + Receipt.suffix))
    case .inPlace: stores.append(("old store", kept))
    default: break
    }
    (self.stores, self.files) = (stores, files)
    workFolder = job.workPath
  }

  /// The role of a path in the job; nil for none. Links are followed.
  ///
  /// - Throws: When a path cannot be looked at.
  package func name(at path: String) throws -> String? {
    let place = Self.place(path)
    func isIn(_ folder: String) -> Bool { place == folder || place.hasPrefix(folder + "/") }
    for (name, store) in stores {
      for suffix in ["", "-wal", "-shm", "-journal"] where try Self.isSame(path, store + suffix) {
        return suffix.isEmpty ? name : "\(name)'s file '\(suffix)'"
      }
      if isIn(Self.place(SupportFolder(ofStoreAt: store).path)) { return "folder of external files" }
    }
    if let file = try files.first(where: { try Self.isSame(path, $0.path) }) { return file.name }
    return isIn(Self.place(workFolder)) ? "work folder" : nil
  }

  private static func place(_ path: String) -> String {
    URL(filePath: path).standardizedFileURL.resolvingSymlinksInPath().path
  }

  private static func isSame(_ one: String, _ other: String) throws -> Bool {
    try place(one) == place(other) || FileStatus.areSame(one, other)
  }
}

extension MigrationManager {
  /// The files of the job, its receipt among them.
  package var files: JobFiles { get throws { JobFiles(job, receipt: try ReceiptPlacement(job).path) } }
}
