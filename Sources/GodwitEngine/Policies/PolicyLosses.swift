import GodwitJob
import GodwitModel
import GodwitStore

/// The losses while policies make objects and leave them to their mappings. The counts commit with the chunk.
struct PolicyLosses {
  struct NilKey: Hashable {
    var mapping: MappingID
    var attribute: String
  }

  /// A value that an expression turned to nil, and its place in the object's row.
  struct TurnedValue {
    var key: NilKey
    var place: Int
  }

  /// Values of objects of the running hook that are not written yet, which expressions turned to nil.
  private var turned: [PolicyObjectKey: [TurnedValue]] = [:]
  /// To-one relationships that found several objects.
  var ambiguousToOne: Int64 = 0
  private var nils: [NilKey: Int64] = [:]

  /// Drops objects that the last hook has not written.
  mutating func beginHook() { if !turned.isEmpty { turned = [:] } }

  /// Records the values that were turned to nil for an object that is not written yet.
  mutating func note(_ values: [TurnedValue], of object: PolicyObjectKey) {
    if !values.isEmpty { turned[object, default: []] += values }
  }

  /// The values that the expressions of a mapping turned to nil in the row of an object.
  static func turnedValues(
    _ index: MappingID, _ mapped: MappedRow, row: [SQLValue], of source: ManagedObject
  ) throws -> [TurnedValue] {
    guard mapped.watchPlaces.contains(where: { row[$0].isNull }) else { return [] }
    return try zip(mapped.watches, mapped.watchPlaces).compactMap { watch, place in
      guard row[place].isNull, try watch.inputs.allSatisfy({ try holds($0, source) }) else { return nil }
      return TurnedValue(key: NilKey(mapping: index, attribute: watch.attribute), place: place)
    }
  }

  private static func holds(_ path: [String], _ source: ManagedObject) throws -> Bool {
    var object = source
    for name in path.dropLast() {
      guard let next = try object.object(name) else { return false }
      object = next
    }
    guard let attribute = path.last.flatMap({ object.layout.attributes[$0] }), let place = attribute.place else {
      return false
    }
    return try !object.row()[place].isNull
  }

  /// Counts the values that a new object lacks when it is written. A value that its policy filled in is not lost.
  mutating func countNils(of object: ManagedObject) throws {
    guard !turned.isEmpty, let values = turned.removeValue(forKey: PolicyObjectKey(object)) else { return }
    let row = try object.row()
    for value in values where row[value.place] == .null { nils[value.key, default: 0] += 1 }
  }

  /// The losses of the chunk. The counts start again at 0.
  mutating func take() -> (ambiguousToOne: Int64, nils: [NilCount]) {
    defer { (ambiguousToOne, nils) = (0, [:]) }
    return (
      ambiguousToOne, nils.map { NilCount(mapping: $0.mapping, attribute: $0.attribute, count: $1) }
    )
  }
}
