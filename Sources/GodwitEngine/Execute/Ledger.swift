import Foundation
package import GodwitJob
import GodwitModel
package import GodwitStore

/// The durable state of a job: its digests, the planner's facts, the chunk list and each chunk's outcome.
///
/// Its tables lie in the store under construction, so that a chunk's rows and the entry for them commit in one
/// transaction. The last transaction of the job drops them. Resuming promises that a chunk marked done is never run
/// again, and that any other chunk has left no row behind. A run that begins again after a kill has them as temporary
/// tables.
///
/// - `godwit_ledger`: `version`, and as JSON `identity` (SHA-256 digests of source, models, mappings and manifest),
///   `facts` (the plan's counts and decisions, with `now`), `stamp` (size, time and header of the source and its log),
///   `pace`, `met`, `policies` (their state), and `append` (stamp and digest of the destination, and its triggers)
/// - `godwit_chunk`: a row for each chunk, with its place in the order, its range of keys (half-open) or predicate,
///   counts, and `done` when it is durable
/// - `godwit_nil`: values that became nil, by chunk, mapping and attribute
/// - `godwit_spill`: the marks of spill files
///
/// `StepProgram` makes the tables of single mappings and links:
///
/// - `godwit_unique_<mapping>`, `godwit_identity_<mapping>`: the first source of each object of a `unique-by`; the values
///   as one key
/// - `godwit_survivor_<mapping>`: with `order-by` or `fill-nil`, the order of the objects that become one
/// - `godwit_link_<link>`: assignments to resolve
/// - `godwit_pair_<mapping>`: the associations of a mapping with a policy
package struct Ledger {
  /// The outcome of a chunk.
  package struct Outcome {
    var rows: Int64 = 0
    /// To-one relationships that found several objects and took the first.
    var ambiguousToOne: Int64 = 0
    /// Assignments that a later one overrides.
    package var overridden: Int64 = 0
    /// Values that expressions turned to nil.
    var nils: [NilCount] = []
    /// Objects that break a rule as before, and stay.
    var kept: [KeptInvalid] = []
    /// New objects that became one with an object of the destination.
    var met: [MetCount] = []
  }

  package let connection: StoreConnection
  /// The start of the run and the work done before it, written with each chunk; nil if they are not needed.
  package var pace: MigrationStatus.Pace?

  package init(connection: StoreConnection) { self.connection = connection }

  /// The format of the ledger's tables, and of the rows of an unfinished store.
  static let version = 7

  package static func exists(_ connection: StoreConnection, schema: String = "main") throws -> Bool {
    try connection.integer("SELECT COUNT(*) FROM \(schema).sqlite_master WHERE name = 'godwit_ledger'") == 1
  }

  /// The ledger of the unfinished store in a folder; nil when there is none.
  package static func opened(in folder: String) throws -> Ledger? {
    let path = StepFolder(path: folder).storePath
    guard try WorkFolder.exists(path) else { return nil }
    // Looking never writes. A run may be at work; one that was killed may have left a journal, through which the store
    // is read as it was before.
    var connection = try StoreConnection(path: nil)
    do { try connection.attachShared(path: path) } catch let error as GodwitError where error.code != .stopped {
      // A power cut may leave pages of the first transaction without the first page.
      if try StoreFiles.isUnbegun(path) { return nil }
      // Not while a run holds the store: its journal is not a dead one's.
      connection = try StoreConnection(path: nil)
      try connection.attachSource(try StoreFiles(path: path))
    }
    guard try exists(connection, schema: StoreConnection.sourceSchema) else { return nil }
    let ledger = Ledger(connection: connection)
    try ledger.checkTables(at: path, schema: StoreConnection.sourceSchema)
    return ledger
  }

  /// Makes the tables and writes the data that a resumed run needs. Call inside the transaction that makes the store.
  ///
  /// - Parameter isTemporary: Whether the tables are dropped with the connection.
  package func create(
    identity: JobFingerprint, facts: PlanFacts, chunks: [Chunk], stamp: StoreFiles.Stamp, isTemporary: Bool = false
  ) throws {
    for table in Self.tables { try connection.execute("CREATE \(isTemporary ? "TEMP " : "")TABLE \(table)") }
    try set("version", "\(Self.version)")
    try set("identity", encoded(identity))
    try set("facts", encoded(facts))
    try setStamp(stamp)
    let insert = try connection.prepare(
      "INSERT INTO godwit_chunk (id, pass, stage, name, subject, part, lower, upper, predicate, expected) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
    )
    defer { insert.finalize() }
    for chunk in chunks {
      func optional(_ value: Int64?) -> SQLValue { value.map { .integer($0) } ?? .null }
      let work = StoredWork(chunk.work)
      try insert.run([
        .int(chunk.id), .int(chunk.pass), .text(chunk.phase.rawValue), .text(chunk.name), .int(work.subject),
        .int(work.part), optional(chunk.range.lower), optional(chunk.range.upper),
        optional(work.predicate.map(Int64.init)), .integer(chunk.rows),
      ])
    }
  }

  /// The tables as this version defines them.
  ///
  /// `pass` counts from 1 and is 0 outside passes. `predicate` is NULL for a range of keys; `lower` and `upper` are NULL
  /// where the range is infinite. `subject` and `part` are the numbers of `ChunkWork`. The checksum of a spill file is
  /// unsigned, stored as signed.
  private static let tables = [
    "godwit_ledger (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID",
    """
    godwit_chunk (id INTEGER PRIMARY KEY, pass INTEGER, stage TEXT, name TEXT, subject INTEGER, \
    part INTEGER, lower INTEGER, upper INTEGER, predicate INTEGER, expected INTEGER, done INTEGER NOT NULL DEFAULT 0, \
    rows INTEGER NOT NULL DEFAULT 0, several INTEGER NOT NULL DEFAULT 0, displaced INTEGER NOT NULL DEFAULT 0)
    """,
    "godwit_spill (mapping INTEGER PRIMARY KEY, length INTEGER, checksum INTEGER, pairs INTEGER)", nilTable,
  ]

  /// Refuses a ledger whose tables are not those that a run made: it was damaged, or another program wrote to it.
  ///
  /// - Parameter schema: The database of the connection that has the ledger.
  package func checkTables(at path: String, schema: String = "main") throws {
    for table in Self.tables {
      let name = String(table.prefix { $0 != " " })
      let found = try connection.strings(
        "SELECT sql FROM \(schema).sqlite_master WHERE type = 'table' AND name = ?1", [.text(name)]
      ).first
      if found == "CREATE TABLE \(table)" { continue }
      // Another version may lay out the others otherwise.
      if found != nil, name != "godwit_ledger", try isOfOtherVersion() { continue }
      throw Self.damage(path, "its table '\(name)' \(found == nil ? "is missing" : "has a different definition")")
    }
    guard try !isOfOtherVersion() else { return }
    for (table, columns) in [("godwit_chunk", ["rows", "several", "displaced"]), ("godwit_nil", ["count"])] {
      let known = columns.map { "IFNULL(\($0) BETWEEN 0 AND \(Self.rowsMaximum), 0)" }.joined(separator: " AND ")
      guard try connection.value("SELECT 1 FROM \(schema).\(table) WHERE NOT (\(known)) LIMIT 1") == nil else {
        throw Self.damage(path, "its table '\(table)' has a count that no run has")
      }
    }
  }

  private static func damage(_ path: String, _ problem: String) -> GodwitError {
    GodwitError(
      .dataWrong, "cannot read '\(path)': \(problem)", cause: "it was damaged, or another program wrote to it",
      remedy: "`godwit discard` the job and run again", safe: "the source is untouched")
  }

  private func isOfOtherVersion() throws -> Bool {
    let found = try connection.value("SELECT value FROM godwit_ledger WHERE key = 'version'")
    return found != nil && found != .text("\(Self.version)")
  }

  /// Refuses a ledger whose tables another version of Godwit laid out.
  package func checkVersion() throws {
    // Without the entry the ledger is damaged, which reading the next one reports.
    guard try !isOfOtherVersion() else {
      throw GodwitError(
        .cannotCreate, "cannot resume: another version of Godwit started the job",
        remedy: "resume with that version, or `godwit discard` the job and run again")
    }
  }

  package func identity() throws -> JobFingerprint { try decoded("identity") }
  /// Writes the digest of the source, which a run may learn after it began.
  package func setSource(_ digest: String) throws {
    try set("identity", encoded(identity().withSource(digest)))
  }
  package func facts() throws -> PlanFacts { try decoded("facts") }
  package func stamp() throws -> StoreFiles.Stamp { try decoded("stamp") }
  package func setStamp(_ stamp: StoreFiles.Stamp) throws { try set("stamp", encoded(stamp)) }

  /// All chunks. A damaged ledger may hold any number, and the sum of all rows must be one.
  package func chunks() throws -> [Chunk] {
    var chunks: [Chunk] = []
    try connection.query(
      "SELECT id, pass, stage, name, subject, part, lower, upper, predicate, expected FROM godwit_chunk ORDER BY id"
    ) { row in
      func optional(_ column: Int) -> Int64? { row.isNull(column) ? nil : row.int64(column) }
      let stored = StoredWork(subject: row.int(4), part: row.int(5), predicate: optional(8).map(Int.init))
      guard let phase = ChunkPhase(rawValue: row.string(2) ?? ""), let work = stored.work(of: phase) else {
        throw GodwitError(
          .dataWrong, "cannot read the ledger: unknown stage", remedy: "`godwit discard` the job and run again")
      }
      chunks.append(
        Chunk(
          id: row.int(0), pass: row.int(1), work: work, name: row.string(3) ?? "",
          range: .init(lower: optional(6), upper: optional(7)), rows: min(max(0, row.int64(9)), Self.rowsMaximum)))
      return true
    }
    return chunks
  }

  /// More rows than any store has.
  private static let rowsMaximum: Int64 = 1 << 40

  /// The ids of the chunks that are durable.
  package func done() throws -> Set<Int> {
    var ids: Set<Int> = []
    try connection.query("SELECT id FROM godwit_chunk WHERE done") { row in
      ids.insert(row.int(0))
      return true
    }
    return ids
  }

  /// Whether all chunks are durable, or will be when the running transaction commits.
  package func isComplete() throws -> Bool {
    try connection.value("SELECT 1 FROM godwit_chunk WHERE NOT done LIMIT 1") == nil
  }

  /// Vouches for a chunk. Call inside the transaction that wrote its rows.
  func finish(_ chunk: Chunk, _ outcome: Outcome) throws {
    let pace = pace.map { pace in
      var pace = pace
      pace.committed = Date().timeIntervalSinceReferenceDate
      return pace
    }
    try connection.execute(
      "UPDATE godwit_chunk SET done = 1, rows = ?2, several = ?3, displaced = ?4 WHERE id = ?1",
      [.int(chunk.id), .integer(outcome.rows), .integer(outcome.ambiguousToOne), .integer(outcome.overridden)])
    try addNils(outcome.nils, of: chunk)
    if !outcome.kept.isEmpty { try set("kept", encoded(KeptInvalid.sums(keptInvalid() + outcome.kept))) }
    if !outcome.met.isEmpty { try set("met", encoded(outcome.met)) }
    if let pace { try set("pace", encoded(pace)) }
  }

  /// How fast the last chunks came; nil before the first, and in a ledger of an earlier version.
  package func knownPace() throws -> MigrationStatus.Pace? {
    guard try connection.value("SELECT 1 FROM godwit_ledger WHERE key = 'pace'") != nil else { return nil }
    return try? decoded("pace")
  }

  /// Objects that break a rule as they did in the source.
  package func keptInvalid() throws -> [KeptInvalid] {
    guard try connection.value("SELECT 1 FROM godwit_ledger WHERE key = 'kept'") != nil else { return [] }
    return try decoded("kept")
  }

  /// The new objects that became one with an object of the destination, by mapping.
  package func met() throws -> [MetCount] {
    guard try connection.value("SELECT 1 FROM godwit_ledger WHERE key = 'met'") != nil else { return [] }
    return try decoded("met")
  }

  /// The objects that all chunks made, and the links that they lost.
  package struct Totals {
    package var objects, ambiguousToOne, overridden: Int64
  }

  package func totals() throws -> Totals {
    let row =
      try connection.rows(
        "SELECT CAST(TOTAL(rows) FILTER (WHERE stage IN ('create', 'policy')) AS INTEGER), CAST(TOTAL(several) AS INTEGER), CAST(TOTAL(displaced) AS INTEGER) FROM godwit_chunk"
      ).first ?? []
    func integer(_ index: Int) -> Int64 { if index < row.count, case .integer(let n) = row[index] { n } else { 0 } }
    let met = try met().reduce(0) { $0 + $1.met.objects }
    return Totals(objects: integer(0) - met, ambiguousToOne: integer(1), overridden: integer(2))
  }

  /// The destination objects that each mapping made, by its name.
  package func objectsMade() throws -> [String: Int64] {
    var made: [String: Int64] = [:]
    try connection.query(
      "SELECT name, SUM(rows) FROM godwit_chunk WHERE stage IN ('create', 'policy') GROUP BY name"
    ) { row in
      made[row.string(0) ?? ""] = row.int64(1)
      return true
    }
    for count in try met() { made[count.mapping, default: 0] -= count.met.objects }
    return made
  }

  // MARK: Policies

  /// The recorded state of the policies; nil before the first chunk of one.
  func policyState() throws -> PolicyState? {
    let known = try connection.value("SELECT 1 FROM godwit_ledger WHERE key = 'policies'")
    return known == nil ? nil : try decoded("policies")
  }

  func setPolicyState(_ state: PolicyState) throws { try set("policies", encoded(state)) }

  // MARK: Appending

  /// The recorded mark of the destination that the job appends to.
  package func appendMark() throws -> AppendMark { try decoded("append") }
  package func setAppendMark(_ mark: AppendMark) throws { try set("append", encoded(mark)) }

  // MARK: Spill marks

  func spillMark(mapping: MappingID) throws -> (mark: SpillMark, pairs: Int64)? {
    guard
      let row = try connection.rows(
        "SELECT length, checksum, pairs FROM godwit_spill WHERE mapping = ?1", [.int(mapping.number)]
      ).first,
      case .integer(let length) = row[0], case .integer(let checksum) = row[1], case .integer(let pairs) = row[2]
    else { return nil }
    return (SpillMark(length: length, checksum: UInt64(bitPattern: checksum)), pairs)
  }

  func setSpillMark(_ mark: SpillMark, pairs: Int64, mapping: MappingID) throws {
    try connection.execute(
      "INSERT OR REPLACE INTO godwit_spill (mapping, length, checksum, pairs) VALUES (?1, ?2, ?3, ?4)",
      [.int(mapping.number), .integer(mark.length), .integer(Int64(bitPattern: mark.checksum)), .integer(pairs)])
  }

  // MARK: Removal

  /// Drops all of Godwit's tables. Call inside the last transaction.
  package func drop() throws {
    for (type, names) in [("index", "godwit\\_find\\_%"), ("table", "godwit\\_%")] {
      let found = try connection.strings(
        "SELECT name FROM main.sqlite_master WHERE type = '\(type)' AND name LIKE '\(names)' ESCAPE '\\'")
      for name in found { try connection.execute("DROP \(type) main.\(quoted(name))") }
    }
  }

  // MARK: Values

  private func set(_ key: String, _ value: String) throws {
    try connection.execute(
      "INSERT OR REPLACE INTO godwit_ledger (key, value) VALUES (?1, ?2)", [.text(key), .text(value)])
  }

  private func encoded(_ value: some Encodable) throws -> String {
    String(decoding: try value.sortedJSON(), as: UTF8.self)
  }

  private func decoded<T: Decodable>(_ key: String) throws -> T {
    guard case .text(let bytes)? = try connection.value("SELECT value FROM godwit_ledger WHERE key = ?1", [.text(key)]),
      let value = try? JSONDecoder().decode(T.self, from: Data(bytes))
    else {
      throw GodwitError(
        .dataWrong, "cannot read the ledger: its entry '\(key)' is missing or unreadable",
        remedy: "`godwit discard` the job and run again")
    }
    return value
  }
}
