import CSQLite
import Foundation
package import GodwitModel

extension StoreConnection {
  /// Attaches a store as `source` so that nothing of it changes and no file appears beside it.
  ///
  /// | beside the store | how it is attached |
  /// |---|---|
  /// | nothing, or an empty `-wal` | `immutable=1` |
  /// | a `-wal` with content | by `UnwritingFileSystem`, in exclusive locking mode, which keeps the WAL index in memory |
  /// | a hot `-journal` | without a work folder as the journal would leave it: see `RolledBackStore` |
  /// | the same, with a work folder | a copy, on which SQLite rolls back |
  /// | an XML or binary store | its converted form: see `attachConverted` |
  ///
  /// None of these takes a lock: compare `StoreFiles.stamp` to notice that another process writes.
  /// Exclusive locking mode is the default for databases attached later; the main one is set back.
  ///
  /// - Parameters:
  ///   - cache: The page cache of the source, beside the main database's own.
  ///   - workFolder: An existing folder for the copy, which stays there (`source-copy.sqlite`);
  ///     nil for a temporary one that is gone when the connection closes.
  ///   - model: The model of the store; only an atomic store needs it.
  ///   - checkpoint: Called now and then while an atomic store is converted; an error that it throws ends the conversion.
  /// - Throws: SQLite's errors as `StoreConnection` maps them; `.inputOutput` when copying fails.
  package func attachSource(
    _ files: StoreFiles, cache: ByteCount = .mebibytes(2), workFolder: String? = nil,
    model: ManagedObjectModel? = nil, purpose: AtomicStoreConversion.Purpose = .source,
    checkpoint: () throws -> Void = {}
  ) throws {
    try attaching(files.givenPath, at: files.path) {
      if files.type.isAtomic {
        guard let model else {
          throw GodwitError(
            .internalBug, "cannot read '\(files.givenPath)': \(files.type.nounWithArticle) needs its model")
        }
        let conversion = AtomicStoreConversion(files: files, model: model.withoutPairs, purpose: purpose)
        try attachConverted(conversion, cache: cache, workFolder: workFolder, checkpoint: checkpoint)
      } else if try files.hasHotJournal() {
        if workFolder == nil, let uri = try RolledBackStore.uri(of: files) {
          try attach(uri)
        } else {
          try attachCopy(of: files, workFolder: workFolder)
        }
      } else if try files.hasWAL(), let uri = UnwritingFileSystem.uri(path: files.path) {
        // SQLite would say that the store is missing.
        _ = try ReadableFile(path: files.walPath, name: files.walPath)
        // The mode must be the default at the moment of ATTACH: later would be too late for the WAL index.
        try execute("PRAGMA locking_mode = EXCLUSIVE")
        defer { try? execute("PRAGMA main.locking_mode = NORMAL") }
        try attach(uri)
      } else {
        let uri = StoreFiles.uri(path: files.path, query: "mode=ro&immutable=1")
        try attach(uri)
        sourceURI = uri
      }
      sourcePath = files.givenPath
      standInForCollations()
      let kib = max(64, cache.bytes / 1024)
      try execute("PRAGMA \(Self.sourceSchema).cache_size = -\(kib)")
    }
  }

  /// Runs what attaches a file. SQLite names the main database in its errors, and has one code for a file that is
  /// missing and for one that it could not open.
  ///
  /// - Parameters:
  ///   - given: The file's name in messages.
  ///   - real: Its path.
  package func attaching<T>(_ given: String, at real: String, _ body: () throws -> T) throws -> T {
    do { return try body() } catch var error as GodwitError {
      // The file concerned is the attached one, unless the error says where it is.
      if error.context == nil { error.message = error.message.replacing("'\(path)'", with: "'\(given)'") }
      guard error.code == .missingInput else { throw error }
      let code = sqlite3_system_errno(handle)
      guard FileStatus(following: real) != nil || errno != ENOENT else { throw error }
      throw GodwitError.reading(storeAt: given, [0, ENOENT].contains(code) ? EIO : code)
    }
  }

  /// Attaches a store of our own that another process may be writing: read-only, with SQLite's ordinary
  /// locks, waiting up to five seconds for a commit to end.
  ///
  /// - Throws: SQLite's errors as `StoreConnection` maps them; `.permission` when a killed writer left a
  ///   journal that must be rolled back first.
  package func attachShared(path given: String) throws {
    try execute("PRAGMA busy_timeout = 5000")
    let path = URL(filePath: given).standardizedFileURL.path
    sourcePath = given
    // SQLite would wait for data from a pipe.
    for suffix in ["", "-wal", "-journal"] { try StoreFiles.refuseSpecialFile(path + suffix) }
    try attaching(given, at: path) { try attach(StoreFiles.uri(path: path, query: "mode=ro")) }
  }

  /// Attaches a store that another connection of this process writes, without locks and without looking for changes:
  /// the rows read must not change. Attach between two transactions.
  ///
  /// - Parameter cache: The page cache of the store, beside the main database's own.
  package func attachUnlocked(path given: String, cache: ByteCount) throws {
    let path = URL(filePath: given).standardizedFileURL.path
    sourcePath = given
    let uri = StoreFiles.uri(path: path, query: "mode=ro&immutable=1")
    try attaching(given, at: path) { try attach(uri) }
    sourceURI = uri
    standInForCollations()
    try execute("PRAGMA \(Self.sourceSchema).cache_size = -\(max(64, cache.bytes / 1024))")
  }

  /// Another connection with the same store attached as `source`, for a second thread; nil if the attached store is not
  /// an unchanging file.
  package func anotherReader(cache: ByteCount) throws -> StoreConnection? {
    guard let sourceURI else { return nil }
    let reader = try StoreConnection(path: nil, cache: .init(bytes: 256 << 10))
    let name = sourcePath ?? path
    try reader.attaching(name, at: name) { try reader.attach(sourceURI) }
    reader.sourcePath = sourcePath
    try reader.execute("PRAGMA \(Self.sourceSchema).cache_size = -\(max(64, cache.bytes / 1024))")
    try reader.showPairs(as: self)
    return reader
  }

  func attach(_ uri: String) throws {
    do {
      try execute("ATTACH ?1 AS \(Self.sourceSchema)", [.text(uri)])
    } catch let error as GodwitError where error.refusal == .textEncoding {
      let isMain = try value("PRAGMA main.encoding") != .text("UTF-8")
      throw GodwitError(
        .dataWrong,
        "cannot read store '\(path)': expected text in UTF-8, as Core Data writes it, found UTF-16",
        context: isMain ? path : nil,
        remedy: "rebuild the file in UTF-8: `sqlite3 OLD .dump | sqlite3 NEW`")
    }
    do {
      // The first read opens the WAL and fails if the file is not a database.
      _ = try value("SELECT count(*) FROM \(Self.sourceSchema).sqlite_master")
    } catch {
      try? execute("DETACH \(Self.sourceSchema)")
      throw error
    }
  }

  /// Attaches a store without objects as `source`, held in memory, in place of a store of its model.
  package func attachEmptySource(_ schema: StoreSchema) throws {
    let made = try StoreConnection(path: nil)
    defer { try? made.close() }
    try EmptyStore.createTables(of: schema, on: made)
    try execute("ATTACH ':memory:' AS \(Self.sourceSchema)")
    try made.withHandle { made in
      var size: sqlite3_int64 = 0
      guard let bytes = sqlite3_serialize(made, "main", &size, 0) else {
        throw GodwitError(.inputOutput, "cannot hold an empty store in memory: out of memory")
      }
      let flags = UInt32(SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY)
      let code = withHandle { sqlite3_deserialize($0, Self.sourceSchema, bytes, size, size, flags) }
      guard code == SQLITE_OK else { throw lastError(code, sql: nil) }
    }
  }

  private func attachCopy(of files: StoreFiles, workFolder: String?) throws {
    // The files stay readable through the open connection after their names are gone.
    let temporary = workFolder == nil ? try ScratchFolder() : nil
    defer { withExtendedLifetime(temporary) {} }
    let folder = workFolder ?? temporary?.path ?? ""
    let copy = folder + "/source-copy.sqlite"
    try files.copy(to: copy)
    // The store may have been another one when it was looked at.
    try StoreFiles.refuseSuperJournal(beside: copy, named: files.givenPath)
    // The first read rolls the journal back. The copy is not written after that.
    try attach(StoreFiles.uri(path: copy, query: "mode=rw"))
  }

  /// Checks that the source has the tables of a Core Data store.
  ///
  /// - Throws: `.dataWrong` naming the table, or the column of `Z_PRIMARYKEY`, that is missing.
  package func checkCoreDataTables(path: String) throws {
    for table in ["Z_METADATA", "Z_PRIMARYKEY"] {
      guard try hasPlainTable(table, schema: Self.sourceSchema, path: path) else {
        throw GodwitError(
          .dataWrong,
          "cannot read store '\(path)': expected a Core Data store, found a SQLite file without table '\(table)'",
          remedy: "if it was one, " + GodwitError.damageRemedy)
      }
    }
    let columns = try columnNames(of: "Z_PRIMARYKEY", in: Self.sourceSchema)
    for column in ["Z_ENT", "Z_NAME", "Z_SUPER", "Z_MAX"] where !columns.contains(column) {
      throw GodwitError(
        .dataWrong, "cannot read store '\(path)': column '\(column)' of table 'Z_PRIMARYKEY' is missing",
        remedy: GodwitError.damageRemedy)
    }
  }

  /// The names of a table's columns, in order; none if the table is missing.
  func columnNames(of table: String, in database: String) throws -> [String] {
    try strings("PRAGMA \(StoreSchema.identifier(database)).table_info(\(StoreSchema.identifier(table)))", column: 1)
  }

  /// Whether a table with rows of its own has the name, in any case.
  ///
  /// - Throws: `.dataWrong` when a view or a virtual table has it: a query on it may run for ever.
  func hasPlainTable(_ name: String, schema: String, path: String) throws -> Bool {
    let row = try rows(
      "SELECT type, rootpage > 0 FROM \(StoreSchema.identifier(schema)).sqlite_master WHERE type IN ('table', 'view') AND name = ?1 COLLATE NOCASE",
      [.text(name)]
    ).first
    guard let row else { return false }
    guard row[0] == .text("table"), row[1] == .integer(1) else {
      throw GodwitError(
        .dataWrong,
        "cannot read store '\(path)': expected the table '\(name)', found \(row[0] == .text("view") ? "a view" : "a virtual table")",
        remedy: "do not open this file with any tool if you do not know where it comes from")
    }
    return true
  }

  /// A connection to memory with a Core Data store attached as `source`.
  ///
  /// - Parameter model: The model of the store; only an atomic store needs it.
  /// - Throws: as `StoreFiles.init`, `attachSource` and `checkCoreDataTables`.
  package static func openStore(
    readingAt path: String, cache: ByteCount = .mebibytes(2), workFolder: String? = nil,
    model: ManagedObjectModel? = nil, purpose: AtomicStoreConversion.Purpose = .source,
    checkpoint: () throws -> Void = {}
  ) throws -> StoreConnection {
    let files = try StoreFiles(path: path)
    let connection = try StoreConnection(path: nil, cache: .mebibytes(1))
    try connection.attachSource(
      files, cache: cache, workFolder: workFolder, model: model, purpose: purpose, checkpoint: checkpoint)
    try connection.checkCoreDataTables(path: path)
    return connection
  }
}
