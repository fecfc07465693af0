import GodwitDisk
import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitStore

/// What all parts of a policy run work with: the step's program, its stores and the statements of the chunk.
final class PolicyStep {
  let program: StepProgram
  let connection: StoreConnection
  let functions: SQLFunctions
  let folder: StepFolder
  let now: Double
  let memory: ByteCount
  /// The mapping of each policy, and its index among those that make objects of source objects.
  let mappings: [EntityMapping]
  let mappingIndexes: [Int?]
  let sourceContext: ObjectContext
  let destinationContext: ObjectContext
  /// Reads objects that are not inserted yet: their files are still the source's.
  let draftContext: ObjectContext
  /// The policy at work.
  var current = 0

  private var statements: [String: SQLStatement] = [:]
  /// Indexes that this process has made sure of.
  private var indexes: Set<String> = []
  private var mappedRows: [MappedRow?]

  init(
    job: MigrationJob, program: StepProgram, connection: StoreConnection, functions: SQLFunctions, folder: StepFolder
  ) {
    (self.program, self.connection, self.functions, self.folder) = (program, connection, functions, folder)
    now = program.facts.now
    memory = job.memory
    mappings = program.resolved.policies.map(\.mapping)
    mappingIndexes = program.resolved.policies.map(\.index)
    mappedRows = program.mappings.map { _ in nil }
    sourceContext = ObjectContext(
      connection: connection, schema: program.sourceSchema, database: StoreConnection.sourceSchema)
    destinationContext = ObjectContext(connection: connection, schema: program.destinationSchema, database: "main")
    draftContext = ObjectContext(connection: connection, schema: program.destinationSchema, database: "main")
    let sourceFiles = SupportFolder(ofStoreAt: job.sourcePath)
    (sourceContext.support, draftContext.support) = (sourceFiles, sourceFiles)
    destinationContext.support = folder.support
  }

  /// The mapping of the policy at work; nil for one of kind add.
  var currentMapping: Int? { mappingIndexes[current] }
  var model: ManagedObjectModel { program.resolved.destinationModel }

  // MARK: Statements

  /// A statement kept for the chunk.
  func cached(_ sql: String) throws -> SQLStatement {
    if let known = statements[sql] { return known }
    let statement = try connection.prepare(sql)
    statements[sql] = statement
    return statement
  }

  /// What messages call the policy at work.
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

  /// Makes an index of a table of ours, or of one under construction, where there is none yet.
  func makeIndex(_ name: String, on columns: String) throws {
    guard indexes.insert(name).inserted else { return }
    try connection.execute("CREATE INDEX IF NOT EXISTS main.\(quoted(name)) ON \(columns)")
  }

  /// Forgets the statements and objects of a chunk.
  func finishChunk() {
    for context in [sourceContext, destinationContext, draftContext] { context.reset() }
    statements = [:]
  }

  /// The same, and what was rolled back.
  func takeBack() {
    finishChunk()
    indexes = []
  }

  // MARK: Entities and mappings

  func failure(_ message: String, try remedy: String = "correct the policy") -> GodwitError {
    GodwitError(.dataWrong, message, remedy: remedy)
  }

  func root(of entity: String) throws -> String {
    guard let root = model.root(of: entity)?.name else {
      throw failure(
        "the destination has no entity '\(entity)'\(Spelling.suggestion(for: entity, among: model.entityNames))")
    }
    return root
  }

  func layout(of entity: String) throws -> ObjectLayout {
    guard let layout = draftContext.layout(of: entity) else {
      throw GodwitError(.internalBug, "cannot find the table of '\(entity)'")
    }
    return layout
  }

  func mappedRow(_ index: Int) throws -> MappedRow {
    if let known = mappedRows[index] { return known }
    let made = try program.policy.mappedRow(index, layout: try layout(of: program.mappings[index].destination.name))
    mappedRows[index] = made
    return made
  }

  /// The index among mappings that make objects of source objects.
  func index(of mapping: EntityMapping) throws -> Int {
    if let index = currentMapping, Self.isSame(mapping, mappings[current]) { return index }
    guard let found = program.mappings.first(where: { Self.isSame(mapping, $0.mapping) }) else {
      let isAdd = mapping.kind == .add
      throw failure(
        isAdd
          ? "mapping '\(mapping.name)' is of type add: it has no source objects"
          : "the step has no mapping '\(mapping.name)'"
            + Spelling.suggestion(for: mapping.name, among: program.mappings.map(\.name)))
    }
    return found.index
  }

  private static func isSame(_ a: EntityMapping, _ b: EntityMapping) -> Bool {
    a.name == b.name && a.sourceEntityName == b.sourceEntityName && a.destinationEntityName == b.destinationEntityName
  }

  /// Whether an object is of the entity that a mapping makes.
  func isKind(_ object: ManagedObject, of index: Int) -> Bool {
    model.isKind(object.entityName, of: program.mappings[index].destination.name)
  }
}
