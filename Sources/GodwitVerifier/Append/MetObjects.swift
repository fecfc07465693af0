import GodwitModel
import GodwitStore

/// New objects that are one with an object of the destination that has the same values of `unique-by`.
///
/// The replay of links gives them the keys that they would have alone (`new`); the store has the old objects.
final class MetObjects {
  /// The comparison of the old object with the new one by `order-by`, as the store shows it.
  enum Verdict: Int64 {
    /// The old object comes first.
    case old
    /// Both have one place: the new one has replaced the old one, or `order-by` does not decide.
    case even
    /// The new object comes first, and the store does not have its values.
    case wrong
  }

  /// `root`, `new`, `old`, `mapping`, and `verdict` once the objects were compared.
  static let table = "temp.met"

  private let scratch: StoreConnection
  private let addition, search, judgement: SQLStatement
  /// Values and links of even pairs that differ, by mapping.
  var unlike: [MappingID: Int64] = [:]
  /// Pairs whose old object comes first, by mapping.
  var kept: [MappingID: Int64] = [:]
  /// Pairs by mapping.
  private(set) var counts: [MappingID: Int64] = [:]

  init(scratch: StoreConnection) throws {
    self.scratch = scratch
    try scratch.execute(
      "CREATE TABLE \(Self.table) (root TEXT, new INTEGER, old INTEGER, mapping INTEGER, verdict INTEGER, PRIMARY KEY (root, new)) WITHOUT ROWID"
    )
    try scratch.execute("CREATE INDEX temp.met_old ON met (root, old)")
    addition = try scratch.prepare("INSERT INTO \(Self.table) (root, new, old, mapping) VALUES (?1, ?2, ?3, ?4)")
    search = try scratch.prepare("SELECT old FROM \(Self.table) WHERE root = ?1 AND new = ?2")
    judgement = try scratch.prepare("UPDATE \(Self.table) SET verdict = ?3 WHERE root = ?1 AND new = ?2")
  }

  func add(_ new: Int64, old: Int64, root: String, mapping: MappingID) throws {
    try addition.run([.text(root), .integer(new), .integer(old), .int(mapping.number)])
    counts[mapping, default: 0] += 1
  }

  /// The key of the old object; nil for an object with a row of its own.
  func old(_ new: Int64, root: String) throws -> Int64? {
    try search.bind([.text(root), .integer(new)])
    defer { search.reset() }
    return try search.step() ? search.row.int64(0) : nil
  }

  /// Passes each pair of a hierarchy: the key that the new object would have alone, and the key of the old one.
  func forEach(of root: String, _ body: (_ new: Int64, _ old: Int64) throws -> Void) throws {
    try scratch.query("SELECT new, old FROM \(Self.table) WHERE root = ?1 ORDER BY old", [.text(root)]) { row in
      try body(row.int64(0), row.int64(1))
      return true
    }
  }

  /// Whether new objects are one with an object of the destination.
  func isOld(_ key: Int64, root: String) throws -> Bool {
    try scratch.value("SELECT 1 FROM \(Self.table) WHERE root = ?1 AND old = ?2 LIMIT 1", [.text(root), .integer(key)])
      != nil
  }

  func judge(_ new: Int64, root: String, _ verdict: Verdict) throws {
    try judgement.run([.text(root), .integer(new), .integer(verdict.rawValue)])
  }
}

extension SortBytes {
  /// A stored value as bytes whose order is that of the values.
  static func of(stored value: SQLValue) -> [UInt8] {
    switch value {
    case .null: of(.null)
    case .integer(let number): of(.integer(number))
    case .real(let number): of(.double(number))
    case .text(let bytes): [2] + of(.data(bytes)).dropFirst()
    case .blob(let bytes): [3] + of(.data(bytes)).dropFirst()
    }
  }
}
