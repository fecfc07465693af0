package import GodwitModel
import GodwitPlatform

/// A finished store as its receipt describes it. The run that writes a receipt and the check that reads it years later
/// share this code: they must count the same.
package struct ReceiptedStore {
  package let metadata: StoreMetadata
  private let path: String
  private let files: ExternalFiles
  private let schema: StoreSchema
  private let connection: StoreConnection
  /// The name under which the connection has the store.
  private let database: String

  /// - Parameters:
  ///   - destination: Where the store will be; nil for one that is in its place.
  ///   - checkpoint: Called while an XML store is converted; what it throws ends that.
  /// - Throws: as `StoreConnection.openStore`, `StoreMetadata.init(reading:path:)` and `StoreSchema.init(model:probing:)`.
  package init(
    path: String, becoming destination: String? = nil, model: ManagedObjectModel, cache: ByteCount = .mebibytes(8),
    checkpoint: () throws -> Void = {}
  ) throws {
    for store in [path, destination].compactMap(\.self) { try SupportFolder(ofStoreAt: store).refuseLinks() }
    files = ExternalFiles(ofStoreAt: path, becoming: destination)
    connection = try StoreConnection.openStore(
      readingAt: path, cache: cache, model: model, purpose: .comparison,
      checkpoint: checkpoint)
    // As the file has it: what an XML store is converted into has metadata of its own.
    metadata =
      try StoreFiles(path: path).type == .sqlite
      ? StoreMetadata(reading: connection, path: path) : StoreMetadata(readingStoreAt: path)
    schema = try StoreSchema(model: model, probing: connection)
    self.path = path
    database = StoreConnection.sourceSchema
  }

  /// A store whose last transaction has not been committed, as the connection has it that fills it.
  ///
  /// - Parameter metadata: What it says of itself.
  package init(
    filledBy connection: StoreConnection, path: String, becoming destination: String, model: ManagedObjectModel,
    metadata: StoreMetadata
  ) throws {
    (self.connection, self.path, self.metadata) = (connection, path, metadata)
    files = ExternalFiles(ofStoreAt: path, becoming: destination)
    database = "main"
    schema = try StoreSchema(model: model, probing: connection, schema: database)
  }

  /// Ends what SQLite does when `isDue` says so.
  package func whileRunning(stopIf isDue: @escaping () -> Bool) { connection.whileRunning(stopIf: isDue) }

  /// The size of the file.
  package func byteCount() throws -> Int64 { try StoreFiles(path: path).size }

  /// - Parameters:
  ///   - isInPieces: Whether all rows are read as those with large values are.
  package func checksums(
    limits: StoreChecksums.Limits? = nil, inPieces isInPieces: Bool = false, check: () throws -> Void = {}
  ) throws -> StoreChecksums {
    try StoreChecksums(
      of: connection, database: database, schema: schema, support: files, limits: limits, inPieces: isInPieces,
      check: check)
  }

  /// The checksums of a store that another connection of this process has finished to fill. It must not change
  /// meanwhile.
  ///
  /// - Parameters:
  ///   - cache: Memory for its pages.
  ///   - check: Called now and then; what it throws ends the reading.
  package static func checksums(
    ofFilledStoreAt path: String, becoming destination: String, model: ManagedObjectModel, cache: ByteCount,
    check: () throws -> Void
  ) throws -> StoreChecksums {
    let connection = try StoreConnection(path: nil, cache: .init(bytes: 256 << 10))
    try connection.attachUnlocked(path: path, cache: cache)
    return try StoreChecksums(
      of: connection, schema: StoreSchema(model: model, probing: connection),
      support: ExternalFiles(ofStoreAt: path, becoming: destination), check: check)
  }

  /// By root entity: the highest key that was given out, of those in the store and in `Z_MAX`.
  package func highestKeys() throws -> [String: Int64] {
    var keys: [String: Int64] = [:]
    for table in schema.tables {
      let root = table.rootEntityName
      let number = schema.number(of: root).map(Int64.init) ?? 0
      let counter = try connection.integer(
        "SELECT Z_MAX FROM \(database).Z_PRIMARYKEY WHERE Z_ENT = ?1", [.integer(number)])
      let highest = try connection.integer("SELECT MAX(Z_PK) FROM \(database).\(quoted(table.name))")
      keys[root] = max(counter ?? 0, highest ?? 0)
    }
    return keys
  }

  /// What a receipt says of the store as a whole.
  package struct Facts {
    package var metadata: StoreMetadata
    package var highestKeys: [String: Int64]
    package var historyTransactions: Int64
  }

  package func facts() throws -> Facts {
    Facts(metadata: metadata, highestKeys: try highestKeys(), historyTransactions: try historyTransactions())
  }

  /// Rows and values that no model names.
  package func foreignContent() throws -> [ForeignContent.Finding] {
    try schema.foreignContent.findings(on: connection, in: database)
  }

  /// What SQLite's quick check says, at most `limit` lines.
  package func complaints(limit: Int) throws -> [String] {
    try connection.complaints(about: database, isFull: false, limit: limit)
  }

  /// Transactions in the persistent history; 0 without its tables.
  package func historyTransactions() throws -> Int64 {
    let isThere = try connection.integer(
      "SELECT COUNT(*) FROM \(database).sqlite_master WHERE type = 'table' AND name = 'ATRANSACTION'")
    guard isThere == 1 else { return 0 }
    return try connection.integer("SELECT COUNT(*) FROM \(database).ATRANSACTION") ?? 0
  }

  /// The digest of each value of a store's metadata, by key, but for what Godwit's jobs add to.
  package static func digests(of metadata: StoreMetadata, except keys: Set<String> = jobKeys) -> [String: String] {
    var digests: [String: String] = [:]
    for (key, value) in metadata.values where !keys.contains(key) {
      digests[key] = SHA256.hash(data: Array(value.binaryPropertyList)).prefix(16).hex
    }
    return digests
  }

  /// `GodwitJobs`, `GodwitAssociations` and `GodwitMoments`.
  package static let jobKeys: Set<String> = ["GodwitJobs", "GodwitAssociations", "GodwitMoments"]
}
