import GodwitJob
import GodwitModel
import GodwitStore

/// The bytes that a run writes, estimated from the counts.
///
/// | part | estimate |
/// |---|---|
/// | rows | the source's pages that are in use, shared out by rows and sampled width; new columns at 3 bytes a row |
/// | indexes, join tables | the source's are in its pages; each one of the destination's beyond that by its rows |
/// | Godwit's own tables | values of `unique-by`, ranks of `order-by`, assignments to be resolved, chunks |
/// | journal | the pages that the largest chunk changes, and those that move when Godwit's own tables are dropped |
/// | spill files | 10 bytes a pair at most |
/// | merged source | the store that the parts are merged into |
/// | quarantine | a copy of the source without the rejected objects |
/// | sorting | twice the largest index or sorted set of objects, where it exceeds the page cache |
extension Planner {
  private static let pageBytes: Int64 = 4096

  func diskNeed(_ program: StepProgram, external: [ExternalCount], chunks: [Chunk]) throws -> DiskNeed {
    let facts = program.facts
    let rows = try rowBytes(program)
    let indexes = destinationSchema.indexes.map { indexBytes($0, program: program) }
    let relations = relationBytes(program, chunks: chunks)
    let ranks = rankBytes(program)
    var scratch = relations.scratch + ranks.tables + Int64(chunks.count) * 160
    for index in program.mappings.ids where !program.mappings[index].mapping.uniqueBy.isEmpty {
      scratch += facts.mappings[index].rows * (64 + (program.isOrdered(index) ? 0 : indexedValueBytes))
    }
    let spill = program.mappings.ids.filter(program.isStored).reduce(Int64(0)) {
      $0 + facts.mappings[$1].rows * 10 + 4096
    }
    // Every table and index has a page of its own, and the map of pages one in 800.
    let pages = Int64(destinationSchema.tables.count + destinationSchema.indexes.count + 16) * Self.pageBytes
    let inlined = external.reduce(Int64(0)) { $0 + ($1.isInlined ? $1.bytes : 0) }
    let store = (rows + inlined + indexes.reduce(0, +) + relations.joins + scratch) / 100 * 101 + pages
    // A run that begins again after a kill keeps its journal in memory.
    let journal = durability == .restart ? 0 : min(store, journalBytes(program, rows: rows) + scratch)
    var bytes = store + journal + spill
    let copied = external.reduce(Int64(0)) { $0 + ($1.isInlined ? 0 : $1.bytes) }
    if copied > 0, !isSupportLinkable { bytes += copied }
    let files = try Definite.answer { try job.sourceFiles() }
    if files?.type.isAtomic == true { bytes += facts.sourceBytes }
    if try files?.type == .sqlite && files?.hasHotJournal() == true { bytes += facts.sourceBytes }
    if job.quarantine != nil { bytes += facts.sourceBytes }
    bytes += job.mergedBytes
    // XML has text with tags and each value on a line of its own; a binary store has an object for each value.
    if job.destinationType.isAtomic { bytes += store * 3 }
    let largest = (indexes + [relations.largestChunk, ranks.largestSort]).max() ?? 0
    let sorting = largest > job.memory.bytes / 4 ? largest * 2 : 0
    return DiskNeed(destinationBytes: bytes + (existing?.bytes ?? 0), temporaryBytes: sorting)
  }

  // MARK: Rows

  /// Bytes of all rows of the destination's entity tables.
  private func rowBytes(_ program: StepProgram) throws -> Int64 {
    let facts = program.facts
    // A small store takes little room whatever its rows are, so a sample is not worth its cost.
    guard durability == .resumable else { return try usedSourceBytes() * 2 }
    var widths: [String: Double] = [:]
    func width(_ entity: String) throws -> Double {
      if let known = widths[entity] { return known }
      let found = Double(try sampledWidth(of: entity) ?? 64)
      widths[entity] = found
      return found
    }
    var whole = 0.0
    for entity in facts.entities { whole += Double(entity.rows) * (try width(entity.name)) }
    var taken = 0.0
    var added: Int64 = 0
    for mapping in program.mappings {
      let rows = facts.mappings[mapping.index].rows
      guard rows > 0 else { continue }
      taken += Double(rows) * (try width(mapping.source.name))
      let extra =
        destinationSchema.columns(of: mapping.destination.name).count
        - sourceSchema.columns(of: mapping.source.name).count
      // A computed value may be wider than its inputs.
      let computed = mapping.attributes.count { if case .expression = $0.source { true } else { false } }
      added += rows * Int64(max(0, extra) * 3 + computed * 8)
    }
    let share = whole > 0 ? Double(try usedSourceBytes()) * taken / whole : 0
    // The sample is used where the source's pages say little: they hold much else, or the source is not a SQLite store.
    return Int64(min(max(share, taken * 1.1), 4e18)) + added
  }

  /// The source without its free pages.
  private func usedSourceBytes() throws -> Int64 {
    let schema = StoreConnection.sourceSchema
    let free = try connection.integer("PRAGMA \(schema).freelist_count") ?? 0
    let page = try connection.integer("PRAGMA \(schema).page_size") ?? Self.pageBytes
    return max(0, sourceBytes - free * page)
  }

  /// The mean width in bytes of the first rows of an entity's table; nil for an empty table.
  func sampledWidth(of entity: String) throws -> Int64? {
    guard let table = sourceSchema.table(of: entity) else { return nil }
    // The length of a blob is in its row's header; a cast would read all of it, and so would a subquery that selects
    // it.
    let lengths = sourceSchema.columns(of: entity).dropFirst(3).map { column in
      let name = quoted(column.name)
      return
        "(CASE typeof(\(name)) WHEN 'blob' THEN length(\(name)) WHEN 'text' THEN length(CAST(\(name) AS BLOB)) WHEN 'null' THEN 0 ELSE 8 END)"
    }
    let sum = (["16"] + lengths).joinedEvenly(by: " + ")
    return try connection.integer(
      "SELECT CAST(AVG(width) AS INTEGER) FROM (SELECT \(sum) AS width FROM source.\(quoted(table.name)) LIMIT 1000)")
  }

  // MARK: Indexes and links

  private var indexedValueBytes: Int64 { 32 }

  private func indexBytes(_ index: StoreSchema.Index, program: StepProgram) -> Int64 {
    let rows = program.mappings.filter { destinationSchema.table(of: $0.destination.name)?.name == index.table }
      .reduce(Int64(0)) { $0 + program.facts.mappings[$1.index].rows }
    // Key, header and the values: numbers of a foreign key are short, attributes may be text.
    let isModels = index.name.hasPrefix("Z_")
    return rows * (isModels ? 12 + indexedValueBytes : 16)
  }

  /// The bytes that the links of a step take: in join tables, for the time of the run, and by the largest chunk.
  private struct RelationBytes {
    var joins: Int64 = 0
    var scratch: Int64 = 0
    var largestChunk: Int64 = 0
  }

  private func relationBytes(_ program: StepProgram, chunks: [Chunk]) -> RelationBytes {
    var bytes = RelationBytes()
    for chunk in chunks {
      guard case .relate(let number, _) = chunk.work else { continue }
      let link = program.links[number]
      bytes.largestChunk = max(bytes.largestChunk, chunk.rows * 32)
      if link.strategy == .resolved { bytes.scratch += chunk.rows * 40 }
      // A join row takes room in its table, in the table's key and in the index of the other side.
      if case .foreignKey = link.storage { continue }
      bytes.joins += chunk.rows * 60
    }
    return bytes
  }

  /// The bytes of objects that descriptors sort.
  private struct RankBytes {
    /// For the time of the run: of `order-by` of relationships, the owners and the rank of each object.
    var tables: Int64 = 0
    var largestSort: Int64 = 0
  }

  private func rankBytes(_ program: StepProgram) -> RankBytes {
    var bytes = RankBytes()
    func sort(_ rows: Int64, by values: Int) {
      bytes.largestSort = max(bytes.largestSort, rows * (24 + Int64(values) * indexedValueBytes))
    }
    for (mapping, part) in program.order.rules.flatMap(\.sorted) {
      let source = program.mappings[mapping].relationships[part]
      let ranked = source.lookups.reduce(Int64(0)) { $0 + program.facts.mappings[$1].rows }
      bytes.tables += program.facts.mappings[mapping].rows * 12 + ranked * 20
      sort(ranked, by: source.order.count)
    }
    for index in program.mappings.ids where program.isOrdered(index) {
      let mapping = program.mappings[index].mapping
      sort(program.facts.mappings[index].rows, by: mapping.uniqueBy.count + mapping.uniqueOrder.count)
    }
    return bytes
  }

  /// Pages that chunks change after they were written; appended ones need no journal.
  private func journalBytes(_ program: StepProgram, rows: Int64) -> Int64 {
    let total = max(1, program.facts.mappings.reduce(0) { $0 + $1.rows })
    let largest = program.facts.mappings.map { min($0.rows, $0.chunkRows) }.max() ?? 0
    return Int64(Double(rows) / Double(total) * Double(largest) * 1.5) + 64 * Self.pageBytes
  }

  /// Whether external files can be linked: only within one file system.
  private var isSupportLinkable: Bool {
    let destination = FreeSpace.at(job.workPath)
    return job.sourcePaths.allSatisfy { path in
      let source = FreeSpace.at(SupportFolder(ofStoreAt: path).dataPath)
      return source != nil && source?.device == destination?.device
    }
  }
}
