import Foundation
import GodwitJob
import GodwitModel
import GodwitStore

/// The store under construction, as a later run finds it: a crash, or another program, may have changed it.
extension StepRun {
  /// Opens the store under construction, or makes it.
  ///
  /// - Returns: The connection and whether the store is new; nil when the step is done.
  func openStore() throws -> (StoreConnection, made: Bool)? {
    let made = try !WorkFolder.exists(folder.storePath)
    if made { try existing?.copy(to: folder.storePath) }
    let connection = try StoreConnection(path: folder.storePath, cache: job.cacheSize, create: true)
    guard !made, try !Ledger.exists(connection) else { return (connection, made) }
    // Either all is done but the move, or the run died before its first commit.
    let metadata = try Definite.answer {
      try StoreMetadata(reading: connection, schema: "main", path: folder.storePath)
    }
    if let jobs = metadata?.applicationValues[job.madeByKey]?.array?.compactMap(\.string),
      jobs.contains(try job.position.jobDigest ?? identity().digest), !lacksOutcome
    {
      // The store may have been written to since.
      let schema = StoreSchema(model: job.destinationModel)
      let tables = schema.tables.map(\.createStatement) + ["CREATE TABLE Z_PRIMARYKEY"]
      if existing == nil {
        try Self.checkTables(tables, isOwn: false, of: connection, at: folder.storePath)
      }
      try connection.close()
      return nil
    }
    try connection.close()
    for suffix in ["", "-journal"] { try WorkFolder.removeFile(folder.storePath + suffix) }
    // The record of this store must not be taken for that of the next one.
    try journal.update { ($0.outcome, $0.phase) = (nil, .making) }
    try WorkFolder.removeFile(WorkFolder.receiptPath(in: folder.path))
    try existing?.copy(to: folder.storePath)
    return (try StoreConnection(path: folder.storePath, cache: job.cacheSize, create: true), true)
  }

  func configure(_ connection: StoreConnection, isNew: Bool) throws {
    // First: the kind of vacuum is written at once.
    let isResumable = journal.isDurable
    try connection.execute("PRAGMA synchronous = \(isResumable ? "NORMAL" : "OFF")")
    if isNew {
      try connection.execute("PRAGMA page_size = 4096")
      if !isResumable { try connection.execute("PRAGMA journal_mode = MEMORY") }
      try connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    }
    // Pages are only appended, so a rollback journal stays small; a WAL would write everything twice.
    if isResumable { try connection.execute("PRAGMA journal_mode = DELETE") }
    // Darwin leaves bytes in the cache of the drive unless it is told not to; elsewhere this has no effect.
    try connection.execute("PRAGMA fullfsync = ON")
    try connection.execute("PRAGMA secure_delete = OFF")
    try connection.execute("PRAGMA temp_store = FILE")
    // `status` may be reading the ledger when a chunk commits.
    try connection.execute("PRAGMA busy_timeout = 30000")
  }

  /// Checks a source through the connection of the run if that is the only way: a source with a hot journal, whose
  /// content only this connection sees, and a source too small for a thread.
  ///
  /// - Parameter isNew: Whether the run begins.
  func checkSource(_ connection: StoreConnection, isNew: Bool) throws {
    let files = source.files
    guard job.sourceCheck != .none, files.type == .sqlite else { return }
    let isShort = job.position.isFirst && journal.durability.needsNoThread(reading: files)
    guard try isShort || (isNew && files.hasHotJournal()) else { return }
    let found = try connection.complaints(
      about: StoreConnection.sourceSchema, isFull: job.sourceCheck == .full, limit: 1)
    if let complaint = found.first { throw SourceCheck.damage(job.sourcePath, complaint) }
  }

  /// Checks that the store under construction has the tables that its plan needs.
  ///
  /// - Parameters:
  ///   - statements: Those that make the tables.
  ///   - isOwn: Whether this job made them, so that their text must be the same. Core Data writes it otherwise.
  ///   - others: The statements of further tables, which this job made.
  /// - Throws: `.dataWrong` (65) when one is missing or has a different definition.
  static func checkTables(
    _ statements: [String], isOwn: Bool, others: [String] = [], of connection: StoreConnection, at path: String
  ) throws {
    var found: [String: String] = [:]
    try connection.query("SELECT name, sql FROM main.sqlite_master WHERE type = 'table'") { row in
      if let name = row.string(0) { found[name.lowercased()] = row.string(1) }
      return true
    }
    for (statement, isOwn) in statements.map({ ($0, isOwn) }) + others.map({ ($0, true) }) {
      // An index is a program of ours, which `checkPrograms` knows.
      guard statement.hasPrefix("CREATE TABLE") else { continue }
      let name = tableName(statement)
      guard let text = found[name.lowercased()] else { throw refusal(path, "its table '\(name)' is missing") }
      guard !isOwn || text == statement else { throw refusal(path, "table '\(name)' has a different definition") }
    }
  }

  /// Checks that nothing in the store under construction runs code or refuses rows that this job did not make. The
  /// triggers come last.
  ///
  /// - Parameter schema: The schema of a new store; nil for the copy of a store, which keeps its own indexes and views.
  static func checkPrograms(of schema: StoreSchema?, in connection: StoreConnection, at path: String) throws {
    let known = Set(schema?.indexes.map(\.sql) ?? [])
    try connection.query("SELECT type, name, sql FROM main.sqlite_master WHERE type <> 'table' AND sql NOT NULL") {
      row in
      let (type, name, sql) = (row.string(0) ?? "", row.string(1) ?? "", row.string(2) ?? "")
      let isOurs = type == "index" && (known.contains(sql) || name.hasPrefix("godwit_"))
      guard type == "trigger" || schema != nil && !isOurs else { return true }
      throw refusal(path, "the run did not make its \(type) '\(name)'")
    }
  }

  private static func refusal(_ path: String, _ why: String) -> GodwitError {
    GodwitError(
      .dataWrong, "cannot go on with '\(path)': \(why)", cause: "it was damaged, or another program wrote to it",
      remedy: "`godwit discard` the job and run again", safe: "the source is untouched")
  }

  /// The name in `CREATE TABLE NAME (…`.
  static func tableName(_ statement: String) -> String {
    let rest = statement.dropFirst("CREATE TABLE ".count)
    guard rest.first == "\"" else { return String(rest.prefix { $0 != " " && $0 != "(" }) }
    return String(rest.dropFirst().prefix { $0 != "\"" })
  }

  /// Refuses to go on when the destination is not what the run began with.
  func checkExisting(facts: PlanFacts, ledger: Ledger) throws {
    switch (existing, facts.highestDestinationKeys) {
    case (nil, nil): return
    case (nil, .some):
      throw GodwitError(
        .cannotCreate,
        "cannot resume '\(job.name)': the destination it appends to no longer exists, '\(job.destinationPath)'",
        remedy: "put it back, or `godwit discard` the job and run again")
    case (.some, nil):
      throw GodwitError(
        .cannotCreate, "cannot resume '\(job.name)': '\(job.destinationPath)' was created during the run",
        remedy: "move it away to resume, or `godwit discard` the job and run again to append to it")
    case (let existing?, .some):
      var mark = try ledger.appendMark()
      let stamp = try existing.files.stamp()
      guard mark.stamp != stamp else { return }
      guard try existing.files.contentDigest() == mark.digest else {
        throw ExistingDestination.changed(job.destinationPath)
      }
      mark.stamp = stamp
      try ledger.setAppendMark(mark)
    }
  }
}
