import GodwitJob
import GodwitModel
import GodwitStore

/// The state that all parts of a policy run share: the step's program, its stores and the statements of the chunk.
final class PolicyRunState {
  let program: StepProgram
  let connection: StoreConnection
  let functions: SQLFunctions
  let folder: StepFolder
  let now: Double
  let memory: ByteCount
  /// The mapping of each policy, and its index among those that make objects of source objects.
  let mappings: [EntityMapping]
  let mappingIndexes: [MappingID?]
  /// The names that tell those mappings from each other.
  private let mappingNames: [MappingNames]
  /// How many rows of a table are written together.
  let batchLimits: RowBatch.Limits
  /// Whether new objects wait at all.
  let hasWaitingObjects: Bool
  /// Why the chunk must fail, whatever its hooks make of errors: see `checkChunk`.
  @exclusivity(unchecked) private(set) var chunkFailure: (any Error)?
  let sourceContext: ObjectContext
  let destinationContext: ObjectContext
  /// Reads objects that are not inserted yet: their files are still the source's.
  let draftContext: ObjectContext
  /// The policy at work, and the index of its mapping; nil for one of kind add.
  @exclusivity(unchecked) private(set) var current = 0
  @exclusivity(unchecked) private(set) var currentMapping: MappingID?
  /// The offset that each mapping adds to a source key; nil for dense keys.
  let keyOffsets: [Int64?]
  /// The number of the entity that each mapping makes.
  let entityNumbers: [Int]

  private var statements: [String: SQLStatement] = [:]
  /// The templates by entity name.
  private var templates: [String: (layout: ObjectLayout, row: [SQLValue])] = [:]
  private var roots: [String: String] = [:]
  /// Indexes that this process has made sure of.
  private var indexes: Set<String> = []
  @exclusivity(unchecked) private var mappedRows: [MappedRow?]

  private struct MappingNames: Equatable {
    var name: String
    var source, destination: String?

    init(_ mapping: EntityMapping) {
      (name, source, destination) = (mapping.name, mapping.sourceEntityName, mapping.destinationEntityName)
    }

    func areThose(of mapping: EntityMapping) -> Bool {
      name == mapping.name && source == mapping.sourceEntityName && destination == mapping.destinationEntityName
    }
  }

  init(
    job: MigrationJob, program: StepProgram, connection: StoreConnection, functions: SQLFunctions, folder: StepFolder
  ) {
    (self.program, self.connection, self.functions, self.folder) = (program, connection, functions, folder)
    now = program.facts.now
    memory = job.memory
    mappings = program.resolved.policies.map(\.mapping)
    mappingIndexes = program.resolved.policies.map(\.index)
    mappingNames = mappings.map(MappingNames.init)
    batchLimits = RowBatch.Limits(
      rows: EngineTuning.current.policyRowsPerBatch, bytes: Int(clamping: min(256 << 10, job.memory.bytes / 256)))
    hasWaitingObjects = EngineTuning.current.policyRowsPerBatch > 0
    mappedRows = program.mappings.map { _ in nil }
    currentMapping = mappingIndexes.first ?? nil
    keyOffsets = program.facts.mappings.map { if case .offset(let offset) = $0.keys { offset } else { nil } }
    entityNumbers = program.mappings.map { program.destinationSchema.number(of: $0.destination.name) ?? -1 }
    sourceContext = ObjectContext(
      connection: connection, schema: program.sourceSchema, database: StoreConnection.sourceSchema)
    destinationContext = ObjectContext(connection: connection, schema: program.destinationSchema, database: "main")
    draftContext = ObjectContext(connection: connection, schema: program.destinationSchema, database: "main")
    let sourceFiles = job.sourceSupport
    (sourceContext.support, draftContext.support) = (sourceFiles, sourceFiles)
    for context in [sourceContext, draftContext] { context.missingFilesAreNil = job.missingFilesAreNil }
    destinationContext.support = folder.support
  }

  /// Puts a policy to work.
  func setCurrent(_ policy: Int) { (current, currentMapping) = (policy, mappingIndexes[policy]) }

  var model: ManagedObjectModel { program.resolved.destinationModel }

  // MARK: Statements

  /// A statement kept for the chunk.
  func cached(_ sql: String) throws -> SQLStatement {
    if let known = statements[sql] { return known }
    let statement = try connection.prepare(sql)
    statements[sql] = statement
    return statement
  }

  /// The name of the running policy in messages.
  var errorContext: String { "policy '\(program.resolved.policies[current].name)'" }

  /// A statement's rows, with its places for errors in force.
  func rows(
    _ statement: ChunkStatement, from first: Int64, through last: Int64, with inputs: StatementInputs = .init()
  ) throws -> [[SQLValue]] {
    try functions.running(statement, context: errorContext, with: inputs) {
      try rows(statement.sql, statement.builder.arguments(from: first, through: last))
    }
  }

  func rows(_ sql: String, _ arguments: [SQLValue]) throws -> [[SQLValue]] {
    let prepared = try cached(sql)
    try prepared.bind(arguments)
    var rows: [[SQLValue]] = []
    let columns = 0..<prepared.row.count
    while try prepared.step() { rows.append(prepared.row.values(columns)) }
    prepared.reset()
    return rows
  }

  /// Makes an index of one of Godwit's tables, or of a table under construction, unless it exists.
  func makeIndex(_ name: String, on columns: String) throws {
    guard indexes.insert(name).inserted else { return }
    try connection.execute("CREATE INDEX IF NOT EXISTS main.\(quoted(name)) ON \(columns)")
  }

  // MARK: Rows that wait

  /// Writes rows that wait together.
  ///
  /// An error fails the chunk, also when the running hook catches it: the rows belong to hooks that have returned.
  @discardableResult func write(_ batch: RowBatch) throws -> Int64 {
    guard !batch.isEmpty else { return 0 }
    try checkChunk()
    do { return try batch.write() } catch { throw failing(error) }
  }

  /// Has the chunk fail.
  ///
  /// - Returns: The error, to be thrown.
  func failing(_ error: any Error) -> any Error {
    chunkFailure = chunkFailure ?? error
    return error
  }

  /// Throws when the chunk can no longer commit. Call it before a write, before a read of rows that may still be
  /// buffered, and at the end of a hook.
  ///
  /// A hook may catch the error of a statement that made SQLite roll back the whole chunk. Anything written after that
  /// would stay.
  func checkChunk() throws {
    if let chunkFailure { throw chunkFailure }
    do { try connection.checkTransaction() } catch { throw failing(error) }
  }

  /// Drops the statements and objects of a chunk.
  func finishChunk() {
    for context in [sourceContext, destinationContext, draftContext] { context.reset() }
    statements = [:]
  }

  /// Also drops the state of a rolled-back chunk.
  func rollBack() {
    finishChunk()
    (indexes, chunkFailure) = ([], nil)
  }

  // MARK: Entities and mappings

  func failure(_ message: String, try remedy: String = "correct the policy") -> GodwitError {
    GodwitError(.dataWrong, message, remedy: remedy)
  }

  func root(of entity: String) throws -> String {
    if let known = roots[entity] { return known }
    guard let root = model.root(of: entity)?.name else {
      throw failure(
        "the destination has no entity '\(entity)'\(Spelling.suggestion(for: entity, among: model.entityNames))")
    }
    roots[entity] = root
    return root
  }

  /// The initial state of an object that is made by the name of its entity: the model's defaults.
  func newObject(_ entity: String) throws -> (layout: ObjectLayout, row: [SQLValue]) {
    if let known = templates[entity] { return known }
    guard model.entity(entity)?.isAbstract == false else {
      throw failure("cannot make an object of '\(entity)': the entity is abstract")
    }
    let layout = try layout(of: entity)
    var row = [SQLValue](repeating: .null, count: layout.places.count)
    for attribute in layout.attributes.values {
      guard let place = attribute.place, case let described = attribute.description,
        !described.isDerived && !described.defaultValue.isNull
      else { continue }
      row[place] = try SQLValue(encoding: described.defaultValue, as: described)
    }
    templates[entity] = (layout, row)
    return (layout, row)
  }

  func layout(of entity: String) throws -> ObjectLayout {
    guard let layout = draftContext.layout(of: entity) else {
      throw GodwitError(.internalBug, "cannot find the table of '\(entity)'")
    }
    return layout
  }

  func mappedRow(_ index: MappingID) throws -> MappedRow {
    if let known = mappedRows[index.number] { return known }
    let made = try program.policy.mappedRow(index, layout: try layout(of: program.mappings[index].destination.name))
    mappedRows[index.number] = made
    return made
  }

  /// The index among mappings that make objects of source objects.
  func index(of mapping: EntityMapping) throws -> MappingID {
    if let index = currentMapping, mappingNames[current].areThose(of: mapping) { return index }
    let names = MappingNames(mapping)
    guard let found = program.mappings.first(where: { names.areThose(of: $0.mapping) }) else {
      let isAdd = mapping.kind == .add
      throw failure(
        isAdd
          ? "mapping '\(mapping.name)' is of type add: it has no source objects"
          : "the step has no mapping '\(mapping.name)'"
            + Spelling.suggestion(for: mapping.name, among: program.mappings.map(\.name)))
    }
    return found.index
  }

  /// Whether an object is of the entity that a mapping makes.
  func isKind(_ object: ManagedObject, of index: MappingID) -> Bool {
    model.isKind(object.entityName, of: program.mappings[index].destination.name)
  }
}
