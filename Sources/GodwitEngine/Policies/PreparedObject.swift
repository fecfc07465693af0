import GodwitJob
import GodwitModel
import GodwitStore

/// The source object of a running `createDestinationInstances`, and the values that its mapping gives it.
///
/// One instance serves all objects of a chunk, which saves an allocation for each.
final class PreparedObject {
  let mapping: MappingID
  /// The object's entity and key.
  @exclusivity(unchecked) private(set) var source: PolicyObjectKey
  /// The initial row of the object, in the order of the destination table's columns; nil if its values are computed
  /// when the policy reads them.
  @exclusivity(unchecked) private var mapped: [SQLValue]?
  /// The keys of links that are written with the object.
  @exclusivity(unchecked) private(set) var keys: [SQLValue] = []
  /// Whether the policy has read the values of one source object twice.
  @exclusivity(unchecked) private var keepsMapped = false
  @exclusivity(unchecked) private var isTaken = false
  /// The kind of the object that was made last.
  @exclusivity(unchecked) private var kind: ObjectKind?

  init(mapping: MappingID) {
    self.mapping = mapping
    source = PolicyObjectKey(number: -1, key: 0)
  }

  /// The next object.
  ///
  /// - Parameter mapped: Must be the only reference, so that the policy's object changes it without copying it.
  func set(_ source: PolicyObjectKey, mapped: consuming [SQLValue]?) {
    (self.source, self.mapped, isTaken) = (source, mapped, false)
  }

  /// The keys of links of the next object.
  func setKeys(_ values: PackedRows, _ indices: Range<Int>) {
    keys.removeAll(keepingCapacity: true)
    for index in indices { keys.append(values.value(index)) }
  }

  /// The values that the mapping gives the object; nil where they are computed now. Most policies read them once.
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

  /// The facts that the objects of a policy have in common.
  func kind(of layout: ObjectLayout, _ make: () -> ObjectKind) -> ObjectKind {
    if let kind, kind.number == layout.number { return kind }
    let made = make()
    kind = made
    return made
  }
}
