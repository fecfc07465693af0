package import GodwitJob
import GodwitModel
package import GodwitStore

/// Ends a round of a run: rejected objects were found, and the run begins again without them.
package struct RejectedObjectsFound: Error {}

/// Ends a search for rejected objects at a checkpoint.
package struct RejectionSearchStopped: Error {
  package let reason: String
}

/// The reaction of a run to a rejected row, if the job may quarantine objects.
///
/// A rejected object cannot be removed from a finished destination: other objects may have values, places and links
/// because it was there. So the run finds every object that the same stage rejects, records them, and begins again on a
/// source that lacks them.
package final class RejectionSearch {
  private let limits: Quarantine
  private let job: MigrationJob
  private let folder: String
  /// The reason why the run must stop; nil to continue.
  private let stopReason: () -> String?
  /// nil until an object is rejected.
  package private(set) var known: RejectionRecord?
  /// The objects that the job takes, those of earlier rounds included; nil until that is counted.
  private var taken: Int64?

  /// - Parameters:
  ///   - folder: The work folder, which may have a record.
  ///   - stopReason: Asked after each part.
  package init(
    _ job: MigrationJob, limits: Quarantine, in folder: String, stopReason: @escaping () -> String?
  ) throws {
    (self.job, self.limits, self.folder, self.stopReason) = (job, limits, folder, stopReason)
    known = try RejectionRecord.opened(in: folder)
  }

  /// The identity of a new record: the job with its source, and the state of the source's files.
  package var identify: () throws -> (JobFingerprint, StoreFiles.Stamp) = {
    throw GodwitError(.internalBug, "a rejected object belongs to no source")
  }

  /// The record, which is made when it does not exist.
  package var record: RejectionRecord {
    get throws {
      if let known { return known }
      let (identity, stamp) = try identify()
      let made = try RejectionRecord(in: folder, for: identity, stamp: stamp)
      known = made
      return made
    }
  }

  /// - Parameter facts: The counts of this round's plan.
  package func setTaken(_ facts: PlanFacts) throws { try setTaken(atMost: facts.entities.reduce(0) { $0 + $1.taken }) }

  /// The limit before anything is counted: mappings take at most every object of the mapped entities.
  func setTaken(atMost objects: Int64) throws {
    taken = try objects + (known?.countBefore ?? 0)
  }

  /// The most objects that may be rejected.
  var limit: Int64 { limits.limit(of: taken ?? .max) }

  /// The number of findings that proves that there are too many.
  ///
  /// Objects that another part of this round has recorded are found again and not subtracted, so that the findings of a
  /// part do not depend on the parts before it.
  var enough: Int64 {
    get throws {
      let left = max(0, limit - (try record.countBefore))
      return left == .max ? left : left + 1
    }
  }

  /// Checks the limits at the start of a round. The percentage refers to the counts of this round's plan.
  package func check() throws { if let known { try check(known.count) } }

  /// Searches a part, and records its findings one by one, because they may not fit in memory.
  ///
  /// The search may end after the part, not before: a run whose time is over when it begins still completes one part.
  ///
  /// - Parameter find: Calls its argument for each object.
  /// - Throws: `.dataWrong` (65) when there are more than the job allows; the part is then rolled back.
  ///   `RejectionSearchStopped` when the run must stop.
  func search(
    _ part: String, find: ((RejectionRecord.Rejection) throws -> Void) throws -> Void
  ) throws {
    let roots = job.sourceModel.entities.map { ($0.name, job.sourceModel.root(of: $0.name)?.name ?? $0.name) }
    try record.add(
      in: part, roots: Dictionary(roots, uniquingKeysWith: { first, _ in first }), find: find,
      check: { try check($0) })
    if let reason = stopReason() { throw RejectionSearchStopped(reason: reason) }
  }

  /// Searches a part for the rows of a mapping that cannot be carried out.
  func search(
    _ part: String, of mapping: ResolvedEntityMapping, from first: Int64, through last: Int64, _ rows: RowSearch
  ) throws {
    var rows = rows
    try search(part) { note in
      try rows.search(from: first, through: last) { key, error in
        try note(
          .init(
            entity: mapping.source.name, key: key, mapping: mapping.name, destination: mapping.destination.name,
            property: nil, message: error.message))
      }
    }
  }

  private func check(_ count: Int64) throws {
    guard count > limit else { return }
    let uuid = try StoreMetadata(readingStoreAt: job.sourcePath).uuid
    let examples = try record.examples(5) { "x-coredata://\(uuid)/\($0)/p\($1)" }
    let of = limits.maximumPercent == nil ? "" : " of \(taken ?? 0) that the job takes"
    throw GodwitError(
      .dataWrong,
      "cannot finish job '\(job.name)': at least \(count.counted("object"))\(of) \(count == 1 ? "is" : "are") rejected, the job allows \(limits)",
      cause: examples.asLines,
      remedy:
        "raise the limit in 'on-invalid' and run the same command to resume, or repair the source, `godwit discard` the job and run again",
      safe: "the source is untouched, and no destination was put in place")
  }
}

/// Finds the rows of a key range that cannot be carried out, by halves.
///
/// A range that can be carried out is done in one attempt. A failing range is halved until one row is left. A statement
/// ends at the first row that it cannot carry out, so many such rows cost little each.
struct RowSearch {
  /// The search ends when it has found so many.
  let enough: Int64
  /// Whether an error is about a single row.
  var isOfRow: (GodwitError) -> Bool = { $0.isOfObject }
  /// The lowest and the highest key between two keys; nil without rows.
  let ends: (Int64, Int64) throws -> (Int64, Int64)?
  /// Carries out the rows between two keys and rolls back; throws when it cannot.
  let attempt: (Int64, Int64) throws -> Void
  /// How many it has found.
  var count: Int64 = 0

  /// - Parameter found: Called with the key of each row, in order, and its error.
  mutating func search(
    from first: Int64, through last: Int64, found: (Int64, GodwitError) throws -> Void
  ) throws {
    guard first <= last, count < enough, let (low, high) = try ends(first, last) else { return }
    do {
      try attempt(low, high)
      return
    } catch let error as GodwitError where isOfRow(error) {
      guard low < high else {
        count += 1
        return try found(low, error)
      }
    }
    // Keys of either sign: their distance may be more than an Int64 holds, and half of it is not.
    let distance = UInt64(bitPattern: high) &- UInt64(bitPattern: low)
    let middle = low + Int64(distance / 2)
    try search(from: low, through: middle, found: found)
    try search(from: middle + 1, through: high, found: found)
  }
}
