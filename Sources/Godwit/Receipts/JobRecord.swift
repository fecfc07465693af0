import Foundation
package import GodwitJob
import GodwitModel
import GodwitStore

/// The records of a job's runs so far. A report is made of them, beside the plan.
package struct JobRecord: Sendable {
  package var status: MigrationStatus
  /// The receipt of the finished job, where there is one.
  package var receipt: Receipt?
  /// Where it is.
  package var receiptPath: String?
  /// The history in the work folder of an unfinished job, or in the receipt of a finished one.
  package var history: RunHistory?
  /// The finished steps of an unfinished job, in order.
  package var finishedSteps: [Receipt.Step] = []
}

extension MigrationManager {
  /// Reads what the runs of the job have left. It writes nothing, and a run may be under way.
  ///
  /// - Throws: As `status()`.
  package func record() throws -> JobRecord { try JobRecord(of: job, status: try status()) }
}

extension JobRecord {
  fileprivate init(of job: MigrationJob, status: MigrationStatus) throws {
    self.status = status
    switch status.state {
    case .notStarted, .foreign: break
    case .unfinished:
      history = RunHistory.read(WorkFolder.historyPath(in: job.workPath))
      if job.isStepped, let steps = try WorkJournal.read(in: job.workPath)?.steps {
        finishedSteps = steps.finished.compactMap(\.receipt)
      }
    case .finished, .outdated:
      guard let path = try ReceiptPlacement(job).path, let receipt = try Self.receipt(of: job, at: path) else { break }
      (self.receipt, receiptPath, history) = (
        receipt, path, receipt.history.flatMap { $0.isSound ? $0 : nil }
      )
    }
  }

  /// The receipt at a path, if it is that of a job which the destination names: an older one may lie there.
  private static func receipt(of job: MigrationJob, at path: String) throws -> Receipt? {
    guard let receipt = try Definite.answer({ try Receipt.read(path) }), let digest = receipt.job.digest,
      let metadata = try StoreMetadata.ifStore(at: job.destinationPath)
    else { return nil }
    return metadata.jobs.contains(digest) && receipt.destination.file == job.destinationFile
      && receipt.destination.uuid == metadata.uuid
      ? receipt : nil
  }
}
