import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// The findings of a store's last verification, in the file that also holds a stopped verification.
///
/// They hold until a verification finds no difference or a run makes the store again. The store is known by its
/// identifier and by the jobs that it names: an application's writes repair nothing.
package struct KnownFindings: Codable, Sendable, Equatable {
  /// How many differences.
  var count: Int64
  /// The digest of the job that was proved: see `StoppedVerification.Identity`.
  var job: String
  /// The digests of the jobs that the store named then, oldest first.
  var jobs: [String]
  /// The store's identifier.
  var uuid: String

  /// nil if nothing was found, or the store cannot be read: the proof has said so.
  init?(_ report: VerificationReport, of path: String, job: String) {
    guard !report.isClean, let metadata = try? StoreMetadata(readingStoreAt: path) else { return nil }
    (count, self.job, jobs, uuid) = (report.totalFindings, job, metadata.jobs, metadata.uuid)
  }

  /// Whether it was found in the store at a path, to which other jobs may have appended since.
  func isOf(storeAt path: String) throws -> Bool {
    guard !jobs.isEmpty, let metadata = try StoreMetadata.ifStore(at: path) else { return false }
    return metadata.uuid == uuid && metadata.jobs.starts(with: jobs)
  }

  /// How many differences the last verification of a store found; nil without a verification or a difference.
  ///
  /// - Throws: When that could not be read.
  package static func count(ofStoreAt path: String) throws -> Int64? {
    let url = URL(filePath: path + MigrationJob.verificationSuffix)
    guard let found = try StoppedVerification(at: url)?.found, found.count > 0, try found.isOf(storeAt: path) else {
      return nil
    }
    return found.count
  }

  /// Removes the findings about a store that a run has replaced.
  package static func forget(storeAt path: String) {
    let url = URL(filePath: path + MigrationJob.verificationSuffix)
    if (try? StoppedVerification(at: url)) != nil { try? WorkFolder.removeFile(url.path) }
  }
}
