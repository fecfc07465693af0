import GodwitModel

/// What changed from one model to another: entities, and the properties each declares.
///
/// A renaming identifier that names an entity or property of the earlier model makes a rename of what
/// would be one removed and one added.
struct ModelDifference: Encodable {
  enum Kind: String, Encodable {
    case added, removed, renamed, changed
  }

  struct Property: Encodable {
    let name: String
    /// The name in the earlier model, when it is another.
    let oldName: String?
    let kind: Kind
    /// `type String to Integer 64` and the like.
    let changes: [String]
  }

  struct Entity: Encodable {
    let name: String
    let oldName: String?
    let kind: Kind
    let changes: [String]
    let properties: [Property]
    /// Whether the version hashes differ; nil where one side lacks the entity.
    let hashesDiffer: Bool?
  }

  let from, to: String
  let entities: [Entity]
  /// Whether a store of the earlier model has to be migrated.
  let hashesDiffer: Bool

  init(from old: ManagedObjectModel, to new: ManagedObjectModel) {
    from = old.name
    to = new.name
    let (oldHashes, newHashes) = (old.versionHashes, new.versionHashes)
    hashesDiffer = oldHashes != newHashes
    let pairs = Self.pairs(
      old.entities.map { ($0.name, $0.renamingIdentifier) }, new.entities.map { ($0.name, $0.renamingIdentifier) })
    var found: [Entity] = []
    for (oldName, newName) in pairs {
      switch (oldName.flatMap(old.entity), newName.flatMap(new.entity)) {
      case (nil, let entity?):
        found.append(
          Entity(name: entity.name, oldName: nil, kind: .added, changes: [], properties: [], hashesDiffer: nil))
      case (let entity?, nil):
        found.append(
          Entity(name: entity.name, oldName: nil, kind: .removed, changes: [], properties: [], hashesDiffer: nil))
      case (let before?, let after?):
        let isRenamed = before.name != after.name
        let changes = EntityFacts(before).changes(to: EntityFacts(after))
        let properties = Self.properties(before, after)
        let differ = oldHashes[before.name] != newHashes[after.name]
        guard isRenamed || differ || !changes.isEmpty || !properties.isEmpty else { continue }
        found.append(
          Entity(
            name: after.name, oldName: isRenamed ? before.name : nil, kind: isRenamed ? .renamed : .changed,
            changes: changes, properties: properties, hashesDiffer: differ))
      case (nil, nil): continue
      }
    }
    entities = found.sorted { ManagedObjectModel.precedes($0.name, $1.name) }
  }

  /// Old and new names that belong together; nil where a side has none.
  private static func pairs(
    _ old: [(name: String, identifier: String?)], _ new: [(name: String, identifier: String?)]
  ) -> [(old: String?, new: String?)] {
    var left = old
    func take(_ matches: ((name: String, identifier: String?)) -> Bool) -> String? {
      left.firstIndex(where: matches).map { left.remove(at: $0).name }
    }
    var pairs: [(old: String?, new: String?)] = []
    var rest: [String] = []
    // Renames first: a new name may be the old name of another.
    for (name, identifier) in new {
      if let identifier, identifier != name,
        let oldName = take({ $0.name == name && $0.identifier == identifier })
          ?? take({ $0.name == identifier }) ?? take({ $0.identifier == identifier })
      {
        pairs.append((oldName, name))
      } else {
        rest.append(name)
      }
    }
    for name in rest { pairs.append((take { $0.name == name }, name)) }
    return pairs + left.map { ($0.name, nil) }
  }

  private static func properties(_ before: EntityDescription, _ after: EntityDescription) -> [Property] {
    let old = PropertyFacts.all(of: before)
    let new = PropertyFacts.all(of: after)
    var found: [Property] = []
    let pairs = pairs(old.map { ($0.name, $0.renamingIdentifier) }, new.map { ($0.name, $0.renamingIdentifier) })
    for (oldName, newName) in pairs {
      let was = old.first { $0.name == oldName }
      let now = new.first { $0.name == newName }
      switch (was, now) {
      case (nil, let now?):
        found.append(Property(name: now.name, oldName: nil, kind: .added, changes: [now.kind]))
      case (let was?, nil):
        found.append(Property(name: was.name, oldName: nil, kind: .removed, changes: [was.kind]))
      case (let was?, let now?):
        let changes = was.changes(to: now)
        let isRenamed = was.name != now.name
        guard isRenamed || !changes.isEmpty else { continue }
        found.append(
          Property(
            name: now.name, oldName: isRenamed ? was.name : nil, kind: isRenamed ? .renamed : .changed, changes: changes
          ))
      case (nil, nil): continue
      }
    }
    return found.sorted { Text($0.name) < Text($1.name) }
  }
}

extension ModelDifference: CustomStringConvertible {
  var description: String {
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
    return lines.joined(separator: "\n")
  }

  private static func headline(_ kind: Kind, _ oldName: String?, _ changes: [String]) -> String {
    let lead = kind.rawValue + (oldName.map { " from \($0)" } ?? "")
    guard !changes.isEmpty else { return lead }
    return kind == .changed ? changes.joined(separator: "; ") : "\(lead) (\(changes.joined(separator: "; ")))"
  }
}
