package import GodwitJob
import GodwitModel
package import GodwitStore

/// How a store is migrated in place, and why.
package enum InPlaceStrategy {
  /// A change of definitions: no row is read, written or counted.
  case definitions(SchemaOnlyProgram)
  /// Statements on the store or a copy of it, in one transaction.
  case sql(InPlaceSQLProgram)
  /// Like any other job, into a new store.
  case executor(reason: String)

  /// - Parameters:
  ///   - source: The store, attached for reading.
  ///   - counted: Makes the plan of the store, which is needed if rows matter.
  package init(
    job: MigrationJob, source: AttachedSource, type: StoreType,
    counted: () throws -> (plan: MigrationPlan, program: StepProgram)
  ) throws {
    if let reason = try Self.obstacle(job: job, connection: source.connection, type: type) {
      self = .executor(reason: reason)
      return
    }
    let rowReason: String
    do {
      self = .definitions(try SchemaOnlyProgram(job: job, source: source))
      return
    } catch let obstacle as SchemaOnlyLayout.Obstacle { rowReason = obstacle.reason }
    let (plan, program) = try counted()
    let keeping = job.keepsInvalid ? "'on-invalid: keep' compares objects with those of the source" : nil
    if let reason = try keeping ?? Self.obstacle(program) {
      self = .executor(reason: reason)
      return
    }
    let layout = try InPlaceSQLLayout(program: program, connection: source.connection)
    self = .sql(
      InPlaceSQLProgram(
        job: job, plan: plan, leftOut: source.leftOut, layout: layout,
        step: try StepProgram(
          resolved: program.resolved, sourceSchema: layout.source(program.sourceSchema),
          destinationSchema: program.destinationSchema, facts: program.facts),
        triggers: try DerivedTriggers(
          source: program.sourceSchema, destination: program.destinationSchema, connection: source.connection
        ).statements,
        metadata: try StoreMetadata(reading: source.connection, path: job.sourcePath), rowReason: rowReason))
  }

  /// Why the job or the store's file needs a new store; nil when neither does.
  private static func obstacle(job: MigrationJob, connection: StoreConnection, type: StoreType) throws -> String? {
    if job.steps.count > 1 { return "the job has \(job.steps.count) steps" }
    guard job.steps.first?.isInferred == true else { return "the mapping is not inferred" }
    if type != .sqlite { return "the store is not a SQLite file" }
    if !job.chunkPredicates.isEmpty { return "'chunks.by' is set" }
    if let name = respelled(job.sourceModel, job.destinationModel) {
      return "the two versions write '\(name)' in other bytes"
    }
    for (name, wanted) in [("page_size", 4096), ("auto_vacuum", 2)] as [(String, Int64)] {
      let found = try connection.integer("PRAGMA source.\(name)") ?? 0
      if found != wanted { return "the store's \(name) is \(found), and that of a new store is \(wanted)" }
    }
    let encoding = try connection.value("PRAGMA source.encoding")
    if encoding != .text("UTF-8") { return "the store's text is not UTF-8" }
    let file = try StoreTables(connection)
    for (table, key) in [("Z_METADATA", "Z_VERSION"), ("Z_PRIMARYKEY", "Z_ENT")]
    where !file.isPlain(table, key: [key]) { return "the definition of table \(table) is not Core Data's" }
    let odd = try connection.strings(
      "SELECT name FROM source.sqlite_master WHERE type = 'table' AND (name = 'sqlite_sequence' OR sql LIKE 'CREATE VIRTUAL%') ORDER BY name LIMIT 1"
    ).first
    return odd.map { "table '\($0)' is not one that Core Data makes" }
  }

  /// A name that both models have, but in other bytes: for SQLite it is another table or column.
  private static func respelled(_ old: ManagedObjectModel, _ new: ManagedObjectModel) -> String? {
    func names(_ model: ManagedObjectModel) -> [String] {
      model.entities.flatMap { [$0.name] + $0.attributes.map(\.name) + $0.relationships.map(\.name) }
    }
    let known = Dictionary(grouping: names(old), by: { $0 }).mapValues { Set($0.map { Text($0) }) }
    return names(new).first { known[$0]?.contains(Text($0)) == false }
  }

  /// Why statements alone cannot carry the mapping out; nil when they can.
  private static func obstacle(_ program: StepProgram) throws -> String? {
    for mapping in program.mappings {
      guard program.facts.mappings[mapping.index].keys == .offset(0) else {
        return "objects of '\(mapping.source.name)' get new keys"
      }
      let reasons = try program.creation.statement(mapping.index, predicate: nil).reasons
      if let reason = reasons.first { return "mapping '\(mapping.name)' runs in Swift: \(reason)" }
      for (attribute, value) in mapping.attributes {
        guard case .copy(let name) = value.withoutDefault,
          let from = program.resolved.sourceModel.attribute(name, of: mapping.source.name),
          from.allowsExternalBinaryDataStorage, !attribute.allowsExternalBinaryDataStorage
        else { continue }
        return "the external files of '\(mapping.source.name).\(name)' move into their rows"
      }
    }
    return nil
  }
}

/// The decisions for a migration by SQL alone. They are complete before it writes.
package struct InPlaceSQLProgram: InPlaceProgram {
  package let job: MigrationJob
  let plan: MigrationPlan
  package let leftOut: UnmodelledTables
  let layout: InPlaceSQLLayout
  /// The statements of the step, under the names that tables and columns have once they are renamed.
  let step: StepProgram
  package let triggers: [String]
  package let metadata: StoreMetadata
  /// Why a change of definitions alone will not do.
  let rowReason: String

  package var destination: StoreSchema { step.destinationSchema }
  package var objects: Int64? { step.facts.mappings.reduce(0) { $0 + $1.rows } }
  package var dropped: [MigrationPlan.Dropped] { plan.dropped }
  package var losses: LossReport { plan.losses }
  package var notes: [MigrationNote] { plan.codedNotes }
  package var passes: Int { plan.steps.first?.passes.count ?? 0 }
  package var plannedRows: Int64 { plan.totalRows }
  package var keepsFiles: Bool { false }

  package func counters() throws -> [(number: Int, highest: Int64)] {
    step.resolved.keptCounters(destination: destination, facts: step.facts).map { ($0.0, $0.1) }
  }

  package func contentDigest(_ files: StoreFiles) throws -> String { try files.contentDigest() }

  package func begin(
    on connection: StoreConnection, mover: ExternalDataMover, files: StoreFiles, stamp: StoreFiles.Stamp
  ) throws -> any InPlaceRun {
    try InPlaceSQLRun(self, connection: connection, mover: mover, files: files, stamp: stamp)
  }

  package func diskNeed(storeBytes bytes: Int64) -> DiskNeed {
    let all = step.facts.entities.reduce(Int64(0)) { $0 + $1.rows }
    let kept = Set(layout.tables.map(\.new.name))
    var written: Int64 = 0
    for mapping in step.mappings {
      guard let table = destination.table(of: mapping.destination.name) else { continue }
      if !kept.contains(table.name) || changesEveryRow(mapping) { written += step.facts.mappings[mapping.index].rows }
    }
    let part = Double(bytes) * Double(written) / Double(max(1, all))
    // New rows with their indexes, or changed pages with the journal that has them as they were.
    let rows = Int64(min(part * 2, 4e18))
    let index = all > 0 ? bytes / 3 : 0
    return DiskNeed(
      destinationBytes: baseBytes(storeBytes: bytes) + rows,
      temporaryBytes: index > job.memory.bytes / 4 ? index * 2 : 0)
  }

  /// Whether all objects of a mapping in a table that stays get another number or a value.
  private func changesEveryRow(_ mapping: ResolvedEntityMapping) -> Bool {
    let (was, now) = numbers(mapping)
    return was != now
      || mapping.attributes.contains { $0.source == .modelDefault && !$0.attribute.defaultValue.isNull }
      || step.resolved.destinationModel.attributes(of: mapping.destination.name)
        .contains { $0.isDerived && !$0.isTransient }
  }

  /// Destination table to the mappings whose objects it holds.
  func mappings(of table: StoreSchema.EntityTable) -> [ResolvedEntityMapping] {
    step.mappings.filter { step.resolved.destinationModel.root(of: $0.destination.name)?.name == table.rootEntityName }
  }

  func rows(of table: StoreSchema.EntityTable) -> Int64 {
    mappings(of: table).reduce(0) { $0 + step.facts.mappings[$1.index].rows }
  }

  /// The operations that take time in proportion to rows, for the plan.
  var costs: [String] {
    var costs: [String] = []
    for (name, reason) in layout.reasons where reason != "new" {
      guard let table = step.destinationSchema.tables.first(where: { $0.name == name }) else {
        costs.append("table \(name) is rebuilt: \(reason)")
        continue
      }
      costs.append("table \(name) is rebuilt, \(rows(of: table).counted("row")): \(reason)")
    }
    for kept in layout.tables {
      for mapping in mappings(of: kept.new) {
        let rows = step.facts.mappings[mapping.index].rows
        guard rows > 0 else { continue }
        let (was, now) = numbers(mapping)
        if was != now {
          costs.append("entity number of \(mapping.destination.name), \(was) to \(now): \(rows.counted("row"))")
        }
        for (attribute, value) in mapping.attributes where value == .modelDefault && !attribute.defaultValue.isNull {
          costs.append("default of \(mapping.destination.name).\(attribute.name): \(rows.counted("row"))")
        }
        for attribute in step.resolved.destinationModel.attributes(of: mapping.destination.name)
        where attribute.isDerived && !attribute.isTransient {
          costs.append("derived \(mapping.destination.name).\(attribute.name): \(rows.counted("row"))")
        }
      }
    }
    let rows = step.facts.entities.reduce(0) { $0 + $1.rows }
    costs.append(
      "\(rows.counted("row")) compared with what the destination requires, and the file checked: \(rowReason)")
    return costs
  }

  func numbers(_ mapping: ResolvedEntityMapping) -> (was: Int, now: Int) {
    (
      step.sourceSchema.number(of: mapping.source.name) ?? -1,
      step.destinationSchema.number(of: mapping.destination.name) ?? -1
    )
  }
}
