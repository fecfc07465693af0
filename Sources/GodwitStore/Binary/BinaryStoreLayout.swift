import GodwitModel

/// The order in which a binary store holds the values of an object.
///
/// The attributes of the topmost ancestor come first, by name, then those that each descendant adds, by name. Nil for
/// each relationship follows. Transient attributes have no value. Where an entity has transient relationships, no store
/// was seen that shows whether they have one.
struct BinaryStoreLayout {
  let attributes: [AttributeDescription]
  /// Stored ones, in the same order.
  let relationshipNames: [String]
  let relationships: [String: RelationshipDescription]
  /// How many values an object may have.
  let valueCounts: ClosedRange<Int>

  init(of entity: String, in model: ManagedObjectModel) {
    var attributes: [AttributeDescription] = []
    var relationships: [RelationshipDescription] = []
    var seen: Set<String> = []
    for ancestor in model.lineage(of: entity).reversed() {
      attributes += ancestor.attributes.filter { !$0.isTransient && seen.insert($0.name).inserted }
        .sorted { Text($0.name) < Text($1.name) }
      relationships += ancestor.relationships.filter { seen.insert($0.name).inserted }
        .sorted { Text($0.name) < Text($1.name) }
    }
    let stored = relationships.filter { !$0.isTransient }
    self.attributes = attributes
    relationshipNames = stored.map(\.name)
    self.relationships = Dictionary(stored.map { ($0.name, $0) }) { first, _ in first }
    let least = attributes.count + stored.count
    valueCounts = least...(attributes.count + relationships.count)
  }
}
