import GodwitModel

/// The rules of CloudKit, for entities of a configuration that is used with CloudKit.
extension BundleLint {
  /// Reports what keeps `NSPersistentCloudKitContainer` from opening a store of the current version.
  mutating func checkCloudKit() {
    guard let target else { return }
    let index = bundle.index(target.name)
    // A version that was shipped cannot be mended.
    let severity: LintRule.Severity = locked[target.name] == nil ? .error : .note
    for entity in target.entities where target.cloudKitEntities.contains(entity.name) {
      for constraint in entity.uniquenessConstraints {
        let list = constraint.joined(separator: ", ")
        add(
          .cloudkitRefuses, severity: severity, "\(entity.name)(\(list))",
          at: index.placeOfConstraints(of: entity.name),
          "'\(target.name)' is used with CloudKit, which has no unique constraints: \(list) of \(entity.name) is unique",
          try: "remove the constraint from '\(target.name)', and find duplicates in the application")
      }
      let attributes = entity.leaves.filter { attribute in
        !attribute.isTransient && !attribute.isDerived && !attribute.isOptional && attribute.defaultValue.isNull
      }.map { ($0.name, ["required and has no default"]) }
      let relationships = entity.relationships.filter { !$0.isTransient }.map { ($0.name, Self.obstacles($0)) }
      for (name, obstacles) in attributes + relationships where !obstacles.isEmpty {
        let path = "\(entity.name).\(name)"
        add(
          .cloudkitRefuses, severity: severity, path, at: index.place(of: name, in: entity.name, of: target),
          "'\(target.name)' is used with CloudKit, which does not support it: \(path) is \(obstacles.joined(separator: ", "))"
        )
      }
    }
  }

  private static func obstacles(_ relationship: RelationshipDescription) -> [String] {
    var found: [String] = []
    if !relationship.isOptional { found.append("required") }
    if relationship.isOrdered { found.append("ordered") }
    if relationship.inverseName == nil { found.append("without an inverse") }
    if relationship.deleteRule == .deny { found.append("deleted by the rule Deny") }
    return found
  }
}

extension StepLint {
  /// Entities and properties that a step removes, renames or gives another type although CloudKit's schema keeps them.
  func cloudKit() -> [LintFinding] {
    let shared = old.cloudKitEntities
    guard !shared.isEmpty, !new.cloudKitEntities.isEmpty else { return [] }
    var findings: [LintFinding] = []
    func add(_ subject: String, _ place: LintFinding.Location, _ text: String) {
      findings.append(
        finding(.cloudkitKeeps, subject, at: place, "\(title) \(text), which CloudKit's schema keeps as it is"))
    }
    for case (let before?, let after) in pairing.entities where shared.contains(before.name) {
      guard let after else {
        add(before.name, newIndex.start, "removes the entity \(before.name)")
        continue
      }
      if after.name != before.name {
        add(after.name, newIndex.place(of: after.name), "renames the entity \(before.name) to \(after.name)")
      }
      for (was, now) in pairing.properties(before, after) {
        guard let was, isStored(was) else { continue }
        let path = "\(before.name).\(was.name)"
        guard let now else {
          // A property that moves along a hierarchy keeps its field.
          guard !old.family(of: before.name).allSatisfy({ isCarried(was.name, of: $0.name) }) else { continue }
          add(path, placeNow(of: before), "removes \(path)")
          continue
        }
        let (subject, place) = ("\(after.name).\(now.name)", newIndex.place(of: now.name, in: after.name, of: new))
        if was.name != now.name { add(subject, place, "renames \(path) to \(now.name)") }
        let isRetyped = was.kind != now.kind && !isRenamedDestination(was, now)
        if isRetyped { add(subject, place, "makes \(path) (\(was.kind)) \(now.kind)") }
        if case .attribute(let attribute) = now, attribute.isTransient {
          add(subject, place, "makes \(path) transient")
        }
      }
    }
    return findings
  }

  private func isStored(_ property: ModelPairing.Property) -> Bool {
    switch property {
    case .attribute(let attribute): !attribute.isTransient && !attribute.isDerived
    case .relationship(let relationship): old.isStored(relationship)
    }
  }

  /// Whether two relationships differ only in the name of the entity that they lead to.
  private func isRenamedDestination(_ was: ModelPairing.Property, _ now: ModelPairing.Property) -> Bool {
    guard case .relationship(let before) = was, case .relationship(let after) = now else { return false }
    return before.isToMany == after.isToMany
      && pairing.newName(of: before.destinationEntityName) == after.destinationEntityName
  }
}
