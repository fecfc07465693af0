import GodwitJob
import GodwitModel
import GodwitStore

/// Which part of a destination one of several jobs made, as the store's metadata say.
///
/// The metadata's keys only choose what is compared with what: a wrong key is a finding, never a pass.
struct AppendedPart {
  private let record: AppendRecord
  /// The records of earlier jobs.
  private let earlier: [AppendRecord]
  /// Whether no later job appended.
  private let isLast: Bool

  /// Whether the job found a destination.
  var foundStore: Bool { record.foundStore }

  /// nil when no job appended to the store.
  ///
  /// - Parameters:
  ///   - appends: Whether the job does, and so must be named.
  ///   - digest: The name that the job has in the destination.
  /// - Throws: `.missingInput` (66) when the store does not name the job.
  init?(of appends: Bool, in path: String, digest: () throws -> String) throws {
    // Another check reports damaged metadata.
    guard try appends || Definite.answer({ try StoreFiles(path: path).type }) == .sqlite,
      let metadata = try appends ? StoreMetadata(readingStoreAt: path) : StoreMetadata.ifStore(at: path),
      appends || metadata.values[AppendRecord.key] != nil
    else { return nil }
    let records = try AppendRecord.all(in: metadata, path: path)
    let jobs = metadata.values[StoreMetadata.Key.jobs]?.array?.compactMap(\.string) ?? []
    let digest = try digest()
    let own = records.lastIndex { $0.job == digest }
    if jobs.contains(digest), records.dropFirst(own.map { $0 + 1 } ?? 0).contains(where: \.changesObjects) {
      throw GodwitError(
        .missingInput,
        "cannot verify '\(path)': a later job with unique-by has changed objects that were there before it",
        remedy: "verify the later job, whose receipt counts the whole store")
    }
    if jobs.contains(digest), let index = records.lastIndex(where: { $0.job == digest }) {
      record = records[index]
      earlier = Array(records[..<index])
      isLast = index == records.count - 1
    } else if jobs.contains(digest) {
      // It made the store without `existing: append`: what the first job after it found is its own.
      guard let next = records.first, next.foundStore else { return nil }
      record = AppendRecord(
        job: digest, sourceUUID: "", source: "",
        keys: next.keys.mapValues { .init(after: nil, through: $0.after ?? .max) },
        mappings: [])
      earlier = []
      isLast = false
    } else {
      guard appends else { return nil }
      throw GodwitError(
        .missingInput, "cannot verify '\(path)': it does not name this job among those that made it",
        remedy:
          "run the job with `godwit run` first; a source, model or mapping that changed since makes it another job")
    }
  }

  /// Whether the record says how keys came about.
  var namesMappings: Bool { !record.mappings.isEmpty }

  /// The keys of a hierarchy that the job gave out.
  func keys(of root: String) -> Keys {
    guard let keys = record.keys[root] else { return Keys() }
    // Objects that an application added since count as extra, as in any store.
    return Keys(first: keys.after.map { $0 + 1 } ?? .min, last: isLast ? .max : keys.through)
  }

  /// The highest key of a hierarchy that was in use before the job; nil if the job made the store.
  func highestBefore(_ root: String) -> Int64? { record.keys[root]?.after }

  /// The job's record of the objects of a mapping that the destination had already.
  func met(of mapping: VerifiedMapping, among mappings: [VerifiedMapping]) -> AppendRecord.Met? {
    let place = mapping.index.number - mappings.count { $0.earlierOffset != nil }
    guard record.mappings.indices.contains(place), record.mappings[place].name == mapping.name else { return nil }
    return record.mappings[place].met
  }

  /// The keys from the first to the last; none when the last is below the first.
  struct Keys: Hashable {
    var first = Int64.min
    var last = Int64.max

    func contains(_ key: Int64) -> Bool { key >= first && key <= last }
  }

  /// How the keys of a mapping's objects come about; nil when the record does not know the mapping.
  func place(of mapping: VerifiedMapping, among mappings: [VerifiedMapping]) -> Counterparts.Place? {
    let place = mapping.index.number - mappings.count { $0.earlierOffset != nil }
    guard record.mappings.indices.contains(place), record.mappings[place].name == mapping.name else { return nil }
    return switch record.mappings[place].keys {
    case .offset(let offset): .shift(offset)
    case .dense(let first): .start(first)
    }
  }

  /// The mappings of earlier jobs on the same source whose objects can be identified by their keys.
  func earlierMappings(_ job: MigrationJob) throws -> [(mapping: EntityMapping, offset: Int64)] {
    try earlier.filter { $0.source == record.source }.flatMap { record in
      try record.mappings.compactMap { known -> (EntityMapping, Int64)? in
        guard case .offset(let offset) = known.keys, known.uniqueBy.isEmpty, !PairEntity.isName(known.source),
          job.sourceModel.entity(known.source) != nil, job.destinationModel.entity(known.destination) != nil
        else { return nil }
        var mapping = EntityMapping(
          name: known.name, kind: .transform, source: known.source, destination: known.destination)
        if let text = known.filter {
          let source = SourceText(text)
          do throws(ExpressionError) {
            mapping.filter = try FilterPredicate(parsing: source)
          } catch { throw GodwitError(error, in: source, what: "filter of the earlier mapping '\(known.name)'") }
          if mapping.filter?.operands.contains(where: \.callsNow) == true { return nil }
        }
        return (mapping, offset)
      }
    }
  }
}
