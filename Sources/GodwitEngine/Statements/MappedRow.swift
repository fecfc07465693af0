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
  let watches: [NilWatch]
  let watchPlaces: [Int]

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

/// The source object of a running `createDestinationInstances`, and what its mapping gives it.
///
/// One serves all objects of a chunk, so that none is made for each.
final class PreparedObject {
  let mapping: Int
  @exclusivity(unchecked) private(set) var object: ManagedObject
  /// The row that the object begins with, in the order of the destination table's columns; nil where its values are
  /// computed once the policy asks.
  @exclusivity(unchecked) private var mapped: [SQLValue]?
  /// Where the row of the source object goes on with the keys of links that are written with the object.
  private let keyPlaces: Range<Int>
  /// Whether the policy has asked twice for the values of one source object.
  @exclusivity(unchecked) private var keepsMapped = false
  @exclusivity(unchecked) private var isTaken = false

  /// - Parameter object: The first one.
  init(mapping: Int, object: ManagedObject, keyPlaces: Range<Int>) {
    (self.mapping, self.object, self.keyPlaces) = (mapping, object, keyPlaces)
  }

  /// The next object.
  ///
  /// - Parameter mapped: Nobody else has it, so that the policy's object changes it without copying it.
  func set(_ object: ManagedObject, mapped: consuming [SQLValue]?) {
    (self.object, self.mapped, isTaken) = (object, mapped, false)
  }

  /// The values that the mapping gives the object; nil where they are computed now. Most policies ask once.
  func takeMapped() -> [SQLValue]? {
    guard !keepsMapped else { return mapped }
    if isTaken {
      keepsMapped = true
      return nil
    }
    defer { mapped = nil }
    isTaken = mapped != nil
    return mapped
  }

  /// The keys of links that are written with the object.
  func keys() throws -> [SQLValue] {
    guard !keyPlaces.isEmpty else { return [] }
    return try Array(object.row()[keyPlaces])
  }
}
