import Foundation
package import GodwitJob
package import GodwitModel
package import GodwitStore

/// Carries out the chunks of a plan, one transaction each.
///
/// 1. Each chunk that the ledger does not vouch for runs in order, in a fresh context: its statements,
///    the primary-key counters and its ledger entry commit together.
///    One thread writes: SQLite has one writer, and `PRAGMA threads` gained nothing.
/// 2. Spill bytes are synced before the commit that names them.
/// 3. A run that begins again after a kill is one transaction of the caller's, in which each chunk is a savepoint.
/// 4. Before every commit the source is compared with its recorded state; a change stops the run.
package final class Executor {
  let job: MigrationJob
  let durability: MigrationJob.Durability
  let plan: MigrationPlan
  let program: StepProgram
  let connection: StoreConnection
  let functions: SQLFunctions
  package let ledger: Ledger
  let files: StoreFiles
  let spillPath: (MappingID) -> String
  /// The digest of the source while the ledger lacks it.
  private var sourceDigest: BackgroundTask<String>?
  /// nil in a step without policies.
  let policies: PolicyRun?
  /// The program as it stands: policies change how links are carried out.
  var currentProgram: StepProgram { policies?.shortcuts.program ?? program }
  private let stamp: StoreFiles.Stamp
  /// nil for a job that a rejected row stops.
  let rejections: RejectionSearch?
  /// The writers of the associate stage, by mapping.
  var writers: [MappingID: SpillWriter] = [:]
  /// The keys of the `unique-by` mapping whose associations are being written.
  var identities: (mapping: MappingID, map: UniqueKeyMap)?
  /// Mappings with an order whose table of survivors is made.
  var survivors: Set<MappingID> = []
  /// Rules of order whose ranks are made.
  var ranked: Set<OrderID> = []
  /// The validator that works while indexes are built.
  private var ahead: SpeculativeValidator?
  /// Events that the result does not show.
  package var notes: [MigrationNote] = []
  /// Mappings whose spill file was rebuilt. A second damage to the same file stops the run.
  var rebuiltSpills: Set<MappingID> = []
  /// Chunks whose statement met a value that is too large for it.
  var chunksWithLargeRows: Set<Int> = []
  /// The writer of large rows, made when it is first needed. The inner value is nil if large rows cannot be written.
  var knownLargeRowWriter: LargeRowWriter??

  package init(
    job: MigrationJob, durability: MigrationJob.Durability, plan: MigrationPlan, program: StepProgram,
    connection: StoreConnection, functions: SQLFunctions, ledger: Ledger, files: StoreFiles, stamp: StoreFiles.Stamp,
    sourceDigest: BackgroundTask<String>? = nil, policies: PolicyRun? = nil, rejections: RejectionSearch? = nil,
    spillPath: @escaping (MappingID) -> String
  ) {
    self.job = job
    self.durability = durability
    self.plan = plan
    self.program = program
    self.connection = connection
    self.functions = functions
    self.ledger = ledger
    self.files = files
    self.stamp = stamp
    self.spillPath = spillPath
    (self.sourceDigest, self.policies, self.rejections) = (sourceDigest, policies, rejections)
  }

  /// Runs the remaining chunks.
  ///
  /// - Parameters:
  ///   - beforeChunks: Called with the chunks that one statement is about to carry out.
  ///   - afterChunk: Called for every chunk that is done; returns false to stop.
  package func run(beforeChunks: ([Chunk]) -> Void, afterChunk: (Chunk) throws -> Bool) throws {
    let done = try ledger.done()
    try prepare()
    var rest = plan.chunks.filter { !done.contains($0.id) }[...]
    defer { ahead?.stop() }
    var hasRoom = false
    while let first = rest.first {
      if first.phase == .index, !hasRoom {
        try makeRoomForSorting()
        // The validator reads committed data.
        if durability == .resumable { ahead = try validateAhead(rest) }
        hasRoom = true
      }
      let chunks = together(rest)
      rest = rest.dropFirst(chunks.count)
      if chunks.count > 1 { beforeChunks(Array(chunks)) }
      if chunks.count > 1, try carryOutTogether(chunks) {
        // All of the chunks are committed, so every one is reported even after a listener has stopped the run.
        var goesOn = true
        for chunk in chunks { goesOn = try afterChunk(chunk) && goesOn }
        guard goesOn else { return }
        continue
      }
      for chunk in chunks {
        beforeChunks([chunk])
        try carryOutAlone(chunk, done: done)
        guard try afterChunk(chunk) else { return }
      }
    }
  }

  /// Gives half of the page cache to the sorter of indexes, which SQLite lets grow to that cache's size and which comes
  /// beside it. Pages that are in memory go.
  private func makeRoomForSorting() throws {
    try connection.execute("PRAGMA main.cache_size = -\(max(1024, job.memory.bytes / 8 / 1024))")
    try connection.execute("PRAGMA shrink_memory")
  }

  private func carryOutAlone(_ chunk: Chunk, done: Set<Int>) throws {
    do {
      do { try carryOut(chunk) } catch {
        forgetWriters()
        // The chunk was rolled back, so it can run again on a sound file.
        guard try replaceDamagedSpill() else { throw error }
        try policies?.rollBack()
        try carryOut(chunk)
      }
    } catch {
      forgetWriters()
      if program.facts.highestDestinationKeys != nil, let known = error as? GodwitError,
        known.refusal == .duplicate
      {
        throw broken(constraint: nil, chunk)
      }
      try searchRejected(after: error, in: chunk)
      throw self.error(error, in: chunk, done: done)
    }
  }

  /// Makes the temporary table that links are resolved in.
  package func prepare() throws {
    try connection.execute(
      "CREATE TEMP TABLE IF NOT EXISTS godwit_edge (d INTEGER, x INTEGER, dx INTEGER, xd INTEGER)")
    functions.readKeySets = { [unowned self] in try keySets($0) }
    policies?.relateAgain = { [unowned self] in try relateAgain($0) }
  }

  /// Carries out one chunk in a transaction of the caller's, without the ledger.
  package func perform(_ chunk: Chunk) throws -> Ledger.Outcome {
    do { return try run(chunk) } catch { throw self.error(error, in: chunk, done: []) }
  }

  private func carryOut(_ chunk: Chunk) throws {
    try connection.transaction {
      let outcome = try run(chunk)
      try connection.checkTransaction()
      try ledger.finish(chunk, outcome)
      try recordDigest()
      try checkSourceOfChunk()
    }
  }

  /// Compares the source before a chunk commits.
  func checkSourceOfChunk() throws { if durability == .resumable { try checkSource() } }

  /// Writes the source's digest to the ledger when it is known. Call inside a transaction.
  func recordDigest() throws {
    guard let digest = try sourceDigest?.valueIfReady() else { return }
    try ledger.setSource(digest)
    sourceDigest = nil
  }

  private func error(_ error: any Error, in chunk: Chunk, done: Set<Int>) -> any Error {
    guard var known = error as? GodwitError else {
      if let spill = error as? SpillError { return GodwitError(spill) }
      return error
    }
    if known.context == nil { known.context = context(chunk) }
    if known.safe == nil {
      known.safe =
        chunk.id == 0 || durability == .restart
        ? "the source is untouched" : "chunks before it are durable; the source is untouched"
    }
    return known
  }

  func context(_ chunk: Chunk) -> String {
    let pass = chunk.pass > 0 ? "pass \(chunk.pass) of \(plan.steps.first?.passes.count ?? 1), " : ""
    let entity = program.mappings.first { $0.name == chunk.name }?.source.name ?? chunk.name
    let alike = plan.chunks.filter { $0.phase == chunk.phase && $0.name == chunk.name }
    let number = alike.firstIndex { $0.id == chunk.id }.map { $0 + 1 } ?? 1
    return
      "\(job.position.context), \(pass)\(chunk.work.title), \(chunk.name), chunk \(number) (\(chunk.context(entityName: entity)))"
  }

  /// A store that another process writes cannot be migrated: rows read before and after would not fit.
  package func checkSource() throws {
    guard try files.stamp() == stamp else {
      throw SourceCheck.changed(files, since: stamp, isResumable: durability == .resumable)
    }
  }

  func run(_ chunk: Chunk) throws -> Ledger.Outcome {
    if chunk.phase != .associate { try openReaders() }
    switch chunk.work {
    case .associate(let mapping): return try associate(chunk, mapping)
    case .create(let mapping, let predicate):
      if program.isPolicy(mapping) { return try createByPolicy(chunk, mapping) }
      return try create(chunk, mapping, predicate: predicate)
    case .callHook(let hook, let policy): return try call(hook, of: policy, chunk)
    case .relate(let link, let scan): return try relate(chunk, link, scan: scan)
    case .prepareResolving(let link): return try prepareResolving(link)
    case .resolve(let link): return try resolve(chunk, link)
    case .buildIndex(let number):
      let index = program.destinationSchema.indexes[number]
      guard try !hasIndex(index.name) else { return .init() }
      try connection.execute(index.sql)
      return .init()
    case .order(let rule):
      try makeRanks(of: rule, chunk)
      let sql = program.order.rules[rule].sql
      try connection.execute(sql, [.integer(chunk.range.first), .integer(chunk.range.last)])
      return .init(rows: connection.changes)
    case .derive(let rule): return try derive(chunk, rule)
    case .validate(let mapping): return try validate(chunk, program.mappings[mapping].destination.name)
    case .validateEntity(let number):
      return try validate(chunk, program.destinationSchema.entityName(number) ?? chunk.name)
    case .meet: return try meet()
    case .buildUniqueIndex(let index): return try unique(chunk, index)
    }
  }

  /// A destination that exists may have an index of the name in a spelling of its own.
  private func hasIndex(_ name: String) throws -> Bool {
    try program.facts.highestDestinationKeys != nil
      && connection.value("SELECT 1 FROM main.sqlite_master WHERE type = 'index' AND name = ?1", [.text(name)]) != nil
  }

  func execute(
    _ statement: ChunkStatement, _ chunk: Chunk, with inputs: StatementInputs = .init()
  ) throws -> Int64 {
    try execute(statement, chunk, from: chunk.range.first, through: chunk.range.last, with: inputs)
  }

  /// Runs a statement of the chunk for some of its keys.
  func execute(
    _ statement: ChunkStatement, _ chunk: Chunk, from first: Int64, through last: Int64,
    with inputs: StatementInputs = .init()
  ) throws -> Int64 {
    try functions.running(statement, context: context(chunk), with: inputs) {
      try connection.execute(statement.sql, statement.builder.arguments(from: first, through: last))
      return connection.changes
    }
  }

  // MARK: Instance creation

  private func create(_ chunk: Chunk, _ index: MappingID, predicate number: Int?) throws -> Ledger.Outcome {
    let mapping = program.mappings[index]
    let predicate = number.flatMap { job.chunkPredicates[mapping.name]?[$0] }
    let statement = try currentProgram.creation.statement(index, predicate: predicate)
    functions.mover?.beginChunk()
    functions.findings.hasFittedNil = false
    let outcome = Ledger.Outcome(
      rows: try makeObjects(statement, chunk, index, predicate: predicate),
      ambiguousToOne: try count(program.losses.ambiguousToOne(index, predicate: predicate), chunk),
      nils: try countNils(chunk, index, of: statement, predicate: predicate))
    try finishFiles(of: mapping.destination.name)
    try raiseCounter(of: mapping.destination.name)
    return outcome
  }

  /// The count that a statement gives for a chunk; 0 without a statement.
  func count(_ statement: ChunkStatement?, _ chunk: Chunk) throws -> Int64 {
    guard let statement else { return 0 }
    return try functions.running(statement, context: context(chunk)) {
      try connection.integer(
        statement.sql, statement.builder.arguments(from: chunk.range.first, through: chunk.range.last)) ?? 0
    }
  }

  /// Keeps `Z_MAX` at the highest key given out, as Core Data counts: at the root of the hierarchy.
  func raiseCounter(of entity: String) throws {
    guard let root = program.resolved.destinationModel.root(of: entity),
      let number = program.destinationSchema.number(of: root.name)
    else { return }
    let table = try program.destinationTable(of: entity).name
    try connection.execute(
      "UPDATE main.Z_PRIMARYKEY SET Z_MAX = MAX(Z_MAX, COALESCE((SELECT MAX(Z_PK) FROM main.\(quoted(table))), 0)) WHERE Z_ENT = ?1",
      [.int(number)])
  }

  // MARK: Relationships

  private func relate(_ chunk: Chunk, _ link: LinkID, scan: Int) throws -> Ledger.Outcome {
    guard !currentProgram.inlineLinks.contains(link) else { return .init() }
    let scan = try program.relationships.scans(link)[scan]
    return .init(
      rows: try execute(try currentProgram.relationships.statement(scan), chunk),
      ambiguousToOne: try count(currentProgram.losses.ambiguousToOne(scan), chunk))
  }

  /// Carries out the finished chunks of a link in the relationship stage, which were left out while it was written with
  /// its objects.
  private func relateAgain(_ link: LinkID) throws {
    let done = try ledger.done()
    let scans = try program.relationships.scans(link)
    for chunk in plan.chunks where done.contains(chunk.id) {
      guard case .relate(link, let scan) = chunk.work else { continue }
      _ = try execute(try currentProgram.relationships.statement(scans[scan]), chunk)
    }
  }

  private func prepareResolving(_ link: LinkID) throws -> Ledger.Outcome {
    guard !currentProgram.inlineLinks.contains(link) else { return .init() }
    for sql in program.resolution.preparation(link) { try connection.execute(sql) }
    return .init()
  }

  private func resolve(_ chunk: Chunk, _ link: LinkID) throws -> Ledger.Outcome {
    guard !currentProgram.inlineLinks.contains(link) else { return .init() }
    let limit = connection.isOwnSource ? nil : ByteCount(bytes: limits.statementBytes)
    if let resolver = try AssignmentResolver(program, link: link, connection: connection, lengthLimit: limit) {
      do {
        try resolver.run(from: chunk.range.first, through: chunk.range.last)
        try storeInLargeRows(resolver.refused)
        return .init(rows: resolver.kept, overridden: resolver.wanted - resolver.kept)
      } catch is AssignmentResolver.TooMany {
        for sql in program.resolution.indexesForSQL(link) { try connection.execute(sql) }
      }
    }
    let range: [SQLValue] = [.integer(chunk.range.first), .integer(chunk.range.last)]
    let sql = try program.resolution.statements(link)
    let wanted = try connection.integer(sql.asserted, range) ?? 0
    try connection.execute("DELETE FROM temp.godwit_edge")
    try connection.execute(sql.collect, range)
    let kept = try connection.integer("SELECT COUNT(*) FROM temp.godwit_edge") ?? 0
    for sql in sql.store { try connection.execute(sql) }
    return .init(rows: kept, overridden: max(0, wanted - kept))
  }

  // MARK: Derived attributes

  private func derive(_ chunk: Chunk, _ number: DerivationID) throws -> Ledger.Outcome {
    let rule = try program.derivation.rules()[number]
    do {
      return .init(rows: try execute(rule.statement, chunk))
    } catch let error as GodwitError where error.refusal == .integerOverflow {
      throw GodwitError(
        .dataWrong, "cannot compute a derived attribute of '\(rule.entityName)': a sum does not fit",
        context: context(chunk),
        remedy: "repair the source or change the mapping, then `godwit discard` the job and run again")
    }
  }

  // MARK: Validation

  private func validate(_ chunk: Chunk, _ entity: String) throws -> Ledger.Outcome {
    if ahead?.passed(chunk.id) == true { return .init(rows: chunk.rows) }
    if job.keepsInvalid { return try validateKeeping(chunk, entity) }
    let validation = try program.validation.entity(entity)
    var broken: [(key: Int64, rule: Int)] = []
    // No further than the chunk, however few are found.
    try forEachInvalid(
      validation, of: entity, from: chunk.range.first, through: chunk.range.last, context: context(chunk)
    ) { key, rule in
      if validation.rules.indices.contains(rule) { broken.append((key, rule)) }
      // In place the range is the whole table, so the search stops at the first objects.
      return broken.count < (rejections == nil && !connection.isOwnSource ? Self.limitOffenders : 1)
    }
    guard broken.isEmpty else { throw try invalid(broken, validation, of: entity, chunk) }
    return .init(rows: chunk.rows)
  }

  private func unique(_ chunk: Chunk, _ number: Int) throws -> Ledger.Outcome {
    let index = program.destinationSchema.indexes[number]
    guard try !hasIndex(index.name) else { return .init() }
    do {
      try connection.execute(index.sql)
    } catch let error as GodwitError where error.code == .dataWrong {
      throw broken(constraint: (index.table, index.name), chunk)
    }
    return .init()
  }

  private func broken(constraint: (table: String, name: String)?, _ chunk: Chunk) -> GodwitError {
    let what = constraint.map { "two objects in \($0.table) share a value of uniqueness constraint \($0.name)" }
    let isAppending = program.facts.highestDestinationKeys != nil
    return GodwitError(
      .dataWrong, "validation failed: \(what ?? "two objects share a value of a uniqueness constraint")",
      context: context(chunk),
      remedy: isAppending
        ? "one of them may have been in the destination before this job: filter it out in the mapping, or repair the source; then `godwit discard` the job and run again"
        : "use unique-by in the mapping, which keeps the values of the first object by `order-by` and reports those of the others as lost, "
          + "or repair the source; then `godwit discard` the job and run again")
  }
}
