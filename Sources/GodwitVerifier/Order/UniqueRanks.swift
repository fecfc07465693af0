import GodwitModel
import GodwitStore

/// The order of objects that become one, for mappings that order them.
final class UniqueRanks {
  private let table, kinds: String
  private let scratch: StoreConnection
  private let insertion, kindOf, newKind: SQLStatement

  init(mapping: MappingID, scratch: StoreConnection) throws {
    self.scratch = scratch
    (table, kinds) = ("temp.ranks_\(mapping)", "temp.rank_kinds_\(mapping)")
    try scratch.execute("CREATE TABLE \(table) (source INTEGER PRIMARY KEY, kind INTEGER, place BLOB)")
    try scratch.execute("CREATE TABLE \(kinds) (kind INTEGER PRIMARY KEY, identity BLOB UNIQUE)")
    insertion = try scratch.prepare("INSERT INTO \(table) (source, kind, place) VALUES (?1, ?2, ?3)")
    newKind = try scratch.prepare("INSERT OR IGNORE INTO \(kinds) (identity) VALUES (?1)")
    kindOf = try scratch.prepare("SELECT kind FROM \(kinds) WHERE identity = ?1")
  }

  /// - Parameters:
  ///   - identity: nil for an object that is one with no other.
  ///   - place: Bytes in the order of the objects.
  func add(_ source: Int64, _ identity: [UInt8]?, place: [UInt8]) throws {
    var kind = SQLValue.null
    if let identity {
      try newKind.run([.blob(identity)])
      try kindOf.bind([.blob(identity)])
      defer { kindOf.reset() }
      if try kindOf.step() { kind = .integer(kindOf.row.int64(0)) }
    }
    try insertion.run([.integer(source), kind, .blob(place)])
  }

  /// Passes each object in the order of keys, with the first of its kind and the number of the object among them, from
  /// 1. Drops the tables.
  func finish(_ body: (_ source: Int64, _ winner: Int64, _ turn: Int64) throws -> Void) throws {
    for statement in [insertion, newKind, kindOf] { statement.finalize() }
    let result = table + "_result"
    try scratch.execute("CREATE TABLE \(result) (source INTEGER PRIMARY KEY, winner INTEGER, turn INTEGER)")
    let place = try scratch.prepare("INSERT INTO \(result) (source, winner, turn) VALUES (?1, ?2, ?3)")
    var (kind, winner, turn): (Int64?, Int64, Int64) = (nil, 0, 0)
    try scratch.query("SELECT source, kind FROM \(table) ORDER BY kind, place, source") { row in
      let (source, own) = (row.int64(0), row.isNull(1) ? nil : row.int64(1))
      if own == nil || own != kind { (kind, winner, turn) = (own, source, 0) }
      turn += 1
      try place.run([.integer(source), .integer(winner), .integer(turn)])
      return true
    }
    place.finalize()
    try scratch.query("SELECT source, winner, turn FROM \(result) ORDER BY source") { row in
      try body(row.int64(0), row.int64(1), row.int64(2))
      return true
    }
    for name in [table, kinds, result] { try scratch.execute("DROP TABLE \(name)") }
  }
}
