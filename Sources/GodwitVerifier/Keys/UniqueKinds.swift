import GodwitModel
import GodwitStore

/// The first source object for each value of `unique-by`.
final class UniqueKinds {
  private let table: String
  private let scratch: StoreConnection
  private let insertion: SQLStatement
  private let search: SQLStatement
  /// The first kinds that were met.
  private var known: [[UInt8]: Int64] = [:]
  private var bytes = 0
  private static let limit = 1 << 20

  init(mapping: MappingID, scratch: StoreConnection) throws {
    self.scratch = scratch
    table = "temp.unique_\(mapping)"
    try scratch.execute("CREATE TABLE \(table) (identity BLOB PRIMARY KEY, source INTEGER) WITHOUT ROWID")
    insertion = try scratch.prepare("INSERT OR IGNORE INTO \(table) (identity, source) VALUES (?1, ?2)")
    search = try scratch.prepare("SELECT source FROM \(table) WHERE identity = ?1")
  }

  /// The first object of a kind, which the given one is when none was before.
  func first(_ identity: [UInt8], _ key: Int64) throws -> Int64 {
    if let first = known[identity] { return first }
    if bytes < Self.limit {
      known[identity] = key
      bytes += identity.count + 64
      return key
    }
    try insertion.run([.blob(identity), .integer(key)])
    try search.bind([.blob(identity)])
    defer { search.reset() }
    return try search.step() ? search.row.int64(0) : key
  }

  func drop() throws {
    insertion.finalize()
    search.finalize()
    try scratch.execute("DROP TABLE \(table)")
  }
}
