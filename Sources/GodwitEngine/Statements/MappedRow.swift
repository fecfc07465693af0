import GodwitJob
import GodwitLowering
import GodwitModel
import GodwitStore

/// What a mapping with a policy gives the attributes of an object, ready to be asked.
final class MappedRow {
  let mapping: EntityMapping
  let sourceEntityName: String
  let layout: ObjectLayout
  /// The column in the destination's row of each value that the mapping gives.
  let places: [Int]
  /// The values for source row `?1`.
  let statement: ChunkStatement
  /// Whether the values may be computed before the policy asks for them.
  let isComputableAhead: Bool
  /// Attributes that may turn to nil, and where each one's value stands.
  let watches: [(watch: NilWatch, place: Int)]

  init(
    _ mapping: ResolvedEntityMapping, columns: [String], statement: ChunkStatement, isComputableAhead: Bool,
    watches: [NilWatch], layout: ObjectLayout
  ) {
    self.mapping = mapping.mapping
    sourceEntityName = mapping.source.name
    self.layout = layout
    places = columns.compactMap { layout.places[$0] }
    self.statement = statement
    self.isComputableAhead = isComputableAhead
    self.watches = watches.compactMap { watch in layout.places[watch.column].map { (watch, $0) } }
  }

  /// A row with the values that the mapping gives, in the order of `places`.
  func row(_ value: (Int) -> SQLValue) -> [SQLValue] {
    var row = [SQLValue](repeating: .null, count: layout.places.count)
    for (column, place) in places.enumerated() { row[place] = value(column) }
    return row
  }
}

/// A source object, and the values that its mapping gives it.
final class PreparedObject {
  let mapping: Int
  let key: Int64
  let object: ManagedObject
  /// The row that the object begins with, in the order of the destination table's columns; nil where its values are
  /// computed once the policy asks.
  let mapped: [SQLValue]?
  /// The keys of links that are written with the object.
  let keys: [SQLValue]

  init(mapping: Int, key: Int64, object: ManagedObject, mapped: [SQLValue]?, keys: [SQLValue]) {
    (self.mapping, self.key, self.object, self.mapped, self.keys) = (mapping, key, object, mapped, keys)
  }
}
