import GodwitJob
import GodwitStore

/// The source object of a running `createDestinationInstances`, and what its mapping gives it.
///
/// One serves all objects of a chunk, so that none is made for each.
final class PreparedObject {
  let mapping: Int
  /// The object's entity and key.
  @exclusivity(unchecked) private(set) var source: PolicyObjectKey
  @exclusivity(unchecked) private var row: [SQLValue] = []
  /// The row that the object begins with, in the order of the destination table's columns; nil where its values are
  /// computed once the policy asks.
  @exclusivity(unchecked) private var mapped: [SQLValue]?
  /// Where `row` goes on with the keys of links that are written with the object.
  private let keyPlaces: Range<Int>
  /// Whether the policy has asked twice for the values of one source object.
  @exclusivity(unchecked) private var keepsMapped = false
  @exclusivity(unchecked) private var isTaken = false
  /// Of the object that was made last.
  @exclusivity(unchecked) private var kind: ObjectKind?

  init(mapping: Int, keyPlaces: Range<Int>) {
    (self.mapping, self.keyPlaces) = (mapping, keyPlaces)
    source = PolicyObjectKey(number: -1, key: 0)
  }

  /// The next object.
  ///
  /// - Parameters:
  ///   - row: Its own row, then the keys of links.
  ///   - mapped: Nobody else has it, so that the policy's object changes it without copying it.
  func set(_ source: PolicyObjectKey, row: [SQLValue], mapped: consuming [SQLValue]?) {
    (self.source, self.row, self.mapped, isTaken) = (source, row, mapped, false)
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
  var keys: [SQLValue] { Array(row[keyPlaces]) }

  /// Adds those keys to a row that waits.
  ///
  /// - Returns: As `RowBatch.add`.
  func addKeys(to batch: RowBatch) -> Bool {
    for place in keyPlaces { guard batch.add(row[place]) else { return false } }
    return true
  }

  /// What the objects that the policy makes have in common.
  func kind(of layout: ObjectLayout, _ make: () -> ObjectKind) -> ObjectKind {
    if let kind, kind.number == layout.number { return kind }
    let made = make()
    kind = made
    return made
  }
}
