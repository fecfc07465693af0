import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// The two stores of a comparison, open for reading, and the mappings between them.
///
/// Every part of a verification holds it. It finds nothing: it only reads. Data that is too large for memory goes to
/// temporary tables in `scratch`.
final class ComparedStores {
  /// The name under which each of the two connections has its store.
  static let attached = StoreConnection.sourceSchema

  let job: MigrationJob
  let source: StoreConnection
  let destination: StoreConnection
  /// Holds nothing but temporary tables, in a file that SQLite removes.
  let scratch: StoreConnection
  /// Held by a thread that looks up keys in it, while several do.
  let scratchTurn: NSLock
  let sourceSchema: StoreSchema
  let destinationSchema: StoreSchema
  let mappings: [VerifiedMapping]
  let objects: ObjectContext
  let fetches = FetchedObjects()
  /// Destination entity by `Z_ENT`.
  let entityNames: [Int64: String]
  /// For a destination that several jobs made: which part is this one's.
  let appended: AppendedPart?
  /// For a store that was migrated in place: the one that it was made of.
  let original: PreMigrationStore?
  /// Whether rows are compared in place and relationships without a replay where both can be. Never for the findings'
  /// sake: they are the same without.
  let usesShortcuts: Bool
  /// Which objects are looked at; nil for all.
  let sample: KeySample?
  /// The value of `now()`.
  let moment: JobClock
  var now: Double { moment.now }
  private var statements: [ObjectIdentifier: [String: SQLStatement]] = [:]
  private var layouts: [String: VerifiedLayout] = [:]
  /// For single rows of the destination, by table.
  private var readers: [String: RowReader] = [:]

  /// - Parameters:
  ///   - part: The part of the destination that the job made; nil for all of it.
  ///   - path: A copy of the source without the objects in quarantine; nil for the source itself.
  init(
    _ job: MigrationJob, moment: JobClock, part: AppendedPart? = nil, original: PreMigrationStore? = nil,
    usesShortcuts: Bool = true, sample: KeySample? = nil, readingSourceAt path: String? = nil
  ) throws {
    let lowered = try job.loweringPairs()
    (self.job, self.moment, self.sample) = (lowered, moment, sample)
    self.usesShortcuts = usesShortcuts
    self.original = original
    appended = part
    mappings = try VerifiedMapping.all(of: lowered, at: moment, earlier: appended?.earlierMappings(lowered) ?? [])
    let cache = ByteCount(bytes: max(job.memory.bytes / 8, 1 << 20))
    source = try .openStore(readingAt: path ?? job.sourcePath, cache: cache, model: job.sourceModel)
    destination = try .openStore(
      readingAt: job.destinationPath, cache: cache, model: job.destinationModel, purpose: .comparison)
    scratch = try StoreConnection(path: nil, cache: .mebibytes(1))
    scratchTurn = NSLock()
    for connection in [source, destination, scratch] { try connection.execute("PRAGMA temp_store = FILE") }
    sourceSchema = try StoreSchema(model: lowered.sourceModel, probing: source)
    // A store that was there before may be numbered as an old version of Core Data did.
    destinationSchema =
      appended?.foundStore == true
      ? try StoreSchema(model: job.destinationModel, probing: destination)
      : try job.destinationSchema(from: sourceSchema)
    entityNames = Dictionary(destinationSchema.entityNumbers.map { (Int64($1), $0) }) { first, _ in first }
    objects = ObjectContext(connection: source, schema: sourceSchema, database: Self.attached)
    for folder in [job.sourceSupport, SupportFolder(ofStoreAt: job.destinationPath)] { try folder.refuseLinks() }
    objects.support = job.sourceSupport
    objects.missingFilesAreNil = job.missingFilesAreNil
    objects.leavesLargeValues = true
    try scratch.execute("CREATE TEMP TABLE probe (x)")
    try scratch.execute("PRAGMA temp.cache_size = -\(max(job.memory.bytes / 8, 1 << 20) / 1024)")
  }

  /// The same stores, read by another thread.
  init(reading source: StoreConnection, _ destination: StoreConnection, as other: ComparedStores) {
    (self.source, self.destination, scratch) = (source, destination, other.scratch)
    scratchTurn = other.scratchTurn
    (job, moment, sample, original, appended) = (other.job, other.moment, other.sample, other.original, other.appended)
    (usesShortcuts, mappings, entityNames) = (other.usesShortcuts, other.mappings, other.entityNames)
    (sourceSchema, destinationSchema) = (other.sourceSchema, other.destinationSchema)
    objects = ObjectContext(connection: source, schema: sourceSchema, database: Self.attached)
    objects.support = job.sourceSupport
    objects.missingFilesAreNil = job.missingFilesAreNil
    objects.leavesLargeValues = true
  }

  /// Calls for an end of long statements on all connections.
  func whileRunning(stopIf isDue: @escaping () -> Bool) {
    for connection in [source, destination, scratch] { connection.whileRunning(stopIf: isDue) }
  }

  var sourceFolder: SupportFolder { job.sourceSupport }
  var destinationFolder: SupportFolder { SupportFolder(ofStoreAt: job.destinationPath) }

  /// Evaluates filters and orders with objects of the source.
  var filterEvaluator: ExpressionEvaluator {
    ExpressionEvaluator(now: now, role: .filter, host: SourceHost(context: objects, now: now, fetches: fetches))
  }

  // MARK: Statements

  /// A cached statement for many runs. Not for one that is still being stepped at the next request.
  func cached(_ sql: String, on connection: StoreConnection) throws -> SQLStatement {
    try connection.prepare(sql, keptIn: &statements[ObjectIdentifier(connection), default: [:]])
  }

  /// The first row of a cached statement; nil without rows.
  func row(_ sql: String, _ arguments: [SQLValue], on connection: StoreConnection) throws -> [SQLValue]? {
    try cached(sql, on: connection).firstRow(arguments)
  }

  /// A row of a destination table by its key; nil if it is missing.
  func destinationRow(_ key: Int64, of entity: String) throws -> StoredRow? {
    let table = try destinationTable(entity)
    let reader =
      try readers[table.name]
      ?? RowReader(
        destination, database: Self.attached, table: table.name, columns: table.columns.map { .init(name: $0.name) })
    readers[table.name] = reader
    return try reader.row(key)
  }

  func integer(_ sql: String, _ arguments: [SQLValue], on connection: StoreConnection) throws -> Int64? {
    if case .integer(let value)? = try row(sql, arguments, on: connection)?.first { value } else { nil }
  }

  /// Ends the statements that are kept.
  func dropStatements() { (statements, readers) = ([:], [:]) }

  // MARK: Tables

  /// A table of either store, by its name there.
  func table(_ name: String) -> String { "\(Self.attached).\(StoreSchema.identifier(name))" }

  func destinationTable(_ entity: String) throws -> StoreSchema.EntityTable {
    guard let table = destinationSchema.table(of: entity) else {
      throw GodwitError(.internalBug, "cannot find the table of '\(entity)'")
    }
    return table
  }

  func sourceTable(_ entity: String) throws -> StoreSchema.EntityTable {
    guard let table = sourceSchema.table(of: entity) else {
      throw GodwitError(.internalBug, "cannot find the table of '\(entity)'")
    }
    return table
  }

  /// A cursor on the rows of an entity's table in the source, and the object that each is.
  func sourceObjects(of entity: String) throws -> CursorObject? {
    guard let table = objects.table(of: entity), let number = sourceSchema.number(of: entity),
      let layout = table.layouts[Int64(number)]
    else { return nil }
    let cursor = try RowCursor(source, database: Self.attached, table: table.table.name, columns: table.selected)
    return CursorObject(context: objects, layout: layout, cursor: cursor)
  }

  /// The places of an entity's properties in the rows of the destination.
  func layout(of entity: String) throws -> VerifiedLayout {
    if let known = layouts[entity] { return known }
    let table = try destinationTable(entity)
    let names = table.columns.map(\.name)
    let own = Set(destinationSchema.columns(of: entity).map(\.name))
    var layout = VerifiedLayout(entity: entity, attributes: [], others: [])
    layout.attributes = job.destinationModel.attributes(of: entity).compactMap { attribute in
      destinationSchema.column(of: attribute.name, in: entity).flatMap { names.firstIndex(of: $0) }
        .map { (attribute, $0) }
    }
    layout.others = names.enumerated().filter { !own.contains($0.element) }.map { ($0.element, $0.offset) }
    layouts[entity] = layout
    return layout
  }

  // MARK: Conditions

  /// The condition that a row with the number `column` is an object of the entity or a subentity, as a term of others.
  func isKind(_ entity: String, _ column: String, in schema: StoreSchema) -> String {
    schema.fillsTable(entity) ? "TRUE" : "\(column) IN (\(numbers(entity, in: schema)))"
  }

  /// The numbers of an entity and its subentities, for `Z_ENT IN (…)`.
  func numbers(_ entity: String, in schema: StoreSchema) -> String {
    schema.model.family(of: entity).compactMap { schema.number(of: $0.name) }.map(String.init).joined(separator: ", ")
  }

  /// The keys of the job's objects in a table.
  func keys(of root: String) -> AppendedPart.Keys { appended?.keys(of: root) ?? .init() }

  /// A further condition, with its AND, that an object is one of the job's; empty when every object is.
  func own(_ key: String, _ entity: String) -> String {
    let range = range(of: entity)
    return range == .init() ? "" : " AND \(key) BETWEEN \(range.first) AND \(range.last)"
  }

  /// The same for a row of the join table `j`: none of its ends is younger than the job, and one is the job's.
  func ownRows(_ from: String, _ entity: String, _ to: String, _ other: String) -> String {
    guard appended != nil else { return "" }
    let (a, b) = (range(of: entity), range(of: other))
    return
      " AND j.\(from) <= \(a.last) AND j.\(to) <= \(b.last) AND (j.\(from) >= \(a.first) OR j.\(to) >= \(b.first))"
  }

  private func range(of entity: String) -> AppendedPart.Keys {
    keys(of: job.destinationModel.root(of: entity)?.name ?? entity)
  }

  // MARK: Policies

  /// The objects that policies made and the links of these objects are known to the policies alone.
  ///
  /// A policy cannot change an object of a mapping without a policy, and cannot link two of them. So everything between
  /// those objects is proved as usual.
  var hasPolicies: Bool {
    job.mappingModels.contains { model in
      model.entityMappings.contains { mapping in mapping.policyName.map { job.policies[$0] != nil } == true }
    }
  }
}
