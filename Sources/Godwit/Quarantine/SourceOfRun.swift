import Foundation
import GodwitJob
import GodwitModel
import GodwitStore
import GodwitVerifier

/// The source as the run has read it that made the destination: with the repairs that were taken from a quarantine, and
/// without the objects that are in quarantine now.
///
/// Who explains a destination must read the very rows of the run: keys are numbered over them. The copies lie in `TMPDIR`
/// as long as the value lives. There are none for a job without repairs and without objects in quarantine.
final class SourceOfRun {
  /// The source with its repairs, and with its external files beside it; the source itself where there are none.
  let path: String
  /// The same without the objects in quarantine. It has no external files of its own.
  let keptPath: String
  /// How many objects have repairs that `path` has; nil where there are none.
  let repairedObjects: Int64?
  /// Why the repairs that the destination was made with are not in `path`; nil where they are, or there are none.
  let complaint: String?
  private let repaired: RepairedSourceCopy?
  /// The digest under which the destination names the job that made it with repairs; nil without any.
  var digest: String? { repaired?.digest }
  private let held: HeldObjects?
  private let kept: SourceWithoutHeld?
  private let repairs: StoreConnection?

  /// - Parameters:
  ///   - job: One whose destination may be there.
  ///   - leavesOutHeld: Whether `keptPath` is asked for.
  init(_ job: MigrationJob, leavesOutHeld: Bool) throws {
    let metadata = try? StoreMetadata(readingStoreAt: job.destinationPath)
    let copy = try RepairedSourceCopy(of: job, digest: nil)
    try copy?.apply { false }
    let isComplete = copy?.isComplete == true
    var complaint: String?
    var objects: Int64?
    var repairs: StoreConnection?
    var source = job
    if let copy, isComplete {
      source.sourcePath = copy.job.sourcePath
      let connection = try StoreConnection(path: nil)
      try connection.attachSource(StoreFiles(path: job.repairsPath))
      objects = try connection.integer("SELECT COUNT(*) FROM source.\(RepairsFile.objects)")
      repairs = connection
    }
    // Repairs of which an external file is missing are applied all the same.
    if let finding = copy?.report.findings.first { complaint = finding.message }
    (repaired, self.complaint, self.repairs, repairedObjects) = (isComplete ? copy : nil, complaint, repairs, objects)
    path = source.sourcePath

    let jobs = metadata?.applicationValues[StoreMetadata.Key.jobs]?.array?.compactMap(\.string) ?? []
    let found = leavesOutHeld ? try HeldObjects(of: job) { jobs.last ?? "" } : nil
    held = found
    guard let found, !found.objects.isEmpty else {
      (kept, keptPath) = (nil, source.sourcePath)
      return
    }
    let connection = try StoreConnection.openStore(
      readingAt: source.sourcePath, cache: .init(bytes: max(job.memory.bytes / 8, 1 << 20)), model: job.sourceModel)
    let rest = try SourceWithoutHeld(source, connection)
    try connection.close()
    try rest.remove(found.objects)
    (kept, keptPath) = (rest, rest.path)
  }

  /// Whether a run has taken a repair of an object.
  func isRepaired(_ reference: ObjectReader.Reference) throws -> Bool {
    guard let repairs else { return false }
    let found = try repairs.integer(
      "SELECT 1 FROM source.\(RepairsFile.objects) WHERE entity = ?1 AND key = ?2",
      [.text(reference.entity), .integer(reference.key)])
    return found != nil
  }

  /// Why an object is in quarantine; empty for one that is not.
  func reasons(for reference: ObjectReader.Reference) throws -> [HeldObjects.Reason] {
    try held?.reasons(of: reference.entity, key: reference.key) ?? []
  }
}
