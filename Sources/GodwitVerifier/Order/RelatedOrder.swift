import GodwitJob
import GodwitModel
import GodwitStore

/// The order that `order-by` gives the objects of an ordered relationship, from the values of the source objects.
final class RelatedOrder {
  private static let (owners, grades) = ("temp.order_owner", "temp.order_grade")

  private let scratch: StoreConnection
  private let addOwner, addGrade, find: SQLStatement

  init(scratch: StoreConnection) throws {
    self.scratch = scratch
    try scratch.execute("CREATE TABLE \(Self.owners) (object INTEGER PRIMARY KEY, part INTEGER)")
    try scratch.execute(
      "CREATE TABLE \(Self.grades) (part INTEGER, object INTEGER, grade BLOB, PRIMARY KEY (part, object)) WITHOUT ROWID"
    )
    addOwner = try scratch.prepare("INSERT OR REPLACE INTO \(Self.owners) (object, part) VALUES (?1, ?2)")
    addGrade = try scratch.prepare("INSERT OR REPLACE INTO \(Self.grades) (part, object, grade) VALUES (?1, ?2, ?3)")
    find = try scratch.prepare(
      """
      SELECT o.part, g.grade FROM \(Self.owners) AS o LEFT JOIN \(Self.grades) AS g ON g.part = o.part AND g.object = ?2 \
      WHERE o.object = ?1
      """)
  }

  func add(owner: Int64, part: MappingID) throws { try addOwner.run([.integer(owner), .int(part.number)]) }

  /// - Parameter grade: Bytes in the order of the objects.
  func add(_ object: Int64, part: MappingID, grade: [UInt8]) throws {
    try addGrade.run([.int(part.number), .integer(object), .blob(grade)])
  }

  /// The rank of an object among those of its owner.
  enum Grade: Equatable {
    /// The mapping of the owner sorts nothing.
    case unsorted
    /// The mapping does not know the object, so it comes after the others.
    case last
    case bytes([UInt8])
  }

  func grade(of object: Int64, in owner: Int64) throws -> Grade {
    try find.bind([.integer(owner), .integer(object)])
    defer { find.reset() }
    guard try find.step() else { return .unsorted }
    guard case .blob(let bytes) = find.row.value(1) else { return .last }
    return .bytes(Array(bytes))
  }

  func drop() throws {
    for statement in [addOwner, addGrade, find] { statement.finalize() }
    for table in [Self.owners, Self.grades] { try scratch.execute("DROP TABLE \(table)") }
  }
}
