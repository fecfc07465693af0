import GodwitModel

/// The places of an entity's properties in the rows of its table.
struct VerifiedLayout {
  var entity: String
  /// Places are those of the table's columns.
  var entityPlace = 1
  var lockPlace = 2
  var attributes: [(attribute: AttributeDescription, place: Int)]
  /// Columns of other entities in the same table, which must be NULL.
  var others: [(name: String, place: Int)]
}
