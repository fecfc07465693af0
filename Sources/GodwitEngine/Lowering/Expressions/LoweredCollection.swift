import GodwitModel

/// The members of a to-many as the parts of a SELECT: objects, or the values of one of their attributes.
struct LoweredCollection {
  private(set) var chain: RelationshipJoinPath
  /// The row of each object.
  private(set) var row: ExpressionLowering.Row
  /// The attribute that is read from each object; nil for the object itself.
  private(set) var attribute: AttributeDescription?
  /// A key that is NULL where the path to the collection ends in nil; nil when it cannot.
  private(set) var origin: String?

  init(_ chain: RelationshipJoinPath) throws {
    self.chain = chain
    row = try self.chain.loadedRow()
    origin = chain.origin
  }

  mutating func follow(_ relationship: String) throws {
    try chain.follow(relationship)
    row = try chain.loadedRow()
  }

  mutating func select(_ attribute: AttributeDescription) { self.attribute = attribute }

  /// Leaves the objects that fulfil a condition; a path that ends in nil leads to none.
  mutating func filter(_ condition: String) {
    if let origin { chain.require("\(origin) IS NOT NULL") }
    origin = nil
    chain.require(condition)
  }

  /// `sql`, or NULL where the path to the collection ends in nil.
  func guarded(_ sql: String) -> String {
    origin.map { "(CASE WHEN \($0) IS NOT NULL THEN \(sql) END)" } ?? sql
  }

  /// A SELECT of `sql` for every member, in the order in which memory meets them.
  func sorted(_ sql: String) -> String {
    "SELECT \(sql)\(chain.from) ORDER BY \(chain.sorting.joined(separator: ", ")) LIMIT -1"
  }

  func unsorted(_ sql: String) -> String { "SELECT \(sql)\(chain.from)" }
}
