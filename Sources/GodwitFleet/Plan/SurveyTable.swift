import Foundation
import GodwitManifest
import GodwitModel
package import GodwitStore

/// The stores that a plan finds, in a temporary SQLite database: a million of them need a page cache, and no more.
///
/// 1. `add` takes them as they are found, in any order.
/// 2. `settle` leaves each file once, and not the old stores that jobs in place kept.
/// 3. `forEachStore` goes over them in the order of their paths; `note` keeps what was found about each.
/// 4. `pairs`, `forEachByLength` and the like answer the rest.
package final class SurveyTable: StoreClaims {
  /// What is to become of a store.
  package enum State: Int64, Sendable {
    case found
    case current
    case unreadable
    /// It goes into a shard.
    case wanted
  }

  /// One store.
  package struct Row: Sendable {
    package var id: Int64
    package var path: String
    package var bytes: Int64
  }

  /// A file: its device and number.
  package struct Identity: Sendable {
    package var device, number: Int64
  }

  package let connection: StoreConnection
  /// What runs for every store is prepared once.
  private let inserting, noting, sharding, owning, claiming: SQLStatement
  private var isOpen = false
  private var changes = 0

  private static let tables = [
    """
    CREATE TABLE stores (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL, device INTEGER,
    number INTEGER, old TEXT, state INTEGER NOT NULL, version INTEGER, seconds REAL, shard INTEGER, problem TEXT,
    unfinished INTEGER NOT NULL DEFAULT 0)
    """,
    "CREATE TABLE versions (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE)",
    "CREATE TABLE claims (place TEXT PRIMARY KEY, store TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE earlier (path TEXT PRIMARY KEY, began REAL) WITHOUT ROWID",
  ]

  /// - Parameter path: Where the database goes. It is of no use afterwards.
  package init(path: String) throws {
    let connection = try StoreConnection(path: path, cache: .mebibytes(16), create: true)
    self.connection = connection
    // Nothing of it outlives the process.
    try connection.undefended {
      for pragma in ["journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE", "temp_store = FILE"] {
        _ = try connection.rows("PRAGMA \(pragma)")
      }
    }
    for table in Self.tables { try connection.execute(table) }
    inserting = try connection.prepare(
      """
      INSERT INTO stores (path, bytes, device, number, old, state) VALUES (?1, ?2, ?3, ?4, ?5, 0)
      ON CONFLICT (path) DO NOTHING
      """)
    noting = try connection.prepare(
      "UPDATE stores SET state = ?2, version = ?3, bytes = ?4, seconds = ?5, problem = ?6, unfinished = ?7 WHERE id = ?1"
    )
    sharding = try connection.prepare("UPDATE stores SET shard = ?2 WHERE id = ?1")
    owning = try connection.prepare("SELECT store FROM claims WHERE place = ?1")
    claiming = try connection.prepare("INSERT INTO claims (place, store) VALUES (?1, ?2)")
  }

  deinit { for statement in [inserting, noting, sharding, owning, claiming] { statement.finalize() } }

  // MARK: Finding

  /// A path that was found.
  ///
  /// - Parameters:
  ///   - identity: nil for one that leads to no file.
  ///   - old: Where a job in place keeps the old store.
  /// - Returns: Whether it is new.
  package func add(path: String, bytes: Int64, identity: Identity?, old: String?) throws -> Bool {
    try begin()
    try inserting.run([
      .text(path), .integer(bytes), identity.map { .integer($0.device) } ?? .null,
      identity.map { .integer($0.number) } ?? .null, old.map { .text($0) } ?? .null,
    ])
    return connection.changes > 0
  }

  /// A path that cannot be looked at.
  ///
  /// - Parameter problem: Why, as JSON.
  package func addUnreadable(path: String, problem: String) throws {
    guard try add(path: path, bytes: 0, identity: nil, old: nil) else { return }
    try note(connection.lastInsertedKey, .unreadable, version: nil, bytes: 0, seconds: 0, problem: problem)
  }

  /// Leaves of each file one path, that which comes first, and takes out old stores.
  ///
  /// - Returns: How many other paths lead to a file that is there, and how many old stores stood beside newer ones.
  package func settle() throws -> (doubles: Int64, old: Int64) {
    try connection.execute(
      "DELETE FROM stores WHERE path IN (SELECT old FROM stores WHERE old IS NOT NULL)")
    let old = connection.changes
    try connection.execute("CREATE INDEX files ON stores (device, number, path)")
    try connection.execute(
      """
      DELETE FROM stores WHERE device IS NOT NULL AND EXISTS (SELECT 1 FROM stores AS other
      WHERE other.device = stores.device AND other.number = stores.number AND other.path < stores.path)
      """)
    let doubles = connection.changes
    try connection.execute("DROP INDEX files")
    try commit()
    return (Int64(doubles), Int64(old))
  }

  /// Calls `body` with the stores in the order of their paths, so many at a time.
  package func forEachStore(atOnce count: Int, _ body: ([Row]) throws -> Void) throws {
    var last: String?
    while true {
      var rows: [Row] = []
      let condition = last == nil ? "?1 IS NULL" : "path > ?1"
      try connection.query(
        "SELECT id, path, bytes FROM stores WHERE \(condition) AND problem IS NULL ORDER BY path LIMIT \(max(1, count))",
        [last.map { .text($0) } ?? .null]
      ) { row in
        rows.append(Row(id: row.int64(0), path: row.string(1) ?? "", bytes: row.int64(2)))
        return true
      }
      guard let end = rows.last else { return }
      try body(rows)
      last = end.path
    }
  }

  // MARK: What is known of a store

  /// The number of a version by the digest of its hashes.
  package func version(_ key: String) throws -> Int64 {
    if let known = try connection.integer("SELECT id FROM versions WHERE key = ?1", [.text(key)]) { return known }
    try begin()
    try connection.execute("INSERT INTO versions (key) VALUES (?1)", [.text(key)])
    return connection.lastInsertedKey
  }

  /// - Parameters:
  ///   - problem: Of an unreadable store, as JSON.
  ///   - isUnfinished: Whether a run of its job was not through.
  package func note(
    _ id: Int64, _ state: State, version: Int64?, bytes: Int64, seconds: Double, problem: String? = nil,
    isUnfinished: Bool = false
  ) throws {
    try begin()
    try noting.run([
      .integer(id), .integer(state.rawValue), version.map { .integer($0) } ?? .null, .integer(bytes), .real(seconds),
      problem.map { .text($0) } ?? .null, .integer(isUnfinished ? 1 : 0),
    ])
  }

  /// Takes the stores of a version for current, but for those whose run was not through.
  package func setCurrent(ofVersion version: Int64) throws {
    try begin()
    try connection.execute(
      "UPDATE stores SET state = 1 WHERE version = ?1 AND state = 3 AND unfinished = 0", [.integer(version)])
  }

  /// All stores are noted: from here on they are asked for by their versions, of which each may have one of its own.
  package func beginVersions() throws {
    try commit()
    try connection.execute("CREATE INDEX kinds ON stores (version, state, bytes, path)")
  }

  /// Gives all stores of a version another state.
  package func setState(_ state: State, ofVersion version: Int64, problem: String? = nil) throws {
    try begin()
    try connection.execute(
      "UPDATE stores SET state = ?2, problem = ?3 WHERE version = ?1 AND state = 3",
      [.integer(version), .integer(state.rawValue), problem.map { .text($0) } ?? .null])
  }

  package func setShard(_ shard: Int, of id: Int64) throws {
    try begin()
    try sharding.run([.integer(id), .int(shard)])
  }

  // MARK: Claims

  package func owner(of place: String) throws -> String? {
    try owning.bind([.text(place)])
    defer { owning.reset() }
    return try owning.step() ? owning.row.string(0) : nil
  }

  package func claim(_ place: String, for store: String) throws {
    try begin()
    try claiming.run([.text(place), .text(store)])
  }

  // MARK: Transactions

  /// One transaction for many changes: without a journal it costs nothing, and each alone would cost a system call.
  func begin() throws {
    changes += 1
    if changes % 50_000 == 0 { try commit() }
    guard !isOpen else { return }
    try connection.execute("BEGIN")
    isOpen = true
  }

  package func commit() throws {
    guard isOpen else { return }
    try connection.execute("COMMIT")
    isOpen = false
  }
}
