import GodwitJob
import GodwitModel
import GodwitStore

/// The values that a mapping with a policy gives the attributes of an object, ready to be read.
final class MappedRow {
  let mapping: EntityMapping
  let sourceEntityName: String
  let sourceNumber: Int
  let layout: ObjectLayout
  /// The column in the destination's row of each value that the mapping gives.
  let places: [Int]
  /// The values for source row `?1`.
  let statement: ChunkStatement
  /// Whether the values may be computed before the policy reads them.
  let isComputableAhead: Bool
  /// Attributes that may turn to nil, and where each one's value stands.
  let watches: [NilWatch]
  let watchPlaces: [Int]

  init(
    _ mapping: ResolvedEntityMapping, sourceNumber: Int, columns: [String], statement: ChunkStatement,
    isComputableAhead: Bool, watches: [NilWatch], layout: ObjectLayout
  ) {
    self.mapping = mapping.mapping
    (sourceEntityName, self.sourceNumber) = (mapping.source.name, sourceNumber)
    self.layout = layout
    places = columns.compactMap { layout.places[$0] }
    self.statement = statement
    self.isComputableAhead = isComputableAhead
    self.watches = watches.filter { layout.places[$0.column] != nil }
    watchPlaces = self.watches.compactMap { layout.places[$0.column] }
  }

  /// A row with the values that the mapping gives, in the order of `places`.
  func row(_ value: (Int) -> SQLValue) -> [SQLValue] {
    var row = [SQLValue](repeating: .null, count: layout.places.count)
    for (column, place) in places.enumerated() { row[place] = value(column) }
    return row
  }
}
