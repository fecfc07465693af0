package import GodwitModel

/// A finished store as its receipt describes it. The run that writes a receipt and the check that reads it years later
/// share this code: they must count the same.
package struct ReceiptedStore {
  package let metadata: StoreMetadata
  private let path: String
  private let files: ExternalFiles
  private var schema: StoreSchema
  private let connection: StoreConnection
  /// The name under which the connection has the store.
  private let database: String
  private let budget: ByteCount
  private let readers: Int

  /// - Parameters:
  ///   - destination: Where the store will be; nil for one that is in its place.
  ///   - budget: The memory of the process.
  ///   - readers: The threads that read it.
  ///   - checkpoint: Called while an atomic store is converted; an error that it throws ends the conversion.
  /// - Throws: as `StoreConnection.openStore`, `StoreMetadata.init(reading:path:)` and `StoreSchema.init(model:probing:)`.
  package init(
    path: String, becoming destination: String? = nil, model: ManagedObjectModel, budget: ByteCount = .mebibytes(64),
    readers: Int = ReaderPool.processors, checkpoint: () throws -> Void = {}
  ) throws {
    (self.budget, self.readers) = (budget, readers)
    for store in [path, destination].compactMap(\.self) { try SupportFolder(ofStoreAt: store).refuseLinks() }
    files = ExternalFiles(ofStoreAt: path, becoming: destination)
    connection = try StoreConnection.openStore(
      readingAt: path, cache: .init(bytes: max(budget.bytes / 8, 1 << 20)), model: model, purpose: .comparison,
      checkpoint: checkpoint)
    // The metadata of the file, because the converted form of an atomic store has metadata of its own.
    metadata =
      try StoreFiles(path: path).type == .sqlite
      ? StoreMetadata(reading: connection, path: path) : StoreMetadata(readingStoreAt: path)
    schema = try StoreSchema(model: model, probing: connection)
    self.path = path
    database = StoreConnection.sourceSchema
  }

  /// A store whose last transaction is not committed yet, seen through the connection that fills it.
  ///
  /// - Parameter metadata: The metadata of the store.
  package init(
    filledBy connection: StoreConnection, path: String, becoming destination: String, model: ManagedObjectModel,
    metadata: StoreMetadata
  ) throws {
    (self.connection, self.path, self.metadata) = (connection, path, metadata)
    // Other connections do not see uncommitted data.
    (budget, readers) = (.mebibytes(64), 1)
    files = ExternalFiles(ofStoreAt: path, becoming: destination)
    database = "main"
    schema = try StoreSchema(model: model, probing: connection, schema: database)
  }

  /// Interrupts SQLite when `isDue` returns true.
  package func whileRunning(stopIf isDue: @escaping () -> Bool) { connection.whileRunning(stopIf: isDue) }

  /// The size of the file.
  package func byteCount() throws -> Int64 { try StoreFiles(path: path).size }

  /// Reads every object and every link of the store once, on all processors.
  ///
  /// - Parameters:
  ///   - isInPieces: Whether all rows are read as those with large values are.
  ///   - check: Called every few thousand rows; an error that it throws ends the reading.
  package func checksums(
    limits: StoreChecksums.Limits? = nil, inPieces isInPieces: Bool = false, check: @escaping () throws -> Void = {}
  ) throws -> StoreChecksums {
    try read(limits: limits, inPieces: isInPieces, complaints: nil, check: check).sums
  }

  /// The checksums, and the findings of SQLite's quick check on another thread, at most `limit` lines.
  package func checked(
    limits: StoreChecksums.Limits, complaints limit: Int, check: @escaping () throws -> Void
  ) throws -> (sums: StoreChecksums, complaints: [String]) {
    try read(limits: limits, inPieces: false, complaints: limit, check: check)
  }

  private enum Work {
    case check(limit: Int)
    case part(StoreChecksums.Part)
  }

  private enum Finding {
    case complaints([String])
    case sums(StoreChecksums)
  }

  private func read(
    limits: StoreChecksums.Limits?, inPieces isInPieces: Bool, complaints: Int?, check: @escaping () throws -> Void
  ) throws -> (sums: StoreChecksums, complaints: [String]) {
    let parts = try StoreChecksums.parts(of: connection, database: database, schema: schema)
    let work = (complaints.map { [Work.check(limit: $0)] } ?? []) + parts.map(Work.part)
    let found = try ReaderPool(connection, budget: budget, readers: readers).map(
      work, isWorthThreads: parts.count > schema.tables.count + schema.joinTables.count
    ) { [connection] reader in
      // `check` is called on the caller's thread only. When it stops the reading, the other threads finish their parts.
      (connection: reader, check: reader === connection ? check : {})
    } _: { [database, schema, files] reader, work in
      switch work {
      case .check(let limit):
        return Finding.complaints(try reader.connection.complaints(about: database, isFull: false, limit: limit))
      case .part(let part):
        return .sums(
          try StoreChecksums(
            of: part, on: reader.connection, database: database, schema: schema, support: files, limits: limits,
            inPieces: isInPieces, check: reader.check))
      }
    }
    var (sums, lines): ([StoreChecksums], [String]) = ([], [])
    for finding in found {
      switch finding {
      case .complaints(let found): lines = found
      case .sums(let part): sums.append(part)
      }
    }
    return (StoreChecksums(sums), lines)
  }

  /// A store that another connection of this process has filled. It must not change while it is read. A new store gets its
  /// metadata later, so only its checksums can be asked for.
  ///
  /// - Parameters:
  ///   - budget: The memory of the process.
  ///   - readers: The threads that read it.
  package init(
    filledAt path: String, becoming destination: String, model: ManagedObjectModel, budget: ByteCount, readers: Int
  ) throws {
    connection = try StoreConnection(path: nil, cache: .init(bytes: 256 << 10))
    try connection.attachUnlocked(path: path, cache: .init(bytes: max(budget.bytes / 16, 1 << 20)))
    metadata = StoreMetadata(model: model)
    files = ExternalFiles(ofStoreAt: path, becoming: destination)
    schema = try StoreSchema(model: model, probing: connection)
    (self.path, self.budget, self.readers) = (path, budget, readers)
    database = StoreConnection.sourceSchema
  }

  /// The highest key in the store and in `Z_MAX`, by root entity.
  package func highestKeys() throws -> [String: Int64] {
    var keys = try counters()
    for table in schema.tables {
      let highest = try connection.integer("SELECT MAX(Z_PK) FROM \(database).\(quoted(table.name))")
      keys[table.rootEntityName] = max(keys[table.rootEntityName] ?? 0, highest ?? 0)
    }
    return keys
  }

  /// `Z_MAX` by root entity, the last key that was given out; 0 where it is not set.
  package func counters() throws -> [String: Int64] {
    var counters: [String: Int64] = [:]
    for table in schema.tables {
      let number = schema.number(of: table.rootEntityName).map(Int64.init) ?? 0
      let counter = try connection.integer(
        "SELECT Z_MAX FROM \(database).Z_PRIMARYKEY WHERE Z_ENT = ?1", [.integer(number)])
      counters[table.rootEntityName] = counter ?? 0
    }
    return counters
  }

  /// Pairs of entities whose names in `Z_PRIMARYKEY` were exchanged, of which one has a table to itself.
  ///
  /// Rows of such a table are its objects whatever number they have, so that their checksums do not tell. All of them
  /// have the number that now has the name of the other entity, and no row of the other entity has that number.
  package func exchangedNames() throws -> [(String, String)] {
    var pairs: [(String, String)] = []
    let counters = try counters()
    for table in schema.tables where schema.fillsTable(table.rootEntityName) {
      let entity = table.rootEntityName
      let row =
        try connection.rows(
          "SELECT MIN(Z_ENT), MAX(Z_ENT), MAX(Z_PK) FROM \(database).\(quoted(table.name))"
        ).first ?? []
      guard row.count == 3, case .integer(let found) = row[0], row[1] == row[0], case .integer(let highest) = row[2],
        let number = schema.number(of: entity), found != Int64(number),
        let other = schema.entityNumbers.first(where: { Int64($0.value) == found })?.key,
        let place = schema.table(of: other), !pairs.contains(where: { $0 == (other, entity) })
      else { continue }
      func count(_ number: Int64) throws -> Int64 {
        try connection.integer(
          "SELECT COUNT(*) FROM \(database).\(quoted(place.name)) WHERE Z_ENT = ?1", [.integer(number)]) ?? 0
      }
      // Without rows of the other entity, the exchanged counters tell.
      guard try count(found) == 0, try count(Int64(number)) > 0 || counters[entity] ?? 0 < highest else { continue }
      pairs.append((entity, other))
    }
    return pairs
  }

  /// Whether two entities are of one hierarchy.
  package func areInOneTable(_ one: String, _ other: String) -> Bool {
    schema.table(of: one) == schema.table(of: other)
  }

  /// The store as it is with the names of two entities exchanged in `Z_PRIMARYKEY`.
  package func exchangingNames(_ pairs: [(String, String)]) -> ReceiptedStore {
    var store = self
    for (one, other) in pairs { store.schema.exchangeNumbers(one, other) }
    return store
  }

  /// The facts in a receipt about the store as a whole.
  package struct Facts {
    package var metadata: StoreMetadata
    package var highestKeys: [String: Int64]
    package var historyTransactions: Int64
  }

  package func facts() throws -> Facts {
    Facts(metadata: metadata, highestKeys: try highestKeys(), historyTransactions: try historyTransactions())
  }

  /// Rows and values that no model names.
  package func foreignContent() throws -> [UnmodelledContent.Finding] {
    try schema.foreignContent.findings(on: connection, in: database)
  }

  /// Transactions in the persistent history; 0 without its tables.
  package func historyTransactions() throws -> Int64 {
    let isThere = try connection.integer(
      "SELECT COUNT(*) FROM \(database).sqlite_master WHERE type = 'table' AND name = 'ATRANSACTION'")
    guard isThere == 1 else { return 0 }
    return try connection.integer("SELECT COUNT(*) FROM \(database).ATRANSACTION") ?? 0
  }

  /// The digest of each value of a store's metadata, by key, without the keys that Godwit's jobs write.
  package static func digests(of metadata: StoreMetadata, except keys: Set<String> = jobKeys) -> [String: String] {
    var digests: [String: String] = [:]
    for (key, value) in metadata.values.sorted(by: { $0.key < $1.key }) where !keys.contains(key.string) {
      // JSON has one value for keys that are canonically equal.
      digests[key.string, default: ""] += SHA256.hash(data: Array(value.binaryPropertyList)).prefix(16).hex
    }
    return digests
  }

  /// `GodwitJobs`, `GodwitAssociations` and `GodwitMoments`.
  package static let jobKeys: Set<String> = ["GodwitJobs", "GodwitAssociations", "GodwitMoments"]
}
