import GodwitModel

/// Collects the changes between two models.
struct ModelChangeList {
  let pairing: ModelPairing
  let counts: StoreCounts?
  private(set) var changes: [ModelChange] = []

  init(from old: ManagedObjectModel, to new: ManagedObjectModel, counts: StoreCounts?) throws {
    pairing = ModelPairing(from: old, to: new)
    self.counts = counts
    for pair in pairing.entities {
      switch pair {
      case (nil, let entity?): add(.added, entity.name, nil, "added", "has no entity '\(entity.name)'")
      case (let entity?, nil): try addRemoved(entity)
      case (let before?, let after?):
        try addEntityChanges(before, after)
        for property in pairing.properties(before, after) {
          switch property {
          case (nil, let now?): try addAdded(now, before, after)
          case (let was?, nil): try addRemoved(was, before, after)
          case (.attribute(let was)?, .attribute(let now)?): try addChanges(was, now, before, after)
          case (.relationship(let was)?, .relationship(let now)?): try addChanges(was, now, before, after)
          case (let was?, let now?):
            add(
              .kind, after.name, now.name, "\(was.facts.kind) to \(now.facts.kind)", "says \(was.facts.kind)", .mapping)
          case (nil, nil): continue
          }
        }
        try addInheritance(before, after)
      case (nil, nil): continue
      }
    }
  }

  /// - Parameter earlier: The difference in the store's model: `says optional`.
  mutating func add(
    _ kind: ModelChange.Kind, _ entity: String, _ property: String?, _ change: String, _ earlier: String,
    _ effort: ModelChange.Effort = .inferable, rows: Int64? = nil, isPartOfHash: Bool = true
  ) {
    changes.append(
      ModelChange(
        entity: entity, property: property, change: change, kind: kind, effort: effort, rows: rows,
        isPartOfHash: isPartOfHash,
        inEarlierModel: "the store's model \(earlier)"))
  }

  /// `mapping` if rows conflict with the change, and `dependsOnRows` without counts.
  static func effort(against rows: Int64?) -> ModelChange.Effort {
    switch rows {
    case nil: .dependsOnRows
    case 0?: .inferable
    default: .mapping
    }
  }

  /// `, 1 row is null`, `, 312 rows are null`; nothing without a count.
  static func counted(_ rows: Int64?, _ one: String, _ many: String) -> String {
    guard let rows else { return "" }
    return rows == 1 ? ", 1 row \(one)" : ", \(rows) rows \(many)"
  }

  /// The names of an entity and its subentities in the earlier model.
  func family(_ entity: EntityDescription) -> [String] { family(of: entity.name) }

  func family(of entity: String) -> [String] { pairing.old.family(of: entity).map(\.name) }

  // MARK: Entities

  private mutating func addRemoved(_ entity: EntityDescription) throws {
    let rows = try entity.isAbstract ? nil : counts?.rows(of: [entity.name])
    let isNameTaken = pairing.new.entities.contains { $0.name == entity.name }
    add(
      .removed, entity.name, nil, "removed" + Self.counted(rows, "is dropped", "are dropped"),
      isNameTaken ? "has another entity '\(entity.name)'" : "has the entity '\(entity.name)'", rows: rows)
  }

  private mutating func addEntityChanges(_ before: EntityDescription, _ after: EntityDescription) throws {
    let name = after.name
    if before.name != name { add(.renamed, name, nil, "renamed from \(before.name)", "says '\(before.name)'") }
    if before.superentityName.map({ pairing.newName(of: $0) ?? $0 }) != after.superentityName {
      let (was, now) = (before.superentityName ?? "none", after.superentityName ?? "none")
      let roots = mergedRoots(after)
      add(
        .parent, name, nil,
        "parent \(was) to \(now)" + (roots.isEmpty ? "" : ", which merges the hierarchies of \(roots)"),
        before.superentityName.map { "says parent \($0)" } ?? "says no parent", roots.isEmpty ? .inferable : .mapping)
    }
    if before.isAbstract != after.isAbstract {
      let rows = try after.isAbstract ? counts?.rows(of: [before.name]) : nil
      let text =
        after.isAbstract ? "abstract no to yes" + Self.counted(rows, "is of it", "are of it") : "abstract yes to no"
      add(
        .abstract, name, nil, text, before.isAbstract ? "says abstract" : "says not abstract",
        after.isAbstract ? Self.effort(against: rows) : .inferable, rows: rows)
    }
    addModifier(name, nil, before.versionHashModifier, after.versionHashModifier)
    try addUniqueness(before, after)
  }

  /// The roots that entities of one new hierarchy had before, when there were several: such are never inferred.
  private func mergedRoots(_ entity: EntityDescription) -> String {
    guard let root = pairing.new.root(of: entity.name) else { return "" }
    let former = pairing.new.family(of: root.name).compactMap { member in
      pairing.oldName(of: member.name).flatMap { pairing.old.root(of: $0)?.name }
    }
    let roots = Set(former)
    return roots.count > 1 ? roots.sorted(by: ManagedObjectModel.precedes).joined(separator: " and ") : ""
  }

  mutating func addModifier(_ entity: String, _ property: String?, _ old: String?, _ new: String?) {
    // An empty modifier adds nothing to the hash.
    guard old ?? "" != new ?? "" else { return }
    add(
      .hashModifier, entity, property,
      "hash modifier \(old.map { "'\($0)'" } ?? "none") to \(new.map { "'\($0)'" } ?? "none")",
      old.map { "says hash modifier '\($0)'" } ?? "says no hash modifier")
  }

  private mutating func addUniqueness(_ before: EntityDescription, _ after: EntityDescription) throws {
    func oldNames(_ constraint: [String]) -> [String?] {
      constraint.map { name in
        let property: ModelPairing.Property? =
          pairing.new.attribute(name, of: after.name).map { .attribute($0) }
          ?? pairing.new.relationship(name, of: after.name).map { .relationship($0) }
        return property.flatMap { pairing.origin(of: $0, in: after.name, from: before.name)?.name }
      }
    }
    let kept = after.uniquenessConstraints.filter { constraint in
      before.uniquenessConstraints.contains { $0.map(Optional.some) == oldNames(constraint) }
    }
    let former = pairing.old.uniquenessConstraints(of: before.name).map { Set($0.properties) }
    for constraint in after.uniquenessConstraints where !kept.contains(constraint) {
      let names = oldNames(constraint).compactMap(\.self)
      // Objects that differ in some properties differ in more of them too.
      if former.contains(where: { !$0.isEmpty && $0.isSubset(of: names) }) {
        add(
          .uniquenessAdded, after.name, nil,
          "uniqueness of (\(constraint.joined(separator: ", "))) added, which an earlier constraint implies",
          "says no uniqueness of (\(constraint.joined(separator: ", ")))")
        continue
      }
      let rows =
        names.count == constraint.count ? try counts?.duplicates(in: family(before), of: names) : nil
      let text = rows.map { $0 == 1 ? ", 1 duplicate" : ", \($0) duplicates" } ?? ""
      add(
        .uniquenessAdded, after.name, nil, "uniqueness of (\(constraint.joined(separator: ", "))) added" + text,
        "says no uniqueness of (\(constraint.joined(separator: ", ")))", Self.effort(against: rows), rows: rows)
    }
    let keptOld = kept.map { oldNames($0) }
    for constraint in before.uniquenessConstraints where !keptOld.contains(constraint.map(Optional.some)) {
      let list = constraint.joined(separator: ", ")
      add(.uniquenessRemoved, after.name, nil, "uniqueness of (\(list)) removed", "says uniqueness of (\(list))")
    }
  }

  // MARK: Inheritance

  /// Adds the properties that an entity gains or loses because it has another parent.
  private mutating func addInheritance(_ before: EntityDescription, _ after: EntityDescription) throws {
    guard before.superentityName.map({ pairing.newName(of: $0) ?? $0 }) != after.superentityName else { return }
    let own = Set(ModelPairing.Property.all(of: before).map(\.name))
    let inherited = ModelPairing.Property.all(of: before.name, in: pairing.old)
    for property in inherited where !own.contains(property.name) {
      try addRemoved(property, before, after, change: "no longer inherited")
    }
    let ownNew = Set(ModelPairing.Property.all(of: after).map(\.name))
    let inheritedNew = ModelPairing.Property.all(of: after.name, in: pairing.new)
    for property in inheritedNew where !ownNew.contains(property.name) {
      guard pairing.origin(of: property, in: after.name, from: before.name) == nil else { continue }
      try addAdded(property, before, after, change: "inherited")
    }
  }
}
