package import GodwitJob
import GodwitModel
package import GodwitStore

/// The decisions for a migration by definitions alone. They are complete before it writes, and no row of the model's
/// tables is read for them.
package struct SchemaOnlyProgram: InPlaceProgram {
  package let job: MigrationJob
  let layout: SchemaOnlyLayout
  package let destination: StoreSchema
  package let leftOut: UnmodelledTables
  package let triggers: [String]
  package let metadata: StoreMetadata
  package let notes: [MigrationNote]
  /// A schema-only step loses nothing of the model, so the report counts nothing else.
  package let losses: LossReport
  private let kept: [(number: Int, highest: Int64)]
  private let digest: String

  /// - Throws: `SchemaOnlyLayout.Obstacle` when some row would have to be read or written.
  init(job: MigrationJob, source: AttachedSource) throws {
    let file = try StoreTables(source.connection)
    layout = try SchemaOnlyLayout(
      resolved: source.resolved, source: source.sourceSchema, destination: source.destinationSchema, file: file)
    self.job = job
    destination = source.destinationSchema
    leftOut = source.leftOut
    let derived = try DerivedTriggers(
      source: source.sourceSchema, destination: source.destinationSchema, connection: source.connection)
    triggers = derived.statements
    let foreign = source.sourceSchema.foreignContent
    notes = derived.notes + source.leftOut.notes + foreign.notes
    losses = LossReport(job.marking(try foreign.losses(step: job.position.step, on: source.connection)))
    metadata = try StoreMetadata(reading: source.connection, path: job.sourcePath)
    let fixed =
      try source.connection.rows("SELECT * FROM source.Z_PRIMARYKEY ORDER BY Z_ENT")
      + source.connection.rows("SELECT * FROM source.Z_METADATA")
    kept = try Self.counters(layout, source)
    digest = Digest.hex((file.texts + fixed.map { "\($0)" }).joined(separator: "\n"))
  }

  private static func counters(
    _ layout: SchemaOnlyLayout, _ source: AttachedSource
  ) throws -> [(number: Int, highest: Int64)] {
    try layout.tables.compactMap { table in
      guard let number = source.destinationSchema.number(of: table.new.rootEntityName),
        let old = source.sourceSchema.tables.first(where: { $0.name == table.old })
      else { return nil }
      let highest = try source.connection.highestCounter(of: old.rootEntityName, in: source.sourceSchema)
      return (number, highest ?? 0)
    }
  }

  package var objects: Int64? { nil }
  package var dropped: [MigrationPlan.Dropped] { [] }
  package var passes: Int { 0 }
  package var plannedRows: Int64 { 0 }
  package var keepsFiles: Bool { true }

  package func counters() -> [(number: Int, highest: Int64)] { kept }

  /// The digest of the definitions, entity numbers and metadata. The rest of the store was not read.
  package func contentDigest(_ files: StoreFiles) -> String { digest }

  package func diskNeed(storeBytes bytes: Int64) -> DiskNeed {
    let filled = Set(layout.tables.map(\.new.name) + layout.joins.map(\.new.name))
    let made = Int64(layout.indexes.made.count { filled.contains($0.table) })
    // No row is counted. An index has a part of the columns of one table.
    let index = bytes / 3
    let sorting = made > 0 && index > job.memory.bytes / 4 ? index * 2 : 0
    return DiskNeed(destinationBytes: baseBytes(storeBytes: bytes) + made * index, temporaryBytes: sorting)
  }

  package func begin(
    on connection: StoreConnection, mover: ExternalDataMover, files: StoreFiles, stamp: StoreFiles.Stamp
  ) -> any InPlaceRun { SchemaOnlyRun(self, connection: connection) }

  /// The operations that take time in proportion to rows even so, for the plan.
  ///
  /// - Parameter bytes: The size of the store.
  func costs(bytes: Int64) -> [String] {
    var costs: [String] = []
    if job.existingDestination == .inPlace(keepsOld: true) {
      costs.append(
        "the old store is kept, so \(ByteCount(bytes: bytes)) are copied where the file system cannot share them")
    }
    let filled = Set(layout.tables.map(\.new.name) + layout.joins.map(\.new.name))
    for index in layout.indexes.made where filled.contains(index.table) {
      costs.append("index \(index.name) is created: every row of \(index.table) is read")
    }
    for index in layout.indexes.dropped { costs.append("index \(index) is dropped: all its pages are freed") }
    for table in layout.dropped { costs.append("table \(table) is dropped: all its pages are freed") }
    return costs
  }
}
