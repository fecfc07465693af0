/// The changes from one model to another, fact by fact: entities, and the properties that each declares.
///
/// It includes facts that no hash covers (class names, delete rules, defaults). `ModelChange` says what a change means
/// for the data.
package struct ModelComparison: Sendable, Hashable, Encodable {
  /// The kind of change of an entity or a property.
  package enum Kind: String, Sendable, Hashable, Encodable {
    /// Only the later model has it.
    case added
    /// Only the earlier model has it.
    case removed
    /// Both have it, under different names.
    case renamed
    /// Both have it under one name, and it differs.
    case changed
  }

  /// A property with a change.
  package struct Property: Sendable, Hashable, Encodable {
    /// The name in the later model; for a removed property in the earlier one.
    package let name: String
    /// The name in the earlier model, when it is another.
    package let oldName: String?
    /// The kind of change of the property.
    package let kind: Kind
    /// `type String to Integer 64` and the like. For an added or removed property, its type.
    package let changes: [String]
    /// The fact that each change is about, in the same order: `type`, `optional`, `hash-modifier`.
    package let changeCodes: [String]
  }

  /// An entity that changed, itself or in a property.
  package struct Entity: Sendable, Hashable, Encodable {
    /// The name in the later model; for a removed entity in the earlier one.
    package let name: String
    /// The name in the earlier model, when it is another.
    package let oldName: String?
    /// The kind of change of the entity.
    package let kind: Kind
    /// Changes of the entity itself, for example `now abstract`.
    package let changes: [String]
    /// The fact that each change is about, in the same order: `abstract`, `parent`, `uniqueness`.
    package let changeCodes: [String]
    /// The properties that it declares and that changed, in name order.
    package let properties: [Property]
    /// Whether the version hashes differ; nil where one side lacks the entity.
    package let hashesDiffer: Bool?
  }

  /// The names of the models.
  package let from, to: String
  /// Entities with a change, in name order.
  package let entities: [Entity]
  /// Whether a store of the earlier model has to be migrated.
  package let hashesDiffer: Bool

  /// Compares two models. The time is in proportion to their properties.
  package init(from old: ManagedObjectModel, to new: ManagedObjectModel) {
    from = old.name
    to = new.name
    let (oldHashes, newHashes) = (old.versionHashes, new.versionHashes)
    hashesDiffer = oldHashes != newHashes
    let pairing = ModelPairing(from: old, to: new)
    entities = pairing.entities.compactMap { pair in
      switch pair {
      case (nil, let entity?):
        return Entity(
          name: entity.name, oldName: nil, kind: .added, changes: [], changeCodes: [], properties: [], hashesDiffer: nil
        )
      case (let entity?, nil):
        return Entity(
          name: entity.name, oldName: nil, kind: .removed, changes: [], changeCodes: [], properties: [],
          hashesDiffer: nil)
      case (let before?, let after?):
        let isRenamed = before.name != after.name
        let changes = Fact.changes(Fact.all(of: before), Fact.all(of: after))
        let properties = Self.properties(pairing, before, after)
        let differ = oldHashes[before.name] != newHashes[after.name]
        guard isRenamed || differ || !changes.isEmpty || !properties.isEmpty else { return nil }
        return Entity(
          name: after.name, oldName: isRenamed ? before.name : nil, kind: isRenamed ? .renamed : .changed,
          changes: changes.map(\.text), changeCodes: changes.map(\.code), properties: properties, hashesDiffer: differ)
      case (nil, nil): return nil
      }
    }
  }

  private static func properties(
    _ pairing: ModelPairing, _ before: EntityDescription, _ after: EntityDescription
  ) -> [Property] {
    pairing.properties(before, after).compactMap { pair in
      switch (pair.old?.facts, pair.new?.facts) {
      case (nil, let now?):
        return Property(name: now.name, oldName: nil, kind: .added, changes: [now.kind], changeCodes: ["type"])
      case (let was?, nil):
        return Property(name: was.name, oldName: nil, kind: .removed, changes: [was.kind], changeCodes: ["type"])
      case (let was?, let now?):
        let changes = was.changes(to: now)
        let isRenamed = was.name != now.name
        guard isRenamed || !changes.isEmpty else { return nil }
        return Property(
          name: now.name, oldName: isRenamed ? was.name : nil, kind: isRenamed ? .renamed : .changed,
          changes: changes.map(\.text), changeCodes: changes.map(\.code))
      case (nil, nil): return nil
      }
    }
  }
}

extension ModelComparison: CustomStringConvertible {
  /// The changes, one to a line, entity by entity.
  package var description: String {
    var lines = ["'\(from)' to '\(to)'"]
    for entity in entities {
      lines.append("  entity \(entity.name): " + Self.headline(entity.kind, entity.oldName, entity.changes))
      for property in entity.properties {
        lines.append("    \(property.name): " + Self.headline(property.kind, property.oldName, property.changes))
      }
    }
    if entities.isEmpty { lines.append("  no entity or property changed") }
    lines.append(
      hashesDiffer
        ? "version hashes differ: a store has to be migrated" : "version hashes are equal: no migration is needed")
    return lines.map(\.onOneLine).joined(separator: "\n")
  }

  private static func headline(_ kind: Kind, _ oldName: String?, _ changes: [String]) -> String {
    let lead = kind.rawValue + (oldName.map { " from \($0)" } ?? "")
    guard !changes.isEmpty else { return lead }
    return kind == .changed ? changes.joined(separator: "; ") : "\(lead) (\(changes.joined(separator: "; ")))"
  }
}
