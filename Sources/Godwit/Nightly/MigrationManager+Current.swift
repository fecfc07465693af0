import GodwitDisk
import GodwitJob
import GodwitModel

extension MigrationManager {
  /// Whether the destination is what this job makes of the source as it is now, as far as its receipt tells: the digests
  /// of models, mappings and manifest are the same, and so are size, time and first bytes of the source's files.
  ///
  /// Reads no object and writes nothing. A destination without a receipt is never current, and neither is one whose run
  /// was not through: only a run can tell.
  package func isCurrentByReceipt() -> Bool {
    guard !job.isInPlace, !job.appends, !WorkFolder.exists(forDestination: job.destinationPath),
      Self.receipt(at: knownReceiptPath) != nil
    else { return false }
    return (try? changesByTimes().isEmpty) ?? false
  }
}
