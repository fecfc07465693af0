package import GodwitJob
package import GodwitStore

/// The decisions for a migration in place that makes no new store. They are complete before it writes.
package protocol InPlaceProgram {
  var job: MigrationJob { get }
  var destination: StoreSchema { get }
  var leftOut: UnmodelledTables { get }
  var triggers: [String] { get }
  /// The metadata of the store before the migration.
  var metadata: StoreMetadata { get }
  /// The number of objects in the store before the migration; nil if they were not counted.
  var objects: Int64? { get }
  var dropped: [MigrationPlan.Dropped] { get }
  var losses: LossReport { get }
  var notes: [MigrationNote] { get }
  var passes: Int { get }
  /// The number of rows that progress shows before the work itself begins.
  var plannedRows: Int64 { get }
  /// Whether every value stays, and so every external file.
  var keepsFiles: Bool { get }

  /// `Z_MAX` by number of the root entity: at least the store's old value.
  func counters() throws -> [(number: Int, highest: Int64)]

  /// The digest that represents the content of the store before the job.
  func contentDigest(_ files: StoreFiles) throws -> String

  /// The most that the work writes, into the store, its journal and a copy of it.
  ///
  /// - Parameter bytes: The size of the store.
  func diskNeed(storeBytes bytes: Int64) -> DiskNeed

  /// - Parameter mover: Brings the external files of values that stay.
  func begin(
    on connection: StoreConnection, mover: ExternalDataMover, files: StoreFiles, stamp: StoreFiles.Stamp
  ) throws -> any InPlaceRun
}

/// The work on the store or a copy of it, in one transaction that the caller begins and ends.
package protocol InPlaceRun: AnyObject {
  /// Relationship assignments that a later one overrides.
  var overridden: Int64 { get }

  /// Everything to do, in order.
  ///
  /// - Parameter finish: Writes counters and metadata.
  func tasks(finish: @escaping () throws -> Void) throws -> [InPlaceTask]
}

/// One part of the work, for progress and for messages.
package struct InPlaceTask {
  var stage: String
  var name: String
  /// Rows it reads, about.
  var rows: Int64
  package var body: () throws -> Void

  /// The phase of chunks that its work is like.
  var phase: ChunkPhase { ChunkPhase(rawValue: stage) ?? .create }
}

extension InPlaceProgram {
  /// The bytes of the copy that is exchanged for the store, and of definitions, metadata and the journal of both.
  func baseBytes(storeBytes bytes: Int64) -> Int64 {
    let pages = Int64(destination.tables.count + destination.joinTables.count + destination.indexes.count + 16)
    return (job.existingDestination == .inPlace(keepsOld: true) ? bytes : 0) + pages * 2 * 4096
  }
}
