import GodwitModel
package import GodwitStore
import GodwitXcode

extension Receipt {
  /// A receipt of the content of a store. The facts of the run are filled in later.
  ///
  /// - Parameters:
  ///   - file: The destination's name, without its folder.
  ///   - sourceUUID: nil where the source is gone.
  ///   - bytes: The size of its file.
  package init(
    of store: ReceiptedStore.Facts, _ content: Content, bytes: Int64, job: MigrationJob, identity: JobFingerprint,
    file: String, sourceUUID: String?, finished: String
  ) {
    let metadata = store.metadata
    let jobs = metadata.jobs
    self.job = Self.job(job, identity, digest: jobs.last)
    source = Source(path: job.sourceName, uuid: sourceUUID)
    source.merged = job.merged?.paths
    destination = Destination(
      file: file, uuid: metadata.uuid, type: job.destinationType.rawValue, bytes: bytes,
      modelName: job.destinationModel.name, model: job.destinationModel.xcodeContents, jobs: jobs,
      metadata: ReceiptedStore.digests(of: metadata), highestKeys: store.highestKeys,
      historyTransactions: store.historyTransactions)
    steps = []
    losses = []
    (entities, relationships) = (content.entities, content.relationships)
    self.finished = finished
  }
}

extension Receipt.Step {
  /// The receipt of a step.
  ///
  /// - Parameters:
  ///   - plan: The digest of the facts that the plan fixed.
  ///   - made: The destination objects of each mapping.
  ///   - quarantined: The objects of the source that the plan did not count.
  package init(
    _ job: MigrationJob, _ plan: MigrationPlan, digest: String, made: [String: Int64],
    quarantined: [QuarantineCount] = []
  ) {
    var made = made
    let apart = Dictionary(quarantined.map { ($0.entity, $0.objects) }, uniquingKeysWith: +)
    let rows = Dictionary(plan.facts.entities.map { ($0.name, $0.rows) }, uniquingKeysWith: { first, _ in first })
    var list: [Receipt.Mapping] = []
    for mapping in plan.steps.flatMap(\.passes).flatMap(\.mappings) {
      let all = max(rows[mapping.source] ?? 0, mapping.rows)
      let held = apart[mapping.source]
      list.append(
        Receipt.Mapping(
          name: mapping.name, source: mapping.source, destination: mapping.destination, objectsIn: all + (held ?? 0),
          taken: mapping.rows, leftOut: all - mapping.rows, quarantined: held,
          made: made.removeValue(forKey: mapping.name) ?? 0))
    }
    self.init(
      sourceModel: job.sourceModel.name, destinationModel: job.destinationModel.name, plan: digest, mappings: list,
      dropped: plan.dropped.map {
        Receipt.Dropped(entity: $0.entity, objects: $0.rows, reason: $0.cause)
      })
  }
}
