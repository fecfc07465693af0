import Foundation
package import GodwitJob
import GodwitModel
package import GodwitStore

/// The source store of a job, checked and opened for reading.
package struct SourceFiles {
  package let files: StoreFiles
  /// The destination that the job appends to; nil for a new store.
  package let existing: ExistingDestination?
  /// nil when it was not requested.
  package let attached: AttachedSource?

  /// - Parameter digest: The digest that represents the content, for a step that reads the store of another; nil for
  ///   the digest of the source itself.
  package init(
    _ job: MigrationJob, attach: Bool = true, existing: ExistingDestination? = nil, digest: String? = nil
  ) throws {
    self.existing = existing
    files = try job.sourceFiles()
    guard attach else {
      attached = nil
      return
    }
    let connection = try StoreConnection(path: nil)
    try connection.attachSource(files, cache: .init(bytes: job.memory.bytes / 8), model: job.sourceModel)
    attached = try AttachedSource(
      connection, job: job, files: files, existing: existing, digest: { [files] in try digest ?? files.contentDigest() }
    )
  }

  private init(_ files: StoreFiles, _ existing: ExistingDestination?) {
    (self.files, self.existing, attached) = (files, existing, nil)
  }

  /// The source when its parts are merged.
  ///
  /// - Parameter stamp: The state of the parts when they were read. A later change is noticed.
  package func merged(at stamp: StoreFiles.Stamp) -> SourceFiles {
    var files = files
    files.mergedStamp = stamp
    return SourceFiles(files, existing)
  }

  package func planner(_ job: MigrationJob) throws -> Planner {
    guard let attached else { throw GodwitError(.internalBug, "the source is not attached") }
    return attached.planner(job)
  }
}

/// A connection with the source attached, and the job resolved against it.
package struct AttachedSource {
  package let connection: StoreConnection
  package let sourceSchema: StoreSchema
  package let destinationSchema: StoreSchema
  package let resolved: ResolvedMapping
  package let functions: SQLFunctions
  let bytes: Int64
  package let leftOut: UnmodelledTables
  /// The destination that the job appends to; nil for a new store.
  let existing: ExistingDestination?

  /// - Parameters:
  ///   - files: nil for a source without rows, which only provides its model.
  ///   - digest: The digest of the source's content, computed if earlier jobs may have read the same content.
  package init(
    _ connection: StoreConnection, job: MigrationJob, files: StoreFiles?, existing: ExistingDestination? = nil,
    digest: () throws -> String = { "" }
  ) throws {
    self.connection = connection
    self.existing = existing
    try connection.checkCoreDataTables(path: job.sourcePath)
    if files != nil { try job.sourceSupport.refuseLinks() }
    leftOut = try UnmodelledTables(connection, job: job, isStandIn: files == nil)
    var earlier: [EarlierMapping] = []
    if let existing, !existing.records.isEmpty {
      let uuid =
        try files == nil
        ? StoreMetadata(readingStoreAt: job.sourcePath).uuid
        : StoreMetadata(reading: connection, path: job.sourcePath).uuid
      earlier = try existing.earlierMappings(sourceUUID: uuid, digest: try digest())
    }
    resolved = try ResolvedMapping(
      job.mappingModels, from: job.sourceModel, to: job.destinationModel, policies: job.policies,
      unregistered: job.unregisteredPolicies, earlier: earlier)
    if existing != nil, let policy = resolved.policies.first {
      throw GodwitError(
        .configuration, "cannot append with mapping '\(policy.mapping.name)': it has a policy",
        location: policy.mapping.location,
        remedy: "replace the policy by expressions, or migrate into a separate store")
    }
    if existing != nil { try resolved.checkMeeting() }
    try resolved.checkPairs(of: job)
    try resolved.checkChunkPredicates(of: job)
    sourceSchema = try StoreSchema(
      model: resolved.sourceModel, probing: connection, schema: StoreConnection.sourceSchema)
    try sourceSchema.checkKeys(connection)
    try resolved.checkPairKeys(of: job, sourceSchema)
    destinationSchema = try existing?.schema ?? job.destinationSchema(from: sourceSchema)
    try destinationSchema.checkColumns()
    if existing == nil { try destinationSchema.checkNames() }
    functions = try SQLFunctions(
      connection: connection, sourceSchema: sourceSchema, now: Date().timeIntervalSinceReferenceDate)
    functions.setSupportFolder(ofSourceOf: job)
    let stamp = try files?.stamp()
    bytes = (stamp?.store.size ?? 0) + (stamp?.wal?.size ?? 0)
  }

  package func planner(_ job: MigrationJob) -> Planner {
    Planner(
      job: job, resolved: resolved, sourceSchema: sourceSchema, destinationSchema: destinationSchema,
      functions: functions, sourceBytes: bytes, leftOut: leftOut, existing: existing,
      scan: SourceScan(job, sourceSchema, functions, isSample: job.hooks.samplesPlans), durability: job.durability,
      progress: job.hooks.whilePlanning)
  }
}

extension ResolvedMapping {
  /// Refuses what a job cannot do with the links of a relationship, each of which becomes an object.
  fileprivate func checkPairs(of job: MigrationJob) throws {
    guard let mapping = entityMappings.first(where: { $0.mapping.forEach != nil })?.mapping else { return }
    func cannot(_ what: String, at location: GodwitError.Location?, try remedy: String) -> GodwitError {
      GodwitError(
        .configuration, "mapping '\(mapping.name)': 'for-each' and \(what) exclude each other",
        location: location ?? mapping.locations["for-each"] ?? mapping.location, remedy: remedy,
        safe: "nothing was written")
    }
    guard job.quarantine == nil else {
      throw cannot(
        "a quarantine", at: nil,
        try:
          "write `on-invalid: fail`, and leave links out with a filter that the objects pass: a quarantine holds objects, and a link is not an object of the source"
      )
    }
    for name in job.chunkPredicates.keys.sorted() {
      guard let mapping = entityMappings.first(where: { $0.name == name }), mapping.mapping.forEach != nil else {
        continue
      }
      throw cannot(
        "'chunks.by'", at: job.chunkPredicates[name]?.first?.source.location,
        try: "remove the mapping from chunks.by: the links are cut by the rows that hold them")
    }
  }

  /// Refuses links whose order of rows in a store between two steps depends on its chunks.
  fileprivate func checkPairKeys(of job: MigrationJob, _ schema: StoreSchema) throws {
    guard !job.position.isFirst else { return }
    for pair in sourceModel.pairEntities {
      guard case .join(let join, _, _, _) = schema.storage(of: pair.relationshipName, in: pair.sourceEntityName),
        join.isReflexive
      else { continue }
      throw GodwitError(
        .configuration,
        "'for-each' cannot number the links of '\(pair.name)' in a store between two steps: the relationship is its own inverse",
        location: entityMappings.first { $0.source.name == pair.name }?.mapping.locations["for-each"],
        remedy: "make the objects in the first step of the job, or in a job of its own", safe: "nothing was written")
    }
  }

  /// One walk counts all of them, and SQLite has at most 2000 columns.
  private static var chunkPredicatesMaximum: Int { 1000 }

  /// Refuses predicates of `chunks.by` for a mapping that is unknown or has a policy, and those that are wrong. The
  /// first mapping by name is reported.
  fileprivate func checkChunkPredicates(of job: MigrationJob) throws {
    for (name, predicates) in job.chunkPredicates.sorted(by: { $0.key < $1.key }) {
      guard let mapping = entityMappings.first(where: { $0.name == name }) else {
        throw GodwitError(
          .configuration,
          "chunks.by names the unknown mapping '\(name)'"
            + Spelling.suggestion(for: name, among: entityMappings.map(\.name)),
          location: predicates.first?.source.location)
      }
      guard !policies.contains(where: { $0.mapping.name == name }) else {
        throw GodwitError(
          .configuration, "chunks.by cannot cut mapping '\(name)': it has a policy",
          location: predicates.first?.source.location,
          remedy:
            "remove the mapping from chunks.by: a policy takes objects in key order, so that keys do not depend on chunks"
        )
      }
      guard predicates.count <= Self.chunkPredicatesMaximum else {
        throw GodwitError(
          .configuration,
          "expected at most \(Self.chunkPredicatesMaximum) predicates of mapping '\(name)' under chunks.by, found \(predicates.count)",
          location: predicates.first?.source.location,
          remedy: "write fewer and wider predicates, or `chunks: {rows: N}`", safe: "nothing was written")
      }
      for predicate in predicates {
        do throws(ExpressionError) {
          try ExpressionChecker(model: job.sourceModel, entityName: mapping.source.name, role: .filter)
            .check(predicate)
        } catch { throw GodwitError(error, in: predicate.source, what: "chunks.by of mapping '\(name)'") }
      }
    }
  }
}
