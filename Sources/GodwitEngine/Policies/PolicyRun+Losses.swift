import GodwitJob
import GodwitModel
import GodwitStore

/// What is lost while policies make objects and leave them to their mappings. The counts commit with the chunk.
extension PolicyRun {
  struct NilKey: Hashable {
    var mapping: Int
    var attribute: String
  }

  /// A value that an expression turned to nil, and its column in the object's row.
  struct TurnedValue {
    var key: NilKey
    var place: Int
  }

  /// Notes what the expressions of a mapping turned to nil for an object that is not written yet.
  func noteNils(_ index: Int, _ mapped: MappedRow, row: [SQLValue], key: Int64, of source: ManagedObject) throws {
    guard !isReplaying else { return }
    for (watch, place) in mapped.watches where row[place] == .null {
      guard try watch.inputs.allSatisfy({ try holds($0, source) }) else { continue }
      turned[Made(number: mapped.layout.number, key: key), default: []].append(
        TurnedValue(key: NilKey(mapping: index, attribute: watch.attribute), place: place))
    }
  }

  private func holds(_ path: [String], _ source: ManagedObject) throws -> Bool {
    var object = source
    for name in path.dropLast() {
      guard let next = try object.object(name) else { return false }
      object = next
    }
    guard let attribute = path.last.flatMap({ object.layout.attributes[$0] }), let place = attribute.place else {
      return false
    }
    switch try object.row()[place] {
    case .null: return false
    case .integer, .real: return true
    // A decimal that is not a number has no value.
    case .text, .blob: return attribute.description.type != .decimal
    }
  }

  /// Counts what a new object is written without. What its policy has filled in is there.
  func countNils(of object: ManagedObject) throws {
    guard !turned.isEmpty,
      let values = turned.removeValue(forKey: Made(number: object.layout.number, key: object.key))
    else { return }
    let row = try object.row()
    for value in values where row[value.place] == .null { nils[value.key, default: 0] += 1 }
  }

  /// What the chunk has lost; the next one begins at nothing.
  func takeCounts() -> (several: Int64, nils: [NilCount]) {
    defer { (several, nils) = (0, [:]) }
    return (several, nils.map { NilCount(mapping: $0.mapping, attribute: $0.attribute, count: $1) })
  }
}
