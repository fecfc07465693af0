import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier

/// The source as the run has read it that made the destination: without the objects that are in quarantine now.
///
/// A trace must read the very rows of the run: keys are numbered over them. The copy lies in `TMPDIR`
/// as long as the value lives. There is none for a job without objects in quarantine.
final class RunSource {
  /// The source without the objects in quarantine, and without external files of its own; the source itself where there
  /// are none.
  let keptPath: String
  private let held: QuarantinedObjects?
  private let kept: FilteredSourceProof?

  /// - Parameter job: One whose destination may be there.
  init(_ job: MigrationJob) throws {
    let metadata = try StoreMetadata.ifStore(at: job.destinationPath)
    if let metadata { try RemovedRepairs.refuse(metadata, of: job.destinationPath) }
    let found = try QuarantinedObjects(of: job) { metadata?.jobs.last ?? "" }
    held = found
    guard let found, !found.objects.isEmpty else {
      (kept, keptPath) = (nil, job.sourcePath)
      return
    }
    let connection = try StoreConnection.openStore(
      readingAt: job.sourcePath, cache: .init(bytes: max(job.memory.bytes / 8, 1 << 20)), model: job.sourceModel)
    let rest = try FilteredSourceProof(job, connection)
    try connection.close()
    try rest.remove(found.objects)
    (kept, keptPath) = (rest, rest.path)
  }

  /// Why an object is in quarantine; empty for one that is not.
  func reasons(for reference: ObjectReader.Reference) throws -> [QuarantinedObjects.Reason] {
    try held?.reasons(of: reference.entity, key: reference.key) ?? []
  }
}
