import GodwitJob
import GodwitModel
import GodwitStore

/// Makes a store one of the destination model by statements alone, in one transaction that the caller begins and ends.
///
/// 1. Views, triggers and tables that no model names are dropped. Tables that stay get their new names and columns. The
///    others are renamed aside, and new ones are made.
/// 2. Objects whose table is new are made from the rows set aside, by the statements of an ordinary run.
/// 3. In tables that stay, the same statements find the rows that would change. Only those are collected, and they are
///    written once all have been collected.
/// 4. The tables set aside are dropped. Links, indexes, order, derived attributes and validation follow as in an
///    ordinary run, then counters, metadata, triggers, and SQLite's check.
final class InPlaceSQLRun: InPlaceRun {
  let program: InPlaceSQLProgram
  let connection: StoreConnection
  let functions: SQLFunctions
  private let executor: Executor
  private let editor: SchemaOnlyEditor
  /// Relationship assignments that a later one overrides.
  private(set) var overridden: Int64 = 0

  var step: StepProgram { program.step }
  var destination: StoreSchema { program.step.destinationSchema }

  /// - Parameters:
  ///   - connection: The store, which is the source too.
  ///   - mover: Brings the external files of values that stay.
  init(
    _ program: InPlaceSQLProgram, connection: StoreConnection, mover: ExternalDataMover, files: StoreFiles,
    stamp: StoreFiles.Stamp
  ) throws {
    self.program = program
    self.connection = connection
    functions = try SQLFunctions(
      connection: connection, sourceSchema: program.step.sourceSchema, now: program.plan.facts.now)
    functions.mover = mover
    editor = SchemaOnlyEditor(connection: connection)
    executor = Executor(
      job: program.job, durability: program.job.durability, plan: program.plan, program: program.step,
      connection: connection, functions: functions,
      ledger: Ledger(connection: connection), files: files, stamp: stamp, spillPath: { _ in "" })
  }

  /// Everything to do, in order.
  ///
  /// - Parameter finish: Writes counters and metadata.
  func tasks(finish: @escaping () throws -> Void) throws -> [InPlaceTask] {
    var tasks = [task("schema", "tables") { [self] in try restructure() }]
    tasks += creationTasks()
    tasks += try relationshipTasks()
    tasks += keptTableTasks()
    tasks += resolutionTasks()
    tasks += indexTasks(areUnique: false)
    tasks += try computationTasks()
    tasks += try validationTasks()
    tasks += indexTasks(areUnique: true)
    tasks.append(
      task("finish", "metadata") { [self] in
        try finish()
        try Ledger(connection: connection).drop()
        try editor.spell(program.layout.tables, program.layout.joins)
      })
    let rows = step.facts.mappings.reduce(0) { $0 + $1.rows }
    tasks.append(task("check", "pages", rows: rows) { [self] in try check() })
    return tasks
  }

  private func task(
    _ stage: String, _ name: String, rows: Int64 = 1, _ body: @escaping () throws -> Void
  ) -> InPlaceTask {
    InPlaceTask(stage: stage, name: name, rows: max(1, rows), body: body)
  }

  private func task(_ work: ChunkWork, _ name: String, rows: Int64) -> InPlaceTask {
    let chunk = Chunk(id: 0, pass: 0, work: work, name: name, range: .all, rows: rows)
    return task(work.phase.rawValue, name, rows: rows) { [self] in
      overridden += try executor.perform(chunk).overridden
    }
  }

  /// The rows of tables that are new.
  private func creationTasks() -> [InPlaceTask] {
    let kept = Set(program.layout.tables.map(\.new.name))
    return destination.tables.filter { !kept.contains($0.name) }.flatMap { table in
      program.mappings(of: table).compactMap { mapping in
        let rows = step.facts.mappings[mapping.index].rows
        return rows > 0 ? task(.create(mapping: mapping.index, predicate: nil), mapping.name, rows: rows) : nil
      }
    }
  }

  /// The relationships that no kept join table holds.
  private func relationshipTasks() throws -> [InPlaceTask] {
    let kept = Set(program.layout.joins.map(\.new.name))
    var tasks: [InPlaceTask] = []
    for (number, link) in step.links.numbered {
      if let join = joinTable(of: link), kept.contains(join) { continue }
      for (scan, job) in try step.relationships.scans(number).enumerated() {
        tasks.append(
          task(
            .relate(link: number, scan: scan), step.mappings[job.mapping].name,
            rows: step.facts.mappings[job.mapping].rows))
      }
    }
    return tasks
  }

  /// Changes the rows of tables that stay, then drops the old tables.
  private func keptTableTasks() -> [InPlaceTask] {
    let kept = Array(program.layout.tables.enumerated())
    var tasks = program.layout.joins.enumerated().map { number, join in
      task("clean", join.new.name) { [self] in try clean(program.layout.joins[number]) }
    }
    tasks += kept.map { number, table in
      task("compare", table.new.name, rows: program.rows(of: table.new)) { [self] in
        try collectChangedRows(number, table)
      }
    }
    tasks += kept.map { number, table in
      task("update", table.new.name) { [self] in try apply(number, table) }
    }
    let dropOld = task("schema", "old tables") { [self] in
      for (_, name) in program.layout.aside { try connection.execute("DROP TABLE main.\(quoted(name))") }
    }
    return tasks + [dropOld]
  }

  private func resolutionTasks() -> [InPlaceTask] {
    step.links.numbered.filter { $1.strategy == .resolved }.flatMap { number, link in
      let name = "\(link.first.entityName).\(link.first.relationship.name)"
      return [
        task(.prepareResolving(link: number), name, rows: 1),
        task(.resolve(link: number), name, rows: rows(of: link.first.entityName)),
      ]
    }
  }

  /// Order keys, then derived attributes.
  private func computationTasks() throws -> [InPlaceTask] {
    let order = step.order.rules.numbered.map { number, rule in
      task(
        .order(rule: number), "\(rule.entityName).\(rule.relationshipName)", rows: rows(of: rule.entityName))
    }
    return order
      + (try step.derivation.rules().numbered.map { number, rule in
        task(.derive(rule: number), rule.entityName, rows: rows(of: rule.entityName))
      })
  }

  private func validationTasks() throws -> [InPlaceTask] {
    var validated: Set<String> = []
    return try step.mappings.filter { validated.insert($0.destination.name).inserted }.compactMap { mapping in
      guard try !step.validation.entity(mapping.destination.name).rules.isEmpty else { return nil }
      return task(.validate(mapping: mapping.index), mapping.name, rows: rows(of: mapping.destination.name))
    }
  }

  private func indexTasks(areUnique: Bool) -> [InPlaceTask] {
    destination.indexes.enumerated().filter { $0.element.isUnique == areUnique }.map { number, index in
      let rows = destination.tables.first { $0.name == index.table }.map(program.rows) ?? 1
      let chunk = Chunk(
        id: 0, pass: 0, work: areUnique ? .buildUniqueIndex(number) : .buildIndex(number), name: index.name,
        range: .all, rows: rows)
      return task(chunk.phase.rawValue, index.name, rows: rows / 4) { [self] in
        guard try editor.definition("index", index.name) == nil else { return }
        _ = try executor.perform(chunk)
      }
    }
  }

  private func rows(of entity: String) -> Int64 {
    let model = step.resolved.destinationModel
    return step.mappings.filter { model.isKind($0.destination.name, of: entity) }
      .reduce(0) { $0 + step.facts.mappings[$1.index].rows }
  }

  private func joinTable(of link: InversePair) -> String? {
    guard
      case .join(let join, _, _, _) = destination.storage(
        of: link.first.relationship.name, in: link.first.entityName)
    else { return nil }
    return join.name
  }

  // MARK: Tables

  /// Step 1.
  private func restructure() throws {
    try executor.prepare()
    try editor.dropTriggersAndViews()
    let layout = program.layout
    try editor.dropTables(but: Set(layout.tables.map(\.old) + layout.joins.map(\.old) + layout.aside.map(\.table)))
    try dropIndexes()
    for (table, name) in layout.aside { try editor.rename(table, name) }
    try editor.alter(layout.tables, layout.joins)
    let there = Set(layout.tables.map(\.new.createStatement) + layout.joins.map(\.new.createStatement))
    for sql in destination.createStatements where !there.contains(sql) { try connection.execute(sql) }
    for sql in step.scratchStatements { try connection.execute(sql) }
  }

  /// In a table that stays, drops the indexes that the destination does not have, and all where a name changes.
  ///
  /// The indexes of tables that were renamed aside are dropped with them: the statements that read those tables need
  /// them.
  private func dropIndexes() throws {
    let layout = program.layout
    let named = Set(
      layout.tables.filter { $0.old == $0.new.name && $0.renamedColumns.isEmpty }.map(\.old)
        + layout.joins.filter { $0.old == $0.new.name && $0.renamedColumns.isEmpty }.map(\.old))
    let stays = Set(layout.tables.map(\.old) + layout.joins.map(\.old))
    let wanted = Dictionary(destination.indexes.map { ($0.name, $0.sql) }) { first, _ in first }
    for index in try StoreTables.indexes(connection, in: "main") where stays.contains(index.table) {
      if named.contains(index.table), wanted[index.name] == index.sql { continue }
      try editor.dropIndex(index.name)
    }
  }

  // MARK: End

  private func check() throws {
    try connection.execute("PRAGMA main.user_version = 0")
    try connection.execute("PRAGMA main.application_id = 0")
    try connection.execute("PRAGMA main.incremental_vacuum")
    try connection.quickCheck(remedy: "check the disk and run the same command", safe: "the store is unchanged")
  }
}
